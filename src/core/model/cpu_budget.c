#include "core/model/cpu_budget.h"

#include "base/check.h"

void cpu_budget_step(struct cpu_budget *budget)
{
	enum cpu_spent spent;

	if (!budget || budget->exhausted || ++budget->steps % CPU_BUDGET_STEPS != 0)
		return;
	spent = budget->spent(budget->context);
	if (budget->placing && (spent == CPU_STOP || (spent == CPU_CUT && !budget->fruitless)))
		budget->cut = true;
	if (spent != CPU_OVER)
		return;
	budget->exhausted = true;
	while (budget->arena_count > 0)
		arena_done(budget->arenas[--budget->arena_count]);
	longjmp(budget->out, 1);
}

int64_t cpu_budget_next_factor(const struct cpu_budget *budget, bool launches)
{
	bool in_vain = budget->exhausted || (budget->cut && !launches);

	if (!in_vain)
		return budget->cut ? budget->factor : 1;
	return 2 * budget->factor < CPU_BUDGET_FACTOR_MAX ? 2 * budget->factor :
							    CPU_BUDGET_FACTOR_MAX;
}

void cpu_budget_own(struct cpu_budget *budget, struct arena *arena)
{
	if (!budget)
		return;
	CHECK(budget->arena_count < CPU_BUDGET_ARENAS_MAX);
	arena->budget = budget->memory;
	budget->arenas[budget->arena_count++] = arena;
}

void cpu_budget_done(struct cpu_budget *budget, struct arena *arena)
{
	if (budget) {
		CHECK(budget->arena_count > 0 && budget->arenas[budget->arena_count - 1] == arena);
		budget->arena_count--;
	}
	arena_done(arena);
}
