#include "ctl/pass_intern.h"

#include "ctl/options.h"
#include "net/loop.h"

static int64_t max_age_ms(const struct pass *pass)
{
	return pass->config.control->options->settings.state_max_age_seconds * MS_PER_SECOND;
}

void pass_observe_begin(struct pass *pass)
{
	int64_t boot_ms = loop_boot_ms(), age_ms = boot_ms - pass->read_ms;

	pass->now = loop_wall(pass->config.control->loop);
	pass->basis_ms = boot_ms;
	if (!pass->ray_state)
		return;
	pass->ray_state_time = pass->now - age_ms;
	/* An older reply counts as none: then it is decided on the caches alone. */
	if (age_ms <= max_age_ms(pass))
		pass->basis_ms = pass->read_ms;
}

int64_t pass_observe_until_ms(const struct pass *pass)
{
	return pass->drain_accepted ? 0 : pass->basis_ms + max_age_ms(pass);
}

bool pass_observe_is_old(const struct pass *pass)
{
	int64_t until_ms = pass_observe_until_ms(pass);

	return until_ms > 0 && loop_boot_ms() > until_ms;
}

struct fuse_objects pass_objects(const struct pass *pass, const struct pass_view *view)
{
	return (struct fuse_objects){
		.cluster = pass->fresh_cluster ? pass->fresh_cluster : view->cluster,
		.pods = pass->fresh_pods ? pass->fresh_pods : view->pods,
		.pod_count = pass->fresh_pods ? pass->fresh_pod_count : view->pod_count,
	};
}

void pass_observe(struct pass *pass, const struct pass_view *view, struct snapshot *ret_snapshot)
{
	struct fuse_objects objects = pass_objects(pass, view);
	struct fuse_budget budget;
	struct observation observation = {
		.now = pass->now,
		.cluster = objects.cluster,
		.pods = objects.pods,
		.pod_count = objects.pod_count,
		.ray_state = pass->ray_state,
		.ray_problem = pass->ray_err.text,
		/* Who has been drained must be patched out, whatever else is not known now. */
		.view_problem = pass->drain_accepted ? "" : view->stale,
		.ray_note = pass->config.ray_note,
		.ray_state_time = pass->ray_state_time,
		.kv_requests = pass->kv_requests,
		.drains = pass->drains.at,
		.drain_count = pass->drains.count,
		.events_known = view->events_known,
		.events = view->events,
		.event_count = view->event_count,
		.nodes_known = view->nodes_known,
		.nodes = view->nodes,
		.node_count = view->node_count,
		.other_pods_known = view->other_pods_known,
		.other_pods = view->other_pods,
		.other_pod_count = view->other_pod_count,
		.settings = &pass->config.control->options->settings,
		.device_table = pass->config.control->options->device_table,
		.memory_json = pass->config.memory_json,
		.autoscaler = view->autoscaler,
		.lint = view->lint,
		.gpu_budget = &budget,
	};

	fuse_budget(pass->config.control->fuse, &objects, &pass->arena, &budget);
	observe(&observation, &pass->arena, ret_snapshot);
}
