#include "feature/in_place_resize/ctl/resizer.h"

#include <string.h>

#include "base/hash.h"
#include "base/int64.h"
#include "base/map.h"
#include "base/memory.h"
#include "core/model/field.h"
#include "core/model/reason.h"
#include "core/model/snapshot.h"
#include "ctl/pass/pass.h"
#include "ctl/report/write_queue.h"
#include "ctl/shared/cluster_map.h"
#include "ctl/shared/control.h"
#include "ctl/shared/options.h"
#include "feature/in_place_resize/codec/resize_patch.h"
#include "feature/in_place_resize/core/resize_step.h"
#include "gcs/gcs_client.h"
#include "kube/kube_path.h"
#include "net/log.h"
#include "net/loop.h"

#define FLEET_SHARE 5    /* of --kube-api-qps */
#define UNDER_WAY_MAX 10 /* of a cluster */
#define FLEET_UNDER_WAY_MAX 50
#define CACHE_WAIT_MS 10000 /* for our own writes to come back through the watch */
#define RAY_WAIT_MS 10000   /* for Ray's replies to show a raylet's new size */
#define FAILURE_SHOWN_MAX 200
#define CURE "install the chart with config.inPlaceResize=true, or remove " ANNOTATION_RESIZE

struct resizer {
	struct feature_state of; /* clusters: struct resized */
	struct write_queue writes;
};

enum resized_result { RESIZED_REQUESTED = 0, RESIZED_DONE, RESIZED_FAILED, RESIZED_RESULTS };

static const char *const result_names[] = {
	[RESIZED_REQUESTED] = "requested",
	[RESIZED_DONE] = "done",
	[RESIZED_FAILED] = "failed",
};

struct resized {
	struct cluster_entry of;
	struct map pods; /* name to struct resized_pod */
	size_t under_way;
	char *refused; /* why the last step was refused; NULL: it was not */
	int64_t not_before_ms;
	int64_t counts[RESIZED_RESULTS];
};

enum resized_step { STEP_NONE = 0, STEP_SHRINK, STEP_SYNC, STEP_RECORD, STEP_RESIZE, STEP_FAILURE };

struct resized_pod {
	const char *name;
	const struct control *control;
	struct resized *cluster;
	struct gcs_client *gcs; /* of `change`; lives as long as its cluster */
	enum resized_step step;
	struct write_item write;
	struct gcs_call *call;
	struct arena arena; /* of `change` */
	struct plan_resize change;
	/* The raylet was given the size of `change`, and Ray's next replies show it; INT64_MIN: it was
	 * not. */
	int64_t told_until_ms;
	int64_t hidden_until_ms; /* the cache may show the Pod from before; INT64_MIN: it does not */
	int64_t not_before_ms;
};

static int64_t now_ms(const struct resized_pod *pod)
{
	return loop_monotonic_ms(pod->control->loop);
}

/* ---- memory ---- */

static void pod_done(void *value)
{
	struct resized_pod *pod = value;

	write_item_done(&pod->write);
	if (pod->call)
		gcs_call_cancel(pod->call);
	arena_done(&pod->arena);
}

static void resized_done(void *one)
{
	struct resized *cluster = one;

	map_drop_all(&cluster->pods, pod_done);
	memory_free(cluster->refused);
}

static struct resized_pod *pod_of(struct resizer *resizer, struct resized *cluster,
				  const char *name)
{
	struct resized_pod *pod = map_make(&cluster->pods, name, sizeof(*pod));

	if (pod->control)
		return pod;
	pod->control = resizer->of.control;
	pod->cluster = cluster;
	write_item_init(&pod->write, &resizer->writes, pod, cluster->of.namespace_, cluster->of.key,
			cluster->of.key);
	pod->told_until_ms = pod->hidden_until_ms = pod->not_before_ms = INT64_MIN;
	return pod;
}

static const struct field container_fields[] = {
	FIELD_TEXT(struct container, name, "name"),
	FIELD_END,
};

static const struct field object_fields[] = {
	FIELD_TEXT(struct pod, uid, "uid"),
	FIELD_TEXT(struct pod, resource_version, "resourceVersion"),
	FIELD_LIST(struct pod, spec.containers, spec.container_count, container_fields,
		   "containers"),
	FIELD_END,
};

