/* GPU pools in a decision (core/model/pool.h). The packing is made without their limits first: its
 * launches are what the RayCluster asks for. Where they exceed the grants, it is made again with the
 * grants as a limit, so that gangs stay whole and demand can use groups that are in no pool. */
#ifndef CORE_DECIDE_POOL_H
#define CORE_DECIDE_POOL_H

#include "core/decide/choice.h"

/* The launches of a choice without the limits of pools beyond minReplicas, in groups that draw from a
 * pool: units in the order of the packing, then replacements of disrupted workers, then warm workers.
 *
 * A unit is a replica, or all replicas for a gang; gangs with bundles on the same new replica each ask
 * for it, unless units before, none larger, have all of theirs. A gang is asked for as a whole also when a limit on starting workers admits a part of it now;
 * of other replicas those that this limit admits are asked for. */
struct pool_ask_list pool_ask(const struct choice *choice);
/* By group: the grants; INT64_MAX in no pool. */
int64_t *pool_grants(const struct choice *choice);
/* Whether the grants allow all of them. */
bool pool_is_granted(const struct choice *choice, const struct pool_ask_list *asks);
/* The offer with the grants as a limit. `choice`: the one without. */
const struct offer *pool_offer(const struct choice *choice);
/* The grants, reduced to the units in their order that they allow as a whole: for a packing that was
 * cut at its CPU budget, and so is not repeated. */
const int64_t *pool_most(const struct choice *choice, const struct pool_ask_list *asks);

#endif
