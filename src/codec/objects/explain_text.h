/* Output of `explain`: one decision with the placement of each pending bundle, why each worker is
 * kept or terminated, backoffs and conditions. The controller writes it into its answer of
 * /status/NAMESPACE/NAME. For people: the form may change. */
#ifndef CODEC_OBJECTS_EXPLAIN_TEXT_H
#define CODEC_OBJECTS_EXPLAIN_TEXT_H

#include "base/arena.h"
#include "base/buf.h"
#include "core/model/plan.h"
#include "core/model/snapshot.h"

void explain_text_write(const struct snapshot *snapshot, const struct plan *plan,
			struct arena *arena, struct buf *buf);

#endif
