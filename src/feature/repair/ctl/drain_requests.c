#include "feature/repair/ctl/drain_requests.h"

#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "core/model/identity.h"
#include "core/model/pod_status.h"
#include "ctl/report/overload.h"
#include "ctl/shared/control.h"
#include "feature/repair/codec/repair_json.h"
#include "feature/repair/core/repair_signal.h"
#include "feature/repair/kube/drain_request_type.h"
#include "kube/kube_path.h"
#include "net/log.h"
#include "net/loop.h"

/* By then the watch has the version that was written. */
#define REWRITE_MS 60000

/* ---- in snapshots ---- */

static const struct drain_request *next_open(const struct drain_requests *requests, size_t *at)
{
	const struct drain_request *request;

	while ((request = kube_informer_next(requests->watch.informer, at)))
		if (!drain_request_is_complete(request))
			return request;
	return NULL;
}

/* By the name of its Node: a DrainRequest that is not complete. */
static struct map open_requests(const struct drain_requests *requests, struct arena *arena)
{
	struct map open = MAP_IN(arena);
	const struct drain_request *request;
	size_t at = 0;

	while ((request = next_open(requests, &at)))
		map_set(&open, request->node, (void *)(uintptr_t)request);
	return open;
}

void drain_requests_observe(const struct drain_requests *requests, struct arena *arena,
			    struct snapshot *snapshot)
{
	VEC(struct drain_request) found = { .at = NULL };
	struct map open;

	if (!requests->reads || kube_informer_count(requests->watch.informer) == 0)
		return;
	open = open_requests(requests, arena);
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

/* A request that was sent is not sent again before this time. */
struct attempt {
	const char *key; /* of the map */
	int64_t not_before_ms;
};

static void start_timer(struct drain_requests *requests)
{
	if (requests->timer_runs || requests->call)
		return;
	requests->timer_runs = true;
	loop_timer_start(requests->timer, DRAIN_REQUESTS_SWEEP_MS);
}

static void answered(void *context, const struct kube_answer *answer, const struct err *err)
{
	struct drain_requests *requests = context;
	struct attempt *attempt = map_get(&requests->attempts, requests->sent);

	requests->call = NULL;
	if (err)
		log_warning("a DrainRequest cannot be completed", "request", requests->sent,
			    "error", err->text, "fix",
			    "install the chart with config.repairDrainRequests=true, which grants "
			    "patch of drainrequests/status",
			    NULL);
	else
		log_info("a DrainRequest is complete: no Pod of a RayCluster is on its Node",
			 "request", requests->sent, NULL);
	if (attempt)
		attempt->not_before_ms =
			loop_monotonic_ms(requests->control->loop) +
			(err ? overload_retry_ms(err, answer->retry_after_ms) : REWRITE_MS);
	start_timer(requests);
}

static const char *key_of(const struct drain_request *request, struct arena *arena)
{
	return arena_printf(arena, "%s/%s", request->namespace_, request->name);
}

static void complete(struct drain_requests *requests, const struct drain_request *request,
		     struct arena *arena)
{
	const char *body =
		drain_request_patch_body(request, loop_wall(requests->control->loop), arena);
	const char *path = kube_path_managed(
		arena, kube_path(arena, "nvsentinel.nvidia.com/v1alpha1", request->namespace_,
				 "drainrequests", request->name, "status"));

	memory_set_string(&requests->sent, key_of(request, arena));
	map_make(&requests->attempts, requests->sent, sizeof(struct attempt));
	requests->call = kube_client_send(requests->control->kube, KUBE_MERGE_PATCH, path, body,
					  strlen(body), answered, requests);
}

/* Of the requests on whose Node no Pod of a RayCluster runs the one that may be sent since the longest time. */
static const struct drain_request *next_done(const struct drain_requests *requests,
					     struct arena *arena)
{
	int64_t first_ms = loop_monotonic_ms(requests->control->loop);
	const struct drain_request *request, *first = NULL;
	struct map used = MAP_IN(arena);
	const struct pod *pod;
	size_t at = 0;

	while ((pod = kube_informer_next(requests->control->pods, &at)))
		if (!pod_has_ended(pod))
			map_set(&used, pod->spec.node_name, (void *)(uintptr_t)pod);
	at = 0;
	while ((request = next_open(requests, &at))) {
		const struct attempt *attempt =
			map_get(&requests->attempts, key_of(request, arena));
		int64_t not_before_ms = attempt ? attempt->not_before_ms : INT64_MIN;

		if (not_before_ms > first_ms || (first && not_before_ms == first_ms) ||
		    map_get(&used, request->node))
			continue;
		first = request;
		first_ms = not_before_ms;
	}
	return first;
}

static void sweep(void *context)
{
	struct drain_requests *requests = context;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const struct drain_request *done = NULL;
	size_t at = 0;

	requests->timer_runs = false;
	if (!next_open(requests, &at))
		return;
	if (control_synced(requests->control) && !*control_stale(requests->control, &scratch))
		done = next_done(requests, &scratch);
	if (done)
		complete(requests, done, &scratch);
	start_timer(requests);
}

/* Those with a Pod on the Node decide again. */
static void request_changed(void *context, enum kube_change change UNUSED, const char *key,
			    const void *old, const void *new_object)
{
	struct optional_watch *watch = context;
	struct drain_requests *requests = watch->owner;
	const struct drain_request *request = new_object ? new_object : old;
	const struct pod *pod;
	size_t at = 0;

	if (!new_object || drain_request_is_complete(new_object))
		map_drop(&requests->attempts, key, NULL);
	start_timer(requests);
	if (!request || !requests->control->pods)
		return;
	while ((pod = kube_informer_next(requests->control->pods, &at))) {
		const char *cluster = labels_value(&pod->labels, LABEL_CLUSTER);

		if (cluster && strcmp(pod->spec.node_name, request->node) == 0)
			(void)control_wake(requests->control, pod->namespace_, cluster);
	}
}

void drain_requests_start(struct drain_requests *requests, const struct control *control)
{
	requests->control = control;
	requests->reads = true;
	requests->timer = loop_timer_new(control->loop, sweep, requests);
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
	return requests->reads && requests->watch.refused == ERR_NONE;
}

void drain_requests_end(struct drain_requests *requests)
{
	if (!requests->reads)
		return;
	kube_client_cancel(requests->call);
	optional_watch_done(&requests->watch);
	loop_timer_free(requests->timer);
	map_drop_all(&requests->attempts, NULL);
	memory_free(requests->sent);
}
