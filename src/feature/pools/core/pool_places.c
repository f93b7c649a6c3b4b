#include "feature/pools/core/pool_places.h"

#include <stdlib.h>
#include <string.h>

#include "base/int64.h"
#include "base/map.h"
#include "core/nodes/gpu_part.h"
#include "core/nodes/node_fit.h"
#include "core/nodes/node_match.h"
#include "core/nodes/pod_request.h"

#define NO_NODE SIZE_MAX
#define UNLIMITED (INT64_MAX / 2)

enum when { NOW = 0, SOON, WHENS };

struct place_node {
	const struct node *node;
	int64_t *left[WHENS]; /* by column */
	int64_t gpus;         /* of the empty Node */
	int64_t free;         /* GPUs now: best fit */
	int64_t idle;         /* GPUs of workers that may be released */
};

/* Pods of one shape. */
struct place_spec {
	struct node_demand demand;
	int64_t gpus;
	const int64_t *amounts; /* by column */
	bool *matches;          /* by Node; NULL: not asked for yet */
	bool named;             /* Nodes have all that it requests */
	size_t *best[WHENS]; /* a tournament: of the Nodes below each, the index + 1 of the one to take */
	size_t seen;         /* changes of Nodes that are in it */
};

/* A Pod takes amounts of a Node, or leaves it. */
struct step {
	size_t node; /* NO_NODE: GPUs that are on no Node yet */
	const int64_t *amounts;
	int64_t gpus;
	enum when when;
	int sign; /* 1: takes */
};

struct places {
	struct share_places hooks;
	const struct pool_places_input *input;
	struct arena *arena;
	struct place_node *nodes; /* by name */
	size_t node_count, leaves, columns;
	size_t *own;               /* by Node of the free amounts: index here, or NO_NODE */
	struct map shapes;         /* to struct place_spec */
	struct map claims;         /* "namespace/name" to the first Pod, which counts its devices */
	struct place_spec ***spec; /* by cluster and group; NULL: not asked for yet */
	int64_t spare[WHENS];      /* GPUs that are on no Node yet */
	VEC(struct step) log;
	size_t *changed; /* the last changes of Nodes, as many as leaves */
	size_t change_count;
};

/* ---- changes ---- */

static void note_change(struct places *places, size_t node)
{
	places->changed[places->change_count++ & (places->leaves - 1)] = node;
}

static int64_t bounded(__int128 left)
{
	return left > UNLIMITED ? UNLIMITED : left < -UNLIMITED ? -UNLIMITED : (int64_t)left;
}

static void apply(struct places *places, const struct step *step, int sign)
{
	struct place_node *node;

	if (step->node == NO_NODE) {
		places->spare[step->when] -= sign * step->gpus;
		return;
	}
	node = &places->nodes[step->node];
	for (size_t i = 0; i < places->columns; i++)
		node->left[step->when][i] =
			bounded(node->left[step->when][i] - sign * step->amounts[i]);
	if (step->when == NOW)
		node->free -= sign * step->gpus;
	note_change(places, step->node);
}

static void do_step(struct places *places, struct step step)
{
	VEC_PUSH(places->arena, &places->log, step);
	apply(places, &step, step.sign);
}

static size_t mark(void *context)
{
	return ((struct places *)context)->log.count;
}

static void rollback(void *context, size_t to)
{
	struct places *places = context;

	while (places->log.count > to) {
		const struct step *last = &places->log.at[--places->log.count];

		apply(places, last, -last->sign);
	}
}

/* ---- the tournament of a shape ---- */

static bool has_room(const struct places *places, const struct place_spec *spec, size_t node,
		     enum when when)
{
	const int64_t *left = places->nodes[node].left[when];

	for (size_t i = 0; i < places->columns; i++)
		if (left[i] < spec->amounts[i] && spec->amounts[i] > 0)
			return false;
	return true;
}

