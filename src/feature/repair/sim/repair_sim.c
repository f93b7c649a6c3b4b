#include "feature/repair/sim/repair_sim.h"

#include "feature/repair/core/repair.h"
#include "sim/pass_time.h"

/* By RayCluster. */
struct sim_repairs {
	struct repair_asks *asks, **all;
};

static struct sim_repairs *repairs_of(struct sim_world *world)
{
	struct sim_repairs *repairs = world->repairs;

	if (repairs)
		return repairs;
	world->repairs = repairs = ARENA_NEW(world->arena, struct sim_repairs);
	repairs->asks = arena_array(world->arena, world->ray_count, sizeof(*repairs->asks));
	repairs->all = arena_array(world->arena, world->ray_count, sizeof(struct repair_asks *));
	for (size_t r = 0; r < world->ray_count; r++)
		repairs->all[r] = &repairs->asks[r];
	return repairs;
}

static void observe(const struct sim_ray *ray, struct arena *arena, struct snapshot *snapshot)
{
	const struct sim_repairs *repairs = repairs_of(ray->world);

	snapshot->repair_grants_known = true;
	snapshot->repair_grants = repair_grants_of(&repairs->asks[ray->number], arena);
}

static bool decided(struct sim_ray *ray, const struct plan *plan)
{
	struct sim_world *world = ray->world;
	struct sim_repairs *repairs = repairs_of(world);

	if (!plan->repair && repairs->asks[ray->number].nodes.count == 0)
		return false;
	repair_asks_set(&repairs->asks[ray->number], plan->repair);
	repair_grants_renew(repairs->all, world->ray_count,
			    ray->settings.repair_fleet_max_unavailable, world->now_ms);
	for (size_t r = 0; r < world->ray_count; r++)
		if (r != ray->number && repair_grants_may_begin(repairs->all[r]))
			pass_time_changed(&world->rays[r]);
	return repair_grants_may_begin(&repairs->asks[ray->number]);
}

static void done(struct sim_world *world)
{
	const struct sim_repairs *repairs = world->repairs;

	if (!repairs)
		return;
	for (size_t r = 0; r < world->ray_count; r++)
		repair_asks_done(&repairs->asks[r]);
}

const struct sim_repairing repair_sim = { observe, decided, done };
