#include "laws_selftest.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "laws_case.h"
#include "laws_shrink.h"

#define FAULT_LAUNCHES 200 /* more than Pods can be missing */

#define SEEDS_MAX 2000
/* Limit of a shrunk snapshot for each Pod: some fields of the RayCluster, a Pod, a node, a request. */
#define SHRUNK_VALUES_MAX 60

/* ---- faults ---- */

static void fault_target(struct cJSON *plan)
{
	struct cJSON *group = tree_first(TREE_AT(plan, "groups"));

	if (group)
		cJSON_SetNumberValue(TREE_AT(group, "targetReplicas"), 100);
}

/* A worker with this reason is terminated; returns its group, NULL: there is none. */
static const struct cJSON *terminate(struct cJSON *plan, const char *reason)
{
	TREE_EACH(worker, TREE_AT(plan, "workers")) {
		struct cJSON *item;

		if (!tree_is(worker, "reason", reason))
			continue;
		TREE_EACH(group, TREE_AT(plan, "groups")) {
			if (!tree_is(group, "name", tree_text(worker, "group")))
				continue;
			item = cJSON_CreateObject();
			cJSON_AddStringToObject(item, "pod", tree_text(worker, "pod"));
			cJSON_AddStringToObject(item, "action", "drain");
			cJSON_AddStringToObject(item, "reason", "Idle");
			cJSON_AddItemToArray(TREE_AT(group, "toTerminate"), item);
			return group;
		}
	}
	return NULL;
}

static void fault_busy(struct cJSON *plan)
{
	terminate(plan, "Busy");
}

/* A worker that a placement group waits for is terminated. */
static void fault_drained(struct cJSON *plan)
{
	const struct cJSON *group = terminate(plan, "NeededByPlacementGroup");

	if (group)
		cJSON_SetNumberValue(TREE_AT(group, "targetReplicas"),
				     tree_number(group, "targetReplicas", 0) - 1);
}

/* A request is neither placed nor reported. */
static void fault_lost(struct cJSON *plan)
{
	TREE_EACH(place, TREE_AT(plan, "placements"))
		TREE_EACH(item, TREE_AT(place, "requests"))
			if (tree_is(item, "kind", "request")) {
				cJSON_Delete(cJSON_DetachItemViaPointer(TREE_AT(place, "requests"),
									(struct cJSON *)item));
				return;
			}
}

/* More is placed on a worker than it has. */
static void fault_overfull(struct cJSON *plan)
{
	TREE_EACH(place, TREE_AT(plan, "placements")) {
		const struct cJSON *first = tree_first(TREE_AT(place, "requests"));
		struct cJSON *cpu = TREE_AT(first, "bundle", "CPU");

		if (cpu && cpu->valuedouble > 0) {
			cJSON_SetNumberValue(TREE_AT(first, "count"), 1000);
			return;
		}
	}
}

/* A placement group with a bundle that has no place. */
static void fault_torn_gang(struct cJSON *plan)
{
	TREE_EACH(place, TREE_AT(plan, "placements"))
		TREE_EACH(item, TREE_AT(place, "requests"))
			if (tree_is(item, "kind", "gang")) {
				cJSON_SetNumberValue(TREE_AT(item, "count"),
						     tree_number(item, "count", 0) + 1);
				return;
			}
}

/* Each plan of the same snapshot asks for one more. */
static void fault_restless(struct cJSON *plan)
{
	TREE_EACH(group, TREE_AT(plan, "groups"))
		if (tree_integer(group, "replicas", 0) == 1 &&
		    tree_integer(group, "toLaunch", 0) == 0)
			cJSON_SetNumberValue(TREE_AT(group, "toLaunch"), 1);
}

/* Only plans with pools ask. */
static bool asks_pools(const struct cJSON *plan)
{
	return TREE_AT(plan, "asks") != NULL;
}

static void fault_ungranted(struct cJSON *plan)
{
	if (asks_pools(plan))
		fault_target(plan);
}

/* Demand that waits for a pool is not asked for. */
static void fault_forgotten_ask(struct cJSON *plan)
{
	TREE_EACH(entry, TREE_AT(plan, "unserved"))
		if (asks_pools(plan) && tree_is(entry, "reason", "WaitsForPool"))
			cJSON_DeleteItemFromObjectCaseSensitive(plan, "asks");
}

static void fault_torn_gang_of_pool(struct cJSON *plan)
{
	if (asks_pools(plan))
		fault_torn_gang(plan);
}

/* A busy worker is stopped without a release whose deadline has passed. */
static void fault_stopped(struct cJSON *plan)
{
	const struct cJSON *group = asks_pools(plan) ? terminate(plan, "Busy") : NULL;

	if (!group)
		return;
	TREE_EACH(item, TREE_AT(group, "toTerminate")) {
		cJSON_SetValuestring(TREE_AT(item, "action"), "stop");
		cJSON_ReplaceItemInObjectCaseSensitive((struct cJSON *)item, "reason",
						       cJSON_CreateString("ReleasedForOthers"));
	}
}

