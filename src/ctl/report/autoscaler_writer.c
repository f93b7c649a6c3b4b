#include "ctl/report/autoscaler_writer.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "codec/objects/autoscaler_json.h"
#include "codec/objects/foreign_object.h"
#include "codec/schema/document_head.h"
#include "codec/text/json.h"
#include "core/model/field.h"
#include "core/model/reason.h"
#include "core/report/autoscaler_status.h"
#include "core/report/summary.h"
#include "ctl/report/feature.h"
#include "ctl/report/write_queue.h"
#include "ctl/shared/cluster_map.h"
#include "ctl/shared/leader.h"
#include "ctl/shared/options.h"
#include "kube/kube_client.h"
#include "kube/kube_informer.h"
#include "kube/kube_path.h"
#include "net/log.h"
#include "net/loop.h"

#define PLURAL "rayclusterautoscalers"
#define STATUS_INTERVAL_MS 1000 /* between two writes of one object */
#define RETRY_MS 5000
#define WRITES_PER_SECOND_MAX 20
#define UNDER_WAY_MAX 100
/* Two clocks differ by less, or the leader before us writes no later. */
#define SECOND_SKEW_MS INT64_C(10000)
/* A second controller is believed to live for so long after its last write: two times its interval. */
#define SECOND_LIVES_MS INT64_C(600000)
#define MESSAGE "cannot write the RayClusterAutoscaler"

/* Results of our patches on the groups of one cluster that its status does not show yet. */
struct scale_list {
	struct arena arena;
	VEC(struct autoscaler_scale) scales; /* the newest of a group first */
};

/* Two controllers without leader election, or with two releases of the chart, whose Leases are in two
 * namespaces, meet in the RayClusterAutoscaler: each process writes its name and the time of its
 * decision in the status. A name that is not ours, with a time after our first decision, is of a
 * second one: the leader before us has no such time. */
struct second_controller {
	time_ms seen;     /* the time that it wrote last */
	int64_t until_ms; /* the end of its life, monotonic; 0: there is none */
};

struct entry {
	struct cluster_entry of;
	struct autoscaler_writer *writer;
	struct write_item status;
	bool wanted;                /* the cluster is managed: it should have an object */
	char *answer_version;       /* of the object after the last write */
	const struct summary *last; /* status to write, autoscaler_status_sent */
	struct arena last_arena;
	/* The last comparison without a difference, so that the next one is short. */
	char *same_version;
	uint64_t same_status;
	struct second_controller second;
	struct scale_list planned, done; /* of the last decision; carried out */
};

struct autoscaler_writer {
	const struct control *control;
	const struct kube_informer *informer;
	struct cluster_map entries; /* of struct entry */
	struct write_queue queue;
	char *controller; /* our name */
	time_ms since;    /* of our first decision; TIME_NONE before it */
	struct log_repeat second_controllers;
};

/* --- results of patches --- */

static const struct field scale_fields[] = {
	FIELD_TEXT(struct autoscaler_scale, group, "group"),
	FIELD_TEXT(struct autoscaler_scale, reason, "reason"),
	FIELD_TEXT(struct autoscaler_scale, message, "message"),
	FIELD_END,
};

/* Empty and usable again. */
static void scale_list_done(struct scale_list *list)
{
	arena_done(&list->arena);
	*list = (struct scale_list){ .arena = ARENA_INIT };
}

static void add_scale(struct scale_list *list, const struct autoscaler_scale *scale)
{
	VEC_PUSH(&list->arena, &list->scales, *FIELD_COPY(scale_fields, scale, &list->arena));
}

