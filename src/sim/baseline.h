/* Baselines to compare with. Ray's own autoscaler (ray 2.60, autoscaler/v2): it sleeps for 5 s
 * after each pass (AUTOSCALER_UPDATE_INTERVAL_S; v2/monitor.py, _run), so that the time of a pass
 * adds to its interval. It packs as --packing=ray, which conformance tests compare with it, and drains
 * workers after the idle timeout; KubeRay gives it upscalingMode. The Pod of a drained worker is
 * deleted by the next pass, which finds the raylet dead (instance_manager/reconciler.py:
 * RAY_STOP_REQUESTED, RAY_STOPPED, TERMINATING). It does not react to changes of Pods, keeps a
 * launch until its Node comes, and has no fallback to another group, no start grace and no repair of
 * workers that do not register: decide() with these switched off. Simplified: its other instance
 * states are not copied. */
#ifndef SIM_BASELINE_H
#define SIM_BASELINE_H

#include "sim/world.h"

/* The settings of the policy of the input. */
struct settings baseline_settings(const struct sim_world *world, const struct settings *own);
/* Without schedules and idle termination by this object, which Ray has not; `own` may be NULL. */
const struct autoscaler_object *baseline_autoscaler(const struct sim_input *input,
						    const struct autoscaler_object *own,
						    struct arena *arena);
/* The annotation for in-place resize is followed. */
bool baseline_resizes(const struct sim_ray *ray);
int64_t baseline_interval_ms(const struct sim_input *input);
bool baseline_wakes(const struct sim_input *input); /* passes after changes of Pods */
/* The pass that drains a worker deletes its Pod. */
bool baseline_deletes_drained(const struct sim_input *input);
/* A copy of what the next decision remembers of the last one. */
const struct memory_state *baseline_memory(const struct sim_input *input,
					   const struct memory_state *memory, struct arena *arena);

#endif
