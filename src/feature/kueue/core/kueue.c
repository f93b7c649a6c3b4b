#include "feature/kueue/core/kueue.h"

#include <string.h>

#include "base/check.h"
#include "base/int64.h"
#include "base/map.h"
#include "base/text.h"
#include "core/decide/patch.h"
#include "core/decide/progress.h"
#include "core/model/reason.h"
#include "core/nodes/pod_request.h"

#define MESSAGE_MAX 400

/* The gate of Kueue's elastic jobs does. */
static bool holds(const struct pod *pod)
{
	const struct strings *gates = &pod->spec.scheduling_gates;

	return text_is_among(KUEUE_ELASTIC_JOB, gates->at, gates->count);
}

bool kueue_is_awaited(const struct plan *plan)
{
	VEC_EACH(const struct plan_worker, worker, &plan->workers)
		if (worker->object && strcmp(worker->reason, REASON_WAITS_FOR_KUEUE) == 0)
			return true;
	return false;
}

/* ---- gated Pods ---- */

static bool is_gated(const struct health *health, const struct worker *worker)
{
	const struct worker_health *own = &health->workers[worker->index];

	return worker->pod &&
	       (own->obstacle == OBSTACLE_GATED || own->obstacle == OBSTACLE_WAITING) &&
	       own->waiting_reason && strcmp(own->waiting_reason, REASON_WAITS_FOR_KUEUE) == 0;
}

/* Longer than PROGRESS_GATE_GRACE_MS. */
static bool is_held(const struct health *health, const struct worker *worker)
{
	return health->workers[worker->index].obstacle == OBSTACLE_GATED &&
	       is_gated(health, worker);
}

static int64_t count(const struct health *health, const struct group *group,
		     bool (*is)(const struct health *health, const struct worker *worker))
{
	int64_t number = 0;

	for (size_t i = 0; i < group->worker_count; i++)
		number += is(health, &health->facts->workers[group->first_worker + i]);
	return number;
}

/* ---- another group ---- */

static bool covers(const struct capacity *capacity, const struct capacity *other)
{
	ARRAY_EACH(const struct resource, resource, other->resources.at, other->resources.count) {
		if (resources_amount(&capacity->resources, resource->name, 0) < resource->amount)
			return false;
	}
	ARRAY_EACH(const struct label, label, other->labels.at, other->labels.count) {
		const char *value = labels_value(&capacity->labels, label->key);

		if (!value || strcmp(value, label->value) != 0)
			return false;
	}
	return true;
}

static bool was_refused(const struct health *health, const struct group *group)
{
	const struct memory_state *memory = health->snapshot->memory;

	if (memory && VEC_FIND(&memory->backoffs, group, group->spec->name))
		return true;
	for (size_t i = 0; i < group->worker_count; i++)
		if (health->workers[group->first_worker + i].obstacle == OBSTACLE_GATED)
			return true;
	return false;
}

/* Another group serves whatever this one would. A launch does not return to a group that it left within
 * BACKOFF_FORGET_MS, so it loses its place in the queue at most once for each group. */
static bool moves_on(const struct health *health, const struct group *group)
{
	const struct facts *facts = health->facts;

	ARRAY_EACH(const struct group, other, facts->groups, facts->group_count) {
		if (other != group && !other->frozen && !was_refused(health, other) &&
		    !progress_scale_gate(other->spec) && other->hosts == group->hosts &&
		    other->kept + other->missing < other->spec->max_replicas * other->hosts &&
		    covers(&other->template_capacity, &group->template_capacity))
			return true;
	}
	return false;
}

/* ---- the Workload ---- */

/* NULL: it is not known, or none waits. */
static const struct kueue_workload *waiting(const struct health *health)
{
	const struct kueue_workload *workload = health->snapshot->kueue;

	return workload && workload->problem[0] == '\0' && workload->name[0] != '\0' ? workload :
										       NULL;
}

/* Kueue writes names of groups in lower case. */
static bool is_lower_case_of(const char *lower, const char *name)
{
	while (*name && *lower == (*name >= 'A' && *name <= 'Z' ? *name - 'A' + 'a' : *name)) {
		lower++;
		name++;
	}
	return *name == '\0' && *lower == '\0';
}

