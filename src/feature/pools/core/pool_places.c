#include "feature/pools/core/pool_places.h"

#include <string.h>

#include "base/map.h"
#include "core/nodes/node_capacity.h"
#include "core/nodes/node_fit.h"
#include "core/nodes/node_match.h"
#include "core/nodes/pod_request.h"

enum when { NOW = 0, SOON, WHENS };

/* An amount of a Node. */
struct cell {
	const char *resource;
	int64_t allocatable, used[WHENS];
};

struct place_node {
	const struct node_capacity *capacity;
	struct cell *cells; /* parallel to the amounts of the capacity */
	size_t count;
	int64_t gpus; /* of the empty Node */
	int64_t free; /* GPUs now: best fit */
	int64_t idle; /* GPUs of workers that may be released */
};

/* Pods made from one template. */
struct place_spec {
	const struct pod_spec *spec;
	struct node_demand demand;
	int64_t gpus;
	bool *matches;       /* by Node */
	struct cell **cells; /* by Node and amount of the request; NULL: the Node sets no limit */
	/* It found no Node when so many were freed; only those freed since may have room. */
	bool full[WHENS];
	size_t full_at[WHENS];
};

struct change {
	int64_t *at, before;
	size_t node; /* SIZE_MAX: of none */
};

/* A Pod of a worker. */
struct place_pod {
	struct place_node *node; /* NULL: on none of the pool's Nodes */
	struct resources request;
};

struct place_worker {
	struct place_pod *pods;
	int64_t pod_gpus;
};

struct pool_places {
	struct share_places hooks;
	size_t pool;
	struct arena *arena;
	const struct pool_nodes *input;
	struct node_capacities capacities;
	struct place_node *nodes;
	size_t node_count;
	struct map node_of;   /* name to index + 1 */
	struct map pod_of;    /* "namespace/name" to struct pod */
	int64_t spare[WHENS]; /* GPUs that are on no Node yet */
	VEC(struct place_spec) specs;
	VEC(struct change) log;
	VEC(size_t) freed; /* Nodes, in the order in which they got room */
	const struct pool_places_unit *units;
	const struct pool_places_worker *workers;
	struct place_worker *own; /* parallel to workers */
};

/* ---- changes ---- */

static void change(struct pool_places *places, int64_t *at, int64_t by, size_t node)
{
	VEC_PUSH(places->arena, &places->log, ((struct change){ at, *at, node }));
	*at += by;
}

static void note_freed(struct pool_places *places, size_t node)
{
	VEC_PUSH(places->arena, &places->freed, node);
}

static size_t mark(void *context)
{
	return ((struct pool_places *)context)->log.count;
}

static void rollback(void *context, size_t to)
{
	struct pool_places *places = context;

	while (places->log.count > to) {
		const struct change *last = &places->log.at[--places->log.count];

		if (last->node != SIZE_MAX && *last->at > last->before)
			note_freed(places, last->node);
		*last->at = last->before;
	}
}

/* ---- Nodes ---- */

int64_t pool_nodes_gpus(const struct pool_nodes *nodes, const struct gpu_pool *pool,
			struct arena *scratch)
{
	int64_t sum = 0;

	for (size_t i = 0; i < nodes->node_count; i++) {
		const struct container container = { .name = "",
						     .image = "",
						     .limits = nodes->nodes[i].allocatable,
						     .requests = nodes->nodes[i].allocatable };
		const struct pod whole = { .spec = { .containers = &container,
						     .container_count = 1,
						     .node_selector = nodes->nodes[i].labels,
						     .node_name = "" } };

		if (pool_match_node(pool, &nodes->nodes[i], scratch))
			sum = resource_sum(sum, gpu_count_of_pod(&whole, nodes->settings,
								 nodes->devices, scratch));
	}
	return sum;
}

