#include "feature/queue/core/queue.h"

#include <string.h>

#include "base/int64.h"
#include "base/text.h"
#include "core/decide/patch.h"
#include "core/decide/progress.h"
#include "core/model/reason.h"
#include "core/nodes/node_sample.h"

#define MESSAGE_MAX 400
/* A gate this young may be lifted at once: a queue admits in a moment. */
#define GRACE_MS 5000
/* Kueue's reason Pending also means a preemption, which ends in about this time. */
#define PENDING_MS (60 * MS_PER_SECOND)

/* ---- the owners ---- */

enum sign { SIGN_GATE, SIGN_EVENT, SIGN_CONDITION, SIGN_GROUP, SIGN_UNTRIED };

enum admits {
	ADMITS_PODS,
	ADMITS_STEP, /* all Pods that wait, of all groups, together */
	HAS_ADMITTED /* the Pod: it only waits for a Node of its topology */
};

static const struct owner {
	const char *name;
	enum sign sign; /* that a Pod waits for it */
	const char *
		word; /* the gate, the reason of Event or condition, a part or the beginning of its message */
	enum admits admits;
} owners[] = { { "Kueue", SIGN_GATE, KUEUE_ANNOTATION_ELASTIC_JOB, ADMITS_STEP },
	       { "Kueue", SIGN_GATE, "kueue.x-k8s.io/admission", ADMITS_PODS },
	       { "Kueue", SIGN_GATE, "kueue.x-k8s.io/topology", HAS_ADMITTED },
	       { "Volcano", SIGN_GATE, "scheduling.volcano.sh/queue-allocation-gate", ADMITS_PODS },
	       { "KAI", SIGN_GATE, "kai.scheduler/queue-admission", ADMITS_PODS },
	       { "KAI", SIGN_CONDITION, "Non-preemptible workload is over quota", ADMITS_PODS },
	       { "KAI", SIGN_CONDITION, "quota has reached the allowable limit", ADMITS_PODS },
	       { "YuniKorn", SIGN_CONDITION, "SchedulingSkipped", ADMITS_PODS },
	       { "Volcano", SIGN_UNTRIED, "pod group is ", ADMITS_PODS },
	       { "kube-scheduler", SIGN_GROUP, "", ADMITS_STEP },
#define X(name, reason) { name, SIGN_EVENT, reason, ADMITS_PODS },
	       QUEUE_POD_REFUSALS(X)
#undef X
};

bool queue_reads_workload(const struct pod *pod)
{
	const struct strings *gates = &pod->spec.scheduling_gates;

	return !pod->deleting &&
	       text_is_among(KUEUE_ANNOTATION_ELASTIC_JOB, gates->at, gates->count);
}

/* ---- another group ---- */

static bool covers(const struct capacity *capacity, const struct capacity *other)
{
	ARRAY_EACH(const struct resource, resource, other->resources.at, other->resources.count) {
		if (resources_amount(&capacity->resources, resource->name, 0) < resource->amount)
			return false;
	}
	ARRAY_EACH(const struct label, label, other->labels.at, other->labels.count) {
		const char *value = labels_value(&capacity->labels, label->key);

		if (!value || strcmp(value, label->value) != 0)
			return false;
	}
	return true;
}

static bool was_refused(const struct health *health, const struct group *group)
{
	const struct memory_state *memory = health->snapshot->memory;

	if (memory && VEC_FIND(&memory->backoffs, group, group->spec->name))
		return true;
	for (size_t i = 0; i < group->worker_count; i++)
		if (health->workers[group->first_worker + i].obstacle == OBSTACLE_GATED)
			return true;
	return false;
}

/* Another group serves whatever this one would; hosts of a replica matter to accelerators, which they connect. A launch
 * does not return to a group that it left within BACKOFF_FORGET_MS, so it loses its place in the queue at most once for
 * each group. */