static const struct kueue_pod_set *pod_set_of(const struct kueue_workload *workload,
					      const struct group *group)
{
	if (!workload)
		return NULL;
	for (size_t i = 0; i < workload->pod_set_count; i++)
		if (is_lower_case_of(workload->pod_sets[i].name, group->spec->name))
			return &workload->pod_sets[i];
	return NULL;
}

/* All that is there and requested; the Workload is about these numbers, or an older one. */
static int64_t pods_of(const struct group *group)
{
	return group->spec->replicas * group->hosts;
}

static bool is_about_now(const struct health *health, const struct kueue_workload *workload)
{
	ARRAY_EACH(const struct group, group, health->facts->groups, health->facts->group_count) {
		const struct kueue_pod_set *set = pod_set_of(workload, group);

		if (set && set->pods != pods_of(group))
			return false;
	}
	return true;
}

/* Launches of another group, for which there may be quota. */
static bool others_wait(const struct health *health, const struct group *group,
			const struct kueue_workload *workload)
{
	ARRAY_EACH(const struct group, other, health->facts->groups, health->facts->group_count) {
		const struct kueue_pod_set *set = pod_set_of(workload, other);

		if (other != group && set && !set->refused && count(health, other, is_gated) > 0)
			return true;
	}
	return false;
}

/* How many Pods of the group are above the quota, as Kueue's message says. */
static int64_t excess(const struct health *health, const struct group *group,
		      const struct kueue_pod_set *set)
{
	struct resources request = pod_request(&group->spec->template.spec, health->arena);
	int64_t each = resources_amount(&request, set->resource, 0);

	if (set->resource[0] == '\0' || set->lacks <= 0 || each <= 0)
		return INT64_MAX;
	return (set->lacks - 1) / each + 1;
}

/* Pods of the group that are cancelled: 0 while they keep their place. A replica of several hosts is
 * cancelled or kept with the others. */
static int64_t cancelled(const struct health *health, const struct group *group)
{
	const struct kueue_workload *workload = waiting(health);
	const struct kueue_pod_set *set = pod_set_of(workload, group);
	int64_t gated = count(health, group, is_held), above;

	if (gated == 0 || group->frozen)
		return 0;
	if (!health->snapshot->kueue || health->snapshot->kueue->problem[0] != '\0')
		return moves_on(health, group) ? gated : 0;
	if (!set || !set->refused || !is_about_now(health, workload))
		return 0;
	above = int64_min(excess(health, group, set), gated);
	if (group->hosts > 1)
		above = gated;
	above = int64_min(above, set->pods - set->admitted);
	if (above <= 0 || (group->hosts > 1 && above < gated))
		return 0;
	return above < gated || others_wait(health, group, workload) || moves_on(health, group) ?
		       above :
		       0;
}

/* ---- the hook: how long each gate is waited for ---- */

static const char *gate_text(const struct health *health, const struct pod *pod)
{
	const struct kueue_workload *workload = health->snapshot->kueue;
	const char *gate =
		arena_printf(health->arena, "scheduling gate %s", pod->spec.scheduling_gates.at[0]);

	if (!workload)
		return gate;
	if (workload->problem[0] != '\0')
		return arena_printf(health->arena, "%s; %.*s", gate, MESSAGE_MAX,
				    workload->problem);
	if (workload->name[0] == '\0')
		return gate;
	if (workload->message[0] == '\0')
		return arena_printf(health->arena, "Workload %.253s waits in the queue",
				    workload->name);
	return arena_printf(health->arena, "%.*s (Workload %.253s)", MESSAGE_MAX, workload->message,
			    workload->name);
}

static void assess_worker(struct health *health, const struct worker *worker)
{
	struct worker_health *own = &health->workers[worker->index];

	if (!worker->pod || !own->waiting_reason ||
	    strcmp(own->waiting_reason, REASON_QUOTA_GATED) != 0 || !holds(worker->pod))
		return;
	own->waiting_reason = REASON_WAITS_FOR_KUEUE;
	own->obstacle_message = gate_text(health, worker->pod);
	own->gate = GATE_WAITS;
}

/* The last ones of the group. */
static void cancel(struct health *health, const struct group *group, int64_t pods)
{
	for (size_t i = group->worker_count; i > 0 && pods > 0; i--) {
		const struct worker *worker = &health->facts->workers[group->first_worker + i - 1];

		if (!is_held(health, worker))
			continue;
		health->workers[worker->index].gate = GATE_CANCELLED;
		health->workers[worker->index].cause = REASON_KUEUE_QUOTA;
		pods--;
	}
}

