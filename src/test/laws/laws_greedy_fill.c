#include "laws_greedy_fill.h"

#include <stdlib.h>
#include <string.h>

/* ---- names and amounts ---- */

size_t laws_greedy_name_of(struct greedy *g, const char *name)
{
	size_t i = 0;

	while (i < g->name_count && strcmp(g->names[i], name) != 0)
		i++;
	if (i == NAMES_MAX) {
		g->too_large = true;
		return 0;
	}
	if (i == g->name_count)
		g->names[g->name_count++] = name;
	return i;
}

static void read_amounts(struct greedy *g, const struct resources *from, int64_t *amounts)
{
	for (size_t i = 0; i < NAMES_MAX; i++)
		amounts[i] = -1;
	for (size_t i = 0; i < from->count; i++)
		amounts[laws_greedy_name_of(g, from->at[i].name)] = from->at[i].amount;
}

static bool is_accelerator(const struct greedy *g, size_t name)
{
	for (size_t i = 0; i < g->problem->accelerators->count; i++)
		if (strcmp(g->problem->accelerators->at[i], g->names[name]) == 0)
			return true;
	return false;
}

/* ---- nodes ---- */

void laws_greedy_fill_node(struct greedy *g, struct place *node, const struct resources *total,
			   const struct resources *available)
{
	read_amounts(g, total, node->total);
	read_amounts(g, available, node->left);
	node->asks_accelerator = false;
	node->rank = 0;
	node->slot_count = 0;
	memset(node->asked, 0, sizeof(node->asked));
	node->by_gpu = node->total[g->gpu] > 0 && node->total[g->gpu] == node->left[g->gpu];
	if (node->by_gpu && node->total[g->gpu] == node->left[g->gpu])
		while (node->slot_count < SLOTS_MAX &&
		       (int64_t)node->slot_count < node->total[g->gpu] / RESOURCE_UNIT)
			node->slots[node->slot_count++] = RESOURCE_UNIT;
}

struct place *laws_greedy_new_node(struct greedy *g, size_t type)
{
	struct place *node;

	if (g->node_count == NODES_MAX) {
		g->too_large = true;
		return &g->nodes[0];
	}
	node = &g->nodes[g->node_count++];
	*node = (struct place){ .type = type, .on = true };
	node->labels = &g->problem->types[type].labels;
	laws_greedy_fill_node(g, node, &g->problem->types[type].resources,
			      &g->problem->types[type].resources);
	return node;
}

/* ---- does a unit fit? ---- */

static bool selector_holds(const struct label_selector *selector, const struct labels *labels)
{
	for (size_t i = 0; i < selector->count; i++) {
		const struct label_constraint *constraint = &selector->constraints[i];
		const char *value = labels_value(labels, constraint->key);
		bool in = false;

		for (size_t v = 0; value && v < constraint->values.count; v++)
			in = in || strcmp(constraint->values.at[v], value) == 0;
		if (constraint->operation != LABEL_OPERATOR_IN &&
		    constraint->operation != LABEL_OPERATOR_NOT_IN)
			return false;
		if (in != (constraint->operation == LABEL_OPERATOR_IN))
			return false;
	}
	return true;
}

/* The number of selectors less the place of the first that holds; 0 when none does. */
static int rank_of(const struct ray_request *request, const struct labels *labels)
{
	for (size_t i = 0; i < request->selector_count; i++)
		if (selector_holds(&request->selectors[i], labels))
			return (int)(request->selector_count - i);
	return 0;
}

static bool is_apart(const struct place *node, const char *label)
{
	for (size_t i = 0; i < node->mark_count; i++)
		if (strcmp(node->marks[i], label) == 0)
			return false;
	return !label || !labels_value(node->labels, label);
}

static int compare_slots(const void *a, const void *b)
{
	int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;

	return (first > second) - (first < second);
}

/* Whole GPUs from those that are whole, a part from the fullest GPU that has it. */
static bool take_parts(struct place *node, const struct unit *unit)
{
	for (size_t p = 0; p < unit->part_count; p++) {
		int64_t whole = unit->parts[p] / RESOURCE_UNIT,
			part = unit->parts[p] % RESOURCE_UNIT;
		size_t i = 0;

		qsort(node->slots, node->slot_count, sizeof(*node->slots), compare_slots);
		for (; whole > 0; whole--) {
			if (!node->slot_count || node->slots[node->slot_count - 1] != RESOURCE_UNIT)
				return false;
			node->slot_count--;
		}
		if (!part)
			continue;
		while (i < node->slot_count && node->slots[i] < part)
			i++;
		if (i == node->slot_count)
			return false;
		node->slots[i] -= part;
	}
	return true;
}

/* Places the unit on the node if everything allows it: a node that is not registered for units that
 * need a new one, label selectors, anti-affinity, the sum of each resource, and the layout of GPU
 * parts. All checks run on a copy, so that a refused unit leaves the node unchanged. */
