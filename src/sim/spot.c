#include "sim/spot.h"

#include "sim/kuberay.h"
#include "sim/stock.h"

/* Above these the work would never be done. */
#define RESTARTS_MIN 1000
#define RESTARTS_PER_START 10
#define INTERRUPTIONS_MAX 1000000

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

void spot_plan(struct sim_world *world, size_t pool, size_t node)
{
	struct stock_node *spot = &world->pools[pool].nodes[node];
	int64_t mean_ms = world->pools[pool].input->life_ms;
	double life_ms;

	spot->ends_ms = SIM_NEVER_MS;
	if (mean_ms == 0)
		return;
	life_ms = draw_exponential(world) * (double)mean_ms;
	if (life_ms >= (double)SIM_TIME_MAX_MS)
		return;
	spot->ends_ms = world->now_ms + (int64_t)life_ms;
	event_queue_push(&world->events, spot->ends_ms, SIM_EVENT_SPOT, NULL,
			 stock_node_id(pool, node));
}

static void interrupt_worker(struct sim_worker *worker)
{
	if (worker->state == SIM_WORKER_DELETING)
		return;
	worker->ray->accounts[worker->type].result.interruptions++;
	worker->ray->world->interruptions++;
	kuberay_delete_replica(worker, false);
	kuberay_wake(worker->ray);
}

void spot_interrupt(struct sim_world *world, uint64_t id)
{
	size_t pool = stock_pool_of(id), n = stock_node_of(id);
	struct stock_node *node = &world->pools[pool].nodes[n];

	/* Stale: the Node has no Pods any more, or others with another end. */
	if (node->state != STOCK_READY || node->pods == 0 || node->ends_ms != world->now_ms)
		return;
	node->state = STOCK_LOST;
	for (size_t r = 0; r < world->ray_count; r++)
		for (size_t i = 0; i < world->rays[r].workers.count; i++) {
			struct sim_worker *worker = world->rays[r].workers.at[i];

			if (worker->type > 0 && worker->pool == pool && worker->pool_node == n)
				interrupt_worker(worker);
		}
	if (world->interruptions > INTERRUPTIONS_MAX ||
	    (world->input->end_ms == 0 &&
	     world->result->restarted > RESTARTS_MIN + RESTARTS_PER_START * world->result->started))
		world_fail(world, "interruptions of Nodes end work again and again before it is "
				  "done: lower interruptionsPerHour, or give an early end");
}
