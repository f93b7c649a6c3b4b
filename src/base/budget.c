#include "base/budget.h"

#include <stdint.h>
#include <stdio.h>

#include "base/check.h"
#include "base/memory.h"

#define MIB ((size_t)1 << 20)

struct budget *budget_new(const char *name, const char *fix, size_t limit_bytes,
			  struct budget *parent)
{
	struct budget *budget = memory_alloc(sizeof(*budget));

	*budget = (struct budget){ .name = memory_strdup(name),
				   .fix = fix ? memory_strdup(fix) : NULL,
				   .limit_bytes = limit_bytes,
				   .parent = budget_reference(parent),
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
		struct budget *parent = budget->parent;

		memory_free((char *)budget->name);
		memory_free((char *)budget->fix);
		memory_free(budget);
		budget = parent;
	}
}

static size_t now(const size_t *bytes)
{
	return __atomic_load_n(bytes, __ATOMIC_RELAXED);
}

/* With what was not charged. */
static size_t whole(const struct budget *budget, size_t used)
{
	size_t measured = budget->measure ? budget->measure() : 0;

	return measured > used ? measured : used;
}

size_t budget_used(const struct budget *budget)
{
	return budget ? whole(budget, now(&budget->used_bytes)) : 0;
}

size_t budget_peak(const struct budget *budget)
{
	return budget ? now(&budget->peak_bytes) : 0;
}

static void raise(size_t *peak_bytes, size_t used)
{
	size_t peak = now(peak_bytes);

	while (used > peak && !__atomic_compare_exchange_n(peak_bytes, &peak, used, true,
							   __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static size_t add(struct budget *budget, size_t bytes)
{
	size_t used =
		whole(budget, __atomic_add_fetch(&budget->used_bytes, bytes, __ATOMIC_RELAXED));

	raise(&budget->peak_bytes, used);
	raise(&budget->recent_bytes, used);
	return used;
}

size_t budget_recent_peak(struct budget *budget, bool restart)
{
	if (restart)
		return __atomic_exchange_n(&budget->recent_bytes, budget_used(budget),
					   __ATOMIC_RELAXED);
	return now(&budget->recent_bytes);
}

static bool is_within(const struct budget *budget, size_t used)
{
	return budget->limit_bytes == 0 || used <= budget->limit_bytes;
}

/* The part of the parent that is left for a child that has `used`; total: of the parent, the child's
 * included. */
static size_t left_of(const struct budget *parent, size_t used, size_t total)
{
	size_t spared = used > parent->limit_bytes / BUDGET_SMALL ? parent->spared_bytes : 0;
	size_t gone = total + spared;

	return gone < parent->limit_bytes ? parent->limit_bytes - gone : 0;
}

/* Whether the child may have `used` while its parent has `total`. */
static bool is_fair(const struct budget *child, size_t used, size_t total)
{
	const struct budget *parent = child->parent;

	if (!parent || parent->limit_bytes == 0 || child->firm)
		return true;
	if (used <= parent->limit_bytes / BUDGET_SMALL)
		return total <= parent->limit_bytes;
	return used <= BUDGET_SHARES * left_of(parent, used, total);
}

bool budget_take(struct budget *budget, size_t bytes)
{
	size_t used = budget ? add(budget, bytes) : 0;
	bool fits = true;

	while (budget) {
		size_t total = budget->parent ? add(budget->parent, bytes) : 0;

		fits &= is_within(budget, used) && is_fair(budget, used, total);
		budget = budget->parent;
		used = total;
	}
	return fits;
}

/* The lowest budget whose limit, or whose fair part of its parent, `bytes` more would exceed; NULL:
 * they fit. */
static const struct budget *refusing(const struct budget *budget, size_t bytes)
{
	for (; budget; budget = budget->parent) {
		size_t used = budget_used(budget) + bytes;

		if (!is_within(budget, used) ||
		    !is_fair(budget, used, budget_used(budget->parent) + bytes))
			return budget;
	}
	return NULL;
}

bool budget_fits(const struct budget *budget, size_t bytes)
{
	return !refusing(budget, bytes);
}

bool budget_is_over(const struct budget *budget)
{
	return refusing(budget, 0) != NULL;
}

bool budget_charge(struct budget *budget, size_t bytes)
{
	if (!budget_fits(budget, bytes))
		return false; /* not even in the peak */
	if (budget_take(budget, bytes))
		return true;
	budget_release(budget, bytes);
	return false;
}

void budget_release(struct budget *budget, size_t bytes)
{
	for (; budget; budget = budget->parent) {
		size_t before = __atomic_fetch_sub(&budget->used_bytes, bytes, __ATOMIC_RELAXED);

		CHECK(before >= bytes);
	}
}

struct amount {
	char text[32];
};

static struct amount amount_of(size_t bytes)
{
	struct amount amount;
	bool whole = bytes % MIB == 0 || bytes >= 10 * MIB;

	(void)snprintf(amount.text, sizeof(amount.text), "%.*f MiB", whole ? 0 : 1,
		       (double)bytes / (double)MIB);
	return amount;
}

int budget_refuse(const struct budget *budget, size_t bytes, struct err *err)
{
	const struct budget *at = refusing(budget, bytes), *of, *user;
	const char *fix;

	CHECK(budget);
	if (!at)
		at = budget; /* memory was released meanwhile */
	of = at->parent && is_within(at, budget_used(at) + bytes) ? at->parent : at;
	user = of == at ? budget : at;
	fix = of->fix ? of->fix : "it is tried again at the next pass";
	if (of == budget)
		return err_set(err, ERR_LIMIT, "more than the %s of memory for %s; %s",
			       amount_of(of->limit_bytes).text, of->name, fix);
	return err_set(err, ERR_MEMORY, "%s of the %s of memory for %s are in use, %s by %s; %s",
		       amount_of(budget_used(of)).text, amount_of(of->limit_bytes).text, of->name,
		       amount_of(budget_used(user)).text, user->name, fix);
}
