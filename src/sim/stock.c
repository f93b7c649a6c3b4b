#include "sim/stock.h"

#include <string.h>

#include "core/nodes/node_fit.h"
#include "core/nodes/pod_request.h"
#include "sim/node_repair.h"
#include "sim/pass_time.h"
#include "sim/pod.h"

#define RETRY UINT64_MAX        /* the id of an event that ends a refusal */
#define REPAIR (UINT64_MAX - 1) /* of one that begins or ends a repair */

static void make_node(struct sim_world *world, struct stock_pool *pool, size_t n,
		      enum stock_state state)
{
	struct stock_node *node = &pool->nodes[n];

	/* One that comes again has no Pods left. */
	if (!node->capacity.at)
		node_capacity_init(&node->capacity, &pool->input->node, world->input->devices,
				   world->arena);
	node->pods = 0;
	node->state = state;
	if (n >= pool->end)
		pool->end = n + 1;
}

static void window_ends(struct sim_world *world, const struct node_pool_window *window, uint64_t id)
{
	event_queue_push(&world->events, window->until_ms, SIM_EVENT_NODE, NULL, id);
	if (window->until_ms > world->windows_end_ms)
		world->windows_end_ms = window->until_ms;
}

static void init_pool(struct sim_world *world, struct stock_pool *pool,
		      const struct node_pool *input)
{
	*pool = (struct stock_pool){
		.input = input,
		.nodes = arena_array(world->arena, (size_t)input->max_nodes, sizeof(*pool->nodes)),
	};
	node_capacity_init(&pool->empty, &input->node, world->input->devices, world->arena);
	for (size_t n = 0; n < (size_t)input->min_nodes; n++)
		make_node(world, pool, n, STOCK_READY);
	ARRAY_EACH(const struct node_pool_window, refusal, input->refusals, input->refusal_count)
		window_ends(world, refusal, RETRY);
	ARRAY_EACH(const struct node_pool_window, repair, input->repairs, input->repair_count) {
		event_queue_push(&world->events, repair->from_ms, SIM_EVENT_NODE, NULL, REPAIR);
		window_ends(world, repair, REPAIR);
	}
}

void stock_init(struct sim_world *world)
{
	const struct node_pools *pools = &world->input->models.pools;

	world->pools = arena_array(world->arena, pools->count, sizeof(*world->pools));
	for (size_t p = 0; p < pools->count; p++)
		init_pool(world, &world->pools[p], &pools->at[p]);
}

/* ---- room ---- */

static bool has_room(const struct node_capacity *capacity, int64_t pods,
		     const struct node_demand *demand)
{
	return capacity->count > 0 ? node_fit_has_room(demand, capacity) : pods == 0;
}

static struct stock_node *node_of(const struct sim_worker *worker)
{
	return &worker->ray->world->pools[worker->pool].nodes[worker->pool_node];
}

/* pods: 1 or -1. */
static void change(struct sim_worker *worker, const struct resources *request, int pods)
{
	struct stock_node *node = node_of(worker);

	node_capacity_change(&node->capacity, request, pods, worker->ray->world->arena);
	node->pods += pods;
	node->empty_since_ms = worker->ray->world->now_ms;
	if (node->pods == 0 && node->state == STOCK_LOST)
		node->state = STOCK_ABSENT;
}

static bool is_refused(const struct stock_pool *pool, int64_t now_ms)
{
	for (size_t r = 0; r < pool->input->refusal_count; r++)
		if (pool->input->refusals[r].from_ms <= now_ms &&
		    now_ms < pool->input->refusals[r].until_ms)
			return true;
	return false;
}

/* An added Node that has been empty for long is removed; seen when the stock is read. */
static void refresh(const struct sim_world *world, struct stock_pool *pool, size_t n)
{
	struct stock_node *node = &pool->nodes[n];

	if (node->state == STOCK_READY && (int64_t)n >= pool->input->min_nodes && node->pods == 0 &&
	    world->now_ms - node->empty_since_ms >= STOCK_EMPTY_MS)
		node->state = STOCK_ABSENT;
}

