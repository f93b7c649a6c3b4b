#include "core/report/requested.h"

struct request_list {
	VEC(struct summary_request) at;
};

static void add(struct arena *arena, struct request_list *list,
		const struct ray_constraint *constraint, enum demand_source source,
		const char *schedule)
{
	for (size_t i = 0; constraint != NULL && i < constraint->count; i++)
		VEC_PUSH(arena, &list->at,
			 ((struct summary_request){ source, schedule,
						    &constraint->requests[i].request,
						    constraint->requests[i].count }));
}

void requested_sum(const struct snapshot *snapshot, const struct plan *plan, struct arena *arena,
		   struct summary *summary)
{
	const struct ray_state *state = summary->ray_reachable ? snapshot->ray_state : NULL;
	struct request_list requested = { .at = { .at = NULL } };

	for (size_t i = 0; state != NULL && i < state->constraint_count; i++)
		add(arena, &requested, &state->constraints[i], SOURCE_RAY, "");
	add(arena, &requested, snapshot->annotation_request, SOURCE_ANNOTATION, "");
	for (size_t i = 0; i < plan->schedule_count; i++)
		if (plan->schedules[i].active)
			add(arena, &requested, snapshot->autoscaler->schedules[i].bundles,
			    SOURCE_SCHEDULE, plan->schedules[i].name);
	summary->requested = requested.at.at;
	summary->requested_count = requested.at.count;
}
