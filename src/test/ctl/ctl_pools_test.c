/* GPUs shared between clusters, here by the quotas of the flags: what is granted, and that no GPU is
 * allocated twice. */
#include "feature/pools/ctl/pools.h"

#include <string.h>

#include "base/memory.h"
#include "ctl/report/metrics.h"
#include "ctl/shared/options.h"
#include "ctl/watch/inventory_watch.h"
#include "net/loop.h"
#include "test/support/loop_wait.h"
#include "test/support/support.h"

#define UNITS(n) ((int64_t)(n)*RESOURCE_UNIT)
#define CLUSTERS 3
#define WAIT_MS 20000

static const struct quantity limits[] = { { "cpu", "1", true, UNITS(1) },
					  { "nvidia.com/gpu", "1", true, UNITS(1) } };

/* Content of the caches: clusters a/0, a/1 and b/2 with one group of one GPU per worker. */
static struct world {
	struct container container;
	struct worker_group groups[CLUSTERS];
	struct ray_cluster clusters[CLUSTERS];
	bool there[CLUSTERS], unreadable[CLUSTERS], large[CLUSTERS];
	int woken[CLUSTERS];
	const struct gpu_pool *gpu_pool;    /* NULL: only the flags */
	const struct inventory_list *nodes; /* NULL: not known */
	int64_t interval_ms;
	int64_t allocated_ms; /* of the last allocation, monotonic */
	int allocations;
	struct options options;
	struct control control;
	struct pools *pools;
	struct gpu_share share;
	struct arena arena;
	const char *in_kueue; /* uid of the RayCluster with a Workload; NULL: none */
} world;

static const char *const names[CLUSTERS] = { "0", "1", "2" };

static void look(void *context, const char *namespace_, const char *name,
		 struct gpu_share_objects *ret_objects, bool *ret_unreadable)
{
	size_t i = (size_t)(name[0] - '0');

	(void)context;
	assert_string_equal(namespace_, world.clusters[i].namespace_);
	if (world.there[i] && !world.unreadable[i])
		ret_objects->cluster = &world.clusters[i];
	*ret_unreadable = world.unreadable[i];
}

static bool in_kueue(void *context, const char *uid)
{
	(void)context;
	return world.in_kueue && strcmp(uid, world.in_kueue) == 0;
}

static bool is_large(void *context, const char *namespace_, const char *name)
{
	(void)context;
	(void)namespace_;
	return world.large[name[0] - '0'];
}

static const struct gpu_pool *const *list_pools(void *context, size_t *ret_count,
						const char **ret_problem)
{
	static const struct gpu_pool *list[1];

	(void)context;
	list[0] = world.gpu_pool;
	*ret_count = world.gpu_pool != NULL;
	*ret_problem = NULL;
	return list;
}

static const struct labels *namespace_labels(void *context, const char *namespace_)
{
	(void)context;
	(void)namespace_;
	return NULL;
}

static const struct inventory_list *list_nodes(void *context)
{
	(void)context;
	return world.nodes;
}

static const struct pod *next_pod(void *context, size_t *at)
{
	(void)context;
	(void)at;
	return NULL;
}

static void each(void *context, struct pools *pools)
{
	(void)context;
	for (size_t i = 0; i < CLUSTERS; i++)
		pools_ray_cluster_changed(pools, world.clusters[i].namespace_, names[i]);
}

static void wake(void *context, const char *namespace_, const char *name)
{
	(void)context;
	(void)namespace_;
	world.woken[name[0] - '0']++;
}

static void allocated(void *context, const struct pool_allocation *allocation, int64_t cpu_us)
{
	(void)context;
	(void)allocation;
	(void)cpu_us;
	world.allocations++;
	world.allocated_ms = loop_monotonic_ms(world.control.loop);
}

static void begin(int64_t total, int64_t per_namespace, int64_t settle_ms, int64_t lost_patch_ms)
{
	const struct pools_source source = { .pools = list_pools,
					     .namespace_labels = namespace_labels,
					     .each = each,
					     .look = look,
					     .wake = wake,
					     .nodes = list_nodes,
					     .large = is_large,
					     .in_kueue = in_kueue,
					     .next_pod = next_pod,
					     .allocated = allocated,
					     .interval_ms = world.interval_ms,
					     .settle_ms = settle_ms,
					     .lost_patch_ms = lost_patch_ms };

	world.options.max_gpus_total = total;
	world.options.max_gpus_per_namespace = per_namespace;
	world.options.kube_api_timeout_seconds = 0;
	world.pools = pools_new(&world.control, &source);
	world.share = (struct gpu_share){ &pools_hooks, world.pools };
	each(NULL, world.pools);
}

