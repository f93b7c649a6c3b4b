#include "laws_apply.h"

#include <stdio.h>

#include "laws_check.h"
#include "laws_random.h"

#define HOSTS_MAX 64

/* ---- shuffle ---- */

#define CHILDREN_MAX 1024

/* Returns how many, 0 when there are too many. */
static int list_children(const struct cJSON *list, struct cJSON **items)
{
	int count = 0;

	for (struct cJSON *item = list->child; item; item = item->next) {
		if (count == CHILDREN_MAX)
			return 0;
		items[count++] = item;
	}
	return count;
}

static void set_children(struct cJSON *list, struct cJSON *const *items, int count)
{
	for (int i = 0; i < count; i++) {
		items[i]->next = i + 1 < count ? items[i + 1] : NULL;
		items[i]->prev = i > 0 ? items[i - 1] : items[count - 1];
	}
	list->child = items[0];
}

static void shuffle_children(struct cJSON *list, struct laws_random *random)
{
	struct cJSON *items[CHILDREN_MAX];
	int count = list_children(list, items);

	for (int i = count - 1; i > 0; i--) {
		int j = laws_random_below(random, i + 1);
		struct cJSON *swap = items[i];

		items[i] = items[j];
		items[j] = swap;
	}
	if (count > 0)
		set_children(list, items, count);
}

static void shuffle_members(struct cJSON *tree, struct laws_random *random)
{
	if (cJSON_IsObject(tree))
		shuffle_children(tree, random);
	for (struct cJSON *child = tree->child; child; child = child->next)
		shuffle_members(child, random);
}

/* Gangs with the same key tie in Ray's order. */
static int64_t gang_key(const struct cJSON *gang)
{
	const struct cJSON *requests = TREE_AT(gang, "requests");
	int64_t constraints = 0;

	TREE_EACH(request, requests)
		constraints += cJSON_GetArraySize(TREE_AT(request, "placementConstraints"));
	return constraints * CHILDREN_MAX + cJSON_GetArraySize(requests);
}

/* Those that tie keep their order. */
static void shuffle_gangs(struct cJSON *gangs, struct laws_random *random)
{
	struct cJSON *was[CHILDREN_MAX], *items[CHILDREN_MAX];
	int count = list_children(gangs, was);

	if (count == 0)
		return;
	shuffle_children(gangs, random);
	list_children(gangs, items);
	for (int i = 0; i < count; i++) {
		int64_t key = gang_key(items[i]);
		int next = 0;

		while (!was[next] || gang_key(was[next]) != key)
			next++;
		items[i] = was[next];
		was[next] = NULL;
	}
	set_children(gangs, items, count);
}

struct cJSON *laws_apply_shuffle(const struct cJSON *snapshot, uint64_t seed)
{
	struct cJSON *tree = cJSON_Duplicate(snapshot, true);
	struct laws_random random;
	struct cJSON *gangs = TREE_AT(tree, "rayState", "pendingGangResourceRequests");
	struct cJSON *lists[] = {
		TREE_AT(tree, "pods"),
		TREE_AT(tree, "events"),
		TREE_AT(tree, "rayState", "nodeStates"),
		TREE_AT(tree, "rayState", "pendingResourceRequests"),
		(struct cJSON *)laws_received(tree, "constraint", "ray"),
	};

	laws_random_init(&random, seed);
	shuffle_members(tree, &random);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (lists[i])
			shuffle_children(lists[i], &random);
	if (gangs)
		shuffle_gangs(gangs, &random);
	return tree;
}

/* ---- the patch ---- */

static void set(struct cJSON *object, const char *name, struct cJSON *value)
{
	cJSON_DeleteItemFromObjectCaseSensitive(object, name);
	cJSON_AddItemToObject(object, name, value);
}

static struct cJSON *copy_of(const struct cJSON *tree)
{
	return tree ? cJSON_Duplicate(tree, true) : NULL;
}