/* The first Node with room; SIZE_MAX: none. */
static size_t find_node(const struct sim_world *world, size_t p, const struct node_demand *demand)
{
	struct stock_pool *pool = &world->pools[p];

	for (size_t n = 0; n < pool->end; n++) {
		struct stock_node *node = &pool->nodes[n];

		refresh(world, pool, n);
		if ((node->state == STOCK_READY || node->state == STOCK_COMING) &&
		    !node_repair_of(pool, n, world->now_ms) &&
		    has_room(&node->capacity, node->pods, demand))
			return n;
	}
	return SIZE_MAX;
}

/* A new Node, ready after its provisioning time; SIZE_MAX: the pool may not add one. */
static size_t add_node(struct sim_world *world, size_t p, const struct node_demand *demand)
{
	struct stock_pool *pool = &world->pools[p];
	size_t n = 0;

	if (is_refused(pool, world->now_ms) || !has_room(&pool->empty, 0, demand))
		return SIZE_MAX;
	while ((n < pool->end && pool->nodes[n].state != STOCK_ABSENT) ||
	       node_repair_of(pool, n, world->now_ms))
		n++;
	if (n >= (size_t)pool->input->max_nodes)
		return SIZE_MAX;
	make_node(world, pool, n, STOCK_COMING);
	event_queue_push(&world->events, world->now_ms + pool->input->provision_ms, SIM_EVENT_NODE,
			 NULL, stock_node_id(p, n));
	return n;
}

/* ---- interruptions ---- */

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

/* Of a ready Node that got its first Pod; nothing where life_ms is 0. The life is drawn from an exponential
 * distribution with the mean of its pool: interruptions are independent of its age (the model of most studies of
 * spot markets; the providers publish rates per month, not distributions), so it may be drawn again when a Node
 * gets its first Pod. */
static void plan_interruption(struct sim_world *world, size_t pool, size_t node)
{
	struct stock_node *spot = &world->pools[pool].nodes[node];
	int64_t mean_ms = world->pools[pool].input->life_ms;

	spot->ends_ms = SIM_NEVER_MS;
	if (mean_ms == 0)
		return;
	double life_ms = draw_exponential(world) * (double)mean_ms;
	if (life_ms >= (double)SIM_TIME_MAX_MS)
		return;
	spot->ends_ms = world->now_ms + (int64_t)life_ms;
	event_queue_push(&world->events, spot->ends_ms, SIM_EVENT_SPOT, NULL,
			 stock_node_id(pool, node));
}

/* ---- Pods ---- */

static void start_worker(struct sim_worker *worker)
{
	struct sim_world *world = worker->ray->world;

	pod_scheduled(worker, worker->pool, worker->pool_node);
	if (world->pools[worker->pool].nodes[worker->pool_node].pods == 1)
		plan_interruption(world, worker->pool, worker->pool_node);
}

static bool place(struct sim_worker *worker)
{
	struct sim_world *world = worker->ray->world;
	struct node_demand demand;

	node_demand_init(&demand, &worker->pod.spec, false, world->input->devices,
			 &world->pass_arena);
	for (int add = 0; add < 2; add++)
		for (size_t p = 0; p < world->input->models.pools.count; p++) {
			if (!node_fit_accepts(&demand, &world->pools[p].input->node))
				continue;
			size_t n = add ? add_node(world, p, &demand) : find_node(world, p, &demand);
			if (n == SIZE_MAX)
				continue;
			worker->pool = p;
			worker->pool_node = n;
			change(worker, &demand.request, 1);
			if (world->pools[p].nodes[n].state == STOCK_READY)
				start_worker(worker);
			return true;
		}
	return false;
}

