#include "laws_waits.h"

#include <stdio.h>

#include "base/memory.h"
#include "laws_apply.h"
#include "laws_random.h"

#define LONG_AGO "2026-11-20T08:00:00Z"

static void set(struct cJSON *object, const char *name, struct cJSON *value)
{
	cJSON_DeleteItemFromObjectCaseSensitive(object, name);
	cJSON_AddItemToObject(object, name, value);
}

static struct cJSON *child(struct cJSON *tree, const char *name)
{
	struct cJSON *found = TREE_AT(tree, name);

	return cJSON_IsObject(found) ? found : cJSON_AddObjectToObject(tree, name);
}

/* With the fault, if one is planted: it reads from the member `law` for which law the plan was made. */
static struct cJSON *plan_of(const struct cJSON *tree, const char *law,
			     struct laws_verdict *verdict)
{
	AUTO(memory_free_string) char *text = laws_case_plan(tree, true, verdict);
	struct cJSON *plan = text ? cJSON_Parse(text) : NULL;

	if (plan)
		cJSON_AddStringToObject(plan, "law", law);
	if (plan && laws_case_fault)
		laws_case_fault(plan);
	return plan;
}

static void add_mark(struct cJSON *marks, const char *pod, int count)
{
	struct cJSON *mark = cJSON_CreateObject();

	cJSON_AddStringToObject(mark, "key", pod);
	cJSON_AddStringToObject(mark, "since", LONG_AGO);
	if (count > 0)
		cJSON_AddNumberToObject(mark, "count", count);
	cJSON_AddItemToArray(marks, mark);
}

static const struct cJSON *group_of_pod(const struct cJSON *tree, const struct cJSON *pod)
{
	return facts_group(tree, facts_pod_label(pod, "ray.io/group"));
}

/* A Pod of a group with one host, that nothing has asked to delete. */
static bool is_single(const struct cJSON *tree, const struct cJSON *pod)
{
	const struct cJSON *group = facts_pod_is_worker(pod) ? group_of_pod(tree, pod) : NULL;

	return group && facts_hosts(group) == 1 && !facts_pod_leaves(group, pod);
}

static const struct cJSON *termination_of(const struct cJSON *plan, const char *pod)
{
	TREE_EACH(group, TREE_AT(plan, "groups"))
		TREE_EACH(item, TREE_AT(group, "toTerminate"))
			if (tree_is(item, "pod", pod))
				return item;
	return NULL;
}

/* ---- queues ---- */

/* Most Pods that have not started wait for a queue. */
static bool make_queued(struct cJSON *tree, struct laws_random *random)
{
	struct cJSON *gates = cJSON_CreateArray();
	bool any = false;

	TREE_EACH(pod, TREE_AT(tree, "pods")) {
		if (!is_single(tree, pod) || !facts_pod_never_started(pod) ||
		    facts_pod_ended(pod) || laws_random_below(random, 4) == 0)
			continue;
		set(TREE_AT(pod, "spec"), "schedulingGates",
		    cJSON_Parse("[{\"name\":\"scheduling.volcano.sh/queue-allocation-gate\"}]"));
		cJSON_DeleteItemFromObjectCaseSensitive(TREE_AT(pod, "spec"), "nodeName");
		set((struct cJSON *)pod, "status",
		    cJSON_Parse("{\"phase\":\"Pending\",\"conditions\":[{\"type\":"
				"\"PodScheduled\",\"status\":\"False\",\"reason\":"
				"\"SchedulingGated\",\"message\":\"\"}]}"));
		add_mark(gates, tree_text(TREE_AT(pod, "metadata"), "name"), 1);
		any = true;
	}
	set(child(tree, "memory"), "gates", gates);
	return any;
}

/* Another group has all resources of this one, and room below its maximum. */
static bool has_alternative(const struct cJSON *tree, const struct cJSON *group)
{
	struct facts_amounts own, amounts;

	if (!facts_of_group(group, &own))
		return true;
	TREE_EACH(other, facts_groups(tree)) {
		int64_t replicas = tree_integer(other, "replicas", 0);
		int64_t pods = facts_kept_pods(tree, other) / facts_hosts(other);
		bool covers = other != group && !facts_group_is_frozen(tree, other) &&
			      facts_of_group(other, &amounts) &&
			      (replicas > pods ? replicas : pods) <
				      tree_integer(other, "maxReplicas", INT32_MAX);

		for (size_t i = 0; covers && i < own.count; i++)
			covers = facts_amount(&amounts, own.at[i].name) >= own.at[i].amount;
		if (covers)
			return true;
	}
	return false;
}

