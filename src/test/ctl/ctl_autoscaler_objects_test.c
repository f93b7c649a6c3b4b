/* ctl/watch/autoscaler_objects and ctl/report/autoscaler_writer against an API server with one object. */
#include "ctl/watch/autoscaler_objects.h"

#include <stdlib.h>

#include "codec/objects/snapshot_json.h"
#include "core/decide.h"
#include "ctl/shared/options.h"
#include "kube/kube_informer.h"
#include "test/support/autoscaler_server.h"

static struct kube_script script;
static struct options options;
static struct control control;
static struct autoscaler_objects *objects;
static struct arena arena;
static int changes, knowns;
static const char *decided_namespace;

static void changed(void *context, const char *namespace_, const char *name)
{
	(void)context;
	assert_string_equal(namespace_, "a");
	assert_string_equal(name, "demo");
	changes++;
}

static void known(void *context)
{
	(void)context;
	knowns++;
}

static bool is_known(void *context)
{
	(void)context;
	return knowns > 0 && kube_informer_synced(control.ray_clusters);
}

static void start(void)
{
	const struct kube_informer_options clusters = { .type = &kube_type_ray_cluster };

	script_start(&script, store_request, &KUBE_CLIENT_OPTIONS_INIT);
	options_init(&options);
	control =
		(struct control){ .loop = script.loop, .kube = script.client, .options = &options };
	control.ray_clusters = kube_informer_new(script.client, &clusters);
	objects = autoscaler_objects_new(&control, &(struct autoscaler_objects_callbacks){
							   .changed = changed, .known = known });
	control.autoscalers = objects;
	assert_true(loop_wait_until(script.loop, is_known, NULL, WAIT_MS));
	assert_true(autoscaler_objects_known(objects));
}

static int setup(void **state)
{
	(void)state;
	store_reset();
	script = (struct kube_script){ .loop = NULL };
	arena = ARENA_INIT;
	changes = knowns = 0;
	decided_namespace = "a";
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	STORE(store.stop = true);
	autoscaler_objects_free(objects);
	kube_informer_free(control.ray_clusters);
	script_done(&script);
	options_done(&options);
	arena_done(&arena);
	return 0;
}

/* A decision on a cluster with these members. */
static struct pass_decision *decision_on(const char *members)
{
	const char *text = arena_printf(
		&arena,
		"{apiVersion: rayscaler.dev/v1alpha1, kind: Snapshot, now: '2026-11-20T10:00:00Z', "
		"rayCluster: {metadata: {namespace: %s, name: demo}, %s}}",
		decided_namespace, members);
	struct snapshot *snapshot = ARENA_NEW(&arena, struct snapshot);
	struct pass_decision *made = ARENA_NEW(&arena, struct pass_decision);
	struct err err;

	if (snapshot_read(text, strlen(text), &arena, snapshot, &err) < 0)
		fail_msg("%s", err.text);
	snapshot->autoscaler = autoscaler_objects_get(objects, decided_namespace, "demo");
	made->snapshot = snapshot;
	made->plan = decide(snapshot, &arena);
	made->summary = summary_of(snapshot, made->plan, &arena);
	made->now = snapshot->now;
	return made;
}

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

static int count_of(const int *slot)
{
	int value;

	STORE(value = *slot);
	return value;
}

/* Decides again and again, as the passes do, until the server and the cache have a status with this. */
static const char *awaited;
static int awaited_replicas, awaited_minimum;

