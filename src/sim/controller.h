/* The controller of one RayCluster: when it runs a pass, and what a pass does. A pass runs
 * scan_interval_ms after the last one, and earlier, WAKE_MS after the last one, when a Pod or the
 * RayCluster changed (ctl/cluster.h, ctl/queue/poll_interval.h). It decides, drains, decides again
 * after an accepted drain, and patches (ctl/pass/pass.h); all of that takes no time here.
 *
 * Passes that cannot change anything are skipped; the others keep their times. A pass is needed when one
 * of these holds (every_pass of the input runs all of them, with the same result):
 * - a Pod, a Ray node, a replica number or a request of resources changed, except the steps in the
 *   life of a Pod that decisions count in advance;
 * - waiting work changed, unless the last pass served none of it, launched nothing, no worker was
 *   starting, and the shape waited then;
 * - work starts or ends on a worker that has room for waiting work by amounts, or that registered
 *   less than 17 s ago (start grace);
 * - the last plan says so: its next_change has come, or it acted or changed its memory;
 * - the idle timeout of a worker whose work ended since then has passed. */
#ifndef SIM_CONTROLLER_H
#define SIM_CONTROLLER_H

#include "sim/world.h"

void controller_start(struct sim_ray *ray);
void controller_pass(struct sim_ray *ray, uint64_t id); /* SIM_EVENT_PASS */
/* Nothing is left that a pass could change. */
bool controller_is_done(const struct sim_ray *ray);
/* A last decision, for the reasons of work that has not started. */
void controller_explain(struct sim_ray *ray);

#endif
