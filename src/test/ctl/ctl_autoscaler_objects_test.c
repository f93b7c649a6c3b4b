/* ctl/watch/autoscaler_objects and ctl/report/autoscaler_writer against an API server with one object. */
#include "core/report/autoscaler_status.h"
#include "test/support/autoscaler_scene.h"

/* On a cluster with this many replicas, of which at least `minimum` are wanted. */
static struct pass_decision *decision(int replicas, int minimum, const char *more)
{
	return decision_on(arena_printf(
		&arena,
		"spec: {%s headGroupSpec: {template: {spec: {containers: [{name: h}]}}}, "
		"workerGroupSpecs: [{groupName: g, replicas: %d, minReplicas: %d, template: {spec: "
		"{containers: [{name: w, resources: {limits: {cpu: 1}}}]}}}]}",
		more, replicas, minimum));
}

#define MANAGED "enableInTreeAutoscaling: true,"

static void decide_once(int replicas, int minimum)
{
	autoscaler_objects_decided(objects, decision(replicas, minimum, MANAGED));
}

/* Decides again and again, as the passes do, until the server and the cache have a status with this. */
static const char *awaited;
static int awaited_replicas, awaited_minimum;

static bool has_status(void *context)
{
	const struct autoscaler_object *object =
		autoscaler_objects_get(objects, "a", "demo", &arena);

	(void)context;
	decide_once(awaited_replicas, awaited_minimum);
	return object && strstr(object->status_text, awaited);
}

static void settle(int replicas, int minimum, const char *text)
{
	awaited = text;
	awaited_replicas = replicas;
	awaited_minimum = minimum;
	if (!loop_wait_until(script.loop, has_status, NULL, WAIT_MS))
		fail_msg("the status does not get %s", text);
}

static bool never(void *context)
{
	(void)context;
	decide_once(awaited_replicas, awaited_minimum);
	return false;
}

/* Passes continue for a while. */
static void rest(int64_t ms)
{
	(void)loop_wait_until(script.loop, never, NULL, ms);
}

static void test_made_and_declared_once(void **state)
{
	(void)state;
	start();
	assert_null(autoscaler_objects_get(objects, "a", "demo", &arena));
	settle(0, 0, "\"replicas\": 0");
	rest(1500);
	assert_int_equal(count_of(&store.creates), 1);
	assert_int_equal(count_of(&store.patches), 1);
	assert_non_null(strstr(store.created, "\"uid\": \"u-1\""));
	assert_null(strstr(store.created, "spec"));
	assert_non_null(strstr(store.patched, "\"resourceVersion\": \"11\""));
	assert_string_equal(
		store.paths,
		"POST /apis/rayscaler.dev/v1alpha1/namespaces/a/rayclusterautoscalers?"
		"fieldManager=rayscaler;"
		"PATCH /apis/rayscaler.dev/v1alpha1/namespaces/a/rayclusterautoscalers/demo/status?"
		"fieldManager=rayscaler;");
	/* The created object is reported once; our writes of its status are not. */
	assert_int_equal(changes, 1);
	settle(1, 0, "\"replicas\": 1");
	assert_int_equal(count_of(&store.patches), 2);
	assert_int_equal(changes, 1);
	/* After a restart nothing is written again: the object has the status already. */
	autoscaler_objects_forget(objects, "a", "demo");
	rest(1500);
	assert_int_equal(count_of(&store.patches), 2);
}

static bool is_renewed(void *context)
{
	const struct autoscaler_object *object =
		autoscaler_objects_get(objects, "a", "demo", &arena);
	const struct pass_decision *last = context;

	return object && object->status->decided_at > last->now - AUTOSCALER_RENEW_MAX_MS;
}

/* Decides every five seconds of the decisions' clock for an hour; returns the number of writes. */
static int patches_of_an_hour(void)
{
	int begin = count_of(&store.patches);

	for (time_ms end = later_ms + 3600 * MS_PER_SECOND; later_ms < end;
	     later_ms += 5 * MS_PER_SECOND) {
		struct pass_decision *made = decision(0, 0, MANAGED);

		autoscaler_objects_decided(objects, made);
		if (!loop_wait_until(script.loop, is_renewed, made, WAIT_MS))
			fail_msg("lastDecisionTime is not renewed");
	}
	return count_of(&store.patches) - begin;
}