static bool check_queues(struct cJSON *tree, struct laws_random *random,
			 struct laws_verdict *verdict)
{
	struct cJSON *plan;
	bool waits = false;

	if (!make_queued(tree, random))
		return false;
	plan = plan_of(tree, "queues", verdict);
	TREE_EACH(worker, TREE_AT(plan, "workers"))
		waits = waits || tree_is(worker, "reason", "WaitsForQueue");
	TREE_EACH(group, TREE_AT(plan, "groups"))
		TREE_EACH(item, TREE_AT(group, "toTerminate")) {
			const struct cJSON *pod = facts_pod(tree, tree_text(item, "pod"));

			if (tree_is(item, "reason", "GroupBackedOff") && is_single(tree, pod) &&
			    TREE_AT(pod, "spec", "schedulingGates") &&
			    !has_alternative(tree, group_of_pod(tree, pod)))
				laws_break(verdict, "queues",
					   "Pod %s gives up its place in a queue, and no other "
					   "group has its resources",
					   tree_text(item, "pod"));
		}
	cJSON_Delete(plan);
	return waits;
}

/* ---- halves ---- */

static bool is_idle(const struct cJSON *node)
{
	return tree_is(node, "status", "IDLE") || tree_is(node, "status", "RUNNING");
}

/* All workers are free, some for long enough, and one placement group wants up to three more of a kind. */
static bool make_halves(struct cJSON *tree, struct laws_random *random)
{
	struct cJSON *state = TREE_AT(tree, "rayState"), *marks = cJSON_CreateArray();
	struct cJSON *gang = cJSON_Parse("{\"details\":\"pg\",\"requests\":[]}");
	const char *kind = NULL;
	int count = 1 + laws_random_below(random, 3);

	TREE_EACH(node, TREE_AT(state, "nodeStates")) {
		struct cJSON *total = TREE_AT(node, "totalResources"), *bundle;
		const struct cJSON *pod = facts_pod(tree, tree_text(node, "instanceId"));

		if (tree_integer(total, "CPU", 0) <= 0 || !is_idle(node) || !pod ||
		    !is_single(tree, pod))
			continue;
		set((struct cJSON *)node, "status", cJSON_CreateString("IDLE"));
		set((struct cJSON *)node, "idleDurationMs", cJSON_CreateString("5000000"));
		set((struct cJSON *)node, "availableResources", cJSON_Duplicate(total, true));
		if (laws_random_below(random, 4))
			add_mark(marks, tree_text(node, "instanceId"), 0);
		if (kind && !tree_is(node, "rayNodeTypeName", kind))
			continue;
		for (int i = kind ? 1 : 1 + count; i > 0; i--) {
			struct cJSON *request = cJSON_CreateObject();

			bundle = cJSON_AddObjectToObject(request, "resourcesBundle");
			cJSON_AddNumberToObject(bundle, "CPU",
						(double)tree_integer(total, "CPU", 0));
			cJSON_AddItemToArray(TREE_AT(gang, "requests"), request);
		}
		kind = tree_text(node, "rayNodeTypeName");
	}
	set(child(tree, "memory"), "gangParts", marks);
	if (!kind) {
		cJSON_Delete(gang);
		return false;
	}
	set(state, "pendingResourceRequests", cJSON_CreateArray());
	set(state, "pendingGangResourceRequests", cJSON_CreateArray());
	cJSON_AddItemToArray(TREE_AT(state, "pendingGangResourceRequests"), gang);
	return true;
}

static const struct cJSON *place_of(const struct cJSON *plan, const char *worker)
{
	TREE_EACH(place, TREE_AT(plan, "placements"))
		if (tree_is(place, "worker", worker))
			return place;
	return NULL;
}

/* Only bundles of the placement group. */
static bool has_gang_alone(const struct cJSON *place)
{
	TREE_EACH(item, TREE_AT(place, "requests"))
		if (!tree_is(item, "kind", "gang"))
			return false;
	return tree_first(TREE_AT(place, "requests")) != NULL;
}

