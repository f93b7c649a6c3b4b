#include "feature/record/objects/recording.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/autoscaler_json.h"
#include "codec/objects/pod_starts_json.h"
#include "codec/objects/ray_cluster_json.h"
#include "codec/schema/document_head.h"
#include "codec/text/json_write.h"
#include "codec/text/rfc3339.h"
#include "codec/text/text.h"
#include "codec/text/yaml_write.h"

#define SECONDS 1000.0

/* ---- objects ---- */

static struct ray_cluster plain_cluster(const struct ray_cluster *from, struct arena *arena)
{
	struct worker_group *groups = arena_array(arena, from->group_count, sizeof(*groups));
	struct ray_cluster cluster = *from;

	for (size_t i = 0; i < from->group_count; i++) {
		groups[i] = from->groups[i];
		groups[i].replicas = groups[i].min_replicas;
		groups[i].workers_to_delete = (struct strings){ .count = 0 };
	}
	cluster.groups = groups;
	cluster.uid = cluster.resource_version = cluster.groups_manager = "";
	cluster.generation = 0;
	cluster.deleting = false;
	cluster.conditions = NULL;
	cluster.condition_count = 0;
	cluster.head_pod_name = cluster.head_pod_ip = "";
	return cluster;
}

static int add_yaml(const char *json, struct buf *buf, struct err *err)
{
	buf_add_string(buf, "---\n");
	return yaml_write(json, strlen(json), buf, err);
}

static int write_cluster(const struct recording *recording, struct arena *arena, struct buf *buf,
			 struct err *err)
{
	struct ray_cluster cluster = plain_cluster(recording->cluster, arena);

	return add_yaml(field_text(ray_cluster_fields, &cluster, arena), buf, err);
}

static void write_members(struct json_writer *writer, const struct field *field UNUSED,
			  const void *object)
{
	field_write_all(writer, autoscaler_fields, object);
}

static const struct field document_fields[] = {
	FIELD_FIXED("apiVersion", OWN_GROUP_VERSION),
	FIELD_FIXED("kind", AUTOSCALER_KIND),
	FIELD_HOOK("members", .write = write_members),
	FIELD_END,
};

static int write_autoscaler(const struct autoscaler_object *autoscaler, struct arena *arena,
			    struct buf *buf, struct err *err)
{
	struct autoscaler_object object = *autoscaler;

	object.uid = object.resource_version = "";
	object.generation = 0;
	object.template_count = object.backoff_count = 0;
	return add_yaml(field_text(document_fields, &object, arena), buf, err);
}

/* An element of a list of YAML, as JSON on one line. */
static void add_element(const struct field *fields, const void *object, struct buf *buf)
{
	struct json_writer writer;

	buf_add_string(buf, "- ");
	json_write_init(&writer, buf, JSON_STYLE_LINE);
	field_write_object(&writer, NULL, fields, object);
	buf_add_char(buf, '\n');
}

/* ---- Pods ---- */

static void write_seconds(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct pod_starts *starts = object;

	json_write_array(writer, field->name);
	for (size_t k = 0; k < starts->count; k++)
		json_write_double(writer, NULL, (double)starts->ms[k] / SECONDS);
	json_write_array_end(writer);
}

static const struct field starts_fields[] = {
	FIELD_TEXT(struct pod_starts, cluster, "cluster", .flags = FIELD_ALWAYS),
	FIELD_TEXT(struct pod_starts, group, "group", .flags = FIELD_ALWAYS),
	FIELD_HOOK("seconds", .write = write_seconds),
	FIELD_END,
};

static void write_starts(const struct recording *recording, struct buf *buf)
{
	buf_add_string(buf, "---\napiVersion: " OWN_GROUP_VERSION "\nkind: " POD_STARTS_KIND "\n");
	if (recording->process_ms >= 0)
		buf_printf(buf, "processSeconds: %g\n", (double)recording->process_ms / SECONDS);
	buf_add_string(buf, recording->starts.count > 0 ? "groups:\n" : "groups: []\n");
	VEC_EACH(const struct pod_starts, starts, &recording->starts)
		add_element(starts_fields, starts, buf);
}

