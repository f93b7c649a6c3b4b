/* kube/kube_store: the part of each namespace. */
#include "test/support/support.h"

#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "base/budget.h"
#include "base/budget_children.h"
#include "base/memory.h"
#include "codec/objects/foreign_object.h"
#include "codec/text/json.h"
#include "core/model/kubernetes.h"
#include "kube/kube_decode.h"
#include "kube/kube_store.h"
#include "net/loop.h"
#include "net/work.h"

#define MIB ((size_t)1 << 20)

struct fixture {
	struct loop *loop;
	struct budget_children budgets;
	struct budget *beside;
	struct kube_store store;
	size_t changes[KUBE_UNREAD + 1];
};

static void on_change(void *context, enum kube_change change, const char *key UNUSED,
		      const void *old UNUSED, const void *new_object UNUSED)
{
	((struct fixture *)context)->changes[change]++;
}

static const struct kube_informer_callbacks *callbacks_of(struct fixture *fixture)
{
	static struct kube_informer_callbacks callbacks;

	callbacks = (struct kube_informer_callbacks){ .on_change = on_change, .context = fixture };
	return &callbacks;
}

static int setup(void **state)
{
	struct fixture *fixture = memory_alloc(sizeof(*fixture));
	struct budget *all = budget_new("all objects", "delete some", 4 * MIB, NULL);

	all->spared_bytes = MIB;
	fixture->loop = loop_new();
	fixture->beside = budget_new("refused", NULL, 0, NULL);
	budget_children_init(&fixture->budgets, all, "the objects of namespace");
	fixture->budgets.beside = fixture->beside;
	kube_store_init(&fixture->store, fixture->loop, &kube_type_ray_cluster,
			callbacks_of(fixture));
	fixture->store.budgets = &fixture->budgets;
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	kube_store_done(&fixture->store);
	assert_int_equal(budget_used(fixture->budgets.parent), 0);
	assert_int_equal(budget_used(fixture->beside), 0);
	budget_children_done(&fixture->budgets);
	budget_free(fixture->beside);
	loop_free(fixture->loop);
	memory_free(fixture);
	return 0;
}

/* The JSON of a RayCluster with an annotation of so many bytes. */
static struct cJSON *ray_cluster(const char *namespace_, const char *name, const char *version,
				 size_t bytes)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct cJSON *json = NULL;
	char *filler = arena_alloc(&arena, bytes + 1);
	struct err err = { .kind = ERR_NONE };
	const char *text;

	memset(filler, 'x', bytes);
	text = arena_printf(&arena,
			    "{\"metadata\":{\"namespace\":\"%s\",\"name\":\"%s\","
			    "\"resourceVersion\":\"%s\",\"annotations\":{\"note\":\"%s\"}},"
			    "\"spec\":{\"rayVersion\":\"2.60\"}}",
			    namespace_, name, version, filler);
	foreign_object_parse(text, strlen(text), false, &json, &err);
	assert_int_equal(err.kind, ERR_NONE);
	return json;
}

static void put(struct fixture *fixture, const char *namespace_, const char *name,
		const char *version, size_t bytes)
{
	AUTO(json_done) struct cJSON *json = ray_cluster(namespace_, name, version, bytes);
	struct err err;

	assert_int_equal(kube_store_put(&fixture->store, json, NULL, &err), 0);
}

/* As one that was decoded beside the loop. */
static void put_decoded(struct fixture *fixture, const char *namespace_, const char *name,
			const char *version, size_t bytes)
{
	AUTO(json_done) struct cJSON *json = ray_cluster(namespace_, name, version, bytes);
	struct kube_decoded decoded = { .json = json, .resource_version = version };
	struct err err;

	decoded.object = arena_alloc(&decoded.arena, kube_type_ray_cluster.object_size);
	assert_int_equal(
		kube_type_ray_cluster.decode(json, "", &decoded.arena, decoded.object, &err), 0);
	decoded.resource_version = arena_strdup(&decoded.arena, version);
	assert_int_equal(kube_store_put_decoded(&fixture->store, json, &decoded, &err), 0);
	arena_done(&decoded.arena);
}

