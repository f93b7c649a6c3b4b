#include "feature/repair/ctl/repair_grants.h"

#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "core/model/pool.h"
#include "core/model/snapshot.h"
#include "feature/repair/core/repair.h"

struct grant {
	const char *node; /* of the map */
	int64_t since_ms; /* monotonic */
	bool asked;
};

/* ---- asks ---- */

static bool is_asked(const struct repair_node *node)
{
	return node->asks || node->state == REPAIR_STATE_BEGUN;
}

void repair_asks_done(struct repair_asks *asks)
{
	for (size_t i = 0; i < asks->count; i++) {
		for (size_t k = 0; k < asks->at[i].limit_count; k++)
			memory_free(asks->at[i].limits[k].pool);
		memory_free(asks->at[i].limits);
		memory_free(asks->at[i].node);
	}
	memory_free(asks->at);
	*asks = (struct repair_asks){ .at = NULL };
}

static void add_limit(struct repair_ask *ask, const char *pool, int64_t nodes)
{
	for (size_t i = 0; i < ask->limit_count; i++)
		if (strcmp(ask->limits[i].pool, pool) == 0)
			return;
	ask->limits = memory_resize(ask->limits, ask->limit_count + 1, sizeof(*ask->limits));
	ask->limits[ask->limit_count++] =
		(struct repair_limit){ .pool = memory_strdup(pool), .nodes = nodes };
}

/* Of the pools from which the workers on the Nodes draw. */
static void add_limits(struct repair_asks *asks, const struct snapshot *snapshot)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct map nodes = MAP_IN(&scratch);

	for (size_t i = 0; i < asks->count; i++)
		map_set(&nodes, asks->at[i].node, &asks->at[i]);
	for (size_t i = 0; i < snapshot->pod_count; i++) {
		const struct pod *pod = snapshot->pods[i];
		struct repair_ask *ask = map_get(&nodes, pod->spec.node_name);
		const char *group = labels_value(&pod->labels, LABEL_GROUP);
		const struct pool_grant *grant;

		if (!ask || !group || !pod_is_worker(pod))
			continue;
		grant = ARRAY_FIND(snapshot->pools->grants, snapshot->pools->grant_count, group,
				   group);
		if (grant && grant->repair_pool[0] != '\0')
			add_limit(ask, grant->repair_pool, grant->repair_nodes);
	}
}

void repair_asks_set(struct repair_asks *asks, const struct plan_repair *repair,
		     const struct snapshot *snapshot)
{
	size_t count = 0;

	repair_asks_done(asks);
	if (!repair)
		return;
	VEC_EACH(const struct repair_node, node, &repair->nodes)
		count += is_asked(node);
	if (count == 0)
		return;
	asks->at = memory_alloc(count * sizeof(*asks->at));
	VEC_EACH(const struct repair_node, node, &repair->nodes)
		if (is_asked(node))
			asks->at[asks->count++] = (struct repair_ask){
				.node = memory_strdup(node->node),
				.since = node->since,
				.begun = node->begun || node->state == REPAIR_STATE_BEGUN,
				.waits = node->asks,
			};
	if (snapshot->pools)
		add_limits(asks, snapshot);
}

/* ---- pools ---- */

/* The Nodes that count, by pool. */
struct pool_counts {
	struct arena *arena;
	struct map nodes; /* by "pool node" */
	struct map pools; /* int64_t */
};

static int64_t *count_of(struct pool_counts *counts, const char *pool)
{
	int64_t *count = map_get(&counts->pools, pool);

	if (!count) {
		count = ARENA_NEW(counts->arena, int64_t);
		map_set(&counts->pools, pool, count);
	}
	return count;
}

static void count_in_pools(struct pool_counts *counts, const struct repair_ask *ask)
{
	for (size_t i = 0; i < ask->limit_count; i++) {
		const char *pool = ask->limits[i].pool;
		const char *key = arena_printf(counts->arena, "%s %s", pool, ask->node);

		if (map_get(&counts->nodes, key))
			continue;
		map_set(&counts->nodes, key, counts);
		++*count_of(counts, pool);
	}
}

static bool pools_allow(struct pool_counts *counts, const struct repair_ask *ask)
{
	for (size_t i = 0; i < ask->limit_count; i++)
		if (*count_of(counts, ask->limits[i].pool) >= ask->limits[i].nodes)
			return false;
	return true;
}

/* ---- grants ---- */

static int compare_asks(const void *left, const void *right)
{
	const struct repair_ask *a = *(const struct repair_ask *const *)left;
	const struct repair_ask *b = *(const struct repair_ask *const *)right;

	if (a->begun != b->begun)
		return a->begun ? -1 : 1;
	if (a->since != b->since)
		return a->since < b->since ? -1 : 1;
	return strcmp(a->node, b->node);
}

static bool is_counted(const struct grant *grant, int64_t count_ms, int64_t now_ms)
{
	return now_ms - grant->since_ms < count_ms;
}

/* Those that are not granted; notes the others. */
static size_t collect(const struct repair_grants *grants, const struct repair_asks *const *all,
		      size_t count, int64_t count_ms, int64_t now_ms,
		      const struct repair_ask **waiting, struct pool_counts *counts)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < all[i]->count; k++) {
			struct grant *grant = map_get(&grants->granted, all[i]->at[k].node);

			if (!grant) {
				waiting[found++] = &all[i]->at[k];
				continue;
			}
			grant->asked = true;
			if (is_counted(grant, count_ms, now_ms))
				count_in_pools(counts, &all[i]->at[k]);
		}
	}
	return found;
}

/* Returns how many of the rest count. */
static int64_t give_back(struct repair_grants *grants, int64_t count_ms, int64_t now_ms)
{
	int64_t counted = 0;

	for (size_t i = grants->granted.count; i > 0; i--) {
		struct grant *grant = grants->granted.entries[i - 1].value;

		if (!grant->asked) {
			map_drop(&grants->granted, grant->node, NULL);
			continue;
		}
		grant->asked = false;
		counted += is_counted(grant, count_ms, now_ms);
	}
	return counted;
}

size_t repair_grants_renew(struct repair_grants *grants, const struct repair_asks *const *all,
			   size_t count, int64_t limit, int64_t count_ms, int64_t now_ms)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct pool_counts counts = { &scratch, MAP_IN(&scratch), MAP_IN(&scratch) };
	size_t total = 0, found, granted = 0;
	const struct repair_ask **waiting;
	int64_t counted;

	for (size_t i = 0; i < count; i++)
		total += all[i]->count;
	waiting = arena_array(&scratch, total, sizeof(struct repair_ask *));
	found = collect(grants, all, count, count_ms, now_ms, waiting, &counts);
	counted = give_back(grants, count_ms, now_ms);
	sort_stable(waiting, found, sizeof(struct repair_ask *), compare_asks);
	for (size_t i = 0; i < found && counted < limit; i++) {
		struct grant *grant;

		bool others = map_get(&grants->granted, waiting[i]->node) != NULL;

		if (!others && !pools_allow(&counts, waiting[i]))
			continue;
		count_in_pools(&counts, waiting[i]);
		if (others) /* for another RayCluster */
			continue;
		grant = map_make(&grants->granted, waiting[i]->node, sizeof(*grant));
		grant->since_ms = now_ms;
		counted++;
		granted++;
	}
	return granted;
}

bool repair_grants_has(const struct repair_grants *grants, const char *node)
{
	return map_get(&grants->granted, node) != NULL;
}

void repair_grants_done(struct repair_grants *grants)
{
	map_drop_all(&grants->granted, NULL);
}
