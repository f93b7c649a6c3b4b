#include "laws_keeps.h"

#include <math.h>

#include "base/memory.h"
#include "laws_apply.h"
#include "laws_case.h"
#include "laws_random.h"

static void set(struct cJSON *object, const char *name, struct cJSON *value)
{
	cJSON_DeleteItemFromObjectCaseSensitive(object, name);
	cJSON_AddItemToObject(object, name, value);
}

/* ---- a snapshot in which a placement group may wait ---- */

static bool is_living_worker(const struct cJSON *node)
{
	return (tree_is(node, "status", "RUNNING") || tree_is(node, "status", "IDLE")) &&
	       TREE_AT(node, "totalResources") && !tree_is(node, "rayNodeTypeName", "headgroup");
}

static void set_amounts(struct cJSON *node, bool free)
{
	struct cJSON *available = cJSON_Duplicate(TREE_AT(node, "totalResources"), true);

	for (struct cJSON *amount = available->child; amount && !free; amount = amount->next)
		cJSON_SetNumberValue(amount, 0);
	set(node, "availableResources", available);
}

/* Half of the workers are idle for too long, the others are in use. */
static void make_busy(struct cJSON *nodes, struct laws_random *random)
{
	for (struct cJSON *node = tree_first(nodes); node; node = node->next) {
		bool idle = laws_random_below(random, 2) == 0;

		if (!is_living_worker(node))
			continue;
		set(node, "status", cJSON_CreateString(idle ? "IDLE" : "RUNNING"));
		set(node, "idleDurationMs", cJSON_CreateString(idle ? "5000000" : "0"));
		set_amounts(node, idle);
	}
}

/* Half of the groups have few workers more than they may have. */
static void lower_maxima(struct cJSON *tree, struct laws_random *random)
{
	TREE_EACH(group, facts_groups(tree)) {
		int64_t replicas = facts_kept_pods(tree, group) / facts_hosts(group) +
				   laws_random_below(random, 3);

		if (laws_random_below(random, 2))
			set((struct cJSON *)group, "maxReplicas",
			    cJSON_CreateNumber(replicas > 0 ? (double)replicas : 1));
	}
}

/* A bundle with one or all resources of a living worker. */
static struct cJSON *make_bundle(const struct cJSON *node, struct laws_random *random)
{
	const struct cJSON *total = TREE_AT(node, "totalResources");
	struct cJSON *bundle = cJSON_CreateObject();
	int count = cJSON_GetArraySize(total);
	int only = laws_random_below(random, 2) && count > 0 ? laws_random_below(random, count) :
							       -1;
	int at = 0;

	TREE_EACH(amount, total)
		if ((only < 0 || at++ == only) && cJSON_IsNumber(amount) &&
		    strncmp(amount->string, "node:", 5) != 0)
			cJSON_AddNumberToObject(bundle, amount->string, floor(amount->valuedouble));
	return bundle;
}

static struct cJSON *make_gang(const struct cJSON *nodes, struct laws_random *random)
{
	struct cJSON *gang = cJSON_Parse("{\"details\":\"pg\",\"requests\":[]}");
	bool spread = laws_random_below(random, 3) == 0;
	int count = cJSON_GetArraySize(nodes);

	for (int i = 2 + laws_random_below(random, 5); i > 0; i--) {
		const struct cJSON *node =
			cJSON_GetArrayItem(nodes, laws_random_below(random, count));
		struct cJSON *request;

		if (!is_living_worker(node))
			continue;
		request = cJSON_CreateObject();
		cJSON_AddItemToObject(request, "resourcesBundle", make_bundle(node, random));
		if (spread)
			cJSON_AddItemToObject(request, "placementConstraints",
					      cJSON_Parse("[{\"antiAffinity\":{\"labelName\":"
							  "\"_PG_00\",\"labelValue\":\"\"}}]"));
		cJSON_AddItemToArray(TREE_AT(gang, "requests"), request);
	}
	return gang;
}

/* One placement group, other demand never waits for workers; NULL: Ray knows no nodes. */
static struct cJSON *make_waiting(const struct cJSON *snapshot, uint64_t seed)
{
	struct cJSON *tree, *state, *nodes, *gangs;
	struct laws_random random;

