/* kube/kube_store: how often an object is decoded. */
#include "test/support/support.h"

#include "base/memory.h"
#include "codec/objects/foreign_object.h"
#include "codec/text/json.h"
#include "core/model/kubernetes.h"
#include "kube/kube_store.h"
#include "net/loop.h"

static size_t decoded;

static int decode(const struct cJSON *json, const char *path, struct arena *arena, void *ret_object,
		  struct err *err)
{
	decoded++;
	return kube_type_pod.decode(json, path, arena, ret_object, err);
}

/* Stores a Pod; returns how often it was decoded. */
static size_t put(struct kube_store *store, const char *name, const char *version,
		  const char *phase)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct err err = { .kind = ERR_NONE };
	const char *text = arena_printf(
		&arena,
		"{\"metadata\":{\"namespace\":\"a\",\"name\":\"%s\",\"resourceVersion\":\"%s\","
		"\"labels\":{\"ray.io/cluster\":\"c\"}},\"spec\":{\"nodeName\":\"node-of-%s\","
		"\"containers\":[{\"name\":\"ray-worker\",\"image\":\"rayproject/ray:2.60\"}]},"
		"\"status\":{\"phase\":\"%s\"}}",
		name, version, name, phase);
	AUTO(json_done) struct cJSON *json = NULL;
	size_t before = decoded;

	foreign_object_parse(text, strlen(text), false, &json, &err);
	assert_int_equal(err.kind, ERR_NONE);
	assert_int_equal(kube_store_put(store, json, NULL, &err), 0);
	return decoded - before;
}

/* Memory checkers move a block that shrinks. */
static bool heap_shrinks_in_place(void)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	arena_alloc(&arena, 100);
	return arena_trim(&arena);
}

static void test_an_object_is_decoded_once(void **state)
{
	size_t times = heap_shrinks_in_place() ? 1 : 2;
	struct kube_type type = kube_type_pod;
	const struct kube_informer_callbacks callbacks = { .on_change = NULL };
	struct kube_store store;
	struct loop *loop = loop_new();
	const struct pod *pod;

	(void)state;
	type.decode = decode;
	kube_store_init(&store, loop, &type, &callbacks);
	assert_int_equal(put(&store, "worker-1", "1", "Pending"), times);
	assert_int_equal(put(&store, "worker-1", "2", "Running"), times);
	assert_int_equal(put(&store, "worker-2", "3", "Pending"), times);
	pod = kube_store_get(&store, "a/worker-1");
	assert_non_null(pod);
	assert_string_equal(pod->phase, "Running");
	assert_string_equal(pod->spec.node_name, "node-of-worker-1");
	kube_store_done(&store);
	loop_free(loop);
}

/* A Pod of this cluster; a head or a worker. */
static void put_pod(struct kube_store *store, const char *name, int version, bool head)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct err err;
	const char *text = arena_printf(
		&arena,
		"{\"metadata\":{\"namespace\":\"a\",\"name\":\"%s\",\"resourceVersion\":\"%d\","
		"\"labels\":{\"ray.io/cluster\":\"c\",\"ray.io/node-type\":\"%s\"}}}",
		name, version, head ? "head" : "worker");
	AUTO(json_done) struct cJSON *json = NULL;

	foreign_object_parse(text, strlen(text), false, &json, &err);
	assert_int_equal(kube_store_put(store, json, NULL, &err), 0);
}

/* All are there once, and the heads first. */
static void check_order(const struct kube_store *store, size_t count, size_t heads)
{
	size_t indexed;
	const void *const *pods = kube_store_indexed(store, "a/c", &indexed);

	assert_int_equal(indexed, count);
	assert_int_equal(kube_store_leading(store, "a/c"), heads);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(pod_is_head(pods[i]), i < heads);
		for (size_t k = 0; k < i; k++)
			assert_ptr_not_equal(pods[i], pods[k]);
	}
}

static void test_heads_lead(void **state)
{
	const struct kube_informer_callbacks callbacks = { .on_change = NULL };
	struct loop *loop = loop_new();
	struct kube_store store;
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	bool there[8] = { false }, head[8] = { false };

	(void)state;
	kube_store_init(&store, loop, &kube_type_pod, &callbacks);
	assert_int_equal(kube_store_leading(&store, "a/c"), 0);
	for (int step = 1; step <= 400; step++) {
		int i = step * step * 7 % 13 % 8, count = 0, heads = 0;
		const char *name = arena_printf(&arena, "pod-%d", i);

		there[i] = step % 3 != 0;
		head[i] = step % 5 < 2;
		if (there[i])
			put_pod(&store, name, step, head[i]);
		else
			kube_store_remove_key(&store, arena_printf(&arena, "a/%s", name));
		for (int k = 0; k < 8; k++) {
			count += there[k];
			heads += there[k] && head[k];
		}
		if (count > 0)
			check_order(&store, (size_t)count, (size_t)heads);
	}
	kube_store_done(&store);
	loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heads_lead),
		cmocka_unit_test(test_an_object_is_decoded_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
