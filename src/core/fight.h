/* Notices that somebody sets replicas back after our patches (a GitOps tool, a RayJob). Counts in
 * memory; the condition is written by verdict. Changes no decision. */
#ifndef CORE_FIGHT_H
#define CORE_FIGHT_H

#include "core/situation.h"

#define FIGHT_REVERTS_MIN 3 /* from here on it is told */

/* Needs groups; writes replica_fights of the new memory. */
void fight_update(struct situation *situation);

#endif