/* The groups whose replicas the patch of this decision changes; none without a patch. */
static void scale_list_set(struct scale_list *list, const struct pass_decision *decision)
{
	const struct plan *plan = decision->plan;

	scale_list_done(list);
	if (plan->patch.count == 0)
		return;
	for (size_t i = 0; i < plan->groups.count; i++) {
		const struct plan_group *group = &plan->groups.at[i];

		if (group->reason != REASON_NONE && group->replicas != group->target_replicas)
			add_scale(list,
				  &(struct autoscaler_scale){ .group = group->name,
							      .time = decision->now /
								      MS_PER_SECOND * MS_PER_SECOND,
							      .from = group->replicas,
							      .to = group->target_replicas,
							      .reason = reason_word(group->reason),
							      .message = group->message });
	}
}

/* Puts those of `newer` before the others and leaves it empty. */
static void scale_list_push(struct scale_list *list, struct scale_list *newer)
{
	for (size_t i = 0; i < list->scales.count; i++)
		add_scale(newer, &list->scales.at[i]);
	scale_list_done(list);
	*list = *newer;
	*newer = (struct scale_list){ .arena = ARENA_INIT };
}

/* --- entries --- */

/* 0 means no text. */
static uint64_t hash(const char *text)
{
	return text ? hash_text(text) : 0;
}

static void entry_done(void *one)
{
	struct entry *entry = one;

	write_item_done(&entry->status);
	scale_list_done(&entry->planned);
	scale_list_done(&entry->done);
	arena_done(&entry->last_arena);
	memory_free(entry->answer_version);
	memory_free(entry->same_version);
}

static struct entry *find_entry(struct autoscaler_writer *writer, const char *namespace_,
				const char *name, bool make)
{
	struct entry *entry = cluster_map_get(&writer->entries, namespace_, name);

	if (entry || !make)
		return entry;
	entry = cluster_map_make(&writer->entries, namespace_, name);
	entry->writer = writer;
	write_item_init(&entry->status, &writer->queue, entry, entry->of.namespace_, entry->of.key,
			entry->of.key);
	return entry;
}

/* --- writing --- */

static int64_t now_ms(const struct autoscaler_writer *writer)
{
	return loop_monotonic_ms(writer->control->loop);
}

/* Its metadata alone is read: who may write the object can make it of 1.5 MiB. */
static void keep_answer(struct entry *entry, const struct kube_answer *answer)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done)
	struct cJSON *json = foreign_object_skeleton(answer->body, answer->body_size, false);
	struct err err;
	struct json_reader reader = { .arena = &arena, .err = &err };
	struct json_at root = json_root(json, "", &reader), metadata;
	const char *version = "";

	if (json_object(&root, "metadata", &metadata) == 0)
		(void)json_text(&metadata, "resourceVersion", &version);
	memory_set_string(&entry->answer_version, *version ? version : NULL);
}

static void write_ended(struct write_item *item, const struct kube_answer *answer,
			const struct err *err)
{
	struct entry *entry = item->owner;

	if (!err)
		keep_answer(entry, answer);
	else if (err->kind == ERR_NOT_FOUND) { /* object or CRD: the next decision asks again */
		write_item_want(item, NULL, 0);
		entry->wanted = false;
	}
}

static const char *path_of(const struct entry *entry, const char *name, const char *subresource,
			   struct arena *arena)
{
	return kube_path_managed(arena, kube_path(arena, OWN_GROUP_VERSION, entry->of.namespace_,
						  PLURAL, name, subresource));
}

/* Does the entry have something to send? */
static bool is_due(const struct entry *entry, const struct autoscaler_object *object)
{
	return object ? entry->status.text != NULL : entry->wanted;
}

static enum write_next create(struct entry *entry, struct kube_request *request,
			      struct arena *arena)
{
	const struct ray_cluster *cluster = kube_informer_get(entry->writer->control->ray_clusters,
							      entry->of.namespace_, entry->of.name);

	if (!cluster || cluster->deleting ||
	    kube_informer_bad(entry->writer->informer, entry->of.namespace_, entry->of.name)) {
		entry->status.not_before_ms = now_ms(entry->writer) + RETRY_MS;
		return WRITE_LATER;
	}
	request->verb = KUBE_CREATE;
	request->path = path_of(entry, NULL, NULL, arena);
	request->body = autoscaler_create_body(cluster, arena);
	return WRITE_NOW;
}

