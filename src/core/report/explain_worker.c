#include "core/report/explain_worker.h"

#include <string.h>

#include "core/model/reason.h"

#define ACTIVITIES_MAX 4

struct words {
	const char *reason, *message;
};

static const char *used_text(const struct situation *s, const struct ray_node *node)
{
	struct resource *used = arena_array(s->arena, node->total.count, sizeof(*used));
	size_t count = 0;
	for (size_t i = 0; i < node->total.count; i++) {
		const struct resource *total = &node->total.at[i];
		int64_t available = resources_amount(&node->available, total->name, 0);
		if (available < total->amount)
			used[count++] = (struct resource){ total->name, total->amount - available };
	}
	struct resources resources = { used, count };
	return count > 0 ? resources_text(s->arena, &resources) : "";
}

/* The activity on a node as Ray reports it. */
static const char *activity_text(const struct situation *s, const struct ray_node *node)
{
	const char *text = used_text(s, node);
	if (text[0] != '\0')
		text = arena_printf(s->arena, "in use: %s", text);
	for (size_t i = 0; i < node->activity.count && i < ACTIVITIES_MAX; i++)
		text = arena_printf(s->arena, "%s%s%s", text, text[0] != '\0' ? "; " : "",
				    node->activity.at[i]);
	return text;
}

/* Why an idle worker stays; the first reason that applies: needed, below its idle timeout,
 * terminations forbidden, kept by its replica or by minReplicas. */
static struct words words_of_idle(const struct situation *s, const struct worker *worker)
{
	const struct group *group =
		worker->group != SITUATION_NO_INDEX ? &s->groups[worker->group] : NULL;
	int64_t idle = worker->node->idle_duration_ms;
	if (worker->needed_by_request)
		return (struct words){ REASON_NEEDED_BY_REQUEST, "request-resources holds it" };
	if (worker->needed_by_demand)
		return (struct words){ REASON_NEEDED_BY_DEMAND,
				       "pending demand has its place there" };
	if (worker->needed_by_leaving)
		return (struct words){ REASON_NEEDED_BY_DEMAND,
				       "for what runs on a worker that is about to go" };
	if (group != NULL && idle <= group->idle_timeout_ms)
		return (struct words){ REASON_BELOW_IDLE_TIMEOUT,
				       arena_printf(s->arena, "idle for %lld s, goes after %lld s",
						    (long long)(idle / MS_PER_SECOND),
						    (long long)(group->idle_timeout_ms /
								MS_PER_SECOND)) };
	if (s->view_problem != NULL)
		return (struct words){ REASON_WORKER_VIEW_STALE, s->view_problem };
	if (s->head_problem != NULL)
		return (struct words){ REASON_TERMINATION_FORBIDDEN, s->head_problem };
	if (s->termination_forbidden)
		return (struct words){
			REASON_TERMINATION_FORBIDDEN,
			"nothing is terminated while request-resources is malformed"
		};
	if (worker->node->problem != NULL)
		return (struct words){ REASON_STATE_UNKNOWN, worker->node->problem };
	if (worker->replica != SITUATION_NO_INDEX && !worker->chosen)
		return (struct words){ REASON_NEEDED_BY_REPLICA,
				       "minReplicas or another host of its replica keeps it" };
	return (struct words){ REASON_NEEDED_BY_MIN_REPLICAS, "minReplicas keeps it" };
}

static struct words words_of_waiting(const struct worker *worker)
{
	const struct container_status *status = pod_ray_container_status(worker->pod);
	switch (worker->obstacle) {
	case OBSTACLE_GATED:
		return (struct words){ REASON_QUOTA_GATED, worker->obstacle_message };
	case OBSTACLE_NO_NODE:
	case OBSTACLE_NODE_TIMEOUT:
		return (struct words){ REASON_WAITING_FOR_NODE, worker->obstacle_message };
	case OBSTACLE_WAITING:
		if (worker->pod->spec.scheduling_gates.count > 0)
			return (struct words){ REASON_QUOTA_GATED, worker->obstacle_message };
		if (worker->obstacle_message[0] != '\0')
			return (struct words){ REASON_WAITING_FOR_NODE, worker->obstacle_message };
		return (struct words){ REASON_SCHEDULING, "no Node yet" };
	case OBSTACLE_FAILED:
	case OBSTACLE_START_TIMEOUT:
	case OBSTACLE_NONE:
		break;
	}
	const struct condition *scheduled = condition_find(
		worker->pod->conditions, worker->pod->condition_count, "PodScheduled");
	if (scheduled != NULL && strcmp(scheduled->status, "False") == 0)
		return (struct words){ REASON_WAITING_FOR_NODE, scheduled->message };
	return (struct words){ REASON_CONTAINER_STARTING,
			       status != NULL ? status->reason : "the container has not started" };
}

