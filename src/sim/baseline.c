#include "sim/baseline.h"

#include "sim/resize.h"

#define RAY_SLEEP_MS 5000
#define NEVER_SECONDS 31536000 /* the largest value of the settings */

struct settings baseline_settings(const struct sim_world *world, const struct settings *own)
{
	struct settings settings = *own;

	if (world->input->policy != SIM_POLICY_RAY_AUTOSCALER)
		return settings;
	settings.packing = PACKING_RAY;
	settings.node_provision_timeout_seconds = NEVER_SECONDS;
	settings.start_timeout_seconds = NEVER_SECONDS;
	settings.raylet_gone_seconds = NEVER_SECONDS;
	settings.unregistered_seconds = NEVER_SECONDS;
	settings.cancel_launch_seconds = NEVER_SECONDS;
	settings.stuck_demand_seconds = 86400;
	settings.keep_for_placement_groups = false;
	settings.max_starting_workers = 0;
	settings.max_gpus_per_cluster = 0;
	if (world->resizing)
		world->resizing->enable(&settings); /* where the cluster has the annotation */
	return settings;
}

const struct autoscaler_object *baseline_autoscaler(const struct sim_input *input,
						    const struct autoscaler_object *own,
						    struct arena *arena)
{
	if (input->policy != SIM_POLICY_RAY_AUTOSCALER || !own)
		return own;
	struct autoscaler_object *copy = ARENA_NEW(arena, struct autoscaler_object);
	*copy = *own;
	copy->schedule_count = 0;
	copy->idle_termination = NULL;
	return copy;
}

bool baseline_resizes(const struct sim_ray *ray)
{
	const struct sim_world *world = ray->world;
	struct settings settings = baseline_settings(world, ray->input->settings);

	return ray->input->cluster->resize && world->resizing &&
	       world->resizing->enabled(&settings);
}

int64_t baseline_interval_ms(const struct sim_input *input)
{
	return input->policy == SIM_POLICY_RAY_AUTOSCALER ?
		       RAY_SLEEP_MS + input->models.ray_pass_ms :
		       input->models.scan_interval_ms;
}

bool baseline_wakes(const struct sim_input *input)
{
	return input->policy != SIM_POLICY_RAY_AUTOSCALER;
}

bool baseline_deletes_drained(const struct sim_input *input)
{
	return input->policy != SIM_POLICY_RAY_AUTOSCALER;
}

/* Without the marks of the start grace there is none. */
const struct memory_state *baseline_memory(const struct sim_input *input,
					   const struct memory_state *memory, struct arena *arena)
{
	struct memory_state kept = *memory;

	if (input->policy != SIM_POLICY_RAY_AUTOSCALER)
		return memory_state_copy(memory, arena);
	kept.marks.at = NULL;
	kept.marks.count = kept.marks.capacity = 0;
	for (size_t i = 0; i < memory->marks.count; i++)
		if (memory->marks.at[i].kind != MARK_START_GRACE)
			VEC_PUSH(arena, &kept.marks, memory->marks.at[i]);
	return memory_state_copy(&kept, arena);
}

const char *sim_policy_name(enum sim_policy policy)
{
	static const char *const names[] = { "rayscaler", "ray", "always-on", "first-come",
					     "static" };

	return names[policy];
}
