/* Placement groups with a topology_strategy (ray 2.60, util/placement_group.py): all bundles on nodes
 * with one value of a label, for example one NVLink domain by "ray.io/gpu-domain". Ray's GCS sends the
 * label as locality_requirement and places by it; Ray's autoscaler ignores it, launches anywhere, and the
 * group may wait for ever. Here such a gang has one choice for each value that nodes or groups have.
 *
 * The value of a group is the one in its labels. A group without it, whose Pods read their labels from a
 * file and are pinned to one clique of NVLink by nodeSelector or required affinity, has the value of its
 * workers, or an unknown one of its own before the first. Other workers count once Ray has reported their
 * value. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "core/decide/demand.h"
#include "core/decide/feature.h"
#include "core/schedule/schedule.h"

/* `ray start --labels-file`; KubeRay refuses a parameter `labels`. */
#define START_PARAM_LABELS_FILE "labels-file"
/* Values of one label that are tried for a gang. */
#define VALUES_MAX 32
/* Bundles of all choices in one decision; gangs beyond it have fewer choices, at least one. */
#define CHOICE_BUNDLES_MAX 200000

/* One value of a label. */
struct domain {
	const char *value;
	size_t free;  /* nodes with it on which the first bundle fits now */
	size_t order; /* of equal ones the first */
	const struct label_selector *selector;
	/* Units of the first bundle: on nodes with it now; those and new nodes; promised to gangs. At least as
	 * many as really fit. */
	int64_t present, room, promised;
};

/* The values for gangs with this first bundle. Up to VALUES_MAX all are tried, those with the most free nodes
 * first. Of more, each gang tries VALUES_MAX in the order of `present`, from the first on that has room for
 * it beside the gangs before it: gangs of 4 bundles on 1,000 hosts with 8 units each begin at hosts
 * 0, 0, 1, 1, 2, ... */
struct ranking {
	const struct ray_request *bundle;
	struct domain *list;
	size_t first; /* values before it are full */
};

/* A label of gangs, with its values; made once for all gangs. */
struct domains {
	const char *label;
	VEC(struct domain) list;   /* in the order in which they are found */
	size_t *of_node, *of_type; /* its value; NO_VALUE: none */
	VEC(struct ranking) ranks; /* for each first bundle that differs */
};

struct gang_choices {
	VEC(struct bundle_selector) list;
};

#define NO_VALUE SIZE_MAX
#define RANKINGS_MAX 64 /* that are kept */

/* Types but the head's, and nodes, by index. */
struct holders {
	VEC(size_t) types, nodes;
};

struct labels_seen {
	struct offer *offer;
	VEC(struct domains) at;
	struct holders all;
	struct map holders;          /* by resource name: those that have it */
	int64_t *node_counts;        /* by type; NULL: these three are not read yet */
	struct schedule_type *types; /* copies, which may be changed; NULL: not yet */
	struct schedule_node *nodes;
};

/* Each way to satisfy the required affinity pins the clique. */
static bool pins_clique(const struct worker_group *group)
{
	const struct pod_spec *spec = &group->template.spec;

	if (labels_value(&spec->node_selector, LABEL_CLIQUE))
		return true;
	if (spec->required_node_term_count != 1)
		return false;
	ARRAY_EACH(const struct node_expression, expression,
		   spec->required_node_terms[0].expressions, spec->required_node_terms[0].count) {
		if (strcmp(expression->key, LABEL_CLIQUE) == 0 &&
		    strcmp(expression->operation, "In") == 0 && expression->values.count == 1)
			return true;
	}
	return false;
}

/* Selects the value; NULL: none, so that no node serves it. */
static struct label_selector *select_value(const char *label, const char *value,
					   struct arena *arena)
{
	struct label_constraint *constraint = ARENA_NEW(arena, struct label_constraint);
	struct label_selector *selector = ARENA_NEW(arena, struct label_selector);

	*constraint = (struct label_constraint){ .key = label,
						 .operation = LABEL_OPERATOR_IN,
						 .values = { ARENA_COPY(arena, &value, 1),
							     value ? 1 : 0 } };
	*selector = (struct label_selector){ constraint, 1 };
	return selector;
}

/* The index of the value, which is added if it is new. */
static size_t add_value(struct domains *domains, struct map *indexes, const char *value,
			struct arena *arena)
{
	const size_t *known = map_get(indexes, value);

	if (known)
		return *known;
	map_set(indexes, value, ARENA_PUT(arena, (size_t){ domains->list.count }));
	VEC_PUSH(arena, &domains->list,
		 ((struct domain){ .value = value,
				   .order = domains->list.count,
				   .selector = select_value(domains->label, value, arena) }));
	return domains->list.count - 1;
}

