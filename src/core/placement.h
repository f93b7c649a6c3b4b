/* What was put where, for the reader of --debug: worker names and indices as received.
 * Must not be used to decide. */
#ifndef CORE_PLACEMENT_H
#define CORE_PLACEMENT_H

#include "core/situation.h"

void placement_write(struct situation *situation);

#endif
