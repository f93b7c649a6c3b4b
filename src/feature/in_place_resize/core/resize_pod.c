#include "feature/in_place_resize/core/resize_pod.h"

#include <stdio.h>
#include <string.h>

#include "core/model/reason.h"

#define REASON_SHOWN_MAX 200

/* The limit, else the request; -1: neither. */
static int64_t value_of(const struct quantities *limits, const struct quantities *requests,
			const char *name)
{
	const struct quantity *found = quantities_find(limits, name);

	found = found && found->valid && found->amount > 0 ? found :
							     quantities_find(requests, name);
	return found && found->valid ? found->amount : -1;
}

static int64_t request_of(const struct quantities *limits, const struct quantities *requests,
			  const char *name)
{
	const struct quantity *found = quantities_find(requests, name);

	return found && found->valid ? found->amount : value_of(limits, requests, name);
}

bool resize_pod_queue(struct resize_pod *state, struct plan_size size)
{
	if (size.cpu == state->desired.cpu && size.memory == state->desired.memory)
		return false;
	state->desired = size;
	state->status.resizing_at = 0;
	state->progress = RESIZE_QUEUED;
	return true;
}

bool resize_pod_is_under_way(const struct resize_pod *state, bool registered)
{
	return state->progress != RESIZE_LIMITED &&
	       (state->status.resizing_at || (registered && state->progress == RESIZE_QUEUED));
}

bool resize_pod_may_grow(const struct resize_pod *state)
{
	bool idle = state->progress == RESIZE_IDLE && !state->status.resizing_at;

	return !state->status.last_failed_at && (idle || state->progress == RESIZE_LIMITED) &&
	       !state->no_room &&
	       (state->current.cpu < state->most.cpu || state->current.memory < state->most.memory);
}

void resize_pod_settle(struct resize_pod *state, bool needed, struct arena *arena)
{
	if (state->no_room || !resize_pod_queue(state, needed ? state->most : state->current))
		return;
	state->reason = REASON_RESIZE_NODE_FULL;
	state->message = needed ? state->pending :
				  arena_printf(arena,
					       "no demand takes what the Node has room for: %.200s",
					       state->pending);
}

bool resize_pod_was_limited(const struct resize_pod *state)
{
	return state->progress == RESIZE_LIMITED || state->status.suggested_cpu ||
	       state->status.suggested_memory;
}

bool resize_pod_is_applied(const struct resize_pod *state)
{
	return state->status.raylet_id[0] != '\0' && state->status.resizing_at &&
	       state->progress == RESIZE_IDLE && state->desired.cpu == state->current.cpu &&
	       state->desired.memory == state->current.memory;
}

/* ---- the Pod's conditions ---- */

/* The kubelet's report on a Node without room: what it has for this container, in its unit (1/1000
 * CPU or bytes); -1: it says something else. */
static int64_t reported_room(const char *message, bool deferred, bool *ret_cpu)
{
	static const char resource[] = "Node didn't have enough resource: ";
	static const char capacity[] = "Node didn't have enough capacity: ";
	const char *at = strstr(message, deferred ? resource : capacity);
	long long asked, used = 0, all;
	char name[8];
	int count;

	if (!at)
		return -1;
	at += strlen(deferred ? resource : capacity);
	count = deferred ? sscanf(at, "%7[a-z], requested: %18lld, used: %18lld, capacity: %18lld",
				  name, &asked, &used, &all) :
			   sscanf(at, "%7[a-z], requested: %18lld, capacity: %18lld", name, &asked,
				  &all);
	if (count != (deferred ? 4 : 3) ||
	    (strcmp(name, "cpu") != 0 && strcmp(name, "memory") != 0) || used < 0 || all < used)
		return -1;
	*ret_cpu = name[0] == 'c';
	return all - used;
}

static int64_t requests_of_others(const struct pod *pod, const char *name)
{
	int64_t sum = 0;

	for (size_t i = 1; i < pod->spec.container_count; i++) {
		const struct quantity *found =
			quantities_find(&pod->spec.containers[i].requests, name);

		if (found && found->valid)
			sum = resource_sum(sum, found->amount);
	}
	return sum;
}

/* The Node's room is the largest size from now on, as in Ray's _apply_resize_suggestion, which also asks
 * for it at once. Where other Pods use the Node it is asked for only when some demand needs that
 * (resize_pod_settle): otherwise it is left to workers that start later. A Node that is too small for
 * good is used up, so that they start elsewhere. Not after a failure, which is final. */
static void take_suggestion(struct resize_pod *state, const char *message, bool deferred)
{
	bool cpu;
	int64_t room = reported_room(message, deferred, &cpu);

	if (state->status.last_failed_at || room < 0 || room > RESOURCE_AMOUNT_MAX / RESOURCE_UNIT)
		return;
	room = room * (cpu ? RESOURCE_MILLI : RESOURCE_UNIT) +
	       (cpu ? state->gap.cpu : state->gap.memory) -
	       requests_of_others(state->pod, cpu ? "cpu" : "memory");
	if (room == (cpu ? state->desired.cpu : state->desired.memory))
		return;
	state->progress = RESIZE_LIMITED;
	state->no_room = room <= 0;
	if (state->no_room)
		return;
	state->most = state->desired;
	if (cpu)
		state->most.cpu = state->status.suggested_cpu = room;
	else
		state->most.memory = state->status.suggested_memory = room;
	if (!deferred)
		resize_pod_settle(state, true, NULL);
}