/* Of the registered workers of the type, if all have the same one; else NULL. */
static const char *value_of_workers(const struct schedule_problem *problem, size_t type,
				    const char *label)
{
	const char *value = NULL;

	for (size_t i = 0; i < problem->node_count; i++) {
		const char *own = labels_value(&problem->nodes[i].labels, label);

		if (problem->nodes[i].type != type || !problem->nodes[i].registered)
			continue;
		if (!own || (value && strcmp(value, own) != 0))
			return NULL;
		value = own;
	}
	return value;
}

static struct labels with_label(const struct labels *labels, const char *label, const char *value,
				struct arena *arena)
{
	struct label own = { label, value };

	return labels_merge(arena, labels, &(struct labels){ &own, 1 });
}

/* The label of new and starting workers of a group whose value is in a file: the one that they will have. */
static void settle_group(struct labels_seen *seen, size_t g, const char *label)
{
	struct offer *offer = seen->offer;
	struct schedule_problem *problem = &offer->problem;
	const char *value = value_of_workers(problem, g + 1, label);

	if (!seen->types) {
		problem->types = seen->types =
			ARENA_COPY(offer->arena, problem->types, problem->type_count);
		problem->nodes = seen->nodes =
			ARENA_COPY(offer->arena, problem->nodes, problem->node_count);
	}
	if (!value)
		value = arena_printf(offer->arena, "of group %s",
				     offer->facts->groups[g].spec->name);
	seen->types[g + 1].labels =
		with_label(&seen->types[g + 1].labels, label, value, offer->arena);
	for (size_t i = 0; i < problem->node_count; i++)
		if (seen->nodes[i].type == g + 1 && !seen->nodes[i].registered)
			seen->nodes[i].labels =
				with_label(&seen->nodes[i].labels, label, value, offer->arena);
}

static void find_domains(struct labels_seen *seen, struct domains *domains)
{
	struct offer *offer = seen->offer;
	struct map indexes = MAP_IN(offer->arena);

	for (size_t g = 0; g < offer->facts->group_count; g++) {
		const struct worker_group *group = offer->facts->groups[g].spec;

		if (!labels_value(&group->labels, domains->label) &&
		    labels_value(&group->ray_start_params, START_PARAM_LABELS_FILE) &&
		    pins_clique(group))
			settle_group(seen, g, domains->label);
	}
	domains->of_type =
		arena_array(offer->arena, offer->problem.type_count, sizeof(*domains->of_type));
	for (size_t t = 0; t < offer->problem.type_count; t++) {
		const char *value = labels_value(&offer->problem.types[t].labels, domains->label);

		domains->of_type[t] = value ? add_value(domains, &indexes, value, offer->arena) :
					      NO_VALUE;
	}
	domains->of_node =
		arena_array(offer->arena, offer->problem.node_count, sizeof(*domains->of_node));
	for (size_t i = 0; i < offer->problem.node_count; i++) {
		const char *value = labels_value(&offer->problem.nodes[i].labels, domains->label);

		domains->of_node[i] = value ? add_value(domains, &indexes, value, offer->arena) :
					      NO_VALUE;
	}
}

static struct domains *domains_of(struct labels_seen *seen, const char *label)
{
	struct domains *domains = VEC_FIND(&seen->at, label, label);

	if (domains)
		return domains;
	domains = VEC_ADD(seen->offer->arena, &seen->at);
	domains->label = label;
	find_domains(seen, domains);
	return domains;
}

