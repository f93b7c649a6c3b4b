#include "feature/idle_termination/core/idle.h"

#include <string.h>

#include "base/check.h"
#include "core/decide/mark.h"
#include "core/decide/worker.h"
#include "core/model/autoscaler_problem.h"
#include "core/model/reason.h"
#include "feature/idle_termination/core/suspend.h"

/* Ray's idle durations differ by this from reply to reply. */
#define JITTER_MS 5000
#define WHY_MAX 200
#define GROUPS_PATH "/spec/workerGroupSpecs"
#define DENIED_MS (10 * INT64_C(60000)) /* until a deletion is tried again */

static const struct idle_termination *settings_of(const struct snapshot *snapshot)
{
	if (snapshot->settings.mode == MODE_SIDECAR)
		return NULL;
	if (snapshot->autoscaler && snapshot->autoscaler->idle_termination)
		return snapshot->autoscaler->idle_termination;
	return snapshot->cluster.idle_termination;
}

static bool deletes(const struct facts *facts)
{
	const struct idle_termination *settings = settings_of(facts->snapshot);

	return settings && strcmp(settings->action, IDLE_ACTION_DELETE) == 0;
}

/* ---- use of the cluster: each function returns NULL, or the reason that keeps it ---- */

/* The API server refused a deletion, recently. */
static const char *denied(struct facts *facts)
{
	const struct memory_mark *mark = mark_find(facts, MARK_DELETE_DENIED, CLUSTER_MARK_KEY);

	if (!mark || !due_reached(facts->due, mark->since) ||
	    due_passed(facts->due, mark->since, DENIED_MS))
		return NULL;
	VEC_PUSH(facts->arena, &facts->memory.marks, *mark);
	return arena_printf(facts->arena,
			    "%s; install the chart with idleTermination.allowDelete, or set action "
			    "Suspend",
			    mark->who ? mark->who : "deleting it is forbidden");
}

/* Someone else decides when the cluster runs, or it must not be ended. */
static const char *blocked(struct facts *facts)
{
	const char *owner = autoscaler_problem_owner(&facts->snapshot->cluster, facts->arena);

	if (owner)
		return owner;
	return deletes(facts) ? denied(facts) : NULL;
}

static time_ms head_ready_since(const struct facts *facts)
{
	const struct pod *head = facts->head_pod;
	const struct condition *ready =
		!head ? NULL : condition_find(head->conditions, head->condition_count, "Ready");

	return ready && strcmp(ready->status, "True") == 0 ? ready->last_transition : TIME_NONE;
}

static const char *doubt(const struct facts *facts)
{
	if (!facts->ray_reachable)
		return arena_printf(facts->arena, "%s: %s",
				    facts->snapshot->ray_refused ? "the state of Ray was not read" :
								   "Ray is unreachable",
				    facts->ray_problem);
	if (facts->view_problem)
		return arena_printf(facts->arena, "the view of the API server is stale: %s",
				    facts->view_problem);
	if (facts->head_problem)
		return facts->head_problem;
	if (head_ready_since(facts) == TIME_NONE)
		return "the head Pod is not Ready";
	if (facts->problems.count > 0)
		return "a field or annotation is invalid: see the condition InvalidRequest";
	if (facts->snapshot->ray_state->problems.count > 0)
		return "the reply of Ray has an invalid value";
	return facts->termination_forbidden ? "nothing may be terminated now" : NULL;
}

/* The same for a cluster that runs and for one that is suspended. */
static const char *wanted(const struct facts *facts)
{
	const struct snapshot *snapshot = facts->snapshot;

	const struct ray_constraint *requested = ray_cluster_requested(&snapshot->cluster);

	if (requested && requested->count > 0)
		return "annotation " ANNOTATION_REQUEST_RESOURCES " requests workers";
	return facts->keeps_cluster;
}

static const char *busy_node(const struct facts *facts, const struct ray_node *node)
{
	const char *why = node->problem            ? node->problem :
			  node->activity.count > 0 ? node->activity.at[0] :
			  ray_node_is_free(node)   ? "Ray does not call it idle" :
						     "its resources are in use";

	return arena_printf(facts->arena, "%s %.253s is in use: %.*s",
			    ray_node_is_head(node) ? "the head" : "worker", node->instance_id,
			    WHY_MAX, why);
}