static bool has_status(void *context)
{
	const struct autoscaler_object *object = autoscaler_objects_get(objects, "a", "demo");

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

static bool is_false(void *context)
{
	(void)context;
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
	assert_null(autoscaler_objects_get(objects, "a", "demo"));
	settle(0, 0, "\"replicas\":0");
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
	settle(1, 0, "\"replicas\":1");
	assert_int_equal(count_of(&store.patches), 2);
	assert_int_equal(changes, 1);
	/* After a restart nothing is written again: the object has the status already. */
	autoscaler_objects_forget(objects, "a", "demo");
	rest(1500);
	assert_int_equal(count_of(&store.patches), 2);
}

static bool tells_unreadable(void *context)
{
	const struct autoscaler_object *object = autoscaler_objects_get(objects, "a", "demo");

	(void)context;
	autoscaler_objects_decided(objects, decision_on("unreadable: 'spec.a: must be a string', "
							"spec: {enableInTreeAutoscaling: true}"));
	return object && strstr(object->status_text, "\"reason\":\"RayClusterUnreadable\"") &&
	       strstr(object->status_text, "spec.a: must be a string");
}

/* The object has the reason why nothing is scaled; a missing object is not created. */
static void test_an_unreadable_cluster_is_declared(void **state)
{
	(void)state;
	start();
	assert_false(loop_wait_until(script.loop, tells_unreadable, NULL, 300));
	assert_int_equal(count_of(&store.creates), 0);
	settle(0, 0, "\"replicas\":0");
	assert_true(loop_wait_until(script.loop, tells_unreadable, NULL, WAIT_MS));
}

static void test_at_most_once_a_second(void **state)
{
	int64_t begin;

	(void)state;
	STORE(store.exists = true);
	start();
	settle(0, 0, "\"replicas\":0");
	begin = loop_monotonic_ms(script.loop);
	for (int i = 1; i <= 20; i++) {
		awaited_replicas = i;
		rest(100);
	}
	assert_true(loop_monotonic_ms(script.loop) - begin >= 2000);
	assert_in_range(count_of(&store.patches), 2, 4);
	/* The last status is written, also without another decision. */
	settle(20, 0, "\"replicas\":20");
}

static void test_conflict_is_tried_again(void **state)
{
	(void)state;
	STORE({
		store.exists = true;
		store.conflicts = 1;
	});
	start();
	settle(0, 0, "\"replicas\":0");
	assert_int_equal(count_of(&store.patches), 2);
}

/* A CRD older than the program prunes the status: no endless writes. */
static void test_a_server_that_keeps_nothing(void **state)
{
	(void)state;
	STORE({
		store.exists = true;
		store.prunes = true;
	});
	start();
	rest(3500);
	assert_int_equal(count_of(&store.patches), 1);
}

static void test_refused(void **state)
{
	(void)state;
	STORE({
		store.exists = true;
		store.patch_code = 403;
	});
	start();
	rest(2500);
	assert_int_equal(count_of(&store.patches), 1);
}

/* Longer than it would wait by itself. */
static void test_retry_after_is_obeyed(void **state)
{
	int64_t begin;

	(void)state;
	STORE({
		store.exists = true;
		store.patch_code = 429;
	});
	start();
	while (count_of(&store.patches) == 0)
		rest(10);
	begin = loop_monotonic_ms(script.loop);
	STORE(store.patch_code = 0);
	settle(0, 0, "\"replicas\":0");
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
	assert_null(autoscaler_objects_get(objects, "a", "demo"));
	assert_string_equal(store.paths, "");
	/* A CRD that is installed later is found. */
	STORE(store.undefined = false);
	settle(0, 0, "\"replicas\":0");
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
	object = autoscaler_objects_get(objects, "a", "demo");
	assert_non_null(object);
	assert_non_null(strstr(store.patched, "AutoscalingDisabled"));
}

static void test_wishes_wake_and_are_read(void **state)
{
	const struct autoscaler_object *object;

	(void)state;
	STORE({
		store.exists = true;
		(void)snprintf(store.spec, sizeof(store.spec),
			       "{\"paused\": true, \"maxGPUs\": 3}");
	});
	start();
	object = autoscaler_objects_get(objects, "a", "demo");
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
	settle(0, 0, "\"observedGeneration\":2");
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
	object = autoscaler_objects_get(objects, "a", "demo");
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
	settle(0, 2, "\"targetReplicas\":2");
	assert_null(strstr(store.patched, "lastScale\":"));
	autoscaler_objects_patched(objects, "a", "demo");
	settle(2, 2, "\"lastScale\":");
	assert_non_null(strstr(store.patched, "\"from\": 0, \"to\": 2"));
	assert_non_null(strstr(store.patched, "\"lastScaleTime\": \"2026-11-20T10:00:00Z\""));
	/* It is remembered by the object alone. */
	autoscaler_objects_forget(objects, "a", "demo");
	settle(3, 2, "\"replicas\":3");
	assert_non_null(strstr(store.patched, "\"from\": 0, \"to\": 2"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_made_and_declared_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_an_unreadable_cluster_is_declared, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_at_most_once_a_second, setup, teardown),
		cmocka_unit_test_setup_teardown(test_conflict_is_tried_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_server_that_keeps_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_retry_after_is_obeyed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_retry_after_counts_for_its_cluster, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_without_definition, setup, teardown),
		cmocka_unit_test_setup_teardown(test_clusters_of_others_get_no_object, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_an_object_of_an_unmanaged_cluster, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_wishes_wake_and_are_read, setup, teardown),
		cmocka_unit_test_setup_teardown(test_an_object_that_cannot_be_read, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_what_a_patch_did_is_declared, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
