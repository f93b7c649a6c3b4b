/* Events that are kept from a flood: of each object the newest of each meaning, within limits. */
#include <stdio.h>
#include <string.h>

#include "base/budget_children.h"
#include "base/memory.h"
#include "ctl/watch/event_store.h"
#include "test/support/support.h"

static struct event said(const char *kind, const char *object, const char *reason, time_ms at)
{
	return (struct event){ .namespace_ = "ray",
			       .name = reason,
			       .involved_kind = kind,
			       .involved_name = object,
			       .involved_uid = "u",
			       .reason = reason,
			       .message = "m",
			       .type = "Normal",
			       .source = "cluster-autoscaler",
			       .first_time = 1000,
			       .last_time = at };
}

static bool put_named(struct event_store *store, struct event event, const char *name)
{
	event.name = name;
	return event_store_put(store, &event, "c", 0);
}

static bool put(struct event_store *store, const char *reason, time_ms at)
{
	struct event event = said("Pod", "w", reason, at);

	return event_store_put(store, &event, "c", 0);
}

/* "reason@time ..." of the kept Events, by age. */
static const char *kept(struct event_store *store, struct arena *arena, const char *kind,
			const char *object)
{
	struct event_list list = { .events = { .at = NULL } };
	const char *text = "";

	event_store_of_cluster(store, "ray", "c", arena, &list);
	VEC_EACH(const struct event, event, &list.events)
		if (!strcmp(event->involved_kind, kind) && !strcmp(event->involved_name, object))
			text = arena_printf(arena, "%s%s@%lld ", text, event->reason,
					    (long long)event->last_time);
	return text;
}

static void test_newest_of_each_meaning(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct event_store *store = event_store_new(NULL, NULL);

	(void)state;
	assert_true(put(store, "NotTriggerScaleUp", 2000));
	assert_false(put(store, "NotTriggerScaleUp", 3000)); /* a repetition */
	assert_true(put(store, "TriggeredScaleUp", 4000));
	assert_false(put(store, "Nominated", 3500)); /* older, of a kind that is there */
	assert_false(put(store, "Scheduled", 5000));
	assert_string_equal(kept(store, &arena, "Pod", "w"),
			    "NotTriggerScaleUp@3000 TriggeredScaleUp@4000 ");
	assert_true(put(store, "NotTriggerScaleUp", 6000));
	assert_string_equal(kept(store, &arena, "Pod", "w"),
			    "NotTriggerScaleUp@6000 TriggeredScaleUp@4000 ");
	assert_string_equal(kept(store, &arena, "Pod", "other"), "");
	event_store_forget(store, "Pod", "ray", "w");
	assert_int_equal(event_store_objects(store), 0);
	event_store_free(store);
}

static void test_reasons_of_karpenter_and_of_the_scheduler(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct event_store *store = event_store_new(NULL, NULL);
	struct event event = said("Pod", "w", "FailedScheduling", 2000);

	(void)state;
	event.source = "default-scheduler";
	event.message = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.";
	assert_false(event_store_put(store, &event, "c", 0));
	event.source = "karpenter";
	assert_true(event_store_put(store, &event, "c", 0));
	event.source = "eks-auto-mode/compute";
	event.message = "Failed to schedule pod, incompatible with nodepool \"gpu\"";
	event.last_time = 3000;
	assert_false(event_store_put(store, &event, "c", 0));
	assert_string_equal(kept(store, &arena, "Pod", "w"), "FailedScheduling@3000 ");
	event_store_free(store);
}

/* Failures of several groups are kept together; the oldest is dropped when the store is full. */
static void test_several_of_a_ray_cluster(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct event_store *store = event_store_new(NULL, NULL);
	char name[32];

	(void)state;
	for (int i = 1; i <= 6; i++) {
		snprintf(name, sizeof(name), "e%d", i);
		put_named(store, said("RayCluster", "c", "FailedToCreateWorkerPod", i * 1000),
			  name);
	}
	assert_string_equal(kept(store, &arena, "RayCluster", "c"),
			    "FailedToCreateWorkerPod@5000 FailedToCreateWorkerPod@6000 "
			    "FailedToCreateWorkerPod@3000 FailedToCreateWorkerPod@4000 ");
	put_named(store, said("RayCluster", "c", "FailedToCreateWorkerPod", 7000), "e5");
	assert_non_null(strstr(kept(store, &arena, "RayCluster", "c"), "@7000"));
	assert_null(strstr(kept(store, &arena, "RayCluster", "c"), "@5000"));
	assert_false(put_named(store, said("RayCluster", "c", "CreatedWorkerPod", 8000), "f"));
	event_store_free(store);
}