static const struct field change_fields[] = {
	FIELD_TEXT(struct plan_resize, pod, "pod"),
	FIELD_TEXT(struct plan_resize, group, "group"),
	FIELD_REASON(struct plan_resize, reason, REASONS_OF_CONDITIONS, "reason"),
	FIELD_TEXT(struct plan_resize, message, "message"),
	FIELD_TEXT(struct plan_resize, ray_node_id, "rayNodeId"),
	FIELD_TEXT(struct plan_resize, status.raylet_id, "rayletId"),
	FIELD_TEXT(struct plan_resize, status.last_failed_reason, "lastFailedReason"),
	FIELD_POINTER(struct plan_resize, object, object_fields, "object"),
	FIELD_END,
};

/* The decision's objects may be freed while requests are under way. */
static void keep(struct resized_pod *pod, const struct plan_resize *resize)
{
	const struct container container = { .name = resize->object->spec.containers[0].name };
	struct pod object = pod_empty;

	object.uid = resize->object->uid;
	object.resource_version = resize->object->resource_version;
	object.spec.containers = &container;
	object.spec.container_count = 1;
	arena_reset(&pod->arena);
	pod->change = *resize;
	pod->change.object = &object;
	pod->change.status.raylet_id = resize->ray_node_id;
	field_own(change_fields, &pod->change, &pod->arena);
}

/* ---- the ends of a change ---- */

static void end_change(struct resized_pod *pod)
{
	pod->step = STEP_NONE;
	pod->cluster->under_way--;
	pod->hidden_until_ms = now_ms(pod) + CACHE_WAIT_MS;
	pod->told_until_ms = INT64_MIN;
}

/* The Pod has changed, or the next decision tries again after a while. */
static void failed(struct resized_pod *pod, const struct err *err, int64_t retry_after_ms,
		   bool refused)
{
	struct resized *cluster = pod->cluster;
	int64_t now = now_ms(pod);

	pod->step = STEP_NONE;
	cluster->under_way--;
	if (err->kind == ERR_CONFLICT)
		return;
	pod->not_before_ms = now + overload_retry_ms(err, retry_after_ms);
	if (!refused)
		return;
	memory_set_string(&cluster->refused, err->text);
	cluster->not_before_ms = now + OVERLOAD_REFUSED_MS;
}

static void failed_in_ray(struct resized_pod *pod, const struct err *err)
{
	const struct resized *cluster = pod->cluster;
	bool refused = err->kind == ERR_DENIED || err->kind == ERR_NOT_FOUND;

	log_write(refused && !cluster->refused ? LOG_WARNING : LOG_DEBUG, "cannot resize Pods",
		  "cluster", cluster->of.key, "pod", pod->name, "error", err->text, NULL);
	failed(pod, err, 0, refused);
}

static void carried_out(struct resized_pod *pod, enum resized_result result)
{
	struct resized *cluster = pod->cluster;
	const struct plan_resize *change = &pod->change;
	char cpu[RESOURCE_AMOUNT_TEXT_SIZE], memory[RESOURCE_AMOUNT_TEXT_SIZE];

	resource_amount_print(change->wanted.cpu, cpu);
	resource_amount_print(change->wanted.memory, memory);
	cluster->counts[result]++;
	memory_set_string(&cluster->refused, NULL);
	log_info("resize", "cluster", cluster->of.key, "pod", pod->name, "step",
		 result_names[result], "cpu", cpu, "memory", memory, "reason",
		 reason_word(change->reason), "why", change->message, NULL);
	end_change(pod);
}

/* ---- the API server ---- */

static void ask_kube(struct resized_pod *pod, enum resized_step step, const char *body)
{
	pod->step = step;
	write_item_want(&pod->write, body, hash_text(body));
}

static enum write_next next_write(struct write_item *item, struct kube_request *request,
				  struct arena *arena)
{
	const struct resized_pod *pod = item->owner;
	bool resizes = pod->step == STEP_RESIZE;

	if (!item->text)
		return WRITE_NOTHING;
	request->verb = resizes ? KUBE_JSON_PATCH : KUBE_MERGE_PATCH;
	request->path = kube_path_managed(arena, kube_path(arena, "v1", item->namespace_, "pods",
							   pod->name, resizes ? "resize" : NULL));
	request->body = item->text;
	return WRITE_NOW;
}

/* Repeating what is invalid, or above a quota, would keep the demand waiting. */
static bool is_final(const struct kube_answer *answer, const struct err *err)
{
	return answer->status == 400 || answer->status == 422 ||
	       (answer->status == 403 && strstr(err->text, "exceeded quota"));
}