	if (cJSON_GetArraySize(TREE_AT(snapshot, "rayState", "nodeStates")) == 0)
		return NULL;
	laws_random_init(&random, seed);
	tree = cJSON_Duplicate(snapshot, true);
	state = TREE_AT(tree, "rayState");
	nodes = TREE_AT(state, "nodeStates");
	make_busy(nodes, &random);
	lower_maxima(tree, &random);
	gangs = cJSON_CreateArray();
	cJSON_AddItemToArray(gangs, make_gang(nodes, &random));
	set(state, "pendingGangResourceRequests", gangs);
	set(state, "pendingResourceRequests", cJSON_CreateArray());
	/* A wait that ends is the law "halves". */
	if (!TREE_AT(tree, "settings"))
		cJSON_AddObjectToObject(tree, "settings");
	set(TREE_AT(tree, "settings"), "gang-hold-seconds", cJSON_CreateNumber(0));
	return tree;
}

/* ---- the law ---- */

static struct cJSON *plan_of(const struct cJSON *tree, struct laws_verdict *verdict)
{
	AUTO(memory_free_string) char *text = laws_case_plan(tree, true, verdict);

	return text ? cJSON_Parse(text) : NULL;
}

/* All running work ends. */
static void end_work(struct cJSON *tree)
{
	TREE_EACH(node, TREE_AT(tree, "rayState", "nodeStates")) {
		struct cJSON *total = TREE_AT(node, "totalResources");

		if (total &&
		    (tree_is(node, "status", "RUNNING") || tree_is(node, "status", "IDLE")))
			set((struct cJSON *)node, "availableResources",
			    cJSON_Duplicate(total, true));
	}
}

static bool is_waiting(const struct cJSON *plan)
{
	TREE_EACH(entry, TREE_AT(plan, "unserved"))
		if (tree_is(entry, "kind", "gang"))
			return true;
	return false;
}

/* Workers that the placement group is placed on; `of` NULL: launched ones, else those that the plan
 * `of` drains because they are idle. */
static int count_places(const struct cJSON *plan, const struct cJSON *of)
{
	int count = 0;

	TREE_EACH(place, TREE_AT(plan, "placements")) {
		const char *worker = tree_text(place, "worker");
		bool counts = !of && strncmp(worker, "new-", 4) == 0;

		TREE_EACH(group, TREE_AT(of, "groups"))
			TREE_EACH(item, TREE_AT(group, "toTerminate"))
				counts = counts || (tree_is(item, "pod", worker) &&
						    tree_is(item, "reason", "Idle"));
		TREE_EACH(item, TREE_AT(place, "requests"))
			if (counts && tree_is(item, "kind", "gang")) {
				count++;
				break;
			}
	}
	return count;
}

static bool keeps_any(const struct cJSON *plan)
{
	TREE_EACH(worker, TREE_AT(plan, "workers"))
		if (tree_is(worker, "reason", "NeededByPlacementGroup"))
			return true;
	return false;
}

static bool drains_any(const struct cJSON *plan)
{
	TREE_EACH(group, TREE_AT(plan, "groups"))
		TREE_EACH(item, TREE_AT(group, "toTerminate"))
			if (tree_is(item, "reason", "Idle"))
				return true;
	return false;
}

/* Compares the second decision with the one in which the drained workers have stayed. */
static void check_drained(const struct cJSON *tree, const struct cJSON *first,
			  struct laws_verdict *verdict)
{
	struct cJSON *after = laws_apply_all(tree, first), *kept = cJSON_Duplicate(tree, true);
	struct cJSON *second, *best;

	end_work(after);
	end_work(kept);
	second = plan_of(after, verdict);
	best = plan_of(kept, verdict);
	if (!is_waiting(best) && count_places(best, first) > 0 &&
	    count_places(second, NULL) > count_places(best, NULL))
		laws_break(verdict, "keeps",
			   "%d workers are launched for a placement group that waited, %d with the "
			   "drained ones",
			   count_places(second, NULL), count_places(best, NULL));
	cJSON_Delete(second);
	cJSON_Delete(best);
	cJSON_Delete(after);
	cJSON_Delete(kept);
}

bool laws_keeps_check(const struct cJSON *snapshot, uint64_t seed, struct laws_verdict *verdict)
{
	struct cJSON *tree = make_waiting(snapshot, seed), *first;
	bool acts = false;

	if (!tree)
		return false;
	first = plan_of(tree, verdict);
	if (first && laws_case_fault)
		laws_case_fault(first);
	if (first && is_waiting(first)) {
		acts = keeps_any(first) || drains_any(first);
		if (drains_any(first))
			check_drained(tree, first, verdict);
	}
	cJSON_Delete(first);
	cJSON_Delete(tree);
	return acts;
}
