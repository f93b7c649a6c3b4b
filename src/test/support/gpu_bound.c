/* The cheapest launches are proposed, and excluded when they cannot serve the demand, until a
 * proposal stays. Two things exclude one:
 *
 * - A search for a place for every item (place()), up to STEPS_MAX steps. It also shows that a
 *   proposal is possible.
 * - A cut: a weight for every shape of items, such that the weight of all items is above the most
 *   that the bins can hold. The most that one bin holds is a knapsack, so a cut excludes all
 *   launches with too little, not only the proposal. Every weight gives a valid cut; good ones are
 *   found by multiplying the weight of a shape while the best fillings hold too few of it (the dual
 *   of the linear program over fillings of Gilmore and Gomory, by multiplicative weights).
 *
 * CPUs are counted in units, GPUs in quarters. */
#include "test/support/gpu_bound.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "test/support/knapsack.h"
#include "test/support/schedule_random.h"

#define ITEMS_MAX 512
#define BINS_MAX 512
#define SHAPES_MAX 16
#define KINDS_MAX 64
#define CUTS_MAX 400
#define STEPS_MAX 20000
#define ROUNDS_MAX 120

struct amounts {
	int64_t cpu, gpu;
};

struct item {
	struct amounts need;
	const struct ray_request *request; /* its selectors */
	unsigned int apart;                /* bit of its STRICT_SPREAD gang; 0: none */
};

struct bin {
	struct amounts left;
	size_t type;
	const struct labels *labels;
	unsigned int apart; /* gangs of which it has a bundle */
};

/* Equal items. */
struct shape {
	const struct item *item;
	int64_t count;
	double weight;
	int64_t rounded; /* the weight of a cut */
};

/* Equal bins. */
struct kind {
	int64_t cpus, quarters;
	unsigned int shapes; /* bits of those that its labels allow */
	int64_t count;
};

/* sum of launches[type] * holds[type] >= needed, or with `beyond`: at least one launch is more than
 * these. */
struct cut {
	int64_t holds[RANDOM_TYPES], needed;
	bool beyond;
};

struct bound {
	const struct schedule_problem *problem;
	struct item items[ITEMS_MAX];
	size_t item_count;
	struct bin bins[BINS_MAX];
	size_t bin_count, given;
	struct shape shapes[SHAPES_MAX];
	size_t shape_count;
	struct kind kinds[KINDS_MAX]; /* first one for each type, then the given bins */
	size_t kind_count;
	struct cut cuts[CUTS_MAX];
	size_t cut_count;
	int64_t launches[RANDOM_TYPES], most[RANDOM_TYPES];
	int64_t best[RANDOM_TYPES], best_cost;
	struct amounts left, need; /* sums of all bins, of the items that follow */
	size_t steps;
};

enum answer { IMPOSSIBLE, NOT_KNOWN, POSSIBLE };

static void refuse(const char *text)
{
	fprintf(stderr, "gpu_bound: too many %s\n", text);
	exit(1);
}

/* ---- the demand and the nodes ---- */

static struct amounts amounts_of(const struct ray_request *request, int64_t times)
{
	struct amounts need = { 0, 0 };

	for (size_t i = 0; i < request->bundle_count; i++) {
		if (!strcmp(request->bundle[i].name, "CPU"))
			need.cpu += request->bundle[i].amount * times;
		else
			need.gpu += request->bundle[i].amount * times;
	}
	return need;
}

/* Keeps the items by GPUs and CPUs, the largest first. */
static void add_item(struct bound *bound, const struct ray_request *request, int64_t times,
		     unsigned int apart)
{
	struct item item = { amounts_of(request, times), request, apart };
	size_t at = bound->item_count++;

	if (at >= ITEMS_MAX)
		refuse("items");
	for (; at; at--) {
		const struct amounts *before = &bound->items[at - 1].need;

		if (before->gpu > item.need.gpu ||
		    (before->gpu == item.need.gpu && before->cpu >= item.need.cpu))
			break;
		bound->items[at] = bound->items[at - 1];
	}
	bound->items[at] = item;
	bound->need.cpu += item.need.cpu;
	bound->need.gpu += item.need.gpu;
}

static void add_bin(struct bound *bound, size_t type, const struct resources *available,
		    const struct labels *labels)
{
	struct bin *bin = &bound->bins[bound->bin_count++];

	if (bound->bin_count > BINS_MAX)
		refuse("nodes");
	*bin = (struct bin){ { resources_amount(available, "CPU", 0),
			       resources_amount(available, "GPU", 0) },
			     type,
			     labels,
			     0 };
	bound->left.cpu += bin->left.cpu;
	bound->left.gpu += bin->left.gpu;
}

