/* Detects an ownership conflict: another writer (a GitOps tool, a RayJob, a user) reverts the
 * replicas that a patch set. Memory counts reverts in both directions: replicas below the launch or
 * below the existing workers, and replicas raised again after a lowering.
 *
 * From CONFLICT_REVERTS_MIN reverts on, the conflict is reported with the name of the field manager
 * that wrote the worker groups (verdict, decision_event), and patching becomes rarer. After reverted
 * raises, a back-off prevents further raises. After reverted lowerings, the group's idle timeout is
 * extended by the same time, and replicas above maxReplicas is left as it is. No launch is
 * cancelled and no worker is terminated because of a conflict. */
#ifndef CORE_DECIDE_CONFLICT_H
#define CORE_DECIDE_CONFLICT_H

#include "core/decide/choice.h"

#define CONFLICT_REVERTS_MIN 3 /* reverts from which on it is reported */

/* Needs workers; sets reverts, reverts_by, lowers_held and idle_timeout_ms of the groups, writes
 * MARK_REPLICA_CONFLICT and MARK_REPLICA_RAISE of the new memory. */
void conflict_update(struct health *health);
/* Records the patch for the next decision; needs target. Writes MARK_LOWERED of the new memory. */
void conflict_remember(struct choice *choice);

typedef const char *conflict_words(const struct facts *facts, const struct memory_mark *conflict);
/* "kubectl-edit set replicas of group g back 3 times: let one program own the field" */
conflict_words conflict_text;
/* "... raised replicas of group g again 3 times after ..." */
conflict_words conflict_raise_text;

#endif
