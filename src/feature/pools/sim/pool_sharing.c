#include "feature/pools/sim/pool_sharing.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/sort.h"
#include "core/model/kubernetes.h"
#include "feature/pools/core/pool_allocation.h"
#include "feature/pools/sim/sharing_policy.h"
#include "sim/pass_time.h"
#include "sim/record.h"
#include "sim/stock.h"

/* Of one RayCluster; of a value with two the last one is kept beside the new one. */
enum {
	MEMBER_ARENA,
	REPORT_ARENA,
	TERMS_ARENAS,
	ASKS_ARENAS = TERMS_ARENAS + 2,
	DRAINS_ARENAS = ASKS_ARENAS + 2,
	COUNTED_ARENA = DRAINS_ARENAS + 2,
	ARENAS,
};

/* One RayCluster. */
struct sharing_ray {
	struct sim_ray *ray;
	const struct pool_group *groups; /* of a member without Pods */
	size_t *queues;                  /* by pool: into `queues` below */
	struct arena arenas[ARENAS];
	bool dirty;
	const struct pool_member *member;
	const struct pool_report *report;
	const struct pool_asks *asks;
	const struct pool_terms *terms;
	uint64_t digest; /* of the terms; 0: a grant was used since */
	const struct pool_drains *drains;
	struct pod *counted; /* its Pods with a Node, as the free amounts count them */
	size_t counted_count;
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
	bool limits;                   /* decisions know of the pools */
	const struct gpu_pool **pools; /* by the policy */
	int64_t *capacities;
	size_t count;
	size_t *first_queue; /* by pool */
	struct sharing_queue *queues;
	size_t queue_count;
	struct sim_pool *results;   /* by pool; until the end `jain` is the sum of index times ms */
	struct sharing_ray *rays;   /* as in the world */
	struct sharing_ray **order; /* of them, by key */
	struct arena arena;         /* of the last allocation */
	bool has_nodes;             /* with known sizes: then `free` has those that may exist */
	struct pool_free free;
	struct pool_past *pasts; /* by pool */
	int64_t last_ms, planned_ms;
	bool waits;    /* the last allocation left units waiting */
	int64_t at_ms; /* of the figures */
};

/* ---- members ---- */

static const struct pool_member *make_member(struct sharing *sharing, struct sharing_ray *own,
					     bool with_pods, struct arena *arena)
{
	struct sim_ray *ray = own->ray;
	const struct pod **pods = arena_array(arena, ray->workers.count, sizeof(*pods));
	struct pool_member_input input = {
		.namespace_ = ray->cluster.namespace_,
		.key = arena_printf(arena, "%s/%s", ray->cluster.namespace_, ray->cluster.name),
		.cluster = &ray->cluster,
		.pods = pods,
		.report = own->report,
		.drains = own->drains,
		.pools = sharing->pools,
		.pool_count = sharing->count,
		.settings = &ray->settings,
		.devices = sharing->world->input->devices,
	};

	if (with_pods)
		for (size_t i = 0; i < ray->workers.count; i++)
			pods[input.pod_count++] = &ray->workers.at[i]->pod;
	input.groups = pool_groups_make(&input, arena);
	return pool_member_make(&input, arena);
}

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
	struct arena *arena = &own->arenas[COUNTED_ARENA];

	for (size_t i = 0; i < own->counted_count; i++)
		pool_free_count(&sharing->free, &own->counted[i], -1);
	arena_reset(arena);
	own->counted = arena_array(arena, own->ray->workers.count, sizeof(*own->counted));
	own->counted_count = 0;
	VEC_EACH(struct sim_worker *const, worker, &own->ray->workers) {
		struct pod *counted = &own->counted[own->counted_count];

		if (*(*worker)->pod.spec.node_name == '\0')
			continue;
		*counted = copy_pod(*worker, arena);
		pool_free_count(&sharing->free, counted, 1);
		own->counted_count++;
	}
}

