#include "feature/repair/ctl/drain_requests.h"

#include <string.h>

#include "core/model/identity.h"
#include "core/model/pod_status.h"
#include "ctl/shared/control.h"
#include "ctl/shared/leader.h"
#include "feature/repair/codec/repair_json.h"
#include "feature/repair/core/repair_signal.h"
#include "feature/repair/kube/drain_request_type.h"
#include "kube/kube_path.h"
#include "net/loop.h"

#define WRITES_PER_SECOND 5
#define UNDER_WAY_MAX 4
#define WAKE_MS 100

/* One that is not complete. */
struct open_request {
	const char *key; /* "namespace/name", of the map */
	struct drain_requests *requests;
	const struct drain_request *object; /* of the informer */
	struct write_item completion;
};

/* ---- in snapshots ---- */

void drain_requests_observe(const struct drain_requests *requests, struct arena *arena,
			    struct snapshot *snapshot)
{
	VEC(struct drain_request) found = { .at = NULL };
	struct map open = MAP_IN(arena); /* by Node */

	for (size_t i = 0; i < requests->open.count; i++) {
		const struct open_request *own = requests->open.entries[i].value;

		map_set(&open, own->object->node, own->object);
	}
	for (size_t i = 0; i < snapshot->pod_count && open.count > 0; i++) {
		const struct drain_request *request =
			map_remove(&open, snapshot->pods[i]->spec.node_name);

		if (!request)
			continue;
		VEC_PUSH(arena, &found, *request);
		field_own(drain_request_fields, &found.at[found.count - 1], arena);
	}
	snapshot->drain_requests = found.at;
	snapshot->drain_request_count = found.count;
}

/* ---- completion ---- */

/* A Pod of a RayCluster runs on the Node. All requests of one turn of the loop share a pass over the Pods. */
static bool is_used(struct drain_requests *requests, const char *node)
{
	int64_t now_ms = loop_monotonic_ms(requests->control->loop);
	const struct pod *pod;
	size_t at = 0;

	if (requests->used_ms != now_ms) {
		arena_done(&requests->arena);
		requests->used = MAP_IN(&requests->arena);
		requests->used_ms = now_ms;
		while ((pod = kube_informer_next(requests->control->pods, &at)))
			if (!pod_has_ended(pod))
				map_set(&requests->used, pod->spec.node_name, pod);
	}
	return map_get(&requests->used, node) != NULL;
}

static enum write_next next_write(struct write_item *item, struct kube_request *request,
				  struct arena *arena)
{
	const struct open_request *own = item->owner;
	const struct drain_request *object = own->object;
	const struct control *control = own->requests->control;

	if (!leader_is_leading(control->leader) || !control_synced(control) ||
	    *control_stale(control, arena) || is_used(own->requests, object->node)) {
		item->not_before_ms = loop_monotonic_ms(control->loop) + DRAIN_REQUESTS_SWEEP_MS;
		return WRITE_LATER;
	}
	if (!write_item_is_shown(item, object->resource_version))
		return WRITE_LATER;
	write_item_base(item, object->resource_version);
	request->verb = KUBE_MERGE_PATCH;
	request->path = kube_path_managed(arena, kube_path(arena, "nvsentinel.nvidia.com/v1alpha1",
							   object->namespace_, "drainrequests",
							   object->name, "status"));
	request->body = drain_request_patch_body(object, loop_wall(control->loop), arena);
	return WRITE_NOW;
}

static void ended(struct write_item *item, const struct kube_answer *answer UNUSED,
		  const struct err *err)
{
	if (!err)
		log_info("a DrainRequest is complete: no Pod of a RayCluster is on its Node",
			 "request", item->key, NULL);
}

static const struct write_kind kind = {
	.message = "a DrainRequest cannot be completed",
	.allowed = "DrainRequests can be completed now",
	.fix = "install the chart with config.repairDrainRequests=true, which grants patch of "
	       "drainrequests/status",
	.interval_ms = DRAIN_REQUESTS_SWEEP_MS,
	.next = next_write,
	.ended = ended,
};

/* ---- the watch ---- */

static void open_done(void *value)
{
	write_item_done(&((struct open_request *)value)->completion);
}

static void keep_open(struct drain_requests *requests, const char *key,
		      const struct drain_request *object)
{
	struct open_request *own = map_make(&requests->open, key, sizeof(*own));

	own->object = object;
	if (!own->requests)
		write_item_init(&own->completion, &requests->queue, own, "", own->key, NULL);
	own->requests = requests;
	write_item_queue(&own->completion);
}

/* RayClusters with a Pod on one of the Nodes decide again. */
static void wake(void *context)
{
	struct drain_requests *requests = context;
	const struct pod *pod;
	size_t at = 0;

	while ((pod = kube_informer_next(requests->control->pods, &at))) {
		const char *cluster = labels_value(&pod->labels, LABEL_CLUSTER);

		if (cluster && map_get(&requests->changed, pod->spec.node_name))
			(void)control_wake(requests->control, pod->namespace_, cluster);
	}
	map_done(&requests->changed);
}

/* There may be 100,000 Pods: all requests of a while share one look at them. */
static void request_changed(void *context, enum kube_change change UNUSED, const char *key,
			    const void *old, const void *new_object)
{
	struct optional_watch *watch = context;
	struct drain_requests *requests = watch->owner;
	const struct drain_request *request = new_object ? new_object : old;

	if (!new_object || drain_request_is_complete(new_object))
		map_drop(&requests->open, key, open_done);
	else
		keep_open(requests, key, new_object);
	if (!request || !requests->control->pods)
		return;
	if (requests->changed.count == 0)
		loop_timer_start(requests->wake, WAKE_MS);
	map_set(&requests->changed, request->node, requests);
}

void drain_requests_start(struct drain_requests *requests, const struct control *control)
{
	requests->control = control;
	requests->used_ms = INT64_MIN;
	requests->wake = loop_timer_new(control->loop, wake, requests);
	write_queue_init(&requests->queue, control, &kind, WRITES_PER_SECOND, WRITES_PER_SECOND,
			 UNDER_WAY_MAX);
	requests->watch.level = LOG_WARNING;
	requests->watch.owner = requests;
	requests->watch.without = "DrainRequests cannot be read";
	requests->watch.again = "DrainRequests can be read now";
	optional_watch_start(&requests->watch, control->kube,
			     (struct kube_informer_options){
				     .type = &kube_type_drain_request,
				     .callbacks = { .on_change = request_changed },
			     });
}

bool drain_requests_are_read(const struct drain_requests *requests)
{
	return requests->control && requests->watch.refused == ERR_NONE;
}

void drain_requests_end(struct drain_requests *requests)
{
	if (!requests->control)
		return;
	map_drop_all(&requests->open, open_done);
	optional_watch_done(&requests->watch);
	loop_timer_free(requests->wake);
	map_done(&requests->changed);
	write_queue_done(&requests->queue);
	arena_done(&requests->arena);
}
