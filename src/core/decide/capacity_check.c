#include "core/decide/capacity_check.h"

#include <string.h>

/* The Pods of this cluster are in `pods`; the sums of the controller have them as well. */
static bool is_ours(const struct snapshot *snapshot, const struct pod *pod)
{
	const char *cluster = labels_value(&pod->labels, LABEL_CLUSTER);

	return cluster && strcmp(cluster, snapshot->cluster.name) == 0 &&
	       strcmp(pod->namespace_, snapshot->cluster.namespace_) == 0;
}

static void add_pods(struct node_capacities *capacities, const struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->pod_count; i++)
		node_capacities_count(capacities, snapshot->pods[i], 1);
	for (size_t i = 0; i < snapshot->other_pod_count; i++)
		if (!is_ours(snapshot, &snapshot->other_pods[i]))
			node_capacities_count(capacities, &snapshot->other_pods[i], 1);
}

static struct node_capacities *make_capacities(const struct facts *facts)
{
	const struct snapshot *snapshot = facts->snapshot;
	struct node_capacities *capacities = ARENA_NEW(facts->arena, struct node_capacities);

	node_capacities_init(capacities, snapshot->nodes, snapshot->node_count,
			     snapshot->device_table, facts->arena);
	if (capacities->count > 0)
		add_pods(capacities, snapshot);
	node_capacities_settle(capacities);
	capacities->partial = !snapshot->other_pods_known;
	return capacities;
}

struct capacity_check *capacity_check_new(const struct facts *facts)
{
	struct capacity_check *capacity_check = ARENA_NEW(facts->arena, struct capacity_check);

	capacity_check->facts = facts;
	capacity_check->groups =
		arena_array(facts->arena, facts->group_count, sizeof(*capacity_check->groups));
	return capacity_check;
}

static void answer(struct capacity_check *capacity_check, const struct pod_spec *spec,
		   bool template_only, struct capacity_check_group *group)
{
	struct arena *arena = capacity_check->facts->arena;
	struct node_demand demand;
	struct node_fit fit;

	group->text = "";
	if (!capacity_check->capacities)
		capacity_check->capacities = make_capacities(capacity_check->facts);
	if (capacity_check->capacities->count == 0)
		return;
	node_demand_init(&demand, spec, template_only, capacity_check->capacities->devices, arena);
	node_fit_best(&demand, capacity_check->capacities, arena, &fit);
	group->fits_now = fit.level == NODE_FIT_NOW;
	group->text = node_fit_text(&demand, capacity_check->capacities, &fit, arena);
}

const char *capacity_check_of_pod(struct capacity_check *capacity_check, size_t group,
				  const struct pod *pod)
{
	if (!capacity_check->groups[group].text)
		answer(capacity_check, &pod->spec, false, &capacity_check->groups[group]);
	return capacity_check->groups[group].text;
}

const struct capacity_check_group *capacity_check_of_launch(struct capacity_check *capacity_check,
							    size_t group)
{
	const struct worker_group *spec = capacity_check->facts->groups[group].spec;

	if (!capacity_check->groups[group].text)
		answer(capacity_check, &spec->template.spec, true, &capacity_check->groups[group]);
	return &capacity_check->groups[group];
}

/* ---- how many ---- */

static void begin_taking(struct capacity_check *capacity_check)
{
	const struct facts *facts = capacity_check->facts;

	capacity_check->left = make_capacities(facts);
	capacity_check->demands =
		arena_array(facts->arena, facts->group_count, sizeof(*capacity_check->demands));
	capacity_check->next =
		arena_array(facts->arena, facts->group_count, sizeof(*capacity_check->next));
	for (size_t g = 0; g < facts->group_count; g++)
		node_demand_init(&capacity_check->demands[g], &facts->groups[g].spec->template.spec,
				 true, capacity_check->left->devices, facts->arena);
}

/* The first Node that holds another Pod of the group, which takes its room; SIZE_MAX: none. */
static size_t take(struct capacity_check *capacity_check, size_t group)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT; /* for messages that are discarded */
	const struct node_demand *demand = &capacity_check->demands[group];
	size_t *next = &capacity_check->next[group];

	for (; *next < capacity_check->left->count; (*next)++) {
		struct node_capacity *capacity = &capacity_check->left->at[*next];
		struct node_fit fit;

		node_fit_check(demand, capacity, &scratch, &fit);
		if (fit.level == NODE_FIT_NOW) {
			node_capacity_change(capacity, &demand->request, 1,
					     capacity_check->facts->arena);
			return *next;
		}
		arena_reset(&scratch);
	}
	return SIZE_MAX;
}

bool capacity_check_take(struct capacity_check *capacity_check, const size_t *groups, size_t count)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	size_t group_count = capacity_check->facts->group_count, taken = 0;
	size_t *nodes = arena_array(&scratch, count, sizeof(*nodes)), *next;

	if (!capacity_check->left)
		begin_taking(capacity_check);
	next = ARENA_COPY(&scratch, capacity_check->next, group_count);
	if (capacity_check->left->partial)
		return false;
	while (taken < count && (nodes[taken] = take(capacity_check, groups[taken])) != SIZE_MAX)
		taken++;
	if (taken == count)
		return true;
	while (taken-- > 0)
		node_capacity_change(&capacity_check->left->at[nodes[taken]],
				     &capacity_check->demands[groups[taken]].request, -1,
				     capacity_check->facts->arena);
	for (size_t g = 0; g < group_count; g++)
		capacity_check->next[g] = next[g];
	return false;
}
