#include "sim/pod_start.h"

#include <string.h>

static const struct pod_starts *recorded_of(const struct sim_worker *worker)
{
	const struct pod_starts_list *list = &worker->ray->world->input->models.group_starts;
	const struct ray_cluster *cluster = worker->ray->input->cluster;

	for (size_t i = 0; worker->type > 0 && i < list->count; i++)
		if (strcmp(list->at[i].cluster, cluster->name) == 0 &&
		    strcmp(list->at[i].group, cluster->groups[worker->type - 1].name) == 0)
			return &list->at[i];
	return NULL;
}

struct pod_start pod_start_draw(const struct sim_worker *worker)
{
	struct sim_world *world = worker->ray->world;
	const struct sim_models *models = &world->input->models;
	const struct pod_starts *recorded = recorded_of(worker);
	struct pod_start start = { models->pod_start_ms, models->register_ms };

	if (recorded) {
		size_t number = worker->ray->starts_used[worker->type - 1]++;
		int64_t ms = recorded->ms[number % recorded->count];

		if (start.register_ms > ms)
			start.register_ms = ms;
		start.start_ms = ms - start.register_ms;
	} else if (models->recorded_start_count > 0) {
		start.start_ms = models->recorded_start_ms[world_random(world) %
							   models->recorded_start_count];
	}
	return start;
}
