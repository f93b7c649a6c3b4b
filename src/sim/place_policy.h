/* The choice of a node for one task or one bundle; the rules are in sim/place.h. Reads the world and
 * draws from its random numbers. O(workers). */
#ifndef SIM_PLACE_POLICY_H
#define SIM_PLACE_POLICY_H

#include "sim/world.h"

/* The bundle fits what the worker has free, by amounts and single devices; the worker may be in any
 * state. */
bool policy_fits(const struct sim_bundle *bundle, const struct sim_worker *worker);
/* By amounts alone. */
bool policy_fits_amounts(const struct sim_bundle *bundle, const struct sim_worker *worker);
/* Some bundle of the class (all of them, with STRICT_PACK) fits the worker now. */
bool policy_can_use(const struct sim_class *class_, const struct sim_worker *worker);
/* The node for the task of a class; NULL: none fits. */
struct sim_worker *policy_node_of_task(struct sim_class *class_);
/* The node for a bundle: among the nodes that have the mark (marked) or that do not. */
struct sim_worker *policy_node_of_bundle(struct sim_ray *ray, const struct sim_bundle *bundle,
					 uint64_t mark, bool marked);

#endif
