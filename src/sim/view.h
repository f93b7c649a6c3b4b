/* The snapshot for decide(), as the controller of a simulated RayCluster sees it. Ray's report is
 * limited as the GCS limits it (ray 2.60: max_resource_shapes_per_load_report,
 * max_placement_group_load_report_size). */
#ifndef SIM_VIEW_H
#define SIM_VIEW_H

#include "sim/world.h"

#define VIEW_SHAPES_MAX 100
#define VIEW_GANGS_MAX 1000

struct sim_view {
	struct snapshot snapshot;
	/* Whose work the entries of the snapshot are, by index. */
	struct sim_class **requests, **gangs;
};

/* Everything new lives in `arena`; the rest is the world's and must not change meanwhile. */
void view_make(struct sim_ray *ray, struct arena *arena, struct sim_view *view);

#endif
