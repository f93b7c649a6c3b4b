#include "core/report/explain_worker.h"

#include <string.h>

#include "core/decide/demand.h"
#include "core/model/reason.h"

#define ACTIVITIES_MAX 4

struct words {
	const char *reason, *message;
};

static const char *used_text(const struct choice *choice, const struct ray_node *node)
{
	struct resource *used = arena_array(choice->arena, node->total.count, sizeof(*used));
	size_t count = 0;
	VEC_EACH(const struct resource, total, &node->total) {
		int64_t available = resources_amount(&node->available, total->name, 0);
		if (available < total->amount)
			used[count++] = (struct resource){ total->name, total->amount - available };
	}
	struct resources resources = { used, count };
	return count > 0 ? resources_text(choice->arena, &resources) : "";
}

static const char *without_stop(const struct choice *choice, const char *sentence)
{
	size_t size = strlen(sentence);

	return size > 0 && sentence[size - 1] == '.' ?
		       arena_strndup(choice->arena, sentence, size - 1) :
		       sentence;
}

/* The activity on a node as Ray reports it, in sentences: as one list. */
static const char *activity_text(const struct choice *choice, const struct ray_node *node)
{
	const char *text = used_text(choice, node);
	if (text[0] != '\0')
		text = arena_printf(choice->arena, "in use: %s", text);
	for (size_t i = 0; i < node->activity.count && i < ACTIVITIES_MAX; i++)
		text = arena_printf(choice->arena, "%s%s%s", text, text[0] != '\0' ? "; " : "",
				    without_stop(choice, node->activity.at[i]));
	return text;
}

static struct words words_of_request(const struct choice *choice,
				     const struct plan_schedule *schedule)
{
	if (!schedule)
		return (struct words){ REASON_NEEDED_BY_REQUEST, "request-resources holds it" };
	return (struct words){ REASON_NEEDED_BY_SCHEDULE,
			       arena_printf(choice->arena, "%s keeps it",
					    plan_schedule_bundles(schedule, choice->arena)) };
}

static struct words words_of_warm(const struct choice *choice, const struct worker *worker)
{
	const struct plan_schedule *schedule =
		worker->group != FACTS_NO_INDEX ?
			choice->packing->groups[worker->group].warm_schedule :
			NULL;

	return (struct words){ REASON_WARM_WORKER,
			       !schedule ?
				       "warmWorkers keeps it ready" :
				       arena_printf(choice->arena,
						    "warmWorkers of schedule %.64s keeps it ready",
						    schedule->name) };
}

static struct words words_of_gang(const struct choice *choice)
{
	size_t count;

	demand_gang_bundles(choice->packing->holding_gang, 0, &count);
	return (struct words){ REASON_NEEDED_BY_PLACEMENT_GROUP,
			       arena_printf(choice->arena,
					    "a placement group with %zu bundles waits for running "
					    "work to end, and would use it",
					    count) };
}

/* Why an idle worker stays; the first reason that applies: needed, protected by its annotation,
 * below its idle timeout, terminations forbidden, kept by its replica or by minReplicas. */
