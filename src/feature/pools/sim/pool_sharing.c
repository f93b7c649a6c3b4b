#include "feature/pools/sim/pool_sharing.h"

#include <string.h>

#include "base/check.h"
#include "core/model/kubernetes.h"
#include "feature/pools/core/pool_ledger.h"
#include "feature/pools/sim/sharing_policy.h"
#include "sim/node_repair.h"
#include "sim/pass_time.h"
#include "sim/record.h"
#include "sim/stock.h"

/* One RayCluster. */
struct sharing_ray {
	struct pool_entry entry;
	struct sim_ray *ray;
	const struct pool_groups *groups;
	size_t *queues;      /* by pool: into `queues` below */
	bool shared;         /* an allocation was made for it */
	struct pod *counted; /* its Pods with a Node, as the free amounts count them */
	size_t counted_count;
	struct arena counted_arena;
};

/* A queue now. */
struct sharing_queue {
	struct sim_queue result;
	int64_t held, idle;
	int64_t least; /* the smallest unit that waits; INT64_MAX: none */
	int64_t part;  /* of a static partition */
};

struct sharing {
	struct sim_world *world;
	bool limits;               /* decisions know of the pools */
	struct pool_ledger ledger; /* of the pools by the policy */
	const char **stopped;      /* by pool: NULL */
	size_t *first_queue;       /* by pool */
	struct sharing_queue *queues;
	size_t queue_count;
	struct sim_pool *results;   /* by pool; until the end `jain` is the sum of index times ms */
	struct sharing_ray *rays;   /* as in the world */
	struct node *nodes;         /* that may exist, by pool of Nodes; NULL: of unknown sizes */
	struct sharing_ray *asking; /* it waits for the allocation; NULL: none */
	int64_t last_ms, planned_ms;
	int64_t at_ms; /* of the figures */
};

/* ---- members ---- */

static struct quantities copy_quantities(const struct quantities *from, struct arena *arena)
{
	return (struct quantities){ ARENA_COPY(arena, from->at, from->count), from->count };
}

/* A resize changes the first container of a Pod. */
static struct pod copy_pod(const struct sim_worker *worker, struct arena *arena)
{
	struct pod pod = worker->pod;

	if (worker->resize) {
		struct container *own =
			ARENA_COPY(arena, pod.spec.containers, pod.spec.container_count);

		own->limits = copy_quantities(&own->limits, arena);
		own->requests = copy_quantities(&own->requests, arena);
		pod.spec.containers = own;
	}
	pod.spec.node_name = arena_strdup(arena, pod.spec.node_name);
	return pod;
}

static void count_pods(struct sharing *sharing, struct sharing_ray *own)
{
	struct arena *arena = &own->counted_arena;

	for (size_t i = 0; i < own->counted_count; i++)
		pool_room_count(&sharing->ledger.free, &own->counted[i], -1);
	arena_reset(arena);
	own->counted = arena_array(arena, own->ray->workers.count, sizeof(*own->counted));
	own->counted_count = 0;
	VEC_EACH(struct sim_worker *const, worker, &own->ray->workers) {
		struct pod *counted = &own->counted[own->counted_count];

		if (*(*worker)->pod.spec.node_name == '\0')
			continue;
		*counted = copy_pod(*worker, arena);
		pool_room_count(&sharing->ledger.free, counted, 1);
		own->counted_count++;
	}
}

static const struct pool_member *member_of(struct sharing *sharing, struct sharing_ray *own)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct sim_ray *ray = own->ray;
	const struct pod **pods;

	if (!own->entry.changed)
		return own->entry.member.value;
	if (sharing->ledger.free_version > 0)
		count_pods(sharing, own);
	pods = arena_array(&scratch, ray->workers.count, sizeof(*pods));
	for (size_t i = 0; i < ray->workers.count; i++)
		pods[i] = &ray->workers.at[i]->pod;
	pool_entry_count(&own->entry,
			 &(struct pool_entry_objects){ .cluster = &ray->cluster,
						       .groups = own->groups,
						       .pods = pods,
						       .pod_count = ray->workers.count },
			 false);
	return own->entry.member.value;
}