static int setup(void **state)
{
	(void)state;
	world = (struct world){ .arena = ARENA_INIT };
	world.container = (struct container){ .name = "ray", .image = "", .limits = { limits, 2 } };
	for (size_t i = 0; i < CLUSTERS; i++) {
		world.there[i] = true;
		world.groups[i] = (struct worker_group){
			.name = "gpu",
			.has_replicas = true,
			.max_replicas = 100,
			.num_of_hosts = 1,
			.template = { .spec = { .containers = &world.container,
						.container_count = 1 } },
			.scale_gate = "",
		};
		world.clusters[i] = (struct ray_cluster){
			.namespace_ = i < 2 ? "a" : "b",
			.name = names[i],
			.uid = "u",
			.ray_version = "",
			.managed_by = "",
			.enable_in_tree_autoscaling = true,
			.generation = 1,
			.groups = &world.groups[i],
			.group_count = 1,
		};
	}
	options_init(&world.options);
	world.control = (struct control){ .loop = loop_new(), .options = &world.options };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pools_free(world.pools);
	loop_free(world.control.loop);
	options_done(&world.options);
	arena_done(&world.arena);
	return 0;
}

/* A decision of the cluster, which asks for so many workers of one GPU. */
static void asks(size_t i, int64_t count)
{
	const struct gpu_share_objects objects = { .cluster = &world.clusters[i] };
	struct plan_group group = { .name = "gpu" };
	struct pool_ask_part part = { .group = 0, .replicas = 1 };
	struct pool_ask ask = { .parts = { .at = &part, .count = 1 }, .count = count };
	struct plan plan = { .groups = { .at = &group, .count = 1 },
			     .asks = { .at = &ask, .count = count > 0 } };

	(void)gpu_share_decided(&world.share, &objects, &plan, true, loop_wall(world.control.loop));
}

static const struct pool_grant *grant_of(const struct ray_cluster *cluster)
{
	const struct gpu_share_objects objects = { .cluster = cluster };
	const struct pool_terms *terms = gpu_share_terms(&world.share, &objects, &world.arena);

	assert_non_null(terms);
	assert_int_equal(terms->grant_count, 1);
	assert_string_equal(terms->grants[0].group, "gpu");
	return &terms->grants[0];
}

/* The grant of a cluster that alone asks for as much as it gets. */
static int64_t budget(size_t i)
{
	int64_t granted;

	asks(i, 100);
	granted = grant_of(&world.clusters[i])->replicas;
	asks(i, 0);
	return UNITS(granted);
}

/* Why it is granted no more. */
static const char *ceiling(size_t i)
{
	const char *message;

	asks(i, 100);
	message = grant_of(&world.clusters[i])->message;
	asks(i, 0);
	return message;
}

/* The quotas allow a patch to so many replicas. */
static bool fits(size_t i, int64_t replicas)
{
	const struct gpu_share_objects objects = { .cluster = &world.clusters[i] };
	struct plan_group group = { .replicas = world.groups[i].replicas,
				    .patch_replicas = replicas };
	struct plan plan = { .groups = { .at = &group, .count = 1 } };

	return gpu_share_fits(&world.share, &objects, &plan);
}

/* Sends a patch to that many replicas. */
static void sends(size_t i, int64_t replicas)
{
	const struct gpu_share_objects objects = { .cluster = &world.clusters[i] };
	struct plan_group group = { .replicas = world.groups[i].replicas,
				    .patch_replicas = replicas };
	struct plan plan = { .groups = { .at = &group, .count = 1 } };

	gpu_share_sent(&world.share, &objects, &plan);
}

static void answered(size_t i, enum err_kind kind, int64_t generation)
{
	const struct err err = { .kind = kind };

	gpu_share_answered(&world.share, world.clusters[i].namespace_, names[i], kind ? &err : NULL,
			   generation);
}

/* The caches learn of a change. */
static void becomes(size_t i, int64_t replicas)
{
	world.groups[i].replicas = replicas;
	world.clusters[i].generation++;
	pools_ray_cluster_changed(world.pools, world.clusters[i].namespace_, names[i]);
}

static void test_without_quota_nothing_is_shared(void **state)
{
	const struct gpu_share_objects objects = { .cluster = &world.clusters[0] };
	size_t count;

	(void)state;
	begin(0, 0, 0, 60000);
	assert_null(gpu_share_terms(&world.share, &objects, &world.arena));
	assert_null(gpu_share_terms(NULL, &objects, &world.arena));
	assert_true(fits(0, 100));
	(void)gpu_share_figures(&world.share, &world.arena, &count);
	assert_int_equal(count, 0);
	(void)gpu_share_figures(NULL, &world.arena, &count);
	assert_int_equal(count, 0);
}

static void test_what_others_have_is_gone(void **state)
{
	(void)state;
	world.groups[1].replicas = 3;
	begin(8, 0, 0, 60000);
	assert_int_equal(budget(0), UNITS(5));
	assert_int_equal(budget(1), UNITS(5));
	becomes(2, 7);
	assert_int_equal(budget(0), 0);
	assert_string_equal(ceiling(0), "max-gpus-total 8 allows no more");
	becomes(2, 1);
	assert_int_equal(budget(0), UNITS(4));
}

