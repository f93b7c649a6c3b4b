/* When a pass of a simulated controller runs (sim/controller.h), and which changes it has to see. */
#ifndef SIM_PASS_TIME_H
#define SIM_PASS_TIME_H

#include "sim/world.h"

/* matters: a decision may depend on it; else it only moves the times of the passes. */
void pass_time_pod_changed(struct sim_ray *ray, bool matters);
void pass_time_waiting_changed(struct sim_class *class_);
/* A Ray node, a request of resources, or a placement group that started. */
void pass_time_changed(struct sim_ray *ray);
/* Before a task of this class starts on it, and (NULL) after work on it ended: when it has more
 * room. */
void pass_time_work_changes(struct sim_worker *worker, const struct sim_class *starts);

/* Plans a pass, unless an earlier one is planned. */
void pass_time_plan(struct sim_ray *ray, int64_t at_ms);
/* The first regular pass at or after this time and now. */
int64_t pass_time_regular_ms(const struct sim_ray *ray, int64_t at_ms);
/* The plan may differ then although nothing else changes. */
void pass_time_add_due(struct sim_ray *ray, int64_t at_ms);

#endif
