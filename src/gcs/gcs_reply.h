/* How a call of gcs_client ends: its reply, the callback that gets it, and the end without one. */
#ifndef GCS_GCS_REPLY_H
#define GCS_GCS_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/model/plan.h"
#include "core/model/ray_state.h"

struct gcs_call;

/* The members that the method names are set, the others are NULL, false and "". After an error all
 * of them are. */
struct gcs_reply {
	const struct ray_state *state;
	const struct ray_constraint *constraint;
	const struct gpu_use *gpu_use;
	const struct ray_work *work;
	const struct ray_in_use *in_use;
	const struct ray_drain *drains;
	size_t drain_count;
	bool accepted;
	const char *rejection;
	struct plan_size size;
};

/* The end of a call: err is NULL exactly when it succeeded. */
typedef void gcs_done(void *context, const struct gcs_reply *reply, const struct err *err);

/* Whether all of a state with this digest (gcs_state.h) and size is known already. */
typedef bool gcs_state_known(void *context, uint64_t digest, size_t size);

/* Ends one call without its callback. Not for a call whose callback was called. */
void gcs_call_cancel(struct gcs_call *call);

#endif
