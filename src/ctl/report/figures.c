#include "ctl/report/figures.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/capacity/capacity.h"
#include "core/decide/gate.h"
#include "core/model/reason.h"
#include "core/report/summary.h"

#define PLACEMENT_GROUP_ID_DIGITS 36

/* ---- resources ---- */

struct amounts {
	VEC(struct figures_resource) list;
};

/* A node's own marker resource, or the share that a placement group takes from a node: there are as
 * many as nodes and placement groups, and Kubernetes does not know them. */
static bool is_internal(const char *name)
{
	size_t size = strlen(name);

	if (strncmp(name, "node:", 5) == 0)
		return true;
	return strstr(name, "_group_") && size > PLACEMENT_GROUP_ID_DIGITS &&
	       strspn(name + size - PLACEMENT_GROUP_ID_DIGITS, "0123456789abcdef") ==
		       PLACEMENT_GROUP_ID_DIGITS;
}

static struct figures_resource *amount_of(struct amounts *amounts, const char *name,
					  struct arena *arena)
{
	for (size_t i = 0; i < amounts->list.count; i++)
		if (!strcmp(amounts->list.at[i].name, name))
			return &amounts->list.at[i];
	if (amounts->list.count >= FIGURES_RESOURCES_MAX || is_internal(name))
		return NULL;
	VEC_PUSH(arena, &amounts->list,
		 ((struct figures_resource){ .name = arena_strdup(arena, name) }));
	return &amounts->list.at[amounts->list.count - 1];
}

static int64_t saturate(__int128 value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static void add_living_nodes(const struct ray_state *state, struct amounts *amounts,
			     struct arena *arena)
{
	for (size_t i = 0; i < state->node_count; i++) {
		const struct resources *total = &state->nodes[i].total;

		if (!ray_node_is_alive(&state->nodes[i]))
			continue;
		for (size_t r = 0; r < total->count; r++) {
			struct figures_resource *sum = amount_of(amounts, total->at[r].name, arena);

			if (sum)
				sum->cluster =
					saturate((__int128)sum->cluster + total->at[r].amount);
		}
	}
}

static void add_pending(const struct snapshot *snapshot, const struct figures *figures,
			struct amounts *amounts, struct arena *arena)
{
	for (size_t g = 0; g < figures->group_count; g++) {
		AUTO(arena_done) struct arena scratch = ARENA_INIT;
		struct capacity capacity = { 0 };

		if (figures->groups[g].pending == 0)
			continue;
		capacity_of_group(&snapshot->cluster, g, &snapshot->settings,
				  snapshot->device_table, &scratch, &capacity);
		for (size_t r = 0; r < capacity.resources.count; r++) {
			const struct resource *one = &capacity.resources.at[r];
			struct figures_resource *sum = amount_of(amounts, one->name, arena);

			if (sum)
				sum->pending = saturate((__int128)figures->groups[g].pending *
								one->amount +
							sum->pending);
		}
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct figures_resource *)a)->name,
		      ((const struct figures_resource *)b)->name);
}

/* ---- reasons ---- */

struct counts {
	VEC(struct figures_count) list;
};

static void count_reason(struct counts *counts, const char *reason, int64_t count,
			 struct arena *arena)
{
	for (size_t i = 0; i < counts->list.count; i++)
		if (!strcmp(counts->list.at[i].name, reason)) {
			counts->list.at[i].count += count;
			return;
		}
	if (counts->list.count < FIGURES_REASONS_MAX)
		VEC_PUSH(arena, &counts->list,
			 ((struct figures_count){ .name = arena_strdup(arena, reason),
						  .count = count }));
}

bool figures_keeps_idle(const char *reason)
{
	return strncmp(reason, "NeededBy", 8) == 0;
}

/* Idle workers that are kept for another reason than the idle timeout. */
static void count_kept(const struct plan *plan, struct counts *kept, struct arena *arena)
{
	for (size_t i = 0; i < plan->workers.count; i++) {
		const struct plan_worker *worker = &plan->workers.at[i];

		if (worker->state == WORKER_IDLE && figures_keeps_idle(worker->reason))
			count_reason(kept, worker->reason, 1, arena);
	}
}

/* ---- the decision ---- */

static void carry_marks(const struct figures *old, struct figures_group *group)
{
	const struct figures_group *before = old ? figures_group(old, group->name) : NULL;

	if (!before)
		return;
	if (group->target_replicas > group->replicas)
		group->wanted_since_ms = before->wanted_since_ms;
	/* When replicas were lowered since, the Pods of the earlier patch will not be created. */
	if (group->replicas >= before->replicas)
		group->patched_ms = before->patched_ms;
}

