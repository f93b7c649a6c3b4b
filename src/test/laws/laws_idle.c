/* Idle termination: see laws_check.h. A random snapshot is never idle as a whole, so one of eight is
 * made idle, and keeps each part that is in use with a chance of its own. */
#include "laws_check.h"
#include "laws_random.h"

#include "laws_facts.h"

#define SUSPEND_PATH "/spec/suspend"

/* ---- snapshots ---- */

static void set(struct cJSON *tree, const char *name, struct cJSON *value)
{
	cJSON_DeleteItemFromObjectCaseSensitive(tree, name);
	cJSON_AddItemToObject(tree, name, value);
}

static struct cJSON *member(struct cJSON *tree, const char *name)
{
	struct cJSON *found = TREE_AT(tree, name);

	return cJSON_IsObject(found) ? found : cJSON_AddObjectToObject(tree, name);
}

static void make_idle_node(struct cJSON *node)
{
	const struct cJSON *total = TREE_AT(node, "totalResources");

	if (!total || tree_is(node, "status", "DEAD"))
		return;
	set(node, "status", cJSON_CreateString("IDLE"));
	set(node, "idleDurationMs", cJSON_CreateString("5000000"));
	set(node, "availableResources", cJSON_Duplicate(total, true));
	cJSON_DeleteItemFromObjectCaseSensitive(node, "nodeActivity");
}

static void make_head_ready(struct cJSON *snapshot)
{
	struct cJSON *head = tree_first(TREE_AT(snapshot, "pods"));

	set(member(head, "status"), "conditions",
	    cJSON_Parse("[{\"type\":\"Ready\",\"status\":\"True\",\"lastTransitionTime\":"
			"\"2026-11-20T08:00:00Z\"}]"));
}

static void make_memory(struct cJSON *snapshot)
{
	set(member(snapshot, "memory"), "clusterIdle",
	    cJSON_Parse("[{\"key\":\"cluster\",\"since\":\"2026-11-20T09:00:00Z\",\"count\":0}]"));
}

void laws_idle_make(struct cJSON *snapshot, uint64_t seed)
{
	static const char *const lists[] = { "pendingResourceRequests",
					     "pendingGangResourceRequests",
					     "clusterResourceConstraints" };
	static const char *const works[] = {
		"{\"begun\":\"2026-11-20T10:00:00Z\"}",
		"{\"begun\":\"2026-11-20T10:00:00Z\"}",
		"{\"begun\":\"2026-11-20T10:00:00Z\",\"inUse\":\"driver 01 is connected\"}",
		"{\"begun\":\"2026-11-20T10:00:00Z\",\"problem\":\"no list\"}",
		"{\"begun\":\"2026-11-20T10:00:00Z\",\"ended\":\"2026-11-20T09:59:00Z\"}",
	};
	struct laws_random random;
	struct cJSON *state = TREE_AT(snapshot, "rayState");

	laws_random_init(&random, seed);
	if (laws_random_below(&random, 8) > 0 || !state)
		return;
	make_head_ready(snapshot);
	make_memory(snapshot);
	set(member(member(snapshot, "autoscaler"), "spec"), "idleTermination",
	    cJSON_Parse(laws_random_below(&random, 4) ? "{}" : "{\"action\":\"Delete\"}"));
	set(snapshot, "clusterWork", cJSON_Parse(works[laws_random_below(&random, 5)]));
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (laws_random_below(&random, 6))
			cJSON_DeleteItemFromObjectCaseSensitive(state, lists[i]);
	if (laws_random_below(&random, 6))
		cJSON_DeleteItemFromObjectCaseSensitive(TREE_AT(snapshot, "rayCluster", "metadata",
								"annotations"),
							"rayscaler.dev/request-resources");
	for (struct cJSON *node = tree_first(TREE_AT(state, "nodeStates")); node; node = node->next)
		if (laws_random_below(&random, 12))
			make_idle_node(node);
	if (laws_random_below(&random, 12) == 0)
		set(member(snapshot, "rayCluster"), "metadata",
		    cJSON_Parse("{\"namespace\":\"default\",\"name\":\"demo\",\"annotations\":{"
				"\"rayscaler.dev/suspended-by-idle-termination\":"
				"\"2026-11-20T08:00:00Z\"}}"));
	if (laws_random_below(&random, 12) == 0)
		set(TREE_AT(snapshot, "rayCluster", "spec"), "suspend", cJSON_CreateTrue());
}

/* ---- the law ---- */

static bool requests_anything(const struct cJSON *list)
{
	TREE_EACH(entry, list)
		if (tree_integer(entry, "count", 1) > 0)
			return true;
	return false;
}

static const char *use_of(const struct cJSON *snapshot)
{
	struct cJSON *asked = laws_asked(snapshot);
	bool annotated = tree_first(TREE_AT(asked, "annotation")) != NULL;

	cJSON_Delete(asked);
	TREE_EACH(node, TREE_AT(snapshot, "rayState", "nodeStates"))
		if (!tree_is(node, "status", "DEAD") &&
		    (!tree_is(node, "status", "IDLE") || !facts_node_is_unused(node)))
			return tree_text(node, "instanceId");
	if (requests_anything(TREE_AT(snapshot, "rayState", "pendingResourceRequests")))
		return "pending requests";
	if (tree_first(TREE_AT(snapshot, "rayState", "pendingGangResourceRequests")))
		return "pending placement groups";
	TREE_EACH(list, TREE_AT(snapshot, "rayState", "clusterResourceConstraints"))
		if (requests_anything(TREE_AT(list, "resourceRequests")))
			return "request_resources";
	if (tree_text(TREE_AT(snapshot, "clusterWork"), "inUse")[0])
		return "the lists of work";
	return annotated ? "the annotation" : NULL;
}

static bool has_op(const struct cJSON *plan, bool of_groups)
{
	TREE_EACH(op, TREE_AT(plan, "patch"))
		if (!strncmp(tree_text(op, "path"), "/spec/workerGroupSpecs", 22) == of_groups)
			return true;
	return false;
}

void laws_check_idle(const struct cJSON *snapshot, const struct cJSON *plan,
		     struct laws_verdict *verdict)
{
	const char *action = tree_text(TREE_AT(plan, "idleTermination"), "action");
	bool ends = !strcmp(action, "Suspend") || !strcmp(action, "Delete");
	bool suspended = cJSON_IsTrue(TREE_AT(snapshot, "rayCluster", "spec", "suspend"));
	const char *use = ends ? use_of(snapshot) : NULL;

	if (use)
		laws_break(verdict, "idle", "the cluster ends, although in use: %.100s", use);
	if (ends && tree_text(TREE_AT(snapshot, "clusterWork"), "problem")[0])
		laws_break(verdict, "idle", "the cluster ends, although a list is unknown");
	if (ends && (!laws_ray_was_read(plan) || laws_is_gated(plan)))
		laws_break(verdict, "idle", "the cluster ends without a reply of Ray");
	if (ends && has_op(plan, true))
		laws_break(verdict, "idle", "the cluster ends, and its groups are patched");
	if (suspended && laws_is_gated(plan) && has_op(plan, true))
		laws_break(verdict, "idle", "a suspended cluster is patched");
	if (suspended && has_op(plan, false) && strcmp(action, "Resume") != 0)
		laws_break(verdict, "idle", "a suspended cluster is patched without a resume");
}