static int compare_domains(const void *left, const void *right)
{
	const struct domain *a = left, *b = right;

	if (a->free != b->free)
		return a->free < b->free ? 1 : -1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* By the units that are there, then by all that could be. */
static int compare_rooms(const void *left, const void *right)
{
	const struct domain *a = left, *b = right;

	if (a->present != b->present)
		return a->present < b->present ? 1 : -1;
	if (a->room != b->room)
		return a->room < b->room ? 1 : -1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* Units of the bundle that fit by its amounts, at most a node's worth of RESOURCE_UNIT; 0: none by labels. */
static int64_t units_of(const struct ray_request *bundle, const struct resources *resources,
			const struct labels *labels)
{
	int64_t units = RESOURCE_UNIT;

	if (!schedule_fits_empty(bundle, resources, labels))
		return 0;
	ARRAY_EACH(const struct bundle_entry, entry, bundle->bundle, bundle->bundle_count) {
		int64_t amount = resources_amount(resources, entry->name, 0);

		if (entry->amount > 0 && amount / entry->amount < units)
			units = amount / entry->amount;
	}
	return units;
}

static void note_holder(struct labels_seen *seen, const struct resources *resources, bool is_type,
			size_t index)
{
	struct arena *arena = seen->offer->arena;

	for (size_t i = 0; i <= resources->count; i++) {
		struct holders *holders = &seen->all;

		if (i < resources->count) {
			holders = map_get(&seen->holders, resources->at[i].name);
			if (!holders) {
				holders = ARENA_NEW(arena, struct holders);
				map_set(&seen->holders, resources->at[i].name, holders);
			}
		}
		if (is_type)
			VEC_PUSH(arena, &holders->types, index);
		else
			VEC_PUSH(arena, &holders->nodes, index);
	}
}

static void read_holders(struct labels_seen *seen)
{
	const struct schedule_problem *problem = &seen->offer->problem;

	seen->holders = MAP_IN(seen->offer->arena);
	seen->node_counts = arena_array(seen->offer->arena, problem->type_count + 1,
					sizeof(*seen->node_counts));
	for (size_t t = 1; t < problem->type_count; t++)
		note_holder(seen, &problem->types[t].resources, true, t);
	for (size_t i = 0; i < problem->node_count; i++) {
		note_holder(seen, &problem->nodes[i].available, false, i);
		if (problem->nodes[i].type < problem->type_count)
			seen->node_counts[problem->nodes[i].type]++;
	}
}

/* Those that may take a unit: which have the name of the bundle that the fewest have. */
static const struct holders *holders_of(struct labels_seen *seen, const struct ray_request *bundle)
{
	static const struct holders none;
	const struct holders *fewest = &seen->all;

	ARRAY_EACH(const struct bundle_entry, entry, bundle->bundle, bundle->bundle_count) {
		const struct holders *own = map_get(&seen->holders, entry->name);

		if (entry->amount <= 0)
			continue;
		if (!own)
			return &none;
		if (own->types.count + own->nodes.count < fewest->types.count + fewest->nodes.count)
			fewest = own;
	}
	return fewest;
}

/* Counts what fits at each value of the list. */
static void count_rooms(struct labels_seen *seen, const struct ray_request *bundle,
			const struct domains *domains, struct domain *list)
{
	const struct schedule_problem *problem = &seen->offer->problem;
	const struct holders *holders;

	if (!seen->node_counts)
		read_holders(seen);
	holders = holders_of(seen, bundle);
	VEC_EACH(const size_t, t, &holders->types) {
		const struct schedule_type *type = &problem->types[*t];
		int64_t most = type->max_nodes < INT32_MAX ? type->max_nodes : INT32_MAX;

		if (domains->of_type[*t] == NO_VALUE || type->launch_held)
			continue;
		list[domains->of_type[*t]].room +=
			units_of(bundle, &type->resources, &type->labels) *
			(most - seen->node_counts[*t]);
	}
	VEC_EACH(const size_t, i, &holders->nodes) {
		const struct schedule_node *node = &problem->nodes[*i];
		int64_t units;

		if (domains->of_node[*i] == NO_VALUE)
			continue;
		units = units_of(bundle, &node->available, &node->labels);
		list[domains->of_node[*i]].free += units > 0;
		list[domains->of_node[*i]].present += units;
		list[domains->of_node[*i]].room += units;
	}
}

static struct ranking *rank_domains(struct labels_seen *seen, const struct ray_request *bundle,
				    struct domains *domains)
{
	struct arena *arena = seen->offer->arena;
	struct ranking *ranking;
	struct domain *list;

	VEC_EACH(struct ranking, known, &domains->ranks)
		if (demand_compare_requests(known->bundle, bundle) == 0)
			return known;
	list = ARENA_COPY(arena, domains->list.at, domains->list.count);
	count_rooms(seen, bundle, domains, list);
	if (domains->list.count > 0)
		qsort(list, domains->list.count, sizeof(*list),
		      domains->list.count > VALUES_MAX ? compare_rooms : compare_domains);
	if (domains->ranks.count < RANKINGS_MAX)
		ranking = VEC_ADD(arena, &domains->ranks);
	else
		ranking = ARENA_NEW(arena, struct ranking);
	*ranking = (struct ranking){ bundle, list, 0 };
	return ranking;
}

/* The first value that the gang tries, at which its room is promised to it. */
static size_t first_value(struct ranking *ranking, size_t value_count,
			  const struct bundle_selector *choice)
{
	int64_t need = 1;

	if (value_count <= VALUES_MAX)
		return 0;
	while (need < (int64_t)choice->count &&
	       demand_compare_requests(&choice->requests[need], ranking->bundle) == 0)
		need++;
	while (ranking->first < value_count &&
	       ranking->list[ranking->first].room - ranking->list[ranking->first].promised < need)
		ranking->first++;
	if (ranking->first == value_count)
		return value_count - VALUES_MAX;
	ranking->list[ranking->first].promised += need;
	return ranking->first < value_count - VALUES_MAX ? ranking->first :
							   value_count - VALUES_MAX;
}

/* The selectors of a bundle, each with further constraints. */
static const struct label_selector *constrained(const struct ray_request *bundle,
						const struct label_selector *more,
						struct arena *arena)
{
	struct label_selector *selectors =
		arena_array(arena, bundle->selector_count, sizeof(*selectors));

	for (size_t i = 0; i < bundle->selector_count; i++) {
		const struct label_selector *own = &bundle->selectors[i];

		selectors[i] =
			(struct label_selector){ ARENA_JOIN(arena, own->constraints, own->count,
							    more->constraints, more->count),
						 own->count + more->count };
	}
	return selectors;
}

/* The choice with its label at a value. Bundles without selectors share that one. */
static struct bundle_selector choice_at(const struct bundle_selector *choice,
					const struct label_selector *at_value, struct arena *arena)
{
	struct ray_request *requests = ARENA_COPY(arena, choice->requests, choice->count);
	const struct label_selector *given = &choice->locality.selector, *more = at_value;

	if (given->count)
		more = ARENA_COPY(arena,
				  (&(struct label_selector){
					  ARENA_JOIN(arena, given->constraints, given->count,
						     at_value->constraints, at_value->count),
					  given->count + at_value->count }),
				  1);
	for (size_t i = 0; i < choice->count; i++) {
		bool has_own = requests[i].selector_count > 0;

		requests[i].selectors = has_own ? constrained(&requests[i], more, arena) : more;
		requests[i].selector_count += !has_own;
	}
	return (struct bundle_selector){ .requests = requests,
					 .count = choice->count,
					 .locality = choice->locality };
}

static bool is_tied(const struct bundle_selector *choice)
{
	return locality_is_given(&choice->locality) &&
	       choice->locality.strategy == PLACEMENT_STRICT_PACK && choice->count > 0;
}

static bool gang_is_tied(const struct ray_gang *gang)
{
	for (size_t i = 0; i < gang->selector_count; i++)
		if (is_tied(&gang->selectors[i]))
			return true;
	return false;
}

/* Adds the choices at the values that are tried. *left: bundles that may still be made. */
static void add_choices(struct labels_seen *seen, const struct bundle_selector *choice,
			struct gang_choices *choices, size_t *left)
{
	struct arena *arena = seen->offer->arena;
	struct domains *domains = domains_of(seen, choice->locality.label);
	size_t count = domains->list.count, first, tried = 0;
	struct ranking *ranking = rank_domains(seen, &choice->requests[0], domains);
	struct bundle_selector *last = NULL;

	if (count == 0) {
		VEC_PUSH(arena, &choices->list,
			 choice_at(choice, select_value(domains->label, NULL, arena), arena));
		return;
	}
	first = first_value(ranking, count, choice);
	for (size_t d = first; d < count && tried < VALUES_MAX; d++) {
		if (last && *left < choice->count)
			break;
		last = VEC_ADD(arena, &choices->list);
		*last = choice_at(choice, ranking->list[d].selector, arena);
		*left -= *left < choice->count ? *left : choice->count;
		tried++;
	}
	if (last)
		last->untried = count - tried;
}

static void expand(struct labels_seen *seen, struct ray_gang *gang, size_t *left)
{
	struct gang_choices choices = { .list = { .at = NULL } };

	for (size_t i = 0; i < gang->selector_count; i++) {
		if (is_tied(&gang->selectors[i]))
			add_choices(seen, &gang->selectors[i], &choices, left);
		else
			VEC_PUSH(seen->offer->arena, &choices.list, gang->selectors[i]);
	}
	gang->selectors = choices.list.at;
	gang->selector_count = choices.list.count;
}

static void offer_domains(struct offer *offer)
{
	struct schedule_problem *problem = &offer->problem;
	struct labels_seen seen = { .offer = offer };
	struct ray_gang *gangs = NULL;
	size_t left = CHOICE_BUNDLES_MAX;

	for (size_t i = 0; i < problem->gang_count; i++) {
		if (!gang_is_tied(&problem->gangs[i]))
			continue;
		if (!gangs) {
			gangs = ARENA_COPY(offer->arena, problem->gangs, problem->gang_count);
			problem->gangs = gangs;
		}
		expand(&seen, &gangs[i], &left);
	}
}

const struct decision_feature topology_decisions = { .offer = offer_domains };
