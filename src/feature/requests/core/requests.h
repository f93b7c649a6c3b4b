/* Requests of Ray's SDK (request_resources, through which Ray Data and Ray Train ask as well) beside what work uses:
 *
 * - With requests.unusedAfterSeconds such a request keeps no worker with accelerators that was idle for so long while
 *   the request did not grow. It then starts no other one in its place: from then on it keeps what is used or new, and
 *   work that waits starts what it needs. That ends when the request grows beyond the most that it was, when as much
 *   exists again, and when nothing is requested (MARK_REQUEST_ASKED, MARK_REQUEST_UNUSED).
 * - With requests.aheadOfUse it starts at most so many accelerators beyond those that work uses or waits for; those that
 *   exist stay. A replica that begins within the limit is started as a whole.
 *
 * Accelerators of all kinds count together. Our annotation, schedules, minReplicas and demand are never cut. A cut
 * changes the problem of the packing alone: which worker ends is the choice of the idle timeout, and Ray refuses to
 * drain one that is used. Off, the problem is as it was. */
#ifndef FEATURE_REQUESTS_CORE_REQUESTS_H
#define FEATURE_REQUESTS_CORE_REQUESTS_H

#include "core/decide/feature.h"
#include "feature/requests/core/cluster_shape.h"

/* Of a plan. Amounts in 1/10000 accelerators. */
struct plan_requests {
	const struct cluster_shape *shape; /* NULL: not known, or not to be reported */
	const char *shape_why;             /* then */
	struct name_set accelerators;      /* names in Ray */
	int64_t asked;                     /* by requests of the SDK; 0: the rest is not counted */
	int64_t used, waited;              /* by work, on all nodes; by what waits */
	int64_t held;                      /* of idle workers that such requests alone keep */
	const char *unit;                  /* "GPU", or "accelerators" of several kinds */
	struct requests_kept kept;         /* asked 0: nothing; unused_since: it starts none */
};

extern const struct decision_feature requests_decisions;

#endif
