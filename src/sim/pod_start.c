#include "sim/pod_start.h"

int64_t pod_start_ms(struct sim_world *world)
{
	const struct sim_models *models = &world->input->models;

	if (models->recorded_start_count == 0)
		return models->pod_start_ms;
	return models->recorded_start_ms[world_random(world) % models->recorded_start_count];
}
