/* feature/pools/ctl/pool_writer: a pool that holds back its RayClusters is a warning of the log. */
#include "feature/pools/ctl/pool_writer.h"

#include "ctl/shared/options.h"
#include "test/support/kube_script.h"
#include "test/support/log_capture.h"

static struct kube_script script;
static struct options options;
static struct control control;
static struct pool_objects *objects;
static struct pool_writer *writer;

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
	else if (strstr(exchange->path, "watch") || strcmp(exchange->method, "GET") != 0)
		exchange_hold(exchange);
	else
		exchange_answer(exchange, 200, "",
				strstr(exchange->path, "gpupools") ? pools : none);
}

static void changed(void *context)
{
	(void)context;
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
	script_start(&script, answer, &KUBE_CLIENT_OPTIONS_INIT);
	options_init(&options);
	control =
		(struct control){ .loop = script.loop, .kube = script.client, .options = &options };
	objects = pool_objects_new(&control, changed, NULL);
	writer = pool_writer_new(&control, objects);
	assert_true(loop_wait_until(script.loop, is_known, NULL, WAIT_MS));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pool_writer_free(writer);
	pool_objects_free(objects);
	script_done(&script);
	options_done(&options);
	return 0;
}

static void allocated(const char *held)
{
	const struct condition ready = { .type = "Ready",
					 .status = held ? "False" : "True",
					 .reason = held ? "NotShared" : "Shared",
					 .message = held ? held : "its GPUs are shared" };
	const struct gpu_pool pool = { .name = "a100" };
	const struct gpu_pool *const pools[] = { &pool };
	const struct pool_input input = { .pools = pools, .pool_count = 1 };
	const struct pool_allocation allocation = { .input = &input };
	const struct gpu_pool_status status = { .held_text = "",
						.reserved_for = "",
						.conditions = { &ready, 1 },
						.updated = TIME_NONE };

	pool_writer_allocated(writer, &status, &allocation);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_held_pool_is_a_warning, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