/* The first by name, so that the order of the reply does not matter. */
static const struct ray_node *find_busy(const struct ray_state *state)
{
	const struct ray_node *found = NULL;

	for (size_t i = 0; i < state->node_count; i++) {
		const struct ray_node *node = &state->nodes[i];

		if (node->status == RAY_NODE_DEAD ||
		    (node->status == RAY_NODE_IDLE && ray_node_is_free(node)))
			continue;
		if (!found || strcmp(node->instance_id, found->instance_id) < 0)
			found = node;
	}
	return found;
}

static const char *pending(const struct facts *facts)
{
	const struct ray_state *state = facts->snapshot->ray_state;

	if (!state)
		return NULL;
	if (facts->demands.at.count > 0)
		return worker_count_text(facts->arena, (int64_t)facts->demands.at.count,
					 "pending request shape");
	/* Also those without bundles, which the packing leaves out. */
	if (state->gang_count > 0)
		return worker_count_text(facts->arena, (int64_t)state->gang_count,
					 "pending placement group");
	for (size_t c = 0; c < facts->constraint_count; c++)
		if (facts->constraints[c].at.count > 0)
			return "request_resources requests workers";
	return NULL;
}

static const char *in_use(const struct facts *facts)
{
	const struct ray_node *busy = find_busy(facts->snapshot->ray_state);
	const char *why = wanted(facts);

	why = why ? why : pending(facts);
	if (why)
		return why;
	return busy ? busy_node(facts, busy) : NULL;
}

/* ---- since when ---- */

/* The end of the last use that Ray's nodes report. */
static time_ms last_used(const struct facts *facts)
{
	const struct ray_state *state = facts->snapshot->ray_state;
	int64_t idle_ms = RAY_IDLE_DURATION_MAX_MS;

	for (size_t i = 0; i < state->node_count; i++)
		if (state->nodes[i].status == RAY_NODE_IDLE &&
		    state->nodes[i].idle_duration_ms < idle_ms)
			idle_ms = state->nodes[i].idle_duration_ms;
	return facts->snapshot->ray_state_time - idle_ms;
}

/* The use or the doubt that the lists of this pass show; NULL: none, or they were not read. */
static const char *work_against(const struct facts *facts)
{
	const struct cluster_work *work = facts->snapshot->cluster_work;

	if (!work)
		return NULL;
	return work->problem[0] != '\0' ? work->problem :
	       work->in_use[0] != '\0'  ? work->in_use :
					  NULL;
}

static struct memory_mark mark_of(const struct facts *facts)
{
	const struct memory_mark *old = mark_find(facts, MARK_CLUSTER_IDLE, CLUSTER_MARK_KEY);
	const struct cluster_work *work = facts->snapshot->cluster_work;
	const char *against = work_against(facts);
	struct memory_mark mark = { .kind = MARK_CLUSTER_IDLE, .key = CLUSTER_MARK_KEY };
	time_ms used = last_used(facts), ready = head_ready_since(facts);

	mark.since = mark_since(facts, MARK_CLUSTER_IDLE, CLUSTER_MARK_KEY);
	mark.who = old ? old->who : NULL;
	if (used > mark.since + JITTER_MS)
		mark.since = used;
	if (ready > mark.since)
		mark.since = ready;
	if (work && work->ended > mark.since)
		mark.since = work->ended;
	if (work)
		mark.who = NULL;
	/* A user has just resumed it: see suspend_patch_forget. */
	if (labels_value(&facts->snapshot->cluster.annotations, ANNOTATION_SUSPENDED))
		mark.since = facts->snapshot->now;
	if (against) {
		mark.since = facts->snapshot->now;
		mark.who = arena_printf(facts->arena, "%.*s", WHY_MAX, against);
	}
	return mark;
}

/* `who`: the user in the lists at `since`; NULL: none. */
static void write_since(const struct facts *facts, struct plan_idle *idle, const char *who)
{
	const char *since = time_text(facts->arena, idle->since);
	const char *until = time_text(facts->arena, idle->until);

	idle->reason = who ? REASON_CLUSTER_IN_USE : REASON_CLUSTER_IDLE;
	idle->message =
		who ? arena_printf(facts->arena, "at %s: %s; read again at %s", since, who, until) :
		      arena_printf(facts->arena, "idle since %s; %s at %s if it stays idle", since,
				   deletes(facts) ? "deleted" : "suspended", until);
}

