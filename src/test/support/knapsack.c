#include "test/support/knapsack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void knapsack_start(struct knapsack *sack)
{
	sack->count = 0;
	memset(sack->value, 0, sizeof(sack->value));
}

static void add_part(struct knapsack *sack, size_t shape, const struct knapsack_item *item,
		     int64_t units)
{
	size_t index = sack->count++;
	struct knapsack_item *all = &sack->sizes[index];

	if (index == KNAPSACK_PARTS_MAX) {
		fprintf(stderr, "knapsack: too many parts\n");
		exit(1);
	}
	sack->parts[index] = (struct knapsack_part){ shape, units };
	*all = (struct knapsack_item){ units * item->cpus, units * item->quarters,
				       units * item->weight };
	memset(sack->takes[index], 0, sizeof(sack->takes[index]));
	for (int64_t c = KNAPSACK_CPUS_MAX; c >= all->cpus; c--)
		for (int64_t q = KNAPSACK_QUARTERS_MAX; q >= all->quarters; q--) {
			int64_t with = sack->value[c - all->cpus][q - all->quarters] + all->weight;

			if (with <= sack->value[c][q])
				continue;
			sack->value[c][q] = with;
			sack->takes[index][c][q] = true;
		}
}

/* Parts of 1, 2, 4, ... and the rest: their sums are all numbers up to `most`. */
void knapsack_add(struct knapsack *sack, size_t shape, const struct knapsack_item *item,
		  int64_t most)
{
	for (int64_t units = 1; most > 0; units *= 2) {
		int64_t taken = units < most ? units : most;

		add_part(sack, shape, item, taken);
		most -= taken;
	}
}

void knapsack_count(const struct knapsack *sack, int64_t cpus, int64_t quarters, int64_t nodes,
		    int64_t *held)
{
	for (size_t i = sack->count; i-- > 0;) {
		if (!sack->takes[i][cpus][quarters])
			continue;
		held[sack->parts[i].shape] += nodes * sack->parts[i].units;
		cpus -= sack->sizes[i].cpus;
		quarters -= sack->sizes[i].quarters;
	}
}