static void enter(const struct places *places, const struct place_spec *spec, size_t node)
{
	bool soon = spec->matches[node] && has_room(places, spec, node, SOON);
	bool now = soon && has_room(places, spec, node, NOW);

	spec->best[SOON][places->leaves + node] = soon ? node + 1 : 0;
	spec->best[NOW][places->leaves + node] = now ? node + 1 : 0;
}

static void play(const struct places *places, const struct place_spec *spec, size_t at)
{
	for (enum when when = NOW; when < WHENS; when++) {
		size_t *best = spec->best[when], a = best[2 * at], b = best[2 * at + 1];
		bool second = a == 0 ||
			      (b > 0 && places->nodes[b - 1].free < places->nodes[a - 1].free);

		best[at] = second ? b : a;
	}
}

static void start_spec(const struct places *places, struct place_spec *spec)
{
	spec->matches = arena_array(places->arena, places->node_count, sizeof(*spec->matches));
	for (enum when when = NOW; when < WHENS; when++)
		spec->best[when] =
			arena_array(places->arena, 2 * places->leaves, sizeof(*spec->best[when]));
	for (size_t i = 0; i < places->node_count; i++)
		spec->matches[i] = spec->named &&
				   node_fit_accepts(&spec->demand, places->nodes[i].node);
}

static void update(const struct places *places, struct place_spec *spec)
{
	bool new = !spec->matches;

	if (new)
		start_spec(places, spec);
	if (new || places->change_count - spec->seen > places->leaves / 8) {
		for (size_t i = 0; i < places->node_count; i++)
			enter(places, spec, i);
		for (size_t at = places->leaves - 1; at > 0; at--)
			play(places, spec, at);
		spec->seen = places->change_count;
	}
	for (; spec->seen < places->change_count; spec->seen++) {
		size_t node = places->changed[spec->seen & (places->leaves - 1)];

		enter(places, spec, node);
		for (size_t at = (places->leaves + node) / 2; at > 0; at /= 2)
			play(places, spec, at);
	}
}

/* ---- requests ---- */

static bool is_column(const struct places *places, const char *resource)
{
	const struct node_capacities *capacities = &places->input->free->capacities;

	for (size_t c = 0; c < places->columns; c++)
		if (strcmp(capacities->columns.at[c], resource) == 0)
			return true;
	return false;
}

/* By column. Of a GPU that is used whole no part is left. */
static const int64_t *amounts_of(const struct places *places, const struct resources *request)
{
	const struct node_capacities *capacities = &places->input->free->capacities;
	int64_t *amounts = arena_array(places->arena, places->columns, sizeof(*amounts));

	for (size_t c = 0; c < places->columns; c++)
		amounts[c] =
			resource_sum(resources_amount(request, capacities->columns.at[c], 0),
				     strcmp(capacities->columns.at[c], gpu_part_names[0]) == 0 ?
					     resources_amount(request, GPU_PART_WHOLE, 0) :
					     0);
	return amounts;
}

static void add_amounts(const struct places *places, struct resources *request,
			const struct quantities *more)
{
	for (size_t i = 0; i < more->count; i++) {
		const char *name = more->at[i].name;
		int64_t sum = resource_sum(resources_amount(request, name, 0), more->at[i].amount);

		/* Other devices are counted by the GPUs of the Node alone. */
		if (is_column(places, name))
			*request = resources_with(places->arena, request, name, sum);
	}
}

/* The first Pod on a Node with the claim has its devices. */
static bool is_first(struct places *places, const struct pod *pod, const char *claim)
{
	const char *key = arena_printf(places->arena, "%s/%s", pod->namespace_, claim);
	const struct pod *first = map_get(&places->claims, key);

	if (!first)
		map_set(&places->claims, key, pod);
	return !first || first == pod;
}

/* With claimed devices, as Nodes have those of their ResourceSlices. pod: of a RayCluster, because those of
 * others request them already (ctl/report/feature.h, complete); NULL: one of the template. */