/* All Nodes that wait for others are emptied too. */
static void fault_all_nodes(struct cJSON *plan)
{
	TREE_EACH(node, TREE_AT(plan, "repair", "nodes"))
		cJSON_SetValuestring(TREE_AT(node, "state"), "Begun");
}

/* Work on a Node is stopped at once. */
static void fault_stopped_work(struct cJSON *plan)
{
	TREE_EACH(group, TREE_AT(plan, "groups"))
		TREE_EACH(item, TREE_AT(group, "toTerminate"))
			if (tree_is(item, "reason", "Leaving"))
				cJSON_SetValuestring(TREE_AT(item, "action"), "stop");
}

/* Memory has the other Nodes as those that are emptied. */
static void fault_other_nodes(struct cJSON *plan)
{
	TREE_EACH(mark, TREE_AT(plan, "memory", "repairs")) {
		bool begun = tree_integer(mark, "count", 0) > 0;

		cJSON_DeleteItemFromObjectCaseSensitive((struct cJSON *)mark, "count");
		cJSON_AddNumberToObject((struct cJSON *)mark, "count", !begun);
	}
}

/* A worker in use ends as an unused one. */
static void fault_used(struct cJSON *plan)
{
	const struct cJSON *group =
		TREE_AT(plan, "memory", "requestsAsked") ? terminate(plan, "Busy") : NULL;

	if (!group)
		return;
	TREE_EACH(item, TREE_AT(group, "toTerminate"))
		if (tree_is(item, "reason", "Idle"))
			cJSON_SetValuestring(TREE_AT(item, "reason"), "RequestUnused");
}

/* Each group starts many workers for requests. */
static void launch_for_requests(struct cJSON *plan)
{
	struct cJSON *places = cJSON_CreateArray();

	TREE_EACH(group, TREE_AT(plan, "groups")) {
		cJSON_SetNumberValue(TREE_AT(group, "toLaunch"), FAULT_LAUNCHES);
		for (int i = 0; i < FAULT_LAUNCHES; i++) {
			struct cJSON *place = cJSON_Parse(
				"{\"worker\":\"new-\",\"phase\":\"constraint\",\"requests\":["
				"{\"kind\":\"constraint\",\"source\":\"ray\"}]}");

			cJSON_AddStringToObject(place, "group", tree_text(group, "name"));
			cJSON_AddItemToArray(places, place);
		}
	}
	cJSON_ReplaceItemInObjectCaseSensitive(plan, "placements", places);
}

/* The workers of the request were unused. */
static void fault_started_again(struct cJSON *plan)
{
	if (cJSON_GetArraySize(TREE_AT(plan, "memory", "requestsUnused")) > 0)
		launch_for_requests(plan);
}

/* The request is beyond requests-ahead-of-use. */
static void fault_ahead(struct cJSON *plan)
{
	TREE_EACH(entry, TREE_AT(plan, "unserved"))
		if (tree_is(entry, "reason", "RequestBeyondUse")) {
			launch_for_requests(plan);
			return;
		}
}

/* A place in a queue is given up. */
static void fault_lost_place(struct cJSON *plan)
{
	const struct cJSON *group =
		tree_is(plan, "law", "queues") ? terminate(plan, "WaitsForQueue") : NULL;

	TREE_EACH(item, TREE_AT(group, "toTerminate"))
		cJSON_ReplaceItemInObjectCaseSensitive((struct cJSON *)item, "reason",
						       cJSON_CreateString("GroupBackedOff"));
}

/* A part of a placement group that has waited for too long stays, and a new worker is its rest. */
static void fault_half_stays(struct cJSON *plan)
{
	if (!tree_is(plan, "law", "halves"))
		return;
	TREE_EACH(group, TREE_AT(plan, "groups"))
		TREE_EACH(item, TREE_AT(group, "toTerminate")) {
			char text[300];

			if (!tree_is(item, "reason", "GangIncomplete"))
				continue;
			snprintf(
				text, sizeof(text),
				"[{\"worker\":\"%s\",\"requests\":[{\"kind\":\"gang\"}]},{\"worker\":"
				"\"new\",\"requests\":[{\"kind\":\"gang\"}]}]",
				tree_text(item, "pod"));
			cJSON_ReplaceItemInObjectCaseSensitive(plan, "placements",
							       cJSON_Parse(text));
			cJSON_ReplaceItemInObjectCaseSensitive((struct cJSON *)group, "toTerminate",
							       cJSON_CreateArray());
			return;
		}
}

