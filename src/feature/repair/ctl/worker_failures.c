#include "feature/repair/ctl/worker_failures.h"

#include <string.h>

#include "base/budget.h"
#include "core/model/pod_status.h"
#include "feature/repair/codec/repair_json.h"

#define MESSAGE_MAX 200
#define TEXT_BYTES 256 /* of most failures; a block of an arena has 4 KiB else */

/* On the loop, so that the first decision of a RayCluster with 100,000 Pods holds it up by a millisecond. */
#define PODS_READ_MAX 1000

static bool ends(const struct plan_worker *worker)
{
	return worker->state == WORKER_DRAINING || worker->state == WORKER_GONE ||
	       worker->reason == REASON_LEAVING;
}

/* Its former failure, a free place, or the oldest one. */
static struct worker_failure *place_of(struct worker_failures *failures, const char *pod)
{
	struct worker_failure *oldest = &failures->at[0];

	for (size_t i = 0; i < failures->count; i++) {
		if (strcmp(failures->at[i].pod, pod) == 0)
			return &failures->at[i];
		if (failures->at[i].at < oldest->at)
			oldest = &failures->at[i];
	}
	return failures->count < WORKER_FAILURES_MAX ? &failures->at[failures->count++] : oldest;
}

/* Evicted, preempted, or its Node is shut down. */
static bool is_disrupted(const struct pod *pod)
{
	const struct condition *target =
		condition_find(pod->conditions, pod->condition_count, "DisruptionTarget");

	return target && strcmp(target->status, "True") == 0;
}

void worker_failures_pod_changed(struct worker_failures *failures, const struct pod *old,
				 const struct pod *pod, time_ms now)
{
	const char *group = labels_value(&pod->labels, LABEL_GROUP);
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct worker_failure *failure;
	struct pod_status status;
	struct arena *memory;

	if (!group || !pod_is_worker(pod) || pod->deleting || pod->unreadable ||
	    pod->spec.node_name[0] == '\0' || is_disrupted(pod) || !pod_status_is_news(old, pod) ||
	    name_set_contains(&failures->ending, pod->name))
		return;
	status = pod_status_read(pod, &scratch);
	if (status.failed_at == TIME_NONE && now == TIME_NONE)
		return;
	failure = place_of(failures, pod->name);
	memory = &failures->arenas[failure - failures->at];
	arena_done(memory);
	memory->budget = failures->budget;
	arena_reserve(memory, TEXT_BYTES);
	*failure = (struct worker_failure){
		.group = group,
		.pod = pod->name,
		.node = pod->spec.node_name,
		.at = status.failed_at != TIME_NONE ? status.failed_at : now,
		.message = arena_cut(&scratch, status.text, MESSAGE_MAX),
	};
	field_own(worker_failure_fields, failure, memory);
}

void worker_failures_decided(struct worker_failures *failures, const struct snapshot *snapshot,
			     const struct plan *plan)
{
	VEC(const char *) names = { .at = NULL };

	arena_done(&failures->arena);
	failures->arena.budget = failures->budget;
	VEC_EACH(const struct plan_worker, worker, &plan->workers)
		if (ends(worker))
			VEC_PUSH(&failures->arena, &names,
				 arena_strdup(&failures->arena, worker->pod));
	VEC_EACH(const struct plan_group, group, &plan->groups)
		VEC_EACH(const struct plan_termination, end, &group->terminate)
			VEC_PUSH(&failures->arena, &names,
				 arena_strdup(&failures->arena, end->pod));
	failures->ending =
		name_set_of_strings(&failures->arena, &(struct strings){ names.at, names.count });
	if (failures->began)
		return;
	failures->began = true;
	for (size_t i = 0; i < snapshot->pod_count && i < PODS_READ_MAX; i++)
		worker_failures_pod_changed(failures, NULL, snapshot->pods[i], TIME_NONE);
}

const struct worker_failure *worker_failures_copy(const struct worker_failures *failures,
						  struct arena *arena)
{
	struct worker_failure *copy = ARENA_COPY(arena, failures->at, failures->count);

	for (size_t i = 0; i < failures->count; i++)
		field_own(worker_failure_fields, &copy[i], arena);
	return copy;
}

void worker_failures_done(struct worker_failures *failures)
{
	for (size_t i = 0; i < failures->count; i++)
		arena_done(&failures->arenas[i]);
	arena_done(&failures->arena);
	budget_free(failures->budget);
}
