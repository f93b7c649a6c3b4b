/* The most weight of items in a node, with two resources: CPUs, and quarters of GPUs. Solved for all
 * sizes of nodes at once. */
#ifndef TEST_SUPPORT_KNAPSACK_H
#define TEST_SUPPORT_KNAPSACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KNAPSACK_CPUS_MAX 64
#define KNAPSACK_QUARTERS_MAX 32
#define KNAPSACK_PARTS_MAX 128

struct knapsack_item {
	int64_t cpus, quarters, weight; /* 0 and above */
};

/* `units` items of one shape, all or none. */
struct knapsack_part {
	size_t shape;
	int64_t units;
};

struct knapsack {
	struct knapsack_part parts[KNAPSACK_PARTS_MAX];
	struct knapsack_item sizes[KNAPSACK_PARTS_MAX];
	size_t count;
	/* By the size of a node: the most weight that it holds. */
	int64_t value[KNAPSACK_CPUS_MAX + 1][KNAPSACK_QUARTERS_MAX + 1];
	bool takes[KNAPSACK_PARTS_MAX][KNAPSACK_CPUS_MAX + 1][KNAPSACK_QUARTERS_MAX + 1];
};

void knapsack_start(struct knapsack *sack);
/* Lets every size take up to `most` more of these items. */
void knapsack_add(struct knapsack *sack, size_t shape, const struct knapsack_item *item,
		  int64_t most);
/* Adds `nodes` times the items of a best filling to held[shape]. */
void knapsack_count(const struct knapsack *sack, int64_t cpus, int64_t quarters, int64_t nodes,
		    int64_t *held);

#endif
