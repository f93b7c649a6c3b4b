/* kube/kube_store: how often an object is decoded. */
#include "test/support/support.h"

#include "codec/objects/foreign_object.h"
#include "codec/text/json.h"
#include "core/model/kubernetes.h"
#include "kube/kube_store.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_object_is_decoded_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
