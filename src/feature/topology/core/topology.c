#include "feature/topology/core/topology.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "core/decide/demand.h"

/* `ray start --labels-file`; KubeRay refuses a parameter `labels`. */
#define START_PARAM_LABELS_FILE "labels-file"
/* Values of one label that are tried, those with the most free nodes first. */
#define VALUES_MAX 32
/* Bundles of all choices in one decision; gangs beyond it have fewer choices, at least one. */
#define CHOICE_BUNDLES_MAX 200000

/* One value of a label. */
struct domain {
	const char *value;
	size_t free;  /* nodes with it on which the first bundle fits now */
	size_t order; /* of equal ones the first */
	const struct label_selector *selector;
};

/* The values by free nodes, those with the most first. */
struct ranking {
	const struct ray_request *bundle;
	const struct domain *list;
};

/* A label of gangs, with its values; made once for all gangs. */
struct domains {
	const char *label;
	VEC(struct domain) list;   /* in the order in which they are found */
	size_t *of_node;           /* its value; NO_VALUE: none */
	VEC(struct ranking) ranks; /* for each first bundle that differs */
};

#define NO_VALUE SIZE_MAX
#define RANKINGS_MAX 64 /* that are kept */

struct labels_seen {
	struct offer *offer;
	VEC(struct domains) at;
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
		 ((struct domain){ value, 0, domains->list.count,
				   select_value(domains->label, value, arena) }));
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
	for (size_t t = 0; t < offer->problem.type_count; t++) {
		const char *value = labels_value(&offer->problem.types[t].labels, domains->label);

		if (value)
			add_value(domains, &indexes, value, offer->arena);
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

static const struct domain *rank_domains(const struct offer *offer,
					 const struct ray_request *bundle, struct domains *domains)
{
	struct domain *list;

	VEC_EACH(const struct ranking, known, &domains->ranks)
		if (demand_compare_requests(known->bundle, bundle) == 0)
			return known->list;
	list = ARENA_COPY(offer->arena, domains->list.at, domains->list.count);
	for (size_t i = 0; i < offer->problem.node_count; i++) {
		const struct schedule_node *node = &offer->problem.nodes[i];

		if (domains->of_node[i] != NO_VALUE &&
		    schedule_fits_empty(bundle, &node->available, &node->labels))
			list[domains->of_node[i]].free++;
	}
	if (domains->list.count > 0)
		qsort(list, domains->list.count, sizeof(*list), compare_domains);
	if (domains->ranks.count < RANKINGS_MAX)
		VEC_PUSH(offer->arena, &domains->ranks, ((struct ranking){ bundle, list }));
	return list;
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

/* *left: bundles that may still be made. */
static void expand(struct labels_seen *seen, struct ray_gang *gang, size_t *left)
{
	struct arena *arena = seen->offer->arena;
	VEC(struct bundle_selector) choices = { .at = NULL };

	for (size_t i = 0; i < gang->selector_count; i++) {
		const struct bundle_selector *choice = &gang->selectors[i];
		struct domains *domains;
		const struct domain *ranked;

		if (!is_tied(choice)) {
			VEC_PUSH(arena, &choices, *choice);
			continue;
		}
		domains = domains_of(seen, choice->locality.label);
		ranked = rank_domains(seen->offer, &choice->requests[0], domains);
		for (size_t d = 0; d == 0 || (d < domains->list.count && d < VALUES_MAX); d++) {
			if (d > 0 && *left < choice->count)
				break;
			VEC_PUSH(arena, &choices,
				 choice_at(choice,
					   domains->list.count > 0 ?
						   ranked[d].selector :
						   select_value(domains->label, NULL, arena),
					   arena));
			*left -= *left < choice->count ? *left : choice->count;
		}
	}
	gang->selectors = choices.at;
	gang->selector_count = choices.count;
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
