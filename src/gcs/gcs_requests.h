/* Decodes the value that request_resources() of Ray's SDK writes into the store of a GCS under
 * autoscaler v1 to a constraint. Within the budget of the arena. Pure; any thread. */
#ifndef GCS_GCS_REQUESTS_H
#define GCS_GCS_REQUESTS_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/model/ray_state.h"

/* value: JSON, not terminated. ERR_INPUT with the place; ERR_LIMIT and ERR_RETRY as
 * budget_refuse. */
int gcs_requests_parse(const void *value, size_t size, struct arena *arena,
		       struct ray_constraint *ret, struct err *err);

#endif