static struct resources request_of(struct places *places, const char *namespace_,
				   const struct pod_spec *spec, const struct pod *pod)
{
	struct resources request = pod_request_with_parts(spec, places->arena);
	const struct pod_claims *claims = pod_claims_make(namespace_, spec,
							  pod ? pod->claim_statuses : NULL,
							  pod ? pod->claim_status_count : 0, "spec",
							  places->input->devices, places->arena);

	if (!claims)
		return request;
	add_amounts(places, &request, &claims->charge);
	if (!pod)
		return request;
	for (size_t i = 0; i < claims->shared_count; i++)
		if (is_first(places, pod, claims->shared[i].claim))
			add_amounts(places, &request, &claims->shared[i].charge);
	return request;
}

/* Nodes have all resources of the request; the name of a DeviceClass is a resource of no Node. */
static bool is_named(const struct places *places, const struct resources *request)
{
	const struct claimed_index *index = places->input->devices->claims;

	for (size_t i = 0; i < request->count; i++) {
		const char *name = request->at[i].name;

		if (request->at[i].amount > 0 && !is_column(places, name) &&
		    !node_amount_is_optional(name, device_find(places->input->devices, name)) &&
		    !(index && claimed_class_find(index, name)))
			return false;
	}
	return true;
}

/* Of a Pod on a Node. */
static const int64_t *pod_amounts(struct places *places, const struct pod *pod)
{
	const struct resources request = request_of(places, pod->namespace_, &pod->spec, pod);

	return amounts_of(places, &request);
}

/* The Pods that the free amounts leave out. */
static void add_claimers(struct places *places)
{
	const struct map *claimers = &places->input->free->claimers;

	for (size_t i = 0; i < claimers->count; i++) {
		const struct pod *pod = claimers->entries[i].value;
		size_t node = places->own[pool_room_node_of(places->input->free, pod)];
		struct step step = { node, NULL, 0, NOW, 1 };

		if (node == NO_NODE)
			continue;
		step.amounts = pod_amounts(places, pod);
		apply(places, &step, 1);
		step.when = SOON;
		apply(places, &step, 1);
	}
}

/* ---- the shapes ---- */

static struct place_spec *spec_of(struct places *places, size_t cluster, size_t index)
{
	const struct pool_member *member = places->input->members[cluster];
	const struct pool_group *group = &member->groups[index];
	struct place_spec **rows = places->spec[cluster], *spec;
	struct resources request;

	if (!rows)
		rows = places->spec[cluster] =
			arena_array(places->arena, member->group_count, sizeof(*rows));
	if (rows[index])
		return rows[index];
	spec = rows[index] = map_get(&places->shapes, group->shape);
	if (spec)
		return spec;
	spec = rows[index] = ARENA_NEW(places->arena, struct place_spec);
	map_set(&places->shapes, group->shape, spec);
	spec->gpus = group->replica_gpus / group->hosts;
	node_demand_init(&spec->demand, group->spec, true, places->input->devices, places->arena);
	request = request_of(places, member->namespace_, group->spec, NULL);
	spec->named = is_named(places, &request);
	spec->amounts = amounts_of(places, &request);
	return spec;
}

/* ---- Pods ---- */

/* On a Node, or on one that will be added. */
static bool place_pod(struct places *places, struct place_spec *spec, bool soon)
{
	enum when first = soon ? SOON : NOW;
	size_t best;

	update(places, spec);
	best = spec->best[first][1];
	if (best == 0 && (places->spare[first] < spec->gpus || places->spare[SOON] < spec->gpus))
		return false;
	for (enum when when = first; when < WHENS; when++)
		do_step(places, (struct step){ best > 0 ? best - 1 : NO_NODE, spec->amounts,
					       spec->gpus, when, 1 });
	return true;
}

static bool place_replicas(struct places *places, size_t cluster, size_t group, int64_t replicas,
			   bool soon)
{
	struct place_spec *spec = spec_of(places, cluster, group);
	int64_t pods = replicas * places->input->members[cluster]->groups[group].hosts;

	while (pods > 0 && place_pod(places, spec, soon))
		pods--;
	return pods <= 0;
}

