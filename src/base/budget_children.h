/* The children of one budget that are made by name, such as one for each namespace. Only on one
 * thread; the children themselves are budgets like others. */
#ifndef BASE_BUDGET_CHILDREN_H
#define BASE_BUDGET_CHILDREN_H

#include <stddef.h>

#include "base/budget.h"
#include "base/map.h"

struct budget_children {
	struct budget *parent; /* a reference; NULL: the children have no limit */
	/* Charged with what is kept beside the parts: of things that a child has no room for, and of those
	 * that are replaced and still read. Of the owner. */
	struct budget *beside;
	const char *of; /* borrowed; a child is "OF NAME": "the objects of namespace a" */
	struct map budgets;
	size_t swept; /* how many were left by the last removal of unused ones */
};

/* Takes over the reference of the parent. */
void budget_children_init(struct budget_children *children, struct budget *parent, const char *of);
void budget_children_done(struct budget_children *children);
/* A new reference of the child, which is made when there is none; NULL for NULL. One without
 * references and charges is freed some time. */
struct budget *budget_children_get(struct budget_children *children, const char *name);

#endif
