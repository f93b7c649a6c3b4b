/* Whether a given number of new nodes of each type serves the demand, and whether one result serves
 * as much as another. A trial packs the problem
 * with these launches, with the new nodes among the starting ones, as the next decision will see
 * them: a result that a trial confirms is confirmed again by that decision, which then launches
 * nothing. Made for schedule_fewest; lives in the caller's arena. */
#ifndef CORE_SCHEDULE_SCHEDULE_TRIAL_H
#define CORE_SCHEDULE_SCHEDULE_TRIAL_H

#include "core/schedule/schedule.h"
#include "core/schedule/schedule_run.h"

struct schedule_trial {
	const struct schedule_problem *problem;
	int64_t *given;   /* by type: nodes of the problem */
	int64_t *minimum; /* by type: launches required by minReplicas */
};

/* `ray` is the result under Ray's policy: it contains the launches for the minimum. */
void schedule_trial_init(struct schedule_trial *trial, const struct schedule_problem *problem,
			 const struct schedule_result *ray, struct arena *arena);
/* Packs with exactly `launches` new nodes by type, at least trial->minimum and within the limits.
 * The result is one of the trial's problem; its launches are fewer where new nodes are of no
 * use. */
struct schedule_result *schedule_trial_run(const struct schedule_trial *trial,
					   const int64_t *launches,
					   const struct schedule_policy *policy,
					   struct arena *arena);
/* The problem as the next decision sees it: the launches have become nodes that start. */
void schedule_trial_next(const struct schedule_trial *trial, const int64_t *launches,
			 struct schedule_problem *ret_problem, struct arena *arena);

/* ---- comparing results ---- */

__int128 schedule_trial_gpus(const struct schedule_problem *problem, const int64_t *launches);
int64_t schedule_trial_gpus_of(const struct ray_request *request);
/* The number of units left over. */
__int128 schedule_trial_left(const struct schedule_problem *problem,
			     const struct schedule_result *result);
/* Whether `a` leaves at most as much over as `b` of every request. */
bool schedule_trial_serves(const struct schedule_problem *problem, const struct schedule_result *a,
			   const struct schedule_result *b);
/* The same for gangs and constraints; of requests in total, by number and by GPUs. */
bool schedule_trial_serves_as_many(const struct schedule_problem *problem,
				   const struct schedule_result *a,
				   const struct schedule_result *b);

#endif