static struct words words_of_gone(const struct worker *worker)
{
	if (worker->deleting)
		return (struct words){ REASON_BEING_DELETED, "on its way out" };
	if (worker->finished)
		return (struct words){ REASON_POD_FINISHED, worker->pod->phase };
	return (struct words){ REASON_RAYLET_GONE, "the raylet is dead for Ray" };
}

static struct words words_of_leaving(const struct situation *s, const struct worker *worker)
{
	const struct group *group = &s->groups[worker->group];
	const char *waits = "";
	if (group->replacements_at_max)
		waits = arena_printf(s->arena,
				     "; a replacement waits until it is gone, the group is at "
				     "maxReplicas %lld",
				     (long long)group->spec->max_replicas);
	else if (group->replacements_waiting > 0)
		waits = "; a replacement waits until it is gone";
	return (struct words){ REASON_LEAVING,
			       arena_printf(s->arena, "%s%s", worker->leaving_why, waits) };
}

static struct words words_of_group(const struct situation *s, const struct worker *worker)
{
	if (worker->group == SITUATION_NO_INDEX)
		return (struct words){ REASON_GROUP_REMOVED, "its group is not in the RayCluster" };
	const struct group *group = &s->groups[worker->group];
	if (group->problem != NULL)
		return (struct words){ REASON_TERMINATION_FORBIDDEN, group->problem };
	if (group->spec->suspend)
		return (struct words){ REASON_GROUP_SUSPENDED, "the group is suspended" };
	return (struct words){ NULL, "" };
}

static struct words words_of_running(const struct situation *s, const struct worker *worker)
{
	if (!s->ray_reachable)
		return (struct words){ REASON_RAY_UNREACHABLE, s->ray_problem };
	if (worker->node->status == RAY_NODE_UNSPECIFIED)
		return (struct words){ REASON_STATE_UNKNOWN, "Ray gives no status" };
	const char *activity = activity_text(s, worker->node);
	return (struct words){ REASON_BUSY,
			       activity[0] != '\0' ? activity : "Ray does not report it as idle" };
}

/* The reason for a worker. Its termination, a disruption or deletion, an unreadable Pod and its
 * group take precedence over its state. */
static struct words words_of(const struct situation *s, const struct worker *worker)
{
	if (worker->action != TERMINATE_NONE)
		return (struct words){ worker->action_reason, worker->action_message };
	if (worker->leaving)
		return words_of_leaving(s, worker);
	if (worker->deleting)
		return words_of_gone(worker);
	if (worker->pod->unreadable)
		return (struct words){ REASON_POD_UNREADABLE, worker->pod->unreadable };
	struct words of_group = words_of_group(s, worker);
	if (of_group.reason != NULL)
		return of_group;
	switch (worker->state) {
	case WORKER_PENDING:
		return words_of_waiting(worker);
	case WORKER_STARTING:
		return (struct words){ REASON_RAYLET_STARTING, "its raylet has not joined yet" };
	case WORKER_RUNNING:
		return words_of_running(s, worker);
	case WORKER_IDLE:
		return words_of_idle(s, worker);
	case WORKER_DRAINING:
		return (struct words){ REASON_DRAINING, activity_text(s, worker->node) };
	case WORKER_GONE:
		return words_of_gone(worker);
	case WORKER_NONE:
		break;
	}
	return (struct words){ REASON_STATE_UNKNOWN, "" };
}

static void add(struct situation *s, const struct worker *worker, struct words words)
{
	struct plan_worker *item = VEC_ADD(s->arena, &s->plan->workers);
	*item = (struct plan_worker){
		.pod = worker->pod_name,
		.group = worker->group_name,
		.state = worker->state,
		.reason = words.reason,
		.message = words.message,
		.node = worker->joined ? worker->node : NULL,
	};
}

void explain_worker_write(struct situation *s)
{
	for (size_t i = 0; i < s->worker_count; i++)
		if (s->workers[i].pod != NULL)
			add(s, &s->workers[i], words_of(s, &s->workers[i]));
}

void explain_worker_write_gated(struct situation *s, const char *reason, const char *message)
{
	for (size_t i = 0; i < s->worker_count; i++)
		if (s->workers[i].pod != NULL)
			add(s, &s->workers[i], (struct words){ reason, message });
}
