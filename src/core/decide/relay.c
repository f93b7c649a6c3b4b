#include "core/decide/relay.h"

#include <string.h>

#include "core/decide/disruption_replace.h"
#include "core/decide/mark.h"
#include "core/decide/terminate.h"
#include "core/model/reason.h"

bool relay_is_in_use(const struct worker *worker)
{
	return worker->registered && !ray_node_is_unused(worker->node) &&
	       (worker->node->status == RAY_NODE_RUNNING ||
		worker->node->status == RAY_NODE_DRAINING);
}

bool relay_is_notified(const struct choice *choice, const struct worker *worker)
{
	const struct worker_choice *own = &choice->workers[worker->index];

	return own->action == TERMINATE_DRAIN && own->reason == REASON_LEAVING;
}

/* A MARK_NOTIFIED is what Ray has accepted. It is made with the first report of the drain, which is Ray's answer
 * in the same pass: a drain that failed is repeated. The reports of the next seconds may be older than it. */
#define REPORT_LAG_MS (10 * MS_PER_SECOND)

/* Rounded up: no Pod is deleted before the deadline that Ray has. */
static int64_t seconds_of(time_ms deadline)
{
	return deadline == TIME_NONE ? 0 : (deadline + MS_PER_SECOND - 1) / MS_PER_SECOND;
}

static void remember(struct choice *choice, const struct worker *worker, time_ms since,
		     int64_t deadline)
{
	VEC_PUSH(choice->arena, &choice->memory.marks,
		 ((struct memory_mark){ .kind = MARK_NOTIFIED,
					.key = worker->pod_name,
					.since = since,
					.count = deadline }));
}

static time_ms end_of(const struct choice *choice, const struct worker *worker)
{
	if (!worker->planned || worker->ends != TIME_NONE)
		return worker->ends;
	return choice->snapshot->now + worker->planned->drain_ms;
}

/* A pool gave Ray an earlier deadline, which counts. */
static bool ends_before(const struct worker *worker)
{
	return worker->release && worker->release->deadline != TIME_NONE &&
	       worker->release->deadline <= worker->ends;
}

/* Returns true if Ray is to be notified. */
static bool update(struct choice *choice, const struct worker *worker)
{
	const struct memory_mark *notified =
		mark_find(choice->facts, MARK_NOTIFIED, worker->pod_name);
	bool draining = worker->node->status == RAY_NODE_DRAINING;
	int64_t deadline = seconds_of(end_of(choice, worker));
	time_ms now = choice->snapshot->now;

	if (!notified && !draining)
		return disruption_may_begin(choice->packing, worker);
	if (!notified && ends_before(worker))
		return false;
	if (!notified) {
		remember(choice, worker, now, deadline);
		return deadline != 0 && deadline != seconds_of(worker->node->drain_deadline_ms);
	}
	if (deadline != 0 && notified->count != deadline) {
		remember(choice, worker, draining ? now : notified->since,
			 draining ? deadline : notified->count);
		return true;
	}
	if (!draining && due_passed(choice->facts->due, notified->since, REPORT_LAG_MS)) {
		remember(choice, worker, now, notified->count);
		return true;
	}
	remember(choice, worker, notified->since, notified->count);
	return false;
}

static void notify(struct choice *choice, const struct worker *worker)
{
	if (update(choice, worker))
		terminate_drain_busy(&choice->workers[worker->index], REASON_LEAVING,
				     worker->disruption_why ? worker->disruption_why :
							      "the Pod is being deleted",
				     end_of(choice, worker));
}

/* A pass that can judge nothing keeps the marks. */
static void keep_marks(struct choice *choice)
{
	const struct memory_state *memory = choice->snapshot->memory;
	const struct memory_mark *mark = NULL;

	if (!memory)
		return;
	while ((mark = memory_next_mark(memory, MARK_NOTIFIED, mark)) != NULL)
		VEC_PUSH(choice->arena, &choice->memory.marks, *mark);
}

void relay_choose(struct choice *choice)
{
	if (choice->facts->termination_forbidden) {
		keep_marks(choice);
		return;
	}
	ARRAY_EACH(const struct worker, worker, choice->facts->workers,
		   choice->facts->worker_count) {
		const struct memory_mark *notified;

		if (!worker->announced)
			continue;
		if (relay_is_in_use(worker) &&
		    choice->workers[worker->index].action == TERMINATE_NONE) {
			notify(choice, worker);
			continue;
		}
		/* Until its Pod is deleted: see disruption_mark(). */
		notified = mark_find(choice->facts, MARK_NOTIFIED, worker->pod_name);
		if (notified)
			VEC_PUSH(choice->arena, &choice->memory.marks, *notified);
	}
}
