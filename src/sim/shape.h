/* The needs of a shape of work on each type of worker, compiled once: then a fit costs a few
 * comparisons. The rules are Ray's (core/schedule has the same ones): the amount of every resource
 * of a bundle; label selectors in order, the first that matches counts. */
#ifndef SIM_SHAPE_H
#define SIM_SHAPE_H

#include "sim/world.h"

/* The resource whose single devices Ray tracks: GPU, else the first of its other accelerators
 * (ray 2.60: predefined_unit_instance_resources, custom_unit_instance_resources). */
void shape_find_devices(struct sim_type *type);
/* single_devices: Ray takes its amounts from single devices; not of a sum of bundles. */
void shape_make_bundle(struct sim_ray *ray, const struct ray_request *request, bool single_devices,
		       struct sim_bundle *bundle);
/* The order in which Ray places the bundles of a group (SortRequiredResources): by GPUs, memory, CPUs,
 * the largest first; equal ones keep their order. */
void shape_sort_bundles(struct sim_bundle *bundles, size_t count);
/* The sum of the item's bundles as one bundle, with the label selectors of the first. */
const struct sim_bundle *shape_whole(struct sim_ray *ray, const struct work_item *item);
/* The first group whose empty workers fit every bundle (all at once, with STRICT_PACK); SIZE_MAX: none. */
size_t shape_first_group(const struct sim_ray *ray, const struct sim_class *class_);

#endif