/* A Pod that is being deleted is replaced before the operator does it. */
static void fault_replaced_twice(struct cJSON *plan)
{
	struct cJSON *group = tree_first(TREE_AT(plan, "groups"));

	if (group && tree_is(plan, "law", "ending"))
		cJSON_SetNumberValue(TREE_AT(group, "targetReplicas"),
				     tree_number(group, "replicas", 0) + 1000);
}

/* The place of a worker that drains is asked for twice. */
static void fault_drained_twice(struct cJSON *plan)
{
	struct cJSON *group = tree_first(TREE_AT(plan, "groups"));

	if (group && tree_is(plan, "law", "drains"))
		cJSON_SetNumberValue(TREE_AT(group, "targetReplicas"),
				     tree_number(group, "targetReplicas", 0) + 1);
}

static const struct fault {
	const char *law;
	void (*plant)(struct cJSON *plan);
	int pods; /* limit of the shrunk snapshot */
} FAULTS[] = {
	{ "bounds", fault_target, 1 },        { "safety", fault_busy, 1 },
	{ "counts", fault_lost, 1 },          { "places", fault_overfull, 1 },
	{ "gangs", fault_torn_gang, 1 },      { "second", fault_restless, 1 },
	{ "keeps", fault_drained, 5 },        { "pools", fault_ungranted, 1 },
	{ "pools", fault_forgotten_ask, 1 },  { "gangs", fault_torn_gang_of_pool, 1 },
	{ "safety", fault_stopped, 1 },       { "repair", fault_all_nodes, 2 },
	{ "repair", fault_stopped_work, 1 },  { "unused", fault_used, 1 },
	{ "repair", fault_other_nodes, 2 },   { "unused", fault_started_again, 1 },
	{ "unused", fault_ahead, 1 },         { "queues", fault_lost_place, 1 },
	{ "halves", fault_half_stays, 3 },    { "ending", fault_replaced_twice, 2 },
	{ "drains", fault_drained_twice, 2 },
};

#define FAULT_COUNT ((int)(sizeof(FAULTS) / sizeof(FAULTS[0])))

/* ---- finding and shrinking them ---- */

static int count_values(const struct cJSON *tree)
{
	int count = 1;

	TREE_EACH(child, tree)
		count += count_values(child);
	return count;
}

static bool is_small(const struct cJSON *snapshot, int pods)
{
	return count_values(snapshot) <= SHRUNK_VALUES_MAX * pods &&
	       cJSON_GetArraySize(facts_groups(snapshot)) <= pods &&
	       cJSON_GetArraySize(TREE_AT(snapshot, "pods")) <= pods;
}

/* The first snapshot in which the fault breaks its law. */
static struct cJSON *find(const struct fault *fault, uint64_t *ret_seed,
			  struct laws_verdict *verdict)
{
	for (uint64_t seed = 1; seed <= SEEDS_MAX; seed++) {
		struct cJSON *snapshot = laws_case_make(seed);

		laws_case_fault = fault->plant;
		laws_case_check(snapshot, seed, NULL, verdict);
		*ret_seed = seed;
		if (verdict->law && strcmp(verdict->law, fault->law) == 0)
			return snapshot;
		laws_case_fault = NULL;
		cJSON_Delete(snapshot);
	}
	return NULL;
}

/* Finds a seed whose plan shows the fault to its law, shrinks that snapshot and saves it. True when
 * the law saw the fault, the snapshot is small and the file was written. */
static bool try_fault(const struct fault *fault, const char *directory)
{
	struct laws_verdict verdict = { .law = NULL };
	AUTO(memory_free_string) char *path = NULL;
	uint64_t seed;
	struct cJSON *snapshot = find(fault, &seed, &verdict);
	int before = count_values(snapshot);
	bool good = false;

	if (!snapshot) {
		fprintf(stderr, "selftest: law %s does not see its fault\n", fault->law);
		return false;
	}
	snapshot = laws_shrink(snapshot, seed, &verdict);
	if (!is_small(snapshot, fault->pods))
		fprintf(stderr, "selftest: law %s: %d of %d values are left\n", fault->law,
			count_values(snapshot), before);
	else if (laws_shrink_save(snapshot, seed, &verdict, directory, &path))
		fprintf(stderr, "selftest: %s cannot be written\n", directory);
	else
		good = true;
	if (good)
		printf("selftest: law %s: %d values, shrunk to %d: %s\n", fault->law, before,
		       count_values(snapshot), path);
	laws_case_fault = NULL;
	cJSON_Delete(snapshot);
	return good;
}

int laws_selftest(const char *directory, int *ret_count)
{
	int failures = 0;

	*ret_count = FAULT_COUNT;
	setenv("LAWS_STRICT", "1", 1);
	for (int i = 0; i < FAULT_COUNT; i++)
		failures += !try_fault(&FAULTS[i], directory);
	return failures;
}