/* A bundle of it is on a worker that Ray does not know. */
static bool is_waiting(const struct cJSON *tree, const struct cJSON *plan)
{
	TREE_EACH(place, TREE_AT(plan, "placements")) {
		if (facts_living_node(tree, tree_text(place, "worker")))
			continue;
		TREE_EACH(item, TREE_AT(place, "requests"))
			if (tree_is(item, "kind", "gang"))
				return true;
	}
	return false;
}

/* More replicas than minReplicas, counted without those that are missing. */
static bool is_above_minimum(const struct cJSON *tree, const struct cJSON *group)
{
	return facts_kept_pods(tree, group) > tree_integer(group, "minReplicas", 0);
}

/* Its rest is tried in another group, and the one before is in back-off. */
static bool waits_anew(const struct cJSON *plan, const char *name)
{
	bool anew = false, backed_off = false;

	TREE_EACH(mark, TREE_AT(plan, "memory", "gangParts"))
		anew = anew || (tree_is(mark, "key", name) && !tree_is(mark, "since", LONG_AGO));
	TREE_EACH(backoff, TREE_AT(plan, "memory", "backoffs"))
		backed_off = backed_off || tree_is(backoff, "cause", "GangIncomplete");
	return anew && backed_off;
}

static void check_part(const struct cJSON *tree, const struct cJSON *plan, const struct cJSON *mark,
		       struct laws_verdict *verdict)
{
	const char *name = tree_text(mark, "key");
	const struct cJSON *pod = facts_pod(tree, name), *group = group_of_pod(tree, pod);

	if (facts_pod_ended(pod) || facts_group_is_frozen(tree, group) ||
	    !is_above_minimum(tree, group) ||
	    !tree_is(facts_living_node(tree, name), "status", "IDLE"))
		return;
	if (has_gang_alone(place_of(plan, name)) && is_waiting(tree, plan) &&
	    !termination_of(plan, name) && !waits_anew(plan, name))
		laws_break(verdict, "halves",
			   "worker %s has waited for longer than gang-hold-seconds, and waits on",
			   name);
}

static bool check_halves(struct cJSON *tree, struct laws_random *random,
			 struct laws_verdict *verdict)
{
	struct cJSON *plan;
	bool acts = false;

	/* While an annotation of requests is malformed nothing is terminated. */
	if (TREE_AT(tree, "autoscaler") ||
	    TREE_AT(tree, "rayCluster", "metadata", "annotations",
		    "rayscaler.dev/request-resources") ||
	    !make_halves(tree, random))
		return false;
	plan = plan_of(tree, "halves", verdict);
	TREE_EACH(group, TREE_AT(plan, "groups"))
		TREE_EACH(item, TREE_AT(group, "toTerminate"))
			acts = acts || tree_is(item, "reason", "GangIncomplete");
	/* Else it is placed again, also on workers that were no part of it. */
	if (plan && !acts && laws_ray_was_read(plan) && !laws_is_gated(plan))
		TREE_EACH(mark, TREE_AT(tree, "memory", "gangParts"))
			check_part(tree, plan, mark, verdict);
	cJSON_Delete(plan);
	return acts;
}

/* ---- ending ---- */

static const struct cJSON *planned(const struct cJSON *plan, const char *name)
{
	TREE_EACH(group, TREE_AT(plan, "groups"))
		if (tree_is(group, "name", name))
			return group;
	return NULL;
}

/* Without its Pod and its node. */
static void take_out(struct cJSON *tree, const char *name)
{
	struct cJSON *pods = TREE_AT(tree, "pods"),
		     *nodes = TREE_AT(tree, "rayState", "nodeStates");
	struct cJSON *next;

	for (struct cJSON *pod = tree_first(pods); pod; pod = next) {
		next = pod->next;
		if (tree_is(TREE_AT(pod, "metadata"), "name", name))
			cJSON_Delete(cJSON_DetachItemViaPointer(pods, pod));
	}
	for (struct cJSON *node = tree_first(nodes); node; node = next) {
		next = node->next;
		if (tree_is(node, "instanceId", name))
			cJSON_Delete(cJSON_DetachItemViaPointer(nodes, node));
	}
}

