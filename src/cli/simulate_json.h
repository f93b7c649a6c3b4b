/* The rows of `simulate` as JSON, with all figures. */
#ifndef CLI_SIMULATE_JSON_H
#define CLI_SIMULATE_JSON_H

#include "base/buf.h"
#include "cli/simulate_variant.h"

void simulate_json_write(const struct simulate_plan *plan, struct buf *buf);

#endif