static struct sharing_ray *sharing_ray_of(const struct sim_ray *ray)
{
	return &ray->world->sharing->rays[ray->number];
}

static bool draws(const struct sim_ray *ray)
{
	return sharing_ray_of(ray)->entry.draws;
}

/* ---- the start ---- */

static int check_pool(const struct gpu_pool *pool, const struct sim_input *input, struct err *err)
{
	if (pool->problems.count > 0)
		return err_set(err, ERR_INPUT, "GPUPool %s: %s", pool->name, pool->problems.at[0]);
	if (!pool->has_gpus && input->models.pools.count == 0)
		return err_set(err, ERR_INPUT,
			       "GPUPool %s: gpus is not given, and there are no Nodes to count; "
			       "set spec.gpus or give --node-pools",
			       pool->name);
	return 0;
}

static void init_queues(struct sharing *sharing, size_t p)
{
	const struct gpu_pool *pool = sharing->world->input->gpu_pools[p];
	struct arena *arena = sharing->world->result_arena;
	int64_t *parts = sharing_policy_parts(pool, sharing->ledger.capacities[p],
					      &sharing->world->pass_arena);

	sharing->first_queue[p] = sharing->queue_count;
	sharing->results[p] = (struct sim_pool){ .name = arena_strdup(arena, pool->name),
						 .gpus = sharing->ledger.capacities[p] };
	for (size_t q = 0; q <= pool->queue_count; q++) {
		const struct gpu_pool_queue *queue = q < pool->queue_count ? &pool->queues[q] :
									     NULL;

		sharing->queues[sharing->queue_count++] = (struct sharing_queue){
			.result = { .pool = p,
				    .name = queue ? arena_strdup(arena, queue->name) : "",
				    .guaranteed = queue ? queue->guaranteed : 0,
				    .weight = queue ? queue->weight : 1 },
			.part = parts[q],
		};
	}
}

static void init_ray(struct sharing *sharing, size_t r)
{
	const struct sim_world *world = sharing->world;
	struct sharing_ray *own = &sharing->rays[r];
	struct ray_cluster *cluster = &world->rays[r].cluster;

	own->ray = &world->rays[r];
	own->groups = pool_groups_make(
		&(struct pool_member_input){ .cluster = cluster,
					     .pools = sharing->ledger.pools,
					     .pool_count = sharing->ledger.pool_count,
					     .settings = sharing->ledger.settings,
					     .devices = sharing->ledger.devices },
		world->arena);
	pool_entry_add(&sharing->ledger, &own->entry, cluster->namespace_,
		       arena_printf(world->arena, "%s/%s", cluster->namespace_, cluster->name));
	(void)member_of(sharing, own);
	own->queues = arena_array(world->arena, sharing->ledger.pool_count, sizeof(*own->queues));
	for (size_t p = 0; p < sharing->ledger.pool_count; p++)
		own->queues[p] = sharing->first_queue[p] +
				 pool_match_queue(world->input->gpu_pools[p],
						  &own->ray->input->namespace_labels);
}

static void make_arrays(struct sharing *sharing, const struct sim_input *input)
{
	struct arena *arena = sharing->world->arena;
	size_t count = input->gpu_pool_count, rays = sharing->world->ray_count, queues = 0;

	for (size_t p = 0; p < count; p++)
		queues += input->gpu_pools[p]->queue_count + 1;
	sharing->stopped = arena_array(arena, count, sizeof(char *));
	sharing->first_queue = arena_array(arena, count, sizeof(size_t));
	sharing->queues = arena_array(arena, queues, sizeof(*sharing->queues));
	sharing->results =
		arena_array(sharing->world->result_arena, count, sizeof(struct sim_pool));
	sharing->rays = arena_array(arena, rays, sizeof(*sharing->rays));
}

