/* Bounds and safety: see laws_check.h. The placements are checked in laws_places.c. */
#include "laws_check.h"

#include <stdarg.h>
#include <stdio.h>

void laws_break(struct laws_verdict *verdict, const char *law, const char *format, ...)
{
	va_list arguments;

	if (verdict->law)
		return;
	verdict->law = law;
	va_start(arguments, format);
	vsnprintf(verdict->detail, sizeof(verdict->detail), format, arguments);
	va_end(arguments);
}

static const struct cJSON *condition(const struct cJSON *plan, const char *type)
{
	TREE_EACH(at, TREE_AT(plan, "conditions"))
		if (tree_is(at, "type", type))
			return at;
	return NULL;
}

bool laws_is_gated(const struct cJSON *plan)
{
	static const char *const REASONS[] = {
		"AutoscalingDisabled", "Unmanaged",     "ManagedElsewhere",
		"Suspended",           "Deleting",      "Paused",
		"SecondAutoscaler",    "InvalidRequest"
	};
	const char *reason = tree_text(condition(plan, "ScalingActive"), "reason");

	for (size_t i = 0; i < sizeof(REASONS) / sizeof(REASONS[0]); i++)
		if (strcmp(reason, REASONS[i]) == 0)
			return true;
	return false;
}

bool laws_ray_was_read(const struct cJSON *plan)
{
	return tree_is(condition(plan, "ScalingActive"), "status", "True");
}

/* ---- bounds ---- */

static bool is_patched(const struct cJSON *plan, int index)
{
	char start[64];

	snprintf(start, sizeof(start), "/spec/workerGroupSpecs/%d/", index);
	TREE_EACH(op, TREE_AT(plan, "patch"))
		if (strncmp(tree_text(op, "path"), start, strlen(start)) == 0)
			return true;
	return false;
}

static void check_still(const struct cJSON *planned, bool patched, struct laws_verdict *verdict)
{
	if (patched || tree_integer(planned, "toLaunch", 0) != 0 ||
	    cJSON_GetArraySize(TREE_AT(planned, "toTerminate")) > 0 ||
	    tree_integer(planned, "targetReplicas", 0) != tree_integer(planned, "replicas", 0))
		laws_break(verdict, "bounds", "group %s must stay as it is",
			   tree_text(planned, "name"));
}

/* Pods that the operator creates in any case: those missing to minReplicas, and the missing hosts
 * of a replica. */
static int64_t owed_pods(const struct cJSON *group)
{
	return (tree_integer(group, "minReplicas", 0) + 1) * facts_hosts(group) - 1;
}

static void check_group(const struct cJSON *group, const struct cJSON *planned,
			struct laws_verdict *verdict)
{
	int64_t target = tree_integer(planned, "targetReplicas", -1);
	int64_t minimum = tree_integer(group, "minReplicas", 0);
	int64_t maximum = tree_integer(group, "maxReplicas", INT32_MAX);
	int64_t hosts = facts_hosts(group);
	int64_t launch = tree_integer(planned, "toLaunch", -1);

	if (target < minimum || target > maximum)
		laws_break(verdict, "bounds", "group %s: target %lld is not within %lld and %lld",
			   tree_text(planned, "name"), (long long)target, (long long)minimum,
			   (long long)maximum);
	if (launch < 0 || launch > maximum * hosts)
		laws_break(verdict, "bounds", "group %s: %lld launches of at most %lld",
			   tree_text(planned, "name"), (long long)launch,
			   (long long)(maximum * hosts));
	if (cJSON_IsObject(TREE_AT(planned, "backoff")) && launch > owed_pods(group))
		laws_break(verdict, "bounds", "group %s launches in its back-off",
			   tree_text(planned, "name"));
}

static int64_t wanted_gpus(const struct cJSON *group, const struct cJSON *planned)
{
	int64_t pods = tree_integer(planned, "toLaunch", 0) - owed_pods(group);
	struct facts_amounts amounts;

	return pods > 0 && facts_of_group(group, &amounts) ? pods * facts_amount(&amounts, "GPU") :
							     0;
}

void laws_check_bounds(const struct cJSON *snapshot, const struct cJSON *plan,
		       struct laws_verdict *verdict)
{
	const struct cJSON *group = tree_first(facts_groups(snapshot));
	bool gated = laws_is_gated(plan);
	int64_t gpus = 0;
	int index = 0;

