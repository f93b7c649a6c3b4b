/* The placements of a packing, for --debug: worker names and indices as received. Must not be used
 * to decide. */
#ifndef CORE_REPORT_PLACEMENT_H
#define CORE_REPORT_PLACEMENT_H

#include "core/decide/situation.h"

void placement_write(struct situation *situation);

#endif