/* All Nodes that may exist, under their names in the simulation. */
static void init_nodes(struct sharing *sharing)
{
	const struct sim_world *world = sharing->world;
	const struct node_pools *pools = &world->input->models.pools;
	struct node *nodes;
	size_t count = 0;

	VEC_EACH(const struct node_pool, pool, pools) {
		if (pool->node.allocatable.count == 0)
			return;
		count += (size_t)pool->max_nodes;
	}
	nodes = arena_array(world->arena, count, sizeof(*nodes));
	count = 0;
	for (size_t p = 0; p < pools->count; p++)
		for (size_t n = 0; n < (size_t)pools->at[p].max_nodes; n++) {
			nodes[count] = pools->at[p].node;
			nodes[count++].name = arena_printf(world->arena, "node-%llu",
							   (unsigned long long)stock_node_id(p, n));
		}
	sharing->ledger.free_version = count > 0;
	sharing->nodes = count > 0 ? nodes : NULL;
	pool_room_make(&sharing->ledger.free,
		       &(struct pool_room_input){ .pools = sharing->ledger.pools,
						  .pool_count = sharing->ledger.pool_count,
						  .nodes = nodes,
						  .node_count = count,
						  .settings = sharing->ledger.settings,
						  .devices = world->input->devices });
}

/* A cluster that may launch or has to release something runs a pass soon, except one that waits for the
 * allocation. Of a cluster without an allocation before, nothing differs. */
static void share_differs(struct pool_entry *entry)
{
	struct sharing_ray *own = LIST_MEMBER(&entry->item, struct sharing_ray, entry.item);
	struct sharing *sharing = own->ray->world->sharing;
	bool first = !own->shared;

	own->shared = true;
	if (first || own == sharing->asking)
		return;
	if (sharing->ledger.allocation->shares[entry->index].gives)
		pass_time_pod_changed(own->ray, true);
	else
		pass_time_changed(own->ray);
}

static const struct labels *namespace_labels(void *context, const char *namespace_)
{
	const struct sim_world *world = ((const struct sharing *)context)->world;

	for (size_t r = 0; r < world->ray_count; r++)
		if (strcmp(world->rays[r].cluster.namespace_, namespace_) == 0)
			return &world->rays[r].input->namespace_labels;
	return NULL;
}

static int share_init(struct sim_world *world, struct err *err)
{
	const struct sim_input *input = world->input;
	const struct gpu_pool **pools =
		ARENA_COPY(world->arena, input->gpu_pools, input->gpu_pool_count);
	struct sharing *sharing;

	world->sharing = sharing = ARENA_NEW(world->arena, struct sharing);
	*sharing = (struct sharing){ .world = world,
				     .limits = sharing_policy_limits(input->policy),
				     .ledger = { .settings = world->rays->input->settings,
						 .namespace_labels = namespace_labels,
						 .changed = share_differs,
						 .context = sharing,
						 .devices = input->devices },
				     .last_ms = -SHARING_INTERVAL_MS,
				     .planned_ms = SIM_NEVER_MS };
	make_arrays(sharing, input);
	pool_ledger_set_pools(&sharing->ledger, pools, input->gpu_pool_count);
	for (size_t p = 0; p < input->gpu_pool_count; p++) {
		int64_t capacity = sharing_policy_capacity(pools[p], input, &world->pass_arena);

		if (check_pool(pools[p], input, err) != 0)
			return -1;
		sharing->ledger.capacities[p] = capacity;
		pools[p] = sharing_policy_pool(pools[p], input->policy, capacity, world->arena);
		init_queues(sharing, p);
	}
	init_nodes(sharing);
	for (size_t r = 0; r < world->ray_count; r++)
		init_ray(sharing, r);
	return 0;
}

static void share_done(struct sim_world *world)
{
	struct sharing *sharing = world->sharing;

	LIST_EACH(struct sharing_ray, own, &sharing->ledger.entries, entry.item) {
		arena_done(&own->counted_arena);
		pool_entry_remove(&own->entry);
	}
	pool_ledger_done(&sharing->ledger);
}

/* ---- the allocation ---- */

static void plan_allocation(struct sharing *sharing, int64_t at_ms)
{
	struct sim_world *world = sharing->world;

	if (at_ms < sharing->last_ms + SHARING_INTERVAL_MS)
		at_ms = sharing->last_ms + SHARING_INTERVAL_MS;
	if (at_ms < world->now_ms)
		at_ms = world->now_ms;
	if (at_ms >= sharing->planned_ms || at_ms > SIM_TIME_MAX_MS)
		return;
	sharing->planned_ms = at_ms;
	event_queue_push(&world->events, at_ms, SIM_EVENT_SHARE, sharing, 0);
}