/* The object of a cluster without changes shows that decisions are made, for few writes. */
static void test_decision_time_is_renewed(void **state)
{
	(void)state;
	start();
	settle(0, 0, "\"lastDecisionTime\": \"2026-11-20T10:00:00Z\"");
	/* A restart does not renew it. */
	autoscaler_objects_forget(objects, "a", "demo");
	later_ms = 200 * MS_PER_SECOND;
	rest(1500);
	assert_int_equal(count_of(&store.patches), 1);
	/* One write in 240 to 300 s. */
	assert_in_range(patches_of_an_hour(), 11, 15);
	/* Another write has the time of its decision. */
	later_ms = 4000 * MS_PER_SECOND;
	settle(1, 0, "\"replicas\": 1");
	assert_non_null(strstr(store.patched, "\"lastDecisionTime\": \"2026-11-20T11:06:40Z\""));
}

static bool has_second(void *context)
{
	const char *time = context;
	const struct autoscaler_object *object;
	bool found;

	decide_once(0, 0);
	found = autoscaler_objects_second(objects, "a", "demo");
	object = autoscaler_objects_get(objects, "a", "demo", &arena);
	return found || (object && strstr(object->status_text, time));
}

static void other_writes(const char *time)
{
	STORE({
		(void)snprintf(store.status, sizeof(store.status),
			       "{\"reason\": \"DemandRead\", \"message\": \"x\", \"controller\": "
			       "\"rayscaler-other_1\", \"lastDecisionTime\": \"%s\"}",
			       time);
		store.prunes = true;
		store.version++;
	});
	assert_true(loop_wait_until(script.loop, has_second, (void *)time, WAIT_MS));
}

/* The name in the status is not ours, and was written after this process had begun. */
static void test_a_second_controller_is_seen(void **state)
{
	(void)state;
	start();
	settle(0, 0, "\"replicas\": 0");
	assert_non_null(strstr(store.patched, "\"controller\": \""));
	assert_false(autoscaler_objects_second(objects, "a", "demo"));
	/* The leader before us; clocks differ. */
	other_writes("2026-11-20T09:59:00Z");
	assert_false(autoscaler_objects_second(objects, "a", "demo"));
	other_writes("2026-11-20T10:00:05Z");
	assert_false(autoscaler_objects_second(objects, "a", "demo"));
	other_writes("2026-11-20T10:00:11Z");
	assert_true(autoscaler_objects_second(objects, "a", "demo"));
	assert_false(autoscaler_objects_second(objects, "b", "demo"));
	assert_false(autoscaler_objects_second(NULL, "a", "demo"));
}

static bool tells_orphan(void *context)
{
	const struct autoscaler_object *object =
		autoscaler_objects_get(objects, "a", "demo", &arena);

	(void)context;
	return object && object->status->condition_count == 1 &&
	       !strcmp(object->status->message, "no RayCluster demo in a; did you mean demos?") &&
	       !strcmp(object->status->conditions[0].reason, "RayClusterMissing");
}

/* An object without a RayCluster says so once, and which name is close. */
static void test_an_object_without_a_cluster_says_so(void **state)
{
	(void)state;
	STORE(store.exists = store.orphan = true);
	start();
	assert_true(loop_wait_until(script.loop, tells_orphan, NULL, WAIT_MS));
	assert_non_null(strstr(store.patched, "\"schedules\": null"));
	(void)loop_wait_until(script.loop, is_false, NULL, 11000);
	assert_int_equal(count_of(&store.patches), 1);
	assert_int_equal(count_of(&store.creates), 0);
}

static bool tells_unreadable(void *context)
{
	const struct autoscaler_object *object =
		autoscaler_objects_get(objects, "a", "demo", &arena);

	(void)context;
	autoscaler_objects_decided(objects, decision_on("unreadable: 'spec.a: must be a string', "
							"spec: {enableInTreeAutoscaling: true}"));
	return object && strstr(object->status_text, "\"reason\": \"RayClusterUnreadable\"") &&
	       strstr(object->status_text, "spec.a: must be a string");
}

