/* Where Ray places work, and the queue of work that waits. Source: ray 2.60,
 * src/ray/raylet/scheduling/policy/ (hybrid_scheduling_policy.cc, bundle_scheduling_policy.cc,
 * scorer.cc) and ray_config_def.h.
 * - Tasks and actors: nodes that have what the task needs, those without a GPU first if it needs
 *   none (scheduler_avoid_gpu_nodes). The score of a node is its highest use of CPU and memory,
 *   and 0 below half (scheduler_spread_threshold). The head, where drivers run, wins ties. Else
 *   the node is drawn from the fifth of all nodes with the lowest score, then the lowest id
 *   (scheduler_top_k_fraction).
 * - Bundles: the largest first; each on the node with the highest sum of free shares
 *   (LeastResourceScorer). PACK fills this node with further bundles before it takes the next one,
 *   SPREAD takes another node while there is one, STRICT_SPREAD always; STRICT_PACK needs one node
 *   for all. A group is placed as a whole or not at all.
 * - A request of up to one GPU is on one device, the fullest that has room.
 *
 * Simplified: Ray sees resources of other nodes up to 0.1 s late, keeps idle worker processes, and
 * retries placement groups in intervals. Among waiting work that fits, the oldest starts first.
 *
 * A worker that gets room is offered to each shape of waiting work, and new work to each worker:
 * the cost does not depend on how much work waits. */
#ifndef SIM_PLACE_H
#define SIM_PLACE_H

#include "sim/world.h"

/* Adds work to the queue of its class and starts what fits. */
void place_submit(struct sim_class *class_, size_t item, int64_t count);
/* SIM_EVENT_REPORT of the class. */
void place_reported(struct sim_class *class_);
/* Starts waiting work that fits now that this worker has more room. */
void place_on(struct sim_worker *worker);
/* Ends the run and frees its resources. */
void place_end(struct sim_run *run);
/* A drain of the worker with a deadline began: its work saves checkpoints, if it does so at all. */
void place_drained(struct sim_worker *worker);
/* The worker has ended: its runs stop everywhere and wait again, with their whole duration or what it
 * is after their checkpoint. */
void place_interrupt(struct sim_worker *worker);
/* All of a new worker is free. */
void place_reset(struct sim_worker *worker);

#endif