static void record_failure(struct resized_pod *pod, const struct err *err)
{
	struct pod *object = ARENA_NEW(&pod->arena, struct pod);
	struct resize_status *status = &pod->change.status;

	*object = *pod->change.object;
	object->resource_version = ""; /* the record has changed it */
	pod->change.object = object;
	status->resizing_at = 0;
	status->last_failed_at = loop_wall(pod->control->loop) / MS_PER_SECOND;
	status->last_failed_reason =
		arena_printf(&pod->arena, "%.*s", FAILURE_SHOWN_MAX, err->text);
	ask_kube(pod, STEP_FAILURE, resize_record_body(&pod->change, &pod->arena));
}

static void record(struct resized_pod *pod)
{
	ask_kube(pod, STEP_RECORD, resize_record_body(&pod->change, &pod->arena));
}

/* The record comes first, so that another leader knows the size that was asked for. */
static void written(struct write_item *item, const struct kube_answer *answer,
		    const struct err *err)
{
	struct resized_pod *pod = item->owner;

	if (err) {
		write_item_want(item, NULL, 0); /* the next decision begins again */
		if (pod->step == STEP_RESIZE && is_final(answer, err))
			record_failure(pod, err);
		else
			failed(pod, err, answer->retry_after_ms, err->kind == ERR_DENIED);
	} else if (pod->step == STEP_FAILURE) {
		carried_out(pod, RESIZED_FAILED);
	} else if (pod->step == STEP_RESIZE) {
		carried_out(pod, RESIZED_REQUESTED);
	} else if (pod->change.action == RESIZE_SYNC) {
		carried_out(pod, RESIZED_DONE);
	} else {
		ask_kube(pod, STEP_RESIZE, resize_patch_body(&pod->change, &pod->arena));
	}
}

static const struct write_kind kind = {
	.message = "cannot resize Pods",
	.allowed = "Pods can be resized now",
	.next = next_write,
	.ended = written,
};

/* ---- Ray ---- */

static bool same_size(const struct plan_size *a, const struct plan_size *b)
{
	return a->cpu == b->cpu && a->memory == b->memory;
}

static void raylet_answered(void *context, const struct gcs_reply *reply, const struct err *err)
{
	struct resized_pod *pod = context;

	pod->call = NULL;
	if (err) {
		failed_in_ray(pod, err);
		return;
	}
	if (pod->step == STEP_SHRINK) {
		resize_step_answered(&pod->change, &reply->size, loop_wall(pod->control->loop));
		record(pod);
		return;
	}
	pod->step = STEP_NONE;
	pod->cluster->under_way--;
	pod->told_until_ms = now_ms(pod) + RAY_WAIT_MS;
	pod->hidden_until_ms = INT64_MIN;
}

static void ask_raylet(struct resized_pod *pod, enum resized_step step, struct plan_size size)
{
	const struct options *options = pod->control->options;

	pod->step = step;
	pod->call = gcs_client_resize_node(pod->gcs, options->gcs_timeout_seconds * MS_PER_SECOND,
					   pod->change.ray_node_id, &size, raylet_answered, pod);
}

/* ---- decisions ---- */

static void start(struct resizer *resizer)
{
	const struct control *control = resizer->of.control;
	int64_t rate = int64_max(control->options->kube_api_qps / FLEET_SHARE, 1);

	write_queue_init(&resizer->writes, control, &kind, rate, rate, FLEET_UNDER_WAY_MAX);
}

static bool is_told(const struct resized_pod *pod, const struct plan_resize *resize)
{
	return pod->told_until_ms != INT64_MIN && same_size(&resize->wanted, &pod->change.wanted) &&
	       strcmp(resize->object->uid, pod->change.object->uid) == 0;
}

/* The record ends when Ray's replies show the new size: a decision on an older one would see a worker
 * that is too small for its demand, and add another. A reply alone does not end it: it may be from before
 * the raylet gave a part away. */
static void begin_sync(struct resized_pod *pod, const struct plan_resize *resize)
{
	bool told = is_told(pod, resize), shown = same_size(&resize->raylet, &resize->wanted);

	if (told && !shown && now_ms(pod) < pod->told_until_ms)
		return;
	keep(pod, resize);
	pod->cluster->under_way++;
	if (told)
		record(pod);
	else
		ask_raylet(pod, STEP_SYNC, pod->change.wanted);
}

static void begin_change(struct resized_pod *pod, const struct plan_resize *resize)
{
	struct plan_size smaller;

	keep(pod, resize);
	pod->cluster->under_way++;
	if (resize_step_shrinks(&pod->change, &smaller))
		ask_raylet(pod, STEP_SHRINK, smaller);
	else
		record(pod);
}