/* The object has the reason why nothing is scaled; a missing object is not created. */
static void test_an_unreadable_cluster_is_declared(void **state)
{
	(void)state;
	start();
	assert_false(loop_wait_until(script.loop, tells_unreadable, NULL, 300));
	assert_int_equal(count_of(&store.creates), 0);
	settle(0, 0, "\"replicas\": 0");
	assert_true(loop_wait_until(script.loop, tells_unreadable, NULL, WAIT_MS));
}

static void test_at_most_once_a_second(void **state)
{
	int64_t begin;

	(void)state;
	STORE(store.exists = true);
	start();
	settle(0, 0, "\"replicas\": 0");
	begin = loop_monotonic_ms(script.loop);
	for (int i = 1; i <= 20; i++) {
		awaited_replicas = i;
		rest(100);
	}
	assert_true(loop_monotonic_ms(script.loop) - begin >= 2000);
	assert_in_range(count_of(&store.patches), 2, 4);
	/* The last status is written, also without another decision. */
	settle(20, 0, "\"replicas\": 20");
}

static void test_conflict_is_tried_again(void **state)
{
	(void)state;
	STORE(store.exists = true; store.conflicts = 1);
	start();
	settle(0, 0, "\"replicas\": 0");
	assert_int_equal(count_of(&store.patches), 2);
}

/* A CRD older than the program prunes the status: no endless writes. */
static void test_a_server_that_keeps_nothing(void **state)
{
	(void)state;
	STORE(store.exists = store.prunes = true);
	start();
	rest(3500);
	assert_int_equal(count_of(&store.patches), 1);
}

/* The same with the definition before lastDecisionTime. */
static void test_a_server_that_drops_the_decision_time(void **state)
{
	(void)state;
	STORE(store.drops_time = true);
	start();
	settle(0, 0, "\"replicas\": 0");
	clock_start_ms = loop_monotonic_ms(script.loop);
	rest(3500);
	assert_int_equal(count_of(&store.patches), 1);
}

static void test_refused(void **state)
{
	(void)state;
	STORE(store.exists = true; store.patch_code = 403);
	start();
	rest(2500);
	assert_int_equal(count_of(&store.patches), 1);
}

/* Longer than it would wait by itself. */
static void test_retry_after_is_obeyed(void **state)
{
	int64_t begin;

	(void)state;
	STORE(store.exists = true; store.patch_code = 429);
	start();
	while (count_of(&store.patches) == 0)
		rest(10);
	begin = loop_monotonic_ms(script.loop);
	STORE(store.patch_code = 0);
	settle(0, 0, "\"replicas\": 0");
	assert_true(loop_monotonic_ms(script.loop) - begin >= 6900);
	assert_int_equal(count_of(&store.patches), 2);
}

static bool other_is_made(void *context)
{
	(void)context;
	return count_of(&store.others) > 0;
}

/* One cluster's 429 delays no other. */
static void test_retry_after_counts_for_its_cluster(void **state)
{
	(void)state;
	STORE({
		store.exists = true;
		store.patch_code = 429;
		store.retry_after_s = 60;
	});
	start();
	while (count_of(&store.patches) == 0)
		rest(10);
	decided_namespace = "b";
	decide_once(0, 0);
	assert_true(loop_wait_until(script.loop, other_is_made, NULL, WAIT_MS));
	assert_int_equal(count_of(&store.patches), 1);
}

static void test_without_definition(void **state)
{
	(void)state;
	STORE(store.undefined = true);
	start();
	rest(300);
	assert_null(autoscaler_objects_get(objects, "a", "demo", &arena));
	assert_string_equal(store.paths, "");
	/* A CRD that is installed later is found. */
	STORE(store.undefined = false);
	settle(0, 0, "\"replicas\": 0");
}

static void test_clusters_of_others_get_no_object(void **state)
{
	(void)state;
	start();
	for (int i = 0; i < 3; i++)
		autoscaler_objects_decided(objects, decision(0, 0, ""));
	autoscaler_objects_decided(objects, decision(0, 0, "managedBy: other, " MANAGED));
	(void)loop_wait_until(script.loop, is_false, NULL, 300);
	assert_string_equal(store.paths, "");
}