static void read_conditions(struct resize_pod *state)
{
	for (size_t i = 0; i < state->pod->condition_count; i++) {
		const struct condition *condition = &state->pod->conditions[i];
		bool deferred = strcmp(condition->reason, "Deferred") == 0;

		if (strcmp(condition->status, "True") != 0)
			continue;
		if (strcmp(condition->type, "PodResizePending") == 0) {
			state->progress = RESIZE_WAITS;
			state->pending = condition->message;
			if (deferred || strcmp(condition->reason, "Infeasible") == 0)
				take_suggestion(state, condition->message, deferred);
			return;
		}
		if (strcmp(condition->type, "PodResizeInProgress") == 0) {
			state->progress = strcmp(condition->reason, "Error") == 0 ? RESIZE_ERROR :
										    RESIZE_WAITS;
			state->pending = condition->message;
			return;
		}
	}
}

/* The record was written, and the Pod does not have its size: the request is sent again. Sizes above
 * the limits are not ours. */
static void read_unsent(struct resize_pod *state, const struct resize_group *limits)
{
	const struct resize_status *status = &state->status;
	struct plan_size wanted = { status->wanted_cpu, status->wanted_memory };
	int64_t since = status->resizing_at;

	if (!since || !wanted.cpu || !wanted.memory || state->progress == RESIZE_ERROR ||
	    (wanted.cpu > limits->max_cpu && wanted.cpu > state->current.cpu) ||
	    (wanted.memory > limits->max_memory && wanted.memory > state->current.memory) ||
	    !resize_pod_queue(state, wanted))
		return;
	state->status.resizing_at = since;
	state->reason = REASON_RESIZE_FOR_DEMAND;
	state->message = "the request is sent again";
}

/* An error and a timeout are final for the Pod, and it returns to the size that it has. */
static void read_failure(struct resize_pod *state, const struct resize_group *limits, time_ms now,
			 struct due *due, struct arena *arena)
{
	bool late = state->status.resizing_at && !resize_pod_is_applied(state) &&
		    due_passed(due, state->status.resizing_at * MS_PER_SECOND,
			       limits->timeout_seconds * MS_PER_SECOND + 1);

	if (state->progress != RESIZE_ERROR && !late)
		return;
	if (!state->status.last_failed_at) {
		state->status.last_failed_at = now / MS_PER_SECOND;
		state->status.last_failed_reason =
			state->progress == RESIZE_ERROR ?
				arena_printf(arena, "%.*s", REASON_SHOWN_MAX,
					     state->pending[0] != '\0' ? state->pending :
									 "Pod resize failed") :
				"Pod resize timed out";
	}
	if (resize_pod_queue(state, state->current)) {
		state->reason = REASON_RESIZE_FAILED;
		state->message = state->status.last_failed_reason;
	}
}

/* ---- the Pod ---- */

static void read_sizes(const struct pod *pod, struct resize_pod *state)
{
	const struct container *spec = &pod->spec.containers[0];
	const struct container_status *status = pod_ray_container_status(pod);
	const struct quantities *limits = &spec->limits, *requests = &spec->requests;

	state->desired.cpu = value_of(limits, requests, "cpu");
	state->desired.memory = value_of(limits, requests, "memory");
	state->asked = state->desired;
	if (status && status->resources) {
		limits = &status->resources->limits;
		requests = &status->resources->requests;
	}
	state->current.cpu = value_of(limits, requests, "cpu");
	state->current.memory = value_of(limits, requests, "memory");
	state->has_cpu_limit = quantities_find(limits, "cpu") != NULL;
	state->has_memory_limit = quantities_find(limits, "memory") != NULL;
	state->gap.cpu = state->current.cpu - request_of(limits, requests, "cpu");
	state->gap.memory = state->current.memory - request_of(limits, requests, "memory");
}

bool resize_pod_read(const struct pod *pod, const struct resize_group *limits, time_ms now,
		     struct due *due, struct arena *arena, struct resize_pod *ret_state)
{
	struct resize_pod state = {
		.pod = pod,
		.most = { limits->max_cpu, limits->max_memory },
		.timeout_seconds = limits->timeout_seconds,
		.status = { .raylet_id = "", .last_failed_reason = "" },
		.pending = "",
	};

	if (pod->spec.container_count == 0 || pod->unreadable)
		return false;
	read_sizes(pod, &state);
	if (state.desired.cpu < 0 || state.desired.memory < 0 || state.current.cpu < 0 ||
	    state.current.memory < 0)
		return false;
	if (pod->resize)
		state.status = *pod->resize;
	if (state.status.suggested_cpu)
		state.most.cpu = state.status.suggested_cpu;
	if (state.status.suggested_memory)
		state.most.memory = state.status.suggested_memory;
	read_conditions(&state);
	read_unsent(&state, limits);
	read_failure(&state, limits, now, due, arena);
	*ret_state = state;
	return true;
}
