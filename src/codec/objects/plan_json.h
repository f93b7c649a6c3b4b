/* A plan as JSON: the output of `rayscaler plan -o json`, stable to the byte, in the order of
 * docs/internals/snapshot.md; also the patch alone, as the body of the request to the API server. */
#ifndef CODEC_OBJECTS_PLAN_JSON_H
#define CODEC_OBJECTS_PLAN_JSON_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "codec/schema/field.h"
#include "core/model/plan.h"

/* Pretty JSON and a line end. `debug` adds `placements`. ERR_LIMIT at the buffer's ceiling. */
int plan_write(const struct plan *plan, bool debug, struct buf *buf, struct err *err);
/* The JSON Patch as one line, "[]" when there is nothing to change. */
int plan_write_patch(const struct plan *plan, struct buf *buf, struct err *err);

/* Members that other documents have too. */
extern const struct field plan_backoff_fields[];

#endif
