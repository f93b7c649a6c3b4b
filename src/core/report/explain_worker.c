#include "core/report/explain_worker.h"

#include <string.h>

#include "core/decide/relay.h"
#include "core/decide/worker.h"
#include "core/model/pod_status.h"
#include "core/model/reason.h"

#define ACTIVITIES_MAX 4

struct words {
	enum reason reason;
	const char *message;
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

/* With the release of a worker that does not end now, and when it does. */
static const char *and_release(const struct choice *choice, const struct worker *worker,
			       const char *text)
{
	const struct pool_release *release = worker->release;
	const char *until = "";

	if (!release)
		return text;
	if (release->deadline != TIME_NONE)
		until = arena_printf(choice->arena, " until %s",
				     time_text(choice->arena, release->deadline));
	return arena_printf(choice->arena, "%s%sreleased%s: %s", text, text[0] != '\0' ? "; " : "",
			    until, release->message);
}

/* With the time that work has on a worker whose end is announced, and whether Ray knows. */
static const char *and_end(const struct choice *choice, const struct worker *worker,
			   const char *text)
{
	time_ms now = choice->snapshot->now;
	const char *left = "";

	if (!worker->announced || !relay_is_in_use(worker))
		return text;
	if (worker->ends != TIME_NONE)
		left = arena_printf(
			choice->arena, "; its work has %lld s",
			(long long)(worker->ends > now ? (worker->ends - now) / MS_PER_SECOND : 0));
	if (relay_is_notified(choice, worker))
		return arena_printf(choice->arena, "%s%s; Ray is notified", text, left);
	if (worker->planned && worker->ends == TIME_NONE && worker->state != WORKER_DRAINING)
		return arena_printf(choice->arena,
				    "%s; Ray is notified when its replacement has registered",
				    text);
	return arena_printf(choice->arena, "%s%s; Ray was notified", text, left);
}

/* Why an idle worker stays; the first reason that applies: needed, protected by its annotation,
 * below its idle timeout, terminations forbidden, kept by its replica or by minReplicas. */
static struct words words_of_idle(const struct choice *choice, const struct worker *worker)
{
	bool grouped = worker->group != FACTS_NO_INDEX;
	int64_t timeout = grouped ? worker_idle_timeout_ms(choice->health, worker) : 0;
	const struct worker_packing *packed = &choice->packing->workers[worker->index];
	int64_t idle = worker->node->idle_duration_ms;
	if (packed->needed_by_request)
		return words_of_request(choice, packed->schedule);
	if (packed->needed_by_demand)
		return (struct words){ REASON_NEEDED_BY_DEMAND,
				       "pending demand has its place there" };
	if (packed->kept_reason)
		return (struct words){ packed->kept_reason, packed->kept_message };
	if (worker->do_not_disrupt)
		return (struct words){ REASON_DO_NOT_DISRUPT,
				       "the annotation " ANNOTATION_DO_NOT_DISRUPT
				       " of its Pod keeps it" };
	if (grouped && idle <= timeout)
		return (struct words){ REASON_BELOW_IDLE_TIMEOUT,
				       arena_printf(choice->arena,
						    "idle for %lld s, terminated after %lld s",
						    (long long)(idle / MS_PER_SECOND),
						    (long long)(timeout / MS_PER_SECOND)) };
	if (choice->facts->view_problem)
		return (struct words){ REASON_WORKER_VIEW_STALE, choice->facts->view_problem };
	if (choice->facts->head_problem)
		return (struct words){ REASON_TERMINATION_FORBIDDEN, choice->facts->head_problem };
	if (choice->facts->forbidden_why)
		return (struct words){ REASON_TERMINATION_FORBIDDEN, choice->facts->forbidden_why };
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
	if (worker->replica != FACTS_NO_INDEX && !packed->chosen)
		return (struct words){ REASON_NEEDED_BY_REPLICA,
				       "minReplicas or another host of its replica keeps it" };
	if (worker->group != FACTS_NO_INDEX && choice->facts->groups[worker->group].schedule)
		return (struct words){ REASON_NEEDED_BY_SCHEDULE,
				       arena_printf(
					       choice->arena, "%s keeps it",
					       choice->facts->groups[worker->group].minimum_text) };
	return (struct words){ REASON_NEEDED_BY_MIN_REPLICAS,
			       and_release(choice, worker, "minReplicas keeps it") };
}

static struct words words_of_waiting(const struct choice *choice, const struct worker *worker)
{
	const struct worker_health *own = &choice->health->workers[worker->index];
	struct pod_status status = pod_status_read(worker->pod, choice->arena);
	const char *text;

	if (own->waiting_reason)
		return (struct words){ own->waiting_reason, own->obstacle_message };
	if (status.outlook != POD_PROCEEDS)
		return (struct words){ REASON_CONTAINER_FAILS, status.text };
	text = status.text[0] != '\0' ? status.text : "the container has not started";
	return (struct words){ REASON_CONTAINER_STARTING,
			       own->start_failure[0] != '\0' ?
				       arena_printf(choice->arena, "%s; %s", text,
						    own->start_failure) :
				       text };
}

/* With the failure that the Pod's status shows, or the reason that it has itself, as NodeLost. */
static const char *and_failure(const struct choice *choice, const struct worker *worker,
			       const char *text)
{
	struct pod_status status = pod_status_read(worker->pod, choice->arena);

	return status.failed || worker->pod->reason[0] != '\0' ?
		       arena_printf(choice->arena, "%s; %s", text, status.text) :
		       text;
}

/* Of a worker that is cancelled: with the failure, or with what it waited for. */
static const char *and_cause(const struct choice *choice, const struct worker *worker,
			     const char *text)
{
	const struct worker_health *own = &choice->health->workers[worker->index];
	const char *with = and_failure(choice, worker, text);

	return with == text && own->waiting_reason && *own->obstacle_message ?
		       arena_printf(choice->arena, "%s; %s", text, own->obstacle_message) :
		       with;
}

static struct words words_of_starting(const struct choice *choice, const struct worker *worker)
{
	struct pod_status status = pod_status_read(worker->pod, choice->arena);

