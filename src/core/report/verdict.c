#include "core/report/verdict.h"

#include <string.h>

#include "core/decide/conflict.h"
#include "core/decide/template_seen.h"
#include "core/decide/worker.h"
#include "core/model/identity.h"
#include "core/model/in_force.h"
#include "core/model/pod_status.h"
#include "core/model/reason.h"
#include "core/report/limited.h"

#define PROBLEMS_MAX 10 /* named in one message */

/* "a; b; and 3 more". */
struct problem_list {
	const char *text;
	size_t count;
};

static void list_problem(struct arena *arena, struct problem_list *list, const char *problem)
{
	if (list->count++ < PROBLEMS_MAX)
		list->text = list->count > 1 ? arena_printf(arena, "%s; %s", list->text, problem) :
					       problem;
}

static const char *problems_text(struct arena *arena, const struct problem_list *list)
{
	return list->count <= PROBLEMS_MAX ? list->text :
					     arena_printf(arena, "%s; and %zu more", list->text,
							  list->count - PROBLEMS_MAX);
}

static const char *ray_note(const struct choice *choice)
{
	const char *note = choice->snapshot->ray_note;

	return note && note[0] != '\0' ? arena_printf(choice->arena, "; %s", note) : "";
}

/* Whether the Pod has never been Ready: its Ray container has not run, or Ready is False since
 * before the first start of that container. The kubelet writes that False once and changes its time
 * only together with its status, so a head that was Ready before has a later time. */
static bool was_never_ready(const struct pod *pod)
{
	const struct container_status *ray = pod_ray_container_status(pod);
	const struct condition *ready =
		condition_find(pod->conditions, pod->condition_count, "Ready");

	if (pod_has_ended(pod))
		return false;
	if (!ray)
		return strcmp(pod->phase, "Pending") == 0;
	if (!container_has_run(ray))
		return true;
	return ray->state == CONTAINER_RUNNING && ray->restart_count == 0 && ready &&
	       strcmp(ready->status, "True") != 0 && ready->last_transition <= ray->started_at;
}

/* For the message: "Unschedulable: 0/3 nodes ...", "container ray-head: ImagePullBackOff", ... */
static const char *head_state(const struct choice *choice, const struct pod *pod)
{
	const struct container_status *ray = pod_ray_container_status(pod);
	struct pod_status status = pod_status_read(pod, choice->arena);

	if (status.text[0] != '\0')
		return status.text;
	return ray && ray->state == CONTAINER_RUNNING ? "its Ray container runs and is not Ready" :
							"its Ray container has not started";
}

/* Of a head whose GCS does not answer, where its Pod has a reason for it. */
static const char *head_note(const struct choice *choice)
{
	const struct pod *head = choice->facts->head_pod;
	struct pod_status status;

	if (!head || head->unreadable)
		return "";
	status = pod_status_read(head, choice->arena);
	return status.text[0] == '\0' ? "" :
					arena_printf(choice->arena, "; the head Pod %s: %s",
						     head->name, status.text);
}

/* A head that starts within start-timeout-seconds; afterwards Ray counts as unreachable. */
static bool is_starting(const struct choice *choice, const struct pod *head)
{
	int64_t limit_ms = choice->facts->launch.start_ms;

	return head && head->created != TIME_NONE && !head->unreadable && was_never_ready(head) &&
	       !due_passed(choice->facts->due, head->created, limit_ms + 1);
}

static int64_t count_left(const struct schedule_leftover *left, size_t count)
{
	int64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += left[i].limit == SCHEDULE_LIMIT_CPU_BUDGET ? left[i].count : 0;
	return sum;
}

static const char *used_text(const struct choice *choice)
{
	const struct cpu_budget *budget = choice->snapshot->cpu_budget;

	return budget->low_memory ? "most of its memory (--max-pass-memory, --memory-budget)" :
				    arena_printf(choice->arena, "its %lld ms of CPU time",
						 (long long)budget->ms);
}

