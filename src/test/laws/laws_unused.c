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

/* Only requests of the SDK have their place on the worker, in all phases, or nothing has. */
static bool is_for_requests(const struct cJSON *plan, const char *worker)
{
	TREE_EACH(place, TREE_AT(plan, "placements"))
		if (tree_is(place, "worker", worker))
			TREE_EACH(item, TREE_AT(place, "requests"))
				if (!tree_is(item, "kind", "constraint") ||
				    !tree_is(item, "source", "ray"))
					return false;
	return true;
}

/* Pods that the operator is to create, or has to create again, without a launch: their places have the names of new
 * workers too. */
static int64_t missing_pods(const struct cJSON *tree, const struct cJSON *group)
{
	int64_t pods = 0;

	TREE_EACH(pod, TREE_AT(tree, "pods"))
		pods += strcmp(facts_pod_label(pod, "ray.io/group"),
			       tree_text(group, "groupName")) == 0 &&
			!TREE_AT(pod, "metadata", "deletionTimestamp") &&
			!tree_is(TREE_AT(pod, "status"), "phase", "Failed") &&
			!tree_is(TREE_AT(pod, "status"), "phase", "Succeeded");
	return tree_integer(group, "replicas", 0) * facts_hosts(group) - pods;
}

/* More new workers with GPUs are there for requests of the SDK alone than Pods are missing. A replica of several hosts
 * is launched as a whole. */
static void check_launches(const struct cJSON *tree, const struct cJSON *plan,
			   const struct cJSON *launches, struct laws_verdict *verdict)
{
	const char *name = tree_text(launches, "name");
	const struct cJSON *group = facts_group(tree, name);
	struct facts_amounts amounts;
	int64_t count = 0;

	if (tree_integer(launches, "toLaunch", 0) <= 0 || facts_hosts(group) > 1 ||
	    tree_integer(group, "minReplicas", 0) > 0 || !facts_of_group(group, &amounts) ||
	    facts_amount(&amounts, "GPU") <= 0)
		return;
	TREE_EACH(place, TREE_AT(plan, "placements"))
		count += tree_is(place, "group", name) &&
			 strncmp(tree_text(place, "worker"), "new-", 4) == 0 &&
			 tree_is(place, "phase", "constraint") &&
			 is_for_requests(plan, tree_text(place, "worker"));
	if (count > 0 && count > missing_pods(tree, group))
		laws_break(verdict, "unused",
			   "group %s starts workers for a request that was unused", name);
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
	/* A schedule raises minimums. */
	if (cJSON_GetArraySize(TREE_AT(plan, "memory", "requestsUnused")) > 0 &&
	    !TREE_AT(tree, "autoscaler", "spec", "schedules"))
		TREE_EACH(group, TREE_AT(plan, "groups"))
			check_launches(tree, plan, group, verdict);
	cJSON_Delete(plan);
	cJSON_Delete(tree);
	return ends;
}