	if (status.outlook != POD_PROCEEDS)
		return (struct words){ REASON_CONTAINER_FAILS, status.text };
	return (struct words){ REASON_RAYLET_STARTING,
			       and_failure(choice, worker, "its raylet has not registered yet") };
}

/* Until when KubeRay creates no other Pod of the group, where one is missing. */
static const char *deletion_text(const struct choice *choice, const struct worker *worker)
{
	const char *text = "on its way out";

	if (worker->overdue)
		text = arena_printf(choice->arena, "%s: %s", text,
				    pod_deletion_text(worker->pod, choice->arena));
	else if (worker->pod->deleting && worker->group != FACTS_NO_INDEX &&
		 choice->facts->groups[worker->group].missing > 0)
		text = arena_printf(choice->arena,
				    "%s; KubeRay replaces it when it is gone, by %s at the latest",
				    text, time_text(choice->arena, worker->pod->deletion_time));
	return and_failure(choice, worker, and_end(choice, worker, text));
}

static struct words words_of_gone(const struct choice *choice, const struct worker *worker)
{
	if (worker->deleting)
		return (struct words){ REASON_BEING_DELETED, deletion_text(choice, worker) };
	if (worker->finished)
		return (struct words){ worker_gone_reason(worker),
				       pod_status_read(worker->pod, choice->arena).text };
	return (struct words){ worker_gone_reason(worker),
			       and_failure(choice, worker, "the raylet is dead for Ray") };
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
	else if (own->packing->replacements_waiting > 0 && !worker->planned)
		waits = "; a replacement waits until it is deleted";
	return (struct words){
		REASON_LEAVING, arena_printf(choice->arena, "%s%s",
					     and_end(choice, worker, worker->disruption_why), waits)
	};
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
	return (struct words){ REASON_NONE, "" };
}

static struct words words_of_running(const struct choice *choice, const struct worker *worker)
{
	if (!choice->facts->ray_reachable)
		return (struct words){ REASON_RAY_UNREACHABLE, choice->facts->ray_problem };
	if (worker->node->status == RAY_NODE_UNSPECIFIED)
		return (struct words){ REASON_STATE_UNKNOWN, "Ray gives no status" };
	const char *activity = activity_text(choice, worker->node);
	return (struct words){ REASON_BUSY, and_release(choice, worker,
							activity[0] != '\0' ?
								activity :
								"Ray does not report it as idle") };
}

/* The reason for a worker. Its termination, a disruption or deletion, an unreadable Pod and its
 * group take precedence over its state. */
static struct words words_of(const struct choice *choice, const struct worker *worker)
{
	const struct worker_choice *own = &choice->workers[worker->index];
	if (own->action != TERMINATE_NONE && !relay_is_notified(choice, worker))
		return (struct words){ own->reason, and_cause(choice, worker, own->message) };
	if (worker->disrupted)
		return words_of_disruption(choice, worker);
	if (worker->deleting)
		return words_of_gone(choice, worker);
	if (worker->pod->unreadable)
		return (struct words){ REASON_POD_UNREADABLE, worker->pod->unreadable };
	struct words of_group = words_of_group(choice, worker);
	if (of_group.reason)
		return of_group;
	switch (worker->state) {
	case WORKER_PENDING:
		return words_of_waiting(choice, worker);
	case WORKER_STARTING:
		return words_of_starting(choice, worker);
	case WORKER_RUNNING:
		return words_of_running(choice, worker);
	case WORKER_IDLE:
		return words_of_idle(choice, worker);
	case WORKER_DRAINING:
		return (struct words){ REASON_DRAINING,
				       and_release(choice, worker,
						   activity_text(choice, worker->node)) };
	case WORKER_GONE:
		return words_of_gone(choice, worker);
	case WORKER_NONE:
		break;
	}
	return (struct words){ REASON_STATE_UNKNOWN, "" };
}

static time_ms end_of(const struct worker *worker)
{
	if (worker->state != WORKER_RUNNING && worker->state != WORKER_DRAINING)
		return TIME_NONE;
	return worker->release ? worker->release->deadline :
	       worker->planned ? worker->ends :
				 TIME_NONE;
}

static bool is_requested(const struct choice *choice, const struct worker *worker)
{
	const struct worker_packing *packed = &choice->packing->workers[worker->index];

	return worker->state == WORKER_IDLE && packed->by_sdk && !packed->needed_by_demand &&
	       !packed->kept_reason;
}

static struct plan_worker *add(struct arena *arena, struct plan *plan, const struct worker *worker,
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
		.ends = end_of(worker),
	};
	return item;
}

void explain_worker_write(const struct choice *choice, struct plan *plan)
{
	ARRAY_EACH(const struct worker, worker, choice->facts->workers, choice->facts->worker_count)
		if (worker->pod)
			add(choice->arena, plan, worker, words_of(choice, worker))->requested =
				is_requested(choice, worker);
}

void explain_worker_write_gated(const struct facts *facts, enum reason reason, const char *message,
				struct plan *plan)
{
	for (size_t i = 0; i < facts->worker_count; i++)
		if (facts->workers[i].pod)
			(void)add(facts->arena, plan, &facts->workers[i],
				  (struct words){ reason, message });
}