static const struct pool_member *member_of(struct sharing *sharing, struct sharing_ray *own)
{
	if (own->dirty) {
		if (sharing->has_nodes)
			count_pods(sharing, own);
		arena_reset(&own->arenas[MEMBER_ARENA]);
		own->member = make_member(sharing, own, true, &own->arenas[MEMBER_ARENA]);
		own->dirty = false;
	}
	return own->member;
}

static struct sharing_ray *sharing_ray_of(const struct sim_ray *ray)
{
	return &ray->world->sharing->rays[ray->number];
}

static bool draws(const struct sim_ray *ray)
{
	return pool_member_draws(sharing_ray_of(ray)->member);
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
	int64_t *parts =
		sharing_policy_parts(pool, sharing->capacities[p], &sharing->world->pass_arena);

	sharing->first_queue[p] = sharing->queue_count;
	sharing->results[p] = (struct sim_pool){ .name = arena_strdup(arena, pool->name),
						 .gpus = sharing->capacities[p] };
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
	struct sharing_ray *own = &sharing->rays[r];
	struct arena *arena = sharing->world->arena;

	sharing->order[r] = own;
	own->ray = &sharing->world->rays[r];
	own->dirty = true;
	own->member = make_member(sharing, own, false, arena);
	own->groups = own->member->groups;
	own->queues = arena_array(arena, sharing->count, sizeof(*own->queues));
	for (size_t p = 0; p < sharing->count; p++)
		own->queues[p] = sharing->first_queue[p] +
				 pool_match_queue(sharing->world->input->gpu_pools[p],
						  &own->ray->input->namespace_labels);
}

static int compare_keys(const void *a, const void *b)
{
	const struct sharing_ray *const *left = a, *const *right = b;

	return strcmp((*left)->member->key, (*right)->member->key);
}

static void make_arrays(struct sharing *sharing, const struct sim_input *input)
{
	struct arena *arena = sharing->world->arena;
	size_t count = input->gpu_pool_count, rays = sharing->world->ray_count, queues = 0;

	for (size_t p = 0; p < count; p++)
		queues += input->gpu_pools[p]->queue_count + 1;
	sharing->pools = arena_array(arena, count, sizeof(struct gpu_pool *));
	sharing->capacities = arena_array(arena, count, sizeof(int64_t));
	sharing->pasts = arena_array(arena, count, sizeof(*sharing->pasts));
	sharing->first_queue = arena_array(arena, count, sizeof(size_t));
	sharing->queues = arena_array(arena, queues, sizeof(*sharing->queues));
	sharing->results =
		arena_array(sharing->world->result_arena, count, sizeof(struct sim_pool));
	sharing->rays = arena_array(arena, rays, sizeof(*sharing->rays));
	sharing->order = arena_array(arena, rays, sizeof(struct sharing_ray *));
}

/* All Nodes that may exist, under their names in the simulation. */
static void init_nodes(struct sharing *sharing)
{
	const struct sim_world *world = sharing->world;
	const struct node_pools *pools = &world->input->models.pools;
	struct settings settings;
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
	settings_init(&settings);
	sharing->has_nodes = count > 0;
	pool_free_make(&sharing->free,
		       &(struct pool_free_input){ .pools = sharing->pools,
						  .pool_count = sharing->count,
						  .nodes = nodes,
						  .node_count = count,
						  .settings = &settings,
						  .devices = world->input->devices });
}