static void test_deleted_events_are_removed(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct event_store *store = event_store_new(NULL, NULL);
	struct event event = said("Pod", "w", "NotTriggerScaleUp", 2000);

	(void)state;
	put(store, "NotTriggerScaleUp", 2000);
	put(store, "TriggeredScaleUp", 1000);
	event_store_remove(store, &event);
	assert_string_equal(kept(store, &arena, "Pod", "w"), "TriggeredScaleUp@1000 ");
	event = said("Pod", "w", "TriggeredScaleUp", 2000);
	event_store_remove(store, &event);
	event_store_remove(store, &event);
	assert_int_equal(event_store_objects(store), 0);
	event_store_free(store);
}

static void test_messages_are_cut(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct event_store *store = event_store_new(NULL, NULL);
	struct event_list list = { .events = { .at = NULL } };
	struct event event = said("Pod", "w", "NotTriggerScaleUp", 2000);
	char *text = memory_alloc(100001);

	(void)state;
	memset(text, 'x', 100000);
	event.message = text;
	event_store_put(store, &event, "c", 0);
	event_store_of_cluster(store, "ray", "c", &arena, &list);
	assert_int_equal(strlen(list.events.at[0].message), EVENT_MESSAGE_MAX);
	memory_free(text);
	event_store_free(store);
}

/* An Event may arrive before its Pod: it is kept for a minute, within a limit. */
static void test_events_without_a_pod_are_kept_for_a_minute(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct event_store *store = event_store_new(NULL, NULL);
	const struct pod pod = { .namespace_ = "ray", .name = "p1400" };
	struct event event;
	char name[32];

	(void)state;
	for (int i = 0; i < EVENT_STRANGERS_MAX + 500; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		event = said("Pod", name, "NotTriggerScaleUp", 2000);
		event_store_put(store, &event, i == 0 ? "c" : NULL, i);
	}
	assert_in_range(event_store_objects(store), EVENT_STRANGERS_MAX, EVENT_STRANGERS_MAX + 2);
	assert_string_equal(kept(store, &arena, "Pod", "p1"), "");
	assert_string_not_equal(kept(store, &arena, "Pod", "p0"), ""); /* ours from the start */
	assert_string_equal(kept(store, &arena, "Pod", "p1400"), "");
	event_store_claim(store, &pod, "c");
	assert_string_not_equal(kept(store, &arena, "Pod", "p1400"), "");
	event = said("Pod", "late", "NotTriggerScaleUp", 2000);
	event_store_put(store, &event, "c", EVENT_STRANGER_MS + 2000);
	assert_int_equal(event_store_objects(store), 3);
	event_store_free(store);
}

/* `per` of each cluster, without end: how many are kept. */
static size_t kept_of_many(struct event_store *store, int per)
{
	for (int i = 0; i < EVENT_OBJECTS_MAX + 2 * per; i++) {
		char name[32], cluster[32];
		struct event event;

		snprintf(name, sizeof(name), "p%d", i);
		snprintf(cluster, sizeof(cluster), "c%d", i / per);
		event = said("Pod", name, "NotTriggerScaleUp", 2000);
		event_store_put(store, &event, cluster, 0);
	}
	return event_store_objects(store);
}

static void test_ceiling_of_objects(void **state)
{
	struct event_store *store = event_store_new(NULL, NULL);

	(void)state;
	assert_int_equal(kept_of_many(store, EVENT_CLUSTER_MAX), EVENT_OBJECTS_MAX);
	event_store_free(store);
}

/* One cluster does not take the place of the others, and reading its Events has a bound. */
static void test_ceiling_of_a_cluster(void **state)
{
	struct event_store *store = event_store_new(NULL, NULL);

	(void)state;
	assert_int_equal(kept_of_many(store, EVENT_OBJECTS_MAX), 3 * EVENT_CLUSTER_MAX);
	event_store_free(store);
}

/* A namespace's Events are charged to its objects, and without room new ones are dropped. */
static void test_events_have_the_budget_of_their_namespace(void **state)
{
	struct budget_children budgets;
	struct budget *ray;
	struct event_store *store;
	size_t count;

	(void)state;
	budget_children_init(&budgets, budget_new("all objects", NULL, 1 << 20, NULL),
			     "the objects of namespace");
	store = event_store_new(&budgets, NULL);
	ray = budget_children_get(&budgets, "ray");
	count = kept_of_many(store, EVENT_CLUSTER_MAX);
	assert_in_range(count, 100, 2000);
	assert_in_range(budget_used(ray), 100 << 10, 1 << 20);
	event_store_free(store);
	assert_int_equal(budget_used(ray), 0);
	budget_free(ray);
	budget_children_done(&budgets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_newest_of_each_meaning),
		cmocka_unit_test(test_reasons_of_karpenter_and_of_the_scheduler),
		cmocka_unit_test(test_several_of_a_ray_cluster),
		cmocka_unit_test(test_deleted_events_are_removed),
		cmocka_unit_test(test_messages_are_cut),
		cmocka_unit_test(test_events_without_a_pod_are_kept_for_a_minute),
		cmocka_unit_test(test_ceiling_of_objects),
		cmocka_unit_test(test_ceiling_of_a_cluster),
		cmocka_unit_test(test_events_have_the_budget_of_their_namespace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