/* A STRICT_PACK gang is one item; the bundles of a STRICT_SPREAD gang exclude each other. */
static void add_gang(struct bound *bound, const struct ray_gang *gang, unsigned int bit)
{
	const struct ray_request *first = &gang->requests[0];
	bool strict = first->placement_count > 0;
	bool pack = strict && first->placements[0].has_affinity;
	bool spread = strict && first->placements[0].has_anti_affinity;

	for (size_t i = 0; i < (pack ? 1 : gang->request_count); i++)
		add_item(bound, &gang->requests[i], pack ? (int64_t)gang->request_count : 1,
			 spread ? bit : 0);
}

/* Collects the demand that Ray's packing served, the given nodes, and the launches that are left of
 * each type. */
static void collect(struct bound *bound, const struct schedule_problem *problem,
		    const struct schedule_result *ray)
{
	memset(bound, 0, sizeof(*bound));
	bound->problem = problem;
	for (size_t i = 0; i < problem->demand_count; i++)
		for (int64_t j = ray->demands[i].count; j < problem->demands[i].count; j++)
			add_item(bound, problem->demands[i].request, 1, 0);
	for (size_t i = 0; i < problem->gang_count; i++)
		if (!ray->gangs[i].count)
			add_gang(bound, &problem->gangs[i], 1U << i);
	for (size_t i = 0; i < problem->type_count; i++)
		bound->most[i] = i ? problem->types[i].max_nodes : 0;
	for (size_t i = 0; i < problem->node_count; i++) {
		add_bin(bound, problem->nodes[i].type, &problem->nodes[i].available,
			&problem->nodes[i].labels);
		bound->most[problem->nodes[i].type]--;
	}
	for (size_t i = 0; i < problem->type_count; i++)
		if (bound->most[i] > (int64_t)bound->item_count)
			bound->most[i] = (int64_t)bound->item_count;
	bound->given = bound->bin_count;
}

static bool labels_allow(const struct ray_request *request, const struct labels *labels)
{
	for (size_t i = 0; i < request->selector_count; i++) {
		const struct label_constraint *constraint = request->selectors[i].constraints;
		const char *value = labels_value(labels, constraint->key);
		bool in = value && !strcmp(value, constraint->values.at[0]);

		if (in == (constraint->operation == LABEL_OPERATOR_IN))
			return true;
	}
	return !request->selector_count;
}

static bool same_item(const struct item *a, const struct item *b)
{
	return a->request->bundle == b->request->bundle && a->apart == b->apart &&
	       a->need.gpu == b->need.gpu;
}

static void find_shapes(struct bound *bound)
{
	for (size_t i = 0; i < bound->item_count; i++) {
		struct shape *shape = bound->shapes;
		const struct shape *end = shape + bound->shape_count;

		while (shape < end && !same_item(shape->item, &bound->items[i]))
			shape++;
		if (shape == end && bound->shape_count++ == SHAPES_MAX)
			refuse("shapes");
		shape->item = &bound->items[i];
		shape->count++;
	}
}

static void add_kind(struct bound *bound, const struct amounts *left, const struct labels *labels,
		     bool own)
{
	struct kind kind = { .cpus = (left->cpu + RESOURCE_UNIT - 1) / RESOURCE_UNIT,
			     .quarters = (left->gpu + RESOURCE_UNIT / 4 - 1) / (RESOURCE_UNIT / 4),
			     .count = !own };

	if (kind.cpus > KNAPSACK_CPUS_MAX || kind.quarters > KNAPSACK_QUARTERS_MAX)
		refuse("resources of a node");
	for (size_t i = 0; i < bound->shape_count; i++)
		if (labels_allow(bound->shapes[i].item->request, labels))
			kind.shapes |= 1U << i;
	for (size_t i = bound->problem->type_count; i < bound->kind_count && !own; i++) {
		struct kind *same = &bound->kinds[i];

		if (same->cpus == kind.cpus && same->quarters == kind.quarters &&
		    same->shapes == kind.shapes) {
			same->count++;
			return;
		}
	}
	if (bound->kind_count == KINDS_MAX)
		refuse("kinds of nodes");
	bound->kinds[bound->kind_count++] = kind;
}

