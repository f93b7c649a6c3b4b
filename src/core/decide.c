#include "core/decide.h"

#include <string.h>

#include "core/decide/backoff.h"
#include "core/decide/demand.h"
#include "core/decide/fight.h"
#include "core/decide/gate.h"
#include "core/decide/gone.h"
#include "core/decide/launch.h"
#include "core/decide/limits.h"
#include "core/decide/packing.h"
#include "core/decide/patch.h"
#include "core/decide/progress.h"
#include "core/decide/ray_session.h"
#include "core/decide/settling.h"
#include "core/decide/target.h"
#include "core/decide/template_seen.h"
#include "core/decide/terminate.h"
#include "core/decide/unjoined.h"
#include "core/decide/worker.h"
#include "core/model/identity.h"
#include "core/model/reason.h"
#include "core/report/explain.h"
#include "core/report/explain_worker.h"
#include "core/report/placement.h"
#include "core/report/served.h"
#include "core/report/verdict.h"

#define REQUEUE_ACTIVE_SECONDS 1
#define REQUEUE_GATED_SECONDS 5

static const struct ray_node *find_head_node(const struct ray_state *state)
{
	const struct ray_node *found = NULL;
	for (size_t i = 0; i < state->node_count; i++) {
		const struct ray_node *node = &state->nodes[i];
		if (!ray_node_is_head(node) || !ray_node_is_alive(node))
			continue;
		if (found == NULL || strcmp(node->id, found->id) < 0)
			found = node;
	}
	return found;
}

/* A stale or absent reply, or one without a head, counts as no reply: it must never look like an
 * empty cluster. */
static void judge_ray(struct situation *s)
{
	const struct snapshot *snapshot = s->snapshot;
	int64_t age_ms = snapshot->now - snapshot->ray_state_time;
	if (snapshot->ray_state == NULL) {
		s->ray_problem = snapshot->ray_problem != NULL && snapshot->ray_problem[0] != '\0' ?
					 snapshot->ray_problem :
					 "there is no reply of its GCS";
	} else if (age_ms > snapshot->settings.state_max_age_seconds * MS_PER_SECOND) {
		s->ray_problem = arena_printf(s->arena, "its last reply is %lld s old",
					      (long long)(age_ms / MS_PER_SECOND));
	} else {
		s->head_node = find_head_node(snapshot->ray_state);
		if (s->head_node == NULL)
			s->ray_problem = "its reply has no living head node";
	}
	s->ray_reachable = s->head_node != NULL;
}

/* Whether two problems concern the same field. Codec writes the path from the root of its
 * document. */
static bool same_field(const char *ours, const char *theirs)
{
	const char *end = strstr(ours, ": "), *their_end = strstr(theirs, ": ");
	if (end == NULL || their_end == NULL)
		return strcmp(ours, theirs) == 0;
	size_t size = (size_t)(end - ours), their_size = (size_t)(their_end - theirs);
	return their_size >= size && strncmp(their_end - size, ours, size) == 0;
}

static void note_problem(struct situation *s, const char *problem)
{
	for (size_t i = 0; i < s->problems.count; i++)
		if (same_field(s->problems.at[i], problem))
			return;
	VEC_PUSH(s->arena, &s->problems, problem);
}

static void note_problems(struct situation *s)
{
	const struct snapshot *snapshot = s->snapshot;
	if (snapshot->has_annotation_request && snapshot->annotation_request == NULL)
		VEC_PUSH(s->arena, &s->problems, snapshot->annotation_problem);
	for (size_t i = 0; i < snapshot->cluster.problems.count; i++)
		note_problem(s, snapshot->cluster.problems.at[i]);
	for (size_t i = 0; snapshot->autoscaler != NULL && i < snapshot->autoscaler->problems.count;
	     i++)
		note_problem(s, snapshot->autoscaler->problems.at[i]);
}

/* A head Pod that is being deleted is used only while it is the only one, and does not prove a
 * restart. */
static void find_head(struct situation *s)
{
	s->head_pod = identity_head_in(s->snapshot, s->arena, &s->head_problem);
	if (s->head_pod != NULL && s->head_pod->deleting)
		s->head_pod = NULL;
}