static void test_the_smallest_wins(void **state)
{
	(void)state;
	world.groups[1].replicas = 2;
	world.groups[2].replicas = 5;
	begin(8, 4, 0, 60000);
	assert_int_equal(budget(0), UNITS(1));
	assert_string_equal(ceiling(0), "max-gpus-total 8 allows no more");
	assert_int_equal(budget(2), 0);
	assert_string_equal(ceiling(2), "max-gpus-per-namespace 4 allows no more");
	becomes(2, 1);
	assert_int_equal(budget(0), UNITS(2));
	assert_string_equal(ceiling(0), "max-gpus-per-namespace 4 allows no more");
}

/* Two clusters that ask at once: each is granted its own part, and patches beyond it do not fit. */
static void test_grants_are_disjoint(void **state)
{
	(void)state;
	begin(8, 0, 0, 60000);
	asks(0, 6);
	asks(1, 6);
	assert_int_equal(grant_of(&world.clusters[0])->replicas, 6);
	assert_int_equal(grant_of(&world.clusters[1])->replicas, 2);
	assert_true(fits(0, 6));
	assert_false(fits(0, 7));
	assert_true(fits(1, 2));
	assert_false(fits(1, 3));
	sends(0, 6);
	assert_false(fits(0, 6)); /* its grant is used */
	assert_true(fits(1, 2));
	assert_true(fits(1, 0)); /* adds nothing */
}

/* A namespace for each queue: the smaller one is served first. */
static void test_namespaces_share_alike(void **state)
{
	(void)state;
	begin(8, 0, 0, 60000);
	asks(0, 8);
	asks(1, 8);
	asks(2, 8);
	assert_int_equal(grant_of(&world.clusters[0])->replicas, 4);
	assert_int_equal(grant_of(&world.clusters[1])->replicas, 0);
	assert_int_equal(grant_of(&world.clusters[2])->replicas, 4);
	assert_true(world.woken[0] > 0);
}

/* Newer objects than the caches: what the patch adds is counted from them. */
static void test_a_patch_on_newer_objects(void **state)
{
	struct worker_group group;
	struct ray_cluster newer;
	const struct gpu_share_objects objects = { .cluster = &newer };
	struct plan_group planned = { .replicas = 3, .patch_replicas = 8 };
	const struct plan plan = { .groups = { .at = &planned, .count = 1 } };

	(void)state;
	begin(8, 0, 0, 60000);
	asks(0, 5);
	group = world.groups[0];
	group.replicas = 3;
	newer = world.clusters[0];
	newer.groups = &group;
	assert_true(gpu_share_fits(&world.share, &objects, &plan));
	planned.patch_replicas = 9;
	assert_false(gpu_share_fits(&world.share, &objects, &plan));
}

/* The terms are those of the last allocation: a patch has used them, and the report of the next decision has an
 * allocation. */
static void test_terms_make_no_allocation(void **state)
{
	int before;

	(void)state;
	begin(8, 0, 0, 60000);
	asks(0, 2);
	sends(0, 1);
	answered(0, ERR_NONE, 2);
	becomes(0, 1);
	before = world.allocations;
	assert_int_equal(grant_of(&world.clusters[0])->replicas, 0);
	assert_int_equal(world.allocations, before);
	asks(0, 1);
	assert_int_equal(world.allocations, before + 1);
	assert_int_equal(grant_of(&world.clusters[0])->replicas, 1);
}

/* The caches replace and free an object while no allocation may be made yet. */
static void test_terms_after_the_cluster_was_replaced(void **state)
{
	char name[] = "gpu";
	const struct gpu_share_objects objects = { .cluster = &world.clusters[0] };
	const struct pool_terms *terms;

	(void)state;
	world.interval_ms = 3600000;
	world.groups[0].name = name;
	begin(8, 0, 0, 60000);
	asks(0, 2);
	assert_int_equal(grant_of(&world.clusters[0])->replicas, 2);
	memcpy(name, "---", 3);
	world.groups[0].name = "other";
	pools_ray_cluster_changed(world.pools, "a", "0");
	terms = gpu_share_terms(&world.share, &objects, &world.arena);
	assert_string_equal(terms->grants[0].group, "other");
	assert_int_equal(terms->grants[0].replicas, 0);
}

static bool is_allocated(void *context)
{
	return world.allocations > *(const int *)context;
}

