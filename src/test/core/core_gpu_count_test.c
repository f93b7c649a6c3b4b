/* GPUs of a RayCluster under a GPU quota over several clusters. */
#include "core/capacity/gpu_count.h"

#include <string.h>

#include "test/support/support.h"

#define UNITS(n) ((int64_t)(n)*RESOURCE_UNIT)
#define PODS_MAX 8

static const struct quantity two_gpus[] = { { "cpu", "4", true, UNITS(4) },
					    { "nvidia.com/gpu", "2", true, UNITS(2) } };
static const struct quantity no_gpu[] = { { "cpu", "4", true, UNITS(4) } };

static const struct pod_owner own = { "ray.io/v1", "RayCluster", "demo", "u-1" };
static const struct pod_owner earlier = { "ray.io/v1", "RayCluster", "demo", "u-0" };
static const struct pod_owner replica_set = { "apps/v1", "ReplicaSet", "web", "u-1" };

/* A head without GPUs and one group of 2 GPUs, 1 to 5 replicas, 2 asked for. */
struct scene {
	struct arena arena;
	struct container head, worker;
	struct worker_group groups[2];
	struct ray_cluster cluster;
	struct pod pods[PODS_MAX];
	struct label labels[PODS_MAX][2];
	const struct pod *list[PODS_MAX];
	size_t pod_count;
	struct settings settings;
};

static void scene_init(struct scene *s)
{
	*s = (struct scene){ .arena = ARENA_INIT };
	s->head = (struct container){ .name = "head", .image = "", .limits = { no_gpu, 1 } };
	s->worker = (struct container){ .name = "ray", .image = "", .limits = { two_gpus, 2 } };
	s->groups[0] = (struct worker_group){
		.name = "gpu",
		.has_replicas = true,
		.replicas = 2,
		.min_replicas = 1,
		.max_replicas = 5,
		.num_of_hosts = 1,
		.template = { .spec = { .containers = &s->worker, .container_count = 1 } },
		.scale_gate = "",
	};
	s->cluster = (struct ray_cluster){
		.namespace_ = "a",
		.name = "demo",
		.uid = "u-1",
		.ray_version = "",
		.head_template = { .spec = { .containers = &s->head, .container_count = 1 } },
		.groups = s->groups,
		.group_count = 1,
	};
	settings_init(&s->settings);
}

static struct pod *add_pod(struct scene *s, const char *name, const char *type, const char *group)
{
	size_t i = s->pod_count++;

	s->labels[i][0] = (struct label){ LABEL_GROUP, group };
	s->labels[i][1] = (struct label){ LABEL_NODE_TYPE, type };
	s->pods[i] = (struct pod){
		.namespace_ = "a",
		.name = name,
		.labels = { s->labels[i], 2 },
		.phase = "Running",
		.owner = &own,
		.spec = { .containers = &s->worker, .container_count = 1 },
	};
	s->list[i] = &s->pods[i];
	return &s->pods[i];
}

static int64_t counted(struct scene *s, const int64_t *replicas)
{
	struct gpu_templates templates;
	struct gpu_holdings holdings;

	gpu_templates_make(&s->cluster, &s->settings, device_table_builtin(), &s->arena, &s->arena,
			   &templates);
	gpu_count(&s->cluster, &templates, s->list, s->pod_count, replicas, &s->settings,
		  device_table_builtin(), &s->arena, &holdings);
	return holdings.sum;
}

/* The same of the Pods alone: the RayCluster is deleted, or cannot be read. */
static int64_t counted_without_cluster(struct scene *s)
{
	struct gpu_holdings holdings;

	gpu_count(NULL, NULL, s->list, s->pod_count, NULL, &s->settings, device_table_builtin(),
		  &s->arena, &holdings);
	return holdings.sum;
}

static int setup(void **state)
{
	static struct scene scene;

	scene_init(&scene);
	*state = &scene;
	return 0;
}

static int teardown(void **state)
{
	arena_done(&((struct scene *)*state)->arena);
	return 0;
}

static void test_asked_for_or_there(void **state)
{
	struct scene *s = *state;

	assert_int_equal(counted(s, NULL), UNITS(4));
	for (int i = 0; i < 2; i++)
		add_pod(s, "w", "worker", "gpu");
	assert_int_equal(counted(s, NULL), UNITS(4));
	/* Lowered by hand; the Pods are still there. */
	s->groups[0].replicas = 0;
	assert_int_equal(counted(s, NULL), UNITS(4));
	add_pod(s, "w3", "worker", "gpu");
	assert_int_equal(counted(s, NULL), UNITS(6));
	s->pods[2].phase = "Failed";
	assert_int_equal(counted(s, NULL), UNITS(4));
}

static void test_replicas_are_bounded_as_the_operator_bounds_them(void **state)
{
	struct scene *s = *state;

	s->groups[0].replicas = 1000000;
	assert_int_equal(counted(s, NULL), UNITS(10));
	s->groups[0].replicas = 0;
	assert_int_equal(counted(s, NULL), UNITS(2));
	assert_int_equal(counted(s, (const int64_t[]){ 4 }), UNITS(8));
	s->groups[0].replicas = s->groups[0].max_replicas = INT32_MAX;
	s->groups[0].num_of_hosts = INT32_MAX;
	assert_int_equal(counted(s, NULL), INT64_MAX);
}

