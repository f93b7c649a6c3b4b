/* Placement groups in another order that is the same for Ray's scheduler: those that tie keep theirs. */
#ifndef TEST_SUPPORT_GANG_ORDER_H
#define TEST_SUPPORT_GANG_ORDER_H

#include "core/model/ray_state.h"

/* As many placement constraints and as many bundles: Ray's sort key. */
static inline bool gang_order_tie(const struct ray_gang *a, const struct ray_gang *b)
{
	size_t constraints = 0;

	for (size_t i = 0; i < a->request_count; i++)
		constraints += a->requests[i].placement_count;
	for (size_t i = 0; i < b->request_count; i++)
		constraints -= b->requests[i].placement_count;
	return !constraints && a->request_count == b->request_count;
}

/* `gangs` is a permutation of `was`. */
static inline void gang_order_keep_ties(struct ray_gang *gangs, const struct ray_gang *was,
					size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t before = 0, at = 0;

		for (size_t j = 0; j < i; j++)
			before += gang_order_tie(&gangs[j], &gangs[i]);
		while (!gang_order_tie(&was[at], &gangs[i]) || before--)
			at++;
		gangs[i] = was[at];
	}
}

#endif
