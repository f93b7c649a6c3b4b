#include "laws_facts.h"

#include <math.h>
#include <stdio.h>

#include "codec/text/rfc3339.h"

#define AMOUNT_MAX 1e14

int64_t facts_amount(const struct facts_amounts *amounts, const char *name)
{
	for (size_t i = 0; i < amounts->count; i++)
		if (strcmp(amounts->at[i].name, name) == 0)
			return amounts->at[i].amount;
	return 0;
}

static void set_amount(struct facts_amounts *amounts, const char *name, int64_t amount)
{
	size_t i = 0;

	while (i < amounts->count && strcmp(amounts->at[i].name, name) != 0)
		i++;
	if (i == FACTS_AMOUNTS_MAX)
		abort();
	amounts->at[i].name = name;
	amounts->at[i].amount = amount;
	if (i == amounts->count)
		amounts->count++;
}

bool facts_amounts_of(const struct cJSON *map, struct facts_amounts *ret_amounts)
{
	bool good = true;

	ret_amounts->count = 0;
	TREE_EACH(entry, map) {
		if (!cJSON_IsNumber(entry) || !(entry->valuedouble >= 0) ||
		    entry->valuedouble > AMOUNT_MAX)
			good = false;
		else
			set_amount(ret_amounts, entry->string,
				   llround(entry->valuedouble * FACTS_UNIT));
	}
	return good;
}

/* ---- groups ---- */

/* "4", "16Gi", 4; the generator writes whole numbers only. */
static bool read_quantity(const struct cJSON *value, int64_t *ret_amount)
{
	char *end;
	long long number;

	if (cJSON_IsNumber(value)) {
		*ret_amount = llround(value->valuedouble * FACTS_UNIT);
		return true;
	}
	if (!cJSON_IsString(value))
		return false;
	number = strtoll(value->valuestring, &end, 10);
	if (end == value->valuestring)
		return false;
	if (strcmp(end, "Gi") == 0)
		number <<= 30;
	else if (*end)
		return false;
	*ret_amount = number * FACTS_UNIT;
	return true;
}

static const struct cJSON *limit_of(const struct cJSON *group, const char *name)
{
	const struct cJSON *containers = TREE_AT(group, "template", "spec", "containers");

	return TREE_AT(cJSON_GetArrayItem(containers, 0), "resources", "limits", name);
}

/* The group's own resources, then rayStartParams, then the limits of its container. */
static bool read_standard(const struct cJSON *group, const char *name, const char *param,
			  const char *limit, struct facts_amounts *amounts)
{
	const struct cJSON *value = TREE_AT(group, "resources", name);
	int64_t amount;

	if (!value)
		value = TREE_AT(group, "rayStartParams", param);
	if (!value)
		value = limit_of(group, limit);
	if (!value)
		return true;
	if (!read_quantity(value, &amount))
		return false;
	set_amount(amounts, name, amount);
	return true;
}

/* '{\"slice\": 2}' with quotes around it and backslashes in it. */
static bool read_param_resources(const struct cJSON *group, struct facts_amounts *amounts)
{
	const char *text = tree_text(TREE_AT(group, "rayStartParams"), "resources");
	char plain[256];
	struct cJSON *map;
	size_t count = 0;

	if (strlen(text) < 2)
		return true;
	for (const char *p = text + 1; p[1] && count + 1 < sizeof(plain); p++)
		if (*p != '\\')
			plain[count++] = *p;
	plain[count] = '\0';
	map = cJSON_Parse(plain);
	if (!map)
		return false;
	TREE_EACH(entry, map) {
		static const char *const NAMES[] = { "slice", "TPU", "neuron_cores" };

		for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
			if (strcmp(entry->string, NAMES[i]) == 0)
				set_amount(amounts, NAMES[i],
					   llround(entry->valuedouble * FACTS_UNIT));
	}
	cJSON_Delete(map);
	return true;
}

static bool read_own_resources(const struct cJSON *group, struct facts_amounts *amounts)
{
	TREE_EACH(entry, TREE_AT(group, "resources")) {
		int64_t amount;

		if (!read_quantity(entry, &amount))
			return false;
		set_amount(amounts, entry->string, amount);
	}
	return true;
}

static bool labels_are_sound(const struct cJSON *group)
{
	TREE_EACH(label, TREE_AT(group, "labels"))
		for (const char *p = label->string; *p; p++)
			if (*p == ' ')
				return false;
	return true;
}

