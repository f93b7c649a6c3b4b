/* The snapshot for decide(), as the controller of a simulated RayCluster sees it. Ray's report is
 * limited as the GCS limits it (ray 2.60: max_resource_shapes_per_load_report,
 * max_placement_group_load_report_size).
 *
 * The GCS asks each raylet once a second for its pending tasks and actors (ray 2.60: gcs_server.cc,
 * gcs_pull_resource_loads_period_milliseconds); placement groups are its own. At which moment of the
 * second is not known: here at half seconds, so that work that is submitted at a whole one is seen
 * after the mean time. */
#ifndef SIM_VIEW_H
#define SIM_VIEW_H

#include "sim/world.h"

#define VIEW_SHAPES_MAX 100
#define VIEW_GANGS_MAX 1000
#define VIEW_REPORT_MS 1000 /* between two reports of pending work, the first at half of it */

struct sim_view {
	struct snapshot snapshot;
	/* Whose work the entries of the snapshot are, by index. */
	struct sim_class **requests, **gangs;
};

/* Instances of the class that wait and have been reported. */
int64_t view_reported(const struct sim_class *class_);
/* The first report at this time or later. */
int64_t view_next_report_ms(int64_t now_ms);
/* Everything new lives in `arena`; the rest is the world's and must not change meanwhile. */
void view_make(struct sim_ray *ray, struct arena *arena, struct sim_view *view);

#endif