static void put_many(struct fixture *fixture, const char *namespace_, size_t count)
{
	char name[32];

	for (size_t i = 0; i < count; i++) {
		(void)snprintf(name, sizeof(name), "c%zu", i);
		put(fixture, namespace_, name, "1", 100 << 10);
	}
}

/* In each order of the list: the tenant above its part has bad entries, with the reason, and those of
 * others are read. */
static void check_tenant_and_honest(struct fixture *fixture, bool tenant_first)
{
	const struct ray_cluster *cluster;
	const char *bad;

	if (!tenant_first)
		put(fixture, "honest", "a", "1", 1000);
	put_many(fixture, "tenant", 60);
	if (tenant_first)
		put(fixture, "honest", "a", "1", 1000);
	cluster = kube_store_get(&fixture->store, "honest/a");
	assert_non_null(cluster);
	assert_null(cluster->unreadable);
	cluster = kube_store_get(&fixture->store, "tenant/c0");
	assert_null(cluster->unreadable);
	bad = kube_store_bad(&fixture->store, "tenant/c59");
	assert_non_null(bad);
	assert_non_null(strstr(bad, "MiB of the 4 MiB of memory for all objects are in use, "));
	assert_non_null(strstr(bad, "MiB by the objects of namespace tenant; delete some"));
	cluster = kube_store_get(&fixture->store, "tenant/c59");
	assert_string_equal(cluster->unreadable, bad);
	assert_in_range(fixture->store.good_count, 18, 22);
	assert_int_equal(fixture->store.good_count + fixture->store.bad_count, 61);
	assert_int_equal(fixture->store.bad_count, fixture->store.refused_count);
	assert_true(budget_used(fixture->budgets.parent) <= 3 * MIB);
	assert_true(budget_used(fixture->beside) < fixture->store.bad_count * 8192);
}

static void test_a_large_tenant_comes_first(void **state)
{
	check_tenant_and_honest(*state, true);
}

static void test_a_large_tenant_comes_last(void **state)
{
	check_tenant_and_honest(*state, false);
}

/* A new version takes the place of the old one. */
static void test_a_new_version_has_the_room_of_the_old_one(void **state)
{
	struct fixture *fixture = *state;
	char version[16];
	size_t used;

	put(fixture, "a", "large", "1", 1700 << 10);
	used = budget_used(fixture->budgets.parent);
	assert_in_range(used, 1700 << 10, 1800 << 10);
	for (int i = 2; i < 10; i++) {
		(void)snprintf(version, sizeof(version), "%d", i);
		put(fixture, "a", "large", version, 1700 << 10);
		assert_null(kube_store_bad(&fixture->store, "a/large"));
	}
	assert_in_range(budget_used(fixture->budgets.parent), used - 64, used + 64);
}

/* One that was decoded without a budget is charged when it is stored, and refused above the part. */
static void test_a_decoded_object_is_charged(void **state)
{
	struct fixture *fixture = *state;
	const struct ray_cluster *cluster;

	put_decoded(fixture, "a", "large", "1", 1700 << 10);
	assert_null(kube_store_bad(&fixture->store, "a/large"));
	assert_in_range(budget_used(fixture->budgets.parent), 1700 << 10, 1800 << 10);
	put_decoded(fixture, "a", "more", "1", 1000 << 10);
	assert_non_null(strstr(kube_store_bad(&fixture->store, "a/more"),
			       "by the objects of namespace a; delete some"));
	cluster = kube_store_get(&fixture->store, "a/more");
	assert_non_null(cluster->unreadable);
	assert_in_range(budget_used(fixture->budgets.parent), 1700 << 10, 1800 << 10);
	put_decoded(fixture, "b", "small", "1", 1000);
	assert_null(kube_store_bad(&fixture->store, "b/small"));
}