/* While nothing waits, what is held changes no grant: an allocation for it would only delay the next ask. */
static void test_holdings_are_not_urgent_while_nothing_waits(void **state)
{
	int before;
	int64_t at_ms;

	(void)state;
	world.interval_ms = 10;
	begin(8, 0, 0, 60000);
	asks(0, 2);
	before = world.allocations;
	at_ms = world.allocated_ms;
	becomes(1, 3);
	assert_true(loop_wait_until(world.control.loop, is_allocated, &before, WAIT_MS));
	assert_true(world.allocated_ms - at_ms >= 1000);
}

/* Two decisions in one loop iteration. */
static void test_a_patch_under_way_is_counted(void **state)
{
	(void)state;
	begin(8, 0, 0, 60000);
	assert_int_equal(budget(0), UNITS(8));
	sends(0, 8);
	assert_int_equal(budget(1), 0);
	assert_int_equal(budget(0), 0);
	answered(0, ERR_NONE, 2);
	assert_int_equal(budget(1), 0);
	/* An older version arrives late: the accepted patch is newer. */
	pools_ray_cluster_changed(world.pools, "a", "0");
	assert_int_equal(budget(1), 0);
	becomes(0, 8);
	assert_int_equal(budget(1), 0);
	becomes(0, 6);
	assert_int_equal(budget(1), UNITS(2));
}

static void test_the_cache_is_quicker_than_the_answer(void **state)
{
	(void)state;
	begin(8, 0, 0, 60000);
	sends(0, 5);
	becomes(0, 5);
	assert_int_equal(budget(1), UNITS(3));
	answered(0, ERR_NONE, 2);
	becomes(0, 1);
	assert_int_equal(budget(1), UNITS(7));
}

static void test_a_refusal_frees(void **state)
{
	static const enum err_kind refusals[] = { ERR_CONFLICT, ERR_DENIED, ERR_NOT_FOUND,
						  ERR_INPUT };

	(void)state;
	begin(8, 0, 0, 60000);
	for (size_t i = 0; i < SUPPORT_COUNT(refusals); i++) {
		sends(0, 8);
		assert_int_equal(budget(1), 0);
		answered(0, refusals[i], 0);
		assert_int_equal(budget(1), UNITS(8));
	}
}

static bool is_free(void *context)
{
	(void)context;
	return budget(1) == UNITS(8);
}

/* It may have taken effect, and may do so for a while: also after another patch was refused. */
static void test_a_lost_patch_is_held_for_its_time(void **state)
{
	(void)state;
	begin(8, 0, 0, 300);
	sends(0, 8);
	answered(0, ERR_TIMEOUT, 0);
	assert_int_equal(budget(1), 0);
	sends(0, 2);
	answered(0, ERR_CONFLICT, 0);
	assert_int_equal(budget(1), 0);
	assert_true(loop_wait_until(world.control.loop, is_free, NULL, WAIT_MS));
}

static bool is_later(void *context)
{
	return loop_monotonic_ms(world.control.loop) > *(const int64_t *)context;
}

/* The watch sends nothing for longer than a patch without an answer is held. */
static void test_an_accepted_patch_is_held_until_it_shows(void **state)
{
	int64_t until_ms;

	(void)state;
	begin(8, 0, 0, 1);
	sends(0, 8);
	answered(0, ERR_NONE, 2);
	until_ms = loop_monotonic_ms(world.control.loop) + 50;
	assert_true(loop_wait_until(world.control.loop, is_later, &until_ms, WAIT_MS));
	assert_int_equal(budget(1), 0);
	/* Deleted and recreated: its generations start again. */
	world.clusters[0].uid = "v";
	pools_ray_cluster_changed(world.pools, "a", "0");
	assert_true(loop_wait_until(world.control.loop, is_free, NULL, WAIT_MS));
}

/* The pass ended while its patch was under way: no answer will arrive. */
static void test_a_patch_without_a_caller(void **state)
{
	(void)state;
	begin(8, 0, 0, 300);
	sends(0, 8);
	sends(0, 1);
	answered(0, ERR_NONE, 2);
	becomes(0, 1);
	assert_int_equal(budget(1), 0);
	becomes(0, 0);
	assert_true(loop_wait_until(world.control.loop, is_free, NULL, WAIT_MS));
}

/* The caches show the last patch of the previous process before anything is added. */
static void test_after_a_start_it_settles(void **state)
{
	(void)state;
	begin(8, 0, 200, 60000);
	assert_int_equal(budget(1), 0);
	assert_true(loop_wait_until(world.control.loop, is_free, NULL, WAIT_MS));
}

static void test_gone_clusters_count_nothing(void **state)
{
	size_t figures;

	(void)state;
	world.groups[0].replicas = world.groups[2].replicas = 3;
	begin(8, 6, 0, 60000);
	assert_int_equal(budget(1), UNITS(2));
	world.there[0] = world.there[2] = false;
	pools_ray_cluster_changed(world.pools, "a", "0");
	pools_ray_cluster_changed(world.pools, "b", "2");
	assert_int_equal(budget(1), UNITS(6));
	(void)gpu_share_figures(&world.share, &world.arena, &figures);
	assert_int_equal(figures, 2); /* total, and namespace a */
}

