#include "laws_cut.h"

#include "base/memory.h"
#include "codec/objects/snapshot_json.h"
#include "core/decide.h"
#include "core/model/cpu_budget.h"

/* Of work until the cut. */
#define CUT_UNITS_MAX 20000

static enum cpu_spent cut_now(void *context)
{
	(void)context;
	return CPU_STOP;
}

/* A group in which the whole one terminates hosts of a replica is left out: without the termination the
 * missing hosts of the same replica are launched. */
static void compare(const struct plan *whole, const struct plan *part, struct laws_verdict *verdict)
{
	for (size_t g = 0; g < part->groups.count; g++) {
		const struct plan_group *group = &part->groups.at[g];
		int64_t launches = whole->groups.at[g].to_launch;

		if (group->terminate.count > 0)
			laws_break(verdict, "cut", "group %s terminates when it is cut short",
				   group->name);
		else if (group->to_launch > launches && !whole->groups.at[g].terminate.count)
			laws_break(verdict, "cut",
				   "group %s launches %lld when it is cut short, else %lld",
				   group->name, (long long)group->to_launch, (long long)launches);
	}
}

/* With pools that grant nothing the part launches no more than the whole. */
static void check_pools(const struct snapshot *snapshot, uint64_t seed, struct arena *arena,
			struct laws_verdict *verdict)
{
	struct cpu_budget budget = { .spent = cut_now,
				     .ms = 1,
				     .units = 1 + (int64_t)(seed % CUT_UNITS_MAX) };
	size_t count = snapshot->cluster.group_count;
	struct pool_grant *grants = arena_array(arena, count, sizeof(*grants));
	struct pool_terms pools = { .grants = grants, .grant_count = count };
	struct snapshot pooled = *snapshot;
	const struct plan *whole, *part;

	for (size_t g = 0; g < count; g++)
		grants[g] = (struct pool_grant){ .group = snapshot->cluster.groups[g].name,
						 .reason = REASON_WAITS_FOR_POOL,
						 .message = "" };
	pooled.pools = &pools;
	pooled.cpu_budget = NULL;
	whole = decide(&pooled, arena);
	pooled.cpu_budget = &budget;
	part = decide(&pooled, arena);
	for (size_t g = 0; g < part->groups.count; g++)
		if (part->groups.at[g].patch_replicas > part->groups.at[g].replicas &&
		    part->groups.at[g].patch_replicas > whole->groups.at[g].patch_replicas &&
		    !whole->groups.at[g].terminate.count)
			laws_break(verdict, "cut", "group %s is raised beyond its grant",
				   part->groups.at[g].name);
}

bool laws_cut_check(const struct cJSON *snapshot, uint64_t seed, struct laws_verdict *verdict)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct cpu_budget budget = { .spent = cut_now,
				     .ms = 1,
				     .units = 1 + (int64_t)(seed % CUT_UNITS_MAX) };
	struct err err = { .kind = ERR_NONE };
	struct snapshot decoded;
	const struct plan *whole, *part;

	if (snapshot_decode(snapshot, "", &arena, &decoded, &err)) {
		laws_break(verdict, "reads", "%s", err.text);
		return false;
	}
	if (decoded.settings.packing != PACKING_RAY ||
	    (decoded.memory && memory_next_mark(decoded.memory, MARK_STARVED_DEMAND, NULL)))
		return false;
	whole = decide(&decoded, &arena);
	decoded.cpu_budget = &budget;
	part = decide(&decoded, &arena);
	if (budget.cut)
		compare(whole, part, verdict);
	if (budget.cut)
		check_pools(&decoded, seed, &arena, verdict);
	return budget.cut;
}