/* Of the RayCluster itself: its suspension. */
static void apply_suspend_op(struct cJSON *cluster, const struct cJSON *op)
{
	static const char annotation[] = "rayscaler.dev/suspended-by-idle-termination";
	struct cJSON *metadata = TREE_AT(cluster, "metadata");
	struct cJSON *value = TREE_AT(op, "value");

	if (tree_is(op, "op", "test"))
		return;
	if (tree_is(op, "path", "/spec/suspend"))
		set(TREE_AT(cluster, "spec"), "suspend", copy_of(value));
	else if (tree_is(op, "path", "/metadata/annotations"))
		set(metadata, "annotations", copy_of(value));
	else if (value)
		set(TREE_AT(metadata, "annotations"), annotation, copy_of(value));
	else
		cJSON_DeleteItemFromObjectCaseSensitive(TREE_AT(metadata, "annotations"),
							annotation);
}

static void apply_op(struct cJSON *groups, const struct cJSON *op)
{
	static const char start[] = "/spec/workerGroupSpecs/";
	struct cJSON *group, *strategy;
	char *member;
	long index;

	if (!tree_is(op, "op", "add"))
		return;
	index = strtol(tree_text(op, "path") + sizeof(start) - 1, &member, 10);
	group = cJSON_GetArrayItem(groups, (int)index);
	if (strcmp(member, "/replicas") == 0) {
		set(group, "replicas", copy_of(TREE_AT(op, "value")));
	} else if (strcmp(member, "/scaleStrategy") == 0) {
		set(group, "scaleStrategy", copy_of(TREE_AT(op, "value")));
	} else if (strcmp(member, "/scaleStrategy/workersToDelete") == 0) {
		strategy = TREE_AT(group, "scaleStrategy");
		set(strategy, "workersToDelete", copy_of(TREE_AT(op, "value")));
	}
}

/* Subtracts the launched GPUs from the budget for all clusters. */
static void spend_budget(struct cJSON *tree, const struct cJSON *plan)
{
	struct cJSON *budget = TREE_AT(tree, "gpuBudget");
	struct facts_amounts amounts;
	int64_t spent = 0;

	if (!budget)
		return;
	TREE_EACH(planned, TREE_AT(plan, "groups"))
		if (facts_of_group(facts_group(tree, tree_text(planned, "name")), &amounts))
			spent += tree_integer(planned, "toLaunch", 0) *
				 facts_amount(&amounts, "GPU") / FACTS_UNIT;
	spent = (int64_t)budget->valuedouble - spent;
	cJSON_SetNumberValue(budget, (double)(spent > 0 ? spent : 0));
}

struct cJSON *laws_apply_patch(const struct cJSON *snapshot, const struct cJSON *plan)
{
	struct cJSON *tree = cJSON_Duplicate(snapshot, true);

	TREE_EACH(op, TREE_AT(plan, "patch")) {
		if (strncmp(tree_text(op, "path"), "/spec/worker", strlen("/spec/worker")) == 0)
			apply_op((struct cJSON *)facts_groups(tree), op);
		else
			apply_suspend_op(TREE_AT(tree, "rayCluster"), op);
	}
	set(tree, "memory", copy_of(TREE_AT(plan, "memory")));
	spend_budget(tree, plan);
	return tree;
}

/* ---- terminations ---- */

static void remove_nodes(struct cJSON *tree, const char *pod)
{
	struct cJSON *nodes = TREE_AT(tree, "rayState", "nodeStates");

	for (struct cJSON *node = nodes ? nodes->child : NULL, *next; node; node = next) {
		next = node->next;
		if (tree_is(node, "instanceId", pod))
			cJSON_Delete(cJSON_DetachItemViaPointer(nodes, node));
	}
}

static bool is_named(const struct cJSON *plan, const struct cJSON *pod)
{
	const char *name = tree_text(TREE_AT(pod, "metadata"), "name");

	TREE_EACH(planned, TREE_AT(plan, "groups")) {
		TREE_EACH(item, TREE_AT(planned, "toTerminate")) {
			if (tree_is(item, "pod", name) && !laws_is_notified(item))
				return true;
		}
	}
	return false;
}

/* Whether the Pod is terminated: it is named, or its replica of several hosts has a named Pod. A
 * replica is terminated as a whole in the end. */
