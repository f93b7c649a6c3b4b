#include "core/decide/progress.h"

#include <string.h>

#include "base/text.h"
#include "core/decide/capacity_check.h"
#include "core/decide/mark.h"
#include "core/decide/worker.h"
#include "core/model/event_meaning.h"
#include "core/model/pod_status.h"
#include "core/model/reason.h"

/* Limits the scheduler's text: its list of reasons can be long, and the text about Nodes follows
 * it. */
#define SCHEDULER_TEXT_MAX 256
#define EVENT_TEXT_MAX 400

static time_ms latest(time_ms a, time_ms b)
{
	return a > b ? a : b; /* TIME_NONE is the smallest */
}

bool progress_scale_gate(const struct worker_group *group)
{
	static const char *const nothing[] = { "", "null", "false", "\"\"", "{}", "[]" };
	return !text_is_among(group->scale_gate, nothing, sizeof(nothing) / sizeof(nothing[0]));
}

/* The answer of a node autoscaler: that it adds a Node for this Pod, or that it will not; or of a scheduler with
 * queues. The newest event counts; of two at the same time, the positive one. */
struct reaction {
	const struct event *event; /* NULL: none */
	enum event_meaning meaning;
	time_ms at;
};

static bool is_about(const struct event *event, const struct pod *pod)
{
	if (strcmp(event->involved_name, pod->name) != 0)
		return false;
	return event->involved_uid[0] == '\0' || pod->uid[0] == '\0' ||
	       strcmp(event->involved_uid, pod->uid) == 0;
}

static struct reaction find_reaction(const struct snapshot *snapshot, const struct pod *pod)
{
	struct reaction found = { .event = NULL, .at = TIME_NONE };
	ARRAY_EACH(const struct event, event, snapshot->events, snapshot->event_count) {
		enum event_meaning meaning = event_meaning(event);
		bool promise = meaning == EVENT_NODE_COMES;
		if ((!promise && meaning != EVENT_NO_NODE && meaning != EVENT_OVER_QUOTA) ||
		    !is_about(event, pod))
			continue;
		time_ms at = event_time(event);
		bool newer = !found.event || at > found.at;
		if (!newer && !(at == found.at && promise && found.meaning != EVENT_NODE_COMES))
			continue;
		found = (struct reaction){ event, meaning, at };
	}
	return found;
}

/* "901 s, timeout 900 s" */
static const char *over_text(const struct health *health, int64_t waited_ms, int64_t timeout)
{
	return arena_printf(health->arena, "%lld s, timeout %lld s",
			    (long long)(waited_ms / MS_PER_SECOND), (long long)timeout);
}

static bool waited_longer(const struct health *health, time_ms since, int64_t seconds)
{
	return since != TIME_NONE &&
	       due_passed(health->facts->due, since, seconds * MS_PER_SECOND + 1);
}

/* A gate without a known owner is waited for as long as a Node. */
static void assess_gated(struct health *health, const struct worker *worker)
{
	struct worker_health *own = &health->workers[worker->index];
	const struct strings *gates = &worker->pod->spec.scheduling_gates;
	const struct memory_mark *old = mark_find(health->facts, MARK_GATES, worker->pod_name);
	int64_t timeout = facts_launch(health->facts, worker)->node_ms / MS_PER_SECOND;

	own->gated_since = old && old->count == (int64_t)gates->count ?
				   mark_since(health->facts, MARK_GATES, worker->pod_name) :
				   health->snapshot->now;
	VEC_PUSH(health->arena, &health->memory.marks,
		 ((struct memory_mark){ MARK_GATES, worker->pod_name, own->gated_since,
					(int64_t)gates->count, NULL }));
	own->obstacle = OBSTACLE_WAITING;
	own->waiting_reason = REASON_QUOTA_GATED;
	own->obstacle_message = arena_printf(health->arena, "scheduling gate %s", gates->at[0]);
	if (!waited_longer(health, own->gated_since, timeout))
		return;
	own->obstacle = OBSTACLE_GATED;
	own->obstacle_message =
		arena_printf(health->arena, "%s for %s", own->obstacle_message,
			     over_text(health, health->snapshot->now - own->gated_since, timeout));
}