static void find_kinds(struct bound *bound)
{
	const struct schedule_problem *problem = bound->problem;

	for (size_t i = 0; i < problem->type_count; i++) {
		const struct resources *all = &problem->types[i].resources;
		struct amounts left = { resources_amount(all, "CPU", 0),
					resources_amount(all, "GPU", 0) };

		add_kind(bound, &left, &problem->types[i].labels, true);
	}
	for (size_t i = 0; i < bound->bin_count; i++)
		add_kind(bound, &bound->bins[i].left, bound->bins[i].labels, false);
}

/* ---- cuts ---- */

static void round_weights(struct bound *bound)
{
	double most = 0;

	for (size_t i = 0; i < bound->shape_count; i++)
		most = fmax(most, bound->shapes[i].weight);
	for (size_t i = 0; i < bound->shape_count; i++) {
		bound->shapes[i].weight /= most;
		bound->shapes[i].rounded = (int64_t)(bound->shapes[i].weight * 1e6);
	}
}

/* The best filling of a bin by the weights of these shapes. */
static void fill_best(struct knapsack *sack, const struct bound *bound, unsigned int shapes)
{
	knapsack_start(sack);
	for (size_t i = 0; i < bound->shape_count; i++) {
		const struct shape *shape = &bound->shapes[i];
		struct knapsack_item item = {
			.cpus = shape->item->need.cpu / RESOURCE_UNIT,
			.quarters = shape->item->need.gpu / (RESOURCE_UNIT / 4),
			.weight = shape->rounded,
		};

		if (shapes & 1U << i)
			knapsack_add(sack, i, &item, shape->item->apart ? 1 : shape->count);
	}
}

/* The cut of the weights; held: how many of each shape the best fillings have with the proposal. */
static struct cut cut_of(const struct bound *bound, int64_t *held)
{
	static struct knapsack sack;
	struct cut cut = { .needed = 0 };

	for (size_t i = 0; i < bound->shape_count; i++)
		cut.needed += bound->shapes[i].count * bound->shapes[i].rounded;
	for (size_t i = 0; i < bound->kind_count; i++) {
		bool before = false;

		for (size_t j = 0; j < i && !before; j++)
			before = bound->kinds[j].shapes == bound->kinds[i].shapes;
		if (before)
			continue;
		fill_best(&sack, bound, bound->kinds[i].shapes);
		for (size_t j = i; j < bound->kind_count; j++) {
			const struct kind *kind = &bound->kinds[j];
			int64_t holds = sack.value[kind->cpus][kind->quarters];
			bool type = j < bound->problem->type_count;

			if (kind->shapes != bound->kinds[i].shapes)
				continue;
			if (type)
				cut.holds[j] = holds;
			else
				cut.needed -= kind->count * holds;
			knapsack_count(&sack, kind->cpus, kind->quarters,
				       type ? bound->launches[j] : kind->count, held);
		}
	}
	return cut;
}

static bool allows(const struct bound *bound, const struct cut *cut)
{
	int64_t held = 0;

	for (size_t i = 0; i < bound->problem->type_count; i++) {
		if (cut->beyond && bound->launches[i] > cut->holds[i])
			return true;
		held += bound->launches[i] * cut->holds[i];
	}
	return !cut->beyond && held >= cut->needed;
}

/* Looks for weights whose cut excludes the proposal. */
static bool find_cut(struct bound *bound, struct cut *ret_cut)
{
	for (size_t i = 0; i < bound->shape_count; i++) {
		const struct amounts *need = &bound->shapes[i].item->need;

		bound->shapes[i].weight = (double)need->gpu / (double)RESOURCE_UNIT +
					  (double)need->cpu / (16.0 * (double)RESOURCE_UNIT);
	}
	for (int round = 0; round < ROUNDS_MAX; round++) {
		int64_t held[SHAPES_MAX] = { 0 };

		round_weights(bound);
		*ret_cut = cut_of(bound, held);
		if (!allows(bound, ret_cut))
			return true;
		for (size_t i = 0; i < bound->shape_count; i++) {
			struct shape *shape = &bound->shapes[i];
			double missing = (double)(shape->count - held[i]);

			shape->weight = fmax(1e-5, shape->weight * exp(0.5 * missing /
								       (double)shape->count /
								       (1 + round / 16.0)));
		}
	}
	return false;
}

/* ---- a place for every item ---- */

