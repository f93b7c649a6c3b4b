#include <string.h>

#include "core/model/identity.h"
#include "core/model/pod_status.h"
#include "ctl/shared/control.h"
#include "ctl/shared/leader.h"
#include "feature/repair/codec/repair_json.h"
#include "feature/repair/ctl/drainer.h"
#include "feature/repair/kube/drain_request_type.h"
#include "kube/kube_path.h"
#include "net/loop.h"

#define WRITES_PER_SECOND 5
#define UNDER_WAY_MAX 4
#define LOOK_MS 100 /* after a change */

/* One that is not complete. */
struct open_request {
	const char *key; /* "namespace/name", of the map */
	struct drain_requests *requests;
	const struct drain_request *object; /* of the informer */
	struct open_request *next;          /* of the same Node, in a look */
	bool used;                          /* a Pod of it may be there, by the last look */
	struct write_item completion;
};

void drain_requests_observe(const struct drain_requests *requests, struct arena *arena,
			    struct snapshot *snapshot)
{
	VEC(struct drain_request) found = { .at = NULL };
	struct map nodes = MAP_IN(arena);

	for (size_t i = 0; i < snapshot->pod_count && requests->open.count > 0; i++)
		map_set(&nodes, snapshot->pods[i]->spec.node_name, &nodes);
	for (size_t i = 0; i < requests->open.count; i++) {
		const struct open_request *own = requests->open.entries[i].value;

		if (!map_get(&nodes, own->object->node))
			continue;
		VEC_PUSH(arena, &found, *own->object);
		field_own(drain_request_fields, &found.at[found.count - 1], arena);
	}
	snapshot->drain_requests = found.at;
	snapshot->drain_request_count = found.count;
}

/* ---- completion ---- */

static enum write_next next_write(struct write_item *item, struct kube_request *request,
				  struct arena *arena)
{
	const struct open_request *own = item->owner;
	const struct drain_request *object = own->object;
	const struct control *control = own->requests->control;

	if (own->used)
		return WRITE_NOTHING;
	if (!leader_is_leading(control->leader)) {
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
		log_info(
			"a DrainRequest is complete: none of its Pods of a RayCluster is on its Node",
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

/* ---- the looks at Pods ---- */

static void look_at(struct drain_requests *requests, const struct pod *pod,
		    struct open_request *first)
{
	const char *cluster = labels_value(&pod->labels, LABEL_CLUSTER);

	for (struct open_request *own = first; own && !pod_has_ended(pod); own = own->next)
		own->used = own->used || drain_request_names(own->object, pod);
	if (cluster && map_get(&requests->changed, pod->spec.node_name))
		(void)control_wake(requests->control, pod->namespace_, cluster);
}

/* There may be 100,000 Pods: all requests share one look at them. RayClusters with a Pod on the Node of one that has
 * changed decide again. */
static void look(void *context)
{
	struct drain_requests *requests = context;
	const struct control *control = requests->control;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct map nodes = MAP_IN(&scratch); /* the first request of each */
	bool known = control_synced(control) && !*control_stale(control, &scratch);
	const struct pod *pod;
	size_t at = 0;

	for (size_t i = 0; i < requests->open.count; i++) {
		struct open_request *own = requests->open.entries[i].value;

		own->used = !known || own->object->node[0] == '\0';
		own->next = map_get(&nodes, own->object->node);
		map_set(&nodes, own->object->node, own);
	}
	while (control->pods && (pod = kube_informer_next(control->pods, &at)))
		if (pod->spec.node_name[0] != '\0')
			look_at(requests, pod, map_get(&nodes, pod->spec.node_name));
	map_done(&requests->changed);
	for (size_t i = 0; i < requests->open.count; i++) {
		struct open_request *own = requests->open.entries[i].value;

		if (!own->used)
			write_item_queue(&own->completion);
	}
	if (requests->open.count > 0)
		loop_timer_start(requests->look, DRAIN_REQUESTS_SWEEP_MS);
}

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
	own->used = true; /* until the next look */
	if (!own->requests)
		write_item_init(&own->completion, &requests->queue, own, "", own->key, NULL);
	own->requests = requests;
}

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
	if (!request)
		return;
	if (requests->changed.count == 0)
		loop_timer_start(requests->look, LOOK_MS);
	map_set(&requests->changed, request->node, requests);
}

void drain_requests_start(struct drain_requests *requests, const struct control *control)
{
	requests->control = control;
	requests->look = loop_timer_new(control->loop, look, requests);
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
	loop_timer_free(requests->look);
	map_done(&requests->changed);
	write_queue_done(&requests->queue);
}
