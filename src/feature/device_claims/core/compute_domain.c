#include "feature/device_claims/core/compute_domain.h"

#include <string.h>

#include "base/map.h"
#include "core/decide/capacity_check.h"
#include "core/model/reason.h"
#include "core/nodes/node_fit.h"
#include "core/nodes/node_sample.h"
#include "feature/device_claims/core/device_nodes.h"

#define CLIQUES_MAX 256 /* counted; a clique has up to 18 Nodes */
#define CLIQUES_SHOWN 4
/* A user writes templates and claims: what is beyond these limits does not make a Node full. */
#define POD_CLAIMS_MAX 64
#define ASKS_MAX 256
#define JUDGED_MAX 200000 /* devices, for one group */

struct clique {
	const char *name;
	int64_t nodes; /* that can hold one more Pod of the group now */
};

struct cliques {
	struct clique at[CLIQUES_MAX];
	size_t count;
	const char *own; /* the clique of the group's workers; NULL: they have none yet */
};

/* An alternative of a request. */
struct ask {
	size_t request;
	int64_t count;
	struct device_selection selection;
};

struct asks {
	VEC(struct ask) at;
	size_t request_count;
	size_t judged;
};

/* ---- one Node ---- */

static const struct claim_spec *find_spec(const struct health *health, const char *name)
{
	const struct device_objects *objects = health->snapshot->device_objects;
	const char *namespace_ = health->snapshot->cluster.namespace_;

	for (size_t i = 0; i < objects->template_count; i++)
		if (strcmp(objects->templates[i].name, name) == 0 &&
		    strcmp(objects->templates[i].namespace_, namespace_) == 0)
			return &objects->templates[i].spec;
	return NULL;
}

static void add_asks(const struct health *health, const struct device_free *devices,
		     const struct claim_spec *spec, struct asks *asks)
{
	ARRAY_EACH(const struct device_request, request, spec->requests, spec->request_count) {
		ARRAY_EACH(const struct device_ask, ask, request->asks, request->ask_count) {
			struct ask one = { .request = asks->request_count,
					   .count = ask->all ? 1 : ask->count };

			if (asks->at.count == ASKS_MAX)
				return;
			if (ask->admin_access)
				one.count = 0;
			device_free_select(devices, ask, health->arena, &one.selection);
			VEC_PUSH(health->arena, &asks->at, one);
		}
		asks->request_count++;
	}
}

static struct asks asks_of(const struct health *health, const struct device_free *devices,
			   const struct pod_spec *pod)
{
	struct asks asks = { .request_count = 0 };

	if (!devices)
		return asks;
	for (size_t i = 0; i < pod->claim_count && i < POD_CLAIMS_MAX; i++) {
		const struct claim_spec *spec =
			*pod->claims[i].template_ != '\0' ?
				find_spec(health, pod->claims[i].template_) :
				NULL;

		if (spec)
			add_asks(health, devices, spec, &asks);
	}
	return asks;
}

static int64_t count_free(const struct ask *ask, struct free_device *const *on_node, size_t count)
{
	int64_t found = 0;

	for (size_t i = 0; i < count && found < ask->count; i++)
		found += !on_node[i]->claimed && device_nodes_usable(on_node[i]) &&
			 device_free_matches(&ask->selection, on_node[i]) != CEL_NO;
	return found;
}

/* Each request by itself has an alternative of which the Node has enough: an upper bound, so that a
 * clique is not called full that is not. */
static bool has_devices(struct asks *asks, const struct device_free *devices, const char *node)
{
	size_t count;
	struct free_device *const *on_node = device_free_of_node(devices, node, &count);

	for (size_t i = 0; i < asks->at.count;) {
		size_t request = asks->at.at[i].request;
		bool served = asks->judged > JUDGED_MAX;

		for (; i < asks->at.count && asks->at.at[i].request == request; i++) {
			asks->judged += served ? 0 : count;
			served = served || count_free(&asks->at.at[i], on_node, count) ==
						   asks->at.at[i].count;
		}
		if (!served)
			return false;
	}
	return true;
}