/* The operator counts no Pod that ends: it has created another one for each. */
static void set_replaced(struct cJSON *tree)
{
	TREE_EACH(group, facts_groups(tree))
		if (facts_hosts(group) == 1)
			set((struct cJSON *)group, "replicas",
			    cJSON_CreateNumber((double)facts_kept_pods(tree, group)));
}

/* Of those that end: Ray reports work on them. */
static int64_t count_used(const struct cJSON *tree, const char *group)
{
	int64_t count = 0;

	TREE_EACH(pod, TREE_AT(tree, "pods")) {
		const struct cJSON *node =
			facts_living_node(tree, tree_text(TREE_AT(pod, "metadata"), "name"));

		count +=
			strcmp(facts_pod_label(pod, "ray.io/group"), group) == 0 &&
			TREE_AT(pod, "metadata", "deletionTimestamp") &&
			(tree_is(node, "status", "RUNNING") || tree_is(node, "status", "DRAINING"));
	}
	return count;
}

/* Some Pods are being deleted for a short or a long time; without: the same without them. */
static bool make_ending(struct cJSON *tree, struct cJSON *without, struct laws_random *random)
{
	static const char *const SINCE[] = { "2026-11-20T09:59:50Z", "2026-11-20T09:40:00Z" };
	bool any = false;

	TREE_EACH(pod, TREE_AT(tree, "pods")) {
		const char *name = tree_text(TREE_AT(pod, "metadata"), "name");

		if (!is_single(tree, pod) || facts_pod_ended(pod) || laws_random_below(random, 3))
			continue;
		set(TREE_AT(pod, "metadata"), "deletionTimestamp",
		    cJSON_CreateString(SINCE[laws_random_below(random, 2)]));
		take_out(without, name);
		any = true;
	}
	return any;
}

/* A request that Ray places on no living worker needs a new one, or a Pod that is missing. */
static bool has_stuck_demand(const struct cJSON *tree)
{
	return cJSON_GetArraySize(TREE_AT(tree, "memory", "stuckDemand")) > 0;
}

static bool check_ending(struct cJSON *tree, struct laws_random *random,
			 struct laws_verdict *verdict)
{
	struct cJSON *without = cJSON_Duplicate(tree, true), *plan = NULL, *best = NULL;
	/* With several groups demand gives way to others, in which more or fewer workers serve it. */
	bool any = cJSON_GetArraySize(facts_groups(tree)) == 1 && !TREE_AT(tree, "autoscaler") &&
		   !has_stuck_demand(tree) && make_ending(tree, without, random);
	bool counted = laws_random_below(random, 2);

	if (any && !counted) {
		set_replaced(tree);
		set_replaced(without);
	}
	if (any) {
		plan = plan_of(tree, "ending", verdict);
		best = plan_of(without, "", verdict);
	}
	/* Where one of both reads nothing, or a group gives way to another, they cannot be compared. */
	TREE_EACH(group, TREE_AT(plan, "groups")) {
		const struct cJSON *other = planned(best, tree_text(group, "name"));

		any = any && cJSON_IsNull(TREE_AT(group, "backoff")) ==
				     cJSON_IsNull(TREE_AT(other, "backoff"));
	}
	if (any && laws_ray_was_read(plan) == laws_ray_was_read(best))
		TREE_EACH(group, TREE_AT(plan, "groups")) {
			const struct cJSON *other = planned(best, tree_text(group, "name"));
			const char *name = tree_text(group, "name");
			int64_t replicas = tree_integer(group, "targetReplicas", 0) -
					   (counted ? facts_ending_pods(tree, name) : 0);
			/* The work of a Pod that ends may keep an idle worker, or need a new one. */
			int64_t beyond = replicas - count_used(tree, name);

			if (replicas > tree_integer(group, "replicas", 0) &&
			    beyond > facts_kept_pods(tree, facts_group(tree, name)) &&
			    beyond > tree_integer(other, "targetReplicas", 0))
				laws_break(verdict, "ending",
					   "group %s has %lld replicas beside Pods that end, %lld "
					   "without them",
					   name, (long long)replicas,
					   (long long)tree_integer(other, "targetReplicas", 0));
		}
	cJSON_Delete(plan);
	cJSON_Delete(best);
	cJSON_Delete(without);
	return any;
}

/* ---- drains ---- */

static struct cJSON *without_ending(const struct cJSON *tree)
{
	struct cJSON *without = cJSON_Duplicate(tree, true);

