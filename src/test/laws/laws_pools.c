#include "laws_pools.h"

#include <stdio.h>

#include "base/memory.h"
#include "codec/text/rfc3339.h"
#include "laws_case.h"
#include "laws_random.h"

/* ---- pools ---- */

/* Draws which groups are in a pool: the same ones in all decisions of a case. */
static bool is_in_pool(uint64_t seed, int index)
{
	return (seed >> (index % 16) & 3) != 0;
}

static struct cJSON *pools_new(void)
{
	struct cJSON *pools = cJSON_CreateObject();

	cJSON_AddItemToObject(pools, "grants", cJSON_CreateArray());
	cJSON_AddItemToObject(pools, "releases", cJSON_CreateArray());
	return pools;
}

static void add_grant(struct cJSON *pools, const char *group, int64_t replicas)
{
	struct cJSON *grant = cJSON_CreateObject();

	cJSON_AddStringToObject(grant, "group", group);
	cJSON_AddNumberToObject(grant, "replicas", (double)replicas);
	cJSON_AddStringToObject(grant, "reason", "WaitsForPool");
	cJSON_AddStringToObject(grant, "message", "waits");
	cJSON_AddItemToArray(TREE_AT(pools, "grants"), grant);
}

static int64_t asked_for(const struct cJSON *asks, const char *group)
{
	int64_t sum = 0;

	TREE_EACH(ask, asks)
		TREE_EACH(part, TREE_AT(ask, "parts"))
			if (tree_is(part, "group", group))
				sum += tree_integer(part, "replicas", 0) *
				       tree_integer(ask, "count", 0);
	return sum;
}

enum grants { GRANT_NOTHING, GRANT_ALL, GRANT_SOME };

static struct cJSON *draw_grants(const struct cJSON *snapshot, uint64_t seed, enum grants grants,
				 const struct cJSON *asks)
{
	struct cJSON *pools = pools_new();
	struct laws_random random;
	int index = 0;

	laws_random_init(&random, seed ^ 0x706f6f6c);
	TREE_EACH(group, facts_groups(snapshot)) {
		const char *name = tree_text(group, "groupName");
		int64_t replicas = laws_random_below(&random, 4);

		if (grants != GRANT_SOME)
			replicas = grants == GRANT_ALL ? asked_for(asks, name) : 0;
		if (is_in_pool(seed, index++) && name[0] != '\0')
			add_grant(pools, name, replicas);
	}
	return pools;
}

static void add_releases(struct cJSON *pools, const struct cJSON *snapshot, uint64_t seed)
{
	static const int LATER[] = { -60, 0, 600 };
	struct laws_random random;
	const char *problem;
	char text[RFC3339_SIZE];
	time_ms now;

	if (rfc3339_parse(tree_text(snapshot, "now"), &now, &problem))
		abort();
	laws_random_init(&random, seed ^ 0x72656c);
	TREE_EACH(pod, TREE_AT(snapshot, "pods")) {
		struct cJSON *release;
		int later = laws_random_below(&random, 6);

		if (laws_random_below(&random, 3) != 0)
			continue;
		release = cJSON_CreateObject();
		cJSON_AddStringToObject(release, "pod",
					tree_text(TREE_AT(pod, "metadata"), "name"));
		cJSON_AddStringToObject(release, "message", "released");
		if (later < 3) {
			rfc3339_print(now + LATER[later] * MS_PER_SECOND, text);
			cJSON_AddStringToObject(release, "deadline", text);
		}
		cJSON_AddItemToArray(TREE_AT(pools, "releases"), release);
	}
}

/* ---- decisions ---- */

static struct cJSON *plan_of(const struct cJSON *snapshot, struct laws_verdict *verdict)
{
	AUTO(memory_free_string) char *text = laws_case_plan(snapshot, true, verdict);
	struct cJSON *plan = text ? cJSON_Parse(text) : NULL;

	if (plan && laws_case_fault && TREE_AT(plan, "asks"))
		laws_case_fault(plan);
	return plan;
}

/* Takes the pools. */
static struct cJSON *snapshot_with(const struct cJSON *snapshot, struct cJSON *pools)
{
	struct cJSON *changed = cJSON_Duplicate(snapshot, true);

	cJSON_AddItemToObject(changed, "pools", pools);
	return changed;
}

static bool is_equal_but_asks(struct cJSON *plan, const struct cJSON *other)
{
	struct cJSON *asks = cJSON_DetachItemFromObjectCaseSensitive(plan, "asks");
	bool equal = cJSON_Compare(plan, other, true);

	if (asks)
		cJSON_AddItemToObject(plan, "asks", asks);
	return equal;
}

static int64_t workers_of(const struct cJSON *snapshot, const struct cJSON *plan)
{
	int64_t sum = 0;

	TREE_EACH(group, TREE_AT(plan, "groups"))
		sum += tree_integer(group, "targetReplicas", 0) *
		       facts_hosts(facts_group(snapshot, tree_text(group, "name")));
	return sum;
}

/* In each group, or in all, where one starts as many more as another starts fewer. */
static bool has_no_more(const struct cJSON *snapshot, const struct cJSON *plan,
			const struct cJSON *other)
{
	const struct cJSON *with = TREE_AT(other, "groups");
	int index = 0;

	if (facts_setting(snapshot, "max-starting-workers", 0) > 0)
		return workers_of(snapshot, plan) <= workers_of(snapshot, other);
	TREE_EACH(group, TREE_AT(plan, "groups"))
		if (tree_integer(group, "targetReplicas", 0) >
		    tree_integer(cJSON_GetArrayItem(with, index++), "targetReplicas", 0))
			return false;
	return true;
}

