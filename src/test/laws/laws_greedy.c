#include "laws_greedy.h"

#include <stdlib.h>
#include <string.h>

#include "laws_greedy_fill.h"

/* ---- lists of requests ---- */

static int compare_units(const void *left, const void *right)
{
	const struct unit *a = left, *b = right;
	size_t selectors_a = a->request->selector_count ? a->request->selectors[0].count : 0;
	size_t selectors_b = b->request->selector_count ? b->request->selectors[0].count : 0;

	if (a->request->placement_count != b->request->placement_count)
		return a->request->placement_count < b->request->placement_count ? 1 : -1;
	if (selectors_a != selectors_b)
		return selectors_a < selectors_b ? 1 : -1;
	if (a->names != b->names)
		return a->names < b->names ? 1 : -1;
	if (a->sum != b->sum)
		return a->sum < b->sum ? 1 : -1;
	for (size_t i = 0; i < a->request->bundle_count && i < b->request->bundle_count; i++) {
		const struct bundle_entry *x = &a->request->bundle[i], *y = &b->request->bundle[i];
		int order = strcmp(y->name, x->name);

		if (order)
			return order;
		if (x->amount != y->amount)
			return x->amount < y->amount ? 1 : -1;
	}
	return 0;
}

static void add_request(struct greedy *g, struct unit *unit, const struct ray_request *request)
{
	int64_t gpu = 0;
	size_t at;

	for (size_t i = 0; i < request->bundle_count; i++) {
		size_t name = laws_greedy_name_of(g, request->bundle[i].name);

		unit->names += unit->amount[name] < 0;
		unit->amount[name] = (unit->amount[name] < 0 ? 0 : unit->amount[name]) +
				     request->bundle[i].amount;
		unit->sum += request->bundle[i].amount;
		if (name == g->gpu)
			gpu = request->bundle[i].amount;
	}
	if (gpu == 0 || unit->part_count == SLOTS_MAX)
		return;
	for (at = unit->part_count++; at && unit->parts[at - 1] < gpu; at--)
		unit->parts[at] = unit->parts[at - 1];
	unit->parts[at] = gpu;
}

static void start_unit(struct unit *unit, const struct ray_request *request)
{
	*unit = (struct unit){ .request = request };
	for (size_t i = 0; i < NAMES_MAX; i++)
		unit->amount[i] = -1;
	if (request->placement_count && request->placements[0].has_anti_affinity)
		unit->apart = request->placements[0].anti_affinity.key;
}

static void insert_sorted(struct unit *units, size_t count)
{
	struct unit last = units[count];
	size_t at = count;

	for (; at && compare_units(&units[at - 1], &last) > 0; at--)
		units[at] = units[at - 1];
	units[at] = last;
}

/* Units that the result leaves over are optional: the last ones of a request. */
static size_t read_demands(struct greedy *g, const struct schedule_demand *demands, size_t count,
			   const struct schedule_leftover *left, struct unit *units)
{
	size_t used = 0;

	for (size_t n = 0; n < count; n++) {
		size_t i = g->ties & LAWS_GREEDY_LAST_DEMAND ? count - 1 - n : n;

		for (int64_t u = 0; u < demands[i].count; u++) {
			if (used == UNITS_MAX) {
				g->too_large = true;
				return 0;
			}
			start_unit(&units[used], demands[i].request);
			add_request(g, &units[used], demands[i].request);
			units[used].new_only = demands[i].place == SCHEDULE_DEMAND_NEW_ONLY;
			units[used].optional = left && u >= demands[i].count - left[i].count;
			insert_sorted(units, used++);
		}
	}
	return used;
}

/* Fills and launches; with `atomic` all or nothing. Whether everything but optional units was placed. */
static bool pack(struct greedy *g, struct unit *units, size_t count, bool atomic)
{
	struct place *saved = arena_array(&g->arena, g->node_count + 1, sizeof(*saved));
	struct greedy before = *g;
	bool left = false, lacks = false, required = false;

	memcpy(saved, g->nodes, g->node_count * sizeof(*saved));
	for (size_t i = 0; i < g->node_count; i++)
		g->nodes[i].on = true;
	while (laws_greedy_fill_one(g, units, count))
		;
	while (laws_greedy_launch_one(g, units, count))
		while (laws_greedy_fill_one(g, units, count))
			;
	for (size_t i = 0; i < count; i++) {
		left = left || !units[i].placed;
		lacks = lacks || (!units[i].placed && !units[i].optional);
		required = required || !units[i].optional;
	}
	if (!left || !atomic)
		return !lacks;
	memcpy(g->nodes, saved, before.node_count * sizeof(*saved));
	before.arena = g->arena;
	before.too_large = g->too_large;
	*g = before;
	return !required;
}

