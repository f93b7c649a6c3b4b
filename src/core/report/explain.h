/* The messages of a plan for groups: why a group changes. Reads the finished choice; must not
 * change the decision. */
#ifndef CORE_REPORT_EXPLAIN_H
#define CORE_REPORT_EXPLAIN_H

#include "core/decide/choice.h"

/* Fills plan.groups (except terminate). */
void explain_groups(const struct choice *choice, struct plan *plan);

#endif