static time_ms wall_ms(const struct sharing *sharing)
{
	return SIM_EPOCH_MS + sharing->world->now_ms;
}

/* Nodes under repair are cordoned. */
static void note_repairs(struct sharing *sharing)
{
	const struct sim_world *world = sharing->world;
	const struct node *node = sharing->nodes;

	if (!node)
		return;
	for (size_t p = 0; p < world->input->models.pools.count; p++)
		for (size_t n = 0; n < (size_t)world->pools[p].input->max_nodes; n++, node++)
			pool_room_cordon(&sharing->ledger.free, node->name,
					 node_repair_of(&world->pools[p], n, world->now_ms));
}

/* True: the share of `own` is another one than before. */
static bool allocate(struct sharing *sharing, struct sharing_ray *own)
{
	uint64_t before = own && own->shared ? own->entry.digest : 0;
	const struct pool_allocation *allocation;

	for (size_t r = 0; r < sharing->world->ray_count; r++) {
		pool_entry_note_change(&sharing->rays[r].entry);
		(void)member_of(sharing, &sharing->rays[r]);
	}
	sharing->asking = own;
	note_repairs(sharing);
	pool_ledger_allocate(&sharing->ledger,
			     &(struct pool_input){ .stopped = sharing->stopped,
						   .per_namespace = RESOURCE_AMOUNT_MAX,
						   .now = wall_ms(sharing) });
	sharing->last_ms = sharing->world->now_ms;
	allocation = sharing->ledger.allocation;
	if (allocation->next != INT64_MAX && allocation->waits)
		plan_allocation(sharing, allocation->next - SIM_EPOCH_MS);
	return own && before != own->entry.digest;
}

static void share_allocate(struct sim_world *world)
{
	struct sharing *sharing = world->sharing;

	if (sharing->planned_ms != world->now_ms)
		return;
	sharing->planned_ms = SIM_NEVER_MS;
	(void)allocate(sharing, NULL);
}

/* ---- passes ---- */

static const struct pool_terms *share_terms(struct sim_ray *ray)
{
	struct sharing *sharing = ray->world->sharing;
	struct sharing_ray *own = sharing_ray_of(ray);

	if (!sharing->limits || !draws(ray))
		return NULL;
	if (own->entry.index == SIZE_MAX)
		(void)allocate(sharing, own);
	return pool_entry_terms(&own->entry,
				&(struct pool_entry_objects){ .cluster = &ray->cluster,
							      .groups = own->groups },
				&ray->world->pass_arena);
}

static bool share_watches_work(const struct sim_ray *ray)
{
	return ray->world->sharing->limits && draws(ray);
}

static void share_refresh(struct sim_ray *ray)
{
	if (share_watches_work(ray))
		(void)allocate(ray->world->sharing, sharing_ray_of(ray));
}

static void note_plan(struct sharing_ray *own, const struct plan *plan)
{
	(void)pool_entry_note_plan(&own->entry, plan, &own->ray->cluster, true,
				   wall_ms(own->ray->world->sharing));
}

static bool share_asked(struct sim_ray *ray, const struct plan *plan)
{
	struct sharing *sharing = ray->world->sharing;
	const struct pool_allocation *allocation = sharing->ledger.allocation;

	if (!share_watches_work(ray))
		return false;
	note_plan(sharing_ray_of(ray), plan);
	if (plan->asks.count == 0)
		return false;
	if (!allocation || !allocation->waits ||
	    sharing->last_ms + SHARING_INTERVAL_MS <= ray->world->now_ms)
		return allocate(sharing, sharing_ray_of(ray));
	plan_allocation(sharing, ray->world->now_ms);
	return false;
}

static void share_changed(struct sim_ray *ray)
{
	struct sharing *sharing = ray->world->sharing;

	pool_entry_note_change(&sharing_ray_of(ray)->entry);
	if (sharing->limits)
		plan_allocation(sharing, ray->world->now_ms);
}