static void make_group(const struct summary_group *from, const struct figures *old,
		       struct figures_group *group, struct arena *arena)
{
	*group = (struct figures_group){
		.name = arena_strdup(arena, from->name),
		.replicas = from->replicas,
		.target_replicas = from->target_replicas,
		.min_replicas = from->min_replicas,
		.max_replicas = from->max_replicas,
		.hosts = from->hosts,
		.active = from->joined,
		.pending = from->missing + from->pods[WORKER_PENDING] + from->pods[WORKER_STARTING],
		.failed = from->pods[WORKER_GONE],
		.missing = from->missing,
		.gpus_wanted = from->gpus.wanted,
		.gpus_running = from->gpus.running,
		.gpus_idle = from->gpus.idle,
		.gpus_wasted = from->gpus.running - from->gpus.in_use,
		.backoff_cause = from->backoff ? arena_strdup(arena, from->backoff->cause) : "",
	};
	carry_marks(old, group);
}

static void make_conditions(const struct plan *plan, struct figures *figures, struct arena *arena)
{
	struct figures_condition *conditions =
		arena_array(arena, plan->conditions.count, sizeof(*conditions));

	for (size_t i = 0; i < plan->conditions.count; i++) {
		const struct plan_condition *condition = &plan->conditions.at[i];

		conditions[i] = (struct figures_condition){
			.type = arena_strdup(arena, condition->type),
			.status = arena_strdup(arena, condition->status),
			.reason = arena_strdup(arena, condition->reason),
		};
	}
	figures->conditions = conditions;
	figures->condition_count = plan->conditions.count;
}

static bool removal_is_allowed(const struct snapshot *snapshot, const struct plan *plan)
{
	if (snapshot->view_problem && snapshot->view_problem[0])
		return false;
	for (size_t i = 0; i < plan->workers.count; i++)
		if (!strcmp(plan->workers.at[i].reason, REASON_TERMINATION_FORBIDDEN))
			return false;
	return true;
}

static void make_resources(const struct snapshot *snapshot, struct figures *figures,
			   struct arena *arena)
{
	struct amounts amounts = { 0 };

	if (figures->ray_reachable)
		add_living_nodes(snapshot->ray_state, &amounts, arena);
	add_pending(snapshot, figures, &amounts, arena);
	if (amounts.list.count > 1)
		qsort(amounts.list.at, amounts.list.count, sizeof(amounts.list.at[0]), by_name);
	figures->resources = amounts.list.at;
	figures->resource_count = amounts.list.count;
}

static void make_members(const struct snapshot *snapshot, const struct plan *plan,
			 const struct summary *summary, const struct figures *old,
			 struct figures *figures, struct arena *arena)
{
	size_t count = summary->group_count < FIGURES_GROUPS_MAX ? summary->group_count :
								   FIGURES_GROUPS_MAX;
	struct figures_group *groups = arena_array(arena, count, sizeof(*groups));
	struct counts unserved = { 0 }, kept = { 0 };

	for (size_t i = 0; i < count; i++)
		make_group(&summary->groups[i], old, &groups[i], arena);
	figures->groups = groups;
	figures->group_count = count;
	figures->ray_reachable = summary->ray_reachable;
	figures->head_active = plan->head_node != NULL;
	figures->head_gpus_running = summary->head_gpus.running;
	figures->head_gpus_in_use = summary->head_gpus.in_use;
	figures->joined = summary->joined;
	figures->gpus_pending = summary->pending_gpus;
	figures->safe_to_scale_down = summary->ray_reachable && removal_is_allowed(snapshot, plan);
	for (size_t i = 0; i < summary->unserved_count; i++)
		count_reason(&unserved, summary->unserved[i].reason, summary->unserved[i].count,
			     arena);
	figures->unserved = unserved.list.at;
	figures->unserved_count = unserved.list.count;
	count_kept(plan, &kept, arena);
	figures->kept = kept.list.at;
	figures->kept_count = kept.list.count;
	make_resources(snapshot, figures, arena);
}

struct figures *figures_of(const struct snapshot *snapshot, const struct plan *plan,
			   const struct figures *old, struct arena *arena)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct figures *figures = ARENA_NEW(arena, struct figures);

	figures->decided_at = snapshot->now;
	figures->hands_off = gate_check(snapshot).reason != NULL;
	make_conditions(plan, figures, arena);
	if (!figures->hands_off)
		make_members(snapshot, plan, summary_of(snapshot, plan, &scratch), old, figures,
			     arena);
	return figures;
}

struct figures_group *figures_group(const struct figures *figures, const char *name)
{
	for (size_t i = 0; i < figures->group_count; i++)
		if (!strcmp(figures->groups[i].name, name))
			return &figures->groups[i];
	return NULL;
}