/* ---- the law ---- */

static int64_t pods_of(const struct cJSON *snapshot, const struct cJSON *group)
{
	int64_t count = 0;

	TREE_EACH(pod, TREE_AT(snapshot, "pods"))
		count += facts_pod_is_worker(pod) &&
			 tree_is(group, "groupName", facts_pod_label(pod, "ray.io/group"));
	return count;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* A request of the SDK waits and probes with one Pod under a pool, so less may start or stay. */
static bool may_probe(const struct cJSON *snapshot, const struct cJSON *plan)
{
	return cJSON_GetArraySize(TREE_AT(snapshot, "rayState", "clusterResourceConstraints")) >
		       0 &&
	       cJSON_GetArraySize(TREE_AT(plan, "memory", "backoffs")) > 0;
}

/* At the most what exists or is requested, or minReplicas, and the grant. */
static void check_grants(const struct cJSON *snapshot, const struct cJSON *plan,
			 struct laws_verdict *verdict)
{
	/* toLaunch counts launches that limits on starting workers and probes put off. */
	bool throttled = facts_setting(snapshot, "max-starting-workers", 0) > 0 ||
			 tree_is(TREE_AT(snapshot, "rayCluster", "spec", "autoscalerOptions"),
				 "upscalingMode", "Conservative") ||
			 may_probe(snapshot, plan);

	TREE_EACH(grant, TREE_AT(snapshot, "pools", "grants")) {
		const char *name = tree_text(grant, "group");
		const struct cJSON *group = facts_group(snapshot, name);
		int64_t hosts = facts_hosts(group), replicas = tree_integer(grant, "replicas", 0);
		int64_t minimum = tree_integer(group, "minReplicas", 0);
		int64_t most =
			larger(minimum, larger(tree_integer(group, "replicas", 0),
					       (pods_of(snapshot, group) + hosts - 1) / hosts));

		if (facts_group_is_frozen(snapshot, group))
			continue;
		TREE_EACH(planned, TREE_AT(plan, "groups")) {
			if (!tree_is(planned, "name", name))
				continue;
			if (tree_integer(planned, "targetReplicas", 0) > most + replicas)
				laws_break(verdict, "pools",
					   "group %s: target beyond its grant %lld", name,
					   (long long)replicas);
			if (!throttled && tree_integer(planned, "toLaunch", 0) >
						  (replicas + minimum + 1) * hosts - 1)
				laws_break(verdict, "pools",
					   "group %s: launches beyond its grant %lld", name,
					   (long long)replicas);
		}
	}
}

static void check_one(const struct cJSON *snapshot, const struct cJSON *plan,
		      struct laws_verdict *verdict)
{
	check_grants(snapshot, plan, verdict);
	laws_check_bounds(snapshot, plan, verdict);
	laws_check_safety(snapshot, plan, verdict);
	laws_check_places(snapshot, plan, verdict);
	laws_check_counts(snapshot, plan, verdict);
}

static bool check(const struct cJSON *snapshot, uint64_t seed, struct laws_verdict *verdict)
{
	struct cJSON *plain = plan_of(snapshot, verdict), *asks;
	struct cJSON *nothing =
		snapshot_with(snapshot, draw_grants(snapshot, seed, GRANT_NOTHING, NULL));
	struct cJSON *held = plan_of(nothing, verdict);
	bool asked = false;

	asks = TREE_AT(held, "asks");
	if (plain && held) {
		struct cJSON *all =
			snapshot_with(snapshot, draw_grants(snapshot, seed, GRANT_ALL, asks));
		struct cJSON *some =
			snapshot_with(snapshot, draw_grants(snapshot, seed, GRANT_SOME, NULL));
		struct cJSON *granted = plan_of(all, verdict), *part = plan_of(some, verdict);
		struct cJSON *released;

		asked = asks != NULL;
		check_one(nothing, held, verdict);
		check_one(some, part, verdict);
		if (may_probe(snapshot, plain) ? !has_no_more(snapshot, granted, plain) :
						 !is_equal_but_asks(granted, plain))
			laws_break(verdict, "pools",
				   "the plan with all grants is another one than without pools");
		if (!!asks != !!TREE_AT(part, "asks") ||
		    (asks && (!cJSON_Compare(asks, TREE_AT(part, "asks"), true) ||
			      !cJSON_Compare(asks, TREE_AT(granted, "asks"), true))))
			laws_break(verdict, "pools", "the asks depend on the grants");
		add_releases(TREE_AT(some, "pools"), snapshot, seed);
		released = plan_of(some, verdict);
		check_one(some, released, verdict);
		cJSON_Delete(released);
		cJSON_Delete(part);
		cJSON_Delete(granted);
		cJSON_Delete(some);
		cJSON_Delete(all);
	}
	cJSON_Delete(held);
	cJSON_Delete(nothing);
	cJSON_Delete(plain);
	return asked;
}

/* No wait of a gang ends: another group that it tries asks for its grant in the next decision. */
bool laws_pools_check(const struct cJSON *snapshot, uint64_t seed, struct laws_verdict *verdict)
{
	struct cJSON *tree = cJSON_Duplicate(snapshot, true);
	struct cJSON *settings = TREE_AT(tree, "settings");
	bool asked;

	if (!settings)
		settings = cJSON_AddObjectToObject(tree, "settings");
	cJSON_DeleteItemFromObjectCaseSensitive(settings, "gang-hold-seconds");
	cJSON_AddNumberToObject(settings, "gang-hold-seconds", 0);
	asked = check(tree, seed, verdict);
	cJSON_Delete(tree);
	return asked;
}
