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

	requests->call = NULL;
	if (err) {
		log_warning("a DrainRequest cannot be completed", "request", requests->sent,
			    "error", err->text, "fix",
			    "install the chart with config.repairDrainRequests=true, which grants "
			    "patch of drainrequests/status",
			    NULL);
		requests->not_before_ms = loop_monotonic_ms(requests->control->loop) +
					  overload_retry_ms(err, answer->retry_after_ms);
		memory_set_string(&requests->sent_version, NULL);
	} else {
		log_info("a DrainRequest is complete: no Pod of a RayCluster is on its Node",
			 "request", requests->sent, NULL);
	}
	start_timer(requests);
}

static void complete(struct drain_requests *requests, const struct drain_request *request)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	time_ms now = loop_wall(requests->control->loop);
	const char *body = drain_request_patch_body(request, now, &scratch);
	const char *path = kube_path_managed(
		&scratch, kube_path(&scratch, "nvsentinel.nvidia.com/v1alpha1", request->namespace_,
				    "drainrequests", request->name, "status"));

	memory_set_string(&requests->sent,
			  arena_printf(&scratch, "%s/%s", request->namespace_, request->name));
	memory_set_string(&requests->sent_version, request->resource_version);
	requests->call = kube_client_send(requests->control->kube, KUBE_MERGE_PATCH, path, body,
					  strlen(body), answered, requests);
}

/* Our write of this version has not come back yet. */
static bool is_on_its_way(const struct drain_requests *requests,
			  const struct drain_request *request)
{
	return requests->sent_version &&
	       strcmp(requests->sent_version, request->resource_version) == 0;
}

/* A request on whose Node no Pod of a RayCluster runs. */
static const struct drain_request *first_done(const struct drain_requests *requests,
					      struct map *open)
{
	const struct pod *pod;
	size_t at = 0;

	while ((pod = kube_informer_next(requests->control->pods, &at)))
		if (!pod_has_ended(pod))
			(void)map_remove(open, pod->spec.node_name);
	for (size_t i = 0; i < open->count; i++)
		if (!is_on_its_way(requests, open->entries[i].value))
			return open->entries[i].value;
	return NULL;
}

static void sweep(void *context)
{
	struct drain_requests *requests = context;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct map open = open_requests(requests, &scratch);
	const struct drain_request *done;

	requests->timer_runs = false;
	if (open.count == 0)
		return;
	if (control_synced(requests->control) && !*control_stale(requests->control, &scratch) &&
	    loop_monotonic_ms(requests->control->loop) >= requests->not_before_ms) {
		done = first_done(requests, &open);
		if (done)
			complete(requests, done);
	}
	start_timer(requests);
}

/* Those with a Pod on the Node decide again. */
static void request_changed(void *context, enum kube_change change UNUSED, const char *key UNUSED,
			    const void *old, const void *new_object)
{
	struct optional_watch *watch = context;
	struct drain_requests *requests = watch->owner;
	const struct drain_request *request = new_object ? new_object : old;
	const struct pod *pod;
	size_t at = 0;

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

void drain_requests_end(struct drain_requests *requests)
{
	if (!requests->reads)
		return;
	kube_client_cancel(requests->call);
	optional_watch_done(&requests->watch);
	loop_timer_free(requests->timer);
	memory_free(requests->sent);
	memory_free(requests->sent_version);
}
