/* What the Nodes of the cluster say of Pods that wait for one, and of Pods about to be asked for: could
 * any Node hold them, or must a node autoscaler add one? Only in words: nothing is launched or left out
 * for it, because a node autoscaler may add Nodes that nobody sees yet.
 * Silent where the Nodes are not known (sidecar; the controller while none of its Pods is
 * Unschedulable: ctl/watch/room.h). */
#ifndef CORE_DECIDE_OUTLOOK_H
#define CORE_DECIDE_OUTLOOK_H

#include "core/decide/situation.h"

/* Of a Pod of the group that has no Node; of all such Pods of a group the first one is looked at. "" when
 * nothing is known, else a sentence. */
const char *outlook_of_pod(struct situation *situation, struct group *group, const struct pod *pod);
/* Of a new Pod, from the group's template: its Pod where one waits. */
const char *outlook_of_launch(struct situation *situation, struct group *group);

#endif