/* The cluster exists: its count is kept although it cannot be read. */
static void test_an_unreadable_cluster_keeps_its_count(void **state)
{
	(void)state;
	world.groups[0].replicas = 3;
	begin(8, 0, 0, 60000);
	assert_int_equal(budget(1), UNITS(5));
	world.unreadable[0] = true;
	pools_ray_cluster_changed(world.pools, "a", "0");
	assert_int_equal(budget(1), UNITS(5));
}

/* A gang of four that has two of its replicas asks for two, and for four when these have ended. */
static void test_a_gang_that_loses_replicas_asks_for_them(void **state)
{
	const struct gpu_share_objects objects = { .cluster = &world.clusters[0] };
	struct plan_group group = { .name = "gpu" };
	struct pool_ask_part part = { .replicas = 2, .there = 2 };
	struct pool_ask ask = { .parts = { .at = &part, .count = 1 }, .count = 1, .gang = true };
	struct plan plan = { .groups = { .at = &group, .count = 1 },
			     .asks = { .at = &ask, .count = 1 } };

	(void)state;
	begin(8, 0, 0, 60000);
	(void)gpu_share_decided(&world.share, &objects, &plan, true, loop_wall(world.control.loop));
	assert_int_equal(grant_of(&world.clusters[0])->replicas, 2);
	part = (struct pool_ask_part){ .replicas = 4 };
	(void)gpu_share_decided(&world.share, &objects, &plan, true, loop_wall(world.control.loop));
	assert_int_equal(grant_of(&world.clusters[0])->replicas, 4);
}

/* The first cluster launches, the second one waits for 100 s, and the first one's workers end. */
static void test_workers_that_were_never_busy_cost_the_next_grant(void **state)
{
	static const struct gpu_pool pool = { .name = "p",
					      .uid = "",
					      .resource_version = "",
					      .groups = { .accelerator_type = "",
							  .resource_name = "" },
					      .has_gpus = true,
					      .gpus = UNITS(2),
					      .busy_after_seconds = GPU_POOL_NEVER };
	int64_t later_ms;

	(void)state;
	world.gpu_pool = &pool;
	world.groups[0].replicas = 2;
	begin(0, 0, 0, 60000);
	asks(0, 1);
	asks(0, 0);
	asks(1, 1);
	assert_int_equal(grant_of(&world.clusters[1])->replicas, 0);
	later_ms = loop_monotonic_ms(world.control.loop) + 100000;
	assert_true(loop_wait_until(world.control.loop, is_later, &later_ms, 200000));
	becomes(0, 0);
	asks(1, 2);
	assert_int_equal(grant_of(&world.clusters[1])->replicas, 2);
	asks(1, 0);
	asks(0, 1);
	assert_int_equal(grant_of(&world.clusters[0])->replicas, 0);
	assert_non_null(strstr(grant_of(&world.clusters[0])->message, "were never busy"));
}

static bool is_derived(void *context)
{
	return pools_derived(world.pools) == *(const size_t *)context;
}

static void wait_for_groups(size_t derived)
{
	world.woken[0] = 0;
	assert_true(loop_wait_until(world.control.loop, is_derived, &derived, WAIT_MS));
}

/* The templates of a large RayCluster are read once for each generation, never on the loop: until a thread has
 * done so, nothing is granted to it, its idle workers stay, and it counts as one that cannot be read. */
static void test_a_large_cluster_is_read_off_the_loop(void **state)
{
	(void)state;
	world.large[0] = true;
	begin(8, 0, 0, 60000);
	assert_int_equal(budget(1), UNITS(8));
	assert_int_equal(budget(0), UNITS(0));
	assert_true(grant_of(&world.clusters[0])->collects);
	assert_false(fits(0, 1));
	assert_true(fits(0, 0));
	wait_for_groups(CLUSTERS);
	assert_int_equal(world.woken[0], 1);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(budget(0), UNITS(8));
		assert_true(fits(0, 0));
	}
	assert_int_equal(pools_derived(world.pools), CLUSTERS);
	becomes(0, 3);
	assert_int_equal(budget(1), UNITS(8)); /* its last amount */
	assert_int_equal(budget(0), UNITS(0));
	wait_for_groups(CLUSTERS + 1);
	assert_int_equal(budget(1), UNITS(5));
	assert_int_equal(pools_derived(world.pools), CLUSTERS + 1);
	world.clusters[0].resource_version = "2"; /* of its status, or its labels */
	pools_ray_cluster_changed(world.pools, "a", "0");
	assert_int_equal(budget(0), UNITS(5));
	assert_int_equal(pools_derived(world.pools), CLUSTERS + 1);
}