/* Appends the text about Nodes to that of the scheduler or the node autoscaler. */
static void add_capacity_check(struct health *health, const struct worker *worker)
{
	struct worker_health *own = &health->workers[worker->index];
	const char *capacity_check, *said = own->obstacle_message;
	size_t size = strnlen(said, SCHEDULER_TEXT_MAX);

	if (own->obstacle == OBSTACLE_NONE || worker->group == FACTS_NO_INDEX)
		return;
	capacity_check = capacity_check_of_pod(health->capacity_check, worker->group, worker->pod);
	if (capacity_check[0] == '\0')
		return;
	if (size > 0 && said[size - 1] == '.')
		size--;
	own->obstacle_message = arena_printf(health->arena, "%.*s%s%s", (int)size, said,
					     size > 0 ? "; " : "", capacity_check);
}

static void assess_unschedulable(struct health *health, const struct worker *worker,
				 const struct condition *scheduled)
{
	struct worker_health *own = &health->workers[worker->index];
	const struct snapshot *snapshot = health->snapshot;
	int64_t timeout = facts_launch(health->facts, worker)->node_ms / MS_PER_SECOND;
	time_ms since = scheduled->last_transition;
	if (since == TIME_NONE)
		since = worker->pod->created;
	struct reaction reaction = find_reaction(snapshot, worker->pod);
	own->refusal = reaction.meaning == EVENT_OVER_QUOTA ? reaction.event : NULL;
	own->waiting_reason = REASON_WAITING_FOR_NODE;
	own->obstacle_message = scheduled->message;
	if (waited_longer(health, since, timeout)) {
		own->obstacle = OBSTACLE_NODE_TIMEOUT;
		own->obstacle_message = arena_printf(
			health->arena, "%s for %s: %s", scheduled->reason,
			over_text(health, snapshot->now - since, timeout), scheduled->message);
	} else if (reaction.event && reaction.meaning == EVENT_NO_NODE) {
		own->obstacle = OBSTACLE_NO_NODE;
		own->obstacle_message = arena_printf(
			health->arena, "%s: %s", reaction.event->reason, reaction.event->message);
	} else if (!reaction.event || reaction.meaning == EVENT_OVER_QUOTA) {
		own->obstacle = OBSTACLE_WAITING;
	}
	add_capacity_check(health, worker);
}

/* The kubelet lacks something for the Pod, by its newest Event; a container that runs has all. */
static const char *start_failure(const struct health *health, const struct pod *pod)
{
	const struct snapshot *snapshot = health->snapshot;
	const struct container_status *ray = pod_ray_container_status(pod);
	const struct event *newest = NULL;

	if (ray && (ray->state == CONTAINER_RUNNING || ray->state == CONTAINER_TERMINATED))
		return "";
	ARRAY_EACH(const struct event, event, snapshot->events, snapshot->event_count) {
		if (event_meaning(event) == EVENT_NOT_STARTED && is_about(event, pod) &&
		    (!newest || event_time(event) > event_time(newest)))
			newest = event;
	}
	return newest ? arena_printf(health->arena, "%s: %.*s", newest->reason, EVENT_TEXT_MAX,
				     newest->message) :
			"";
}

static time_ms ray_container_start(const struct pod *pod)
{
	const struct container_status *status = pod ? pod_ray_container_status(pod) : NULL;
	return status ? status->started_at : TIME_NONE;
}

/* Why its raylet has not registered, by the Pod's status. */
static const char *start_text(const struct pod *pod, const struct pod_status *status)
{
	const struct container_status *ray = pod_ray_container_status(pod);

	if (status->text[0] != '\0')
		return status->text;
	if (!ray)
		return "its Ray container has no status";
	return ray->state == CONTAINER_RUNNING ? "its Ray container runs" :
						 "its Ray container does not run";
}

/* Since when the present GCS can be reached: a failure before that says nothing of the next start. */
static time_ms gcs_since(const struct facts *facts)
{
	return latest(ray_container_start(facts->head_pod), facts->ray_session_since);
}

time_ms progress_ray_start(const struct facts *facts, const struct pod *pod)
{
	return latest(ray_container_start(pod), gcs_since(facts));
}

