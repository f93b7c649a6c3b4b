/* Notices that somebody sets replicas back after our patches (a GitOps tool, a RayJob, a user), and counts in
 * memory: below what was launched or below the workers that are there, and up again after it was lowered. From
 * FIGHT_REVERTS_MIN rounds on it is told, with the name of who wrote the worker groups (verdict, notice), and
 * there is no endless patching: after raises that were set back, a back-off holds every raise; after
 * lowerings that were, the group's idle timeout is longer by as much, and replicas above maxReplicas stays.
 * Nothing is taken back for it, and what runs stays. */
#ifndef CORE_DECIDE_FIGHT_H
#define CORE_DECIDE_FIGHT_H

#include "core/decide/situation.h"

#define FIGHT_REVERTS_MIN 3 /* from here on it is told */

/* Needs workers; sets reverts, reverts_by, lowers_held and idle_timeout_ms of the groups, writes
 * replica_fights and replica_raises of the new memory. */
void fight_update(struct situation *situation);
/* What the next decision has to know of the patch; needs target. Writes lowered of the new memory. */
void fight_remember(struct situation *situation);

typedef const char *fight_words(const struct situation *situation,
				const struct memory_since *fight);
/* "kubectl-edit set replicas of group g back 3 times: let one program own the field" */
fight_words fight_text;
/* "... raised replicas of group g again 3 times after ..." */
fight_words fight_raise_text;

#endif