/* All that is kept of pools, RayClusters, asks and patches: they come, change and end. */
static void one_round(const struct gpu_pool *pool)
{
	int before;

	world.gpu_pool = pool;
	pools_changed(world.pools);
	for (size_t i = 0; i < CLUSTERS; i++) {
		world.there[i] = true;
		becomes(i, 0);
	}
	wait_for_groups(CLUSTERS);
	for (size_t i = 0; i < CLUSTERS; i++) {
		asks(i, 2);
		(void)grant_of(&world.clusters[i]);
		sends(i, 1);
		answered(i, i == 1 ? ERR_CONFLICT : ERR_NONE, world.clusters[i].generation + 1);
		becomes(i, 1);
		asks(i, 1);
	}
	wait_for_groups(2 * CLUSTERS);
	for (size_t i = 0; i < CLUSTERS; i++) {
		world.there[i] = false;
		becomes(i, 0);
	}
	before = world.allocations;
	assert_true(loop_wait_until(world.control.loop, is_allocated, &before, WAIT_MS));
	world.gpu_pool = NULL;
	pools_changed(world.pools);
	arena_done(&world.arena);
}

static bool is_as_before(void *context)
{
	return memory_heap_bytes() <= *(const size_t *)context;
}

static void test_memory_after_many_rounds(void **state)
{
	static const struct gpu_pool pool = { .name = "p",
					      .uid = "",
					      .resource_version = "",
					      .groups = { .accelerator_type = "",
							  .resource_name = "" },
					      .has_gpus = true,
					      .gpus = UNITS(5),
					      .busy_after_seconds = GPU_POOL_NEVER };
	size_t before = 0;

	(void)state;
	world.large[0] = true;
	begin(0, 0, 0, 60000);
	for (int round = 0; round < 40; round++) {
		one_round(&pool);
		if (round == 5)
			before = memory_heap_bytes();
	}
	if (!loop_wait_until(world.control.loop, is_as_before, &before, WAIT_MS))
		fail_msg("%zu bytes, then %zu", before, memory_heap_bytes());
}

static void admit_by_kueue(size_t i)
{
	static struct label label = { "kueue.x-k8s.io/queue-name", "local" };

	world.clusters[i].labels = (struct labels){ &label, 1 };
}

static void test_kueue_and_a_quota(void **state)
{
	(void)state;
	admit_by_kueue(0);
	begin(2, 0, 0, 60000);
	assert_int_equal(budget(0), UNITS(2));
	assert_true(fits(0, 0));
	assert_false(fits(0, 3));
}

/* A RayCluster of Kueue draws from no GPUPool, and what it holds is not there for others. */
static void test_kueue_and_a_gpu_pool(void **state)
{
	static const struct gpu_pool pool = { .name = "p",
					      .uid = "",
					      .resource_version = "",
					      .groups = { .accelerator_type = "",
							  .resource_name = "" },
					      .has_gpus = true,
					      .gpus = UNITS(5),
					      .busy_after_seconds = GPU_POOL_NEVER,
					      .kueue_outside = true };
	const struct gpu_share_objects objects = { .cluster = &world.clusters[0] };

	(void)state;
	admit_by_kueue(0);
	world.groups[0].replicas = 3;
	world.gpu_pool = &pool;
	begin(0, 0, 0, 60000);
	assert_non_null(
		gpu_share_terms(&world.share, &objects, &world.arena)); /* the label alone */
	world.in_kueue = world.clusters[0].uid = "of-kueue";
	pools_ray_cluster_changed(world.pools, world.clusters[0].namespace_, names[0]);
	assert_null(gpu_share_terms(&world.share, &objects, &world.arena));
	assert_true(fits(0, 4));
	assert_int_equal(budget(2), UNITS(2));
}