static bool moves_on(const struct health *health, const struct group *group)
{
	const struct facts *facts = health->facts;

	ARRAY_EACH(const struct group, other, facts->groups, facts->group_count) {
		if (other != group && !other->frozen && !was_refused(health, other) &&
		    !progress_scale_gate(other->spec) &&
		    (other->hosts == group->hosts || !group->template_capacity.accelerator) &&
		    other->kept + other->missing < other->spec->max_replicas * other->hosts &&
		    covers(&other->template_capacity, &group->template_capacity))
			return true;
	}
	return false;
}

/* ---- the Workload of Kueue ---- */

/* Kueue writes names of groups in lower case. */
static const struct kueue_pod_set *pod_set_of(const struct kueue_workload *workload,
					      const struct group *group)
{
	for (size_t i = 0; i < workload->pod_set_count; i++)
		if (text_equal_ignoring_case(workload->pod_sets[i].name, group->spec->name))
			return &workload->pod_sets[i];
	return NULL;
}

/* By the reason of its condition, unless that is about older numbers than those that are requested. */
static bool is_refused(const struct health *health, const struct kueue_workload *workload)
{
	static const char *const refusals[] = { "WaitingForQuota", "ExceedsMaxQuota",
						"NoMatchingFlavor", "TopologyPlacementFailed" };

	ARRAY_EACH(const struct group, group, health->facts->groups, health->facts->group_count) {
		const struct kueue_pod_set *set = pod_set_of(workload, group);

		if (set && set->pods != group->spec->replicas * group->hosts)
			return false;
	}
	if (strcmp(workload->reason, "Pending") == 0)
		return workload->since != TIME_NONE &&
		       due_passed(health->facts->due, workload->since, PENDING_MS);
	return text_is_among(workload->reason, refusals, sizeof(refusals) / sizeof(refusals[0]));
}

/* ---- the step: the Pods that wait ---- */

struct step {
	struct health *health;
	/* Of the step of kube-scheduler the last change (TIME_NONE: none waits), its time, and whether that has passed. */
	time_ms gang_since;
	int64_t gang_ms;
	bool refused;
	const struct owner **owners; /* of workers past their time of grace; NULL: none */
	bool *partly,
		*cancelled; /* of the replicas of several hosts: not all Pods are held; it loses its place */
};

static bool is_held(const struct step *step, const struct worker *worker)
{
	return step->owners[worker->index] &&
	       (worker->replica == FACTS_NO_INDEX || !step->partly[worker->replica]);
}

/* Replicas of which all Pods are held. ret_owner: the one that admits the step, if there is one. ret_since: of the
 * first Pod. */
static int64_t held_replicas(const struct step *step, const struct group *group,
			     const struct owner **ret_owner, time_ms *ret_since)
{
	int64_t pods = 0;

	*ret_owner = NULL;
	for (size_t i = group->first_worker; i < group->first_worker + group->worker_count; i++) {
		time_ms since = step->health->workers[i].gated_since;

		if (!is_held(step, &step->health->facts->workers[i]))
			continue;
		if (!*ret_owner || since < *ret_since)
			*ret_since = since;
		if (!*ret_owner || step->owners[i]->admits == ADMITS_STEP)
			*ret_owner = step->owners[i];
		pods++;
	}
	return (pods + group->hosts - 1) / group->hosts;
}

/* Of the groups of a refused step the one gives way that waits longest, because it was refused before the others
 * came; of several the last one. NULL: only one group waits. */
static const struct group *gives_way(const struct step *step)
{
	const struct facts *facts = step->health->facts;
	const struct group *first = NULL;
	time_ms first_since = TIME_NONE;
	size_t groups = 0;

	ARRAY_EACH(const struct group, group, facts->groups, facts->group_count) {
		const struct owner *owner;
		time_ms since = TIME_NONE;

		if (held_replicas(step, group, &owner, &since) == 0 || !owner ||
		    owner->admits != ADMITS_STEP)
			continue;
		groups++;
		if (!group->frozen && group->spec->replicas > group->min_replicas &&
		    (!first || since <= first_since)) {
			first = group;
			first_since = since;
		}
	}
	return groups > 1 ? first : NULL;
}

