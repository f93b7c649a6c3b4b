#include "feature/topology/core/topology.h"

#include <stdlib.h>
#include <string.h>

/* `ray start --labels-file`; KubeRay refuses a parameter `labels`. */
#define START_PARAM_LABELS_FILE "labels-file"
/* Values of one label that are tried, those with the most free nodes first. */
#define VALUES_MAX 32
/* Bundles of all choices in one decision; gangs beyond it have fewer choices, at least one. */
#define CHOICE_BUNDLES_MAX 200000

/* One value of the label of a gang. */
struct domain {
	const char *value;
	size_t free;  /* nodes with it on which the first bundle fits now */
	size_t order; /* of equal ones the first */
};

struct domains {
	const char *label;
	VEC(struct domain) list;
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

static void add_value(struct domains *domains, const char *value, struct arena *arena)
{
	for (size_t i = 0; i < domains->list.count; i++)
		if (strcmp(domains->list.at[i].value, value) == 0)
			return;
	VEC_PUSH(arena, &domains->list, ((struct domain){ value, 0, domains->list.count }));
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
static void settle_group(struct offer *offer, size_t g, const char *label)
{
	struct schedule_problem *problem = &offer->problem;
	struct schedule_type *types = ARENA_COPY(offer->arena, problem->types, problem->type_count);
	struct schedule_node *nodes = ARENA_COPY(offer->arena, problem->nodes, problem->node_count);
	const char *value = value_of_workers(problem, g + 1, label);

	if (!value)
		value = arena_printf(offer->arena, "of group %s",
				     offer->facts->groups[g].spec->name);
	types[g + 1].labels = with_label(&types[g + 1].labels, label, value, offer->arena);
	for (size_t i = 0; i < problem->node_count; i++)
		if (nodes[i].type == g + 1 && !nodes[i].registered)
			nodes[i].labels = with_label(&nodes[i].labels, label, value, offer->arena);
	problem->types = types;
	problem->nodes = nodes;
}

static void find_domains(struct offer *offer, const char *label, struct domains *ret)
{
	*ret = (struct domains){ .label = label };
	for (size_t g = 0; g < offer->facts->group_count; g++) {
		const struct worker_group *group = offer->facts->groups[g].spec;

		if (!labels_value(&group->labels, label) &&
		    labels_value(&group->ray_start_params, START_PARAM_LABELS_FILE) &&
		    pins_clique(group))
			settle_group(offer, g, label);
	}
	for (size_t t = 0; t < offer->problem.type_count; t++) {
		const char *value = labels_value(&offer->problem.types[t].labels, label);

		if (value)
			add_value(ret, value, offer->arena);
	}
	for (size_t i = 0; i < offer->problem.node_count; i++) {
		const char *value = labels_value(&offer->problem.nodes[i].labels, label);

		if (value)
			add_value(ret, value, offer->arena);
	}
}

static int compare_domains(const void *left, const void *right)
{
	const struct domain *a = left, *b = right;

	if (a->free != b->free)
		return a->free < b->free ? 1 : -1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static void rank_domains(const struct offer *offer, const struct ray_request *bundle,
			 struct domains *domains)
{
	for (size_t d = 0; d < domains->list.count; d++)
		domains->list.at[d].free = 0;
	for (size_t i = 0; i < offer->problem.node_count; i++) {
		const struct schedule_node *node = &offer->problem.nodes[i];
		const char *value = labels_value(&node->labels, domains->label);

		if (!value || !schedule_fits_empty(bundle, &node->available, &node->labels))
			continue;
		for (size_t d = 0; d < domains->list.count; d++)
			if (strcmp(domains->list.at[d].value, value) == 0)
				domains->list.at[d].free++;
	}
	if (domains->list.count > 0)
		qsort(domains->list.at, domains->list.count, sizeof(*domains->list.at),
		      compare_domains);
}

/* The bundle with further constraints, in each of its selectors. */
static struct ray_request constrained(const struct ray_request *bundle,
				      const struct label_selector *more, struct arena *arena)
{
	size_t count = bundle->selector_count > 0 ? bundle->selector_count : 1;
	struct label_selector *selectors = arena_array(arena, count, sizeof(*selectors));
	struct ray_request made = *bundle;

	for (size_t i = 0; i < count; i++) {
		const struct label_selector *own = bundle->selector_count > 0 ?
							   &bundle->selectors[i] :
							   &(struct label_selector){ NULL, 0 };

		selectors[i] =
			(struct label_selector){ ARENA_JOIN(arena, own->constraints, own->count,
							    more->constraints, more->count),
						 own->count + more->count };
	}
	made.selectors = selectors;
	made.selector_count = count;
	return made;
}

/* The choice with its label at this value; NULL: at none, so that no node serves it. */
static struct bundle_selector choice_at(const struct bundle_selector *choice, const char *value,
					struct arena *arena)
{
	struct ray_request *requests = arena_array(arena, choice->count, sizeof(*requests));
	size_t given = choice->locality.selector.count;
	const struct label_constraint at_value = { .key = choice->locality.label,
						   .operation = LABEL_OPERATOR_IN,
						   .values = { ARENA_COPY(arena, &value, 1),
							       value ? 1 : 0 } };
	struct label_constraint *more =
		ARENA_JOIN(arena, choice->locality.selector.constraints, given, &at_value, 1);

	for (size_t i = 0; i < choice->count; i++)
		requests[i] = constrained(&choice->requests[i],
					  &(struct label_selector){ more, given + 1 }, arena);
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
static void expand(struct offer *offer, struct ray_gang *gang, size_t *left)
{
	VEC(struct bundle_selector) choices = { .at = NULL };

	for (size_t i = 0; i < gang->selector_count; i++) {
		const struct bundle_selector *choice = &gang->selectors[i];
		struct domains domains;

		if (!is_tied(choice)) {
			VEC_PUSH(offer->arena, &choices, *choice);
			continue;
		}
		find_domains(offer, choice->locality.label, &domains);
		rank_domains(offer, &choice->requests[0], &domains);
		for (size_t d = 0; d == 0 || (d < domains.list.count && d < VALUES_MAX); d++) {
			if (d > 0 && *left < choice->count)
				break;
			VEC_PUSH(offer->arena, &choices,
				 choice_at(choice,
					   domains.list.count > 0 ? domains.list.at[d].value : NULL,
					   offer->arena));
			*left -= *left < choice->count ? *left : choice->count;
		}
	}
	gang->selectors = choices.at;
	gang->selector_count = choices.count;
}

static void offer_domains(struct offer *offer)
{
	struct schedule_problem *problem = &offer->problem;
	struct ray_gang *gangs = NULL;
	size_t left = CHOICE_BUNDLES_MAX;

	for (size_t i = 0; i < problem->gang_count; i++) {
		if (!gang_is_tied(&problem->gangs[i]))
			continue;
		if (!gangs) {
			gangs = ARENA_COPY(offer->arena, problem->gangs, problem->gang_count);
			problem->gangs = gangs;
		}
		expand(offer, &gangs[i], &left);
	}
}

const struct decision_feature topology_decisions = { .offer = offer_domains };
