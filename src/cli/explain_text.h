/* Output of `explain`: one decision with the placement of each pending bundle, why each worker is
 * kept or terminated, backoffs and conditions. Pure; for people, the form may change. */
#ifndef CLI_EXPLAIN_TEXT_H
#define CLI_EXPLAIN_TEXT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "core/model/plan.h"
#include "core/model/snapshot.h"

/* `source`: one line on where the decision is from. ERR_LIMIT at the buffer's ceiling. */
int explain_text_write(const struct snapshot *snapshot, const struct plan *plan, const char *source,
		       struct arena *arena, struct buf *buf, struct err *err);

#endif