/* A step of kube-scheduler that is placed as a whole: in the time of a Node it was not, since its last change. */
static bool is_gang_refused(const struct step *step)
{
	time_ms since = step->gang_since;
	const struct memory_state *memory = step->health->snapshot->memory;

	if (memory)
		VEC_EACH(const struct memory_backoff, entry, &memory->backoffs)
			if (entry->cause == REASON_QUOTA_GATE)
				since = int64_max(since,
						  entry->until - entry->seconds * MS_PER_SECOND);
	return due_passed(step->health->facts->due, since, step->gang_ms + 1);
}

/* Replicas of the group that lose their place: none while nothing is served instead. Of a refused step one part is asked
 * for again, so what fits runs after a few steps, whatever the queue says of the amounts. */
static int64_t cancelled(const struct step *step, const struct group *group,
			 const struct group *way)
{
	const struct kueue_workload *workload = step->health->snapshot->kueue;
	const struct kueue_pod_set *set;
	const struct owner *owner;
	time_ms since = TIME_NONE;
	int64_t held = held_replicas(step, group, &owner, &since), part;
	bool moves;

	if (held == 0 || !owner || group->frozen)
		return 0;
	moves = moves_on(step->health, group);
	part = way ? (way == group ? held : 0) : (held + moves) / 2;
	if (owner->sign == SIGN_GROUP)
		return step->refused ? part : 0;
	if (owner->admits != ADMITS_STEP || !workload || workload->problem[0] != '\0')
		return moves ? held : 0;
	set = pod_set_of(workload, group);
	return set && is_refused(step->health, workload) ?
		       int64_min(part, (set->pods - set->admitted) / group->hosts) :
		       0;
}

/* The last ones of the group. */
static void cancel(const struct step *step, const struct group *group, int64_t replicas)
{
	for (size_t i = group->worker_count; i > 0; i--) {
		const struct worker *worker =
			&step->health->facts->workers[group->first_worker + i - 1];
		bool alone = false, *taken = worker->replica != FACTS_NO_INDEX ?
						     &step->cancelled[worker->replica] :
						     &alone;

		if (!is_held(step, worker) || (replicas <= 0 && !*taken))
			continue;
		step->health->workers[worker->index].gate = GATE_CANCELLED;
		replicas -= !*taken;
		*taken = true;
	}
}

/* ---- the hook: how long each owner is waited for ---- */

static const char *workload_text(const struct health *health, const char *gate)
{
	const struct kueue_workload *workload = health->snapshot->kueue;

	if (workload && workload->problem[0] != '\0')
		return arena_printf(health->arena, "%s; %.*s", gate, MESSAGE_MAX,
				    workload->problem);
	if (!workload || workload->name[0] == '\0')
		return gate;
	return arena_printf(health->arena, "%.*s (Workload %.253s)", MESSAGE_MAX,
			    workload->message[0] != '\0' ? workload->message : "waits in the queue",
			    workload->name);
}

static const struct condition *scheduled_of(const struct worker *worker)
{
	return condition_find(worker->pod->conditions, worker->pod->condition_count,
			      "PodScheduled");
}

/* Volcano looks for no Node while the queue is over its quota. It then counts the Pods of the PodGroup; of one that fits no
 * Node the condition has the words of the Nodes, and of the others their "Origin reason". */
static bool is_untried(const char *message, const char *beginning)
{
	return strncmp(message, beginning, strlen(beginning)) == 0 &&
	       !strstr(message, "Origin reason is");
}

/* A Pod that fits no Node is known by itself. */
static bool is_in_gang(const struct pod_spec *spec, enum obstacle obstacle)
{
	return node_sample_gang(spec)[0] != '\0' &&
	       (obstacle == OBSTACLE_WAITING || obstacle == OBSTACLE_NODE_TIMEOUT);
}

