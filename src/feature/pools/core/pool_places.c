#include "feature/pools/core/pool_places.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "core/nodes/node_fit.h"
#include "core/nodes/node_match.h"
#include "core/nodes/pod_request.h"

#define NO_NODE SIZE_MAX
#define UNLIMITED (INT64_MAX / 2)

enum when { NOW = 0, SOON, WHENS };

/* Names with the index of what they name. */
struct names {
	struct name {
		const char *namespace_, *name;
	} * at;
	size_t count;
	size_t *slots; /* index + 1 */
	size_t mask;
};

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
	size_t *best[WHENS]; /* a tournament: of the Nodes below each, the index + 1 of the one to take */
	size_t seen;         /* changes of Nodes that are in it */
};

/* A Pod of a RayCluster. */
struct place_pod {
	size_t node;
	const int64_t *amounts;
	bool waits; /* it has no Node yet */
};

/* A Pod takes amounts of a Node, or leaves it. */
struct step {
	size_t node; /* NO_NODE: GPUs that are on no Node yet */
	const int64_t *amounts;
	int64_t gpus;
	enum when when;
	int sign; /* 1: takes */
};

/* A resource of claimed devices. */
struct claimed {
	const char *resource;
	bool on_nodes;
};

struct places {
	struct share_places hooks;
	const struct pool_places_input *input;
	struct arena *arena;
	struct place_node *nodes; /* by name */
	size_t node_count, leaves;
	struct names node_names, pod_names, shapes;
	VEC(struct claimed) claimed;
	struct map shared; /* claims by namespace and name that a Pod has; while Pods are added */
	VEC(const char *) columns; /* the resources that Pods request */
	struct place_spec *specs;  /* by shape */
	struct place_spec ***spec; /* by cluster and group */
	struct place_pod *pods;
	const struct place_pod ***own; /* by worker and Pod; NULL: on no Node of the pool */
	int64_t spare[WHENS];          /* GPUs that are on no Node yet */
	VEC(struct step) log;
	size_t *changed; /* the last changes of Nodes, as many as leaves */
	size_t change_count;
};

/* ---- names ---- */

static void names_init(struct names *names, size_t most, struct arena *arena)
{
	names->mask = 1;
	while (names->mask < 2 * most)
		names->mask *= 2;
	names->slots = arena_array(arena, names->mask--, sizeof(*names->slots));
	names->at = arena_array(arena, most, sizeof(*names->at));
}

static size_t *slot_of(const struct names *names, const char *namespace_, const char *name)
{
	uint64_t hash = hash_add(hash_text(namespace_), name);
	size_t slot = (hash ^ hash >> 32) & names->mask;

	for (; names->slots[slot] > 0; slot = (slot + 1) & names->mask) {
		const struct name *found = &names->at[names->slots[slot] - 1];

		if (strcmp(found->name, name) == 0 && strcmp(found->namespace_, namespace_) == 0)
			break;
	}
	return &names->slots[slot];
}

/* The index of the name, which is added if it is new. */
static size_t names_add(struct names *names, const char *namespace_, const char *name)
{
	size_t *slot = slot_of(names, namespace_, name);

	if (*slot == 0) {
		names->at[names->count] = (struct name){ namespace_, name };
		*slot = ++names->count;
	}
	return *slot - 1;
}

/* ---- changes ---- */

static void note_change(struct places *places, size_t node)
{
	places->changed[places->change_count++ & (places->leaves - 1)] = node;
}

static int64_t bounded(int64_t left)
{
	return left > UNLIMITED ? UNLIMITED : left < -UNLIMITED ? -UNLIMITED : left;
}

