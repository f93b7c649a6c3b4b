#include "test/support/plan_stays.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/memory.h"
#include "codec/objects/plan_json.h"
#include "core/decide.h"

#define TEXT_BYTES_MAX ((size_t)16 << 20)
/* The memory is the one that was read after the second decision for most. */
#define SETTLES_MAX 4
#define DAY_MS INT64_C(86400000)

/* The same facts `ms` later: idle nodes have been idle for longer. */
static struct snapshot later(const struct snapshot *snapshot, const struct plan *plan, int64_t ms,
			     struct arena *arena)
{
	struct snapshot next = *snapshot;
	struct ray_state *state = ARENA_NEW(arena, struct ray_state);
	struct ray_node *nodes;

	next.now += ms;
	next.memory = &plan->memory;
	if (!snapshot->ray_state)
		return next;
	*state = *snapshot->ray_state;
	nodes = arena_array(arena, state->node_count, sizeof(*nodes));
	for (size_t i = 0; i < state->node_count; i++) {
		nodes[i] = state->nodes[i];
		if (nodes[i].idle_duration_ms > 0 || nodes[i].status == RAY_NODE_IDLE)
			nodes[i].idle_duration_ms += ms;
	}
	state->nodes = nodes;
	state->version++;
	next.ray_state = state;
	next.ray_state_time += ms;
	return next;
}

static void add_demands(struct buf *text, const struct plan_demand *demands, size_t count)
{
	for (size_t i = 0; i < count; i++)
		(void)buf_printf(text, "%s %s %lld %s %s\n", demand_kind_name(demands[i].kind),
				 demand_source_name(demands[i].source), (long long)demands[i].count,
				 reason_word(demands[i].reason), demands[i].group);
}

/* All of a plan but for times in messages. */
static char *gist(const struct plan *plan)
{
	struct plan copy = *plan;
	struct buf text;
	struct err err;

	copy.memory = (struct memory_state){ .templates.count = 0 };
	copy.workers.count = copy.groups.count = copy.conditions.count = 0;
	copy.infeasible.count = copy.unserved.count = 0;
	buf_init(&text, TEXT_BYTES_MAX);
	CHECK(plan_write(&copy, false, &text, &err) == 0);
	for (size_t i = 0; i < plan->groups.count; i++) {
		const struct plan_group *group = &plan->groups.at[i];

		(void)buf_printf(&text, "%s %lld %lld %lld %zu %s\n", group->name,
				 (long long)group->replicas, (long long)group->target_replicas,
				 (long long)group->to_launch, group->terminate.count,
				 reason_word(group->reason));
	}
	for (size_t i = 0; i < plan->workers.count; i++)
		(void)buf_printf(&text, "%s %s %s\n", plan->workers.at[i].pod,
				 worker_state_name(plan->workers.at[i].state),
				 reason_word(plan->workers.at[i].reason));
	add_demands(&text, plan->infeasible.at, plan->infeasible.count);
	add_demands(&text, plan->unserved.at, plan->unserved.count);
	for (size_t i = 0; i < plan->conditions.count; i++)
		(void)buf_printf(&text, "%s %s %s\n", plan->conditions.at[i].type,
				 plan->conditions.at[i].status,
				 reason_word(plan->conditions.at[i].reason));
	return buf_steal(&text);
}

static bool same_after(const struct snapshot *snapshot, const struct plan *plan, int64_t ms,
		       struct arena *arena)
{
	struct snapshot next = later(snapshot, plan, ms, arena);
	char *before = gist(plan), *after = gist(decide(&next, arena));
	bool same = strcmp(before, after) == 0;

	memory_free(before);
	memory_free(after);
	return same;
}

/* Until plan.next_change the clock changes nothing. */
static const char *check_plan(const struct snapshot *snapshot, const struct plan *plan,
			      struct arena *arena, struct plan_stays *counts)
{
	static const int64_t spans[] = { 1, 1000, 5000, 61000, 3600000, 400 * DAY_MS };
	bool for_ever = plan->next_change == PLAN_NEVER_CHANGES;
	int64_t left_ms = for_ever ? INT64_MAX : plan->next_change - snapshot->now;
	int64_t last_ms = for_ever ? 2 * DAY_MS : left_ms - 1;

	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++)
		if (spans[i] < left_ms && !same_after(snapshot, plan, spans[i], arena))
			return arena_printf(arena, "%lld ms later the plan is another one",
					    (long long)spans[i]);
	if (last_ms > 0 && !same_after(snapshot, plan, last_ms, arena))
		return arena_printf(arena, "%lld ms later, before its end, the plan is another one",
				    (long long)last_ms);
	counts->for_ever += for_ever;
	counts->change += !for_ever && !same_after(snapshot, plan, left_ms, arena);
	return NULL;
}

const char *plan_stays_check(const struct snapshot *snapshot, struct arena *arena,
			     struct plan_stays *counts)
{
	struct snapshot again = *snapshot;

	counts->snapshots++;
	for (int i = 0; i < SETTLES_MAX; i++) {
		const struct plan *plan = decide(&again, arena);

		CHECK(plan->next_change >= snapshot->now);
		if (plan->next_change > snapshot->now) {
			counts->stay++;
			return check_plan(&again, plan, arena, counts);
		}
		again.memory = &plan->memory;
		again.cluster_work = NULL; /* read in one pass alone */
	}
	return NULL;
}