/* ---- work ---- */

#define RESOURCES(name) FIELD_RESOURCES(struct work_bundle, resources, name, .flags = FIELD_ALWAYS)

/* The only bundle of an item, as members of it. */
static const struct field single_fields[] = {
	RESOURCES("resources"),
	FIELD_LABELS(struct work_bundle, selector, "labelSelector"),
	FIELD_END,
};

/* An element of the list, as Ray's request_resources writes it. */
static const struct field bundle_fields[] = {
	RESOURCES("resources"),
	FIELD_LABELS(struct work_bundle, selector, "label_selector"),
	FIELD_END,
};

static void write_duration(struct json_writer *writer, const struct field *field,
			   const void *object)
{
	const struct recorded_item *item = object;

	json_write_double(writer, field->name, (double)item->duration_ms / SECONDS);
}

/* Its needs: of a placement group in a list. */
static void write_needs(struct json_writer *writer, const struct field *field, const void *object)
{
	static const struct field plain = RESOURCES(NULL);
	const struct recorded_item *item = object;

	if (item->kind != WORK_PLACEMENT_GROUP) {
		field_write_all(writer, single_fields, item->bundles);
		return;
	}
	json_write_text(writer, "strategy", placement_strategy_name(item->strategy));
	json_write_array(writer, field->name);
	ARRAY_EACH(const struct work_bundle, bundle, item->bundles, item->bundle_count) {
		if (bundle->selector.count == 0)
			field_write_value(writer, &plain, bundle);
		else
			field_write_object(writer, NULL, bundle_fields, bundle);
	}
	json_write_array_end(writer);
}

static void write_count(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct recorded_item *item = object;

	if (item->count > 1)
		json_write_integer(writer, field->name, item->count);
}

FIELD_WORDS(work_kind, enum work_kind)

static const struct field item_fields[] = {
	FIELD_TIME(struct recorded_item, submitted, "submit", .flags = FIELD_ALWAYS),
	FIELD_HOOK("duration", .write = write_duration),
	FIELD_WORD(struct recorded_item, kind, enum work_kind, work_kind_word, "kind"),
	FIELD_HOOK("bundles", .write = write_needs),
	FIELD_HOOK("count", .write = write_count),
	FIELD_TEXT(struct recorded_item, job, "job"),
	FIELD_END,
};

static void write_workload(const struct recording *recording, struct buf *buf)
{
	char since[RFC3339_SIZE], until[RFC3339_SIZE];

	rfc3339_print(recording->since, since);
	rfc3339_print(recording->until, until);
	buf_printf(buf, "---\n# from %s to %s\n", since, until);
	for (size_t i = 0; i < recording->notes.count; i++)
		text_add_line(buf, "# %s", recording->notes.at[i]);
	buf_printf(buf,
		   "apiVersion: " OWN_GROUP_VERSION "\nkind: Workload\ncluster: %s/%s\nitems:\n",
		   recording->cluster->namespace_, recording->cluster->name);
	for (size_t i = 0; i < recording->items.count; i++) {
		if (buf->overflowed)
			return;
		add_element(item_fields, &recording->items.at[i], buf);
	}
}

int recording_write(const struct recording *recording, struct arena *arena, struct buf *buf,
		    struct err *err)
{
	if (write_cluster(recording, arena, buf, err) ||
	    (recording->autoscaler && write_autoscaler(recording->autoscaler, arena, buf, err)))
		return -1;
	if (recording->starts.count > 0 || recording->process_ms >= 0)
		write_starts(recording, buf);
	write_workload(recording, buf);
	if (buf->overflowed)
		return err_set(err, ERR_LIMIT,
			       "the recording has more than %zu bytes; use a shorter --since",
			       buf->ceiling_bytes);
	return 0;
}