/* ---- phases ---- */

static const struct label *affinity_of(const struct ray_request *request)
{
	return request->placement_count && request->placements[0].has_affinity ?
		       &request->placements[0].affinity :
		       NULL;
}

static bool same_selectors(const struct ray_request *a, const struct ray_request *b)
{
	if (a->selector_count != b->selector_count)
		return false;
	for (size_t i = 0; i < a->selector_count; i++) {
		const struct label_selector *x = &a->selectors[i], *y = &b->selectors[i];

		if (x->count != y->count)
			return false;
		for (size_t c = 0; c < x->count; c++) {
			const struct label_constraint *p = &x->constraints[c];
			const struct label_constraint *q = &y->constraints[c];

			if (strcmp(p->key, q->key) != 0 || p->operation != q->operation ||
			    p->values.count != q->values.count)
				return false;
			for (size_t v = 0; v < p->values.count; v++)
				if (strcmp(p->values.at[v], q->values.at[v]) != 0)
					return false;
		}
	}
	return true;
}

/* Bundles of one affinity, with the same selectors, are placed together. */
static size_t read_gang(struct greedy *g, const struct ray_request *requests, size_t count,
			bool new_only, struct unit *units)
{
	size_t used = 0;

	for (size_t i = 0; i < count && used < UNITS_MAX; i++) {
		const struct label *affinity = affinity_of(&requests[i]);
		size_t at = 0;

		while (affinity && at < used &&
		       !(affinity_of(units[at].request) &&
			 strcmp(affinity_of(units[at].request)->key, affinity->key) == 0 &&
			 same_selectors(units[at].request, &requests[i])))
			at++;
		if (!affinity || at == used) {
			at = used++;
			start_unit(&units[at], &requests[i]);
			units[at].new_only = new_only;
		}
		add_request(g, &units[at], &requests[i]);
	}
	qsort(units, used, sizeof(*units), compare_units);
	return used;
}

static bool pack_gang(struct greedy *g, size_t index, struct unit *units)
{
	const struct ray_gang *gang = &g->problem->gangs[index];
	bool new_only = g->problem->gangs_new_only && g->problem->gangs_new_only[index];
	size_t choices = gang->selector_count ? gang->selector_count : 1;

	for (size_t choice = 0; choice < choices; choice++) {
		size_t count = read_gang(
			g, gang->selector_count ? gang->selectors[choice].requests : gang->requests,
			gang->selector_count ? gang->selectors[choice].count : gang->request_count,
			new_only, units);

		if (pack(g, units, count, true))
			return true;
	}
	return false;
}

/* Ray's order of gangs: more placement constraints first, then more bundles. */
static bool pack_gangs(struct greedy *g, struct unit *units)
{
	size_t count = g->problem->gang_count;
	size_t *order = arena_array(&g->arena, count + 1, sizeof(*order));
	bool all = true;

	for (size_t i = 0; i < count; i++) {
		const struct ray_gang *gang = &g->problem->gangs[i];
		size_t at = i, constraints = 0;

		for (size_t r = 0; r < gang->request_count; r++)
			constraints += gang->requests[r].placement_count;
		for (; at > 0; at--) {
			const struct ray_gang *other = &g->problem->gangs[order[at - 1]];
			size_t others = 0;

			for (size_t r = 0; r < other->request_count; r++)
				others += other->requests[r].placement_count;
			if (others > constraints ||
			    (others == constraints && other->request_count >= gang->request_count))
				break;
			order[at] = order[at - 1];
		}
		order[at] = i;
	}
	for (size_t i = 0; i < count; i++)
		all = (pack_gang(g, order[i], units) ||
		       (g->served && g->served->gangs[order[i]].count)) &&
		      all;
	return all;
}