static void list_nodes(struct pool_places *places, const struct gpu_pool *pool)
{
	const struct pool_nodes *input = places->input;
	struct node *matching = arena_array(places->arena, input->node_count, sizeof(*matching));
	size_t count = 0;

	for (size_t i = 0; i < input->node_count; i++)
		if (pool_match_node(pool, &input->nodes[i], places->arena))
			matching[count++] = input->nodes[i];
	node_capacities_init(&places->capacities, matching, count, input->devices, places->arena);
	for (size_t i = 0; i < input->pod_count; i++)
		(void)node_capacities_add(&places->capacities, input->pods[i]);
	node_capacities_finish(&places->capacities);
}

static void make_nodes(struct pool_places *places, const struct gpu_pool *pool, int64_t capacity)
{
	places->node_count = places->capacities.count;
	places->nodes = arena_array(places->arena, places->node_count, sizeof(*places->nodes));
	for (size_t i = 0; i < places->node_count; i++) {
		const struct node_capacity *given = &places->capacities.at[i];
		struct place_node *node = &places->nodes[i];
		const struct pool_nodes one = { .nodes = given->node,
						.node_count = 1,
						.settings = places->input->settings,
						.devices = places->input->devices };

		*node = (struct place_node){ .capacity = given, .count = given->count };
		node->cells = arena_array(places->arena, given->count, sizeof(*node->cells));
		for (size_t a = 0; a < given->count; a++)
			node->cells[a] = (struct cell){
				.resource = given->at[a].resource,
				.allocatable = given->at[a].allocatable,
				.used = { given->at[a].used, given->at[a].used },
			};
		node->free = node->gpus = pool_nodes_gpus(&one, pool, places->arena);
		capacity -= node->gpus;
		map_set(&places->node_of, given->node->name, (void *)(uintptr_t)(i + 1));
	}
	places->spare[NOW] = places->spare[SOON] = capacity;
}

static struct place_node *node_named(struct pool_places *places, const char *name)
{
	uintptr_t index = (uintptr_t)map_get(&places->node_of, name);

	return index > 0 ? &places->nodes[index - 1] : NULL;
}

/* ---- Pods ---- */

static struct cell *cell_of(const struct place_node *node, const char *resource)
{
	for (size_t i = 0; i < node->count; i++)
		if (strcmp(node->cells[i].resource, resource) == 0)
			return &node->cells[i];
	return NULL;
}

/* Where the Node has the amounts of the request. False: it lacks one. */
static bool find_cells(const struct place_spec *spec, const struct place_node *node,
		       struct cell **cells)
{
	const struct resources *request = &spec->demand.request;

	for (size_t i = 0; i < request->count; i++) {
		cells[i] = cell_of(node, request->at[i].name);
		if (!cells[i] && request->at[i].amount > 0 &&
		    strcmp(request->at[i].name, POD_REQUEST_PODS) != 0)
			return false;
	}
	return true;
}

static bool has_room(const struct place_spec *spec, size_t node, enum when when)
{
	const struct resources *request = &spec->demand.request;
	struct cell *const *cells = &spec->cells[node * request->count];

	for (size_t i = 0; i < request->count; i++)
		if (cells[i] &&
		    cells[i]->allocatable - cells[i]->used[when] < request->at[i].amount)
			return false;
	return true;
}

static struct place_spec *spec_of(struct pool_places *places, const struct pod_spec *spec,
				  int64_t gpus)
{
	struct place_spec *own;

	VEC_EACH(struct place_spec, known, &places->specs)
		if (known->spec == spec)
			return known;
	own = VEC_ADD(places->arena, &places->specs);
	*own = (struct place_spec){ .spec = spec, .gpus = gpus };
	node_demand_init(&own->demand, spec, true, places->input->devices, places->arena);
	own->matches = arena_array(places->arena, places->node_count, sizeof(*own->matches));
	own->cells = arena_array(places->arena, places->node_count * own->demand.request.count,
				 sizeof(struct cell *));
	for (size_t i = 0; i < places->node_count; i++) {
		const struct node_capacity *capacity = places->nodes[i].capacity;

		own->matches[i] = node_match_selects(spec, capacity->node) &&
				  !node_fit_taint(&own->demand, capacity->node) &&
				  !capacity->node->unschedulable && node_capacity_ready(capacity) &&
				  find_cells(own, &places->nodes[i],
					     &own->cells[i * own->demand.request.count]);
	}
	return own;
}