static int share_init(struct sim_world *world, struct err *err)
{
	const struct sim_input *input = world->input;
	struct sharing *sharing;

	world->sharing = sharing = ARENA_NEW(world->arena, struct sharing);
	*sharing = (struct sharing){ .world = world,
				     .limits = sharing_policy_limits(input->policy),
				     .count = input->gpu_pool_count,
				     .last_ms = -SHARING_INTERVAL_MS,
				     .planned_ms = SIM_NEVER_MS };
	make_arrays(sharing, input);
	for (size_t p = 0; p < input->gpu_pool_count; p++) {
		const struct gpu_pool *pool = input->gpu_pools[p];

		if (check_pool(pool, input, err) != 0)
			return -1;
		sharing->capacities[p] = sharing_policy_capacity(pool, input, &world->pass_arena);
		sharing->pools[p] = sharing_policy_pool(pool, input->policy, sharing->capacities[p],
							world->arena);
		init_queues(sharing, p);
	}
	init_nodes(sharing);
	for (size_t r = 0; r < world->ray_count; r++)
		init_ray(sharing, r);
	/* Members are allocated in the order of their keys. */
	sort_stable(sharing->order, world->ray_count, sizeof(struct sharing_ray *), compare_keys);
	return 0;
}

static void share_done(struct sim_world *world)
{
	struct sharing *sharing = world->sharing;

	for (size_t r = 0; r < world->ray_count; r++)
		for (size_t i = 0; i < ARENAS; i++)
			arena_done(&sharing->rays[r].arenas[i]);
	arena_done(&sharing->arena);
	pool_free_done(&sharing->free);
}

/* ---- asks ---- */

/* A copy: results of pool_asks_granted and pool_asks_launched point into their input. */
static void keep_asks(struct sharing_ray *own, const struct pool_asks *asks)
{
	own->asks = FIELD_COPY(pool_asks_fields, asks, world_next_arena(&own->arenas[ASKS_ARENAS]));
	own->dirty = true;
}

static time_ms wall_ms(const struct sharing *sharing)
{
	return SIM_EPOCH_MS + sharing->world->now_ms;
}

static void note_plan(struct sharing *sharing, struct sharing_ray *own, const struct plan *plan)
{
	const struct pool_report *report =
		pool_report_make(plan, own->report, wall_ms(sharing), &sharing->world->pass_arena);

	arena_reset(&own->arenas[REPORT_ARENA]);
	own->report = FIELD_COPY(pool_report_fields, report, &own->arenas[REPORT_ARENA]);
	keep_asks(own,
		  pool_asks_update(own->asks, plan->asks.at, plan->asks.count, &own->ray->cluster,
				   wall_ms(sharing), &sharing->world->pass_arena));
}