/* A terminated Pod holds its GPUs until it is deleted, and its successor counts already. */
static void test_pods_on_their_way_out_count_beside(void **state)
{
	struct scene *s = *state;
	const char *const names[] = { "w1" };

	add_pod(s, "w0", "worker", "gpu")->deleting = true;
	assert_int_equal(counted(s, NULL), UNITS(6));
	add_pod(s, "w1", "worker", "gpu");
	s->groups[0].workers_to_delete = (struct strings){ names, 1 };
	assert_int_equal(counted(s, NULL), UNITS(8));
}

static void test_what_is_suspended_counts_its_pods(void **state)
{
	struct scene *s = *state;

	add_pod(s, "w0", "worker", "gpu");
	s->groups[0].suspend = true;
	assert_int_equal(counted(s, NULL), UNITS(2));
	s->groups[0].suspend = false;
	s->cluster.suspend = true;
	assert_int_equal(counted(s, NULL), UNITS(2));
	s->cluster.suspend = false;
	s->cluster.deleting = true;
	s->pod_count = 0;
	assert_int_equal(counted(s, NULL), 0);
}

/* The template has whole GPUs and num-gpus is 0: 2 workers are 4 GPUs all the same. */
static void test_what_ray_is_not_declared_of_counts(void **state)
{
	struct scene *s = *state;
	const struct label none = { "num-gpus", "0" };

	s->groups[0].ray_start_params = (struct labels){ &none, 1 };
	assert_int_equal(counted(s, NULL), UNITS(4));
}

/* KubeRay does not recreate workers for an edited template: each Pod counts by its own spec. */
static void test_a_pod_counts_by_its_own_spec_after_an_edit(void **state)
{
	struct scene *s = *state;
	struct container eight = s->worker;
	const struct quantity of_eight[] = { { "cpu", "4", true, UNITS(4) },
					     { "nvidia.com/gpu", "8", true, UNITS(8) } };

	eight.limits = (struct quantities){ of_eight, 2 };
	add_pod(s, "w0", "worker", "gpu")->spec.containers = &eight;
	assert_int_equal(counted(s, NULL), UNITS(8 + 2));
	s->worker.limits = (struct quantities){ no_gpu, 1 };
	assert_int_equal(counted(s, NULL), UNITS(8));
}

static void test_replicas_of_several_hosts_are_whole(void **state)
{
	struct scene *s = *state;

	s->groups[0].num_of_hosts = 4;
	s->groups[0].replicas = 1;
	assert_int_equal(counted(s, NULL), UNITS(8));
	for (int i = 0; i < 5; i++)
		add_pod(s, "w", "worker", "gpu");
	assert_int_equal(counted(s, NULL), UNITS(16));
}

static void test_the_head_counts(void **state)
{
	struct scene *s = *state;

	s->head.limits = (struct quantities){ two_gpus, 2 };
	assert_int_equal(counted(s, NULL), UNITS(6));
	add_pod(s, "h", "head", "headgroup");
	assert_int_equal(counted(s, NULL), UNITS(6));
}

/* Pods without a group, and of a RayCluster that was deleted or cannot be read. */
static void test_pods_of_no_group_count_by_their_own_spec(void **state)
{
	struct scene *s = *state;

	add_pod(s, "w0", "worker", "removed");
	assert_int_equal(counted(s, NULL), UNITS(6));
	assert_int_equal(counted_without_cluster(s), UNITS(2));
	s->pod_count = 0;
	assert_int_equal(counted_without_cluster(s), 0);
}

/* Everybody who may create a Pod can give it the labels, an owner of another kind and any request. */
static void test_pods_of_others_do_not_count(void **state)
{
	static const char *const types[] = { "worker", "head", "redis-cleanup" };
	static const struct pod_owner *const owners[] = { NULL, &earlier, &replica_set };
	struct scene *s = *state;

	for (size_t t = 0; t < 3; t++)
		for (size_t i = 0; i < 3; i++) {
			s->pod_count = 0;
			add_pod(s, "w0", "worker", "gpu");
			add_pod(s, "p", types[t], "gpu")->owner = owners[i];
			add_pod(s, "q", types[t], "removed")->owner = owners[i];
			if (counted(s, NULL) != UNITS(4))
				fail_msg("type %s, owner %zu", types[t], i);
		}
	/* Of a cluster that is deleted, only the Pods that a RayCluster controls. */
	assert_int_equal(counted_without_cluster(s), UNITS(2));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_asked_for_or_there),
		TEST(test_replicas_are_bounded_as_the_operator_bounds_them),
		TEST(test_pods_on_their_way_out_count_beside),
		TEST(test_what_is_suspended_counts_its_pods),
		TEST(test_what_ray_is_not_declared_of_counts),
		TEST(test_a_pod_counts_by_its_own_spec_after_an_edit),
		TEST(test_replicas_of_several_hosts_are_whole),
		TEST(test_the_head_counts),
		TEST(test_pods_of_no_group_count_by_their_own_spec),
		TEST(test_pods_of_others_do_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
