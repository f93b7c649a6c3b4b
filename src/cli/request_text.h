/* Output of `request`: the annotation before and after, the groups that change for it, the workers
 * that are kept for it and its bundles that cannot be served. Pure; for people. */
#ifndef CLI_REQUEST_TEXT_H
#define CLI_REQUEST_TEXT_H

#include "base/buf.h"
#include "core/model/plan.h"

/* plan: the decision with the annotation as it will be. before, after: its text; NULL: none. */
void request_text_write(const struct plan *plan, const char *before, const char *after,
			struct buf *buf);

#endif