/* Without ResourceSlices the devices are unknown, and only the Node counts. */
static bool holds_one(const struct health *health, const struct node_demand *demand,
		      const struct node_capacity *capacity, struct asks *asks,
		      const struct device_free *devices)
{
	struct node_fit fit;

	node_fit_check(demand, capacity, health->arena, &fit);
	return fit.level == NODE_FIT_NOW &&
	       (!devices || has_devices(asks, devices, capacity->node->name));
}

/* ---- cliques ---- */

static void add_node(struct cliques *cliques, const char *name)
{
	struct clique *found = ARRAY_FIND(cliques->at, cliques->count, name, name);

	if (!found && cliques->count == CLIQUES_MAX)
		return;
	if (!found) {
		found = &cliques->at[cliques->count++];
		*found = (struct clique){ name, 0 };
	}
	found->nodes++;
}

/* One domain has one clique, so that of a living worker is that of all. */
static const char *own_clique(const struct health *health, const struct group *group,
			      const struct map *taken)
{
	const struct snapshot *snapshot = health->snapshot;

	ARRAY_EACH(const struct node, node, snapshot->nodes, snapshot->node_count) {
		const struct worker *worker = map_get(taken, node->name);
		const char *name = labels_value(&node->labels, LABEL_CLIQUE);

		if (name && worker && worker->group == group->index && !worker->deleting)
			return name;
	}
	return NULL;
}

static void count_nodes(struct health *health, const struct group *group, const struct map *taken,
			const struct device_free *devices, struct cliques *cliques)
{
	const struct node_capacities *capacities = health->capacity_check->capacities;
	struct asks asks = asks_of(health, devices, &group->spec->template.spec);
	struct node_demand demand;

	*cliques = (struct cliques){ .own = own_clique(health, group, taken) };
	node_demand_init(&demand, &group->spec->template.spec, true, capacities->devices,
			 health->arena);
	for (size_t i = 0; i < capacities->count; i++) {
		const struct node_capacity *capacity = &capacities->at[i];
		const char *name = labels_value(&capacity->node->labels, LABEL_CLIQUE);

		if (name && (!cliques->own || strcmp(cliques->own, name) == 0) &&
		    !map_get(taken, capacity->node->name) &&
		    holds_one(health, &demand, capacity, &asks, devices))
			add_node(cliques, name);
	}
}

/* ---- in words ---- */

/* "the free Nodes of NVLink cliques hold 3 whole replicas of 4 hosts: 2 in rack-a.0, 1 in rack-b.0" */
static const char *whole_text(const struct health *health, const struct group *group,
			      const struct cliques *cliques)
{
	struct arena *arena = health->arena;
	const char *list = "";
	int64_t sum = 0, nodes = 0;
	size_t shown = 0, more = 0;

	VEC_EACH(const struct clique, clique, cliques) {
		int64_t whole = clique->nodes / group->hosts;

		nodes += clique->nodes;
		sum += whole;
		if (whole > 0 && shown == CLIQUES_SHOWN)
			more++;
		else if (whole > 0)
			list = arena_printf(arena, "%s%s%lld in %s", list,
					    shown++ == 0 ? ": " : ", ", (long long)whole,
					    resource_name_text(arena, clique->name));
	}
	if (more > 0)
		list = arena_printf(arena, "%s, and in %zu more", list, more);
	return arena_printf(arena,
			    "the free Nodes of NVLink cliques hold %s%lld whole replica%s of %lld "
			    "hosts%s",
			    nodes >= NODE_SAMPLE_CLIQUE_NODES_MAX ? "at least " : "",
			    (long long)sum, sum == 1 ? "" : "s", (long long)group->hosts, list);
}

