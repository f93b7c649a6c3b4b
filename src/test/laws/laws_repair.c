#include "laws_repair.h"

#include <stdio.h>

#include "base/memory.h"
#include "laws_case.h"
#include "laws_random.h"

#define MACHINES 4
#define TAINTED                                                                                    \
	"{\"metadata\":{\"name\":\"machine-%d\"},\"spec\":{\"taints\":[{\"key\":\"nvidia.com/"     \
	"gpu-xid-error\",\"effect\":\"NoSchedule\",\"timeAdded\":\"2026-11-20T09:5%d:00Z\"}]}}"

static void set(struct cJSON *object, const char *name, struct cJSON *value)
{
	cJSON_DeleteItemFromObjectCaseSensitive(object, name);
	cJSON_AddItemToObject(object, name, value);
}

/* ---- a snapshot with sick Nodes ---- */

static struct cJSON *make_nodes(struct laws_random *random)
{
	struct cJSON *nodes = cJSON_CreateArray();

	for (int i = 0; i < MACHINES; i++) {
		char text[sizeof(TAINTED) + 20];

		if (laws_random_below(random, 3) == 0)
			continue;
		snprintf(text, sizeof(text), TAINTED, i, laws_random_below(random, 10));
		cJSON_AddItemToArray(nodes, cJSON_Parse(text));
	}
	return nodes;
}

static void make_settings(struct cJSON *tree, struct laws_random *random)
{
	struct cJSON *settings = TREE_AT(tree, "settings");

	set(settings, "repair-max-unavailable", cJSON_CreateNumber(laws_random_below(random, 3)));
	if (laws_random_below(random, 2))
		set(settings, "repair-deletes", cJSON_CreateTrue());
}

/* Ray drains half of the workers, with a deadline that has passed or not. */
static void make_drained(struct cJSON *tree, struct laws_random *random)
{
	struct cJSON *memory = TREE_AT(tree, "memory"), *notified = cJSON_CreateArray();

	if (!memory)
		memory = cJSON_AddObjectToObject(tree, "memory");
	TREE_EACH(node, TREE_AT(tree, "rayState", "nodeStates")) {
		struct cJSON *mark;

		if (!tree_is(node, "status", "RUNNING") || laws_random_below(random, 2))
			continue;
		set((struct cJSON *)node, "status", cJSON_CreateString("DRAINING"));
		mark = cJSON_CreateObject();
		cJSON_AddStringToObject(mark, "key", tree_text(node, "instanceId"));
		cJSON_AddStringToObject(mark, "since", "2026-11-20T09:59:00Z");
		cJSON_AddNumberToObject(mark, "count",
					1795168800 + (laws_random_below(random, 2) ? 30 : -30));
		cJSON_AddItemToArray(notified, mark);
	}
	set(memory, "notified", notified);
}

static struct cJSON *make_sick(const struct cJSON *snapshot, struct laws_random *random)
{
	struct cJSON *tree = cJSON_Duplicate(snapshot, true);

	set(tree, "nodes", make_nodes(random));
	make_settings(tree, random);
	make_drained(tree, random);
	return tree;
}

/* ---- the law ---- */

static const struct cJSON *repaired_node(const struct cJSON *plan, const char *name)
{
	TREE_EACH(node, TREE_AT(plan, "repair", "nodes"))
		if (tree_is(node, "node", name))
			return node;
	return NULL;
}

static void check_limit(const struct cJSON *tree, const struct cJSON *plan,
			struct laws_verdict *verdict)
{
	int64_t most = tree_integer(TREE_AT(tree, "settings"), "repair-max-unavailable", 1);
	int64_t begun = 0;

	TREE_EACH(node, TREE_AT(plan, "repair", "nodes"))
		begun += tree_is(node, "state", "Begun");
	if (begun > most)
		laws_break(verdict, "repair", "%lld Nodes are emptied at once, %lld may be",
			   (long long)begun, (long long)most);
}

/* The drain of this Pod has a deadline that has passed. */
static bool has_had_its_time(const struct cJSON *tree, const char *pod)
{
	TREE_EACH(mark, TREE_AT(tree, "memory", "notified"))
		if (tree_is(mark, "key", pod))
			return tree_integer(mark, "count", INT64_MAX) <= 1795168800;
	return false;
}

static void check_item(const struct cJSON *tree, const struct cJSON *plan, const struct cJSON *item,
		       struct laws_verdict *verdict)
{
	const char *name = tree_text(item, "pod");
	const struct cJSON *node = facts_living_node(tree, name);
	const struct cJSON *pod = facts_pod(tree, name);
	const struct cJSON *sick = repaired_node(plan, tree_text(TREE_AT(pod, "spec"), "nodeName"));

	if (!tree_is(item, "reason", "Leaving") || TREE_AT(pod, "metadata", "deletionTimestamp"))
		return;
	/* The sign of any host, and the earliest deadline, count for a replica. */
	if (facts_hosts(facts_group(tree, facts_pod_label(pod, "ray.io/group"))) > 1)
		return;
	if (!tree_is(sick, "state", "Begun"))
		laws_break(verdict, "repair", "Pod %s leaves, and its Node is not emptied", name);
	if (tree_is(item, "action", "drain"))
		return;
	if (!cJSON_IsTrue(TREE_AT(tree, "settings", "repair-deletes")) ||
	    !tree_is(node, "status", "DRAINING") || !has_had_its_time(tree, name))
		laws_break(verdict, "repair", "Pod %s is stopped before its deadline", name);
}

/* The next decision empties the same Nodes. */
static void check_again(const struct cJSON *tree, const struct cJSON *plan,
			struct laws_verdict *verdict)
{
	struct cJSON *next = cJSON_Duplicate(tree, true), *again;
	AUTO(memory_free_string) char *text = NULL;

	set(next, "memory", cJSON_Duplicate(TREE_AT(plan, "memory"), true));
	text = laws_case_plan(next, false, verdict);
	again = text ? cJSON_Parse(text) : NULL;
	check_limit(tree, again, verdict);
	TREE_EACH(node, TREE_AT(plan, "repair", "nodes"))
		if (tree_is(node, "state", "Begun") &&
		    !tree_is(repaired_node(again, tree_text(node, "node")), "state", "Begun"))
			laws_break(verdict, "repair", "Node %s is emptied no longer",
				   tree_text(node, "node"));
	cJSON_Delete(again);
	cJSON_Delete(next);
}

bool laws_repair_check(const struct cJSON *snapshot, uint64_t seed, struct laws_verdict *verdict)
{
	AUTO(memory_free_string) char *text = NULL;
	struct laws_random random;
	struct cJSON *tree, *plan;
	bool acts = false;

	laws_random_init(&random, ~seed * 3);
	if (laws_random_below(&random, 3) || !TREE_AT(snapshot, "settings"))
		return false;
	tree = make_sick(snapshot, &random);
	text = laws_case_plan(tree, false, verdict);
	plan = text ? cJSON_Parse(text) : NULL;
	if (plan && laws_case_fault)
		laws_case_fault(plan);
	check_limit(tree, plan, verdict);
	TREE_EACH(group, TREE_AT(plan, "groups"))
		TREE_EACH(item, TREE_AT(group, "toTerminate"))
			check_item(tree, plan, item, verdict);
	if (!verdict->law)
		check_again(tree, plan, verdict);
	TREE_EACH(node, TREE_AT(plan, "repair", "nodes"))
		acts = acts || tree_is(node, "state", "Begun");
	cJSON_Delete(plan);
	cJSON_Delete(tree);
	return acts;
}