static void apply(struct places *places, const struct step *step, int sign)
{
	struct place_node *node;

	if (step->node == NO_NODE) {
		places->spare[step->when] -= sign * step->gpus;
		return;
	}
	node = &places->nodes[step->node];
	for (size_t i = 0; i < places->columns.count; i++)
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

	for (size_t i = 0; i < places->columns.count; i++)
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
	for (size_t i = 0; i < places->node_count; i++) {
		const struct node *node = places->nodes[i].node;
		const struct node_capacity capacity = { .node = node };

		spec->matches[i] = !node->unschedulable && node_capacity_ready(&capacity) &&
				   node_match_selects(spec->demand.spec, node) &&
				   !node_fit_taint(&spec->demand, node);
	}
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
	struct place_spec *spec = places->spec[cluster][group];
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

static int64_t pod_gpus(const struct pool_worker *worker)
{
	return worker->pods.count > 0 ? worker->gpus / (int64_t)worker->pods.count : 0;
}

static void leave(void *context, size_t index)
{
	struct places *places = context;
	const struct pool_worker *worker = places->input->held[index];

	for (size_t p = 0; p < worker->pods.count; p++) {
		const struct place_pod *pod = places->own[index][p];

		do_step(places, (struct step){ pod ? pod->node : NO_NODE, pod ? pod->amounts : NULL,
					       pod_gpus(worker), SOON, -1 });
	}
}

/* ---- requests ---- */

/* Some Node has the resource. Where claimed devices are of no resource of Nodes, they are counted
 * by the GPUs of the Node alone. */
static bool is_on_nodes(struct places *places, const char *resource)
{
	const struct pool_nodes *nodes = places->input->nodes;
	const struct claimed *known = VEC_FIND(&places->claimed, resource, resource);
	bool found = false;

	if (known)
		return known->on_nodes;
	for (size_t i = 0; i < nodes->node_count && !found; i++)
		found = quantities_find(&nodes->nodes[i].allocatable, resource) != NULL;
	VEC_PUSH(places->arena, &places->claimed, ((struct claimed){ resource, found }));
	return found;
}

static void add_amounts(struct places *places, struct resources *request,
			const struct quantities *more, struct arena *arena)
{
	for (size_t i = 0; i < more->count; i++) {
		const char *name = more->at[i].name;

		if (is_on_nodes(places, name))
			*request = resources_with(arena, request, name,
						  resource_sum(resources_amount(request, name, 0),
							       more->at[i].amount));
	}
}

/* The first Pod on a Node with the claim has its devices. */
static bool is_first(struct places *places, const char *namespace_, const char *claim)
{
	const char *key = arena_printf(places->arena, "%s/%s", namespace_, claim);

	if (map_get(&places->shared, key))
		return false;
	map_set(&places->shared, key, places);
	return true;
}

/* With claimed devices, as Nodes have those of their ResourceSlices. The Pods of others request them
 * already (ctl/report/feature.h, complete). pod: NULL for one of the template. */
static struct resources request_of(struct places *places, const char *namespace_,
				   const struct pod_spec *spec, const struct pod *pod,
				   struct arena *arena)
{
	struct resources request = pod_request(spec, arena);
	const struct pod_claims *claims = NULL;

	if (!pod || labels_value(&pod->labels, LABEL_CLUSTER))
		claims = pod_claims_make(namespace_, spec, pod ? pod->claim_statuses : NULL,
					 pod ? pod->claim_status_count : 0, "spec",
					 places->input->nodes->devices, arena);
	if (!claims)
		return request;
	add_amounts(places, &request, &claims->charge, arena);
	for (size_t i = 0; pod && i < claims->shared_count; i++)
		if (is_first(places, namespace_, claims->shared[i].claim))
			add_amounts(places, &request, &claims->shared[i].charge, arena);
	return request;
}

/* ---- the shapes ---- */

/* The name of a DeviceClass is a resource of no Node. */
static void add_columns(struct places *places, const struct resources *request)
{
	const struct claimed_index *index = places->input->nodes->devices->claims;

	for (size_t i = 0; i < request->count; i++) {
		size_t c = 0;

		if (index && claimed_class_find(index, request->at[i].name) &&
		    !is_on_nodes(places, request->at[i].name))
			continue;
		while (c < places->columns.count &&
		       strcmp(places->columns.at[c], request->at[i].name) != 0)
			c++;
		if (c == places->columns.count)
			VEC_PUSH(places->arena, &places->columns, request->at[i].name);
	}
}

static const int64_t *amounts_of(const struct places *places, const struct resources *request)
{
	int64_t *amounts = arena_array(places->arena, places->columns.count, sizeof(*amounts));

	for (size_t i = 0; i < places->columns.count; i++)
		amounts[i] = resources_amount(request, places->columns.at[i], 0);
	return amounts;
}

static void make_specs(struct places *places)
{
	const struct pool_places_input *input = places->input;
	struct resources *requests;
	size_t most = 0;

	for (size_t c = 0; c < input->cluster_count; c++)
		most += input->members[c]->group_count;
	names_init(&places->shapes, most, places->arena);
	places->specs = arena_array(places->arena, most, sizeof(*places->specs));
	requests = arena_array(places->arena, most, sizeof(*requests));
	places->spec = arena_array(places->arena, input->cluster_count, sizeof(*places->spec));
	for (size_t c = 0; c < input->cluster_count; c++) {
		size_t count = input->members[c]->group_count;

		places->spec[c] = arena_array(places->arena, count, sizeof(struct place_spec *));
		for (size_t g = 0; g < count; g++) {
			const struct pool_group *group = &input->members[c]->groups[g];
			struct place_spec *spec =
				&places->specs[names_add(&places->shapes, "", group->shape)];

			places->spec[c][g] = spec;
			if (spec->demand.spec)
				continue;
			spec->gpus = group->replica_gpus / group->hosts;
			node_demand_init(&spec->demand, group->spec, true, input->nodes->devices,
					 places->arena);
			requests[spec - places->specs] =
				request_of(places, input->members[c]->namespace_, group->spec, NULL,
					   places->arena);
			add_columns(places, &requests[spec - places->specs]);
		}
	}
	for (size_t i = 0; i < places->shapes.count; i++)
		places->specs[i].amounts = amounts_of(places, &requests[i]);
}

/* ---- Nodes ---- */

static int64_t node_gpus(const struct pool_nodes *nodes, const struct node *node,
			 struct arena *scratch)
{
	const struct container container = {
		.name = "", .image = "", .limits = node->allocatable, .requests = node->allocatable
	};
	const struct pod whole = { .spec = { .containers = &container,
					     .container_count = 1,
					     .node_selector = node->labels,
					     .node_name = "" } };

	return gpu_count_of_pod(&whole, nodes->settings, nodes->devices, scratch);
}

int64_t pool_nodes_gpus(const struct pool_nodes *nodes, const struct gpu_pool *pool,
			struct arena *scratch)
{
	int64_t sum = 0;

	for (size_t i = 0; i < nodes->node_count; i++)
		if (pool_match_node(pool, &nodes->nodes[i], scratch))
			sum = resource_sum(sum, node_gpus(nodes, &nodes->nodes[i], scratch));
	return sum;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct place_node *)a)->node->name,
		      ((const struct place_node *)b)->node->name);
}