static const char *none_text(const struct health *health, const struct group *group,
			     const struct cliques *cliques)
{
	const struct clique *most = NULL;

	VEC_EACH(const struct clique, clique, cliques)
		if (!most || clique->nodes > most->nodes)
			most = clique;
	if (cliques->own)
		return arena_printf(
			health->arena,
			"its NVLink clique %s has %lld free Nodes, no whole replica of %lld hosts; "
			"another ComputeDomain needs a group of its own",
			resource_name_text(health->arena, cliques->own),
			(long long)(most ? most->nodes : 0), (long long)group->hosts);
	return arena_printf(
		health->arena,
		"no NVLink clique has the free Nodes of a whole replica of %lld hosts%s",
		(long long)group->hosts,
		!most ? "" :
			arena_printf(health->arena, ", the most are %lld in %s",
				     (long long)most->nodes,
				     resource_name_text(health->arena, most->name)));
}

static const char *text_of(const struct health *health, const struct group *group,
			   const struct cliques *cliques)
{
	VEC_EACH(const struct clique, clique, cliques)
		if (clique->nodes >= group->hosts)
			return whole_text(health, group, cliques);
	return none_text(health, group, cliques);
}

static void note_waiting(struct health *health, const struct group *group, const char *text)
{
	for (size_t i = 0; i < group->worker_count; i++) {
		struct worker_health *own = &health->workers[group->first_worker + i];

		if (own->obstacle == OBSTACLE_NONE || !own->waiting_reason ||
		    strcmp(own->waiting_reason, REASON_WAITING_FOR_NODE) != 0)
			continue;
		own->obstacle_message = arena_printf(health->arena, "%s%s%s", own->obstacle_message,
						     *own->obstacle_message != '\0' ? "; " : "",
						     text);
	}
}

/* ---- the feature ---- */

static bool knows_cliques(const struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->node_count; i++)
		if (snapshot->nodes[i].allocatable.count > 0 &&
		    labels_value(&snapshot->nodes[i].labels, LABEL_CLIQUE))
			return true;
	return false;
}

static bool is_of_domain(const struct group *group)
{
	return group->template_capacity.claims && group->template_capacity.claims->channel;
}

/* The Nodes of workers with a channel: a Node has one, also where its slice is not known. */
static void find_taken(const struct health *health, struct map *taken)
{
	const struct facts *facts = health->facts;

	ARRAY_EACH(struct worker, worker, facts->workers, facts->worker_count) {
		if (worker->pod && *worker->pod->spec.node_name != '\0' &&
		    worker->group != FACTS_NO_INDEX && is_of_domain(&facts->groups[worker->group]))
			map_set(taken, worker->pod->spec.node_name, worker);
	}
}

static bool has_domain(const struct facts *facts)
{
	for (size_t g = 0; g < facts->group_count; g++)
		if (is_of_domain(&facts->groups[g]))
			return true;
	return false;
}

static void assess(struct health *health)
{
	const struct device_objects *objects = health->snapshot->device_objects;
	AUTO(map_done) struct map taken = MAP_INIT;
	struct device_free *devices = NULL;
	bool known = objects && has_domain(health->facts) && knows_cliques(health->snapshot);

	if (!known)
		return;
	find_taken(health, &taken);
	for (size_t g = 0; g < health->facts->group_count; g++) {
		const struct group *group = &health->facts->groups[g];
		struct cliques cliques;

		if (group->frozen || !is_of_domain(group))
			continue;
		(void)capacity_check_of_launch(health->capacity_check, g);
		if (!devices && objects->slices_known)
			devices = device_free_make(objects, health->arena);
		count_nodes(health, group, &taken, devices, &cliques);
		health->capacity_check->groups[g].cliques = text_of(health, group, &cliques);
		note_waiting(health, group, health->capacity_check->groups[g].cliques);
	}
}

const struct decision_feature compute_domain_decisions = { .assess = assess };
