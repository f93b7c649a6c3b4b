#include "laws_unused.h"

#include <stdio.h>

#include "base/memory.h"
#include "laws_case.h"
#include "laws_random.h"

#define REASON "RequestUnused"
#define BUNDLES_MAX 6
#define ASKED                                                                                      \
	"[{\"resourceRequests\":[{\"request\":{\"resourcesBundle\":{\"GPU\":%d}},\"count\":\"%d\"}]}]"

static void set(struct cJSON *object, const char *name, struct cJSON *value)
{
	cJSON_DeleteItemFromObjectCaseSensitive(object, name);
	cJSON_AddItemToObject(object, name, value);
}

/* ---- a snapshot with a request that is partly used ---- */

static void add_mark(struct cJSON *memory, const char *list, int64_t count, int minute)
{
	struct cJSON *marks = cJSON_CreateArray(), *mark = cJSON_CreateObject();
	char since[sizeof("2026-11-20T09:00:00Z") + 20];

	snprintf(since, sizeof(since), "2026-11-20T09:%02d:00Z", minute);
	cJSON_AddStringToObject(mark, "key", "cluster");
	cJSON_AddStringToObject(mark, "since", since);
	if (count > 0)
		cJSON_AddNumberToObject(mark, "count", (double)count);
	cJSON_AddItemToArray(marks, mark);
	set(memory, list, marks);
}

static struct cJSON *make_asked(const struct cJSON *snapshot, struct laws_random *random)
{
	struct cJSON *tree = cJSON_Duplicate(snapshot, true);
	struct cJSON *settings = TREE_AT(tree, "settings"), *memory = TREE_AT(tree, "memory");
	int gpus = 1 + laws_random_below(random, 2),
	    count = 1 + laws_random_below(random, BUNDLES_MAX);
	int most = gpus * (count - 1 + laws_random_below(random, 3));
	char text[sizeof(ASKED) + 20];

	if (!memory)
		memory = cJSON_AddObjectToObject(tree, "memory");
	snprintf(text, sizeof(text), ASKED, gpus, count);
	set(TREE_AT(tree, "rayState"), "clusterResourceConstraints", cJSON_Parse(text));
	set(settings, "requests-unused-after-seconds",
	    cJSON_CreateNumber(1 + 60 * laws_random_below(random, 4)));
	if (laws_random_below(random, 3) == 0)
		set(settings, "requests-ahead-of-use",
		    cJSON_CreateNumber(laws_random_below(random, 4)));
	if (most > 0)
		add_mark(memory, "requestsAsked", (int64_t)most * FACTS_UNIT,
			 50 + laws_random_below(random, 10));
	if (laws_random_below(random, 2))
		add_mark(memory, "requestsUnused", 0, 58);
	return tree;
}

/* ---- the law ---- */

static void check_item(const struct cJSON *tree, const struct cJSON *plan, const struct cJSON *item,
		       struct laws_verdict *verdict)
{
	const char *name = tree_text(item, "pod");
	const struct cJSON *node = facts_living_node(tree, name);
	int64_t after = facts_setting(tree, "requests-unused-after-seconds", 0) * 1000;

	if (!tree_is(item, "action", "drain") || !tree_is(node, "status", "IDLE") ||
	    tree_integer(node, "idleDurationMs", 0) <= after)
		laws_break(verdict, "unused", "Pod %s ends as unused and may be in use", name);
	TREE_EACH(place, TREE_AT(plan, "placements"))
		if (tree_is(place, "worker", name) && TREE_AT(place, "requests")->child)
			laws_break(verdict, "unused", "Pod %s ends, and something is placed there",
				   name);
}

bool laws_unused_check(const struct cJSON *snapshot, uint64_t seed, struct laws_verdict *verdict)
{
	AUTO(memory_free_string) char *text = NULL;
	struct laws_random random;
	struct cJSON *tree, *plan;
	bool ends = false;

	laws_random_init(&random, ~seed * 5);
	if (laws_random_below(&random, 3) || !TREE_AT(snapshot, "settings") ||
	    !cJSON_IsObject(TREE_AT(snapshot, "rayState")))
		return false;
	tree = make_asked(snapshot, &random);
	text = laws_case_plan(tree, true, verdict);
	plan = text ? cJSON_Parse(text) : NULL;
	if (plan && laws_case_fault)
		laws_case_fault(plan);
	TREE_EACH(group, TREE_AT(plan, "groups"))
		TREE_EACH(item, TREE_AT(group, "toTerminate"))
			if (tree_is(item, "reason", REASON)) {
				check_item(tree, plan, item, verdict);
				ends = true;
			}
	cJSON_Delete(plan);
	cJSON_Delete(tree);
	return ends;
}
