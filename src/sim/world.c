#include "sim/world.h"

#include "base/memory.h"

uint64_t world_random(struct sim_world *world)
{
	world->random ^= world->random >> 12;
	world->random ^= world->random << 25;
	world->random ^= world->random >> 27;
	return world->random * UINT64_C(2685821657736338717);
}

struct arena *world_next_arena(struct arena arenas[2])
{
	struct arena last = arenas[0];

	arenas[0] = arenas[1];
	arenas[1] = last;
	arena_reset(&arenas[0]);
	return &arenas[0];
}

void world_fail(struct sim_world *world, const char *text)
{
	if (!world->failed)
		err_set(world->err, ERR_LIMIT, "%s", text);
	world->failed = true;
}

void world_done(struct sim_world *world)
{
	ARRAY_EACH(struct sim_ray, ray, world->rays, world->ray_count) {
		for (size_t c = 0; c < ray->classes.count; c++)
			memory_free(ray->classes.at[c]->queue.at);
		if (ray->to_delete)
			for (size_t g = 0; g < ray->cluster.group_count; g++)
				arena_done(&ray->to_delete[g]);
		arena_done(&ray->memory_arenas[0]);
		arena_done(&ray->memory_arenas[1]);
	}
	event_queue_done(&world->events);
	arena_done(&world->pass_arena);
}