static bool take(void *context, size_t unit, bool soon)
{
	struct places *places = context;
	const struct pool_waiting *ask = places->input->asks[unit];
	size_t cluster = places->input->units[unit].cluster, before = mark(places);

	for (size_t p = 0; p < ask->part_count; p++) {
		size_t group = ask->parts[p].group;

		if (places->input->members[cluster]->groups[group].pool != places->input->index ||
		    place_replicas(places, cluster, group, ask->parts[p].replicas, soon))
			continue;
		rollback(places, before);
		return false;
	}
	return true;
}

/* NO_NODE: on none of the pool. */
static size_t node_of(const struct places *places, const struct pool_pod *pod)
{
	return pod->node < POOL_NODE_UNBOUND ? places->own[pod->node] : NO_NODE;
}

static int64_t pod_gpus(const struct pool_worker *worker)
{
	return worker->pods.count > 0 ? worker->gpus / (int64_t)worker->pods.count : 0;
}

static void leave(void *context, size_t index)
{
	struct places *places = context;
	const struct pool_worker *worker = places->input->held[index];

	for (size_t p = 0; p < worker->pods.count; p++) {
		size_t node = node_of(places, &worker->pods.at[p]);
		const int64_t *amounts =
			node != NO_NODE ? pod_amounts(places, worker->pods.at[p].pod) : NULL;

		do_step(places, (struct step){ node, amounts, pod_gpus(worker), SOON, -1 });
	}
}

/* ---- Nodes ---- */

/* By column, of a Node that does not name the resource. */
static const int64_t *unnamed_amounts(const struct places *places)
{
	const struct node_capacities *capacities = &places->input->free->capacities;
	int64_t *amounts = arena_array(places->arena, places->columns, sizeof(*amounts));

	for (size_t c = 0; c < places->columns; c++) {
		const char *name = capacities->columns.at[c];

		if (node_amount_is_optional(name, device_find(places->input->devices, name)))
			amounts[c] = UNLIMITED;
	}
	return amounts;
}

static void read_left(const struct places *places, const struct node_capacity *capacity,
		      const int64_t *unnamed, int64_t *ret_left)
{
	memcpy(ret_left, unnamed, places->columns * sizeof(*ret_left));
	VEC_EACH(const struct node_amount, amount, capacity)
		if (node_amount_limits(amount))
			ret_left[amount->column] = bounded(amount->allocatable - amount->sum);
}

static void make_nodes(struct places *places)
{
	const struct pool_room *free = places->input->free;
	size_t count = free->capacities.count;
	int64_t *left = arena_array(places->arena, WHENS * count * places->columns, sizeof(*left));
	const int64_t *unnamed = unnamed_amounts(places);

	places->spare[NOW] = places->input->capacity;
	places->nodes = arena_array(places->arena, count, sizeof(*places->nodes));
	places->own = arena_array(places->arena, count, sizeof(*places->own));
	for (size_t i = 0; i < count; i++) {
		const struct pool_room_node *from = &free->nodes[i];
		struct place_node *own = &places->nodes[places->node_count];

		places->own[i] = from->in[places->input->index] ? places->node_count++ : NO_NODE;
		if (places->own[i] == NO_NODE)
			continue;
		own->node = free->capacities.at[i].node;
		own->free = own->gpus = from->gpus;
		places->spare[NOW] -= own->gpus;
		for (enum when when = NOW; when < WHENS; when++, left += places->columns)
			own->left[when] = left;
		read_left(places, &free->capacities.at[i], unnamed, own->left[NOW]);
		memcpy(own->left[SOON], own->left[NOW], places->columns * sizeof(*left));
	}
	places->spare[SOON] = places->spare[NOW];
	places->leaves = 1;
	while (places->leaves < places->node_count)
		places->leaves *= 2;
	places->changed = arena_array(places->arena, places->leaves, sizeof(*places->changed));
}

/* ---- workers ---- */

/* Pods without a Node take one, and those on Nodes that are not of the pool, or of which nothing is
 * known, use what is on no Node. */
