#include "core/report/ray_lines.h"

#include <string.h>

#include "core/capacity/capacity.h"
#include "core/model/name_set.h"
#include "core/model/reason.h"

/* ray: autoscaler/v2/event_logger.py of 2.60. */
#define CAUSE_IDLE "idle"
#define CAUSE_MAXIMUM "max number of worker nodes per type reached"

struct maker {
	const struct snapshot *snapshot;
	const struct plan *plan;
	struct arena *arena;
	VEC(const char *) lines;
};

/* Ray's word for a reason of a worker or a group; Ray has none for others. */
static const char *cause_of(enum reason reason)
{
	bool idle = reason_has(reason, TRAIT_IDLE) || reason == REASON_DRAINED ||
		    reason == REASON_SCALE_DOWN_IDLE || reason == REASON_SCALE_DOWN_DRAINED;
	bool maximum = reason == REASON_ABOVE_MAX_REPLICAS ||
		       reason == REASON_SCALE_DOWN_MAX_REPLICAS;

	return idle ? CAUSE_IDLE : maximum ? CAUSE_MAXIMUM : reason_word(reason);
}

struct removal {
	const char *cause;
	int64_t count;
};

struct removal_list {
	VEC(struct removal) at; /* each cause once; there are about a dozen */
};

static void remove_count(struct maker *maker, struct removal_list *list, enum reason reason,
			 int64_t count)
{
	const char *cause = cause_of(reason);
	struct removal *known = VEC_FIND(&list->at, cause, cause);

	if (!known) {
		known = VEC_ADD(maker->arena, &list->at);
		known->cause = cause;
	}
	known->count += count;
}

static int64_t count_deletions(const struct plan_group *group)
{
	int64_t count = 0;

	for (size_t i = 0; i < group->terminate.count; i++)
		count += group->terminate.at[i].action != TERMINATE_DRAIN;
	return count;
}

/* Ray has drained a worker above the maximum before the patch that deletes it: of the drained ones those
 * count for the maximum that are above it, as in Ray. Replicas without a Pod have the reason of the
 * group. */
static void add_removals(struct maker *maker, const struct plan_group *group, int64_t maximum)
{
	struct removal_list list = { .at = { .at = NULL } };
	int64_t unnamed = group->replicas - group->target_replicas - count_deletions(group);
	int64_t above = group->replicas - maximum;

	for (size_t i = 0; i < group->terminate.count; i++) {
		const struct plan_termination *end = &group->terminate.at[i];
		bool drained = end->reason == REASON_DRAINED;

		if (end->action != TERMINATE_DRAIN)
			remove_count(maker, &list,
				     drained && above-- > 0 ? REASON_ABOVE_MAX_REPLICAS :
							      end->reason,
				     1);
	}
	if (unnamed > 0)
		remove_count(maker, &list, group->reason, unnamed);
	VEC_EACH(const struct removal, removal, &list.at)
		VEC_PUSH(maker->arena, &maker->lines,
			 arena_printf(maker->arena, "Removing %lld nodes of type %s (%s).",
				      (long long)removal->count, group->name, removal->cause));
}

/* Replicas that are launched: without those that exist already. */
static int64_t count_added(const struct plan_group *group)
{
	int64_t added = group->target_replicas - group->replicas;

	return added < group->to_launch ? added : group->to_launch;
}

static bool is_changed(const struct plan_group *group)
{
	return group->replicas != group->target_replicas || count_deletions(group) > 0;
}

static void add_group(struct maker *maker, const struct plan_group *group, int64_t maximum)
{
	if (!is_changed(group))
		return;
	if (count_added(group) > 0)
		VEC_PUSH(maker->arena, &maker->lines,
			 arena_printf(maker->arena, "Adding %lld node(s) of type %s.",
				      (long long)count_added(group), group->name));
	add_removals(maker, group, maximum);
	VEC_PUSH(maker->arena, &maker->lines,
		 arena_printf(maker->arena, "Group %s from %lld to %lld replicas (%s): %s",
			      group->name, (long long)group->replicas,
			      (long long)group->target_replicas, reason_word(group->reason),
			      group->message));
}

/* ---- what the cluster has afterwards ---- */

static const char *const kinds[] = { "CPU", "GPU", "TPU" };
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

static void add_amounts(double sums[KIND_COUNT], const struct resources *resources, int64_t count)
{
	for (size_t k = 0; k < KIND_COUNT; k++)
		sums[k] += (double)resources_amount(resources, kinds[k], 0) * (double)count;
}

static struct name_set ended_pods(const struct maker *maker)
{
	struct strings names;
	VEC(const char *) ended = { .at = NULL };

	VEC_EACH(const struct plan_group, group, &maker->plan->groups)
		for (size_t i = 0; i < group->terminate.count; i++)
			VEC_PUSH(maker->arena, &ended, group->terminate.at[i].pod);
	names = (struct strings){ .at = ended.at, .count = ended.count };
	return name_set_of_strings(maker->arena, &names);
}

/* Workers that have not registered, and replicas that are launched, count by their template. */
static void add_unregistered(const struct maker *maker, size_t g, int64_t registered,
			     double sums[KIND_COUNT])
{
	const struct snapshot *snapshot = maker->snapshot;
	int64_t count = maker->plan->groups.at[g].target_replicas *
				snapshot->cluster.groups[g].num_of_hosts -
			registered;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct capacity capacity = { 0 };

	if (count <= 0)
		return;
	capacity_of_group(&snapshot->cluster, g, &snapshot->settings, snapshot->device_table,
			  &scratch, &capacity);
	add_amounts(sums, &capacity.resources, count);
}

static void add_size(struct maker *maker)
{
	const struct plan *plan = maker->plan;
	struct name_set ended = ended_pods(maker);
	double sums[KIND_COUNT] = { 0 };
	const char *text;
	size_t at = 0;

	if (plan->head_node)
		add_amounts(sums, &plan->head_node->total, 1);
	for (size_t g = 0; g < plan->groups.count; g++) {
		int64_t registered = 0;

		for (; at < plan->workers.count &&
		       strcmp(plan->workers.at[at].group, plan->groups.at[g].name) == 0;
		     at++) {
			const struct plan_worker *worker = &plan->workers.at[at];

			if (!worker->node || name_set_contains(&ended, worker->pod))
				continue;
			registered++;
			add_amounts(sums, &worker->node->total, 1);
		}
		add_unregistered(maker, g, registered, sums);
	}
	text = arena_printf(maker->arena, "Resized to %lld CPUs",
			    (long long)(sums[0] / RESOURCE_UNIT));
	for (size_t k = 1; k < KIND_COUNT; k++)
		if (sums[k] > 0)
			text = arena_printf(maker->arena, "%s, %lld %ss", text,
					    (long long)(sums[k] / RESOURCE_UNIT), kinds[k]);
	VEC_PUSH(maker->arena, &maker->lines, arena_printf(maker->arena, "%s.", text));
}

struct strings ray_lines(const struct snapshot *snapshot, const struct plan *plan,
			 struct arena *arena)
{
	struct maker maker = { .snapshot = snapshot, .plan = plan, .arena = arena };

	for (size_t g = 0; g < plan->groups.count; g++)
		add_group(&maker, &plan->groups.at[g], snapshot->cluster.groups[g].max_replicas);
	if (maker.lines.count > 0)
		add_size(&maker);
	return (struct strings){ .at = maker.lines.at, .count = maker.lines.count };
}