bool facts_of_group(const struct cJSON *group, struct facts_amounts *ret_amounts)
{
	ret_amounts->count = 0;
	return read_standard(group, "CPU", "num-cpus", "cpu", ret_amounts) &&
	       ret_amounts->count == 1 &&
	       read_standard(group, "memory", "memory", "memory", ret_amounts) &&
	       read_standard(group, "GPU", "num-gpus", "nvidia.com/gpu", ret_amounts) &&
	       read_param_resources(group, ret_amounts) && read_own_resources(group, ret_amounts) &&
	       labels_are_sound(group);
}

bool facts_of_head(const struct cJSON *snapshot, struct facts_amounts *ret_amounts)
{
	return facts_of_group(TREE_AT(snapshot, "rayCluster", "spec", "headGroupSpec"),
			      ret_amounts);
}

const struct cJSON *facts_groups(const struct cJSON *snapshot)
{
	return TREE_AT(snapshot, "rayCluster", "spec", "workerGroupSpecs");
}

const struct cJSON *facts_group(const struct cJSON *snapshot, const char *name)
{
	TREE_EACH(group, facts_groups(snapshot))
		if (tree_is(group, "groupName", name))
			return group;
	return NULL;
}

int64_t facts_hosts(const struct cJSON *group)
{
	int64_t hosts = tree_integer(group, "numOfHosts", 1);

	return hosts > 0 ? hosts : 1;
}

bool facts_group_is_frozen(const struct cJSON *snapshot, const struct cJSON *group)
{
	struct facts_amounts amounts;
	int64_t timeout = tree_integer(group, "idleTimeoutSeconds", 0);

	TREE_EACH(other, facts_groups(snapshot))
		if (other != group && tree_is(other, "groupName", tree_text(group, "groupName")))
			return true;
	return !facts_of_group(group, &amounts) || timeout < 0 ||
	       tree_integer(group, "numOfHosts", 1) < 1 || !*tree_text(group, "groupName") ||
	       cJSON_IsTrue(TREE_AT(group, "suspend")) ||
	       tree_integer(group, "minReplicas", 0) >
		       tree_integer(group, "maxReplicas", INT32_MAX);
}

/* ---- Pods ---- */

const struct cJSON *facts_pod(const struct cJSON *snapshot, const char *name)
{
	TREE_EACH(pod, TREE_AT(snapshot, "pods"))
		if (tree_is(TREE_AT(pod, "metadata"), "name", name))
			return pod;
	return NULL;
}

const char *facts_pod_label(const struct cJSON *pod, const char *key)
{
	return tree_text(TREE_AT(pod, "metadata", "labels"), key);
}

bool facts_pod_is_worker(const struct cJSON *pod)
{
	return strcmp(facts_pod_label(pod, "ray.io/node-type"), "worker") == 0;
}

bool facts_pod_leaves(const struct cJSON *group, const struct cJSON *pod)
{
	if (TREE_AT(pod, "metadata", "deletionTimestamp"))
		return true;
	TREE_EACH(name, TREE_AT(group, "scaleStrategy", "workersToDelete"))
		if (tree_is(TREE_AT(pod, "metadata"), "name", name->valuestring))
			return true;
	return false;
}

bool facts_pod_ended(const struct cJSON *pod)
{
	const struct cJSON *status = TREE_AT(pod, "status");

	return tree_is(status, "phase", "Failed") || tree_is(status, "phase", "Succeeded");
}

bool facts_pod_never_started(const struct cJSON *pod)
{
	const struct cJSON *statuses = TREE_AT(pod, "status", "containerStatuses");
	const struct cJSON *first = cJSON_GetArrayItem(statuses, 0);

	if (first)
		return TREE_AT(first, "state", "waiting") != NULL;
	return tree_is(TREE_AT(pod, "status"), "phase", "Pending");
}

static int64_t age_ms(const struct cJSON *snapshot, const char *since)
{
	const char *problem;
	time_ms now, then;

	if (rfc3339_parse(tree_text(snapshot, "now"), &now, &problem) ||
	    rfc3339_parse(since, &then, &problem))
		return -1;
	return now - then;
}

