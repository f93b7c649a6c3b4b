/* The state of a search for launches with fewer GPUs, and its rating of a choice of launches: see
 * schedule_fewest, which performs the search. A choice counts only when a trial has confirmed it.
 * Lives in the scratch arena of one search. */
#ifndef CORE_SCHEDULE_SCHEDULE_SEARCH_H
#define CORE_SCHEDULE_SCHEDULE_SEARCH_H

#include "core/schedule/schedule_trial.h"

/* A trial that serves as much as Ray's policy. */
struct schedule_choice {
	bool confirmed;
	const struct schedule_policy *policy;
	int64_t *launches; /* by type */
	__int128 gpus, left;
};

struct schedule_search {
	const struct schedule_problem *problem;
	struct arena *scratch;
	const struct schedule_result *ray; /* the result to reach at least */
	struct schedule_trial trial;
	struct schedule_choice best;
	int64_t *most; /* by type: launches that the limits allow */
	int64_t *caps; /* by type: launches that the next packing may make */
	__int128 least_gpus;
	size_t runs_left, steps_left, choices_left;
};

extern const struct schedule_policy SCHEDULE_SEARCH_RAY;
extern const struct schedule_policy SCHEDULE_SEARCH_POLICIES[];

/* The number of policies to try, by nodes of the problem and launches together. */
size_t schedule_search_policies(size_t nodes);

/* problem, scratch and ray are set. */
void schedule_search_init(struct schedule_search *search);

__int128 schedule_search_gpus(const struct schedule_problem *problem, const int64_t *launches);
/* Whether `a` leaves at most as much over as `b` of every request. */
bool schedule_search_serves(const struct schedule_problem *problem, const struct schedule_result *a,
			    const struct schedule_result *b);
/* The number of units left over. */
__int128 schedule_search_left(const struct schedule_problem *problem,
			      const struct schedule_result *result);
/* Whether this number of GPUs with this rest is better than the best. */
bool schedule_search_is_better(const struct schedule_search *search, __int128 gpus, __int128 left);

struct schedule_result *schedule_search_trial(struct schedule_search *search,
					      const int64_t *launches,
					      const struct schedule_policy *policy,
					      struct arena *arena);
/* True when a trial of these launches, or of fewer, is better than the best; it is the best then.
 * The first tries one policy, the second all that the size allows. */
bool schedule_search_confirm_policy(struct schedule_search *search, const int64_t *launches,
				    const struct schedule_policy *policy);
bool schedule_search_confirm(struct schedule_search *search, const int64_t *launches);

#endif
