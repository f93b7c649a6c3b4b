#include "sim/spot.h"

#include <string.h>

#include "sim/kuberay.h"

static const struct sim_spot *spot_of(const struct sim_worker *worker)
{
	const struct sim_models *models = &worker->ray->world->input->models;
	const char *group = worker->ray->groups[worker->type - 1].name;

	for (size_t i = 0; i < models->spot_count; i++) {
		const struct sim_spot *spot = &models->spots[i];

		if ((spot->cluster[0] == '\0' ||
		     strcmp(spot->cluster, worker->ray->cluster.name) == 0) &&
		    (spot->group[0] == '\0' || strcmp(spot->group, group) == 0))
			return spot;
	}
	return NULL;
}

/* Exponential with mean 1, without a logarithm (von Neumann 1951): of a falling sequence of random
 * numbers, an odd length accepts its first one; each even length adds 1. */
static double draw_exponential(struct sim_world *world)
{
	for (double whole = 0;; whole += 1) {
		uint64_t first = world_random(world), last = first, next;
		unsigned length = 1;

		for (; (next = world_random(world)) < last; last = next)
			length++;
		if (length % 2 == 1)
			return whole + (double)(first >> 11) / (double)(UINT64_C(1) << 53);
	}
}

void spot_plan(struct sim_worker *worker)
{
	struct sim_world *world = worker->ray->world;
	const struct sim_spot *spot = worker->type > 0 ? spot_of(worker) : NULL;
	double life_ms;

	if (spot == NULL)
		return;
	life_ms = draw_exponential(world) * (double)spot->mean_ms;
	if (life_ms < (double)SIM_TIME_MAX_MS)
		event_queue_push(&world->events, world->now_ms + (int64_t)life_ms, SIM_EVENT_SPOT,
				 worker, worker->id);
}

void spot_interrupt(struct sim_worker *worker)
{
	if (worker->state == SIM_WORKER_DELETING)
		return;
	worker->ray->accounts[worker->type - 1].result.interruptions++;
	kuberay_delete_replica(worker, false);
	kuberay_wake(worker->ray);
}