	TREE_EACH(planned, TREE_AT(plan, "groups")) {
		if (!group || !tree_is(planned, "name", tree_text(group, "groupName"))) {
			laws_break(verdict, "bounds", "the groups of the plan are others");
			return;
		}
		if (gated || facts_group_is_frozen(snapshot, group))
			check_still(planned, is_patched(plan, index), verdict);
		else
			check_group(group, planned, verdict);
		gpus += wanted_gpus(group, planned);
		group = group->next;
		index++;
	}
	if (group)
		laws_break(verdict, "bounds", "a group is not in the plan");
	if (gpus > tree_integer(snapshot, "gpuBudget", INT32_MAX) * FACTS_UNIT)
		laws_break(verdict, "bounds", "more GPUs are launched than the budget has");
	TREE_EACH(op, TREE_AT(plan, "patch"))
		if (!tree_is(op, "op", "test") && !strstr(tree_text(op, "path"), "suspend") &&
		    !tree_is(op, "path", "/metadata/annotations") &&
		    !strstr(tree_text(op, "path"), "/replicas") &&
		    !strstr(tree_text(op, "path"), "/scaleStrategy"))
			laws_break(verdict, "bounds", "%s is patched", tree_text(op, "path"));
}

/* ---- safety ---- */

struct going {
	const struct cJSON *snapshot, *group, *pod, *item;
	const char *name, *action, *reason;
};

static void broken(const struct going *going, struct laws_verdict *verdict, const char *why)
{
	laws_break(verdict, "safety", "Pod %s (%s, %s): %s", going->name, going->action,
		   going->reason, why);
}

/* The release by a pool of the Pod, or of another host of its replica; NULL: none. */
static const struct cJSON *release_of(const struct going *going)
{
	const char *replica = facts_pod_label(going->pod, "ray.io/worker-group-replica-name");

	TREE_EACH(release, TREE_AT(going->snapshot, "pools", "releases")) {
		const struct cJSON *pod = facts_pod(going->snapshot, tree_text(release, "pod"));

		if (tree_is(release, "pod", going->name))
			return release;
		if (pod && facts_hosts(going->group) > 1 && *replica &&
		    strcmp(facts_pod_label(pod, "ray.io/worker-group-replica-name"), replica) == 0)
			return release;
	}
	return NULL;
}

/* Not before all deadlines of its replica's releases; and one without a deadline never ends work. A host
 * that leaves already has no say. */
static bool deadline_has_passed(const struct going *going)
{
	const char *replica = facts_pod_label(going->pod, "ray.io/worker-group-replica-name");
	bool any = false;

	TREE_EACH(release, TREE_AT(going->snapshot, "pools", "releases")) {
		const struct cJSON *pod = facts_pod(going->snapshot, tree_text(release, "pod"));

		if (!tree_is(release, "pod", going->name) &&
		    !(pod && facts_hosts(going->group) > 1 && *replica &&
		      strcmp(facts_pod_label(pod, "ray.io/worker-group-replica-name"), replica) ==
			      0 &&
		      !facts_pod_leaves(going->group, pod)))
			continue;
		any = true;
		/* RFC 3339 in UTC with the same digits. */
		if (!TREE_AT(release, "deadline") ||
		    strcmp(tree_text(release, "deadline"), tree_text(going->snapshot, "now")) > 0)
			return false;
	}
	return any;
}

static void check_release(const struct going *going, struct laws_verdict *verdict)
{
	const struct cJSON *node = facts_living_node(going->snapshot, going->name);

	if (!release_of(going))
		broken(going, verdict, "is released by no pool");
	else if (!node || (!tree_is(node, "status", "IDLE") && !TREE_AT(going->item, "deadline")))
		broken(going, verdict, "is asked to drain without a deadline and is not idle");
}

static void check_drain(const struct going *going, struct laws_verdict *verdict)
{
	const struct cJSON *node = facts_living_node(going->snapshot, going->name);
	int64_t idle_ms = tree_integer(node, "idleDurationMs", 0);

	if (strcmp(going->reason, "ReleasedForOthers") == 0)
		check_release(going, verdict);
	else if (!node || !tree_is(node, "status", "IDLE"))
		broken(going, verdict, "is asked to drain and is not idle");
	else if (strcmp(going->reason, "Idle") == 0 &&
		 idle_ms <= facts_idle_timeout_ms(going->snapshot, going->group))
		broken(going, verdict, "has not been idle for long enough");
}

static void check_delete(const struct going *going, struct laws_verdict *verdict)
{
	const struct cJSON *node = facts_living_node(going->snapshot, going->name);

	if (node && !(tree_is(node, "status", "DRAINING") && facts_node_is_unused(node)))
		broken(going, verdict, "lives and may be busy");
	if (strcmp(going->reason, "AboveMaxReplicas") == 0 ||
	    strcmp(going->reason, "LaunchUnneeded") == 0) {
		if (!node && !facts_pod_never_started(going->pod) && !facts_pod_ended(going->pod) &&
		    !facts_pod_is_unregistered(going->snapshot, going->pod))
			broken(going, verdict, "has started and may still register");
		return;
	}
	if (!node && !facts_pod_never_started(going->pod) && !facts_pod_ended(going->pod) &&
	    strcmp(going->reason, "StartTimeout") != 0 &&
	    strcmp(going->reason, "RayletGone") != 0 &&
	    strcmp(going->reason, "ReplicaIncomplete") != 0 &&
	    strcmp(going->reason, "GroupBackedOff") != 0)
		broken(going, verdict, "has started and may still join");
}

