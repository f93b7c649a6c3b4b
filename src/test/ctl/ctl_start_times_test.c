/* Starts of Pods as their versions arrive, within the limits of a RayCluster and of all. */
#include "feature/record/ctl/start_times.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "feature/record/ctl/work_page.h"
#include "test/support/feature_alone.h"
#include "test/support/support.h"

#define CREATED INT64_C(1795168800000)

static struct start_times *times;
static struct arena arena;

static int setup(void **state)
{
	(void)state;
	times = alone_begin(&record_feature, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	alone_end();
	arena_done(&arena);
	return 0;
}

/* A Pod that became ready so many ms after its creation; -1: it is not. */
static const struct pod *pod_of(const char *cluster, const char *uid, int64_t ready_ms)
{
	static const struct container containers[] = { { .name = "w" } };
	static const struct container_status status = { .name = "w", .state = CONTAINER_RUNNING };
	struct label *labels = arena_array(&arena, 3, sizeof(*labels));
	struct condition *ready = ARENA_NEW(&arena, struct condition);
	struct pod *pod = ARENA_NEW(&arena, struct pod);

	labels[0] = (struct label){ LABEL_CLUSTER, arena_strdup(&arena, cluster) };
	labels[1] = (struct label){ LABEL_GROUP, "gpu" };
	labels[2] = (struct label){ LABEL_NODE_TYPE, "worker" };
	*ready = (struct condition){ .type = "Ready",
				     .status = ready_ms < 0 ? "False" : "True",
				     .last_transition = CREATED + ready_ms };
	*pod = pod_empty;
	pod->namespace_ = "ray";
	pod->name = pod->uid = arena_strdup(&arena, uid);
	pod->labels = (struct labels){ labels, 3 };
	pod->created = CREATED;
	pod->spec.containers = containers;
	pod->spec.container_count = 1;
	pod->container_statuses = &status;
	pod->container_status_count = 1;
	pod->conditions = ready;
	pod->condition_count = 1;
	return pod;
}

static size_t count_of(const char *cluster)
{
	size_t count;

	(void)start_times_of(times, "ray", cluster, &arena, &count);
	return count;
}

/* Also of a deleted Pod, and of one that was ready when the process began. */
static void test_pods_that_became_ready(void **state)
{
	const struct pod *waits = pod_of("a", "u1", -1), *ready = pod_of("a", "u1", 20000);
	const struct ray_work_start *starts;
	size_t count;

	(void)state;
	start_times_pod_changed(times, NULL, waits);
	assert_int_equal(count_of("a"), 0);
	start_times_pod_changed(times, waits, ready);
	start_times_pod_changed(times, ready, ready);
	start_times_pod_changed(times, ready, NULL);
	start_times_pod_changed(times, NULL, pod_of("a", "u2", 30000));
	starts = start_times_of(times, "ray", "a", &arena, &count);
	assert_int_equal(count, 2);
	assert_string_equal(starts[0].uid, "u1");
	assert_string_equal(starts[0].group, "gpu");
	assert_int_equal(starts[0].ms, 20000);
	assert_int_equal(starts[0].ready, CREATED + 20000);
	assert_int_equal(starts[1].ms, 30000);
	assert_int_equal(count_of("b"), 0);
}

static void test_an_interruption_is_no_start(void **state)
{
	const struct pod *waits = pod_of("a", "u1", -1);
	const struct ray_work_start *starts;
	size_t count;

	(void)state;
	start_times_pod_changed(times, waits, pod_of("a", "u1", 20000));
	start_times_pod_changed(times, waits, pod_of("a", "u1", 90000));
	starts = start_times_of(times, "ray", "a", &arena, &count);
	assert_int_equal(count, 1);
	assert_int_equal(starts[0].ms, 20000);
}

static void test_a_deleted_cluster_is_forgotten(void **state)
{
	(void)state;
	start_times_pod_changed(times, NULL, pod_of("a", "u1", 20000));
	start_times_ray_cluster_changed(times, "ray", "other", true);
	assert_int_equal(count_of("a"), 1);
	start_times_ray_cluster_changed(times, "ray", "a", true);
	assert_int_equal(count_of("a"), 0);
}

/* The newest of a RayCluster stay, and a full store keeps a place for each that has one. */
static void test_limits(void **state)
{
	const struct ray_work_start *starts;
	char cluster[20], uid[20];
	size_t count, kept = 0;

	(void)state;
	for (size_t c = 0; c <= START_TIMES_MAX / START_TIMES_OF_CLUSTER_MAX; c++) {
		(void)snprintf(cluster, sizeof(cluster), "c%zu", c);
		for (size_t i = 0; i < START_TIMES_OF_CLUSTER_MAX + 2; i++) {
			(void)snprintf(uid, sizeof(uid), "u%zu", i);
			start_times_pod_changed(times, NULL,
						pod_of(cluster, uid, 1000 + (int64_t)i));
		}
		kept += count_of(cluster);
	}
	assert_int_equal(kept, START_TIMES_MAX);
	starts = start_times_of(times, "ray", "c0", &arena, &count);
	assert_int_equal(count, START_TIMES_OF_CLUSTER_MAX);
	assert_int_equal(starts[0].ms, 1000 + START_TIMES_OF_CLUSTER_MAX);
	assert_int_equal(starts[1].ms, 1001 + START_TIMES_OF_CLUSTER_MAX);
	assert_int_equal(starts[2].ms, 1002);
	start_times_ray_cluster_changed(times, "ray", "c1", true);
	start_times_pod_changed(times, NULL, pod_of("late", "u", 5));
	assert_int_equal(count_of("late"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pods_that_became_ready, setup, teardown),
		cmocka_unit_test_setup_teardown(test_an_interruption_is_no_start, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_deleted_cluster_is_forgotten, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_limits, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