static bool same_bin(const struct bin *a, const struct bin *b)
{
	return a->left.cpu == b->left.cpu && a->left.gpu == b->left.gpu && a->labels == b->labels &&
	       a->apart == b->apart;
}

static bool was_tried(const struct bound *bound, size_t first, size_t bin)
{
	for (size_t i = first; i < bin; i++)
		if (same_bin(&bound->bins[i], &bound->bins[bin]))
			return true;
	return false;
}

static void move(struct amounts *from, const struct amounts *amounts, int64_t sign)
{
	from->cpu -= sign * amounts->cpu;
	from->gpu -= sign * amounts->gpu;
}

/* Puts the items from `at` on into bins; equal items go into bins in ascending order. */
static enum answer place(struct bound *bound, size_t at, size_t first_bin)
{
	const struct item *item = &bound->items[at];
	enum answer answer = IMPOSSIBLE;

	if (at == bound->item_count)
		return POSSIBLE;
	if (bound->need.gpu > bound->left.gpu || bound->need.cpu > bound->left.cpu)
		return IMPOSSIBLE;
	if (++bound->steps > STEPS_MAX)
		return NOT_KNOWN;
	for (size_t i = first_bin; i < bound->bin_count && answer == IMPOSSIBLE; i++) {
		struct bin *bin = &bound->bins[i];
		size_t next = 0;

		if (bin->left.cpu < item->need.cpu || bin->left.gpu < item->need.gpu ||
		    (bin->apart & item->apart) || !labels_allow(item->request, bin->labels) ||
		    was_tried(bound, first_bin, i))
			continue;
		if (at + 1 < bound->item_count && same_item(item, item + 1))
			next = i;
		bin->apart |= item->apart;
		move(&bin->left, &item->need, 1);
		move(&bound->left, &item->need, 1);
		move(&bound->need, &item->need, 1);
		answer = place(bound, at + 1, next);
		bin->apart &= ~item->apart;
		move(&bin->left, &item->need, -1);
		move(&bound->left, &item->need, -1);
		move(&bound->need, &item->need, -1);
	}
	return answer;
}

static enum answer try_proposal(struct bound *bound)
{
	struct amounts left = bound->left;
	enum answer answer;

	for (size_t type = 1; type < bound->problem->type_count; type++)
		for (int64_t i = 0; i < bound->launches[type]; i++)
			add_bin(bound, type, &bound->problem->types[type].resources,
				&bound->problem->types[type].labels);
	bound->steps = 0;
	answer = place(bound, 0, 0);
	bound->bin_count = bound->given;
	bound->left = left;
	return answer;
}

/* ---- proposals ---- */

/* The cheapest launches that every cut allows, into `best`. Those of types without a cost are as
 * many as there may be. */
static void propose(struct bound *bound, size_t type, int64_t cost)
{
	int64_t each;

	if (cost >= bound->best_cost)
		return;
	if (type == bound->problem->type_count) {
		for (size_t i = 0; i < bound->cut_count; i++)
			if (!allows(bound, &bound->cuts[i]))
				return;
		bound->best_cost = cost;
		memcpy(bound->best, bound->launches, sizeof(bound->best));
		return;
	}
	each = bound->problem->types[type].cost;
	for (int64_t i = each ? 0 : bound->most[type]; i <= bound->most[type]; i++) {
		bound->launches[type] = i;
		propose(bound, type + 1, cost + i * each);
	}
}

int64_t gpu_bound(const struct schedule_problem *problem, const struct schedule_result *ray,
		  int64_t most, bool *ret_exact)
{
	static struct bound bound;

	collect(&bound, problem, ray);
	find_shapes(&bound);
	find_kinds(&bound);
	for (;;) {
		enum answer answer;
		struct cut cut;

		bound.best_cost = most;
		propose(&bound, 1, 0);
		*ret_exact = true;
		if (bound.best_cost == most)
			return most;
		memcpy(bound.launches, bound.best, sizeof(bound.launches));
		answer = try_proposal(&bound);
		*ret_exact = answer == POSSIBLE;
		if (answer == POSSIBLE || bound.cut_count == CUTS_MAX)
			return bound.best_cost;
		if (!find_cut(&bound, &cut)) {
			if (answer == NOT_KNOWN)
				return bound.best_cost;
			cut.beyond = true;
			memcpy(cut.holds, bound.launches, sizeof(cut.holds));
		}
		bound.cuts[bound.cut_count++] = cut;
	}
}