/* "1000 bundles and 3 placement groups" that the packing did not come to. */
static const char *cut_text(const struct choice *choice)
{
	const struct schedule_problem *problem = &choice->packing->problem;
	const struct schedule_result *result = choice->packing->result;
	int64_t bundles = count_left(result->demands, problem->demand_count);
	int64_t gangs = count_left(result->gangs, problem->gang_count);

	for (size_t i = 0; i < problem->constraint_count; i++)
		bundles += count_left(result->constraints[i], problem->constraints[i].count);
	if (!bundles && !gangs)
		return "the search for cheaper workers";
	return arena_printf(choice->arena, "%s and %s",
			    worker_count_text(choice->arena, bundles, "bundle"),
			    worker_count_text(choice->arena, gangs, "placement group"));
}

/* The state of a condition. */
struct verdict {
	bool is_true;
	enum reason reason;
	const char *message;
};

static void add(const struct choice *choice, struct plan *plan, const char *type,
		struct verdict verdict)
{
	plan_add_condition(choice->arena, plan, type, verdict.is_true, verdict.reason,
			   verdict.message);
}

static struct verdict judge_active(const struct choice *choice)
{
	const struct facts *facts = choice->facts;

	if (facts->head_problem)
		return (struct verdict){ false, REASON_HEAD_UNCERTAIN,
					 arena_printf(choice->arena,
						      "%s; nothing is terminated meanwhile",
						      facts->head_problem) };
	if (!facts->ray_reachable && is_starting(choice, facts->head_pod))
		return (struct verdict){
			false, REASON_HEAD_STARTING,
			arena_printf(
				choice->arena,
				"the head Pod %s has not been Ready yet: %s; minReplicas and the "
				"request-resources annotation already scale up",
				facts->head_pod->name, head_state(choice, facts->head_pod))
		};
	if (!facts->ray_reachable && choice->snapshot->ray_refused)
		return (struct verdict){
			false, REASON_DEMAND_TOO_LARGE,
			arena_printf(
				choice->arena,
				"the state of Ray was not read: %s; nothing is terminated, minReplicas "
				"and the request-resources annotation still scale up",
				facts->ray_problem)
		};
	if (!facts->ray_reachable)
		return (struct verdict){
			false, REASON_DEMAND_UNAVAILABLE,
			arena_printf(
				choice->arena,
				"Ray is unreachable: %s%s; nothing is terminated, minReplicas and the "
				"request-resources annotation still scale up%s",
				facts->ray_problem, head_note(choice), ray_note(choice))
		};
	if (facts->view_problem)
		return (struct verdict){
			false, REASON_VIEW_STALE,
			arena_printf(
				choice->arena,
				"the view of the API server is stale: %s; nothing is terminated, "
				"demand still scales up",
				facts->view_problem)
		};
	if (choice->packing->result->cut)
		return (struct verdict){ true, REASON_DECISION_CUT_SHORT,
					 arena_printf(
						 choice->arena,
						 "the decision had used %s with %s left: the next "
						 "decisions go on, nothing is terminated meanwhile",
						 used_text(choice), cut_text(choice)) };
	return (struct verdict){
		true, REASON_DEMAND_READ,
		arena_printf(choice->arena, "demand and idleness were read from Ray: %s, %s, %s%s",
			     worker_count_text(choice->arena, (int64_t)facts->demands.at.count,
					       "request shape"),
			     worker_count_text(choice->arena, (int64_t)facts->gang_count,
					       "placement group"),
			     worker_count_text(choice->arena,
					       ray_state_living(choice->snapshot->ray_state),
					       "node"),
			     ray_note(choice))
	};
}

/* Pods that only claim to belong to the RayCluster limit nothing. */
static bool is_trouble(const struct plan_condition *condition)
{
	bool good = strcmp(condition->type, "ScalingActive") == 0;

	return *condition->type != '\0' && strcmp(condition->type, CONDITION_FOREIGN_PODS) != 0 &&
	       strcmp(condition->status, good ? "False" : "True") == 0;
}

