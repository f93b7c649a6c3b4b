/* The relay: Kubernetes has announced the end of a worker in use (disruption.h, or its Pod is being
 * deleted), and Ray is notified with the deadline, so that its work can save a checkpoint. It is the
 * drain with which a pool reclaims a busy worker, and ends nothing: Ray places no more work there, and
 * Kubernetes kills the Pod. Hosts of a replica that are not in use are left out: their raylets would exit
 * at once, and the operator would delete the replica with its busy hosts.
 *
 * The deadline is the earliest time that is known: of the taint, or the deletionTimestamp. Ray is notified
 * once, and again when the deadline has changed. After a restart Ray's own list of drains has the deadline of a
 * planned end (ray_node.drain_deadline_ms). */
#ifndef CORE_DECIDE_RELAY_H
#define CORE_DECIDE_RELAY_H

#include "core/decide/choice.h"

/* After terminate_choose(): for the workers that it leaves. */
void relay_choose(struct choice *choice);
/* Ray is notified of its end with this plan. */
bool relay_is_notified(const struct choice *choice, const struct worker *worker);
/* Ray reports it in use: only then Ray is notified. */
bool relay_is_in_use(const struct worker *worker);

#endif