/* A Node that does not name a resource has none of it, and no limit of Pods. */
static int64_t allocatable(const struct node *node, const char *resource)
{
	const struct quantity *found = quantities_find(&node->allocatable, resource);

	if (!found)
		return strcmp(resource, POD_REQUEST_PODS) == 0 ? UNLIMITED : 0;
	return found->amount;
}

static void make_nodes(struct places *places)
{
	const struct pool_nodes *input = places->input->nodes;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	int64_t spare = places->input->capacity;

	places->nodes = arena_array(places->arena, input->node_count, sizeof(*places->nodes));
	for (size_t i = 0; i < input->node_count; i++)
		if (input->nodes[i].allocatable.count > 0 &&
		    pool_match_node(places->input->pool, &input->nodes[i], &scratch))
			places->nodes[places->node_count++].node = &input->nodes[i];
	qsort(places->nodes, places->node_count, sizeof(*places->nodes), by_name);
	names_init(&places->node_names, places->node_count, places->arena);
	for (size_t i = 0; i < places->node_count; i++) {
		struct place_node *own = &places->nodes[i];

		(void)names_add(&places->node_names, "", own->node->name);
		arena_reset(&scratch);
		own->free = own->gpus = node_gpus(input, own->node, &scratch);
		spare -= own->gpus;
		for (enum when when = NOW; when < WHENS; when++) {
			own->left[when] = arena_array(places->arena, places->columns.count,
						      sizeof(*own->left[when]));
			for (size_t c = 0; c < places->columns.count; c++)
				own->left[when][c] = allocatable(own->node, places->columns.at[c]);
		}
	}
	places->spare[NOW] = places->spare[SOON] = spare;
	for (places->leaves = 1; places->leaves < places->node_count;)
		places->leaves *= 2;
	places->changed = arena_array(places->arena, places->leaves, sizeof(*places->changed));
}

