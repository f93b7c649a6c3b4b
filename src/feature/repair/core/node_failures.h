/* A Node on which the workers of a group keep failing: at least NODE_FAILURES_NAMED workers, and more than half of those
 * that failed in NODE_FAILURES_MS while the present head runs. It is named with its sign (repair_signal.h); without one
 * only while a worker of the group is registered on another Node: else the work, and not the Node, may be the cause. From
 * NODE_FAILURES_BACK_OFF on each further failure there makes the group back off (NodeFails): a launch would land there
 * again, and nothing is written to Nodes. Reads at most
 * WORKER_FAILURES_MAX of them. O(groups * failures + Nodes). */
#ifndef FEATURE_REPAIR_CORE_NODE_FAILURES_H
#define FEATURE_REPAIR_CORE_NODE_FAILURES_H

#include "core/decide/health.h"

#define NODE_FAILURES_MS (24 * 3600 * MS_PER_SECOND)
#define NODE_FAILURES_NAMED 2
#define NODE_FAILURES_BACK_OFF 3

/* Sets the cause of the groups. By group: where its workers fail, in words, or NULL; NULL: of none. */
const char **node_failures_assess(struct health *health);

#endif
