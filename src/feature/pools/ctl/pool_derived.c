#include "feature/pools/ctl/pool_derived.h"

#include <string.h>

#include "base/memory.h"
#include "ctl/shared/device_view.h"
#include "ctl/shared/memory_budgets.h"
#include "ctl/shared/options.h"
#include "feature/pools/codec/gpu_pool_json.h"
#include "net/work.h"

/* Reads a RayCluster that lives until it has ended (net/work.h), and copies of the GPUPools. */
struct derive_job {
	struct pool_derived *derived; /* which cancels it */
	struct pool_derived_source source;
	struct pool_member_input input;
	struct device_view *view;
	struct arena arena, result_arena;
	const struct pool_groups *result;
	struct work_job *job;
};

static struct pool_member_input input_of(const struct pool_derived_source *source,
					 const struct ray_cluster *cluster)
{
	return (struct pool_member_input){ .cluster = cluster,
					   .pools = source->pools,
					   .pool_count = source->pool_count,
					   .settings = &source->control->options->settings,
					   .devices = device_view_table(source->control) };
}

/* A generation may come twice, after a restored backup. */
static bool has_groups(const struct pool_groups *groups, const struct ray_cluster *cluster)
{
	if (groups->count != cluster->group_count)
		return false;
	for (size_t g = 0; g < groups->count; g++)
		if (strcmp(groups->list[g].name, cluster->groups[g].name) != 0)
			return false;
	return true;
}

static bool is_of(const struct pool_derived *derived, const struct pool_derived_source *source,
		  const struct ray_cluster *cluster)
{
	return derived->uid && strcmp(derived->uid, cluster->uid) == 0 &&
	       derived->generation == cluster->generation && derived->pools == source->version &&
	       (!derived->groups || has_groups(derived->groups, cluster));
}

static void cancel(struct pool_derived *derived)
{
	if (derived->job)
		work_cancel(derived->job->job);
	derived->job = NULL;
}

static void drop(struct pool_derived *derived, const struct pool_derived_source *source)
{
	arena_move(&derived->arena, NULL);
	if (derived->groups)
		source->replaced(source->context, derived->arena);
	derived->arena = ARENA_INIT;
	derived->groups = NULL;
}

static void keep(struct pool_derived *derived, const struct pool_derived_source *source,
		 struct arena arena, const struct pool_groups *groups)
{
	drop(derived, source);
	derived->arena = arena;
	derived->groups = groups;
	derived->made++;
	arena_move(&derived->arena, derived->budget);
}

static void run(void *context, const struct work_job *job UNUSED)
{
	struct derive_job *own = context;

	own->result = pool_groups_make(&own->input, &own->result_arena);
}

static void job_drop(void *context)
{
	struct derive_job *own = context;

	device_view_drop(own->view);
	arena_done(&own->arena);
	arena_done(&own->result_arena);
	memory_free(own);
}

static void done(void *context)
{
	struct derive_job *own = context;
	struct pool_derived_source source = own->source;

	own->derived->job = NULL;
	keep(own->derived, &source, own->result_arena, own->result);
	own->result_arena = ARENA_INIT;
	job_drop(own);
	source.made(source.context);
}

static void start(struct pool_derived *derived, const struct pool_derived_source *source,
		  const struct ray_cluster *cluster)
{
	static const struct work_functions functions = { run, done, job_drop };
	struct derive_job *job = memory_alloc(sizeof(*job));
	const struct gpu_pool **pools;

	cancel(derived);
	*job = (struct derive_job){ .derived = derived,
				    .source = *source,
				    .input = input_of(source, cluster),
				    .view = device_view_hold(source->control) };
	pools = arena_array(&job->arena, source->pool_count, sizeof(*pools));
	for (size_t p = 0; p < source->pool_count; p++)
		pools[p] = FIELD_COPY(gpu_pool_fields, source->pools[p], &job->arena);
	job->input.pools = pools;
	job->job = work_start(source->control->loop, &functions, job);
	derived->job = job;
}

static void derive(struct pool_derived *derived, const struct pool_derived_source *source,
		   const struct ray_cluster *cluster)
{
	const struct pool_member_input input = input_of(source, cluster);
	struct arena arena = ARENA_INIT;
	const struct pool_groups *groups;

	if (!source->small) {
		start(derived, source, cluster);
		return;
	}
	cancel(derived);
	groups = pool_groups_make(&input, &arena);
	keep(derived, source, arena, groups);
}

const struct pool_groups *pool_derived_update(struct pool_derived *derived,
					      const struct pool_derived_source *source,
					      const struct ray_cluster *cluster)
{
	uint64_t devices = device_view_number(source->control);

	if (is_of(derived, source, cluster) &&
	    (derived->job || (derived->devices == devices || !derived->groups->claims)))
		return derived->groups;
	if (!is_of(derived, source, cluster))
		drop(derived, source);
	if (!derived->budget && source->control->memory)
		derived->budget =
			budget_children_get(&source->control->memory->objects, cluster->namespace_);
	memory_set_string(&derived->uid, cluster->uid);
	derived->generation = cluster->generation;
	derived->pools = source->version;
	derived->devices = devices;
	derive(derived, source, cluster);
	return derived->groups;
}

const struct pool_groups *pool_derived_find(const struct pool_derived *derived,
					    const struct pool_derived_source *source,
					    const struct ray_cluster *cluster, struct arena *arena)
{
	const struct pool_member_input input = input_of(source, cluster);

	if (is_of(derived, source, cluster))
		return derived->groups;
	return source->small ? pool_groups_make(&input, arena) : NULL;
}

void pool_derived_done(struct pool_derived *derived, const struct pool_derived_source *source)
{
	cancel(derived);
	drop(derived, source);
	budget_free(derived->budget);
	memory_free(derived->uid);
}