/* Refills all nodes with the amounts that they offer to requests (totals) or to demand; launched
 * ones are kept. */
static void set_source(struct greedy *g, bool totals)
{
	for (size_t i = 0; i < g->node_count; i++) {
		struct place *node = &g->nodes[i];

		if (i < g->problem->node_count) {
			const struct schedule_node *given = &g->problem->nodes[i];

			laws_greedy_fill_node(g, node, &given->total,
					      totals ? &given->total : &given->available);
		} else {
			laws_greedy_fill_node(g, node, &g->problem->types[node->type].resources,
					      &g->problem->types[node->type].resources);
		}
		node->mark_count = 0;
	}
}

static void add_nodes(struct greedy *g, const bool *taken)
{
	for (size_t i = 0; i < g->problem->node_count; i++) {
		const struct schedule_node *given = &g->problem->nodes[i];

		g->nodes[g->node_count++] = (struct place){
			.type = given->type,
			.registered = given->registered,
			.disrupted = given->disrupted || (taken && taken[i]),
			.labels = &given->labels,
		};
		if (given->type != SCHEDULE_NO_INDEX)
			g->type_nodes[given->type]++;
	}
}

/* Launches minReplicas. Ray puts these nodes before the others; the position decides ties only. */
static void add_minimum(struct greedy *g)
{
	for (size_t type = 1; type < g->problem->type_count; type++) {
		const struct schedule_type *t = &g->problem->types[type];

		while (!t->launch_held && g->type_nodes[type] < t->min_nodes && !g->too_large) {
			laws_greedy_new_node(g, type);
			g->type_nodes[type]++;
			g->launched++;
		}
	}
}

/* Ray's sequence: the given nodes and those of minReplicas, then the constraints against the total
 * resources of all nodes, and then, against their available resources, the gangs and the demand.
 * Whether everything was placed that is required. */
static bool pack_all(struct greedy *g, const bool *taken)
{
	const struct schedule_problem *problem = g->problem;
	struct unit *units = arena_array(&g->arena, UNITS_MAX, sizeof(*units));
	bool all = true;
	size_t count;

	if (problem->node_count >= NODES_MAX || problem->type_count > 256)
		g->too_large = true;
	g->nodes = arena_array(&g->arena, NODES_MAX, sizeof(*g->nodes));
	g->gpu = laws_greedy_name_of(g, "GPU");
	g->budget = problem->has_gpu_budget ? problem->gpu_budget : INT64_MAX / 2;
	if (!g->too_large) {
		add_nodes(g, taken);
		add_minimum(g);
	}
	for (size_t i = 0; i < problem->constraint_count && !g->too_large; i++) {
		const struct schedule_constraint *constraint = &problem->constraints[i];

		set_source(g, true);
		g->phase = SCHEDULE_PHASE_CONSTRAINT;
		count = read_demands(g, constraint->demands, constraint->count,
				     g->served ? g->served->constraints[i] : NULL, units);
		all = pack(g, units, count, constraint->atomic) && all;
	}
	set_source(g, false);
	g->phase = SCHEDULE_PHASE_GANG;
	if (!g->too_large)
		all = pack_gangs(g, units) && all;
	g->phase = SCHEDULE_PHASE_DEMAND;
	count = g->too_large ? 0 :
			       read_demands(g, problem->demands, problem->demand_count,
					    g->served ? g->served->demands : NULL, units);
	return pack(g, units, count, false) && all && !g->too_large;
}

int64_t laws_greedy_launches(const struct schedule_problem *problem, const bool *taken, int ties)
{
	struct greedy g = { .problem = problem, .arena = ARENA_INIT, .ties = ties };

	pack_all(&g, taken);
	arena_done(&g.arena);
	return g.too_large ? -1 : g.launched;
}

bool laws_greedy_serves(const struct schedule_problem *problem,
			const struct schedule_result *result, int ties)
{
	struct greedy g = {
		.problem = problem, .served = result, .arena = ARENA_INIT, .ties = ties
	};
	bool all = pack_all(&g, NULL);

	arena_done(&g.arena);
	return all;
}
