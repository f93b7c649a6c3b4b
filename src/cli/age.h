/* Spans of time in the tables of commands. */
#ifndef CLI_AGE_H
#define CLI_AGE_H

#include <stdint.h>

#include "base/arena.h"

/* "41s", "3m10s", "2h5m", "4d3h": whole seconds; negative ones count as 0. */
const char *age_text(struct arena *arena, int64_t seconds);

#endif