static void observe(struct situation *s)
{
	const struct snapshot *snapshot = s->snapshot;
	judge_ray(s);
	if (snapshot->view_problem != NULL && snapshot->view_problem[0] != '\0')
		s->view_problem = snapshot->view_problem;
	find_head(s);
	ray_session_update(s);
	s->termination_forbidden =
		!s->ray_reachable || s->view_problem != NULL || s->head_problem != NULL ||
		(snapshot->has_annotation_request && snapshot->annotation_request == NULL);
	s->accelerators =
		capacity_accelerators(&snapshot->settings, snapshot->device_table, s->arena);
	capacity_of_head(&snapshot->cluster, &snapshot->settings, snapshot->device_table, s->arena,
			 &s->head_capacity);
	if (s->head_capacity.problem != NULL)
		VEC_PUSH(s->arena, &s->problems, s->head_capacity.problem);
	limits_make_groups(s);
	note_problems(s);
	worker_join(s);
	s->plan->head_node = s->head_node;
	s->plan->head_gpus = s->head_capacity.gpu_amount;
}

/* A pass that changes nothing keeps the memory as it was. */
static void write_gated(struct situation *s, const struct gate *gate)
{
	if (s->snapshot->memory != NULL)
		s->plan->memory = *s->snapshot->memory;
	for (size_t g = 0; g < s->group_count; g++) {
		struct plan_group *group = VEC_ADD(s->arena, &s->plan->groups);
		group->name = s->groups[g].spec->name;
		group->replicas = group->target_replicas = s->groups[g].spec->replicas;
		group->reason = group->message = "";
		group->worker_gpus = s->groups[g].capacity.gpu_amount;
		group->missing = s->groups[g].missing;
	}
	explain_worker_write_gated(s, gate->reason, gate->message);
	verdict_write_gated(s, gate->reason, gate->message);
	s->plan->requeue_after_seconds = REQUEUE_GATED_SECONDS;
}

static void choose(struct situation *s)
{
	unjoined_update(s);
	settling_update(s);
	progress_assess(s);
	gone_update(s);
	fight_update(s);
	backoff_update(s);
	terminate_classify(s);
	launch_recall(s);
	demand_collect(s);
	template_seen_update(s);
	packing_run(s);
	terminate_choose(s);
	launch_take_back(s);
	for (size_t g = 0; g < s->group_count; g++)
		target_launches(&s->groups[g]);
	limits_throttle(s);
	for (size_t g = 0; g < s->group_count; g++)
		target_finish(&s->groups[g]);
	launch_remember(s);
	fight_remember(s);
}

static void write_plan(struct situation *s)
{
	served_report(s);
	explain_groups(s);
	terminate_write(s);
	explain_worker_write(s);
	patch_make(s);
	placement_write(s);
	verdict_write(s);
	s->plan->requeue_after_seconds = REQUEUE_ACTIVE_SECONDS;
}

static struct situation *situation_new(const struct snapshot *snapshot, struct arena *arena)
{
	struct situation *s = ARENA_NEW(arena, struct situation);
	s->snapshot = snapshot;
	s->arena = arena;
	s->ray_problem = "";
	s->plan = ARENA_NEW(arena, struct plan);
	s->plan->cluster_namespace = snapshot->cluster.namespace_;
	s->plan->cluster_name = snapshot->cluster.name;
	return s;
}

static struct plan *make(const struct snapshot *snapshot, struct arena *arena)
{
	struct situation *s = situation_new(snapshot, arena);
	struct gate gate = gate_check(snapshot);
	observe(s);
	if (gate.reason != NULL) {
		write_gated(s, &gate);
		return s->plan;
	}
	choose(s);
	write_plan(s);
	return s->plan;
}

/* The plan without packing: the groups keep their replicas, and the memory is kept. */
static struct plan *make_undecided(const struct snapshot *snapshot, struct arena *arena)
{
	struct situation *s = situation_new(snapshot, arena);
	const struct ray_state *state = snapshot->ray_state;
	struct gate gate = { REASON_DECISION_TOO_EXPENSIVE, "" };
	bool out_of_memory = snapshot->cpu_budget->out_of_memory;

	gate.message = arena_printf(
		arena,
		"undecided, nothing is changed: the decision took more than %s, with "
		"%zu pending requests, %zu placement groups, %zu worker groups and %zu Pods; ask for "
		"fewer different bundles, or raise %s",
		out_of_memory ? "the memory of a pass" :
				arena_printf(arena, "%lld ms of CPU time",
					     (long long)snapshot->cpu_budget->ms),
		state != NULL ? state->request_count : 0, state != NULL ? state->gang_count : 0,
		snapshot->cluster.group_count, snapshot->pod_count,
		out_of_memory ? "--max-pass-memory and --memory-budget" :
				"--decision-cpu-budget-ms");
	observe(s);
	write_gated(s, &gate);
	return s->plan;
}

struct plan *decide(const struct snapshot *snapshot, struct arena *arena)
{
	if (snapshot->cpu_budget != NULL && setjmp(snapshot->cpu_budget->out) != 0)
		return make_undecided(snapshot, arena);
	return make(snapshot, arena);
}
