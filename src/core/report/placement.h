/* The placements of a packing, for --debug: worker names and indices as received. Must not be used
 * to decide. */
#ifndef CORE_REPORT_PLACEMENT_H
#define CORE_REPORT_PLACEMENT_H

#include "core/decide/choice.h"

void placement_write(const struct choice *choice, struct plan *plan);

#endif