/* The patch takes effect at once. */
static void share_patched(struct sim_ray *ray, const struct plan *plan)
{
	struct sharing_ray *own;
	int64_t *launched;
	bool launches = false;

	if (!share_watches_work(ray))
		return;
	own = sharing_ray_of(ray);
	note_plan(own, plan);
	launched = arena_array(&ray->world->pass_arena, plan->groups.count, sizeof(*launched));
	for (size_t g = 0; g < plan->groups.count; g++) {
		launched[g] = plan->groups.at[g].to_launch / own->groups->list[g].hosts;
		launches |= launched[g] > 0;
	}
	pool_entry_launched(&own->entry, launched, plan->groups.count);
	if (launches)
		pool_entry_spend(&own->entry);
	share_changed(ray);
}

/* ---- figures ---- */

static void add_workers(struct sharing *sharing, struct sharing_ray *own)
{
	const struct pool_member *member = member_of(sharing, own);

	VEC_EACH(const struct pool_worker, worker, &member->workers)
		sharing->queues[own->queues[worker->pool]].held += worker->gpus;
	for (size_t g = 0; g < member->group_count; g++) {
		const struct sim_account *account = &own->ray->accounts[g + 1];

		if (own->groups->list[g].pool != POOL_NONE)
			sharing->queues[own->queues[own->groups->list[g].pool]].idle +=
				account->workers[RECORD_REGISTERED] * account->result.worker_gpus -
				account->used;
	}
}

static void add_unit(struct sharing_queue *queue, int64_t gpus)
{
	if (gpus > 0 && gpus < queue->least)
		queue->least = gpus;
}

/* The GPUs of one unit of the entry in the pool. */
static int64_t unit_gpus(const struct sharing_ray *own, const struct pool_waiting *entry,
			 size_t pool)
{
	int64_t sum = 0;

	for (size_t i = 0; i < entry->part_count; i++)
		if (own->groups->list[entry->parts[i].group].pool == pool)
			sum = resource_sum(
				sum, entry->parts[i].replicas *
					     own->groups->list[entry->parts[i].group].replica_gpus);
	return sum;
}

/* Demand that waits for GPUs: asks, and Pods that have no Node, which hold nothing. */
static void add_waiting(struct sharing *sharing, const struct sharing_ray *own)
{
	const struct pool_asks *asks = own->entry.asks.value;
	const struct sim_ray *ray = own->ray;

	if (asks)
		for (size_t e = 0; e < asks->list.count; e++)
			for (size_t p = 0; p < sharing->ledger.pool_count; p++)
				add_unit(&sharing->queues[own->queues[p]],
					 unit_gpus(own, &asks->list.at[e], p));
	if (ray->world->unplaced == 0)
		return;
	for (size_t i = 0; i < ray->workers.count; i++) {
		const struct sim_worker *worker = ray->workers.at[i];
		const struct pool_group *group;
		struct sharing_queue *queue;

		if (worker->type == 0 || worker->state != SIM_WORKER_UNSCHEDULED)
			continue;
		group = &own->groups->list[worker->type - 1];
		if (group->pool == POOL_NONE)
			continue;
		queue = &sharing->queues[own->queues[group->pool]];
		queue->held -= group->replica_gpus / group->hosts;
		add_unit(queue, group->replica_gpus);
	}
}

/* Jain's index of what the queues that wait hold, divided by their parts. */
static double jain(const struct sharing_queue *queues, size_t count)
{
	double sum = 0, squares = 0;
	size_t waiting = 0;

	for (size_t q = 0; q < count; q++) {
		double x;

		if (queues[q].least == INT64_MAX || queues[q].part <= 0)
			continue;
		x = (double)queues[q].held / (double)queues[q].part;
		sum += x;
		squares += x * x;
		waiting++;
	}
	return waiting < 2 ? -1 : squares > 0 ? sum * sum / ((double)waiting * squares) : 1;
}

