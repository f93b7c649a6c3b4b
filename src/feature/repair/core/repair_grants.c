#include "feature/repair/core/repair.h"

#include <string.h>

#include "base/sort.h"

/* ---- limits ---- */

void repair_limits_add(struct repair_node *node, const struct pool_terms *pools,
		       const struct pod *pod, struct arena *arena)
{
	const char *group = labels_value(&pod->labels, LABEL_GROUP);
	const struct pool_grant *grant =
		pools && group ? ARRAY_FIND(pools->grants, pools->grant_count, group, group) : NULL;

	if (grant && grant->repair_pool[0] != '\0' &&
	    !VEC_FIND(&node->limits, pool, grant->repair_pool))
		VEC_PUSH(arena, &node->limits,
			 ((struct repair_limit){ grant->repair_pool, grant->repair_nodes }));
}

/* Of a Node, or of all (""), in the pool, or in all (""). */
static int64_t *count_of(struct map *counts, const char *pool, const char *node)
{
	const char *key = arena_printf(counts->arena, "%s %s", pool, node);
	int64_t *count = map_get(counts, key);

	if (!count) {
		count = ARENA_NEW(counts->arena, int64_t);
		map_set(counts, key, count);
	}
	return count;
}

static void count_in(struct map *counts, const char *pool, const struct repair_node *node)
{
	if ((*count_of(counts, pool, node->node))++ == 0)
		++*count_of(counts, pool, "");
}

static void count_node(struct map *counts, const struct repair_node *node)
{
	count_in(counts, "", node);
	VEC_EACH(const struct repair_limit, limit, &node->limits)
		count_in(counts, limit->pool, node);
}

static bool is_allowed(struct map *counts, const struct repair_node *node,
		       struct repair_limit limit)
{
	return *count_of(counts, limit.pool, node->node) > 0 ||
	       *count_of(counts, limit.pool, "") < limit.nodes;
}

static int compare_nodes(const void *left, const void *right)
{
	const struct repair_node *a = *(const struct repair_node *const *)left;
	const struct repair_node *b = *(const struct repair_node *const *)right;

	if (a->begun != b->begun)
		return a->begun ? -1 : 1;
	if (a->since != b->since)
		return a->since < b->since ? -1 : 1;
	return strcmp(a->node, b->node);
}

void repair_choose(struct repair_node **nodes, size_t count, int64_t limit, struct map *counts)
{
	sort_stable(nodes, count, sizeof(*nodes), compare_nodes);
	for (size_t i = 0; i < count; i++) {
		bool allowed = is_allowed(counts, nodes[i], (struct repair_limit){ "", limit });

		VEC_EACH(const struct repair_limit, of_pool, &nodes[i]->limits)
			allowed = allowed && is_allowed(counts, nodes[i], *of_pool);
		nodes[i]->granted = allowed;
		if (allowed)
			count_node(counts, nodes[i]);
	}
}

/* ---- asks ---- */

void repair_asks_done(struct repair_asks *asks)
{
	arena_done(&asks->arena);
	*asks = (struct repair_asks){ .nodes = { .at = NULL } };
}

static int compare_name(const void *name, const void *node)
{
	return strcmp(name, ((const struct repair_node *)node)->node);
}

static void add_ask(struct repair_asks *asks, const struct repair_node *node,
		    const struct repair_asks *old)
{
	const struct repair_node *before =
		SORT_FIND(node->node, old->nodes.at, old->nodes.count, compare_name);
	struct repair_node *ask = VEC_ADD(&asks->arena, &asks->nodes);

	*ask = (struct repair_node){ .node = arena_strdup(&asks->arena, node->node),
				     .since = node->since,
				     .drain_ms = node->drain_ms,
				     .asks = node->asks,
				     .begun = node->begun || node->state == REPAIR_STATE_BEGUN,
				     .granted = before && before->granted,
				     .granted_ms = before ? before->granted_ms : 0 };
	VEC_EACH(const struct repair_limit, limit, &node->limits)
		VEC_PUSH(&asks->arena, &ask->limits,
			 ((struct repair_limit){ arena_strdup(&asks->arena, limit->pool),
						 limit->nodes }));
}

void repair_asks_set(struct repair_asks *asks, const struct plan_repair *repair)
{
	struct repair_asks old = *asks;

	*asks = (struct repair_asks){ .nodes = { .at = NULL } };
	if (repair)
		VEC_EACH(const struct repair_node, node, &repair->nodes)
			if (node->asks || node->state == REPAIR_STATE_BEGUN)
				add_ask(asks, node, &old);
	repair_asks_done(&old);
}

/* ---- grants ---- */

void repair_grants_renew(struct repair_asks *const *all, size_t count, int64_t limit,
			 int64_t now_ms)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct map counts = MAP_IN(&scratch);
	VEC(struct repair_node *) waiting = { .at = NULL };

	for (size_t i = 0; i < count; i++)
		VEC_EACH(struct repair_node, ask, &all[i]->nodes)
			if (!ask->granted)
				VEC_PUSH(&scratch, &waiting, ask);
			else if (now_ms - ask->granted_ms < ask->drain_ms + REPAIR_GRANT_EXTRA_MS)
				count_node(&counts, ask);
	repair_choose(waiting.at, waiting.count, limit, &counts);
	for (size_t i = 0; i < waiting.count; i++)
		waiting.at[i]->granted_ms = now_ms;
}

struct strings repair_grants_of(const struct repair_asks *asks, struct arena *arena)
{
	VEC(const char *) names = { .at = NULL };

	VEC_EACH(const struct repair_node, ask, &asks->nodes)
		if (ask->granted)
			VEC_PUSH(arena, &names, arena_strdup(arena, ask->node));
	return (struct strings){ names.at, names.count };
}

bool repair_grants_may_begin(const struct repair_asks *asks)
{
	VEC_EACH(const struct repair_node, ask, &asks->nodes)
		if (ask->asks && ask->granted)
			return true;
	return false;
}
