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

		memory_free(memory_without_const(budget->name));
		memory_free(memory_without_const(budget->fix));
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

static void add(struct budget *budget, size_t bytes)
{
	size_t used =
		whole(budget, __atomic_add_fetch(&budget->used_bytes, bytes, __ATOMIC_RELAXED));

	raise(&budget->peak_bytes, used);
	raise(&budget->recent_bytes, used);
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

static size_t left(size_t limit, size_t used)
{
	return used < limit ? limit - used : 0;
}

/* The rest that the budget has for its children when `bytes` more are in use, and whose limit that is: its own,
 * or that of one above it. */
static size_t rest_of(const struct budget *budget, size_t bytes, const struct budget **ret_of)
{
	size_t used = budget_used(budget) + bytes;
	size_t own = budget->limit_bytes ? left(budget->limit_bytes, used) : SIZE_MAX;
	size_t granted = left(budget->granted_bytes, used), above;
	const struct budget *of;

	*ret_of = budget;
	if (!budget->parent)
		return own;
	above = rest_of(budget->parent, bytes, &of);
	if (above < granted)
		above = granted;
	if (own <= above)
		return own;
	*ret_of = of;
	return above;
}

static bool is_small(size_t used, const struct budget *parent)
{
	return used <= parent->limit_bytes / BUDGET_SMALL;
}

/* Whether one child may have `used` when so much is left for all. */
static bool is_part(size_t used, size_t rest)
{
	return (used + BUDGET_SHARES - 1) / BUDGET_SHARES <= rest;
}

/* Whether the child may have `used`, which is `bytes` more than now. */
static bool is_fair(const struct budget *child, size_t used, size_t bytes)
{
	const struct budget *parent = child->parent, *of;

	if (!parent || used <= child->granted_bytes)
		return true;
	if (is_small(used, parent))
		return is_within(parent, budget_used(parent) + bytes);
	return is_part(used, left(rest_of(parent, bytes, &of), parent->spared_bytes));
}

/* A child that has little is not refused for what the others have above the grant, while the part above it is fair. */
static bool is_spared(const struct budget *budget, size_t child_used, size_t used, size_t bytes)
{
	const struct budget *of;

	return child_used <= budget->granted_bytes / BUDGET_LITTLE &&
	       is_part(used - budget->granted_bytes, rest_of(budget->parent, bytes, &of));
}

/* The lowest budget whose limit, or whose fair part of its parent, `bytes` more would exceed; NULL:
 * they fit. */
static const struct budget *refusing(const struct budget *budget, size_t bytes)
{
	size_t child_used = SIZE_MAX;

	for (; budget; budget = budget->parent) {
		size_t used = budget_used(budget) + bytes;

		if (!is_within(budget, used) ||
		    (!is_fair(budget, used, bytes) && !is_spared(budget, child_used, used, bytes)))
			return budget;
		if (used <= budget->granted_bytes)
			return NULL;
		child_used = used;
	}
	return NULL;
}

bool budget_take(struct budget *budget, size_t bytes)
{
	for (struct budget *one = budget; one; one = one->parent)
		add(one, bytes);
	return !refusing(budget, 0);
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

/* More than one child ever has, also when there is nothing else. */
static bool is_too_large(const struct budget *of, size_t bytes)
{
	return of->limit_bytes > 0 && !is_small(bytes, of) &&
	       !is_part(bytes, left(of->limit_bytes, bytes + of->spared_bytes));
}

int budget_refuse(const struct budget *budget, size_t bytes, struct err *err)
{
	const struct budget *at = refusing(budget, bytes), *of, *user;
	const char *fix;

	CHECK(budget);
	if (!at)
		at = budget; /* memory was released meanwhile */
	of = at;
	if (at->parent && is_within(at, budget_used(at) + bytes))
		(void)rest_of(at->parent, bytes, &of);
	user = of == at ? budget : at;
	fix = of->fix ? of->fix : "it is tried again at the next pass";
	if (of == budget)
		return err_set(err, ERR_LIMIT, "more than the %s of memory for %s; %s",
			       amount_of(of->limit_bytes).text, of->name, fix);
	if (is_too_large(of, bytes))
		return err_set(err, ERR_LIMIT,
			       "%s at once, more than %s may have of the %s of memory for %s%s%s",
			       amount_of(bytes).text, user->name, amount_of(of->limit_bytes).text,
			       of->name, of->fix ? "; " : "", of->fix ? of->fix : "");
	return err_set(err, ERR_MEMORY, "%s of the %s of memory for %s are in use, %s by %s; %s",
		       amount_of(budget_used(of)).text, amount_of(of->limit_bytes).text, of->name,
		       amount_of(budget_used(user)).text, user->name, fix);
}
