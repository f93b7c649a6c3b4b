#include "feature/record/objects/recording.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/autoscaler_json.h"
#include "codec/objects/pod_starts_json.h"
#include "codec/objects/ray_cluster_json.h"
#include "codec/text/json_write.h"
#include "codec/text/rfc3339.h"
#include "codec/text/text.h"
#include "codec/text/yaml_write.h"

#define API_VERSION "rayscaler.dev/v1alpha1"
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

static int add_yaml(struct buf *json, struct buf *buf, struct err *err)
{
	buf_add_string(buf, "---\n");
	return yaml_write(buf_string(json), json->size, buf, err);
}

static int write_cluster(const struct recording *recording, struct arena *arena, struct buf *buf,
			 struct err *err)
{
	AUTO(buf_done) struct buf json = BUF_INIT(RECORDING_BYTES_MAX);
	struct ray_cluster cluster = plain_cluster(recording->cluster, arena);
	struct json_writer writer;

	json_write_init(&writer, &json, JSON_STYLE_LINE);
	field_write_object(&writer, NULL, ray_cluster_fields, &cluster);
	return add_yaml(&json, buf, err);
}

static int write_autoscaler(const struct autoscaler_object *autoscaler, struct buf *buf,
			    struct err *err)
{
	AUTO(buf_done) struct buf json = BUF_INIT(RECORDING_BYTES_MAX);
	struct autoscaler_object object = *autoscaler;
	struct json_writer writer;

	object.uid = object.resource_version = "";
	object.generation = 0;
	object.template_count = 0;
	json_write_init(&writer, &json, JSON_STYLE_LINE);
	json_write_object(&writer, NULL);
	json_write_text(&writer, "apiVersion", AUTOSCALER_API_VERSION);
	json_write_text(&writer, "kind", AUTOSCALER_KIND);
	field_write_all(&writer, autoscaler_fields, &object);
	json_write_object_end(&writer);
	return add_yaml(&json, buf, err);
}

/* ---- Pods ---- */

static void write_starts(const struct recording *recording, struct buf *buf)
{
	struct json_writer writer;

	buf_add_string(buf, "---\napiVersion: " API_VERSION "\nkind: " POD_STARTS_KIND "\n");
	if (recording->process_ms >= 0)
		buf_printf(buf, "processSeconds: %g\n", (double)recording->process_ms / SECONDS);
	buf_add_string(buf, recording->starts.count > 0 ? "groups:\n" : "groups: []\n");
	VEC_EACH(const struct pod_starts, starts, &recording->starts) {
		buf_add_string(buf, "- ");
		json_write_init(&writer, buf, JSON_STYLE_LINE);
		json_write_object(&writer, NULL);
		json_write_text(&writer, "cluster", starts->cluster);
		json_write_text(&writer, "group", starts->group);
		json_write_array(&writer, "seconds");
		for (size_t k = 0; k < starts->count; k++)
			json_write_double(&writer, NULL, (double)starts->ms[k] / SECONDS);
		json_write_array_end(&writer);
		json_write_object_end(&writer);
		buf_add_char(buf, '\n');
	}
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

static void write_bundles(struct json_writer *writer, const struct recorded_item *item)
{
	static const struct field plain = RESOURCES(NULL);

	json_write_array(writer, "bundles");
	ARRAY_EACH(const struct work_bundle, bundle, item->bundles, item->bundle_count) {
		if (bundle->selector.count == 0)
			field_write_value(writer, &plain, bundle);
		else
			field_write_object(writer, NULL, bundle_fields, bundle);
	}
	json_write_array_end(writer);
}

static void write_item(const struct recorded_item *item, struct buf *buf)
{
	struct json_writer writer;

	buf_add_string(buf, "- ");
	json_write_init(&writer, buf, JSON_STYLE_LINE);
	json_write_object(&writer, NULL);
	json_write_time(&writer, "submit", item->submitted);
	json_write_double(&writer, "duration", (double)item->duration_ms / SECONDS);
	if (item->kind != WORK_TASK)
		json_write_text(&writer, "kind", work_kind_name(item->kind));
	if (item->kind == WORK_PLACEMENT_GROUP) {
		json_write_text(&writer, "strategy", placement_strategy_name(item->strategy));
		write_bundles(&writer, item);
	} else {
		field_write_all(&writer, single_fields, item->bundles);
	}
	if (item->count > 1)
		json_write_integer(&writer, "count", item->count);
	if (*item->job != '\0')
		json_write_text(&writer, "job", item->job);
	json_write_object_end(&writer);
	buf_add_char(buf, '\n');
}

static void write_workload(const struct recording *recording, struct buf *buf)
{
	char since[RFC3339_SIZE], until[RFC3339_SIZE];

	rfc3339_print(recording->since, since);
	rfc3339_print(recording->until, until);
	buf_printf(buf, "---\n# from %s to %s\n", since, until);
	for (size_t i = 0; i < recording->notes.count; i++)
		text_add_line(buf, "# %s", recording->notes.at[i]);
	buf_add_string(buf, "apiVersion: " API_VERSION "\nkind: Workload\nitems:\n");
	for (size_t i = 0; i < recording->items.count; i++) {
		if (buf->overflowed)
			return;
		write_item(&recording->items.at[i], buf);
	}
}

int recording_write(const struct recording *recording, struct arena *arena, struct buf *buf,
		    struct err *err)
{
	if (write_cluster(recording, arena, buf, err) ||
	    (recording->autoscaler && write_autoscaler(recording->autoscaler, buf, err)))
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
