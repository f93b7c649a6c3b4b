/* A memory limit for one purpose, and for several purposes that share a larger budget: one pass,
 * and all passes. Counts only; the memory belongs to arenas and buffers that are attached to a
 * budget. Any thread may charge and release at any time.
 *
 * Budgets that share one get fair parts of it without a fixed share: a charge is refused when the
 * budget would have more than BUDGET_SHARES times the rest that is left for all. So a single budget
 * gets 2/3, each of n large ones gets 2/(2n + 1), and small charges succeed as long as anything is
 * left. */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define BUDGET_SHARES ((size_t)2)

struct budget {
	const char *name;      /* for messages: "one pass (--max-pass-memory)" */
	size_t limit_bytes;    /* 0: none */
	struct budget *shared; /* charged too; NULL: none */
	size_t used_bytes;     /* in use now; all access is atomic */
	size_t peak_bytes;     /* the most that was in use */
	unsigned references;   /* 0: not on the heap, the owner keeps it longer than all charges */
};

/* With one reference; it holds one of `shared`, which may be NULL. The name is borrowed. */
struct budget *budget_new(const char *name, size_t limit_bytes, struct budget *shared);
struct budget *budget_reference(struct budget *budget); /* NULL returns NULL */
void budget_free(struct budget *budget);                /* drops one reference; NULL is allowed */

/* False when the limit, or the fair part of the shared budget, would be exceeded; then nothing is
 * charged. A NULL budget has no limit. */
bool budget_charge(struct budget *budget, size_t bytes);
/* Charges in any case, for memory that is in use already; false as above. */
bool budget_take(struct budget *budget, size_t bytes);
void budget_release(struct budget *budget, size_t bytes);

/* More is in use than is allowed, because of budget_take. */
bool budget_is_over(const struct budget *budget);

/* Sets the reason why `bytes` more were refused; -1. ERR_LIMIT: the budget's own limit, the same
 * charge would fail again. ERR_RETRY: others use up the shared budget. */
int budget_refuse(const struct budget *budget, size_t bytes, struct err *err);

#endif
