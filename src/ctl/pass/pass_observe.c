#include "ctl/pass/pass_intern.h"

#include <string.h>

#include "core/model/claimed.h"
#include "core/model/network_policy.h"
#include "ctl/shared/device_view.h"
#include "ctl/shared/options.h"
#include "ctl/shared/time_zones.h"
#include "net/h2.h"
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
	/* An older reply is not used: the decision is made from the caches alone. */
	if (age_ms <= max_age_ms(pass))
		pass->basis_ms = pass->read_ms;
}

int64_t pass_observe_until_ms(const struct pass *pass)
{
	return pass->drain_accepted ? 0 : pass->basis_ms + max_age_ms(pass) + pass->spared_ms;
}

bool pass_observe_is_old(const struct pass *pass)
{
	int64_t until_ms = pass_observe_until_ms(pass);

	return until_ms > 0 && loop_boot_ms() > until_ms;
}

struct gpu_share_objects pass_objects(const struct pass *pass, const struct observation *view)
{
	return (struct gpu_share_objects){
		.cluster = pass->fresh_cluster ? pass->fresh_cluster : view->cluster,
		.pods = view->snapshot.pods,
		.pod_count = view->snapshot.pod_count,
	};
}

/* The text of the err, with the policy that may be its cause. */
static const char *ray_problem(struct pass *pass, const struct ray_cluster *cluster)
{
	const char *text = arena_strdup(&pass->arena, pass->ray_err.text); /* for pass_hold */

	if (cluster->closed_gcs_port == 0 ||
	    (!strstr(text, H2_NO_CONNECTION) && !strstr(text, H2_CANNOT_CONNECT)))
		return text;
	return arena_printf(
		&pass->arena,
		"%s; spec.networkPolicy closes port %lld of the head: add {from: " NETWORK_POLICY_FROM
		", ports: [{port: %lld}]} to its head.ingressRules",
		text, (long long)cluster->closed_gcs_port, (long long)cluster->closed_gcs_port);
}

/* The cache's list of Pods changes with the cache; its Pods live until the job has ended. */
static const struct pod *const *copy_list(const struct snapshot *view, struct arena *arena)
{
	const struct pod **pods = arena_array(arena, view->pod_count, sizeof(struct pod *));

	for (size_t i = 0; i < view->pod_count; i++)
		pods[i] = view->pods[i];
	return pods;
}

void pass_observe(struct pass *pass, struct pass_work *work)
{
	struct gpu_share_objects objects;
	const struct options *options = pass->config.control->options;
	struct observation *view = &work->view, *observation = &work->observation;
	struct snapshot *snapshot = &observation->snapshot;

	view->snapshot.pods = copy_list(&view->snapshot, &pass->arena);
	objects = pass_objects(pass, view);
	*observation = *view;
	snapshot->now = pass->now;
	observation->cluster = objects.cluster;
	if (pass->pods) {
		observation->verified = true;
		observation->fresh = pass->pods->list.at;
		observation->fresh_count = pass->pods->list.count;
	}
	snapshot->ray_state = pass->ray_state;
	snapshot->ray_problem = ray_problem(pass, objects.cluster);
	snapshot->ray_refused = pass->ray_err.kind == ERR_LIMIT || pass->ray_err.kind == ERR_MEMORY;
	/* A drained worker must be patched out even when the caches are stale. */
	if (pass->drain_accepted)
		snapshot->view_problem = "";
	snapshot->ray_note = pass->config.ray_note;
	snapshot->ray_state_time = pass->ray_state_time;
	observation->kv_requests = pass->kv_requests;
	observation->drains = pass->drains.at;
	observation->drain_count = pass->drains.count;
	observation->ray_drains = pass->ray_drains;
	observation->ray_drain_count = pass->ray_drain_count;
	snapshot->settings = options->settings;
	if (!pass->devices)
		pass->devices = device_view_hold(pass->config.control);
	snapshot->device_table = pass->devices ? pass->devices->table : options->device_table;
	snapshot->device_objects = pass->devices ? pass->devices->objects : NULL;
	snapshot->price_table = options->price_table;
	snapshot->memory = pass->config.memory;
	snapshot->pools = gpu_share_terms(pass->config.control->gpu_share, &objects, &pass->arena);
	snapshot->time_zones = time_zones_of(pass->config.control->time_zones,
					     view->snapshot.autoscaler, pass->now, &pass->arena,
					     &snapshot->time_zone_count);
	snapshot->cluster_work = pass->work_read ? &pass->cluster_work : NULL;
	snapshot->cpu_budget = &work->budget;
}

size_t pass_observe_bytes(const struct pass *pass, const struct pass_work *work)
{
	size_t bytes = work->observation.bytes + pass->arena.used_bytes +
		       pass->ray_arena.used_bytes + pass->kv_arena.used_bytes +
		       (pass->pods ? pass->pods->arena.used_bytes : 0);

	for (size_t i = 0; i < PASS_WORK_LISTS; i++)
		bytes += pass->work_arenas[i].used_bytes;
	/* The devices of all tenants: without a claim none of them is read. */
	if (pass->devices && claimed_by_cluster(work->observation.cluster))
		bytes += pass->devices->arena.used_bytes;
	return bytes;
}