/* The cache shows what the last change has written, or another Pod of the name. */
static bool is_shown(const struct resized_pod *pod, const struct plan_resize *resize)
{
	const struct plan_resize *change = &pod->change;
	const struct resize_status *status = resize->object->resize;

	if (strcmp(resize->object->uid, change->object->uid) != 0)
		return true;
	if (resize->action == RESIZE_SYNC && !same_size(&resize->wanted, &change->wanted))
		return false;
	return status && status->resizing_at == change->status.resizing_at &&
	       strcmp(resize->object->resource_version, change->object->resource_version) != 0;
}

static void want(struct resizer *resizer, struct resized *cluster, struct gcs_client *gcs,
		 const struct plan_resize *resize)
{
	struct resized_pod *pod = pod_of(resizer, cluster, resize->pod);
	int64_t now = now_ms(pod);

	if (pod->step != STEP_NONE || now < pod->not_before_ms || now < cluster->not_before_ms ||
	    cluster->under_way >= UNDER_WAY_MAX)
		return;
	if (now < pod->hidden_until_ms && !is_shown(pod, resize))
		return;
	pod->gcs = gcs;
	if (resize->action == RESIZE_SYNC)
		begin_sync(pod, resize);
	else
		begin_change(pod, resize);
}

static void forget_pods(struct resized *cluster, int64_t now)
{
	for (size_t i = cluster->pods.count; i > 0; i--) {
		struct resized_pod *pod = cluster->pods.entries[i - 1].value;

		if (pod->step == STEP_NONE && now >= pod->hidden_until_ms &&
		    now >= pod->not_before_ms && now - RAY_WAIT_MS >= pod->told_until_ms)
			map_drop(&cluster->pods, pod->name, pod_done);
	}
}

static void decided(void *self, const struct pass_decision *decision)
{
	struct resizer *resizer = self;
	const struct ray_cluster *cluster = &decision->snapshot->cluster;
	const struct plan *plan = decision->plan;
	struct resized *resized =
		cluster_map_get(&resizer->of.clusters, cluster->namespace_, cluster->name);

	if (!resized && plan->resizes.count == 0)
		return;
	if (!resizer->writes.kind) /* a fleet without resizes has no timer */
		start(resizer);
	resized = cluster_map_make(&resizer->of.clusters, cluster->namespace_, cluster->name);
	if (plan->resizes.count == 0)
		memory_set_string(&resized->refused, NULL);
	forget_pods(resized, loop_monotonic_ms(resizer->of.control->loop));
	if (!decision->gcs)
		return;
	for (size_t i = 0; i < plan->resizes.count; i++)
		want(resizer, resized, decision->gcs, &plan->resizes.at[i]);
}

static void end(void *self)
{
	write_queue_done(&((struct resizer *)self)->writes);
}

static bool condition(void *self, const struct ray_cluster *cluster, struct arena *arena,
		      struct extra_condition *ret_condition)
{
	const struct resizer *resizer = self;
	const struct resized *resized =
		cluster_map_get(&resizer->of.clusters, cluster->namespace_, cluster->name);

	if (!resized || !resized->refused)
		return false;
	*ret_condition = (struct extra_condition){
		.type = CONDITION_POD_RESIZE_REFUSED,
		.reason = REASON_POD_RESIZE_REFUSED,
		/* The status cuts long texts: the answer is last. */
		.message = arena_printf(arena, "Pods cannot be resized: " CURE "; %s",
					resized->refused),
		.is_true = true,
		.reported = "",
	};
	return true;
}

static void write_resizes(const void *self, const struct metrics_cluster *cluster,
			  struct metrics_family *family)
{
	const struct resizer *resizer = self;
	const struct resized *resized =
		cluster_map_get(&resizer->of.clusters, cluster->of.namespace_, cluster->of.name);

	if (!resizer->of.control->options->settings.in_place_resize)
		return;
	for (int i = 0; i < RESIZED_RESULTS; i++)
		metrics_text_integer(family,
				     (const char *const[]){ cluster->of.namespace_,
							    cluster->of.name, result_names[i] },
				     resized ? resized->counts[i] : 0);
}

static const struct feature_metric metrics[] = {
	{ .row = { METRICS_COUNTER, "rayscaler_pod_resizes_total", "namespace,raycluster,result",
		   "In-place resizes of Pods: requested, done, failed." },
	  .need = METRICS_SCALED,
	  .write = write_resizes },
};

const struct feature in_place_resize_feature = {
	.state_size = sizeof(struct resizer),
	.cluster_size = sizeof(struct resized),
	.cluster_done = resized_done,
	.end = end,
	.decided = decided,
	.condition = condition,
	.metrics = metrics,
	.metric_count = sizeof(metrics) / sizeof(metrics[0]),
};