	TREE_EACH(pod, TREE_AT(tree, "pods"))
		if (TREE_AT(pod, "metadata", "deletionTimestamp"))
			take_out(without, tree_text(TREE_AT(pod, "metadata"), "name"));
	return without;
}

/* The operator deletes what the first plan names; where it names nothing, others delete Pods. */
static struct cJSON *make_drained(struct cJSON *tree, bool counted, struct laws_random *random,
				  struct laws_verdict *verdict)
{
	struct cJSON *plan = plan_of(tree, "", verdict), *next = laws_apply_patch(tree, plan);
	struct cJSON *scratch = cJSON_Duplicate(next, true);
	bool any = false;

	TREE_EACH(pod, TREE_AT(next, "pods")) {
		const char *name = tree_text(TREE_AT(pod, "metadata"), "name");

		if (!is_single(tree, pod) || is_single(next, pod) || !termination_of(plan, name))
			continue;
		set(TREE_AT(pod, "metadata"), "deletionTimestamp",
		    cJSON_CreateString("2026-11-20T09:59:58Z"));
		any = true;
	}
	if (!any && make_ending(next, scratch, random)) {
		any = true;
		if (!counted)
			set_replaced(next);
	}
	cJSON_Delete(scratch);
	cJSON_Delete(plan);
	if (any)
		return next;
	cJSON_Delete(next);
	return NULL;
}

/* Tasks leave a worker that has not joined for a replacement that has, and then the work of the one that ends needs
 * a place again. */
static bool have_joined(const struct cJSON *tree)
{
	TREE_EACH(pod, TREE_AT(tree, "pods"))
		if (!TREE_AT(pod, "metadata", "deletionTimestamp") && !facts_pod_ended(pod) &&
		    strcmp(facts_pod_label(pod, "ray.io/node-type"), "worker") == 0 &&
		    !facts_living_node(tree, tree_text(TREE_AT(pod, "metadata"), "name")))
			return false;
	return true;
}

static bool check_drains(struct cJSON *tree, struct laws_random *random,
			 struct laws_verdict *verdict)
{
	bool counted = laws_random_below(random, 2);
	struct cJSON *drained, *created, *without, *plan, *last, *best;

	if (cJSON_GetArraySize(facts_groups(tree)) != 1 || TREE_AT(tree, "autoscaler") ||
	    !have_joined(tree))
		return false;
	drained = make_drained(tree, counted, random, verdict);
	if (!drained)
		return false;
	plan = plan_of(drained, "", verdict);
	created = laws_apply_creations(drained, plan, counted);
	without = without_ending(created);
	last = plan_of(created, "drains", verdict);
	best = plan_of(without, "", verdict);
	if (laws_ray_was_read(last) && laws_ray_was_read(best))
		TREE_EACH(group, TREE_AT(last, "groups")) {
			const char *name = tree_text(group, "name");
			int64_t replicas = tree_integer(group, "targetReplicas", 0);
			int64_t others = tree_integer(planned(best, name), "targetReplicas", 0);

			if (replicas > others &&
			    replicas > facts_kept_pods(created, facts_group(created, name)))
				laws_break(verdict, "drains",
					   "group %s has %lld replicas beside Pods that end and "
					   "their replacements, %lld without them",
					   name, (long long)replicas, (long long)others);
		}
	cJSON_Delete(drained);
	cJSON_Delete(created);
	cJSON_Delete(without);
	cJSON_Delete(plan);
	cJSON_Delete(last);
	cJSON_Delete(best);
	return true;
}

/* ---- all ---- */

void laws_waits_check(const struct cJSON *snapshot, uint64_t seed, struct laws_counts *counts,
		      struct laws_verdict *verdict)
{
	struct laws_random random;
	struct cJSON *tree = cJSON_Duplicate(snapshot, true);

	laws_random_init(&random, seed * 5 + 2);
	switch (laws_random_below(&random, 4)) {
	case 0:
		counts->queued += check_queues(tree, &random, verdict);
		break;
	case 1:
		counts->halves += check_halves(tree, &random, verdict);
		break;
	case 2:
		counts->drains += check_drains(tree, &random, verdict);
		break;
	default:
		counts->ending += check_ending(tree, &random, verdict);
		break;
	}
	cJSON_Delete(tree);
}