/* The owner's words about the Pod; NULL: it does not wait for this owner. */
static const char *words_of(const struct health *health, const struct worker *worker,
			    const struct owner *owner)
{
	const struct worker_health *own = &health->workers[worker->index];
	const struct pod_spec *spec = &worker->pod->spec;
	const struct condition *scheduled = scheduled_of(worker);
	const char *about = owner->word, *words = scheduled ? scheduled->message : "";

	if (owner->sign == SIGN_GATE &&
	    text_is_among(about, spec->scheduling_gates.at, spec->scheduling_gates.count)) {
		about = arena_printf(health->arena, "scheduling gate %s", about);
		return owner->admits == ADMITS_STEP ? workload_text(health, about) : about;
	}
	if (owner->sign == SIGN_EVENT && own->refusal && strcmp(own->refusal->reason, about) == 0)
		words = own->refusal->message;
	else if (owner->sign == SIGN_UNTRIED && is_untried(words, about))
		about = "its queue has no room";
	else if (owner->sign == SIGN_GROUP && is_in_gang(spec, own->obstacle)) {
		about = arena_printf(health->arena, "%s %.253s",
				     spec->pod_group[0] != '\0' ? "PodGroup" : "Workload",
				     node_sample_gang(spec));
		words = own->obstacle_message;
	} else if (owner->sign != SIGN_CONDITION || !scheduled)
		return NULL;
	else if (strcmp(scheduled->reason, about) != 0)
		return strstr(words, about) ? words : NULL;
	return arena_printf(health->arena, "%s: %.*s", about, MESSAGE_MAX, words);
}

/* A refusal is in force at once, and another sign after its time. */
static bool is_refusal(const struct owner *owner)
{
	return owner->sign == SIGN_EVENT || owner->sign == SIGN_CONDITION;
}

static void wait_for(struct step *step, const struct worker *worker, const struct owner *owner,
		     const char *message)
{
	struct health *health = step->health;
	struct worker_health *own = &health->workers[worker->index];
	const struct condition *scheduled = scheduled_of(worker);
	int64_t grace = owner->admits == HAS_ADMITTED || owner->sign == SIGN_GROUP ?
				facts_launch(health->facts, worker)->node_ms :
				GRACE_MS;

	if (owner->sign == SIGN_GROUP || owner->sign == SIGN_UNTRIED)
		own->gated_since = scheduled && scheduled->last_transition != TIME_NONE ?
					   scheduled->last_transition :
					   worker->pod->created;
	if (owner->sign == SIGN_GROUP) {
		step->gang_since = int64_max(step->gang_since, own->gated_since);
		step->gang_ms = int64_max(step->gang_ms, grace);
	}
	own->waiting_reason = REASON_WAITS_FOR_QUEUE;
	own->obstacle_message = message;
	own->gate = GATE_WAITS;
	own->obstacle = OBSTACLE_WAITING;
	if (!is_refusal(owner) && !due_passed(health->facts->due, own->gated_since, grace))
		return;
	own->obstacle = OBSTACLE_GATED;
	if (!step->owners)
		step->owners = arena_array(health->arena, health->facts->worker_count,
					   sizeof(*step->owners));
	step->owners[worker->index] = owner;
}

static void find_wait(struct step *step, const struct worker *worker)
{
	struct health *health = step->health;
	const char *words;

	if (!worker->pod || !health->workers[worker->index].waiting_reason)
		return;
	for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
		words = words_of(health, worker, &owners[i]);
		if (!words)
			continue;
		wait_for(step, worker, &owners[i],
			 arena_printf(health->arena, "%s: %.*s", owners[i].name, MESSAGE_MAX,
				      words));
		return;
	}
}