/* Pods that come and go change what is free on a Node that was listed once. */
static void test_pods_take_and_leave_a_node(void **state)
{
	static const struct gpu_pool pool = { .name = "p",
					      .uid = "",
					      .resource_version = "",
					      .groups = { .accelerator_type = "",
							  .resource_name = "" },
					      .busy_after_seconds = GPU_POOL_NEVER };
	static const struct quantity cpu[] = { { "cpu", "1", true, UNITS(1) } };
	static const struct quantity all[] = { { "cpu", "4", true, UNITS(4) },
					       { "nvidia.com/gpu", "8", true, UNITS(8) } };
	static const struct label labels[] = { { LABEL_CLUSTER, "2" } };
	const struct container container = { .name = "c", .image = "", .requests = { cpu, 1 } };
	const struct node node = { .name = "n", .resource_version = "", .allocatable = { all, 2 } };
	struct pod other = {
		.namespace_ = "b",
		.name = "other",
		.phase = "Running",
		.spec = { .containers = &container, .container_count = 1, .node_name = "n" }
	};
	struct pod head = other, waits, listed[2];
	const char *all_namespaces = world.options.namespace_;
	struct arena memory = ARENA_INIT;
	struct node lent = node;
	struct quantity *amounts;
	struct inventory_list list = { .nodes = &node, .node_count = 1, .version = 1 };

	(void)state;
	head.labels = (struct labels){ labels, 1 };
	waits = head;
	waits.spec.node_name = "";
	listed[0] = other;
	listed[1] = head;
	list.pods = listed;
	list.pod_count = 2;
	world.gpu_pool = &pool;
	world.nodes = &list;
	begin(0, 0, 0, 60000);
	assert_int_equal(budget(0), UNITS(3));
	pools_pod_changed(world.pools, NULL, &waits);
	assert_int_equal(budget(0), UNITS(3));
	pools_pod_changed(world.pools, &waits, &head);
	assert_int_equal(budget(0), UNITS(2));
	pools_pod_changed(world.pools, &head, NULL);
	assert_int_equal(budget(0), UNITS(3));
	/* The cache has no Pods of RayClusters of other namespaces. */
	world.options.namespace_ = "another";
	list.version++;
	assert_int_equal(budget(0), UNITS(2));
	world.options.namespace_ = all_namespaces;
	list.pod_count = 0;
	list.version++;
	assert_int_equal(budget(0), UNITS(4));
	/* A list is there until the loop turns. */
	lent.name = arena_strdup(&memory, "n");
	amounts = ARENA_COPY(&memory, all, 2);
	amounts[0].name = arena_strdup(&memory, "cpu");
	lent.allocatable.at = amounts;
	list.nodes = &lent;
	list.version++;
	assert_int_equal(budget(0), UNITS(4));
	arena_done(&memory);
	pools_pod_changed(world.pools, NULL, &head);
	assert_int_equal(budget(0), UNITS(3));
}

/* A place in the status ends when its RayCluster asks for nothing at first, or is not scaled. */
static void test_a_place_ends_with_the_first_decision(void **state)
{
	static const struct gpu_pool_waiting waiting[] = {
		{ .cluster = "a/1", .groups = "gpu*1", .gpus = UNITS(1), .count = 1, .since = 1000 },
		{ .cluster = "b/2", .groups = "gpu*1", .gpus = UNITS(1), .count = 1, .since = 1000 }
	};
	static const struct gpu_pool_status status = { .waiting_units = waiting,
						       .waiting_unit_count = 2 };
	static const struct gpu_pool pool = { .name = "p",
					      .uid = "",
					      .resource_version = "",
					      .groups = { .accelerator_type = "",
							  .resource_name = "" },
					      .has_gpus = true,
					      .gpus = UNITS(1),
					      .busy_after_seconds = GPU_POOL_NEVER,
					      .status = &status };

	(void)state;
	world.gpu_pool = &pool;
	world.clusters[2].suspend = true;
	begin(0, 0, 0, 60000);
	asks(1, 0);
	asks(0, 1);
	assert_int_equal(grant_of(&world.clusters[0])->replicas, 1);
	world.clusters[2].suspend = false;
	becomes(2, 0);
	asks(1, 1);
	assert_int_equal(grant_of(&world.clusters[0])->replicas, 1);
	asks(2, 1);
	assert_int_equal(grant_of(&world.clusters[0])->replicas, 1);
}

static void expect_metrics(const char *line)
{
	struct metrics *metrics = metrics_new(0);
	const struct metrics_now now = { .gpu_share = &world.share };
	AUTO(buf_done) struct buf text;

	buf_init(&text, 1 << 20);
	metrics_write(metrics, &now, &text);
	if (!strstr(buf_string(&text), line))
		fail_msg("no %s", line);
	metrics_free(metrics);
}

static bool has_all(void *context)
{
	(void)context;
	return grant_of(&world.clusters[2])->replicas == 4;
}

/* Asks of a cluster that is not scaled any more are no asks: another one has the GPUs at once, as after a restart. */
static void test_a_cluster_that_is_not_scaled_asks_for_nothing(void **state)
{
	static struct label unmanaged = { ANNOTATION_MANAGED, "false" };

	(void)state;
	for (int how = 0; how < 4; how++) {
		world.clusters[0].suspend = world.clusters[0].deleting = false;
		world.clusters[0].enable_in_tree_autoscaling = true;
		world.clusters[0].annotations.count = 0;
		begin(4, 0, 0, 0);
		asks(0, 3);
		assert_int_equal(grant_of(&world.clusters[0])->replicas, 3);
		asks(2, 4);
		assert_int_equal(grant_of(&world.clusters[2])->replicas, 2);
		world.clusters[0].suspend = how == 0;
		world.clusters[0].enable_in_tree_autoscaling = how != 1;
		world.clusters[0].annotations = (struct labels){ &unmanaged, how == 2 };
		world.clusters[0].deleting = how == 3;
		becomes(0, 0);
		asks(2, 4);
		assert_true(loop_wait_until(world.control.loop, has_all, NULL, WAIT_MS));
		pools_free(world.pools);
	}
	world.pools = NULL;
}