/* Needs all other conditions: "nothing limits scaling" only where none of them reports trouble. */
static struct verdict judge_able(const struct limits *limits, const struct plan *plan)
{
	const struct limit *back_off = limits_first(limits, LIMIT_BACK_OFF);
	bool limited = limits->at.count > 0;

	if (back_off)
		return (struct verdict){ false, back_off->reason, back_off->message };
	VEC_EACH(const struct plan_condition, condition, &plan->conditions)
		limited = limited || is_trouble(condition);
	return (struct verdict){ true, REASON_READY_FOR_NEW_SCALE,
				 limited ? "no group is in back-off" : "nothing limits scaling" };
}

static struct verdict judge_limited(const struct limits *limits)
{
	const struct limit *range = limits_first(limits, LIMIT_RANGE);

	if (range)
		return (struct verdict){ true, range->reason, range->message };
	return (struct verdict){ false, REASON_DESIRED_WITHIN_RANGE,
				 "no minimum, maximum or GPU limit was reached" };
}

const char *verdict_invalid_text(const struct facts *facts, struct arena *arena)
{
	struct problem_list list = { .text = NULL };

	VEC_EACH(const char *const, problem, &facts->problems)
		list_problem(arena, &list, *problem);
	return list.count > 0 ? problems_text(arena, &list) : NULL;
}

static void write_invalid(const struct choice *choice, struct plan *plan)
{
	const char *text = verdict_invalid_text(choice->facts, choice->arena);

	if (text)
		plan_add_condition(choice->arena, plan, "InvalidRequest", true,
				   REASON_INVALID_REQUEST, text);
}

static void write_foreign(const struct choice *choice, struct plan *plan)
{
	const char *text = identity_foreign_text(choice->snapshot, choice->arena);
	if (text)
		plan_add_condition(choice->arena, plan, CONDITION_FOREIGN_PODS, true,
				   REASON_FOREIGN_POD, text);
}

static bool add_reverted(const struct choice *choice, struct plan *plan, enum mark_kind kind,
			 conflict_words *words)
{
	const struct memory_mark *mark = NULL;

	while ((mark = memory_next_mark(&plan->memory, kind, mark))) {
		if (mark->count < CONFLICT_REVERTS_MIN)
			continue;
		plan_add_condition(choice->arena, plan, "ReplicasReverted", true,
				   REASON_REPLICAS_REVERTED, words(choice->facts, mark));
		return true;
	}
	return false;
}

static void write_reverted(const struct choice *choice, struct plan *plan)
{
	if (!add_reverted(choice, plan, MARK_REPLICA_CONFLICT, conflict_text))
		add_reverted(choice, plan, MARK_REPLICA_RAISE, conflict_raise_text);
}

/* Reports lacking resources. A type that was only inferred is reported only where demand requests
 * it. */
static void write_broken(const struct choice *choice, struct plan *plan)
{
	struct problem_list list = { .text = NULL };

	for (size_t g = 0; g < choice->facts->group_count; g++)
		ARRAY_EACH(const struct template_lack, lack, choice->offer->groups[g].lacks,
			   choice->offer->groups[g].lack_count) {
			if (!lack->inferred)
				list_problem(choice->arena, &list,
					     template_seen_lack_text(choice->offer,
								     &choice->facts->groups[g],
								     lack));
		}
	if (list.count > 0)
		plan_add_condition(choice->arena, plan, "TemplateBroken", true,
				   REASON_TEMPLATE_BROKEN, problems_text(choice->arena, &list));
}

/* Head first, then the workers in canonical order, so that the order of the Pods does not
 * matter. */
static void write_unreadable(const struct choice *choice, struct plan *plan)
{
	struct problem_list list = { .text = NULL };

	for (size_t i = 0; i <= choice->facts->worker_count; i++) {
		const struct pod *pod = i == 0 ? choice->facts->head_pod :
						 choice->facts->workers[i - 1].pod;

		if (pod && pod->unreadable)
			list_problem(choice->arena, &list,
				     arena_printf(choice->arena, "Pod %s: %s", pod->name,
						  pod->unreadable));
	}
	if (list.count > 0)
		plan_add_condition(
			choice->arena, plan, CONDITION_POD_UNREADABLE, true, REASON_PODS_UNREADABLE,
			arena_printf(choice->arena, "%s; a Pod that cannot be read counts as busy",
				     problems_text(choice->arena, &list)));
}

