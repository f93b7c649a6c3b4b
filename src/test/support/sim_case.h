/* Inputs of the simulator for tests and benches: RayClusters with worker groups, workloads. Header
 * only; everything lives in the arena of the case. */
#ifndef TEST_SUPPORT_SIM_CASE_H
#define TEST_SUPPORT_SIM_CASE_H

#include <string.h>

#include "sim/simulate.h"

struct sim_case {
	struct arena arena, result_arena;
	struct err err;
	struct sim_input input;
	struct workload workload;
	struct sim_cluster clusters[8];
	struct settings settings;
	VEC(struct work_item) items;
};

static inline struct quantities sim_case_limits(struct arena *arena, int64_t cpus, int64_t gpus)
{
	struct quantity *at = arena_array(arena, 2, sizeof(*at));

	at[0] = (struct quantity){ "cpu", arena_printf(arena, "%lld", (long long)cpus), true,
				   cpus * RESOURCE_UNIT };
	at[1] = (struct quantity){ "nvidia.com/gpu", arena_printf(arena, "%lld", (long long)gpus),
				   true, gpus * RESOURCE_UNIT };
	return (struct quantities){ at, gpus > 0 ? 2 : 1 };
}

static inline struct pod_template sim_case_template(struct arena *arena, int64_t cpus, int64_t gpus)
{
	struct container *container = ARENA_NEW(arena, struct container);

	*container = (struct container){ .name = "ray", .image = "ray" };
	container->limits = container->requests = sim_case_limits(arena, cpus, gpus);
	return (struct pod_template){ .spec = { .containers = container,
						.container_count = 1,
						.node_name = "",
						.restart_policy = "",
						.scheduler_name = "" } };
}

static inline struct worker_group sim_case_group(struct sim_case *c, const char *name, int64_t cpus,
						 int64_t gpus, int64_t max)
{
	return (struct worker_group){ .name = name,
				      .has_replicas = true,
				      .max_replicas = max,
				      .num_of_hosts = 1,
				      .scale_gate = "",
				      .template = sim_case_template(&c->arena, cpus, gpus) };
}

/* A RayCluster whose head runs no work. */
static inline struct ray_cluster *sim_case_cluster(struct sim_case *c, const char *name,
						   struct worker_group *groups, size_t count)
{
	struct ray_cluster *cluster = ARENA_NEW(&c->arena, struct ray_cluster);
	struct label *cpus = ARENA_NEW(&c->arena, struct label);
	struct worker_group *own = arena_array(&c->arena, count, sizeof(*own));

	memcpy(own, groups, count * sizeof(*own));
	*cpus = (struct label){ "num-cpus", "0" };
	*cluster = (struct ray_cluster){
		.api_version = "ray.io/v1",
		.namespace_ = "default",
		.name = name,
		.uid = "",
		.resource_version = "1",
		.enable_in_tree_autoscaling = true,
		.managed_by = "",
		.ray_version = "2.60.0",
		.upscaling_mode = "",
		.autoscaler_version = "",
		.auth_mode = "",
		.auth_secret_name = "",
		.head_start_params = { cpus, 1 },
		.head_template = sim_case_template(&c->arena, 2, 0),
		.groups = own,
		.group_count = count,
		.groups_manager = "",
		.head_pod_name = "",
		.head_pod_ip = "",
	};
	c->clusters[c->input.cluster_count++] = (struct sim_cluster){ .name = cluster->name,
								      .cluster = cluster,
								      .settings = &c->settings };
	return cluster;
}

static inline void sim_case_init(struct sim_case *c)
{
	*c = (struct sim_case){ .arena = ARENA_INIT, .result_arena = ARENA_INIT };
	settings_init(&c->settings);
	c->input.clusters = c->clusters;
	c->input.workload = &c->workload;
	c->input.devices = device_table_builtin();
	c->input.seed = 1;
	sim_models_init(&c->input.models);
	c->input.models.process_start_ms = 0; /* work starts where it is placed */
	c->input.models.ray_pass_ms = 0;
}

static inline void sim_case_done(struct sim_case *c)
{
	arena_done(&c->arena);
	arena_done(&c->result_arena);
}

/* {CPU, GPU}, in 1/10000. */
static inline const struct ray_request *sim_case_bundles(struct sim_case *c, int64_t cpu,
							 int64_t gpu, size_t count)
{
	struct ray_request *requests = arena_array(&c->arena, count, sizeof(*requests));
	struct bundle_entry *entries = arena_array(&c->arena, 2, sizeof(*entries));
	size_t used = 0;

	if (cpu > 0)
		entries[used++] = (struct bundle_entry){ "CPU", (double)cpu / RESOURCE_UNIT, cpu };
	if (gpu > 0)
		entries[used++] = (struct bundle_entry){ "GPU", (double)gpu / RESOURCE_UNIT, gpu };
	for (size_t i = 0; i < count; i++)
		requests[i] = (struct ray_request){ .bundle = entries, .bundle_count = used };
	return requests;
}

static inline struct work_item *sim_case_add(struct sim_case *c, int64_t submit_ms,
					     int64_t duration_ms, int64_t count,
					     const struct ray_request *bundles, size_t bundle_count)
{
	struct work_item *item = VEC_ADD(&c->arena, &c->items);

	*item = (struct work_item){ .kind = bundle_count > 1 ? WORK_PLACEMENT_GROUP : WORK_TASK,
				    .submit_ms = submit_ms,
				    .duration_ms = duration_ms,
				    .count = count,
				    .bundles = bundles,
				    .bundle_count = bundle_count,
				    .job = "",
				    .cluster = "" };
	return item;
}

/* NULL: c->err says why. */
static inline struct sim_result *sim_case_run(struct sim_case *c)
{
	c->workload = (struct workload){ .items = c->items.at, .count = c->items.count };
	return simulate(&c->input, &c->result_arena, &c->err);
}

#endif
