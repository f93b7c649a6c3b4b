/* Output of `status -o json`, with stable names; docs/COMMANDS.md describes it. Pure. */
#ifndef CLI_STATUS_JSON_H
#define CLI_STATUS_JSON_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "cli/status_text.h"

/* Pretty JSON and a line end. A value that is unknown because Ray was not reached is null, never 0.
 * ERR_LIMIT at the buffer's ceiling. */
int status_json_write(const struct status_answer *answer, struct buf *buf, struct err *err);

#endif