bool facts_pod_is_unregistered(const struct cJSON *snapshot, const struct cJSON *pod)
{
	const struct cJSON *statuses = TREE_AT(pod, "status", "containerStatuses");
	const struct cJSON *run = TREE_AT(cJSON_GetArrayItem(statuses, 0), "state", "running");
	int64_t wait_ms = 1000 * facts_setting(snapshot, "unregistered-seconds", 30);

	if (age_ms(snapshot, tree_text(run, "startedAt")) < wait_ms)
		return false;
	TREE_EACH(mark, TREE_AT(snapshot, "memory", "unjoined"))
		if (tree_is(mark, "key", tree_text(TREE_AT(pod, "metadata"), "name")))
			return age_ms(snapshot, tree_text(mark, "since")) >= wait_ms;
	return false;
}

int64_t facts_kept_pods(const struct cJSON *snapshot, const struct cJSON *group)
{
	int64_t count = 0;

	TREE_EACH(pod, TREE_AT(snapshot, "pods"))
		count += facts_pod_is_worker(pod) && !facts_pod_leaves(group, pod) &&
			 tree_is(group, "groupName", facts_pod_label(pod, "ray.io/group"));
	return count;
}

int64_t facts_ending_pods(const struct cJSON *snapshot, const char *group)
{
	int64_t count = 0;

	TREE_EACH(pod, TREE_AT(snapshot, "pods"))
		count += strcmp(facts_pod_label(pod, "ray.io/group"), group) == 0 &&
			 TREE_AT(pod, "metadata", "deletionTimestamp");
	return count;
}

/* ---- nodes ---- */

static int busyness(const struct cJSON *node)
{
	static const char *const ORDER[] = { "DEAD", "DRAINING", "IDLE", "UNSPECIFIED", "RUNNING" };

	for (int i = 0; i < 5; i++)
		if (tree_is(node, "status", ORDER[i]))
			return i;
	return 3;
}

const struct cJSON *facts_living_node(const struct cJSON *snapshot, const char *pod)
{
	const struct cJSON *found = NULL;

	TREE_EACH(node, TREE_AT(snapshot, "rayState", "nodeStates"))
		if (tree_is(node, "instanceId", pod) && busyness(node) > 0 &&
		    (!found || busyness(node) > busyness(found)))
			found = node;
	return found;
}

const struct cJSON *facts_head_node(const struct cJSON *snapshot)
{
	TREE_EACH(node, TREE_AT(snapshot, "rayState", "nodeStates"))
		if (TREE_AT(node, "totalResources", "node:__internal_head__") &&
		    (busyness(node) == 1 || busyness(node) == 2 || busyness(node) == 4))
			return node;
	return NULL;
}

bool facts_node_is_unused(const struct cJSON *node)
{
	struct facts_amounts total, available;

	if (!facts_amounts_of(TREE_AT(node, "totalResources"), &total) ||
	    !facts_amounts_of(TREE_AT(node, "availableResources"), &available) ||
	    cJSON_GetArraySize(TREE_AT(node, "nodeActivity")) > 0)
		return false;
	for (size_t i = 0; i < total.count; i++)
		if (facts_amount(&available, total.at[i].name) < total.at[i].amount)
			return false;
	return true;
}

const char *facts_node_label(const struct cJSON *node, const char *key)
{
	const struct cJSON *label = TREE_AT(node, "dynamicLabels", key);

	if (!label)
		label = TREE_AT(node, "labels", key);
	return cJSON_IsString(label) ? label->valuestring : NULL;
}

/* ---- the rest ---- */

int64_t facts_setting(const struct cJSON *snapshot, const char *name, int64_t otherwise)
{
	return tree_integer(TREE_AT(snapshot, "settings"), name, otherwise);
}

bool facts_setting_is(const struct cJSON *snapshot, const char *name, const char *value)
{
	return tree_is(TREE_AT(snapshot, "settings"), name, value);
}

int64_t facts_idle_timeout_ms(const struct cJSON *snapshot, const struct cJSON *group)
{
	int64_t seconds = facts_setting(snapshot, "idle-timeout-seconds", 60);

	return 1000 * tree_integer(group, "idleTimeoutSeconds", seconds);
}

const struct cJSON *facts_gang_bundles(const struct cJSON *gang, int choice)
{
	const struct cJSON *selectors = TREE_AT(gang, "bundleSelectors");

	if (cJSON_GetArraySize(selectors) > 0)
		return TREE_AT(cJSON_GetArrayItem(selectors, choice), "resourceRequests");
	return choice == 0 ? TREE_AT(gang, "requests") : NULL;
}
