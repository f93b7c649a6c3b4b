#include "core/model/cpu_budget.h"

#include "base/bounded_run.h"

/* 100 ms to 1 s. */
#define UNDECIDED_CHECKS 4096

static bool check(void *context)
{
	struct cpu_budget *budget = context;
	enum cpu_spent spent = budget->spent ? budget->spent(budget->context) : CPU_LEFT;

	if (budget->placing)
		budget->wanted = spent;
	return spent == CPU_OVER;
}

static bool check_undecided(void *context)
{
	struct cpu_budget *budget = context;

	return ++budget->undecided_checks > UNDECIDED_CHECKS;
}

static bool run_within(struct cpu_budget *budget, bool (*limit)(void *context), struct arena *arena,
		       void (*run)(void *context), void *context)
{
	budget->bounded = (struct bounded){
		.check = limit, .context = budget, .memory = budget->memory, .units = budget->units
	};
	return bounded_run(&budget->bounded, arena, run, context);
}

bool cpu_budget_run(struct cpu_budget *budget, struct arena *arena, void (*run)(void *context),
		    void *context)
{
	if (run_within(budget, check, arena, run, context))
		return true;
	budget->exhausted = true;
	budget->placing = false;
	budget->err = budget->bounded.err;
	return false;
}

bool cpu_budget_run_undecided(struct cpu_budget *budget, struct arena *arena,
			      void (*run)(void *context), void *context)
{
	return run_within(budget, check_undecided, arena, run, context);
}

bool cpu_budget_cut(struct cpu_budget *budget, bool fruitless)
{
	if (!budget)
		return false;
	budget->fruitless = fruitless;
	if (budget->wanted == CPU_STOP || (budget->wanted == CPU_CUT && !fruitless))
		budget->cut = true;
	return budget->cut;
}

void cpu_budget_place(struct cpu_budget *budget, bool placing)
{
	if (!budget)
		return;
	budget->placing = placing;
	budget->fruitless = true;
	budget->wanted = CPU_LEFT;
}

int64_t cpu_budget_next_factor(const struct cpu_budget *budget, bool launches)
{
	bool in_vain = budget->exhausted || (budget->cut && !launches);
	bool lacked_memory = budget->err.kind != ERR_NONE || budget->low_memory;

	if (!in_vain || lacked_memory)
		return budget->exhausted || budget->cut ? budget->factor : 1;
	return 2 * budget->factor < CPU_BUDGET_FACTOR_MAX ? 2 * budget->factor :
							    CPU_BUDGET_FACTOR_MAX;
}
