#include "sim/suspend.h"

#include <string.h>

#include "sim/controller.h"
#include "sim/kuberay.h"

void suspend_init(struct sim_ray *ray)
{
	const struct labels *own = &ray->cluster.annotations;
	struct label *labels = arena_array(ray->world->arena, own->count + 1, sizeof(*labels));
	struct label *all = arena_array(ray->world->arena, own->count + 1, sizeof(*all));
	size_t count = 0;

	for (size_t i = 0; i < own->count; i++)
		if (strcmp(own->at[i].key, ANNOTATION_SUSPENDED) != 0)
			all[count] = labels[count] = own->at[i], count++;
	all[count] = (struct label){ ANNOTATION_SUSPENDED, "simulated" };
	ray->running_notes = (struct labels){ labels, count };
	ray->suspended_notes = labels_sort(all, count + 1);
}

bool suspend_is_set(const struct sim_ray *ray)
{
	return ray->cluster.idle_termination ||
	       (ray->input->autoscaler && ray->input->autoscaler->idle_termination);
}

static void set_suspended(struct sim_ray *ray, bool suspended)
{
	ray->cluster.suspend = suspended;
	ray->cluster.annotations = suspended ? ray->suspended_notes : ray->running_notes;
	ray->world->result->suspensions += suspended;
	kuberay_wake(ray);
	controller_changed(ray);
}

void suspend_submitted(struct sim_ray *ray)
{
	if (ray->cluster.suspend && labels_value(&ray->cluster.annotations, ANNOTATION_SUSPENDED))
		set_suspended(ray, false);
}

void suspend_follow(struct sim_ray *ray, const struct plan *plan)
{
	enum idle_action action = plan->idle ? plan->idle->action : IDLE_ACTION_NONE;

	if (action == IDLE_ACTION_END_SUSPEND || action == IDLE_ACTION_END_DELETE)
		set_suspended(ray, true);
	else if (action == IDLE_ACTION_RESUME)
		set_suspended(ray, false);
}

bool suspend_has_ray(const struct sim_ray *ray)
{
	for (size_t i = 0; i < ray->workers.count; i++)
		if (ray->workers.at[i]->type == 0)
			return ray->workers.at[i]->state == SIM_WORKER_REGISTERED;
	return false;
}
