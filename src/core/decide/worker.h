/* Combines the Pods of a snapshot and the nodes that Ray reports into one list of workers, in
 * canonical order, with the state of each. Reads the snapshot; sets workers and the counts of
 * groups. Must not decide what happens to a worker: that is terminate. */
#ifndef CORE_DECIDE_WORKER_H
#define CORE_DECIDE_WORKER_H

#include "core/decide/facts.h"

/* Needs groups, ray_reachable and head_node. A raylet that restarted in its Pod gives two nodes
 * with one instance id (T25): the living one counts. A node without a Pod is not a separate worker:
 * it and the replica without a Pod are one, counted by `missing`. */
void worker_join(struct facts *facts);

/* Ray reports its node as idle for longer than the timeout. */
bool worker_idle_passed(const struct facts *facts, const struct worker *worker, int64_t timeout_ms);

/* Why a worker whose Pod has ended or whose raylet is dead does not serve. */
enum reason worker_gone_reason(const struct worker *worker);

/* "2 nodes", "1 node". */
const char *worker_count_text(struct arena *arena, int64_t count, const char *singular);

#endif