static void test_figures(void **state)
{
	const struct gpu_share_figure *figures;
	size_t count;

	(void)state;
	world.groups[1].replicas = 3;
	begin(8, 6, 0, 60000);
	(void)budget(2);
	sends(2, 2);
	figures = gpu_share_figures(&world.share, &world.arena, &count);
	assert_int_equal(count, 3);
	assert_string_equal(figures[0].scope, "total");
	assert_string_equal(figures[0].namespace_, "");
	assert_int_equal(figures[0].ceiling, UNITS(8));
	assert_int_equal(figures[0].counted, UNITS(5));
	assert_string_equal(figures[1].scope, "namespace");
	assert_string_equal(figures[1].namespace_, "a");
	assert_int_equal(figures[1].ceiling, UNITS(6));
	assert_int_equal(figures[1].counted, UNITS(3));
	assert_string_equal(figures[2].namespace_, "b");
	assert_int_equal(figures[2].counted, UNITS(2));
	expect_metrics("rayscaler_gpus_ceiling{scope=\"total\",namespace=\"\"} 8\n");
	expect_metrics("rayscaler_gpus_counted{scope=\"total\",namespace=\"\"} 5\n");
	expect_metrics("rayscaler_gpus_counted{scope=\"namespace\",namespace=\"a\"} 3\n");
}

/* Random clusters that ask for anything and send what is granted, with answers and caches in any
 * order: the total on the API server never exceeds the quota. */
static void test_law_never_above_the_ceiling(void **state)
{
	uint64_t random = 7;
	int64_t server[CLUSTERS] = { 0 };
	size_t sent = 0, launched = 0;

	(void)state;
	begin(20, 0, 0, 60000);
	for (int step = 0; step < 5000; step++) {
		size_t i = support_random_below(&random, CLUSTERS);
		int64_t sum = 0, wanted;

		asks(i, (int64_t)support_random_below(&random, 12));
		wanted = world.groups[i].replicas + grant_of(&world.clusters[i])->replicas;
		if (support_random_below(&random, 3) == 0)
			wanted = (int64_t)support_random_below(&random, (size_t)wanted + 1);
		if (!fits(i, wanted))
			continue;
		launched += wanted > world.groups[i].replicas;
		sends(i, wanted);
		sent++;
		switch (support_random_below(&random, 3)) {
		case 0: /* refused */
			answered(i, ERR_CONFLICT, 0);
			break;
		case 1: /* done, the cache lags until later */
			server[i] = wanted;
			answered(i, ERR_NONE, world.clusters[i].generation + 1);
			(void)grant_of(&world.clusters[(i + 1) % CLUSTERS]);
			becomes(i, server[i]);
			break;
		default:
			server[i] = wanted;
			becomes(i, server[i]);
			answered(i, ERR_NONE, world.clusters[i].generation);
		}
		for (size_t c = 0; c < CLUSTERS; c++)
			sum += server[c];
		assert_in_range(sum, 0, 20);
	}
	assert_true(sent > 2000);
	assert_true(launched > 100); /* GPUs that are free again are launched again */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_without_quota_nothing_is_shared),
		TEST(test_what_others_have_is_gone),
		TEST(test_the_smallest_wins),
		TEST(test_grants_are_disjoint),
		TEST(test_namespaces_share_alike),
		TEST(test_a_patch_on_newer_objects),
		TEST(test_terms_make_no_allocation),
		TEST(test_terms_after_the_cluster_was_replaced),
		TEST(test_holdings_are_not_urgent_while_nothing_waits),
		TEST(test_a_patch_under_way_is_counted),
		TEST(test_the_cache_is_quicker_than_the_answer),
		TEST(test_a_refusal_frees),
		TEST(test_a_lost_patch_is_held_for_its_time),
		TEST(test_an_accepted_patch_is_held_until_it_shows),
		TEST(test_a_patch_without_a_caller),
		TEST(test_after_a_start_it_settles),
		TEST(test_gone_clusters_count_nothing),
		TEST(test_an_unreadable_cluster_keeps_its_count),
		TEST(test_a_gang_that_loses_replicas_asks_for_them),
		TEST(test_workers_that_were_never_busy_cost_the_next_grant),
		TEST(test_a_large_cluster_is_read_off_the_loop),
		TEST(test_memory_after_many_rounds),
		TEST(test_kueue_and_a_quota),
		TEST(test_kueue_and_a_gpu_pool),
		TEST(test_pods_take_and_leave_a_node),
		TEST(test_a_place_ends_with_the_first_decision),
		TEST(test_a_cluster_that_is_not_scaled_asks_for_nothing),
		TEST(test_figures),
		TEST(test_law_never_above_the_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