static void judge_running(struct facts *facts)
{
	const struct idle_termination *settings = settings_of(facts->snapshot);
	struct plan_idle *idle;
	struct memory_mark mark;

	if (!settings)
		return;
	idle = ARENA_PUT(facts->arena,
			 (struct plan_idle){ .since = TIME_NONE, .until = TIME_NONE });
	feature_slot_set(&facts->slots, facts->arena, &idle_termination_decisions, idle);
	idle->reason = REASON_IDLE_TERMINATION_BLOCKED;
	idle->message = blocked(facts);
	if (idle->message)
		return;
	idle->reason = REASON_IDLENESS_UNKNOWN;
	idle->message = doubt(facts);
	if (idle->message)
		return;
	idle->reason = REASON_CLUSTER_IN_USE;
	idle->message = in_use(facts);
	if (idle->message)
		return;
	mark = mark_of(facts);
	VEC_PUSH(facts->arena, &facts->memory.marks, mark);
	idle->since = mark.since;
	idle->until = mark.since + settings->after_seconds * MS_PER_SECOND;
	write_since(facts, idle, mark.who);
}

/* Work that arrived while the cluster was being suspended: the lists and the state that were read
 * after the patch show it. Doubt and busy nodes say nothing about a head that is ending. */
static const char *arrived(const struct facts *facts)
{
	const struct cluster_work *work = facts->snapshot->cluster_work;

	if (!work)
		return NULL;
	return work->in_use[0] != '\0' ? work->in_use : pending(facts);
}

static const char *resume_text(const struct facts *facts)
{
	return arena_printf(facts->arena, "resume with: rayscaler resume %s -n %s",
			    facts->snapshot->cluster.name, facts->snapshot->cluster.namespace_);
}

/* A cluster that this program has suspended: it stays so, or is resumed. */
static void judge_suspended(struct facts *facts)
{
	const struct snapshot *snapshot = facts->snapshot;
	const char *time = ray_cluster_suspended_at(&snapshot->cluster), *why = wanted(facts);
	bool paused = snapshot->autoscaler && snapshot->autoscaler->paused;
	struct plan_idle *idle;

	if (!time || facts->gate.reason != REASON_SUSPENDED)
		return;
	why = why ? why : arrived(facts);
	why = snapshot->cluster.deleting || paused ? NULL : why;
	idle = ARENA_PUT(
		facts->arena,
		(struct plan_idle){
			.action = why ? CLUSTER_RESUME : CLUSTER_KEEP,
			.since = TIME_NONE,
			.until = TIME_NONE,
			.reason = why ? REASON_CLUSTER_RESUMED : REASON_IDLE_TERMINATED,
			.message = why ? arena_printf(facts->arena, "resumed: %s", why) :
					 arena_printf(facts->arena,
						      "Suspended by idle termination at %.40s; %s",
						      time, resume_text(facts)),
		});
	feature_slot_set(&facts->slots, facts->arena, &idle_termination_decisions, idle);
	facts->gate.message = idle->message;
}

static void judge(struct facts *facts)
{
	if (facts->gate.reason)
		judge_suspended(facts);
	else
		judge_running(facts);
}

/* ---- the plan ---- */

/* NULL: none. */
static const struct plan_idle *idle_of(const struct facts *facts)
{
	return feature_slot_get(facts->slots, &idle_termination_decisions);
}

/* Workers start or end first: a patch that suspends has nothing else. */
static bool is_settled(const struct plan *plan)
{
	for (size_t g = 0; g < plan->groups.count; g++)
		if (plan->groups.at[g].to_launch > 0 || plan->groups.at[g].terminate.count > 0)
			return false;
	return plan->patch.count == 0;
}

/* The time has passed, and the lists that were read after it show no use. */
static enum cluster_action action_of(const struct facts *facts, const struct plan_idle *idle,
				     const struct plan *plan)
{
	const struct cluster_work *work = facts->snapshot->cluster_work;

	if (idle->since == TIME_NONE || !due_reached(facts->due, idle->until) || !is_settled(plan))
		return CLUSTER_KEEP;
	if (!work || work->begun < idle->until || work_against(facts))
		return CLUSTER_READ_WORK;
	return deletes(facts) ? CLUSTER_DELETE : CLUSTER_SUSPEND;
}

static const char *ending_text(const struct facts *facts, const struct plan_idle *idle)
{
	const char *since = time_text(facts->arena, idle->since);

	if (idle->action == CLUSTER_DELETE)
		return arena_printf(facts->arena, "deleted: idle since %s", since);
	return arena_printf(facts->arena, "suspended: idle since %s; %s", since,
			    resume_text(facts));
}