static void assess(struct health *health)
{
	const struct facts *facts = health->facts;

	for (size_t i = 0; i < facts->worker_count; i++)
		assess_worker(health, &facts->workers[i]);
	for (size_t g = 0; g < facts->group_count; g++)
		cancel(health, &facts->groups[g], cancelled(health, &facts->groups[g]));
}

/* ---- invariants ---- */

/* The Pods of the cluster by name. */
static struct map pods_by_name(const struct facts *facts)
{
	struct map pods = MAP_IN(facts->arena);

	for (size_t i = 0; i < facts->snapshot->pod_count; i++)
		map_set(&pods, facts->snapshot->pods[i]->name, (void *)facts->snapshot->pods[i]);
	return pods;
}

/* Nothing that is admitted is cancelled. */
static void check_group(const struct choice *choice, const struct plan_group *planned,
			const struct group *group, const struct map *pods)
{
	const struct kueue_pod_set *set = pod_set_of(waiting(choice->health), group);
	int64_t cancelled_pods = 0;

	VEC_EACH(const struct plan_termination, item, &planned->terminate) {
		const struct pod *pod = map_get(pods, item->pod);

		if (strcmp(item->reason, REASON_GROUP_BACKED_OFF) != 0)
			continue;
		CHECK(pod && holds(pod));
		cancelled_pods++;
	}
	CHECK(!set || cancelled_pods == 0 || cancelled_pods <= set->pods - set->admitted);
}

static void write(const struct choice *choice, struct plan *plan)
{
	struct map pods = { .arena = NULL };

	for (size_t g = 0; g < plan->groups.count; g++) {
		if (choice->health->groups[g].cancels != CANCELS_GATED)
			continue;
		if (!pods.arena)
			pods = pods_by_name(choice->facts);
		check_group(choice, &plan->groups.at[g], &choice->facts->groups[g], &pods);
	}
}

/* ---- replicas of a suspended RayCluster ---- */

static bool lowers(const struct facts *facts)
{
	const struct snapshot *snapshot = facts->snapshot;
	const struct autoscaler_object *object = snapshot->autoscaler;

	if (strcmp(facts->gate.reason, REASON_SUSPENDED) != 0 || snapshot->cluster.deleting ||
	    !snapshot->cluster.suspend || ray_cluster_suspended_at(&snapshot->cluster) ||
	    !labels_value(&snapshot->cluster.labels, KUEUE_LABEL_QUEUE) ||
	    (object && object->paused))
		return false;
	return object && object->has_lower_while_suspended ?
		       object->lower_while_suspended :
		       snapshot->settings.lower_while_suspended;
}

static void lower(const struct facts *facts, const struct group *group, struct plan *plan)
{
	struct plan_group *planned = &plan->groups.at[group->index];
	int64_t replicas = group->spec->replicas, least = group->spec->min_replicas;

	patch_test_name(plan, facts->arena, group);
	patch_replicas(plan, facts->arena, group, "test", replicas);
	patch_replicas(plan, facts->arena, group, "add", least);
	planned->target_replicas = planned->patch_replicas = least;
	planned->reason = REASON_SCALE_DOWN_SUSPENDED;
	planned->message = arena_printf(facts->arena,
					"%lld replicas from before the suspension are above "
					"minReplicas %lld",
					(long long)replicas, (long long)least);
}

static void write_gated(const struct facts *facts, struct plan *plan)
{
	if (!lowers(facts))
		return;
	ARRAY_EACH(const struct group, group, facts->groups, facts->group_count) {
		if (group->frozen || !group->spec->has_replicas ||
		    group->spec->replicas <= group->spec->min_replicas)
			continue;
		if (plan->patch.count == 0)
			patch_add(plan, facts->arena,
				  (struct patch_op){ .op = "test",
						     .path = "/spec/suspend",
						     .kind = PATCH_VALUE_BOOLEAN,
						     .integer = true });
		lower(facts, group, plan);
	}
}

const struct decision_feature kueue_decisions = {
	.assess = assess,
	.write = write,
	.write_gated = write_gated,
};