/* Pods that are still there long after their deletion, with what KubeRay does meanwhile. */
static void write_terminating(const struct choice *choice, struct plan *plan)
{
	struct problem_list list = { .text = NULL };

	if (choice->facts->head_overdue)
		list_problem(
			choice->arena, &list,
			arena_printf(
				choice->arena,
				"head Pod %s: %s; KubeRay creates no other head until it is gone",
				choice->facts->head_overdue->name,
				pod_deletion_text(choice->facts->head_overdue, choice->arena)));
	ARRAY_EACH(const struct worker, worker, choice->facts->workers,
		   choice->facts->worker_count) {
		if (worker->overdue)
			list_problem(
				choice->arena, &list,
				arena_printf(
					choice->arena, "Pod %s of group %s: %s; %s",
					worker->pod_name, worker->group_name,
					pod_deletion_text(worker->pod, choice->arena),
					worker->holds_group ?
						"KubeRay creates no Pod of the group until it is gone" :
						"KubeRay up to 1.7.0 counts it as a worker until it is gone"));
	}
	if (list.count > 0)
		plan_add_condition(choice->arena, plan, CONDITION_TERMINATING, true,
				   REASON_TERMINATING, problems_text(choice->arena, &list));
}

/* A snapshot in a file has none. */
static void write_extra(const struct choice *choice, struct plan *plan)
{
	ARRAY_EACH(const struct extra_condition, extra, choice->snapshot->extra_conditions,
		   choice->snapshot->extra_condition_count) {
		plan_add_condition(choice->arena, plan, extra->type, extra->is_true, extra->reason,
				   extra->message)
			->aside = true;
	}
}

/* A snapshot in a file has none. The text is the same in both controllers: they write one status. */
static void write_second(const struct choice *choice, struct plan *plan)
{
	if (choice->snapshot->second_controller)
		plan_add_condition(
			choice->arena, plan, CONDITION_SECOND_CONTROLLER, true,
			REASON_SECOND_CONTROLLER,
			"two rayscaler controllers decide about the RayCluster, and each changes what the "
			"other decided; their logs name them: uninstall one release, or give each its own "
			"namespaces (--namespace)")
			->aside = true;
}

/* The last step: AbleToScale, in its place before the others. */
static void write_able(const struct choice *choice, const struct limits *limits, size_t at,
		       struct plan *plan)
{
	struct plan_condition *last;

	add(choice, plan, "AbleToScale", judge_able(limits, plan));
	last = &plan->conditions.at[plan->conditions.count - 1];
	plan->conditions.at[at] = *last;
	plan->conditions.count--;
}

void verdict_write(const struct choice *choice, struct plan *plan)
{
	const struct limits limits = limits_found(choice, plan);
	size_t able;

	add(choice, plan, "ScalingActive", judge_active(choice));
	able = plan->conditions.count;
	*VEC_ADD(choice->arena, &plan->conditions) = (struct plan_condition){ .type = "" };
	add(choice, plan, "ScalingLimited", judge_limited(&limits));
	write_invalid(choice, plan);
	write_foreign(choice, plan);
	write_reverted(choice, plan);
	write_broken(choice, plan);
	write_unreadable(choice, plan);
	write_terminating(choice, plan);
	write_able(choice, &limits, able, plan);
}

void verdict_end(const struct choice *choice, struct plan *plan)
{
	write_extra(choice, plan);
	write_second(choice, plan);
}

void verdict_write_gated(const struct facts *facts, enum reason reason, const char *message,
			 struct plan *plan)
{
	plan_add_condition(facts->arena, plan, "ScalingActive", false, reason, message);
}
