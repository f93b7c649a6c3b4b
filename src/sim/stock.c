#include "sim/stock.h"

#include <string.h>

#include "core/nodes/node_match.h"
#include "core/nodes/pod_request.h"
#include "sim/kuberay.h"

#define RETRY UINT64_MAX /* the id of an event that ends a refusal */

void stock_init(struct sim_world *world)
{
	const struct sim_models *models = &world->input->models;

	world->pools = arena_array(world->arena, models->pool_count, sizeof(*world->pools));
	for (size_t p = 0; p < models->pool_count; p++) {
		const struct sim_pool *input = &models->pools[p];
		const struct quantities *allocatable = &input->node->allocatable;
		struct resource *items =
			arena_array(world->arena, allocatable->count, sizeof(*items));
		struct stock_pool *pool = &world->pools[p];

		for (size_t i = 0; i < allocatable->count; i++)
			items[i] = (struct resource){ allocatable->at[i].name,
						      allocatable->at[i].amount };
		pool->input = input;
		pool->allocatable = resources_sort(items, allocatable->count);
		pool->nodes = arena_array(world->arena, (size_t)input->max, sizeof(*pool->nodes));
		for (size_t r = 0; r < input->refusal_count; r++)
			event_queue_push(&world->events, input->refusals[r].until_ms,
					 SIM_EVENT_NODE, NULL, RETRY);
	}
}

/* ---- room ---- */

static bool has_room(const struct resource *free, size_t count, const struct resources *request)
{
	const struct resources room = { free, count };

	for (size_t i = 0; i < request->count; i++) {
		const struct resource *need = &request->at[i];
		bool pods = strcmp(need->name, POD_REQUEST_PODS) == 0;

		if (need->amount > 0 &&
		    resources_amount(&room, need->name, pods ? RESOURCE_AMOUNT_MAX : 0) <
			    need->amount)
			return false;
	}
	return true;
}

/* pods: 1 or -1. */
static void change(struct sim_worker *worker, const struct resources *request, int pods)
{
	struct stock_pool *pool = &worker->ray->world->pools[worker->pool];
	struct stock_node *node = &pool->nodes[worker->pool_node];

	for (size_t i = 0; i < pool->allocatable.count; i++)
		node->free[i].amount -= pods * resources_amount(request, node->free[i].name, 0);
	node->pods += pods;
	node->empty_since_ms = worker->ray->world->now_ms;
}

static bool matches(const struct stock_pool *pool, const struct pod_spec *spec)
{
	return node_match_selects(spec, pool->input->node) &&
	       node_match_taint(spec, pool->input->node) == NULL;
}

static bool is_refused(const struct stock_pool *pool, int64_t now_ms)
{
	for (size_t r = 0; r < pool->input->refusal_count; r++)
		if (pool->input->refusals[r].from_ms <= now_ms &&
		    now_ms < pool->input->refusals[r].until_ms)
			return true;
	return false;
}

static void make_node(struct sim_world *world, struct stock_pool *pool, size_t n)
{
	struct stock_node *node = &pool->nodes[n];

	if (node->free == NULL)
		node->free =
			arena_array(world->arena, pool->allocatable.count, sizeof(*node->free));
	for (size_t i = 0; i < pool->allocatable.count; i++)
		node->free[i] = pool->allocatable.at[i];
	node->pods = 0;
	node->state = (int64_t)n < pool->input->ready ? STOCK_READY : STOCK_COMING;
}

/* An added Node that has been empty for long is removed; seen when the stock is read. */
static void refresh(struct sim_world *world, struct stock_pool *pool, size_t n)
{
	struct stock_node *node = &pool->nodes[n];

	if (node->state == STOCK_ABSENT && (int64_t)n < pool->input->ready)
		make_node(world, pool, n);
	else if (node->state == STOCK_READY && (int64_t)n >= pool->input->ready &&
		 node->pods == 0 && world->now_ms - node->empty_since_ms >= STOCK_EMPTY_MS)
		node->state = STOCK_ABSENT;
}

/* A Node of the pool with room: an existing one, or (add) one that is added. SIZE_MAX: none. */
static size_t find_node(struct sim_world *world, size_t p, const struct resources *request,
			bool add)
{
	struct stock_pool *pool = &world->pools[p];
	size_t count = pool->allocatable.count;

	if (add &&
	    (is_refused(pool, world->now_ms) || !has_room(pool->allocatable.at, count, request)))
		return SIZE_MAX;
	for (size_t n = 0; n < (size_t)pool->input->max; n++) {
		struct stock_node *node = &pool->nodes[n];

		refresh(world, pool, n);
		if (!add && node->state != STOCK_ABSENT && has_room(node->free, count, request))
			return n;
		if (!add || node->state != STOCK_ABSENT)
			continue;
		make_node(world, pool, n);
		event_queue_push(&world->events, world->now_ms + pool->input->provision_ms,
				 SIM_EVENT_NODE, NULL, (uint64_t)p << 32 | n);
		return n;
	}
	return SIZE_MAX;
}

static bool place(struct sim_worker *worker)
{
	struct sim_world *world = worker->ray->world;
	const struct resources request = pod_request(&worker->pod.spec, &world->pass_arena);

	for (int add = 0; add < 2; add++)
		for (size_t p = 0; p < world->input->models.pool_count; p++) {
			size_t n = matches(&world->pools[p], &worker->pod.spec) ?
					   find_node(world, p, &request, add == 1) :
					   SIZE_MAX;

			if (n == SIZE_MAX)
				continue;
			worker->pool = p;
			worker->pool_node = n;
			change(worker, &request, 1);
			if (world->pools[p].nodes[n].state == STOCK_READY)
				kuberay_scheduled(worker, p, n);
			return true;
		}
	return false;
}

/* ---- changes ---- */

void stock_request(struct sim_worker *worker)
{
	if (worker->ray->world->input->models.pool_count == 0)
		kuberay_scheduled(worker, SIZE_MAX, 0);
	else if (!place(worker))
		worker->ray->world->unplaced++;
}

static void retry(struct sim_world *world)
{
	for (size_t r = 0; world->unplaced > 0 && r < world->ray_count; r++)
		for (size_t i = 0; i < world->rays[r].workers.count; i++) {
			struct sim_worker *worker = world->rays[r].workers.at[i];

			if (worker->type > 0 && worker->state == SIM_WORKER_UNSCHEDULED &&
			    worker->pool == SIZE_MAX && place(worker))
				world->unplaced--;
		}
}

void stock_release(struct sim_worker *worker)
{
	struct sim_world *world = worker->ray->world;
	struct resources request;

	if (world->input->models.pool_count == 0)
		return;
	if (worker->pool == SIZE_MAX) {
		world->unplaced--;
		return;
	}
	request = pod_request(&worker->pod.spec, &world->pass_arena);
	change(worker, &request, -1);
	retry(world);
}

void stock_node_ready(struct sim_world *world, uint64_t id)
{
	size_t p = id >> 32, n = id & UINT32_MAX;

	if (id == RETRY) {
		retry(world);
		return;
	}
	world->pools[p].nodes[n].state = STOCK_READY;
	world->pools[p].nodes[n].empty_since_ms = world->now_ms;
	for (size_t r = 0; r < world->ray_count; r++)
		for (size_t i = 0; i < world->rays[r].workers.count; i++) {
			struct sim_worker *worker = world->rays[r].workers.at[i];

			if (worker->state == SIM_WORKER_UNSCHEDULED && worker->pool == p &&
			    worker->pool_node == n)
				kuberay_scheduled(worker, p, n);
		}
}