static void settle_pod(struct places *places, size_t index, size_t p)
{
	size_t cluster = places->input->workers[index].cluster;
	const struct pool_member *member = places->input->members[cluster];
	const struct pool_worker *worker = places->input->held[index];
	size_t node = node_of(places, &worker->pods.at[p]);
	int64_t gpus = pod_gpus(worker);

	if (node != NO_NODE) {
		places->nodes[node].free -= gpus;
		places->nodes[node].idle += worker->state == SHARE_IDLE ? gpus : 0;
		note_change(places, node);
	} else if (worker->pods.at[p].node != POOL_NODE_UNBOUND ||
		   worker->group >= member->group_count ||
		   !place_pod(places, spec_of(places, cluster, worker->group), false)) {
		places->spare[NOW] -= gpus;
		places->spare[SOON] -= gpus;
	}
}

/* Workers that leave are free soon. */
static void place_workers(struct places *places)
{
	const struct pool_places_input *input = places->input;

	for (size_t i = 0; i < input->worker_count; i++) {
		const struct pool_worker *worker = input->held[i];
		size_t cluster = input->workers[i].cluster;
		const struct pool_member *member = input->members[cluster];

		for (size_t p = 0; p < worker->pods.count; p++)
			settle_pod(places, i, p);
		if (worker->pods.count == 0 && worker->group < member->group_count &&
		    member->groups[worker->group].replica_gpus > 0)
			(void)place_replicas(
				places, cluster, worker->group,
				worker->gpus / member->groups[worker->group].replica_gpus, false);
		if (worker->state == SHARE_LEAVING)
			leave(places, i);
	}
	places->log.count = 0;
}

static int64_t beside(const struct places *places, size_t worker)
{
	int64_t sum = 0;

	for (size_t p = 0; p < places->input->held[worker]->pods.count; p++) {
		size_t at = node_of(places, &places->input->held[worker]->pods.at[p]);
		const struct place_node *node = at != NO_NODE ? &places->nodes[at] : NULL;

		sum += node ? node->gpus - node->free - node->idle : 0;
	}
	return sum;
}

const struct share_places *pool_places_make(const struct pool_places_input *input,
					    struct arena *arena)
{
	struct places *places = ARENA_PUT(arena, (struct places){ .input = input,
								  .arena = arena,
								  .shapes = MAP_IN(arena),
								  .claims = MAP_IN(arena) });

	places->hooks = (struct share_places){ places, take, leave, mark, rollback };
	places->spec = arena_array(arena, input->cluster_count, sizeof(*places->spec));
	places->columns = input->free->capacities.columns.count;
	make_nodes(places);
	add_claimers(places);
	place_workers(places);
	for (size_t i = 0; i < input->worker_count; i++)
		input->workers[i].order = beside(places, i);
	return &places->hooks;
}

/* ---- in words ---- */

/* The first group of the unit with Pods in the pool. */
static const struct pool_group *group_of(const struct pool_places_input *input, size_t unit)
{
	const struct pool_member *member = input->members[input->units[unit].cluster];
	const struct pool_waiting *ask = input->asks[unit];

	for (size_t p = 0; p < ask->part_count; p++)
		if (member->groups[ask->parts[p].group].pool == input->index)
			return &member->groups[ask->parts[p].group];
	return NULL;
}

const char *pool_places_shape(const struct pool_places_input *input, size_t unit)
{
	const struct pool_group *group = group_of(input, unit);

	return group ? group->shape : "";
}

/* Those of the pool. */
static struct node_capacities capacities_of(const struct pool_places_input *input,
					    struct arena *arena)
{
	const struct pool_room *free = input->free;
	struct node_capacities own = free->capacities;

	own.at = arena_array(arena, own.count, sizeof(*own.at));
	own.count = 0;
	for (size_t i = 0; i < free->capacities.count; i++)
		if (free->nodes[i].in[input->index])
			own.at[own.count++] = free->capacities.at[i];
	return own;
}

