/* The choice of policy: Ray's, or a search for launches with fewer GPUs that serve as much. */
#include "core/schedule/schedule.h"

#include "core/schedule/schedule_fewest.h"
#include "core/schedule/schedule_phases.h"

struct schedule_result *schedule(const struct schedule_problem *problem, struct arena *arena)
{
	const struct schedule_policy ray = { .spare_gpus = false };

	return problem->fewest_gpus ? schedule_fewest_gpus(problem, arena) :
				      schedule_phases(problem, &ray, arena);
}
