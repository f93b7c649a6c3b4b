/* A limit on the work of one decision, so that a forged or very large cluster does not cost hours of
 * packing. Core reads no clock: it counts steps and calls `spent` from time to time. The owner
 * (ctl/pass/pass) sets `spent`, `context` and `ms`; decide() does the rest. Every function accepts
 * NULL for no budget (plan, tests: a decision depends only on its snapshot).
 *
 * CPU_CUT ends the packing with what it has placed, once that launches something: a placement group that
 * alone takes more is placed nevertheless. CPU_STOP ends it in any case; after one that launched nothing the
 * limits of the next decision are a multiple (cpu_budget_next_factor). The plan launches for the placed
 * part, and terminates nothing. With CPU_OVER nothing is decided. cpu_budget_step does not return then: it frees the
 * registered arenas and jumps back to decide(), so the packing has no partial results to clean up.
 * Between two calls a caller owns no memory except arenas that are registered or belong to the
 * decision. */
#ifndef CORE_MODEL_CPU_BUDGET_H
#define CORE_MODEL_CPU_BUDGET_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define CPU_BUDGET_ARENAS_MAX 8 /* of functions that call each other */
#define CPU_BUDGET_FACTOR_MAX 1024
#define CPU_BUDGET_STEPS 16 /* between two calls of spent: a step takes 0.1 to 100 us */

enum cpu_spent { CPU_LEFT = 0, CPU_CUT, CPU_STOP, CPU_OVER };

struct cpu_budget {
	enum cpu_spent (*spent)(void *context);
	void *context;
	int64_t ms;            /* for the message alone */
	int64_t factor;        /* of the default limits, for the owner */
	struct budget *memory; /* charged with the registered arenas; NULL: none */
	bool out_of_memory;    /* set by `spent`: it is the memory, not the time; for the message */
	/* Of decide() and this module: */
	bool exhausted; /* the plan changes nothing because of it */
	bool placing;   /* demand is placed: the work that is cut */
	bool fruitless; /* nothing is launched yet: CPU_CUT has to wait */
	bool cut;       /* no more is placed */
	unsigned steps;
	struct arena *arenas[CPU_BUDGET_ARENAS_MAX];
	size_t arena_count;
	jmp_buf out;
};

/* The factor for the next decision of the same cluster: twice as much after one that launched nothing for
 * want of CPU time, so that no load is above the budget for ever; 1 after one that was whole. */
int64_t cpu_budget_next_factor(const struct cpu_budget *budget, bool launches);
/* One iteration of a loop whose length a peer controls. Called only within decide(), on its
 * thread. */
void cpu_budget_step(struct cpu_budget *budget);
static inline bool cpu_budget_is_cut(const struct cpu_budget *budget)
{
	return budget && budget->cut;
}
/* Registers an empty arena of the caller until cpu_budget_done, which frees it; in reverse
 * order. */
void cpu_budget_own(struct cpu_budget *budget, struct arena *arena);
void cpu_budget_done(struct cpu_budget *budget, struct arena *arena);

#endif
