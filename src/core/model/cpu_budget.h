/* The limits of one decision, so that a forged or very large cluster costs neither hours of packing nor
 * the memory of all others. Core reads no clock: work is counted where loops and allocations are (base/bounded.h),
 * and `spent` is called from time to time. The owner (ctl/pass/pass_decide) sets the first members; decide() does the
 * rest. Every function accepts NULL for no budget (plan, tests: a decision depends only on its snapshot).
 *
 * CPU_CUT ends the packing with what it has placed, once that launches something: a placement group that
 * alone takes more is placed nevertheless. CPU_STOP ends it in any case; after one that launched nothing the
 * limits of the next decision are a multiple (cpu_budget_next_factor). The plan launches for the placed
 * part, and terminates nothing. With CPU_OVER, and where `memory` refuses a block of an arena, nothing is decided:
 * the decision is left where it is then, and its memory is freed. `spent` may return CPU_CUT also because little
 * memory is left. */
#ifndef CORE_MODEL_CPU_BUDGET_H
#define CORE_MODEL_CPU_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bounded.h"

#define CPU_BUDGET_FACTOR_MAX 1024

struct plan;

enum cpu_spent { CPU_LEFT = 0, CPU_CUT, CPU_STOP, CPU_OVER };

struct cpu_budget {
	enum cpu_spent (*spent)(void *context);
	/* Made of the plan by the owner within the same limits; NULL: nothing. Called for each plan,
	 * of which the last one is returned. */
	void (*made)(void *context, const struct plan *plan);
	void *context;
	int64_t ms;            /* for the message alone */
	int64_t factor;        /* of the default limits, for the owner */
	struct budget *memory; /* charged with every block that an arena takes; NULL: none */
	int64_t units;         /* of work between two calls of `spent`; 0: BOUNDED_UNITS */
	bool low_memory; /* set by `spent`: CPU_CUT because little memory is left; for the message */
	/* Of decide() and this module: */
	bool exhausted;        /* the plan changes nothing because of it */
	bool placing;          /* demand is placed: the work that is cut */
	bool fruitless;        /* nothing is launched yet: CPU_CUT has to wait */
	bool cut;              /* no more is placed */
	enum cpu_spent wanted; /* the last answer while it places */
	struct err err;        /* exhausted: of the memory; ERR_NONE: it was the CPU time */
	int64_t undecided_checks;
	struct bounded bounded;
};

/* The factor for the next decision of the same cluster: twice as much after one that launched nothing for
 * want of CPU time, so that no load is above the budget for ever; 1 after one that was whole. */
int64_t cpu_budget_next_factor(const struct cpu_budget *budget, bool launches);
/* Calls run(context) within the limits. False: it was left (bounded_run), and `exhausted` is set. */
bool cpu_budget_run(struct cpu_budget *budget, struct arena *arena, void (*run)(void *context),
		    void *context);
/* The same for the plan that changes nothing, with an own limit of work. */
bool cpu_budget_run_undecided(struct cpu_budget *budget, struct arena *arena,
			      void (*run)(void *context), void *context);
/* From here on demand is placed, or no longer. */
void cpu_budget_place(struct cpu_budget *budget, bool placing);
/* Whether the packing ends here. fruitless: nothing is launched yet. */
bool cpu_budget_cut(struct cpu_budget *budget, bool fruitless);
static inline bool cpu_budget_is_cut(const struct cpu_budget *budget)
{
	return budget && budget->cut;
}

#endif