static bool goes(const struct cJSON *snapshot, const struct cJSON *plan, const struct cJSON *pod)
{
	const char *replica = facts_pod_label(pod, "ray.io/worker-group-replica-name");
	const struct cJSON *group = facts_group(snapshot, facts_pod_label(pod, "ray.io/group"));

	if (!facts_pod_is_worker(pod) || !group || facts_group_is_frozen(snapshot, group))
		return false;
	if (facts_pod_leaves(group, pod) || is_named(plan, pod))
		return true;
	TREE_EACH(mate, TREE_AT(snapshot, "pods")) {
		if (*replica && is_named(plan, mate) &&
		    strcmp(replica, facts_pod_label(mate, "ray.io/worker-group-replica-name")) == 0)
			return true;
	}
	return false;
}

/* Named in workersToDelete by this plan. */
static bool leaves_now(const struct cJSON *tree, const struct cJSON *pod)
{
	const struct cJSON *group = facts_group(tree, facts_pod_label(pod, "ray.io/group"));

	return facts_pod_is_worker(pod) && group && facts_pod_leaves(group, pod) &&
	       !facts_group_is_frozen(tree, group);
}

/* Reads the replicas from the snapshot: in the tree they are incomplete once Pods are removed. */
static void remove_pods(struct cJSON *tree, const struct cJSON *snapshot, const struct cJSON *plan)
{
	struct cJSON *pods = TREE_AT(tree, "pods");

	for (struct cJSON *pod = pods ? pods->child : NULL, *next; pod; pod = next) {
		next = pod->next;
		if (!goes(snapshot, plan, pod) && !leaves_now(tree, pod))
			continue;
		remove_nodes(tree, tree_text(TREE_AT(pod, "metadata"), "name"));
		cJSON_Delete(cJSON_DetachItemViaPointer(pods, pod));
	}
}

/* ---- launches ---- */

static void add_running_pod(struct cJSON *tree, const struct cJSON *group, const char *name,
			    const char *replica)
{
	struct cJSON *pods = TREE_AT(tree, "pods"), *pod = cJSON_CreateObject();
	struct cJSON *metadata = cJSON_AddObjectToObject(pod, "metadata");
	struct cJSON *labels = cJSON_AddObjectToObject(metadata, "labels");
	struct cJSON *status = cJSON_AddObjectToObject(pod, "status");
	struct cJSON *statuses = cJSON_AddArrayToObject(status, "containerStatuses");
	struct cJSON *ray = cJSON_CreateObject(), *running;

	cJSON_AddStringToObject(metadata, "namespace", "default");
	cJSON_AddStringToObject(metadata, "name", name);
	cJSON_AddStringToObject(labels, "ray.io/cluster", "demo");
	cJSON_AddStringToObject(labels, "ray.io/node-type", "worker");
	cJSON_AddStringToObject(labels, "ray.io/group", tree_text(group, "groupName"));
	if (replica)
		cJSON_AddStringToObject(labels, "ray.io/worker-group-replica-name", replica);
	cJSON_AddItemToObject(pod, "spec", cJSON_Parse("{\"containers\":[{\"name\":\"ray\"}]}"));
	cJSON_AddStringToObject(status, "phase", "Running");
	cJSON_AddItemToArray(statuses, ray);
	cJSON_AddStringToObject(ray, "name", "ray");
	running = cJSON_AddObjectToObject(cJSON_AddObjectToObject(ray, "state"), "running");
	cJSON_AddStringToObject(running, "startedAt", tree_text(tree, "now"));
	cJSON_AddItemToArray(pods, pod);
}

static void add_free_node(struct cJSON *tree, const struct cJSON *group, const char *name,
			  int number)
{
	struct cJSON *node = cJSON_CreateObject(), *total;
	struct facts_amounts amounts;
	char id[64];

	snprintf(id, sizeof(id),
		 "z%c%cAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQ==", 'A' + number / 26 % 26,
		 'a' + number % 26);
	cJSON_AddStringToObject(node, "nodeId", id);
	cJSON_AddStringToObject(node, "instanceId", name);
	cJSON_AddStringToObject(node, "rayNodeTypeName", tree_text(group, "groupName"));
	cJSON_AddStringToObject(node, "status", "RUNNING");
	total = cJSON_AddObjectToObject(node, "totalResources");
	facts_of_group(group, &amounts);
	for (size_t i = 0; i < amounts.count; i++)
		cJSON_AddNumberToObject(total, amounts.at[i].name,
					(double)amounts.at[i].amount / FACTS_UNIT);
	cJSON_AddItemToObject(node, "availableResources", cJSON_Duplicate(total, true));
	cJSON_AddItemToObject(node, "labels", copy_of(TREE_AT(group, "labels")));
	if (!cJSON_AddItemToArray(TREE_AT(tree, "rayState", "nodeStates"), node))
		cJSON_Delete(node); /* Ray is unreachable */
}