/* A queue admits the hosts of a replica together, and may report one of its Pods alone. */
static void share_refusals(struct step *step)
{
	struct health *health = step->health;
	const struct facts *facts = health->facts;
	const struct worker **refused =
		arena_array(health->arena, facts->worker_count, sizeof(*refused));

	ARRAY_EACH(const struct worker, worker, facts->workers, facts->worker_count)
		if (worker->replica != FACTS_NO_INDEX && step->owners[worker->index] &&
		    is_refusal(step->owners[worker->index]))
			refused[worker->replica] = worker;
	ARRAY_EACH(const struct worker, worker, facts->workers, facts->worker_count) {
		const struct worker *other =
			worker->replica != FACTS_NO_INDEX ? refused[worker->replica] : NULL;
		enum reason reason = health->workers[worker->index].waiting_reason;

		if (other && (reason == REASON_WAITING_FOR_NODE || reason == REASON_SCHEDULING))
			wait_for(step, worker, step->owners[other->index],
				 health->workers[other->index].obstacle_message);
	}
}

static void assess(struct health *health)
{
	const struct facts *facts = health->facts;
	struct step step = { .health = health, .gang_since = TIME_NONE };
	const struct group *way;

	ARRAY_EACH(const struct worker, worker, facts->workers, facts->worker_count)
		find_wait(&step, worker);
	if (!step.owners)
		return;
	share_refusals(&step);
	step.partly = arena_array(health->arena, facts->worker_count, sizeof(*step.partly));
	step.cancelled = arena_array(health->arena, facts->worker_count, sizeof(*step.cancelled));
	ARRAY_EACH(const struct worker, worker, facts->workers, facts->worker_count)
		if (worker->replica != FACTS_NO_INDEX && !step.owners[worker->index])
			step.partly[worker->replica] = true;
	way = gives_way(&step);
	step.refused = step.gang_since != TIME_NONE && is_gang_refused(&step);
	ARRAY_EACH(const struct group, group, facts->groups, facts->group_count)
		cancel(&step, group, cancelled(&step, group, way));
}

/* ---- replicas of a suspended RayCluster ---- */

static bool lowers(const struct facts *facts)
{
	const struct snapshot *snapshot = facts->snapshot;
	const struct autoscaler_object *object = snapshot->autoscaler;

	if (facts->gate.reason != REASON_SUSPENDED || snapshot->cluster.deleting ||
	    !snapshot->cluster.suspend || ray_cluster_suspended_at(&snapshot->cluster) ||
	    !labels_value(&snapshot->cluster.labels, KUEUE_LABEL_QUEUE) ||
	    (object && object->paused))
		return false;
	return object && object->has_lower_while_suspended ?
		       object->lower_while_suspended :
		       snapshot->settings.lower_while_suspended;
}

static void write_gated(const struct facts *facts, struct plan *plan)
{
	const struct patch_op suspended = {
		.op = "test", .path = RAY_SUSPEND_PATH, .kind = PATCH_VALUE_BOOLEAN, .integer = true
	};

	if (!lowers(facts))
		return;
	ARRAY_EACH(const struct group, group, facts->groups, facts->group_count) {
		struct plan_group *planned = &plan->groups.at[group->index];
		int64_t replicas = group->spec->replicas, least = group->spec->min_replicas;

		if (group->frozen || !group->spec->has_replicas || replicas <= least)
			continue;
		if (plan->patch.count == 0)
			patch_add(plan, facts->arena, suspended);
		patch_test_name(plan, facts->arena, group);
		patch_replicas(plan, facts->arena, group, "test", replicas);
		patch_replicas(plan, facts->arena, group, "add", least);
		planned->target_replicas = planned->patch_replicas = least;
		planned->reason = REASON_SCALE_DOWN_SUSPENDED;
		planned->message = arena_printf(facts->arena,
						"%lld replicas from before the suspension are "
						"above minReplicas %lld",
						(long long)replicas, (long long)least);
	}
}

const struct decision_feature queue_decisions = {
	.assess = assess,
	.write_gated = write_gated,
};
