/* Shares scarce GPUs between RayClusters: from pools, workers and waiting units to grants, workers
 * to release early, one reservation for each pool, and busy workers to drain. Pure and without
 * memory: equal inputs give equal results, so a restart or a new leader changes nothing. All
 * amounts are GPUs in 1/10000 (RESOURCE_UNIT). Must not decide what a cluster asks for, and not
 * where a Pod runs.
 *
 * Order. Each step takes the next unit of one queue, which fits as a whole or is passed over:
 *   1. Guarantees: units that stay within their queue's guarantee; the lowest usage/guaranteed
 *      first.
 *   2. Borrowing: of the queues that still wait the highest priority, then the lowest share
 *      first. The share is the usage beyond the guarantee, divided by the weight; of a queue in
 *      several pools the largest one (dominant share), scaled to the pool's capacity.
 *   3. Lending: in the same order, work of queues from which the reservation is kept uses it, if
 *      drain_after_ms is less than reserve_at_most_ms. Nothing is released for it. Not if the
 *      reserved unit needs other pools too: work would end in this one, and it may not have the
 *      others.
 * Ties: the unit that waits longest, then the queue's name. Within a queue: priority of the unit,
 * units for which work waits before requested ones, waiting time, name of the cluster, order in the
 * input. A requested unit is in step 1 only if no such work of its queue waits for step 2. A unit in
 * its turn is
 *   granted   when it fits what is free now, or
 *   coming    when it fits as soon as workers have left: those that leave already, and those that
 *             are released for it here. The free GPUs that it will use stay free.
 *
 * Kept from borrowers, also while free: the part of a guarantee that is not lendable, the amount of
 * a unit within its guarantee that does not fit yet (its queue borrows nothing meanwhile), and the
 * reservation, of which the part that is kept for its queue anyway counts once. The reservation is
 * for a unit that has waited for at least reserve_after_ms, of the highest priority of a queue, then
 * for the longest time, if it would fit beside the guaranteed demand of the other queues, below its
 * maximum, and beside work that is older than reserve_at_most_ms. Its queue takes nothing else. It
 * is kept from queues of a lower priority, and from those of the same priority whose share is not
 * lower than that of its queue; these may use what is beyond it, and nothing is released for them.
 * So the usage of its queue falls until no other has a lower share, and from then on all GPUs that
 * borrowers free are collected: the unit is granted when their work has ended. One at a time, so
 * two gangs never hold half of the pool each. The caller bounds the time of reservations by
 * reserve_after_ms. In a queue at its maximum nothing passes a unit that has waited as long.
 *
 * Releases. An idle worker is released only if the unit then fits, and no more workers than that.
 * Its queue keeps at least its guarantee. For a unit within its guarantee any such worker is
 * released; otherwise one of a queue with a lower priority, or with the same priority
 *   - and a larger share than the unit's queue, if no demand needs the worker;
 *   - and, after the exchange, no smaller share than the unit's queue, if demand needs it
 *     (request_resources holds idle workers). The smaller of two shares grows, and the queue that
 *     lost the worker cannot win it back: there are no loops.
 * Workers that no demand needs are also released for another cluster of the same queue, and for the
 * reservation; those that only a request needs for work of another cluster of the same queue. For
 * work this may be within the guarantee, which the work has then. Of the workers that demand needs
 * those of requests end first. A cluster that wins in this call loses nothing in it to a borrower,
 * or two gangs would exchange their halves. Busy workers are drained only of queues that allow it,
 * after all idle ones, lowest priority first, and only for a unit within its guarantee; those whose
 * work has begun since the reservation also for it, while their queue may use what is reserved.
 *
 * Why it differs from others (versions of 2026; sources: the projects' documents and the issues
 * named).
 *   Kueue     also compares usage above nominal, but preempts whole workloads; its fair sharing was
 *             seen to preempt in loops (kueue#3779, #7101, #14543). Here an exchange never inverts
 *             two shares. A unit keeps its place by since_ms, not by the creation time of an
 *             object.
 *   KAI       reclaims Pods without knowing which are idle. Here fairness is restored with idle
 *             workers alone; busy ones are drained for guarantees only, where their queue allows
 *             it.
 *   Volcano   counts a gang when a cluster starts; workers added later are loose Pods. Here each
 *             added replica, slice or gang is one unit.
 *   YuniKorn  also preempts only up to guarantees, and warns of storms (YUNIKORN-2761). Here only
 *             workers that make a unit fit end, and those that leave already count first.
 *
 * Limits. A cluster that always has new work for its workers keeps them busy; without a drain they
 * are not freed. A queue with a lower priority waits as long as higher ones ask. A unit that needs
 * GPUs that the guarantees of others use waits until those ask for less. A reservation is an
 * amount: on which Nodes it becomes free is up to the work that ends.
 *
 * Cost: O((Q + U + W) log(Q + U + W)) for Q queues, U units and W workers of a pool, O(Q) for each
 * release that is tried, and the calls of `places`. */
#ifndef CORE_SHARE_SHARE_H
#define CORE_SHARE_SHARE_H

#include "core/share/share_pool.h"

/* One result for each pool. */
struct share_result *share(const struct share_pool *pools, size_t count, struct arena *arena);

#endif