static struct words words_of_idle(const struct choice *choice, const struct worker *worker)
{
	const struct group_health *own =
		worker->group != FACTS_NO_INDEX ? &choice->health->groups[worker->group] : NULL;
	int64_t idle = worker->node->idle_duration_ms;
	if (choice->packing->workers[worker->index].needed_by_request)
		return words_of_request(choice, choice->packing->workers[worker->index].schedule);
	if (choice->packing->workers[worker->index].needed_by_demand)
		return (struct words){ REASON_NEEDED_BY_DEMAND,
				       "pending demand has its place there" };
	if (choice->packing->workers[worker->index].needed_by_disruption)
		return (struct words){ REASON_NEEDED_BY_DEMAND,
				       "for the work on a worker that is about to be terminated" };
	if (choice->packing->workers[worker->index].needed_by_gang)
		return words_of_gang(choice);
	if (choice->packing->workers[worker->index].needed_by_warm)
		return words_of_warm(choice, worker);
	if (worker->do_not_disrupt)
		return (struct words){ REASON_DO_NOT_DISRUPT,
				       "the annotation " ANNOTATION_DO_NOT_DISRUPT
				       " of its Pod keeps it" };
	if (own && idle <= own->idle_timeout_ms)
		return (struct words){
			REASON_BELOW_IDLE_TIMEOUT,
			arena_printf(choice->arena, "idle for %lld s, terminated after %lld s",
				     (long long)(idle / MS_PER_SECOND),
				     (long long)(own->idle_timeout_ms / MS_PER_SECOND))
		};
	if (choice->facts->view_problem)
		return (struct words){ REASON_WORKER_VIEW_STALE, choice->facts->view_problem };
	if (choice->facts->head_problem)
		return (struct words){ REASON_TERMINATION_FORBIDDEN, choice->facts->head_problem };
	if (choice->facts->schedule_forbids)
		return (struct words){
			REASON_TERMINATION_FORBIDDEN,
			arena_printf(choice->arena,
				     "nothing is terminated while the bundles of schedule %.64s "
				     "are unknown",
				     choice->facts->schedule_forbids->name)
		};
	if (choice->facts->termination_forbidden)
		return (struct words){
			REASON_TERMINATION_FORBIDDEN,
			"nothing is terminated while request-resources is malformed"
		};
	if (choice->packing->result->cut)
		return (struct words){ REASON_TERMINATION_FORBIDDEN,
				       "nothing is terminated by a decision that was cut short" };
	if (worker->node->problem)
		return (struct words){ REASON_STATE_UNKNOWN, worker->node->problem };
	if (worker->replica != FACTS_NO_INDEX && !choice->packing->workers[worker->index].chosen)
		return (struct words){ REASON_NEEDED_BY_REPLICA,
				       "minReplicas or another host of its replica keeps it" };
	if (worker->group != FACTS_NO_INDEX && choice->facts->groups[worker->group].schedule)
		return (struct words){ REASON_NEEDED_BY_SCHEDULE,
				       arena_printf(
					       choice->arena, "%s keeps it",
					       choice->facts->groups[worker->group].minimum_text) };
	return (struct words){ REASON_NEEDED_BY_MIN_REPLICAS, "minReplicas keeps it" };
}

static struct words words_of_waiting(const struct choice *choice, const struct worker *worker)
{
	const struct worker_health *own = &choice->health->workers[worker->index];
	const struct container_status *status = pod_ray_container_status(worker->pod);
	switch (own->obstacle) {
	case OBSTACLE_GATED:
		return (struct words){ REASON_QUOTA_GATED, own->obstacle_message };
	case OBSTACLE_NO_NODE:
	case OBSTACLE_NODE_TIMEOUT:
		return (struct words){ REASON_WAITING_FOR_NODE, own->obstacle_message };
	case OBSTACLE_WAITING:
		if (worker->pod->spec.scheduling_gates.count > 0)
			return (struct words){ REASON_QUOTA_GATED, own->obstacle_message };
		if (own->obstacle_message[0] != '\0')
			return (struct words){ REASON_WAITING_FOR_NODE, own->obstacle_message };
		return (struct words){ REASON_SCHEDULING, "no Node yet" };
	case OBSTACLE_FAILED:
	case OBSTACLE_START_TIMEOUT:
	case OBSTACLE_NONE:
		break;
	}
	const struct condition *scheduled = condition_find(
		worker->pod->conditions, worker->pod->condition_count, "PodScheduled");
	if (scheduled && strcmp(scheduled->status, "False") == 0)
		return (struct words){ REASON_WAITING_FOR_NODE, scheduled->message };
	return (struct words){ REASON_CONTAINER_STARTING,
			       status ? status->reason : "the container has not started" };
}

static struct words words_of_dead_raylet(const struct worker *worker)
{
	if (worker->deleting)
		return (struct words){ REASON_BEING_DELETED, "on its way out" };
	if (worker->finished)
		return (struct words){ REASON_POD_FINISHED, worker->pod->phase };
	return (struct words){ REASON_RAYLET_GONE, "the raylet is dead for Ray" };
}

