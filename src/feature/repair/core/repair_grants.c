#include "feature/repair/core/repair_grants.h"

#include <string.h>

#include "base/int64.h"
#include "base/memory.h"
#include "base/sort.h"

struct grant {
	const char *node; /* of the map */
	int64_t since_ms; /* monotonic */
	bool asked;
};

/* ---- limits ---- */

int64_t repair_limit(int64_t nodes, int64_t percent, int64_t used)
{
	return int64_max(nodes, used * percent / 100);
}

void repair_limits_add(struct repair_node *node, const struct pool_terms *pools,
		       const struct pod *pod, struct arena *arena)
{
	const char *group = labels_value(&pod->labels, LABEL_GROUP);
	const struct pool_grant *grant =
		pools && group ? ARRAY_FIND(pools->grants, pools->grant_count, group, group) : NULL;
	struct repair_limit limit;

	if (!grant || grant->repair_pool[0] == '\0')
		return;
	limit = (struct repair_limit){ grant->repair_pool, grant->repair_nodes };
	if (ARRAY_FIND(node->limits, node->limit_count, pool, limit.pool))
		return;
	node->limits = ARENA_JOIN(arena, node->limits, node->limit_count, &limit, 1);
	node->limit_count++;
}

static int64_t *count_of(struct map *counts, const char *key)
{
	int64_t *count = map_get(counts, key);

	if (!count) {
		count = ARENA_NEW(counts->arena, int64_t);
		map_set(counts, key, count);
	}
	return count;
}

void repair_counts_add(struct map *counts, const struct repair_node *node)
{
	for (size_t i = 0; i < node->limit_count; i++) {
		const char *pool = node->limits[i].pool;

		if ((*count_of(counts, arena_printf(counts->arena, "%s %s", pool, node->node)))++ ==
		    0)
			++*count_of(counts, pool);
	}
}

bool repair_counts_allow(struct map *counts, const struct repair_node *node)
{
	for (size_t i = 0; i < node->limit_count; i++)
		if (*count_of(counts, node->limits[i].pool) >= node->limits[i].nodes)
			return false;
	return true;
}

/* ---- asks ---- */

void repair_asks_done(struct repair_asks *asks)
{
	arena_done(&asks->arena);
	*asks = (struct repair_asks){ .at = NULL };
}

static void copy(const struct repair_node *node, struct arena *arena, struct repair_node *ret_ask)
{
	struct repair_limit *limits = ARENA_COPY(arena, node->limits, node->limit_count);

	for (size_t i = 0; i < node->limit_count; i++)
		limits[i].pool = arena_strdup(arena, limits[i].pool);
	*ret_ask = (struct repair_node){ .node = arena_strdup(arena, node->node),
					 .since = node->since,
					 .asks = node->asks,
					 .begun = node->begun || node->state == REPAIR_STATE_BEGUN,
					 .limits = limits,
					 .limit_count = node->limit_count };
}

void repair_asks_set(struct repair_asks *asks, const struct plan_repair *repair)
{
	repair_asks_done(asks);
	if (!repair)
		return;
	asks->at = arena_array(&asks->arena, repair->nodes.count, sizeof(*asks->at));
	VEC_EACH(const struct repair_node, node, &repair->nodes)
		if (node->asks || node->state == REPAIR_STATE_BEGUN)
			copy(node, &asks->arena, &asks->at[asks->count++]);
}

/* ---- grants ---- */

static int compare_asks(const void *left, const void *right)
{
	const struct repair_node *a = *(const struct repair_node *const *)left;
	const struct repair_node *b = *(const struct repair_node *const *)right;

	if (a->begun != b->begun)
		return a->begun ? -1 : 1;
	if (a->since != b->since)
		return a->since < b->since ? -1 : 1;
	return strcmp(a->node, b->node);
}

/* Those for which no RayCluster asks any longer. */
static void give_back(struct repair_grants *grants)
{
	for (size_t i = grants->granted.count; i > 0; i--) {
		struct grant *grant = grants->granted.entries[i - 1].value;

		if (!grant->asked)
			map_drop(&grants->granted, grant->node, NULL);
		else
			grant->asked = false;
	}
}

size_t repair_grants_renew(struct repair_grants *grants, const struct repair_asks *const *all,
			   size_t count, const struct settings *settings, int64_t used,
			   int64_t now_ms)
{
	int64_t limit = repair_limit(settings->repair_fleet_max_unavailable,
				     settings->repair_fleet_max_unavailable_percent, used);
	int64_t count_ms =
		settings->repair_deadline_seconds * MS_PER_SECOND + REPAIR_GRANT_EXTRA_MS;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct map counts = MAP_IN(&scratch);
	VEC(const struct repair_node *) waiting = { .at = NULL };
	size_t before;
	int64_t counted = 0;

	for (size_t i = 0; i < count; i++)
		ARRAY_EACH(const struct repair_node, ask, all[i]->at, all[i]->count) {
			struct grant *grant = map_get(&grants->granted, ask->node);

			if (!grant) {
				VEC_PUSH(&scratch, &waiting, ask);
				continue;
			}
			if (now_ms - grant->since_ms < count_ms) {
				repair_counts_add(&counts, ask);
				counted += !grant->asked;
			}
			grant->asked = true;
		}
	give_back(grants);
	before = grants->granted.count;
	sort_stable(waiting.at, waiting.count, sizeof(*waiting.at), compare_asks);
	for (size_t i = 0; i < waiting.count && counted < limit; i++) {
		const struct repair_node *ask = waiting.at[i];
		bool is_granted = repair_grants_has(grants, ask->node); /* to another RayCluster */

		if (!is_granted && !repair_counts_allow(&counts, ask))
			continue;
		repair_counts_add(&counts, ask);
		counted += !is_granted;
		((struct grant *)map_make(&grants->granted, ask->node, sizeof(struct grant)))
			->since_ms = now_ms;
	}
	return grants->granted.count - before;
}

bool repair_grants_has(const struct repair_grants *grants, const char *node)
{
	return map_get(&grants->granted, node) != NULL;
}

struct strings repair_grants_of(const struct repair_grants *grants, const struct repair_asks *asks,
				struct arena *arena)
{
	VEC(const char *) names = { .at = NULL };

	for (size_t i = 0; i < asks->count; i++)
		if (repair_grants_has(grants, asks->at[i].node))
			VEC_PUSH(arena, &names, arena_strdup(arena, asks->at[i].node));
	return (struct strings){ names.at, names.count };
}

bool repair_grants_may_begin(const struct repair_grants *grants, const struct repair_asks *asks)
{
	for (size_t i = 0; i < asks->count; i++)
		if (asks->at[i].asks && repair_grants_has(grants, asks->at[i].node))
			return true;
	return false;
}

void repair_grants_done(struct repair_grants *grants)
{
	map_drop_all(&grants->granted, NULL);
}