/* Of an object that is there its status is written; one that should be there is created. */
static enum write_next next_write(struct write_item *item, struct kube_request *request,
				  struct arena *arena)
{
	struct entry *entry = item->owner;
	const struct autoscaler_object *object =
		kube_informer_get(entry->writer->informer, entry->of.namespace_, entry->of.name);

	if (!is_due(entry, object))
		return WRITE_NOTHING;
	if (!object)
		return create(entry, request, arena);
	if (!write_item_is_shown(item, object->resource_version))
		return WRITE_LATER;
	write_item_base(item, object->resource_version);
	memory_set_string(&entry->answer_version, NULL);
	request->verb = KUBE_MERGE_PATCH;
	request->path = path_of(entry, entry->of.name, "status", arena);
	request->body = autoscaler_status_body(item->text, object->resource_version, arena);
	return WRITE_NOW;
}

static const struct write_kind kind = {
	.message = MESSAGE,
	.denied = MESSAGE ", its users see nothing there",
	.allowed = "RayClusterAutoscalers can be written now",
	.interval_ms = STATUS_INTERVAL_MS,
	.next = next_write,
	.ended = write_ended,
};

/* --- decisions --- */

static void keep_sent(struct entry *entry, const struct summary *status)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct summary sent = autoscaler_status_sent(status, &scratch);

	entry->last = field_keep(autoscaler_status_fields, &sent, sizeof(sent), SIZE_MAX,
				 &entry->last_arena);
}

/* A CRD older than this program drops unknown fields: they are not written twice. */
static bool has_status(const struct entry *entry, const struct autoscaler_object *object,
		       const char *status)
{
	return text_same(status, object->status_text) ||
	       (text_same(entry->answer_version, object->resource_version) &&
		entry->status.sent == hash(status));
}

/* Stores the status that the object should have, unless it already has it. */
static void want_status(struct entry *entry, const struct autoscaler_object *object,
			const struct pass_decision *decision)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct autoscaler_status_input input = {
		.snapshot = decision->snapshot,
		.plan = decision->plan,
		.summary = decision->summary,
		.object = object,
		.scales = entry->done.scales.at,
		.scale_count = entry->done.scales.count,
		.sent = entry->last,
		.controller = entry->writer->controller,
		.undecided_ms = decision->undecided_ms,
	};
	struct summary new_status;
	const char *status;

	features_status(entry->writer->control->features, decision, &arena, &input.parts);
	new_status = autoscaler_status_of(&input, &arena);
	status = autoscaler_status_text(&new_status, &arena);
	if (text_same(entry->same_version, object->resource_version) &&
	    entry->same_status == hash(status))
		return;
	if (has_status(entry, object, status)) {
		write_item_want(&entry->status, NULL, 0);
		memory_set_string(&entry->same_version, object->resource_version);
		entry->same_status = hash(status);
		scale_list_done(&entry->done);
		return;
	}
	/* Not under way yet: it is written, so it also has the time of this decision. */
	if (entry->status.sent != hash(status) && !text_same(entry->status.text, status)) {
		autoscaler_status_renew(&input, &new_status);
		status = autoscaler_status_text(&new_status, &arena);
	}
	keep_sent(entry, &new_status);
	write_item_want(&entry->status, status, hash(status));
}

