/* When an exec plugin is run again: expiry, a refusal of the server, and the calls that wait
 * meanwhile. */
#include "kube/kube_client.h"

#include "test/support/exec_plugin.h"

#define PATH "/api/v1/namespaces/a/pods/p"
#define EXPIRED ", \"expirationTimestamp\": \"2020-01-01T00:00:00Z\""

static size_t runs(void)
{
	char *text = read_text("runs");
	size_t count = strlen(text) / strlen("run\n");

	memory_free(text);
	return count;
}

struct result {
	int done;
	struct err err;
	struct kube_call *call;
};

static void on_done(void *context, const struct kube_answer *answer, const struct err *err)
{
	struct result *result = context;

	(void)answer;
	result->done++;
	if (err)
		result->err = *err;
}

static bool is_done(void *context)
{
	return ((const struct result *)context)->done > 0;
}

static void ask(struct result *result, enum kube_verb verb)
{
	*result = (struct result){ .done = 0 };
	result->call = kube_client_send(script.client, verb, PATH, NULL, 0, on_done, result);
}

static void finish(struct result *result)
{
	assert_true(loop_wait_until(script.loop, is_done, result, WAIT_MS));
	assert_int_equal(result->done, 1);
}

static void wants_t2(struct exchange *exchange, void *context)
{
	(void)context;
	if (strcmp(exchange_header(exchange, "Authorization"), "Bearer t2") == 0)
		exchange_answer(exchange, 200, "", "in");
	else
		exchange_answer(exchange, 401, "", "");
}

static void start(const char *first, const char *second)
{
	write_plugin("");
	write_answer(first);
	script_start(&script, wants_t2, &KUBE_CLIENT_OPTIONS_INIT);
	write_answer(second);
}

static void test_expired(void **state)
{
	struct result results[3];

	(void)state;
	start("\"token\": \"t1\"" EXPIRED,
	      "\"token\": \"t2\", \"expirationTimestamp\": \"9999-01-01T00:00:00Z\"");
	for (size_t i = 0; i < SUPPORT_COUNT(results); i++)
		ask(&results[i], KUBE_GET);
	for (size_t i = 0; i < SUPPORT_COUNT(results); i++) {
		finish(&results[i]);
		assert_string_equal(results[i].err.text, "");
	}
	ask(&results[0], KUBE_GET);
	finish(&results[0]);
	assert_int_equal(results[0].err.kind, ERR_NONE);
	assert_int_equal(server_count(script.server, "GET"), 4); /* none with t1 */
	assert_int_equal(runs(), 2);
	script_done(&script);
}

static void test_refused_by_the_server(void **state)
{
	struct result results[3];

	(void)state;
	script.exec_pause_ms = 1;
	start("\"token\": \"t1\"", "\"token\": \"t2\"");
	for (size_t i = 0; i < SUPPORT_COUNT(results); i++)
		ask(&results[i], KUBE_GET);
	for (size_t i = 0; i < SUPPORT_COUNT(results); i++) {
		finish(&results[i]);
		assert_string_equal(results[i].err.text, "");
	}
	ask(&results[0], KUBE_GET);
	finish(&results[0]);
	assert_int_equal(results[0].err.kind, ERR_NONE);
	assert_int_equal(runs(), 2); /* the three refusals were one */
	script_done(&script);
}

static void test_not_asked_for_every_401(void **state)
{
	struct result result;

	(void)state;
	script.exec_pause_ms = 60000;
	start("\"token\": \"t1\"", "\"token\": \"t3\"");
	for (size_t i = 0; i < 3; i++) {
		ask(&result, KUBE_GET);
		finish(&result);
		assert_int_equal(result.err.kind, ERR_DENIED);
	}
	assert_int_equal(runs(), 2);
	assert_int_equal(server_count(script.server, "GET"), 4); /* the first one twice */
	script_done(&script);
}

static void test_renewal_fails(void **state)
{
	struct result result;

	(void)state;
	start("\"token\": \"t1\"" EXPIRED, "");
	temp_write(script.directory, "answer", "secret");
	ask(&result, KUBE_GET);
	finish(&result);
	assert_int_equal(result.err.kind, ERR_DENIED);
	assert_non_null(strstr(result.err.text, "/./plugin\" printed no usable ExecCredential"));
	assert_null(strstr(result.err.text, "secret"));
	temp_remove(script.directory, "plugin");
	script_done(&script);
}

/* Ends only after the loop has created the file "go". */
static void write_slow_plugin(void)
{
	write_plugin("test $(wc -l < runs) = 1 || while [ ! -e go ]; do sleep 0.01; done");
}

static bool leads;

static bool may_write(void *context)
{
	(void)context;
	return leads;
}

static void on_timer(void *context)
{
	(void)context;
	leads = false;
	temp_write(script.directory, "go", "");
}

static void test_the_loop_goes_on_and_writes_are_asked_again(void **state)
{
	struct kube_client_options options = KUBE_CLIENT_OPTIONS_INIT;
	struct loop_timer *timer;
	struct result get, patch;

	(void)state;
	leads = true;
	options.may_write = may_write;
	write_slow_plugin();
	write_answer("\"token\": \"t1\"" EXPIRED);
	script_start(&script, wants_t2, &options);
	write_answer("\"token\": \"t2\"");
	timer = loop_timer_new(script.loop, on_timer, NULL);
	loop_timer_start(timer, 20);
	ask(&get, KUBE_GET);
	ask(&patch, KUBE_DELETE);
	finish(&get);
	assert_int_equal(get.err.kind, ERR_NONE);
	assert_int_equal(patch.done, 1);
	assert_int_equal(patch.err.kind, ERR_RETRY);
	assert_non_null(strstr(patch.err.text, "does not lead"));
	assert_int_equal(server_count(script.server, "DELETE"), 0);
	loop_timer_free(timer);
	script_done(&script);
}

static bool second_run(void *context)
{
	(void)context;
	return runs() == 2;
}

static void test_cancelled_while_it_runs(void **state)
{
	struct result one, other;

	(void)state;
	write_slow_plugin();
	write_answer("\"token\": \"t1\"" EXPIRED);
	script_start(&script, wants_t2, &KUBE_CLIENT_OPTIONS_INIT);
	ask(&one, KUBE_GET);
	ask(&other, KUBE_GET);
	assert_true(loop_wait_until(script.loop, second_run, NULL, WAIT_MS));
	kube_client_cancel(one.call);
	assert_int_equal(kube_client_pending(script.client), 1);
	script_done(&script);
	assert_int_equal(one.done + other.done, 0);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_expired),
		TEST(test_refused_by_the_server),
		TEST(test_not_asked_for_every_401),
		TEST(test_renewal_fails),
		TEST(test_the_loop_goes_on_and_writes_are_asked_again),
		TEST(test_cancelled_while_it_runs),
	};

	/* A terminal would be handed to the plugins. */
	if (!freopen("/dev/null", "r", stdin))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
