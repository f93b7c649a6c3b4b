#include "feature/repair/ctl/repair_grants.h"

#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
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
	for (size_t i = 0; i < asks->count; i++)
		memory_free(asks->at[i].node);
	memory_free(asks->at);
	*asks = (struct repair_asks){ .at = NULL };
}

void repair_asks_set(struct repair_asks *asks, const struct plan_repair *repair)
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

/* Those that are not granted; notes the others. */
static size_t collect(const struct repair_grants *grants, const struct repair_asks *const *all,
		      size_t count, const struct repair_ask **waiting)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < all[i]->count; k++) {
			struct grant *grant = map_get(&grants->granted, all[i]->at[k].node);

			if (grant)
				grant->asked = true;
			else
				waiting[found++] = &all[i]->at[k];
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
		counted += now_ms - grant->since_ms < count_ms;
	}
	return counted;
}

size_t repair_grants_renew(struct repair_grants *grants, const struct repair_asks *const *all,
			   size_t count, int64_t limit, int64_t count_ms, int64_t now_ms)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	size_t total = 0, found, granted = 0;
	const struct repair_ask **waiting;
	int64_t counted;

	for (size_t i = 0; i < count; i++)
		total += all[i]->count;
	waiting = arena_array(&scratch, total, sizeof(struct repair_ask *));
	found = collect(grants, all, count, waiting);
	counted = give_back(grants, count_ms, now_ms);
	sort_stable(waiting, found, sizeof(struct repair_ask *), compare_asks);
	for (size_t i = 0; i < found && counted < limit; i++) {
		struct grant *grant;

		if (map_get(&grants->granted, waiting[i]->node))
			continue; /* for another RayCluster */
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
