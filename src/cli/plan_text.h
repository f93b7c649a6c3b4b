/* A plan as text for people: the groups with now and target, why, what goes, what is not served.
 * The form may change; programs read the JSON (codec/plan_json). */
#ifndef CLI_PLAN_TEXT_H
#define CLI_PLAN_TEXT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/plan.h"

/* Control characters in names and messages become "?". `debug` adds the placements. ERR_LIMIT at
 * the buffer's ceiling. */
int plan_text_write(const struct plan *plan, bool debug, struct buf *buf, struct err *err);

#endif