/* Without the mark of an idle cluster, its time begins again. */
static void drop_mark(struct arena *arena, struct plan *plan)
{
	__typeof__(plan->memory.marks) old = plan->memory.marks;

	if (!memory_next_mark(&plan->memory, MARK_CLUSTER_IDLE, NULL))
		return;
	plan->memory.marks = (__typeof__(old)){ .at = NULL };
	for (size_t i = 0; i < old.count; i++)
		if (old.at[i].kind != MARK_CLUSTER_IDLE)
			VEC_PUSH(arena, &plan->memory.marks, old.at[i]);
}

/* A cluster ends only when the lists were read after its time, and were complete and empty; a patch
 * that suspends or resumes it has nothing else. */
static void check(const struct snapshot *snapshot, const struct plan *plan)
{
	const struct plan_idle *idle = plan->idle;
	const struct cluster_work *work = snapshot->cluster_work;

	CHECK(idle->reason && idle->message);
	CHECK((idle->since == TIME_NONE) == (idle->until == TIME_NONE));
	switch (idle->action) {
	case CLUSTER_KEEP:
		break;
	case CLUSTER_READ_WORK:
		CHECK(idle->since != TIME_NONE && idle->until <= snapshot->now);
		break;
	case CLUSTER_SUSPEND:
	case CLUSTER_DELETE:
		CHECK(idle->since != TIME_NONE && idle->until <= snapshot->now);
		CHECK(work && work->begun >= idle->until);
		CHECK(work->problem[0] == '\0' && work->in_use[0] == '\0');
		CHECK(!snapshot->cluster.suspend && !snapshot->cluster.owner_kind);
		for (size_t i = 0; i < plan->patch.count; i++)
			CHECK(strncmp(plan->patch.at[i].path, GROUPS_PATH, strlen(GROUPS_PATH)) !=
			      0);
		break;
	case CLUSTER_RESUME:
		CHECK(snapshot->cluster.suspend);
		break;
	}
}

static void write_plan(struct arena *arena, struct plan *plan)
{
	enum cluster_action action = plan->idle->action;

	plan->cluster = (struct plan_cluster){ .action = action, .message = plan->idle->message };
	if (action == CLUSTER_RESUME)
		plan->cluster.event = DECISION_EVENT_RESUMED;
	else if (action == CLUSTER_SUSPEND || action == CLUSTER_DELETE)
		plan->cluster.event = DECISION_EVENT_IDLE_TERMINATED;
	plan_add_condition(arena, plan, CONDITION_IDLE_TERMINATED,
			   plan->idle->reason == REASON_IDLE_TERMINATED, plan->idle->reason,
			   plan->idle->message)
		->notice = true;
}

static void write(const struct choice *choice, struct plan *plan)
{
	const struct facts *facts = choice->facts;
	const struct snapshot *snapshot = facts->snapshot;
	struct plan_idle *idle;

	suspend_patch_forget(&snapshot->cluster, facts->arena, plan);
	if (!idle_of(facts))
		return;
	idle = ARENA_COPY(facts->arena, idle_of(facts), 1);
	idle->action = action_of(facts, idle, plan);
	if (idle->action == CLUSTER_SUSPEND || idle->action == CLUSTER_DELETE) {
		idle->reason = REASON_IDLE_TERMINATED;
		idle->message = ending_text(facts, idle);
		drop_mark(facts->arena, plan);
	}
	if (idle->action == CLUSTER_SUSPEND)
		suspend_patch(&snapshot->cluster, snapshot->now, facts->arena, plan);
	if (idle->action != CLUSTER_KEEP)
		due_now(facts->due);
	plan->idle = idle;
	write_plan(facts->arena, plan);
	check(snapshot, plan);
}

static void write_gated(const struct facts *facts, struct plan *plan)
{
	drop_mark(facts->arena, plan);
	if (!idle_of(facts))
		return;
	plan->idle = idle_of(facts);
	if (plan->idle->action == CLUSTER_RESUME)
		suspend_patch_resume(&facts->snapshot->cluster, facts->arena, plan);
	write_plan(facts->arena, plan);
	check(facts->snapshot, plan);
}

const struct decision_feature idle_termination_decisions = {
	.judge = judge,
	.write = write,
	.write_gated = write_gated,
};