static void use(struct pool_places *places, struct place_node *node,
		const struct resources *request, int64_t gpus, enum when when, int sign)
{
	size_t index = (size_t)(node - places->nodes);

	for (size_t i = 0; i < request->count; i++) {
		struct cell *cell = cell_of(node, request->at[i].name);

		if (cell)
			change(places, &cell->used[when], sign * request->at[i].amount, index);
	}
	if (when == NOW)
		change(places, &node->free, -sign * gpus, SIZE_MAX);
	if (sign < 0)
		note_freed(places, index);
}

static void look_at(struct pool_places *places, size_t node, const struct place_spec *spec,
		    enum when first, struct place_node **best)
{
	struct place_node *own = &places->nodes[node];

	if (spec->matches[node] && (!*best || own->free < (*best)->free) &&
	    has_room(spec, node, first) && has_room(spec, node, SOON))
		*best = own;
}

static struct place_node *find_node(struct pool_places *places, const struct place_spec *spec,
				    enum when first)
{
	struct place_node *best = NULL;
	size_t freed = places->freed.count - spec->full_at[first];

	if (spec->full[first] && freed < places->node_count) {
		for (size_t i = spec->full_at[first]; i < places->freed.count; i++)
			look_at(places, places->freed.at[i], spec, first, &best);
		return best;
	}
	for (size_t i = 0; i < places->node_count; i++)
		look_at(places, i, spec, first, &best);
	return best;
}

/* On a Node, or on one that will be added. */
static bool place_pod(struct pool_places *places, struct place_spec *spec, bool soon)
{
	enum when first = soon ? SOON : NOW;
	struct place_node *best = find_node(places, spec, first);

	spec->full[first] = !best;
	spec->full_at[first] = places->freed.count;
	if (!best && (places->spare[first] < spec->gpus || places->spare[SOON] < spec->gpus))
		return false;
	for (enum when when = first; when < WHENS; when++) {
		if (best)
			use(places, best, &spec->demand.request, spec->gpus, when, 1);
		else
			change(places, &places->spare[when], -spec->gpus, SIZE_MAX);
	}
	return true;
}

static int64_t pod_gpus(const struct pool_group *group)
{
	return group->replica_gpus / group->hosts;
}

static bool place_replicas(struct pool_places *places, const struct pool_group *group,
			   int64_t replicas, bool soon)
{
	struct place_spec *spec = spec_of(places, group->spec, pod_gpus(group));

	for (int64_t i = 0; i < replicas * group->hosts; i++)
		if (!place_pod(places, spec, soon))
			return false;
	return true;
}

static bool take(void *context, size_t unit, bool soon)
{
	struct pool_places *places = context;
	const struct pool_places_unit *own = &places->units[unit];
	size_t before = mark(places);

	for (size_t p = 0; p < own->ask->part_count; p++) {
		const struct pool_ask_part *part = &own->ask->parts[p];
		const struct pool_group *group = &own->member->groups[part->group];

		if (group->pool != places->pool ||
		    place_replicas(places, group, part->replicas, soon))
			continue;
		if (places->log.count > before)
			rollback(places, before);
		return false;
	}
	return true;
}

/* ---- workers ---- */

static const struct pod *find_pod(const struct pool_places *places,
				  const struct pool_places_worker *worker, const char *name)
{
	const char *key = arena_printf(places->arena, "%s/%s", worker->member->namespace_, name);

	return map_get(&places->pod_of, key);
}

static void free_worker(struct pool_places *places, size_t index, enum when when)
{
	const struct place_worker *own = &places->own[index];

	for (size_t p = 0; p < places->workers[index].worker->pods.count; p++) {
		if (own->pods[p].node)
			use(places, own->pods[p].node, &own->pods[p].request, own->pod_gpus, when,
			    -1);
		else
			change(places, &places->spare[when], own->pod_gpus, SIZE_MAX);
	}
}

static void leave(void *context, size_t worker)
{
	free_worker(context, worker, SOON);
}

