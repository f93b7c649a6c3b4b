/* Baselines to compare with. Ray's own autoscaler (ray 2.60, autoscaler/v2): it scales every 5 s
 * (AUTOSCALER_UPDATE_INTERVAL_S), packs as --packing=ray, which conformance tests compare with it,
 * and terminates workers after the idle timeout; KubeRay gives it upscalingMode. It does not react
 * to changes of Pods, keeps a launch until its Node comes, and has no fallback to another group, no
 * start grace and no repair of workers that do not register: decide() with these switched off.
 * Simplified: what it does beyond decide(), its instance states, is not copied. */
#ifndef SIM_BASELINE_H
#define SIM_BASELINE_H

#include "sim/world.h"

/* The settings of the policy of the input. */
struct settings baseline_settings(const struct sim_input *input, const struct settings *own);
int64_t baseline_interval_ms(const struct sim_input *input);
bool baseline_wakes(const struct sim_input *input); /* passes after changes of Pods */

#endif