/* Each pool as one empty Node of its name. */
static const char *closest_pool(const struct sim_worker *worker, struct arena *arena)
{
	const struct sim_world *world = worker->ray->world;
	const struct node_pools *pools = &world->input->models.pools;
	const struct device_table *devices = world->input->devices;
	struct node *nodes = arena_array(arena, pools->count, sizeof(*nodes));
	struct node_capacities capacities;
	struct node_demand demand;
	struct node_fit fit;

	node_demand_init(&demand, &worker->pod.spec, false, devices, arena);
	for (size_t p = 0; p < pools->count; p++) {
		nodes[p] = pools->at[p].node;
		if (nodes[p].allocatable.count == 0 && node_fit_accepts(&demand, &nodes[p]))
			return "";
	}
	node_capacities_init(&capacities, nodes, pools->count, devices, arena);
	node_fit_best(&demand, &capacities, arena, &fit);
	return fit.level != NODE_FIT_NEVER ? "" :
					     arena_printf(arena, "; the closest is pool %s: %s",
							  fit.capacity->node->name, fit.why);
}

const char *stock_why(const struct sim_ray *ray, struct arena *arena)
{
	for (size_t i = 0; i < ray->workers.count; i++) {
		const struct sim_worker *worker = ray->workers.at[i];

		if (worker->type > 0 && worker->state == SIM_WORKER_UNSCHEDULED &&
		    worker->pool == POD_WITHOUT_POOL)
			return closest_pool(worker, arena);
	}
	return "";
}

/* ---- changes ---- */

void stock_request(struct sim_worker *worker)
{
	if (worker->ray->world->input->models.pools.count == 0)
		pod_scheduled(worker, POD_WITHOUT_POOL, 0);
	else if (!place(worker))
		worker->ray->world->unplaced++;
}

static void retry(struct sim_world *world)
{
	for (size_t r = 0; world->unplaced > 0 && r < world->ray_count; r++)
		for (size_t i = 0; i < world->rays[r].workers.count; i++) {
			struct sim_worker *worker = world->rays[r].workers.at[i];

			if (worker->type > 0 && worker->state == SIM_WORKER_UNSCHEDULED &&
			    worker->pool == POD_WITHOUT_POOL && place(worker))
				world->unplaced--;
		}
}

void stock_release(struct sim_worker *worker)
{
	struct sim_world *world = worker->ray->world;

	if (world->input->models.pools.count == 0)
		return;
	if (worker->pool == POD_WITHOUT_POOL) {
		world->unplaced--;
		return;
	}
	struct resources request = pod_request_with_parts(worker->allocated, &world->pass_arena);
	change(worker, &request, -1);
	retry(world);
}

bool stock_resize(struct sim_worker *worker, struct stock_refusal *ret_refusal)
{
	struct sim_world *world = worker->ray->world;
	struct resources before = pod_request_with_parts(worker->allocated, &world->pass_arena);
	struct resources after = pod_request_with_parts(&worker->pod.spec, &world->pass_arena);
	struct stock_refusal found[2];
	size_t count = 0;

	if (worker->pool == POD_WITHOUT_POOL)
		return true;
	VEC_EACH(const struct node_amount, amount, &node_of(worker)->capacity) {
		int64_t asked = resources_amount(&after, amount->resource, 0);
		int64_t own = resources_amount(&before, amount->resource, 0);
		int64_t free = node_amount_free(amount) + own;

		if (asked > free && asked > own && count < 2)
			found[count++] = (struct stock_refusal){ amount->resource, asked,
								 amount->allocatable - free,
								 amount->allocatable };
	}
	if (count > 0) {
		bool second = count == 2 && found[0].asked <= found[0].capacity &&
			      found[1].asked > found[1].capacity;

		*ret_refusal = found[second];
		return false;
	}
	change(worker, &before, -1);
	change(worker, &after, 1);
	return true;
}

void stock_node_ready(struct sim_world *world, uint64_t id)
{
	size_t p = stock_pool_of(id), n = stock_node_of(id);

	if (id == RETRY || id == REPAIR) {
		for (size_t r = 0; id == REPAIR && r < world->ray_count; r++)
			pass_time_changed(&world->rays[r]);
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
				pod_scheduled(worker, p, n);
		}
	if (world->pools[p].nodes[n].pods > 0)
		plan_interruption(world, p, n);
}
