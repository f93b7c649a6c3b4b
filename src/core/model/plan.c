#include "core/model/plan.h"

#include "core/model/calendar.h"

const char *terminate_action_name(enum terminate_action action)
{
	static const char *const names[] = {
		[TERMINATE_NONE] = "",
		[TERMINATE_DRAIN] = "drain",
		[TERMINATE_DELETE] = "delete",
		[TERMINATE_STOP] = "stop",
	};

	return names[action];
}

const char *worker_state_name(enum worker_state state)
{
	static const char *const names[] = {
		[WORKER_NONE] = "",
		[WORKER_PENDING] = "Pending",
		[WORKER_STARTING] = "Starting",
		[WORKER_RUNNING] = "Running",
		[WORKER_IDLE] = "Idle",
		[WORKER_DRAINING] = "Draining",
		[WORKER_GONE] = "Gone",
	};

	return names[state];
}

const char *cluster_action_name(enum cluster_action action)
{
	static const char *const names[] = {
		[CLUSTER_KEEP] = "",           [CLUSTER_READ_WORK] = "Read",
		[CLUSTER_SUSPEND] = "Suspend", [CLUSTER_DELETE] = "Delete",
		[CLUSTER_RESUME] = "Resume",
	};

	return names[action];
}

const char *demand_kind_name(enum demand_kind kind)
{
	static const char *const names[] = {
		[DEMAND_REQUEST] = "request",
		[DEMAND_GANG] = "gang",
		[DEMAND_CONSTRAINT] = "constraint",
	};

	return names[kind];
}

const char *demand_source_name(enum demand_source source)
{
	static const char *const names[] = {
		[SOURCE_RAY] = "ray",
		[SOURCE_ANNOTATION] = "annotation",
		[SOURCE_SCHEDULE] = "schedule",
	};

	return names[source];
}

const char *resize_action_name(enum resize_action action)
{
	return action == RESIZE_SYNC ? "sync" : "resize";
}

struct plan_condition *plan_add_condition(struct arena *arena, struct plan *plan, const char *type,
					  bool status, enum reason reason, const char *message)
{
	struct plan_condition *condition = VEC_ADD(arena, &plan->conditions);

	*condition = (struct plan_condition){ .type = type,
					      .status = status ? "True" : "False",
					      .reason = reason,
					      .message = message };
	return condition;
}

const char *plan_schedule_until(const struct plan_schedule *schedule, struct arena *arena)
{
	return schedule->next_change == TIME_NONE ?
		       "" :
		       arena_printf(arena, " until %s", time_text(arena, schedule->next_change));
}

const char *plan_schedule_bundles(const struct plan_schedule *schedule, struct arena *arena)
{
	return arena_printf(arena, "schedule %.64s (bundles%s)", schedule->name,
			    plan_schedule_until(schedule, arena));
}

const char *plan_schedule_state(const struct plan_schedule *schedule, struct arena *arena)
{
	const char *state = schedule->active ? "active" : "inactive";

	if (schedule->problem)
		return arena_printf(arena, "unknown: %s", schedule->problem);
	if (schedule->never_starts)
		return "inactive and never starts";
	if (schedule->next_change == TIME_NONE)
		return schedule->active ? arena_printf(arena, "active for the next %d days",
						       CALENDAR_CHAIN_DAYS) :
					  arena_printf(arena, "inactive for the next %d days",
						       CALENDAR_SEARCH_DAYS);
	return arena_printf(arena, "%s until %s", state, time_text(arena, schedule->next_change));
}
