/* GetClusterResourceStateReply, protobuf bytes to struct ray_state. Pure; the same rules as the
 * JSON form (codec/ray_state_json), so that a live reply and its file decide the same.
 * The result lives in the arena and shares no memory with the bytes. */
#ifndef GCS_GCS_STATE_H
#define GCS_GCS_STATE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/ray_state.h"

/* At most so many entries in ray_state.problems. */
#define GCS_STATE_PROBLEMS_MAX 100
/* What the decoded state may take in the arena. */
#define GCS_STATE_MEMORY_CEILING_BYTES ((size_t)512 << 20)

/* ERR_INPUT: not this message. ERR_LIMIT: a ceiling. An amount that makes no sense (NaN, infinite,
 * negative, too large) is a problem of its node or request and of the state, never an error. */
int gcs_state_decode(const void *data, size_t size, struct arena *arena,
		     struct ray_state *ret_state, struct err *err);

#endif