static void check_stop(const struct going *going, struct laws_verdict *verdict)
{
	int64_t maximum =
		tree_integer(going->group, "maxReplicas", INT32_MAX) * facts_hosts(going->group);

	if (strcmp(going->reason, "ReleasedForOthers") == 0) {
		if (!deadline_has_passed(going))
			broken(going, verdict, "is stopped before its deadline");
		return;
	}
	if (!facts_setting_is(going->snapshot, "enforce-max", "now"))
		broken(going, verdict, "is stopped without enforce-max: now");
	else if (facts_kept_pods(going->snapshot, going->group) <= maximum)
		broken(going, verdict, "is stopped within maxReplicas");
}

bool laws_is_notified(const struct cJSON *item)
{
	return tree_is(item, "reason", "Leaving");
}

static bool is_named(const struct cJSON *plan, const char *pod)
{
	TREE_EACH(group, TREE_AT(plan, "groups"))
		TREE_EACH(item, TREE_AT(group, "toTerminate"))
			if (tree_is(item, "pod", pod) && !laws_is_notified(item))
				return true;
	return false;
}

static bool is_in_patch(const struct cJSON *plan, const char *pod)
{
	TREE_EACH(op, TREE_AT(plan, "patch"))
		if (tree_is(op, "op", "add"))
			TREE_EACH(name, TREE_AT(op, "value"))
				if (cJSON_IsString(name) && strcmp(name->valuestring, pod) == 0)
					return true;
	return false;
}

/* Ray is notified of the end that Kubernetes has announced, and nothing is ended: here only Pods with a
 * deletionTimestamp, until which their work has. */
static void check_notified(const struct going *going, const struct cJSON *plan,
			   struct laws_verdict *verdict)
{
	const struct cJSON *node = facts_living_node(going->snapshot, going->name);
	const struct cJSON *end = TREE_AT(going->pod, "metadata", "deletionTimestamp");

	if (!end || !tree_is(going->item, "deadline", end->valuestring))
		broken(going, verdict, "is notified with another end than that of its Pod");
	if (!node || tree_is(node, "status", "IDLE") || facts_node_is_unused(node))
		broken(going, verdict, "is notified of its end and not in use");
	if (strcmp(going->action, "drain") != 0 || is_in_patch(plan, going->name))
		broken(going, verdict, "is notified of its end and ended");
}

/* The replica is released, and Ray drains this host of it already. */
static bool is_drained_for_others(const struct going *going, const struct cJSON *pod)
{
	const struct cJSON *node =
		facts_living_node(going->snapshot, tree_text(TREE_AT(pod, "metadata"), "name"));

	return strcmp(going->reason, "ReleasedForOthers") == 0 &&
	       tree_is(node, "status", "DRAINING");
}

/* A replica is terminated as a whole. Hosts that end already need not be named, nor, when it is
 * drained, hosts without a living Ray node. */
static void check_whole(const struct going *going, const struct cJSON *plan,
			struct laws_verdict *verdict)
{
	const char *replica = facts_pod_label(going->pod, "ray.io/worker-group-replica-name");

	if (!*replica)
		return;
	TREE_EACH(pod, TREE_AT(going->snapshot, "pods"))
		if (facts_pod_is_worker(pod) &&
		    tree_is(going->group, "groupName", facts_pod_label(pod, "ray.io/group")) &&
		    strcmp(facts_pod_label(pod, "ray.io/worker-group-replica-name"), replica) ==
			    0 &&
		    !facts_pod_leaves(going->group, pod) &&
		    !is_named(plan, tree_text(TREE_AT(pod, "metadata"), "name")) &&
		    (strcmp(going->action, "drain") != 0 ||
		     facts_living_node(going->snapshot,
				       tree_text(TREE_AT(pod, "metadata"), "name"))) &&
		    strcmp(going->reason, "ReplicaIncomplete") != 0 &&
		    !is_drained_for_others(going, pod))
			broken(going, verdict, "goes and another host of its replica stays");
}

static void check_going(const struct going *going, const struct cJSON *plan,
			struct laws_verdict *verdict)
{
	bool drains = strcmp(going->action, "drain") == 0;