/* Whether the failure that the Pod's status shows lasts: it is final, or was tried again for long enough. */
static bool is_lasting(const struct health *health, const struct worker *worker,
		       const struct pod_status *status, time_ms since)
{
	time_ms gcs = gcs_since(health->facts);

	if (status->outlook == POD_RETRIES)
		return waited_longer(health, since, PROGRESS_RETRY_SECONDS);
	if (status->outlook != POD_FAILS)
		return false;
	/* Workers crash while the head is away, and the kubelet then starts them late. */
	return worker->never_started || status->failed_at == TIME_NONE || gcs == TIME_NONE ||
	       status->failed_at > gcs;
}

/* The start time restarts with the head's Ray container, because all raylets must then register
 * again. */
static void assess_start(struct health *health, const struct worker *worker,
			 const struct condition *scheduled)
{
	struct worker_health *own = &health->workers[worker->index];
	struct pod_status status = pod_status_read(worker->pod, health->arena);
	time_ms since = progress_ray_start(health->facts, worker->pod);
	if (scheduled)
		since = latest(since, scheduled->last_transition);
	if (since == TIME_NONE)
		since = worker->pod->created;
	int64_t timeout = facts_launch(health->facts, worker)->start_ms / MS_PER_SECOND;
	own->start_failure = start_failure(health, worker->pod);
	/* Without Ray, it is unknown whether a Pod that has run had registered. */
	if (!health->facts->ray_reachable && !worker->never_started)
		return;
	if (health->facts->ray_reachable && waited_longer(health, since, timeout) && !own->unsure) {
		own->obstacle = OBSTACLE_START_TIMEOUT;
		own->obstacle_message =
			arena_printf(health->arena, "its raylet has not registered in %s: %s%s%s",
				     over_text(health, health->snapshot->now - since, timeout),
				     start_text(worker->pod, &status),
				     own->start_failure[0] != '\0' ? "; " : "", own->start_failure);
	} else if (is_lasting(health, worker, &status, since)) {
		own->obstacle = OBSTACLE_FAILED;
		own->obstacle_message = status.text;
	}
}

static void assess(struct health *health, const struct worker *worker)
{
	struct worker_health *own = &health->workers[worker->index];
	const struct pod *pod = worker->pod;
	const struct condition *scheduled =
		condition_find(pod->conditions, pod->condition_count, "PodScheduled");
	/* The condition of a gate outlives the gate for a moment. */
	bool unscheduled = scheduled && strcmp(scheduled->status, "False") == 0 &&
			   strcmp(scheduled->reason, "SchedulingGated") != 0;
	bool placed = pod->spec.node_name[0] != '\0' ||
		      (scheduled && strcmp(scheduled->status, "True") == 0);

	if (worker->finished) {
		/* While Ray is unreachable, it is unknown whether the worker had registered. */
		own->obstacle = health->facts->ray_reachable ? OBSTACLE_FAILED : OBSTACLE_NONE;
		own->obstacle_message = pod_status_read(pod, health->arena).text;
	} else if (worker->never_started && !placed && pod->spec.scheduling_gates.count > 0) {
		assess_gated(health, worker);
	} else if (worker->never_started && unscheduled) {
		assess_unschedulable(health, worker, scheduled);
	} else if (worker->never_started && !placed) {
		own->obstacle = OBSTACLE_WAITING;
		own->waiting_reason = REASON_SCHEDULING;
		own->obstacle_message = "no Node yet";
	} else {
		assess_start(health, worker, scheduled);
	}
}

void progress_assess(struct health *health)
{
	ARRAY_EACH(const struct worker, worker, health->facts->workers,
		   health->facts->worker_count) {
		struct worker_health *own = &health->workers[worker->index];
		own->obstacle_message = "";
		own->start_failure = "";
		own->gated_since = TIME_NONE;
		if (!worker->pod) {
			own->obstacle = OBSTACLE_WAITING;
			continue;
		}
		if (!worker->deleting && !worker->registered && !worker->raylet_gone &&
		    !worker->pod->unreadable)
			assess(health, worker);
	}
}