/* Replicas that it asks for. */
static int64_t asked(const struct pool_asks *asks)
{
	int64_t sum = 0;

	if (!asks)
		return sum;
	for (size_t e = 0; e < asks->list.count; e++)
		for (size_t p = 0; p < asks->list.at[e].part_count; p++)
			sum += asks->list.at[e].count * asks->list.at[e].parts[p].replicas;
	return sum;
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

static int64_t granted(const struct pool_allocation *allocation, size_t member)
{
	int64_t sum = 0;

	for (size_t g = 0; g < allocation->input->members[member]->group_count; g++)
		sum += allocation->shares[member].grants[g];
	return sum;
}

enum change { SAME, LESS, MORE };

/* MORE: more is granted or released than before. */
static enum change compare(const struct pool_terms *old, const struct pool_terms *new)
{
	for (size_t g = 0; g < new->grant_count; g++)
		if (new->grants[g].replicas > old->grants[g].replicas)
			return MORE;
	for (size_t i = 0; i < new->release_count; i++)
		if (!ARRAY_FIND(old->releases, old->release_count, pod, new->releases[i].pod))
			return MORE;
	return LESS;
}

/* Against the terms of the last allocation. */
static enum change note_share(struct sharing *sharing, struct sharing_ray *own,
			      const struct pool_allocation *allocation, size_t member)
{
	const struct pool_terms *old = own->terms;
	enum change ret = SAME;

	sharing->waits |= asked(own->asks) > granted(allocation, member);
	keep_asks(own, pool_asks_granted(allocation, member, &sharing->arena));
	own->drains =
		pool_drains_make(allocation, member, world_next_arena(&own->arenas[DRAINS_ARENAS]));
	if (old && own->digest == allocation->shares[member].digest)
		return SAME;
	own->digest = allocation->shares[member].digest;
	own->terms = pool_terms_make(allocation, member, false,
				     world_next_arena(&own->arenas[TERMS_ARENAS]));
	if (old && own->terms)
		ret = compare(old, own->terms);
	return ret;
}

static const struct pool_allocation *allocate(struct sharing *sharing)
{
	static const struct pool_asks no_asks;
	struct arena *arena = &sharing->arena;
	size_t count = sharing->world->ray_count;

	arena_reset(arena);
	struct labels *labels = arena_array(arena, count, sizeof(*labels));
	const struct pool_member **members = arena_array(arena, count, sizeof(*members));
	const struct pool_asks **asks = arena_array(arena, count, sizeof(*asks));
	for (size_t i = 0; i < count; i++) {
		struct sharing_ray *own = sharing->order[i];

		labels[i] = own->ray->input->namespace_labels;
		members[i] = member_of(sharing, own);
		asks[i] = own->asks ? own->asks : &no_asks;
	}
	return pool_allocate(
		&(struct pool_input){ .pools = sharing->pools,
				      .capacities = sharing->capacities,
				      .held = arena_array(arena, sharing->count, sizeof(char *)),
				      .pool_count = sharing->count,
				      .per_namespace = RESOURCE_AMOUNT_MAX,
				      .members = members,
				      .asks = asks,
				      .member_count = count,
				      .namespace_labels = labels,
				      .free = sharing->has_nodes ? &sharing->free : NULL,
				      .devices = sharing->world->input->devices,
				      .pasts = sharing->pasts,
				      .now = wall_ms(sharing) },
		arena);
}

/* A cluster that may launch or has to release more runs a pass soon, except `own`: true for that one. */
static bool allocate_all(struct sharing *sharing, struct sharing_ray *own)
{
	const struct pool_allocation *allocation = allocate(sharing);
	bool ret = false;

	memcpy(sharing->pasts, allocation->pasts, sharing->count * sizeof(*sharing->pasts));
	sharing->last_ms = sharing->world->now_ms;
	sharing->waits = false;
	for (size_t i = 0; i < sharing->world->ray_count; i++) {
		struct sharing_ray *other = sharing->order[i];
		enum change change = note_share(sharing, other, allocation, i);

		if (other == own)
			ret = change != SAME;
		else if (change == MORE)
			pass_time_pod_changed(other->ray, true);
		else if (change == LESS)
			pass_time_changed(other->ray);
	}
	if (allocation->next != INT64_MAX && sharing->waits)
		plan_allocation(sharing, allocation->next - SIM_EPOCH_MS);
	return ret;
}

static void share_allocate(struct sim_world *world)
{
	struct sharing *sharing = world->sharing;

	if (sharing->planned_ms != world->now_ms)
		return;
	sharing->planned_ms = SIM_NEVER_MS;
	allocate_all(sharing, NULL);
}

/* ---- passes ---- */

static const struct pool_terms *share_terms(struct sim_ray *ray)
{
	struct sharing *sharing = ray->world->sharing;

	if (!sharing->limits || !draws(ray))
		return NULL;
	if (!sharing_ray_of(ray)->terms)
		allocate_all(sharing, sharing_ray_of(ray));
	return sharing_ray_of(ray)->terms;
}

static bool share_watches_work(const struct sim_ray *ray)
{
	return ray->world->sharing->limits && draws(ray);
}

static void share_refresh(struct sim_ray *ray)
{
	if (!share_watches_work(ray))
		return;
	sharing_ray_of(ray)->digest = 0;
	allocate_all(ray->world->sharing, sharing_ray_of(ray));
}

static bool share_asked(struct sim_ray *ray, const struct plan *plan)
{
	struct sharing *sharing = ray->world->sharing;
	struct sharing_ray *own;

	if (!share_watches_work(ray))
		return false;
	own = sharing_ray_of(ray);
	note_plan(sharing, own, plan);
	if (asked(own->asks) == 0)
		return false;
	if (!sharing->waits || sharing->last_ms + SHARING_INTERVAL_MS <= ray->world->now_ms)
		return allocate_all(sharing, own);
	plan_allocation(sharing, ray->world->now_ms);
	return false;
}

/* A grant counts once: after a patch that launches nothing is granted until the next allocation. */
static void use_grants(struct sharing_ray *own, const int64_t *launched)
{
	struct arena *arena = &own->arenas[TERMS_ARENAS]; /* of own->terms */
	struct pool_terms *spent;
	struct pool_grant *grants;
	bool used = false;

	for (size_t g = 0; g < own->ray->cluster.group_count; g++)
		used |= launched[g] > 0;
	if (!used)
		return;
	own->digest = 0;
	if (!own->terms)
		return;
	spent = ARENA_COPY(arena, own->terms, 1);
	grants = ARENA_COPY(arena, spent->grants, spent->grant_count);
	for (size_t i = 0; i < spent->grant_count; i++)
		grants[i].replicas = 0;
	spent->grants = grants;
	own->terms = spent;
}

static void share_changed(struct sim_ray *ray)
{
	struct sharing *sharing = ray->world->sharing;

	sharing_ray_of(ray)->dirty = true;
	if (sharing->limits)
		plan_allocation(sharing, ray->world->now_ms);
}

static void share_patched(struct sim_ray *ray, const struct plan *plan)
{
	struct sharing *sharing = ray->world->sharing;
	struct sharing_ray *own;
	int64_t *launched;

	if (!share_watches_work(ray))
		return;
	own = sharing_ray_of(ray);
	note_plan(sharing, own, plan);
	launched = arena_array(&ray->world->pass_arena, plan->groups.count, sizeof(*launched));
	for (size_t g = 0; g < plan->groups.count; g++)
		launched[g] = plan->groups.at[g].to_launch / own->groups[g].hosts;
	keep_asks(own, pool_asks_launched(own->asks, launched, plan->groups.count,
					  &ray->world->pass_arena));
	use_grants(own, launched);
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

		if (own->groups[g].pool != POOL_NONE)
			sharing->queues[own->queues[own->groups[g].pool]].idle +=
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
		if (own->groups[entry->parts[i].group].pool == pool)
			sum = resource_sum(sum,
					   entry->parts[i].replicas *
						   own->groups[entry->parts[i].group].replica_gpus);
	return sum;
}

/* Demand that waits for GPUs: asks, and Pods that have no Node, which hold nothing. */
static void add_waiting(struct sharing *sharing, const struct sharing_ray *own)
{
	const struct sim_ray *ray = own->ray;

	if (own->asks)
		for (size_t e = 0; e < own->asks->list.count; e++)
			for (size_t p = 0; p < sharing->count; p++)
				add_unit(&sharing->queues[own->queues[p]],
					 unit_gpus(own, &own->asks->list.at[e], p));
	if (ray->world->unplaced == 0)
		return;
	for (size_t i = 0; i < ray->workers.count; i++) {
		const struct sim_worker *worker = ray->workers.at[i];
		const struct pool_group *group;
		struct sharing_queue *queue;

		if (worker->type == 0 || worker->state != SIM_WORKER_UNSCHEDULED)
			continue;
		group = &own->groups[worker->type - 1];
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
	for (size_t p = 0; p < sharing->count; p++)
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
	pool = own->groups[class_->first_group].pool;
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
			size_t pool = sharing->rays[r].groups[g].pool;

			if (pool == POOL_NONE)
				continue;
			queues[sharing->rays[r].queues[pool]].used +=
				world->rays[r].accounts[g + 1].result.used;
			queues[sharing->rays[r].queues[pool]].clusters++;
		}
	for (size_t p = 0; p < sharing->count; p++)
		if (sharing->results[p].contended_ms > 0)
			sharing->results[p].jain /= (double)sharing->results[p].contended_ms;
	world->result->queues = queues;
	world->result->queue_count = sharing->queue_count;
	world->result->pools = sharing->results;
	world->result->pool_count = sharing->count;
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
