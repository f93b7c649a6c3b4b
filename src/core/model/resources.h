/* Resource amounts and labels as Ray counts them: fixed point in 1/10000 (ray: FixedPoint).
 * All pointers belong to the arena of the pass. A float never decides a fit.
 * Must not be used for Kubernetes quantities: codec/text/quantity turns those into amounts. */
#ifndef CORE_MODEL_RESOURCES_H
#define CORE_MODEL_RESOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define RESOURCE_UNIT INT64_C(10000)
#define RESOURCE_MILLI (RESOURCE_UNIT / 1000)
/* Limit of one amount (9e13 units): the sum of ten of them fits int64. */
#define RESOURCE_AMOUNT_MAX INT64_C(900000000000000000)

struct resource {
	const char *name; /* "CPU", "GPU", "memory", "accelerator_type:A100", ... */
	int64_t amount;   /* 1/10000 units, 0 to RESOURCE_AMOUNT_MAX */
};

/* Sorted by name (strcmp), names unique. A resource that is present with amount 0 differs
 * from an absent one (ray-facts trap T8). */
struct resources {
	const struct resource *at;
	size_t count;
};

struct label {
	const char *key;
	const char *value;
};

/* Sorted by key (strcmp), keys unique. */
struct labels {
	const struct label *at;
	size_t count;
};

/* The sum of two amounts, at most RESOURCE_AMOUNT_MAX. */
int64_t resource_sum(int64_t a, int64_t b);
/* An amount so many times, at most RESOURCE_AMOUNT_MAX. */
int64_t resource_product(int64_t amount, int64_t count);
/* NULL when absent. */
const struct resource *resources_find(const struct resources *resources, const char *name);
/* The amount, `missing` when absent. */
int64_t resources_amount(const struct resources *resources, const char *name, int64_t missing);
/* A copy with one amount set (added or replaced). */
struct resources resources_with(struct arena *arena, const struct resources *resources,
				const char *name, int64_t amount);
/* Sorts in place by name; of equal names the last one is kept. Returns the view. */
struct resources resources_sort(struct resource *items, size_t count);
bool resources_equal(const struct resources *a, const struct resources *b);
/* Longer names are cut in messages: the name's length, which a peer controls, must not set
 * theirs. */
#define RESOURCE_NAME_SHOWN_MAX 64
/* The name as messages show it; itself when it is short. */
const char *resource_name_text(struct arena *arena, const char *name);
/* "{CPU: 1, GPU: 0.5}": for messages; amounts without trailing zeros, names cut. */
const char *resources_text(struct arena *arena, const struct resources *resources);
/* Enough for any int64 with its sign and point. */
#define RESOURCE_AMOUNT_TEXT_SIZE 32
/* "1.5": one amount, without trailing zeros; returns its length. */
size_t resource_amount_print(int64_t amount, char ret_text[static RESOURCE_AMOUNT_TEXT_SIZE]);
const char *resource_amount_text(struct arena *arena, int64_t amount);

/* NULL when absent. */
const char *labels_value(const struct labels *labels, const char *key);
struct labels labels_sort(struct label *items, size_t count);
/* The union; of equal keys the one of `over` wins. */
struct labels labels_merge(struct arena *arena, const struct labels *base,
			   const struct labels *over);

#endif