	if (!going->pod ||
	    !tree_is(going->group, "groupName", facts_pod_label(going->pod, "ray.io/group"))) {
		broken(going, verdict, "is no Pod of the group");
		return;
	}
	if (facts_pod_leaves(going->group, going->pod))
		broken(going, verdict, "goes already");
	if (is_in_patch(plan, going->name) == drains)
		broken(going, verdict, "a drain is in the patch, or a delete is not");
	if (drains)
		check_drain(going, verdict);
	else if (strcmp(going->action, "delete") == 0)
		check_delete(going, verdict);
	else
		check_stop(going, verdict);
	check_whole(going, plan, verdict);
}

/* A worker with a place of request-resources is kept, and so is a worker that could serve the rest
 * of a request. */
static void check_requests(const struct going *going, const struct cJSON *plan,
			   struct laws_verdict *verdict)
{
	const struct cJSON *node = facts_living_node(going->snapshot, going->name);
	struct facts_amounts total, bundle;

	/* The maximum is set by the user as well; a replica that lost hosts and a Pod that lost its
	 * raylet are recreated. */
	if (strcmp(going->reason, "RayletGone") == 0 ||
	    strcmp(going->reason, "AboveMaxReplicas") == 0 ||
	    strcmp(going->reason, "ReplicaIncomplete") == 0 ||
	    strcmp(going->reason, "ReleasedForOthers") == 0)
		return;
	TREE_EACH(place, TREE_AT(plan, "placements"))
		if (tree_is(place, "worker", going->name) && tree_is(place, "phase", "constraint"))
			laws_break(verdict, "requests",
				   "Pod %s goes and a request has its place there", going->name);
	if (!node || strcmp(going->action, "drain") != 0 ||
	    !facts_amounts_of(TREE_AT(node, "totalResources"), &total))
		return;
	TREE_EACH(entry, TREE_AT(plan, "unserved")) {
		const struct cJSON *request = TREE_AT(entry, "request");
		bool fits = tree_is(entry, "kind", "constraint") &&
			    facts_amounts_of(TREE_AT(request, "resourcesBundle"), &bundle) &&
			    laws_labels_hold(request, node, NULL);

		for (size_t i = 0; fits && i < bundle.count; i++)
			fits = bundle.at[i].amount <= facts_amount(&total, bundle.at[i].name);
		if (fits)
			laws_break(verdict, "requests",
				   "Pod %s goes and would serve a request that is not served",
				   going->name);
	}
}

/* A worker without work; Ray does not call one idle that has just registered. */
static bool is_free(const struct cJSON *snapshot, const struct cJSON *worker)
{
	const struct cJSON *node = facts_living_node(snapshot, tree_text(worker, "pod"));

	return !tree_is(worker, "state", "Running") ||
	       cJSON_Compare(TREE_AT(node, "totalResources"), TREE_AT(node, "availableResources"),
			     true);
}

/* Idle workers are terminated only above the number of warmWorkers. Of a replica with several hosts
 * one that is there counts: others may be missing. */
static void check_warm(const struct going *going, const struct cJSON *plan,
		       struct laws_verdict *verdict)
{
	int64_t wanted = laws_warm_count(going->snapshot, going->group), kept = 0;

	if (strcmp(going->reason, "Idle") != 0)
		return;
	TREE_EACH(worker, TREE_AT(plan, "workers"))
		if (tree_is(going->group, "groupName", tree_text(worker, "group")) &&
		    is_free(going->snapshot, worker) && !is_named(plan, tree_text(worker, "pod")))
			kept++;
	if (kept < wanted)
		broken(going, verdict,
		       "is terminated, and fewer free workers stay than warmWorkers counts");
}

void laws_check_safety(const struct cJSON *snapshot, const struct cJSON *plan,
		       struct laws_verdict *verdict)
{
	TREE_EACH(planned, TREE_AT(plan, "groups"))
		TREE_EACH(item, TREE_AT(planned, "toTerminate")) {
			struct going going = {
				.snapshot = snapshot,
				.group = facts_group(snapshot, tree_text(planned, "name")),
				.pod = facts_pod(snapshot, tree_text(item, "pod")),
				.item = item,
				.name = tree_text(item, "pod"),
				.action = tree_text(item, "action"),
				.reason = tree_text(item, "reason"),
			};

			if (!laws_ray_was_read(plan) || laws_is_gated(plan))
				broken(&going, verdict, "goes without a reply of Ray");
			if (laws_is_notified(item)) {
				check_notified(&going, plan, verdict);
				continue;
			}
			check_going(&going, plan, verdict);
			check_requests(&going, plan, verdict);
			check_warm(&going, plan, verdict);
		}
}
