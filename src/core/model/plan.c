#include "core/model/plan.h"

#include "core/model/calendar.h"

const char *terminate_action_name(enum terminate_action action)
{
	switch (action) {
	case TERMINATE_NONE:
		break;
	case TERMINATE_DRAIN:
		return "drain";
	case TERMINATE_DELETE:
		return "delete";
	case TERMINATE_STOP:
		return "stop";
	}
	return "";
}

const char *worker_state_name(enum worker_state state)
{
	switch (state) {
	case WORKER_NONE:
		break;
	case WORKER_PENDING:
		return "Pending";
	case WORKER_STARTING:
		return "Starting";
	case WORKER_RUNNING:
		return "Running";
	case WORKER_IDLE:
		return "Idle";
	case WORKER_DRAINING:
		return "Draining";
	case WORKER_GONE:
		return "Gone";
	}
	return "";
}

const char *cluster_action_name(enum cluster_action action)
{
	switch (action) {
	case CLUSTER_KEEP:
		break;
	case CLUSTER_READ_WORK:
		return "Read";
	case CLUSTER_SUSPEND:
		return "Suspend";
	case CLUSTER_DELETE:
		return "Delete";
	case CLUSTER_RESUME:
		return "Resume";
	}
	return "";
}

const char *demand_kind_name(enum demand_kind kind)
{
	switch (kind) {
	case DEMAND_REQUEST:
		return "request";
	case DEMAND_GANG:
		return "gang";
	case DEMAND_CONSTRAINT:
		return "constraint";
	}
	return "";
}

const char *demand_source_name(enum demand_source source)
{
	switch (source) {
	case SOURCE_RAY:
		return "ray";
	case SOURCE_ANNOTATION:
		return "annotation";
	case SOURCE_SCHEDULE:
		return "schedule";
	}
	return "";
}

struct plan_condition *plan_add_condition(struct arena *arena, struct plan *plan, const char *type,
					  bool status, const char *reason, const char *message)
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
