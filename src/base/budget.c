#include "base/budget.h"

#include "base/check.h"
#include "base/memory.h"

#define MIB ((size_t)1 << 20)

struct budget *budget_new(const char *name, size_t limit_bytes, struct budget *shared)
{
	struct budget *budget = memory_alloc(sizeof(*budget));

	*budget = (struct budget){ .name = name,
				   .limit_bytes = limit_bytes,
				   .shared = budget_reference(shared),
				   .references = 1 };
	return budget;
}

struct budget *budget_reference(struct budget *budget)
{
	if (budget && budget->references > 0)
		(void)__atomic_add_fetch(&budget->references, 1, __ATOMIC_RELAXED);
	return budget;
}

void budget_free(struct budget *budget)
{
	while (budget && budget->references > 0 &&
	       __atomic_sub_fetch(&budget->references, 1, __ATOMIC_ACQ_REL) == 0) {
		struct budget *shared = budget->shared;

		memory_free(budget);
		budget = shared;
	}
}

static size_t now(const size_t *bytes)
{
	return __atomic_load_n(bytes, __ATOMIC_RELAXED);
}

static size_t add(struct budget *budget, size_t bytes)
{
	size_t used = __atomic_add_fetch(&budget->used_bytes, bytes, __ATOMIC_RELAXED);
	size_t peak = now(&budget->peak_bytes);

	while (used > peak && !__atomic_compare_exchange_n(&budget->peak_bytes, &peak, used, true,
							   __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return used;
}

static bool is_within(const struct budget *budget, size_t used)
{
	return budget->limit_bytes == 0 || used <= budget->limit_bytes;
}

/* total: of the shared budget, this one's included. */
static bool is_fair(const struct budget *shared, size_t used, size_t total)
{
	return shared->limit_bytes == 0 || (total <= shared->limit_bytes &&
					    used <= BUDGET_SHARES * (shared->limit_bytes - total));
}

bool budget_take(struct budget *budget, size_t bytes)
{
	if (!budget)
		return true;
	size_t used = add(budget, bytes);
	bool fits = is_within(budget, used);
	if (budget->shared)
		fits &= is_fair(budget->shared, used, add(budget->shared, bytes));
	return fits;
}

bool budget_is_over(const struct budget *budget)
{
	size_t used = budget ? now(&budget->used_bytes) : 0;

	return budget && (!is_within(budget, used) ||
			  (budget->shared &&
			   !is_fair(budget->shared, used, now(&budget->shared->used_bytes))));
}

bool budget_charge(struct budget *budget, size_t bytes)
{
	if (budget_take(budget, bytes))
		return true;
	budget_release(budget, bytes);
	return false;
}

static void subtract(struct budget *budget, size_t bytes)
{
	size_t before = __atomic_fetch_sub(&budget->used_bytes, bytes, __ATOMIC_RELAXED);

	CHECK(before >= bytes);
}

void budget_release(struct budget *budget, size_t bytes)
{
	if (!budget)
		return;
	subtract(budget, bytes);
	if (budget->shared)
		subtract(budget->shared, bytes);
}

int budget_refuse(const struct budget *budget, size_t bytes, struct err *err)
{
	size_t used = now(&budget->used_bytes);

	if (!is_within(budget, used + bytes) || !budget->shared)
		return err_set(err, ERR_LIMIT, "more than the %zu MiB of memory for %s",
			       budget->limit_bytes / MIB, budget->name);
	return err_set(err, ERR_RETRY,
		       "%zu of the %zu MiB of memory for %s are in use; it is tried again at the "
		       "next pass",
		       now(&budget->shared->used_bytes) / MIB, budget->shared->limit_bytes / MIB,
		       budget->shared->name);
}