static void wait_at_gate(void *context, const struct work_job *job UNUSED)
{
	while (sem_wait(context) != 0)
		;
}

static void nothing(void *context UNUSED)
{
}

/* A decision reads the old version meanwhile: it is charged, but not to its namespace. */
static void test_a_version_that_is_read_has_other_room(void **state)
{
	static const struct work_functions functions = { wait_at_gate, nothing, nothing };
	struct fixture *fixture = *state;
	sem_t gate;

	sem_init(&gate, 0, 0);
	put(fixture, "a", "large", "1", 1700 << 10);
	(void)work_start(fixture->loop, &functions, &gate);
	put(fixture, "a", "large", "2", 1700 << 10);
	assert_null(kube_store_bad(&fixture->store, "a/large"));
	assert_in_range(budget_used(fixture->budgets.parent), 1700 << 10, 1800 << 10);
	assert_in_range(budget_used(fixture->beside), 1700 << 10, 1800 << 10);
	sem_post(&gate);
	assert_true(work_stop(fixture->loop, 10000));
}

/* Not before it fits: then the same version is read. */
static void test_a_refused_object_is_read_when_there_is_room(void **state)
{
	struct fixture *fixture = *state;

	put(fixture, "a", "large", "1", 1700 << 10);
	put(fixture, "a", "more", "1", 1000 << 10);
	assert_non_null(kube_store_bad(&fixture->store, "a/more"));
	assert_false(kube_store_has_room(&fixture->store));
	assert_int_equal(fixture->changes[KUBE_BAD], 1);
	put(fixture, "a", "more", "1", 1000 << 10);
	assert_int_equal(fixture->changes[KUBE_BAD], 1);
	kube_store_remove_key(&fixture->store, "a/large");
	assert_true(kube_store_has_room(&fixture->store));
	put(fixture, "a", "more", "1", 1000 << 10);
	assert_null(kube_store_bad(&fixture->store, "a/more"));
	assert_int_equal(fixture->store.refused_count, 0);
	assert_false(kube_store_has_room(&fixture->store));
}

/* Without room for their names either, objects are not stored, and their namespace is incomplete until a
 * list has room. */
static void test_a_namespace_with_too_many_names_is_incomplete(void **state)
{
	struct fixture *fixture = *state;
	size_t stored;

	fixture->beside->limit_bytes = 20 << 10;
	kube_store_mark(&fixture->store);
	put_many(fixture, "tenant", 60);
	put(fixture, "honest", "a", "1", 1000);
	assert_true(kube_store_sweep(&fixture->store));
	stored = fixture->store.good_count + fixture->store.bad_count;
	assert_in_range(fixture->store.bad_count, 1, 30);
	assert_true(stored < 61);
	assert_int_equal(fixture->store.entries.count, stored);
	assert_true(budget_used(fixture->beside) < 40 << 10);
	assert_non_null(strstr(kube_store_incomplete(&fixture->store, "tenant"),
			       "by the objects of namespace tenant; delete some"));
	assert_null(kube_store_incomplete(&fixture->store, "honest"));
	fixture->beside->limit_bytes = 0;
	assert_true(kube_store_has_room(&fixture->store));
	kube_store_mark(&fixture->store);
	put_many(fixture, "tenant", 60);
	put(fixture, "honest", "a", "1", 1000);
	assert_true(kube_store_sweep(&fixture->store));
	assert_int_equal(fixture->store.good_count + fixture->store.bad_count, 61);
	assert_null(kube_store_incomplete(&fixture->store, "tenant"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_a_large_tenant_comes_first),
		TEST(test_a_large_tenant_comes_last),
		TEST(test_a_new_version_has_the_room_of_the_old_one),
		TEST(test_a_decoded_object_is_charged),
		TEST(test_a_version_that_is_read_has_other_room),
		TEST(test_a_refused_object_is_read_when_there_is_room),
		TEST(test_a_namespace_with_too_many_names_is_incomplete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
