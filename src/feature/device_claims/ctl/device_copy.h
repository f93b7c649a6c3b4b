/* Copies of the objects of a view (ctl/shared/device_view), within its limits. Objects of no namespace
 * are written by administrators and drivers: a kind above DEVICE_COPY_CLUSTER_BYTES, or two thirds of a
 * view, counts as one that may not be read. Templates and claims are texts of any user:
 * DEVICE_COPY_CLAIMS_BYTES, or a third of a view, are for all namespaces together, those with the fewest bytes first. The objects of a namespace for which not
 * enough is left stay there by name, `unreadable` with the reason and the fix. Counted are the copy and
 * what device_claims_attach makes of it. Runs on a worker. */
#ifndef FEATURE_DEVICE_CLAIMS_CTL_DEVICE_COPY_H
#define FEATURE_DEVICE_CLAIMS_CTL_DEVICE_COPY_H

#include "base/arena.h"
#include "feature/device_claims/core/device_object.h"

#define DEVICE_COPY_CLUSTER_BYTES ((size_t)24 << 20)
#define DEVICE_COPY_CLAIMS_BYTES ((size_t)16 << 20)

struct device_copied {
	bool slices_too_large, classes_too_large, rules_too_large;
	size_t refused;            /* namespaces */
	const char *first_refused; /* the first by name; NULL: none. In the arena */
	const char *why;           /* its reason */
};

/* The lists are in the arena; what their elements point to is replaced by copies. view_bytes: the limit of one view; 0: none but those above. */
void device_copy(struct device_objects *objects, size_t view_bytes, struct arena *arena,
		 struct device_copied *ret_copied);

#endif