/* Pods without a Node take one, and those on Nodes that are not of the pool, or of which nothing is
 * known, use what is on no Node. */
static void settle_pod(struct pool_places *places, size_t index, size_t p)
{
	const struct pool_places_worker *given = &places->workers[index];
	const struct pool_worker *worker = given->worker;
	struct place_worker *own = &places->own[index];
	const struct pod *pod = find_pod(places, given, worker->pods.at[p]);
	struct place_node *node = pod ? node_named(places, pod->spec.node_name) : NULL;

	if (node && pod_request_holds(pod)) {
		own->pods[p] = (struct place_pod){ node, pod_request(&pod->spec, places->arena) };
		node->free -= own->pod_gpus;
		node->idle += worker->state == SHARE_IDLE ? own->pod_gpus : 0;
		return;
	}
	if (pod && pod->spec.node_name[0] == '\0' && worker->group < given->member->group_count &&
	    place_pod(places,
		      spec_of(places, given->member->groups[worker->group].spec, own->pod_gpus),
		      false))
		return;
	places->spare[NOW] -= own->pod_gpus;
	places->spare[SOON] -= own->pod_gpus;
}

/* Workers that leave are free soon. */
static void place_workers(struct pool_places *places, size_t count)
{
	places->own = arena_array(places->arena, count, sizeof(*places->own));
	for (size_t i = 0; i < count; i++) {
		const struct pool_places_worker *given = &places->workers[i];
		const struct pool_worker *worker = given->worker;
		size_t pods = worker->pods.count;

		places->own[i].pods = arena_array(places->arena, pods, sizeof(struct place_pod));
		places->own[i].pod_gpus = pods > 0 ? worker->gpus / (int64_t)pods : 0;
		for (size_t p = 0; p < pods; p++)
			settle_pod(places, i, p);
		if (pods == 0 && worker->group < given->member->group_count) {
			const struct pool_group *group = &given->member->groups[worker->group];

			(void)place_replicas(
				places, group,
				group->replica_gpus > 0 ? worker->gpus / group->replica_gpus : 0,
				false);
		}
		if (worker->state == SHARE_LEAVING)
			free_worker(places, i, SOON);
	}
	places->log.count = 0;
}

int64_t pool_places_beside(const struct pool_places *places, size_t worker)
{
	const struct place_worker *own = &places->own[worker];
	int64_t beside = 0;

	for (size_t p = 0; p < places->workers[worker].worker->pods.count; p++) {
		const struct place_node *node = own->pods[p].node;

		if (node)
			beside += node->gpus - node->free - node->idle;
	}
	return beside;
}

struct pool_places *pool_places_make(const struct pool_nodes *nodes, const struct gpu_pool *pool,
				     size_t pool_index, int64_t capacity,
				     const struct pool_places_unit *units, size_t unit_count,
				     const struct pool_places_worker *workers, size_t worker_count,
				     struct arena *arena)
{
	struct pool_places *places;

	if (!nodes || unit_count == 0)
		return NULL;
	places = ARENA_NEW(arena, struct pool_places);
	*places = (struct pool_places){ .pool = pool_index,
					.arena = arena,
					.input = nodes,
					.units = units,
					.workers = workers };
	places->hooks = (struct share_places){
		.context = places, .take = take, .leave = leave, .mark = mark, .rollback = rollback
	};
	list_nodes(places, pool);
	make_nodes(places, pool, capacity);
	for (size_t i = 0; i < nodes->pod_count; i++)
		if (labels_value(&nodes->pods[i]->labels, LABEL_CLUSTER))
			map_set(&places->pod_of,
				arena_printf(arena, "%s/%s", nodes->pods[i]->namespace_,
					     nodes->pods[i]->name),
				(void *)nodes->pods[i]);
	place_workers(places, worker_count);
	return places;
}

void pool_places_done(struct pool_places *places)
{
	if (!places)
		return;
	map_done(&places->node_of);
	map_done(&places->pod_of);
}

const struct share_places *pool_places_hooks(const struct pool_places *places)
{
	return places ? &places->hooks : NULL;
}