static struct words words_of_disruption(const struct choice *choice, const struct worker *worker)
{
	const struct group *group = &choice->facts->groups[worker->group];
	const struct group_choice *own = &choice->groups[group->index];
	const char *waits = "";
	if (own->packing->replacements_at_max)
		waits = arena_printf(choice->arena,
				     "; a replacement waits until it is deleted, the group is at "
				     "maxReplicas %lld",
				     (long long)group->spec->max_replicas);
	else if (own->packing->replacements_waiting > 0)
		waits = "; a replacement waits until it is deleted";
	return (struct words){ REASON_LEAVING,
			       arena_printf(choice->arena, "%s%s", worker->disruption_why, waits) };
}

static struct words words_of_group(const struct choice *choice, const struct worker *worker)
{
	if (worker->group == FACTS_NO_INDEX)
		return (struct words){ REASON_GROUP_REMOVED, "its group is not in the RayCluster" };
	const struct group *group = &choice->facts->groups[worker->group];
	if (group->problem)
		return (struct words){ REASON_TERMINATION_FORBIDDEN, group->problem };
	if (group->spec->suspend)
		return (struct words){ REASON_GROUP_SUSPENDED, "the group is suspended" };
	return (struct words){ NULL, "" };
}

static struct words words_of_running(const struct choice *choice, const struct worker *worker)
{
	if (!choice->facts->ray_reachable)
		return (struct words){ REASON_RAY_UNREACHABLE, choice->facts->ray_problem };
	if (worker->node->status == RAY_NODE_UNSPECIFIED)
		return (struct words){ REASON_STATE_UNKNOWN, "Ray gives no status" };
	const char *activity = activity_text(choice, worker->node);
	return (struct words){ REASON_BUSY,
			       activity[0] != '\0' ? activity : "Ray does not report it as idle" };
}

/* The reason for a worker. Its termination, a disruption or deletion, an unreadable Pod and its
 * group take precedence over its state. */
static struct words words_of(const struct choice *choice, const struct worker *worker)
{
	const struct worker_choice *own = &choice->workers[worker->index];
	if (own->action != TERMINATE_NONE)
		return (struct words){ own->reason, own->message };
	if (worker->disrupted)
		return words_of_disruption(choice, worker);
	if (worker->deleting)
		return words_of_dead_raylet(worker);
	if (worker->pod->unreadable)
		return (struct words){ REASON_POD_UNREADABLE, worker->pod->unreadable };
	struct words of_group = words_of_group(choice, worker);
	if (of_group.reason)
		return of_group;
	switch (worker->state) {
	case WORKER_PENDING:
		return words_of_waiting(choice, worker);
	case WORKER_STARTING:
		return (struct words){ REASON_RAYLET_STARTING,
				       "its raylet has not registered yet" };
	case WORKER_RUNNING:
		return words_of_running(choice, worker);
	case WORKER_IDLE:
		return words_of_idle(choice, worker);
	case WORKER_DRAINING:
		return (struct words){ REASON_DRAINING, activity_text(choice, worker->node) };
	case WORKER_GONE:
		return words_of_dead_raylet(worker);
	case WORKER_NONE:
		break;
	}
	return (struct words){ REASON_STATE_UNKNOWN, "" };
}

static void add(struct arena *arena, struct plan *plan, const struct worker *worker,
		struct words words)
{
	struct plan_worker *item = VEC_ADD(arena, &plan->workers);
	*item = (struct plan_worker){
		.pod = worker->pod_name,
		.group = worker->group_name,
		.state = worker->state,
		.reason = words.reason,
		.message = words.message,
		.node = worker->registered ? worker->node : NULL,
		.object = worker->pod,
	};
}

void explain_worker_write(const struct choice *choice, struct plan *plan)
{
	for (size_t i = 0; i < choice->facts->worker_count; i++)
		if (choice->facts->workers[i].pod)
			add(choice->arena, plan, &choice->facts->workers[i],
			    words_of(choice, &choice->facts->workers[i]));
}

void explain_worker_write_gated(const struct facts *facts, const char *reason, const char *message,
				struct plan *plan)
{
	for (size_t i = 0; i < facts->worker_count; i++)
		if (facts->workers[i].pod)
			add(facts->arena, plan, &facts->workers[i],
			    (struct words){ reason, message });
}