static void advance_pool(struct sharing *sharing, size_t p, int64_t span_ms)
{
	struct sharing_queue *queues = &sharing->queues[sharing->first_queue[p]];
	size_t count = sharing->world->input->gpu_pools[p]->queue_count + 1, waiting = 0;
	struct sim_pool *pool = &sharing->results[p];
	int64_t held = 0;
	double index;

	for (size_t q = 0; q < count; q++) {
		waiting += queues[q].least != INT64_MAX;
		held += queues[q].held;
	}
	if (held > pool->peak)
		pool->peak = held;
	ARRAY_EACH(struct sharing_queue, queue, queues, count) {
		bool waits = queue->least != INT64_MAX;

		queue->result.held += (__int128)span_ms * queue->held;
		if (waiting > waits)
			queue->result.idle_while_others_waited += (__int128)span_ms * queue->idle;
		if (waits && resource_sum(queue->held, queue->least) <= queue->result.guaranteed)
			queue->result.below_guarantee_ms += span_ms;
	}
	index = jain(queues, count);
	if (index < 0)
		return;
	pool->contended_ms += span_ms;
	pool->jain += index * (double)span_ms;
}

static void share_advance(struct sim_world *world, int64_t now_ms)
{
	struct sharing *sharing = world->sharing;

	if (now_ms <= sharing->at_ms)
		return;
	for (size_t q = 0; q < sharing->queue_count; q++) {
		sharing->queues[q].held = sharing->queues[q].idle = 0;
		sharing->queues[q].least = INT64_MAX;
	}
	for (size_t r = 0; r < world->ray_count; r++) {
		add_workers(sharing, &sharing->rays[r]);
		add_waiting(sharing, &sharing->rays[r]);
	}
	for (size_t p = 0; p < sharing->ledger.pool_count; p++)
		advance_pool(sharing, p, now_ms - sharing->at_ms);
	sharing->at_ms = now_ms;
}

static size_t share_queue_of(const struct sim_class *class_)
{
	const struct sharing_ray *own;
	size_t pool;

	if (class_->first_group == SIZE_MAX)
		return SHARING_NO_QUEUE;
	own = sharing_ray_of(class_->ray);
	pool = own->groups->list[class_->first_group].pool;
	return pool == POOL_NONE ? SHARING_NO_QUEUE : own->queues[pool];
}

static void share_lost(const struct sim_class *class_, int64_t span_ms)
{
	size_t queue = share_queue_of(class_);

	if (queue != SHARING_NO_QUEUE)
		class_->ray->world->sharing->queues[queue].result.lost +=
			(__int128)span_ms * class_->gpus;
}

static void share_finish(struct sim_world *world)
{
	struct sharing *sharing = world->sharing;
	struct sim_queue *queues;

	queues = arena_array(world->result_arena, sharing->queue_count, sizeof(*queues));
	for (size_t q = 0; q < sharing->queue_count; q++)
		queues[q] = sharing->queues[q].result;
	for (size_t r = 0; r < world->ray_count; r++)
		for (size_t g = 0; g < world->rays[r].cluster.group_count; g++) {
			size_t pool = sharing->rays[r].groups->list[g].pool;

			if (pool == POOL_NONE)
				continue;
			queues[sharing->rays[r].queues[pool]].used +=
				world->rays[r].accounts[g + 1].result.used;
			queues[sharing->rays[r].queues[pool]].clusters++;
		}
	for (size_t p = 0; p < sharing->ledger.pool_count; p++)
		if (sharing->results[p].contended_ms > 0)
			sharing->results[p].jain /= (double)sharing->results[p].contended_ms;
	world->result->queues = queues;
	world->result->queue_count = sharing->queue_count;
	world->result->pools = sharing->results;
	world->result->pool_count = sharing->ledger.pool_count;
}

const struct sim_sharing pool_sharing = {
	.init = share_init,
	.done = share_done,
	.terms = share_terms,
	.refresh = share_refresh,
	.asked = share_asked,
	.patched = share_patched,
	.changed = share_changed,
	.allocate = share_allocate,
	.watches_work = share_watches_work,
	.advance = share_advance,
	.lost = share_lost,
	.queue_of = share_queue_of,
	.finish = share_finish,
};
