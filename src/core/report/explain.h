/* The words of a plan for groups: why a group changes.
 * Reads the finished situation; must not change what was decided. */
#ifndef CORE_REPORT_EXPLAIN_H
#define CORE_REPORT_EXPLAIN_H

#include "core/decide/situation.h"

/* Fills plan.groups (but for terminate). */
void explain_groups(struct situation *situation);

#endif
