#include "laws_unused.h"

#include <stdio.h>

#include "base/int64.h"
#include "base/memory.h"
#include "laws_case.h"
#include "laws_random.h"

#define REASON "RequestUnused"
#define BUNDLES_MAX 12
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
	if (laws_random_below(random, 2))
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

/* New workers of the group that are there for requests of the SDK alone, beyond the Pods that are missing. 0 where they
 * cannot be separated: a replica of several hosts is launched as a whole, a minimum as well. */
static int64_t started_for_requests(const struct cJSON *tree, const struct cJSON *plan,
				    const struct cJSON *launches)
{
	const char *name = tree_text(launches, "name");
	const struct cJSON *group = facts_group(tree, name);
	int64_t count = 0;

	if (tree_integer(launches, "toLaunch", 0) <= 0 || facts_hosts(group) > 1 ||
	    tree_integer(group, "minReplicas", 0) > 0)
		return 0;
	TREE_EACH(place, TREE_AT(plan, "placements"))
		count += tree_is(place, "group", name) &&
			 strncmp(tree_text(place, "worker"), "new-", 4) == 0 &&
			 tree_is(place, "phase", "constraint") &&
			 is_for_requests(plan, tree_text(place, "worker"));
	return count - int64_min(int64_max(missing_pods(tree, group), 0), count);
}

/* Of the device table, and those that a setting names. */
static int64_t accelerators(const struct cJSON *tree, const struct facts_amounts *amounts)
{
	static const char *const NAMES[] = { "GPU", "TPU", "neuron_cores" };
	int64_t sum = 0;

	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
		sum += facts_amount(amounts, NAMES[i]);
	TREE_EACH(name, TREE_AT(tree, "settings", "accelerators")) {
		bool known = false;

		for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
			known = known || strcmp(name->valuestring, NAMES[i]) == 0;
		sum += known ? 0 : facts_amount(amounts, name->valuestring);
	}
	return sum;
}

static int64_t accelerators_in(const struct cJSON *tree, const struct cJSON *map)
{
	struct facts_amounts amounts;

	return facts_amounts_of(map, &amounts) ? accelerators(tree, &amounts) : 0;
}

static int64_t waited_for(const struct cJSON *tree)
{
	int64_t sum = 0;

	TREE_EACH(entry, laws_received(tree, "request", "ray"))
		sum += accelerators_in(tree, TREE_AT(entry, "request", "resourcesBundle")) *
		       tree_integer(entry, "count", 0);
	TREE_EACH(gang, laws_received(tree, "gang", "ray"))
		TREE_EACH(bundle, facts_gang_bundles(gang, 0))
			sum += accelerators_in(tree, TREE_AT(bundle, "resourcesBundle"));
	return sum;
}

/* As many accelerators may begin to start: the limit, and those used or waited for beyond what the workers that stay have. */
static int64_t may_start(const struct cJSON *tree, const struct cJSON *plan)
{
	int64_t sum =
		waited_for(tree) + facts_setting(tree, "requests-ahead-of-use", 0) * FACTS_UNIT;

	TREE_EACH(node, TREE_AT(tree, "rayState", "nodeStates"))
		sum += int64_max(accelerators_in(tree, TREE_AT(node, "totalResources")) -
					 accelerators_in(tree, TREE_AT(node, "availableResources")),
				 0);
	TREE_EACH(worker, TREE_AT(plan, "workers"))
		if (tree_is(worker, "reason", "NeededByRequest") ||
		    tree_is(worker, "reason", "Busy"))
			sum -= accelerators_in(
				tree, TREE_AT(facts_living_node(tree, tree_text(worker, "pod")),
					      "totalResources"));
	return int64_max(sum, 0);
}

/* The last replica is started as a whole. */
static void check_launches(const struct cJSON *tree, const struct cJSON *plan,
			   struct laws_verdict *verdict)
{
	const bool unused = cJSON_GetArraySize(TREE_AT(plan, "memory", "requestsUnused")) > 0;
	int64_t sum = 0, largest = 0;

	TREE_EACH(group, TREE_AT(plan, "groups")) {
		int64_t count = started_for_requests(tree, plan, group);
		struct facts_amounts amounts;
		int64_t each;

		if (count == 0 ||
		    !facts_of_group(facts_group(tree, tree_text(group, "name")), &amounts))
			continue;
		each = accelerators(tree, &amounts);
		if (unused && each > 0)
			laws_break(verdict, "unused",
				   "group %s starts workers for a request that was unused",
				   tree_text(group, "name"));
		sum += each * count;
		largest = int64_max(largest, each);
	}
	if (sum > 0 && facts_setting(tree, "requests-ahead-of-use", -1) >= 0 &&
	    sum - largest >= may_start(tree, plan))
		laws_break(verdict, "unused",
			   "%lld accelerators start for requests, and %lld may begin to",
			   (long long)(sum / FACTS_UNIT),
			   (long long)(may_start(tree, plan) / FACTS_UNIT));
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
	if (plan && !TREE_AT(tree, "autoscaler", "spec", "schedules"))
		check_launches(tree, plan, verdict);
	cJSON_Delete(plan);
	cJSON_Delete(tree);
	return ends;
}