static bool place(const struct greedy *g, struct place *node, const struct unit *unit)
{
	struct place after = *node;
	int rank = rank_of(unit->request, node->labels);

	if ((unit->new_only && node->registered) || (unit->request->selector_count && !rank) ||
	    (unit->apart && !is_apart(node, unit->apart)))
		return false;
	for (size_t i = 0; i < g->name_count; i++) {
		if (unit->amount[i] <= 0)
			continue;
		if (after.left[i] < unit->amount[i])
			return false;
		after.left[i] -= unit->amount[i];
		after.asked[i] = true;
	}
	for (size_t i = 0; i < g->name_count; i++)
		after.asks_accelerator = after.asks_accelerator ||
					 (unit->amount[i] >= 0 && is_accelerator(g, i));
	if (node->by_gpu && !take_parts(&after, unit))
		return false;
	if (unit->apart && after.mark_count < MARKS_MAX)
		after.marks[after.mark_count++] = unit->apart;
	if (!after.rank)
		after.rank = rank;
	*node = after;
	return true;
}

/* ---- the best node ---- */

struct score {
	double at[8];
};

/* Ray's utilization score of a filled node, compared from the first member on: label preference, no
 * waste of an accelerator, number of requested resources, the least and then the mean of total *
 * used^3 over all resources, and the history of the type's launches. */
static struct score score_of(const struct greedy *g, const struct place *node)
{
	const struct schedule_type *type =
		node->type == SCHEDULE_NO_INDEX ? NULL : &g->problem->types[node->type];
	double sum = 0, least = 0;
	int count = 0, names = 0;
	bool accelerator = false;

	for (size_t i = 0; i < g->name_count; i++) {
		double total = (double)node->total[i] / RESOURCE_UNIT, used, term;

		names += node->asked[i] && node->total[i] >= 0;
		accelerator = accelerator || (node->total[i] > 0 && is_accelerator(g, i));
		if (node->total[i] <= 0 || node->left[i] < 0)
			continue;
		used = (double)(node->total[i] - node->left[i]) / (double)node->total[i];
		term = total * used * used * used;
		least = count == 0 || term < least ? term : least;
		sum += term;
		count++;
	}
	accelerator = accelerator || (type && type->accelerator);
	return (struct score){ {
		node->rank,
		!g->problem->conserve_accelerators || !accelerator || node->asks_accelerator,
		names,
		least,
		count ? sum / count : 0,
		type ? type->recoverable_availability : 1,
		type ? (double)type->priority : 0,
		type ? type->failure_recency : 1,
	} };
}

static bool is_better(const struct score *a, const struct score *b)
{
	for (int i = 0; i < 8; i++)
		if (a->at[i] != b->at[i])
			return a->at[i] > b->at[i];
	return false;
}

/* Fills a copy of the node with the units that fit; false when none does. */
static bool try_node(const struct greedy *g, struct place *node, const struct unit *units,
		     size_t count)
{
	bool any = false;

	for (size_t i = 0; i < count; i++)
		if (!units[i].placed && place(g, node, &units[i]))
			any = true;
	return any;
}

static void fill_best(const struct greedy *g, struct place *node, struct unit *units, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!units[i].placed && place(g, node, &units[i]))
			units[i].placed = true;
	node->on = false;
}

bool laws_greedy_fill_one(struct greedy *g, struct unit *units, size_t count)
{
	struct place *best = NULL, *copy = arena_alloc(&g->arena, sizeof(*copy));
	struct score score = { { 0 } };

	for (size_t i = 0; i < g->node_count; i++) {
		struct score now;

		*copy = g->nodes[i];
		if (!copy->on || copy->disrupted || !try_node(g, copy, units, count))
			continue;
		now = score_of(g, copy);
		if (best && !is_better(&now, &score) &&
		    !(g->ties & LAWS_GREEDY_LAST_NODE && !is_better(&score, &now)))
			continue;
		best = &g->nodes[i];
		score = now;
	}
	if (best)
		fill_best(g, best, units, count);
	return best != NULL;
}

static bool may_launch(const struct greedy *g, size_t type)
{
	const struct schedule_type *t = &g->problem->types[type];

	if (t->gangs_held && (g->phase == SCHEDULE_PHASE_GANG ||
			      (g->phase == SCHEDULE_PHASE_DEMAND && t->hosts > 1)))
		return false;
	return type > 0 && !t->launch_held && g->type_nodes[type] + t->hosts <= t->max_nodes &&
	       t->gpu_amount * t->hosts <= g->budget &&
	       (!g->problem->has_max_nodes ||
		(int64_t)g->node_count + t->hosts <= g->problem->max_nodes);
}

/* Each type that may be launched is filled as an empty node and scored; that node is dropped again,
 * and the best type is launched with all hosts of a replica. The units are placed on its first
 * host. */
bool laws_greedy_launch_one(struct greedy *g, struct unit *units, size_t count)
{
	size_t before = g->node_count, best = SCHEDULE_NO_INDEX;
	struct score score = { { 0 } };

	for (size_t type = 1; type < g->problem->type_count; type++) {
		struct place *node;
		struct score now;

		if (!may_launch(g, type))
			continue;
		node = laws_greedy_new_node(g, type);
		if (try_node(g, node, units, count)) {
			now = score_of(g, node);
			if (best == SCHEDULE_NO_INDEX || is_better(&now, &score)) {
				best = type;
				score = now;
			}
		}
		g->node_count = before;
	}
	if (best == SCHEDULE_NO_INDEX || g->too_large)
		return false;
	fill_best(g, laws_greedy_new_node(g, best), units, count);
	for (int64_t i = 1; i < g->problem->types[best].hosts; i++)
		laws_greedy_new_node(g, best);
	g->type_nodes[best] += g->problem->types[best].hosts;
	g->launched += g->problem->types[best].hosts;
	g->budget -= g->problem->types[best].hosts * g->problem->types[best].gpu_amount;
	return true;
}
