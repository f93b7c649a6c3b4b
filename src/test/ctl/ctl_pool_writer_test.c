/* feature/pools/ctl/pool_writer: a pool that holds back its RayClusters is a warning of the log. */
#include "feature/pools/ctl/pool_writer.h"

#include <malloc.h>
#include <semaphore.h>

#include "base/memory.h"
#include "ctl/shared/options.h"
#include "test/support/kube_script.h"
#include "test/support/log_capture.h"

static struct kube_script script;
static struct options options;
static struct control control;
static struct pool_objects *objects;
static struct pool_writer *writer;
static sem_t rounds; /* of events, which the watch of GPUPools sends */
static _Atomic bool ends;
static size_t changes;

static void chunk(struct exchange *exchange, const char *type, int version, int generation)
{
	AUTO(buf_done) struct buf text = BUF_INIT(1024);

	(void)buf_printf(&text,
			 "{\"type\": \"%s\", \"object\": {\"metadata\": {\"name\": \"late\", "
			 "\"uid\": \"l\", \"resourceVersion\": \"%d\", \"generation\": %d}, "
			 "\"spec\": {\"groups\": {\"acceleratorType\": \"A100\"}, \"queues\": "
			 "[{\"name\": \"q\"}, {\"nam\": 1}]}}}\n",
			 type, version, generation);
	exchange_chunk(exchange, text.data, text.size);
}

/* A GPUPool comes, changes and ends, again and again. */
static void answer_watch(struct exchange *exchange)
{
	exchange_open_stream(exchange);
	for (int version = 10;; version += 10) {
		while (sem_wait(&rounds) != 0)
			;
		if (ends)
			return;
		chunk(exchange, "ADDED", version, 1);
		chunk(exchange, "MODIFIED", version + 1, 2);
		chunk(exchange, "DELETED", version + 2, 2);
	}
}

static void answer(struct exchange *exchange, void *context)
{
	static const char *const pools =
		"{\"metadata\": {\"resourceVersion\": \"5\"}, \"items\": [{\"metadata\": {"
		"\"name\": \"a100\", \"uid\": \"u\", \"resourceVersion\": \"4\", "
		"\"generation\": 1}, \"spec\": {\"groups\": {\"acceleratorType\": \"A100\"}}}]}";
	static const char *const none =
		"{\"metadata\": {\"resourceVersion\": \"5\"}, \"items\": []}";

	static const char *const known =
		"{\"kind\": \"APIResourceList\", \"resources\": [{\"name\": \"gpupools\", \"kind\": "
		"\"GPUPool\"}, {\"name\": \"namespaces\", \"kind\": \"Namespace\"}]}";

	(void)context;
	if (strcmp(exchange->path, "/apis/rayscaler.dev/v1alpha1") == 0 ||
	    strcmp(exchange->path, "/api/v1") == 0)
		exchange_answer(exchange, 200, "", known);
	else if (strstr(exchange->path, "watch") && strstr(exchange->path, "gpupools"))
		answer_watch(exchange);
	else if (strcmp(exchange->method, "GET") != 0)
		exchange_answer(exchange, 200, "", "{}");
	else if (strstr(exchange->path, "watch"))
		exchange_hold(exchange);
	else
		exchange_answer(exchange, 200, "",
				strstr(exchange->path, "gpupools") ? pools : none);
}

static void share_pools(const struct gpu_pool *const *pools, size_t count, const char *held)
{
	const struct condition ready = { .type = "Ready",
					 .status = held ? "False" : "True",
					 .reason = held ? "NotShared" : "Shared",
					 .message = held ? held : "its GPUs are shared" };
	const struct pool_input input = { .pools = pools, .pool_count = count };
	const struct pool_allocation allocation = { .input = &input };
	struct gpu_pool_status statuses[2];

	assert_true(count <= 2);
	for (size_t p = 0; p < count; p++)
		statuses[p] = (struct gpu_pool_status){ .held_text = "",
							.reserved_for = "",
							.conditions = { &ready, 1 },
							.updated = TIME_NONE,
							.stopped = held };
	pool_writer_allocated(writer, statuses, &allocation);
}

static void changed(void *context)
{
	size_t count;
	const struct gpu_pool *const *pools = pool_objects_list(objects, &count);

	(void)context;
	changes++;
	if (writer)
		share_pools(pools, count, NULL);
}

static bool is_known(void *context)
{
	(void)context;
	return pool_objects_known(objects);
}

static int setup(void **state)
{
	(void)state;
	script = (struct kube_script){ .loop = NULL };
	writer = NULL;
	ends = false;
	sem_init(&rounds, 0, 0);
	script_start(&script, answer, &KUBE_CLIENT_OPTIONS_INIT);
	options_init(&options);
	control =
		(struct control){ .loop = script.loop, .kube = script.client, .options = &options };
	objects =
		pool_objects_new(&control, &(struct pool_objects_callbacks){ .changed = changed });
	writer = pool_writer_new(&control, objects);
	assert_true(loop_wait_until(script.loop, is_known, NULL, WAIT_MS));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ends = true;
	sem_post(&rounds);
	pool_writer_free(writer);
	pool_objects_free(objects);
	script_done(&script);
	options_done(&options);
	return 0;
}

static void allocated(const char *held)
{
	const struct gpu_pool pool = { .name = "a100" };
	const struct gpu_pool *const pools[] = { &pool };

	share_pools(pools, 1, held);
}

static void test_a_held_pool_is_a_warning(void **state)
{
	static const char problem[] = "spec.queues: has 12000 elements, more than 200";

	(void)state;
	CAPTURE_LOG(allocated(problem));
	assert_non_null(strstr(output, "\"level\":\"warning\""));
	assert_non_null(strstr(output, "the GPUPool grants nothing"));
	assert_non_null(strstr(output, "\"object\":\"a100\""));
	assert_non_null(strstr(output, problem));
	CAPTURE_LOG(allocated(problem));
	assert_string_equal(output, "");
	CAPTURE_LOG(allocated(NULL));
	assert_non_null(strstr(output, "waits ended"));
}

static bool has_changed(void *context)
{
	return changes == *(const size_t *)context;
}

/* Without the log of the server. */
static size_t memory_in_use(void)
{
	size_t bytes = memory_heap_bytes();

	for (size_t i = 0; i < script.server->logged; i++)
		bytes -= malloc_usable_size(script.server->log[i]);
	return bytes;
}

static bool is_as_before(void *context)
{
	return memory_in_use() <= *(const size_t *)context;
}

static void test_memory_after_many_rounds(void **state)
{
	size_t before = 0, wanted = changes;

	(void)state;
	for (int round = 0; round < 40; round++) {
		wanted += 3;
		sem_post(&rounds);
		assert_true(loop_wait_until(script.loop, has_changed, &wanted, WAIT_MS));
		if (round == 5)
			before = memory_in_use();
	}
	if (!loop_wait_until(script.loop, is_as_before, &before, WAIT_MS))
		fail_msg("%zu bytes, then %zu", before, memory_in_use());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_held_pool_is_a_warning, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory_after_many_rounds, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
