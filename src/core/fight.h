/* Notices that somebody sets replicas back after our patches (a GitOps tool, a RayJob, a user): below what
 * was launched, or below the workers that live. Counts in memory. From FIGHT_REVERTS_MIN on it is told
 * (verdict, notice), and a back-off holds every raise of the group's replicas: no endless patching. Nothing
 * is taken back for it, and what runs stays. */
#ifndef CORE_FIGHT_H
#define CORE_FIGHT_H

#include "core/situation.h"

#define FIGHT_REVERTS_MIN 3 /* from here on it is told */

/* Needs workers; sets reverts of the groups, writes replica_fights of the new memory. */
void fight_update(struct situation *situation);
/* "kubectl-edit set replicas of group g back 3 times: let one program own the field" */
const char *fight_text(const struct situation *situation, const struct memory_since *fight);

#endif
