#include "laws_identity.h"

#include <stdio.h>

#include "base/memory.h"
#include "laws_case.h"
#include "laws_tree.h"

#define OWN_UID "u-law"

static void set_owner(struct cJSON *pod, const char *uid)
{
	struct cJSON *metadata = TREE_AT(pod, "metadata"), *list, *owner;

	cJSON_DeleteItemFromObjectCaseSensitive(metadata, "ownerReferences");
	list = cJSON_AddArrayToObject(metadata, "ownerReferences");
	if (!uid)
		return;
	owner = cJSON_CreateObject();
	cJSON_AddStringToObject(owner, "apiVersion", "ray.io/v1");
	cJSON_AddStringToObject(owner, "kind", "RayCluster");
	cJSON_AddStringToObject(owner, "name", "demo");
	cJSON_AddStringToObject(owner, "uid", uid);
	cJSON_AddTrueToObject(owner, "controller");
	cJSON_AddItemToArray(list, owner);
}

/* As the operator makes them: all Pods have the owner reference. */
static struct cJSON *owned(const struct cJSON *snapshot)
{
	struct cJSON *tree = cJSON_Duplicate(snapshot, true);
	struct cJSON *metadata = TREE_AT(tree, "rayCluster", "metadata");

	cJSON_DeleteItemFromObjectCaseSensitive(metadata, "uid");
	cJSON_AddStringToObject(metadata, "uid", OWN_UID);
	for (struct cJSON *pod = tree_first(TREE_AT(tree, "pods")); pod; pod = pod->next)
		set_owner(pod, OWN_UID);
	return tree;
}

static void rename_pod(struct cJSON *pod, const char *prefix)
{
	struct cJSON *name = TREE_AT(pod, "metadata", "name");
	char text[300];

	(void)snprintf(text, sizeof(text), "%s%s", prefix, name->valuestring);
	cJSON_SetValuestring(name, text);
}

/* Beside each Pod a copy whose name sorts before it, without an owner or of another RayCluster. */
static void add_forged(struct cJSON *tree, uint64_t seed)
{
	struct cJSON *pods = TREE_AT(tree, "pods");
	struct cJSON *copies = cJSON_Duplicate(pods, true);

	for (struct cJSON *pod; (pod = cJSON_DetachItemFromArray(copies, 0)); seed++) {
		rename_pod(pod, "0-");
		set_owner(pod, seed % 2 ? "u-other" : NULL);
		cJSON_AddItemToArray(pods, pod);
	}
	cJSON_Delete(copies);
}

static bool is_head(const struct cJSON *tree, const struct cJSON *pod)
{
	const char *cluster = tree_text(TREE_AT(tree, "rayCluster", "metadata"), "name");
	struct cJSON *labels = TREE_AT(pod, "metadata", "labels");

	return tree_is(labels, "ray.io/node-type", "head") &&
	       tree_is(labels, "ray.io/cluster", cluster);
}

/* A head Pod that stays; NULL: there is none. */
static struct cJSON *head_of(const struct cJSON *tree)
{
	for (struct cJSON *pod = tree_first(TREE_AT(tree, "pods")); pod; pod = pod->next)
		if (is_head(tree, pod) && !TREE_AT(pod, "metadata", "deletionTimestamp"))
			return pod;
	return NULL;
}

static struct cJSON *add_second_head(struct cJSON *tree)
{
	struct cJSON *second = cJSON_Duplicate(head_of(tree), true);

	rename_pod(second, "0-second-");
	cJSON_AddItemToArray(TREE_AT(tree, "pods"), second);
	return second;
}

static struct cJSON *object_in(struct cJSON *tree, const char *name)
{
	struct cJSON *found = cJSON_GetObjectItemCaseSensitive(tree, name);

	return found ? found : cJSON_AddObjectToObject(tree, name);
}

static void set_ready(struct cJSON *pod, bool ready)
{
	struct cJSON *status = object_in(pod, "status"), *condition = cJSON_CreateObject();

	cJSON_DeleteItemFromObjectCaseSensitive(status, "phase");
	cJSON_AddStringToObject(status, "phase", "Running");
	cJSON_DeleteItemFromObjectCaseSensitive(status, "conditions");
	cJSON_AddStringToObject(condition, "type", "Ready");
	cJSON_AddStringToObject(condition, "status", ready ? "True" : "False");
	cJSON_AddItemToArray(cJSON_AddArrayToObject(status, "conditions"), condition);
}