/* All Pods use what they request of their Nodes. */
static void add_pods(struct places *places)
{
	const struct pool_nodes *input = places->input->nodes;

	AUTO(arena_done) struct arena scratch = ARENA_INIT;

	names_init(&places->pod_names, input->pod_count, places->arena);
	places->pods = arena_array(places->arena, input->pod_count, sizeof(*places->pods));
	for (size_t i = 0; i < input->pod_count; i++) {
		const struct pod *pod = input->pods[i];
		bool holds = pod_request_holds(pod);
		size_t node = holds ? *slot_of(&places->node_names, "", pod->spec.node_name) : 0;
		struct place_pod own = { .node = NO_NODE, .waits = pod->spec.node_name[0] == '\0' };
		struct resources request;

		if (node > 0) {
			arena_reset(&scratch);
			request = request_of(places, pod->namespace_, &pod->spec, pod, &scratch);
			own = (struct place_pod){ node - 1, amounts_of(places, &request), false };
			for (enum when when = NOW; when < WHENS; when++)
				apply(places, &(struct step){ own.node, own.amounts, 0, when, 1 },
				      1);
		}
		if (labels_value(&pod->labels, LABEL_CLUSTER))
			places->pods[names_add(&places->pod_names, pod->namespace_, pod->name)] =
				own;
	}
	map_done(&places->shared);
	places->shared = MAP_INIT;
}

/* ---- workers ---- */

/* Pods without a Node take one, and those on Nodes that are not of the pool, or of which nothing is
 * known, use what is on no Node. */
static void settle_pod(struct places *places, size_t index, size_t p)
{
	size_t cluster = places->input->workers[index].cluster;
	const struct pool_member *member = places->input->members[cluster];
	const struct pool_worker *worker = places->input->held[index];
	size_t found = *slot_of(&places->pod_names, member->namespace_, worker->pods.at[p]);
	const struct place_pod *pod = found > 0 ? &places->pods[found - 1] : NULL;
	int64_t gpus = pod_gpus(worker);

	if (pod && pod->node != NO_NODE) {
		places->own[index][p] = pod;
		places->nodes[pod->node].free -= gpus;
		places->nodes[pod->node].idle += worker->state == SHARE_IDLE ? gpus : 0;
		note_change(places, pod->node);
	} else if (!pod || !pod->waits || worker->group >= member->group_count ||
		   !place_pod(places, places->spec[cluster][worker->group], false)) {
		places->spare[NOW] -= gpus;
		places->spare[SOON] -= gpus;
	}
}

/* Workers that leave are free soon. */
static void place_workers(struct places *places)
{
	const struct pool_places_input *input = places->input;

	places->own = arena_array(places->arena, input->worker_count, sizeof(*places->own));
	for (size_t i = 0; i < input->worker_count; i++) {
		const struct pool_worker *worker = input->held[i];
		size_t cluster = input->workers[i].cluster;
		const struct pool_member *member = input->members[cluster];

		places->own[i] =
			arena_array(places->arena, worker->pods.count, sizeof(struct place_pod *));
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
		const struct place_pod *pod = places->own[worker][p];
		const struct place_node *node = pod ? &places->nodes[pod->node] : NULL;

		sum += node ? node->gpus - node->free - node->idle : 0;
	}
	return sum;
}

const struct share_places *pool_places_make(const struct pool_places_input *input,
					    struct arena *arena)
{
	struct places *places = ARENA_NEW(arena, struct places);

	*places = (struct places){ .hooks = { places, take, leave, mark, rollback },
				   .input = input,
				   .arena = arena,
				   .shared = MAP_INIT };
	make_specs(places);
	make_nodes(places);
	add_pods(places);
	place_workers(places);
	for (size_t i = 0; i < input->worker_count; i++)
		input->workers[i].order = beside(places, i);
	return &places->hooks;
}