/* The object of an unmanaged cluster has the reason why nothing is done. */
static void test_an_object_of_an_unmanaged_cluster(void **state)
{
	const struct autoscaler_object *object;

	(void)state;
	STORE(store.exists = true);
	start();
	autoscaler_objects_decided(objects, decision(0, 0, ""));
	for (int i = 0; i < 500 && count_of(&store.patches) == 0; i++) {
		autoscaler_objects_decided(objects, decision(0, 0, ""));
		(void)loop_wait_until(script.loop, is_known, NULL, 10);
	}
	object = autoscaler_objects_get(objects, "a", "demo", &arena);
	assert_non_null(object);
	assert_non_null(strstr(store.patched, "AutoscalingDisabled"));
}

static void test_settings_wake_and_are_read(void **state)
{
	const struct autoscaler_object *object;

	(void)state;
	STORE({
		store.exists = true;
		(void)snprintf(store.spec, sizeof(store.spec),
			       "{\"paused\": true, \"maxGPUs\": 3}");
	});
	start();
	object = autoscaler_objects_get(objects, "a", "demo", &arena);
	assert_true(object->paused);
	assert_int_equal(object->max_gpus, 30000);
	assert_int_equal(changes, 1);
	settle(0, 0, "Paused");
	assert_int_equal(changes, 1);
	STORE({
		store.version++;
		store.generation = 2;
		(void)snprintf(store.spec, sizeof(store.spec), "{}");
	});
	settle(0, 0, "\"observedGeneration\": 2");
	assert_int_equal(changes, 2);
}

/* The user's settings cannot be read: no GPU is launched until they can. */
static void test_an_object_that_cannot_be_read(void **state)
{
	const struct autoscaler_object *object;

	(void)state;
	STORE({
		store.exists = true;
		(void)snprintf(store.spec, sizeof(store.spec), "{\"paused\": \"yes\"}");
	});
	start();
	object = autoscaler_objects_get(objects, "a", "demo", &arena);
	assert_true(object->has_max_gpus);
	assert_int_equal(object->max_gpus, 0);
	assert_int_equal(object->problems.count, 1);
	assert_non_null(strstr(object->problems.at[0], "autoscaler.spec.paused"));
	rest(300);
	assert_string_equal(store.paths, "");
}

static void test_what_a_patch_did_is_declared(void **state)
{
	(void)state;
	STORE(store.exists = true);
	start();
	/* A plan whose patch fails changes nothing. */
	settle(0, 2, "\"targetReplicas\": 2");
	assert_null(strstr(store.patched, "lastScale\":"));
	autoscaler_objects_patched(objects, "a", "demo");
	settle(2, 2, "\"lastScale\":");
	assert_non_null(strstr(store.patched, "\"from\": 0, \"to\": 2"));
	assert_non_null(strstr(store.patched, "\"lastScaleTime\": \"2026-11-20T10:00:00Z\""));
	/* It is remembered by the object alone. */
	autoscaler_objects_forget(objects, "a", "demo");
	settle(3, 2, "\"replicas\": 3");
	assert_non_null(strstr(store.patched, "\"from\": 0, \"to\": 2"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_made_and_declared_once),
		TEST(test_decision_time_is_renewed),
		TEST(test_a_second_controller_is_seen),
		TEST(test_an_object_without_a_cluster_says_so),
		TEST(test_an_unreadable_cluster_is_declared),
		TEST(test_at_most_once_a_second),
		TEST(test_conflict_is_tried_again),
		TEST(test_a_server_that_keeps_nothing),
		TEST(test_a_server_that_drops_the_decision_time),
		TEST(test_refused),
		TEST(test_retry_after_is_obeyed),
		TEST(test_retry_after_counts_for_its_cluster),
		TEST(test_without_definition),
		TEST(test_clusters_of_others_get_no_object),
		TEST(test_an_object_of_an_unmanaged_cluster),
		TEST(test_settings_wake_and_are_read),
		TEST(test_an_object_that_cannot_be_read),
		TEST(test_what_a_patch_did_is_declared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
