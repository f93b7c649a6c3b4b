/* A memory limit for one purpose, in a tree: a budget's bytes count in its parent as well, up to
 * the root, which is the limit of the process. Counts only; the memory belongs to arenas and buffers
 * that are attached to a budget. Any thread may charge and release at any time.
 *
 * The children of a parent get fair parts of it without a fixed share: a charge is refused when the
 * child would have more than BUDGET_SHARES times the rest that is left for all. So a single child
 * gets 2/3, each of n large ones gets 2/(2n + 1), and small charges succeed as long as anything is
 * left. The rule holds at each level: between passes of a namespace, between namespaces, between
 * purposes.
 *
 * Memory that is kept, and not freed after a second, needs two exceptions. `spared`: the first of n
 * large children may have its part for ever, so that only 1/3^n is left; a parent may spare a part of
 * its limit for small children (BUDGET_SMALL). `granted`: a child has so much in any case, also when
 * others, or what is charged nowhere, fill the parent; its children share it by the same rule. So the
 * grants of all purposes are at most the root's limit. A purpose with more
 * needs its fair part of the root: all of it for large children, only what is above the grant for those that have
 * little (BUDGET_LITTLE). */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define BUDGET_SHARES ((size_t)2)
#define BUDGET_SMALL ((size_t)128) /* a small child has at most this fraction of the limit */
#define BUDGET_LITTLE ((size_t)8)  /* little is at most this fraction of the grant */

struct budget {
	const char *name;      /* for messages: "one pass (--max-pass-memory)" */
	const char *fix;       /* what to do when this limit, or a fair part of it, is used up */
	size_t limit_bytes;    /* 0: none */
	size_t spared_bytes;   /* of the limit: for small children alone */
	size_t granted_bytes;  /* that need no fair part of the parent */
	struct budget *parent; /* charged too; NULL: none */
	/* Bytes in use, with all that was not charged; NULL: nothing else is. */
	size_t (*measure)(void);
	size_t used_bytes;   /* charged now; all access is atomic */
	size_t peak_bytes;   /* the most that was in use */
	size_t recent_bytes; /* the same since budget_recent_peak(.., true) */
	unsigned references; /* 0: not on the heap, the owner keeps it longer than all charges */
};

/* With one reference; it holds one of `parent`, which may be NULL. Texts are copied; fix may be
 * NULL: the charge is tried again. */
struct budget *budget_new(const char *name, const char *fix, size_t limit_bytes,
			  struct budget *parent);
struct budget *budget_reference(struct budget *budget); /* NULL returns NULL */
void budget_free(struct budget *budget);                /* drops one reference; NULL is allowed */

/* False when a limit, or the fair part of a parent, would be exceeded; then nothing is charged. A
 * NULL budget has no limit. */
bool budget_charge(struct budget *budget, size_t bytes);
/* Charges in any case, for memory that is in use already; false as above. */
bool budget_take(struct budget *budget, size_t bytes);
void budget_release(struct budget *budget, size_t bytes);

size_t budget_used(const struct budget *budget); /* as measured, if that is more; 0 for NULL */
size_t budget_peak(const struct budget *budget);
/* The most that was in use since the last restart, which makes the present use the peak. */
size_t budget_recent_peak(struct budget *budget, bool restart);
/* Whether budget_charge would succeed now. */
bool budget_fits(const struct budget *budget, size_t bytes);
/* More is in use than is allowed, because of budget_take. */
bool budget_is_over(const struct budget *budget);

/* Sets the reason why `bytes` more were refused: whose budget, how much of how much, and what to do;
 * -1. ERR_LIMIT: the budget's own limit, or more than one of its parent's children ever has; the same
 * charge would fail again. ERR_MEMORY: others use up a parent. */
int budget_refuse(const struct budget *budget, size_t bytes, struct err *err);

#endif