/* The head is the active one of active-passive heads. */
static void make_active(struct cJSON *tree, uint64_t seed)
{
	static const char *const names[] = { "activePassiveHead", "activePassiveOptions" };
	struct cJSON *cluster = TREE_AT(tree, "rayCluster"), *head = head_of(tree);
	struct cJSON *gcs = object_in(object_in(cluster, "spec"), "gcsFaultToleranceOptions");
	struct cJSON *status = object_in(object_in(cluster, "status"), "head");

	cJSON_AddTrueToObject(object_in(gcs, names[seed % 2]), "enable");
	cJSON_DeleteItemFromObjectCaseSensitive(status, "podName");
	cJSON_AddStringToObject(status, "podName", tree_text(TREE_AT(head, "metadata"), "name"));
	set_ready(head, true);
}

/* The plan without the condition ForeignPods. */
static struct cJSON *plan_of(const struct cJSON *tree, struct laws_verdict *verdict)
{
	AUTO(memory_free_string) char *text = laws_case_plan(tree, false, verdict);
	struct cJSON *plan = text ? cJSON_Parse(text) : NULL;
	struct cJSON *conditions = TREE_AT(plan, "conditions");

	for (int i = cJSON_GetArraySize(conditions); i-- > 0;)
		if (tree_is(cJSON_GetArrayItem(conditions, i), "type", "ForeignPods"))
			cJSON_DeleteItemFromArray(conditions, i);
	return plan;
}

static void check_same(const struct cJSON *a, const struct cJSON *b, const char *what,
		       struct laws_verdict *verdict)
{
	char *left = cJSON_PrintUnformatted(a), *right = cJSON_PrintUnformatted(b);
	size_t at = 0;

	while (left[at] && left[at] == right[at])
		at++;
	if (left[at] != right[at]) {
		at = at > 60 ? at - 60 : 0;
		laws_break(verdict, "identity", "%s: ...%.120s... against ...%.120s...", what,
			   left + at, right + at);
	}
	cJSON_free(left);
	cJSON_free(right);
}

static void check_terminates_nothing(const struct cJSON *tree, const char *what,
				     struct laws_verdict *verdict)
{
	struct cJSON *plan = plan_of(tree, verdict);

	TREE_EACH(group, TREE_AT(plan, "groups"))
		if (cJSON_GetArraySize(TREE_AT(group, "toTerminate")) > 0)
			laws_break(verdict, "identity", "terminates beside %s", what);
	cJSON_Delete(plan);
}

/* A passive head changes nothing; a second one that is Ready forbids termination. */
static void check_active_passive(const struct cJSON *owned_tree, uint64_t seed,
				 struct laws_verdict *verdict)
{
	struct cJSON *tree = cJSON_Duplicate(owned_tree, true), *alone, *beside, *second;

	make_active(tree, seed);
	alone = plan_of(tree, verdict);
	second = add_second_head(tree);
	set_ready(second, false);
	beside = plan_of(tree, verdict);
	if (alone && beside && !tree_is(TREE_AT(tree, "settings"), "mode", "sidecar"))
		check_same(alone, beside, "beside a passive head Pod", verdict);
	set_ready(second, true);
	check_terminates_nothing(tree, "a second head Pod that is Ready", verdict);
	cJSON_Delete(beside);
	cJSON_Delete(alone);
	cJSON_Delete(tree);
}

static size_t count_heads(const struct cJSON *tree)
{
	size_t count = 0;

	TREE_EACH(pod, TREE_AT(tree, "pods"))
		count += is_head(tree, pod);
	return count;
}

void laws_identity_check(const struct cJSON *snapshot, uint64_t seed, struct laws_verdict *verdict)
{
	struct cJSON *tree = owned(snapshot);
	struct cJSON *first = plan_of(snapshot, verdict), *own = plan_of(tree, verdict), *forged;

	if (head_of(tree) && count_heads(tree) == 1)
		check_active_passive(tree, seed, verdict);
	add_forged(tree, seed);
	forged = plan_of(tree, verdict);
	if (first && own && forged) {
		check_same(first, own, "with owner references", verdict);
		check_same(own, forged, "beside forged Pods", verdict);
	}
	if (head_of(tree)) {
		add_second_head(tree);
		check_terminates_nothing(tree, "a second head Pod", verdict);
	}
	cJSON_Delete(forged);
	cJSON_Delete(first);
	cJSON_Delete(own);
	cJSON_Delete(tree);
}
