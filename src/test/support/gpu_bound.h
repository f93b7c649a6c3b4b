/* A lower bound of the GPUs that any packing launches which serves the demand that Ray's policy
 * serves. Tries all launches, the cheapest first, and takes the first for which it cannot rule out
 * that everything has a place: it checks sums of every node, labels and gangs, by trying, up to
 * BOUND_STEPS_MAX steps for each choice of launches. Parts of GPUs count by their sum; the true
 * optimum can be above. Only for small problems without constraints. Header only. */
#ifndef TEST_SUPPORT_GPU_BOUND_H
#define TEST_SUPPORT_GPU_BOUND_H

#include <stdio.h>
#include <stdlib.h>

#include "test/support/schedule_random.h"

#define ITEMS_MAX 512
#define BINS_MAX 512
#define BOUND_STEPS_MAX 20000

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

struct bound {
	const struct schedule_problem *problem;
	struct item items[ITEMS_MAX];
	size_t item_count;
	struct bin bins[BINS_MAX];
	size_t bin_count, given;
	int64_t launches[RANDOM_TYPES], most[RANDOM_TYPES];
	struct amounts left, need; /* sums of all bins, of the items that follow */
	size_t steps;
};

enum answer { IMPOSSIBLE, NOT_KNOWN, POSSIBLE };

static inline struct amounts amounts_of(const struct ray_request *request, int64_t times)
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

static inline void add_item(struct bound *bound, const struct ray_request *request, int64_t times,
			    unsigned int apart)
{
	struct item item = { amounts_of(request, times), request, apart };
	size_t at = bound->item_count++;

	if (at >= ITEMS_MAX) {
		fprintf(stderr, "more than %d items\n", ITEMS_MAX);
		exit(1);
	}
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

static inline void add_bin(struct bound *bound, size_t type, const struct resources *available,
			   const struct labels *labels)
{
	struct bin *bin = &bound->bins[bound->bin_count++];

	if (bound->bin_count > BINS_MAX) {
		fprintf(stderr, "more than %d nodes\n", BINS_MAX);
		exit(1);
	}
	*bin = (struct bin){ { resources_amount(available, "CPU", 0),
			       resources_amount(available, "GPU", 0) },
			     type,
			     labels,
			     0 };
	bound->left.cpu += bin->left.cpu;
	bound->left.gpu += bin->left.gpu;
}

/* Collects the demand that Ray's packing served (a STRICT_PACK gang as one item, the bundles of a
 * STRICT_SPREAD gang as items that exclude each other), the given nodes as bins, and the launches
 * that are left of each type. */
static inline void bound_start(struct bound *bound, const struct schedule_problem *problem,
			       const struct schedule_result *ray)
{
	memset(bound, 0, sizeof(*bound));
	bound->problem = problem;
	for (size_t i = 0; i < problem->demand_count; i++)
		for (int64_t j = ray->demands[i].count; j < problem->demands[i].count; j++)
			add_item(bound, problem->demands[i].request, 1, 0);
	for (size_t i = 0; i < problem->gang_count; i++) {
		const struct ray_gang *gang = &problem->gangs[i];
		bool strict = gang->requests[0].placement_count > 0;
		bool pack = strict && gang->requests[0].placements[0].has_affinity;
		bool spread = strict && gang->requests[0].placements[0].has_anti_affinity;

		for (size_t j = 0; j < (pack ? 1 : gang->request_count) && !ray->gangs[i].count;
		     j++)
			add_item(bound, &gang->requests[j], pack ? (int64_t)gang->request_count : 1,
				 spread ? 1U << i : 0);
	}
	for (size_t i = 0; i < problem->type_count; i++)
		bound->most[i] = i ? problem->types[i].max_nodes : 0;
	for (size_t i = 0; i < problem->node_count; i++) {
		add_bin(bound, problem->nodes[i].type, &problem->nodes[i].available,
			&problem->nodes[i].labels);
		bound->most[problem->nodes[i].type]--;
	}
	bound->given = bound->bin_count;
}

static inline bool labels_allow(const struct ray_request *request, const struct labels *labels)
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

static inline bool same_bin(const struct bin *a, const struct bin *b)
{
	return a->left.cpu == b->left.cpu && a->left.gpu == b->left.gpu && a->labels == b->labels &&
	       a->apart == b->apart;
}

static inline bool was_tried(const struct bound *bound, size_t first, size_t bin)
{
	for (size_t i = first; i < bin; i++)
		if (same_bin(&bound->bins[i], &bound->bins[bin]))
			return true;
	return false;
}

static inline bool same_item(const struct item *a, const struct item *b)
{
	return a->request->bundle == b->request->bundle && a->apart == b->apart &&
	       a->need.gpu == b->need.gpu;
}

static inline void move(struct amounts *from, const struct amounts *amounts, int64_t sign)
{
	from->cpu -= sign * amounts->cpu;
	from->gpu -= sign * amounts->gpu;
}

/* Puts the items from `at` on into bins; equal items go into bins in ascending order. */
static inline enum answer place(struct bound *bound, size_t at, size_t first_bin)
{
	const struct item *item = &bound->items[at];
	enum answer answer = IMPOSSIBLE;

	if (at == bound->item_count)
		return POSSIBLE;
	if (bound->need.gpu > bound->left.gpu || bound->need.cpu > bound->left.cpu)
		return IMPOSSIBLE;
	if (++bound->steps > BOUND_STEPS_MAX)
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

static inline enum answer try_launches(struct bound *bound)
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

/* All launches of exactly so many GPUs; those without GPUs as many as there may be. */
static inline enum answer try_gpus(struct bound *bound, size_t type, int64_t gpus)
{
	const struct schedule_problem *problem = bound->problem;
	enum answer best = IMPOSSIBLE;
	int64_t each;

	if (type == problem->type_count)
		return gpus ? IMPOSSIBLE : try_launches(bound);
	each = problem->types[type].gpu_amount;
	if (!each) {
		bound->launches[type] = bound->most[type] < (int64_t)bound->item_count ?
						bound->most[type] :
						(int64_t)bound->item_count;
		return try_gpus(bound, type + 1, gpus);
	}
	for (int64_t i = 0; i <= bound->most[type] && i * each <= gpus && best != POSSIBLE; i++) {
		enum answer answer;

		bound->launches[type] = i;
		answer = try_gpus(bound, type + 1, gpus - i * each);
		if (answer > best)
			best = answer;
	}
	return best;
}

/* Counts whole GPUs up from the sum that is missing on the given nodes, until a launch of that many
 * GPUs is possible or cannot be ruled out within the steps. *ret_exact: the result can be
 * reached. */
static inline int64_t lower_bound(struct bound *bound, int64_t most, bool *ret_exact)
{
	int64_t gpus = bound->need.gpu - bound->left.gpu;

	gpus = gpus > 0 ? (gpus + RESOURCE_UNIT - 1) / RESOURCE_UNIT * RESOURCE_UNIT : 0;
	for (; gpus < most; gpus += RESOURCE_UNIT) {
		enum answer answer = try_gpus(bound, 1, gpus);

		*ret_exact = answer == POSSIBLE;
		if (answer != IMPOSSIBLE)
			return gpus;
	}
	*ret_exact = true;
	return most;
}

#endif
