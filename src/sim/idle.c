#include "sim/idle.h"

void idle_registered(struct sim_worker *worker)
{
	worker->idle_since_ms = worker->ray->world->now_ms;
	worker->draining = false;
}

void idle_work_ended(struct sim_worker *worker)
{
	if (!worker->holds)
		worker->idle_since_ms = worker->ray->world->now_ms;
}

int64_t idle_duration_ms(const struct sim_worker *worker)
{
	return worker->holds ? 0 : worker->ray->world->now_ms - worker->idle_since_ms;
}

enum ray_node_status idle_status(const struct sim_worker *worker)
{
	if (worker->draining)
		return RAY_NODE_DRAINING;
	return idle_duration_ms(worker) > 0 ? RAY_NODE_IDLE : RAY_NODE_RUNNING;
}

bool idle_drain(struct sim_worker *worker)
{
	worker->draining = worker->state == SIM_WORKER_REGISTERED && !worker->holds;
	return worker->draining;
}