/* Logs the name of another controller that decides about the same object once. */
static void look_for_second(struct entry *entry, time_ms now, const struct summary *status)
{
	struct autoscaler_writer *writer = entry->writer;

	if (writer->since == TIME_NONE)
		writer->since = now;
	if (!status || !status->controller || !status->controller[0] ||
	    strcmp(status->controller, writer->controller) == 0 ||
	    status->decided_at == TIME_NONE ||
	    status->decided_at <= writer->since + SECOND_SKEW_MS ||
	    status->decided_at == entry->second.seen)
		return;
	entry->second.seen = status->decided_at;
	entry->second.until_ms = now_ms(writer) + SECOND_LIVES_MS;
	(void)log_repeat_error(&writer->second_controllers,
			       "a second controller decides about the same RayClusters",
			       entry->of.key, status->controller);
}

/* Clusters that another autoscaler manages get no object; an existing one says why. */
static bool is_managed(const struct plan *plan)
{
	VEC_EACH(const struct plan_condition, condition, &plan->conditions)
		if (reason_has(condition->reason, TRAIT_NO_OBJECT))
			return false;
	return true;
}

void autoscaler_writer_decided(struct autoscaler_writer *writer,
			       const struct pass_decision *decision)
{
	const struct autoscaler_object *object;
	struct entry *entry;

	entry = find_entry(writer, decision->plan->cluster_namespace, decision->plan->cluster_name,
			   true);
	entry->wanted = is_managed(decision->plan);
	scale_list_set(&entry->planned, decision);
	object = kube_informer_get(writer->informer, entry->of.namespace_, entry->of.name);
	if (object) {
		look_for_second(entry, decision->now, object->status);
		want_status(entry, object, decision);
	}
	if (is_due(entry, object))
		write_item_queue(&entry->status);
}

void autoscaler_writer_orphan(struct autoscaler_writer *writer,
			      const struct autoscaler_object *object, const char *message)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct entry *entry = find_entry(writer, object->namespace_, object->name, true);
	struct summary status =
		autoscaler_status_orphan(object, message, loop_wall(writer->control->loop), &arena);
	const char *text = autoscaler_status_text(&status, &arena);

	entry->wanted = false;
	if (entry->status.call || has_status(entry, object, text))
		return;
	if (!text_same(entry->status.text, text))
		log_warning("RayClusterAutoscaler has no effect", "object", entry->of.key, "error",
			    message, NULL);
	write_item_want(&entry->status, text, hash(text));
}

bool autoscaler_writer_second(struct autoscaler_writer *writer, const char *namespace_,
			      const char *name)
{
	const struct entry *entry = find_entry(writer, namespace_, name, false);

	return entry && now_ms(writer) < entry->second.until_ms;
}

void autoscaler_writer_patched(struct autoscaler_writer *writer, const char *namespace_,
			       const char *name)
{
	struct entry *entry = find_entry(writer, namespace_, name, false);

	/* A scale that was not written yet is kept, behind the newer one of its group. */
	if (entry)
		scale_list_push(&entry->done, &entry->planned);
}

void autoscaler_writer_forget(struct autoscaler_writer *writer, const char *namespace_,
			      const char *name)
{
	cluster_map_remove(&writer->entries, namespace_, name);
}

struct autoscaler_writer *autoscaler_writer_new(const struct control *control,
						const struct kube_informer *informer)
{
	struct autoscaler_writer *writer = memory_alloc(sizeof(*writer));
	int64_t rate = control->options->kube_api_qps / 5;

	rate = rate < 1 ? 1 : rate > WRITES_PER_SECOND_MAX ? WRITES_PER_SECOND_MAX : rate;
	writer->control = control;
	writer->entries = CLUSTER_MAP_INIT(struct entry, entry_done);
	writer->informer = informer;
	write_queue_init(&writer->queue, control, &kind, rate, 1, UNDER_WAY_MAX);
	writer->controller = leader_make_identity();
	writer->since = TIME_NONE;
	return writer;
}

void autoscaler_writer_free(struct autoscaler_writer *writer)
{
	if (!writer)
		return;
	cluster_map_done(&writer->entries);
	memory_free(writer->controller);
	log_repeat_done(&writer->second_controllers);
	write_queue_done(&writer->queue);
	memory_free(writer);
}
