/* The price of the workers of a group: the row of a price table that matches the group, by its
 * labels, the Node labels that its Pod template requires, its GPU model and its market. Pure;
 * results live in the arena. Must not count workers or time: that is a feature. */
#ifndef CORE_CAPACITY_PRICE_H
#define CORE_CAPACITY_PRICE_H

#include <stdbool.h>

#include "base/arena.h"
#include "core/model/kubernetes.h"
#include "core/model/price.h"

/* The first row that matches a worker of this group; NULL: none. `node` has the labels of the
 * worker's Node; NULL: not known, then nodeSelector and required node affinity of the template
 * are used instead. `group` NULL: the head. */
const struct price_row *price_find(const struct price_table *table,
				   const struct ray_cluster *cluster,
				   const struct worker_group *group, const struct labels *node,
				   struct arena *arena);
/* Whether the value of this Node label may decide which row matches a worker. */
bool price_reads_label(const struct price_table *table, const char *key);
/* The market of a group by its labels and the Node labels that it requires; never PRICE_ANY. */
enum price_market price_market_of(const struct ray_cluster *cluster,
				  const struct worker_group *group);
/* Millionths of the currency for one hour of `gpus` (1/10000 GPU), rounded down, at most INT64_MAX;
 * 0 for a row that is NULL. Of one worker: with its GPUs. */
int64_t price_per_hour(const struct price_row *row, int64_t gpus);

#endif
