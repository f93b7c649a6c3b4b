/* --packing=fewest-gpus and cheapest: a search for launches that cost less than those of Ray's
 * policy and serve at least as much. A node costs its GPUs or its price (schedule_type.cost). Its work is limited in steps, never in time, so the same problem has the same
 * result. Only schedule() calls it. */
#ifndef CORE_SCHEDULE_SCHEDULE_CHEAPEST_H
#define CORE_SCHEDULE_SCHEDULE_CHEAPEST_H

#include "core/schedule/schedule_run.h"

/* One run of all phases of a problem (schedule.c). The result lives in the arena. A policy
 * with all members false is Ray's. */
struct schedule_result *schedule_phases(const struct schedule_problem *problem,
					const struct schedule_policy *policy, struct arena *arena);

/* Serves at least as much of each request, gang and constraint as Ray's policy, and costs at most
 * as much. Where maxima leave requests over, it may launch nothing and serve other requests, with at
 * least the same number of requests and of GPUs. A schedule_trial has confirmed each choice, so that
 * the next decision launches nothing more; if no trial confirms one, Ray's result is used. Within the
 * limit of the search no trial serves as much without one replica of the launches. */
struct schedule_result *schedule_cheapest(const struct schedule_problem *problem,
					  struct arena *arena);

/* ---- trials (schedule_trial.c) ---- */

/* Whether a given number of new nodes of each type serves the demand. A trial packs the problem
 * with these launches, with the new nodes among the starting ones, as the next decision will see
 * them: a result that a trial confirms is confirmed again by that decision, which then launches
 * nothing. */
struct schedule_trial {
	const struct schedule_problem *problem;
	int64_t *given;   /* by type: nodes of the problem */
	int64_t *minimum; /* by type: launches required by minReplicas */
	int64_t *most;    /* by type: launches that the limits of the type allow */
};

/* `ray` is the result under Ray's policy: it contains the launches for the minimum. */
void schedule_trial_init(struct schedule_trial *trial, const struct schedule_problem *problem,
			 const struct schedule_result *ray, struct arena *arena);
/* Whether the limits of the types and of the whole run allow them. */
bool schedule_trial_allows(const struct schedule_trial *trial, const int64_t *launches);
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

bool schedule_trial_launches_any(const struct schedule_problem *problem, const int64_t *launches);
/* Whether `a` has no more launches of any type than `b`, and of one type fewer. */
bool schedule_trial_launches_fewer(const struct schedule_problem *problem, const int64_t *a,
				   const int64_t *b);
/* A node that lacks what its type needs costs more. */
__int128 schedule_trial_cost(const struct schedule_problem *problem, const int64_t *launches);
/* Of so many new nodes of the type, at least: beside rivals they may cost more. */
__int128 schedule_trial_cost_of(const struct schedule_type *type, int64_t nodes);
/* No packing that serves what `ray` serves costs less: the GPUs allocated to demand, minus the free
 * ones, where they cost least; or the cost of the minimum. */
__int128 schedule_trial_least_cost(const struct schedule_trial *trial,
				   const struct schedule_result *ray);
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