/* Hosts that the replica of this Pod still has, the Pod being the first of them; 0 for the others. */
static int64_t hosts_there(const struct cJSON *tree, const struct cJSON *first)
{
	const char *replica = facts_pod_label(first, "ray.io/worker-group-replica-name");
	int64_t count = 0;

	TREE_EACH(pod, TREE_AT(tree, "pods")) {
		if (strcmp(facts_pod_label(pod, "ray.io/worker-group-replica-name"), replica) != 0)
			continue;
		if (count == 0 && pod != first)
			return 0;
		count++;
	}
	return count;
}

static void add_worker(struct cJSON *tree, const struct cJSON *group, const char *replica,
		       int *made)
{
	char name[64];

	snprintf(name, sizeof(name), "%s-new-%02d", tree_text(group, "groupName"), *made);
	add_running_pod(tree, group, name, replica);
	add_free_node(tree, group, name, (*made)++);
}

/* Recreates the lost hosts of replicas first, then adds whole replicas. */
static void add_missing(struct cJSON *tree, const struct cJSON *group, int64_t missing, int *made)
{
	int64_t hosts = facts_hosts(group);
	char replica[64];

	TREE_EACH(pod, TREE_AT(tree, "pods")) {
		int64_t there = hosts > 1 && tree_is(group, "groupName",
						     facts_pod_label(pod, "ray.io/group")) ?
					hosts_there(tree, pod) :
					0;

		for (; there > 0 && there < hosts && missing > 0; there++, missing--)
			add_worker(tree, group,
				   facts_pod_label(pod, "ray.io/worker-group-replica-name"), made);
	}
	for (int64_t i = 0; i < missing; i++) {
		snprintf(replica, sizeof(replica), "%s-new-%d", tree_text(group, "groupName"),
			 (int)(i / hosts));
		add_worker(tree, group, hosts > 1 ? replica : NULL, made);
	}
}

static bool is_backed_off(const struct cJSON *plan, const struct cJSON *group)
{
	TREE_EACH(planned, TREE_AT(plan, "groups"))
		if (tree_is(planned, "name", tree_text(group, "groupName")))
			return cJSON_IsObject(TREE_AT(planned, "backoff"));
	return false;
}

struct cJSON *laws_apply_all(const struct cJSON *snapshot, const struct cJSON *plan)
{
	struct cJSON *tree = laws_apply_patch(snapshot, plan);
	struct cJSON *group = tree_first(facts_groups(tree));
	int made = 0;

	remove_pods(tree, snapshot, plan);
	TREE_EACH(planned, TREE_AT(plan, "groups")) {
		int64_t hosts = facts_hosts(group);
		int64_t target = tree_integer(planned, "targetReplicas", 0);
		int64_t missing;

		if (!facts_group_is_frozen(tree, group)) {
			set(group, "replicas", cJSON_CreateNumber((double)target));
			cJSON_DeleteItemFromObjectCaseSensitive(TREE_AT(group, "scaleStrategy"),
								"workersToDelete");
			missing = target * hosts - facts_kept_pods(tree, group);
			if (missing > 0 && !is_backed_off(plan, group))
				add_missing(tree, group, missing, &made);
		}
		group = group->next;
	}
	return tree;
}

struct cJSON *laws_apply_creations(const struct cJSON *snapshot, const struct cJSON *plan,
				   bool counts_ending)
{
	struct cJSON *tree = laws_apply_patch(snapshot, plan);
	int made = 0;

	TREE_EACH(group, facts_groups(tree)) {
		int64_t ending = facts_ending_pods(tree, tree_text(group, "groupName"));
		int64_t missing = tree_integer(group, "replicas", 0) * facts_hosts(group) -
				  facts_kept_pods(tree, group) - (counts_ending ? ending : 0);

		if (missing > 0 && !facts_group_is_frozen(tree, group) &&
		    !is_backed_off(plan, group))
			add_missing(tree, group, missing, &made);
	}
	return tree;
}
