/* A controller's RayClusterAutoscalers against an API server with one object, and decisions on its
 * RayCluster. For the tests of ctl/watch/autoscaler_objects and ctl/report/autoscaler_writer. */
#ifndef TEST_SUPPORT_AUTOSCALER_SCENE_H
#define TEST_SUPPORT_AUTOSCALER_SCENE_H

#include <stdlib.h>

#include "codec/objects/snapshot_json.h"
#include "core/decide.h"
#include "ctl/pass/pass.h"
#include "ctl/shared/options.h"
#include "ctl/watch/autoscaler_objects.h"
#include "kube/kube_informer.h"
#include "test/support/autoscaler_server.h"

static struct kube_script script;
static struct options options;
static struct control control;
static struct autoscaler_objects *objects;
static struct arena arena;
static int changes, knowns;
static const char *decided_namespace;
static time_ms later_ms;       /* of the decisions' clock */
static int64_t clock_start_ms; /* it also runs, since this time of the loop; 0: it does not */

static bool changed(void *context, const char *namespace_, const char *name)
{
	(void)context;
	assert_string_equal(namespace_, "a");
	assert_string_equal(name, "demo");
	changes++;
	return true;
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
	control.wake = changed;
	control.ready = known;
	objects = autoscaler_objects_new(&control);
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
	later_ms = 0;
	clock_start_ms = 0;
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
	snapshot->autoscaler = autoscaler_objects_get(objects, decided_namespace, "demo", &arena);
	snapshot->now += later_ms;
	if (clock_start_ms > 0)
		snapshot->now += loop_monotonic_ms(script.loop) - clock_start_ms;
	snapshot->ray_state_time = snapshot->now;
	made->snapshot = snapshot;
	made->plan = decide(snapshot, &arena);
	made->summary = summary_of(snapshot, made->plan, &arena);
	made->now = snapshot->now;
	return made;
}

static bool is_false(void *context)
{
	(void)context;
	return false;
}

static int count_of(const int *slot)
{
	int value;

	STORE(value = *slot);
	return value;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

#endif
