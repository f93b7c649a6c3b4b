#include <string.h>

#include "base/budget.h"
#include "core/model/pod_status.h"
#include "feature/repair/codec/repair_json.h"
#include "feature/repair/ctl/drainer.h"

#define MESSAGE_MAX 200

static const struct field failure_list_fields[] = {
	FIELD_LIST(struct failure_list, at, count, worker_failure_fields, "failures"),
	FIELD_END,
};

/* On the loop, so that the first decision of a RayCluster with 100,000 Pods holds it up by a millisecond. */
#define PODS_READ_MAX 1000

static bool ends(const struct plan_worker *worker)
{
	return worker->state == WORKER_DRAINING || worker->state == WORKER_GONE ||
	       worker->reason == REASON_LEAVING;
}

/* In place of its former failure, or of the oldest one of too many. */
static void add(struct worker_failures *failures, const struct worker_failure *failure)
{
	struct worker_failure all[WORKER_FAILURES_MAX], *place;
	struct failure_list list = { .at = all };

	if (failures->list) {
		list.count = failures->list->count;
		memcpy(all, failures->list->at, list.count * sizeof(*all));
	}
	place = ARRAY_FIND(all, list.count, pod, failure->pod);
	if (!place && list.count < WORKER_FAILURES_MAX)
		place = &all[list.count++];
	if (!place) {
		place = all;
		ARRAY_EACH(struct worker_failure, other, all, WORKER_FAILURES_MAX)
			if (other->at < place->at)
				place = other;
	}
	*place = *failure;
	failures->texts.budget = failures->budget;
	failures->list =
		field_keep(failure_list_fields, &list, sizeof(list), SIZE_MAX, &failures->texts);
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
	struct pod_status status;

	if (!group || !pod_is_worker(pod) || pod->deleting || pod->unreadable ||
	    pod->spec.node_name[0] == '\0' || is_disrupted(pod) || !pod_status_is_news(old, pod) ||
	    name_set_contains(&failures->ending, pod->name))
		return;
	status = pod_status_read(pod, &scratch);
	if (status.failed_at == TIME_NONE && now == TIME_NONE)
		return;
	add(failures, &(struct worker_failure){
			      .group = group,
			      .pod = pod->name,
			      .node = pod->spec.node_name,
			      .at = status.failed_at != TIME_NONE ? status.failed_at : now,
			      .message = arena_cut(&scratch, status.text, MESSAGE_MAX),
		      });
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

void worker_failures_observe(const struct worker_failures *failures, struct arena *arena,
			     struct snapshot *snapshot)
{
	const struct failure_list *list;

	if (!failures->list)
		return;
	list = field_copy(failure_list_fields, failures->list, sizeof(*list), arena);
	snapshot->worker_failures = list->at;
	snapshot->worker_failure_count = list->count;
}

void worker_failures_done(struct worker_failures *failures)
{
	arena_done(&failures->texts);
	arena_done(&failures->arena);
	budget_free(failures->budget);
}