/* The part of the amount on this Node that workers of the pool use. */
static int64_t used_by_workers(const struct pool_places_input *input, const char *node,
			       const char *resource, struct arena *arena)
{
	size_t at = (size_t)(node_capacities_find(&input->free->capacities, node) -
			     input->free->capacities.at);
	int64_t sum = 0;

	for (size_t w = 0; w < input->worker_count; w++)
		VEC_EACH(const struct pool_pod, pod, &input->held[w]->pods)
			if (pod->node == at) {
				const struct resources request =
					pod_request(&pod->pod->spec, arena);

				sum = resource_sum(sum, resources_amount(&request, resource, 0));
			}
	return sum;
}

/* "; Pods outside of RayClusters use 4 nvidia.com/gpu there": of the first device that the Pod requests. */
static const char *outside_text(const struct pool_places_input *input,
				const struct node_demand *demand, const struct node_fit *fit,
				struct arena *arena)
{
	for (size_t i = 0; i < demand->request.count; i++) {
		const char *name = demand->request.at[i].name;
		const struct node_amount *amount = node_capacity_amount(fit->capacity, name);
		int64_t others;

		if (!demand->rows[i] || demand->request.at[i].amount == 0 || !amount)
			continue;
		others = amount->used -
			 used_by_workers(input, fit->capacity->node->name, name, arena);
		return others > 0 ?
			       arena_printf(arena, "; Pods outside of RayClusters use %s %s there",
					    resource_amount_text(arena, others), name) :
			       "";
	}
	return "";
}

int64_t pool_places_pods(const struct pool_places_input *input, size_t unit)
{
	const struct pool_member *member = input->members[input->units[unit].cluster];
	const struct pool_waiting *ask = input->asks[unit];
	const char *shape = pool_places_shape(input, unit);
	int64_t sum = 0;

	for (size_t p = 0; p < ask->part_count; p++) {
		const struct pool_group *group = &member->groups[ask->parts[p].group];

		if (strcmp(group->shape, shape) == 0)
			sum = resource_sum(sum,
					   resource_product(ask->parts[p].replicas, group->hosts));
	}
	return sum;
}

/* By the sums of amounts, not device by device. */
static int64_t pods_on(const struct node_demand *demand, const struct node_capacity *capacity)
{
	int64_t most = node_fit_accepts(demand, capacity->node) ? INT32_MAX : 0;

	for (size_t i = 0; i < demand->request.count && most > 0; i++) {
		const struct resource *wanted = &demand->request.at[i];
		const struct node_amount *amount = node_capacity_amount(capacity, wanted->name);

		if (!node_capacity_fits(capacity, wanted, demand->rows[i]))
			most = 0;
		else if (amount && wanted->amount > 0)
			most = int64_min(most, node_amount_free(amount) / wanted->amount);
	}
	return most;
}

/* A Node has room for one. */
static const char *part_text(const struct node_demand *demand,
			     const struct node_capacities *capacities, struct arena *arena,
			     int64_t *ret_room)
{
	int64_t sum = 0;

	for (size_t i = 0; i < capacities->count; i++)
		sum = resource_sum(sum, pods_on(demand, &capacities->at[i]));
	*ret_room = sum;
	return arena_printf(arena, "the Nodes have room for %lld of its Pods at once",
			    (long long)sum);
}

const char *pool_places_why(const struct pool_places_input *input, size_t unit, struct arena *arena,
			    int64_t *ret_room)
{
	const struct pool_group *group = group_of(input, unit);
	struct node_capacities capacities;
	struct node_demand demand;
	struct node_fit fit;

	*ret_room = 0;
	if (!group || !input->free)
		return "";
	capacities = capacities_of(input, arena);
	node_demand_init(&demand, group->spec, true, input->devices, arena);
	node_fit_best(&demand, &capacities, arena, &fit);
	if (fit.level == NODE_FIT_NONE)
		return "";
	if (fit.level == NODE_FIT_NOW)
		return part_text(&demand, &capacities, arena, ret_room);
	return arena_printf(arena, "%s%s", node_fit_text(&demand, &capacities, &fit, arena),
			    outside_text(input, &demand, &fit, arena));
}
