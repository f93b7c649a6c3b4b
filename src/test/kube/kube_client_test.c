/* kube/kube_client against a scripted server: its requests, the meaning of answers, limits and
 * deadlines. */
#include "kube/kube_client.h"

#include "test/support/kube_script.h"

#define PATH "/api/v1/namespaces/a/pods/p"

static struct kube_script script;

static int setup(void **state)
{
	(void)state;
	script = (struct kube_script){ .loop = NULL };
	return 0;
}

/* Notes "STATUS KIND BODY;" and keeps the error. */
struct result {
	int done, status;
	int64_t retry_after_ms;
	struct err err;
	char body[4096];
	struct kube_call *call;
	struct result *next; /* sent when this one is done */
};

static void on_done(void *context, const struct kube_answer *answer, const struct err *err)
{
	struct result *result = context;

	result->done++;
	result->status = answer->status;
	result->retry_after_ms = answer->retry_after_ms;
	assert_int_equal(strlen(answer->body), answer->body_size);
	(void)snprintf(result->body, sizeof(result->body), "%s", answer->body);
	if (err)
		result->err = *err;
	kube_client_cancel(result->call); /* allowed, does nothing */
	if (result->next)
		result->next->call = kube_client_send(script.client, KUBE_GET, PATH, NULL, 0,
						      on_done, result->next);
}

static void ask(struct result *result, enum kube_verb verb, const char *body)
{
	*result = (struct result){ .done = 0 };
	result->call =
		kube_client_send(script.client, verb, PATH, body, strlen(body), on_done, result);
	assert_int_equal(result->done, 0);
}

static bool is_done(void *context)
{
	return ((const struct result *)context)->done > 0;
}

static void finish(struct result *result)
{
	assert_true(loop_wait_until(script.loop, is_done, result, WAIT_MS));
	assert_int_equal(result->done, 1);
}

static void run(struct result *result, enum kube_verb verb, const char *body)
{
	ask(result, verb, body);
	finish(result);
}

/* ---- requests ---- */

static void script_echo(struct exchange *exchange, void *context)
{
	char body[32768];

	(void)context;
	(void)snprintf(body, sizeof(body), "%s %s %s ", exchange->method, exchange->path,
		       exchange->body);
	(void)snprintf(body + strlen(body), sizeof(body) - strlen(body), "%s ",
		       exchange_header(exchange, "Content-Type"));
	(void)snprintf(body + strlen(body), sizeof(body) - strlen(body), "%s ",
		       exchange_header(exchange, "Authorization"));
	(void)snprintf(body + strlen(body), sizeof(body) - strlen(body), "%s",
		       exchange_header(exchange, "User-Agent"));
	exchange_answer(exchange, 200, "", body);
}

static void test_verbs(void **state)
{
	static const struct {
		enum kube_verb verb;
		const char *body, *wanted;
	} cases[] = {
		{ KUBE_GET, "", "GET " PATH "   Bearer t1 rayscaler/test" },
		{ KUBE_CREATE, "{}", "POST " PATH " {} application/json Bearer t1 rayscaler/test" },
		{ KUBE_UPDATE, "{}", "PUT " PATH " {} application/json Bearer t1 rayscaler/test" },
		{ KUBE_JSON_PATCH, "[]",
		  "PATCH " PATH " [] application/json-patch+json Bearer t1 rayscaler/test" },
		{ KUBE_MERGE_PATCH, "{}",
		  "PATCH " PATH " {} application/merge-patch+json Bearer t1 rayscaler/test" },
		{ KUBE_DELETE, "", "DELETE " PATH "   Bearer t1 rayscaler/test" },
	};

	(void)state;
	script_start(&script, script_echo, &KUBE_CLIENT_OPTIONS_INIT);
	for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
		struct result result;

		run(&result, cases[i].verb, cases[i].body);
		assert_int_equal(result.err.kind, ERR_NONE);
		assert_string_equal(result.body, cases[i].wanted);
	}
	assert_int_equal(kube_client_pending(script.client), 0);
	script_done(&script);
}

/* ---- the meaning of answers ---- */

static void test_errors(void **state)
{
	static const struct step steps[] = {
		{ .kind = STEP_RESET }, /* of a connection that is new: not tried again */
		{ .status = 409 },
		{ .status = 422 },
		{ .status = 404, .text = "{'kind':'Status','reason':'NotFound','message':'no p'}" },
		{ .status = 429, .headers = "Retry-After: 3\r\n" },
		{ .status = 500, .text = "{'kind':'Status','details':{'retryAfterSeconds':2}}" },
		{ .status = 403 },
	};
	static const struct {
		enum err_kind kind;
		const char *text;
		int64_t retry_after_ms;
	} wanted[] = {
		{ ERR_RETRY, "patch pods a/p: http://127.0.0.1:", 0 },
		{ ERR_CONFLICT, "patch pods a/p: 409", 0 },
		{ ERR_CONFLICT, "patch pods a/p: 422", 0 },
		{ ERR_NOT_FOUND, "patch pods a/p: 404 NotFound: no p", 0 },
		{ ERR_RETRY, "patch pods a/p: 429", 3000 },
		{ ERR_RETRY, "patch pods a/p: 500", 2000 },
		{ ERR_DENIED, "verbs: [\"patch\"]} by a Role in namespace a", 0 },
	};

	(void)state;
	script_steps(&script, steps, SUPPORT_COUNT(steps));
	for (size_t i = 0; i < SUPPORT_COUNT(steps); i++) {
		struct result result;

		run(&result, KUBE_JSON_PATCH, "[]");
		assert_string_equal(err_kind_name(result.err.kind), err_kind_name(wanted[i].kind));
		if (!strstr(result.err.text, wanted[i].text))
			fail_msg("\"%s\" is not in \"%s\"", wanted[i].text, result.err.text);
		assert_int_equal(result.retry_after_ms, wanted[i].retry_after_ms);
		assert_string_equal(result.body, "");
	}
	script_done(&script);
}

static void test_limits_of_an_answer(void **state)
{
	static const struct step steps[] = {
		{ .text = "0123456789" },
		{ .text = "0123456789a" },
		{ .kind = STEP_HOLD },
		{ .kind = STEP_STREAM_HOLD, .text = "half" },
	};
	struct kube_client_options options = KUBE_CLIENT_OPTIONS_INIT;
	struct result result;

	(void)state;
	options.body_max_bytes = 10;
	options.timeout_ms = 300;
	script.steps = steps;
	script.step_count = SUPPORT_COUNT(steps);
	script_start(&script, script_request, &options);
	run(&result, KUBE_GET, "");
	assert_string_equal(result.body, "0123456789");
	run(&result, KUBE_GET, "");
	assert_int_equal(result.err.kind, ERR_LIMIT);
	run(&result, KUBE_GET, "");
	assert_int_equal(result.err.kind, ERR_TIMEOUT);
	run(&result, KUBE_GET, "");
	assert_int_equal(result.err.kind, ERR_TIMEOUT);
	script_done(&script);
}

/* ---- 401 ---- */

static void script_wants_t2(struct exchange *exchange, void *context)
{
	(void)context;
	if (strcmp(exchange_header(exchange, "Authorization"), "Bearer t2") == 0)
		exchange_answer(exchange, 200, "", "in");
	else
		exchange_answer(exchange, 401, "", "");
}

static void test_refused_token_is_read_again(void **state)
{
	struct result result;

	(void)state;
	script_start(&script, script_wants_t2, &KUBE_CLIENT_OPTIONS_INIT);
	run(&result, KUBE_GET, "");
	assert_int_equal(result.err.kind, ERR_DENIED);
	assert_non_null(strstr(result.err.text, "check the credentials of kubeconfig"));
	assert_int_equal(server_count(script.server, "GET"), 1); /* nothing new: no second try */
	temp_write(script.directory, "token", "t2");
	run(&result, KUBE_GET, ""); /* within the second in which files are not checked */
	assert_string_equal(result.body, "in");
	assert_int_equal(server_count(script.server, "GET"), 3);
	temp_write(script.directory, "token", "t3");
	kube_config_refused(script.config);
	run(&result, KUBE_GET, "");
	assert_int_equal(result.err.kind, ERR_DENIED);
	script_done(&script);
}

/* ---- the rate limit ---- */

static void test_rate_limit(void **state)
{
	struct kube_client_options options = { .qps = 20, .burst = 2, .timeout_ms = 10000 };
	struct result results[6];
	int64_t begin_ms;

	(void)state;
	script_start(&script, script_echo, &options);
	run(&results[0], KUBE_GET, ""); /* updates the loop's clock */
	begin_ms = loop_monotonic_ms(script.loop);
	for (size_t i = 0; i < SUPPORT_COUNT(results); i++)
		ask(&results[i], KUBE_GET, "");
	assert_int_equal(kube_client_pending(script.client), 6);
	for (size_t i = 0; i < SUPPORT_COUNT(results); i++)
		finish(&results[i]);
	/* One or two were free, the others follow 50 ms apart. */
	assert_in_range(loop_monotonic_ms(script.loop) - begin_ms, 190, 5000);
	script_done(&script);
}

static void test_no_rate_limit(void **state)
{
	struct kube_client_options options = { .qps = 0, .burst = 1, .timeout_ms = 10000 };
	struct result results[100];

	(void)state;
	script_start(&script, script_echo, &options);
	for (size_t i = 0; i < SUPPORT_COUNT(results); i++)
		ask(&results[i], KUBE_GET, "");
	for (size_t i = 0; i < SUPPORT_COUNT(results); i++) {
		finish(&results[i]);
		assert_int_equal(results[i].err.kind, ERR_NONE);
	}
	script_done(&script);
}

static bool holds_64(void *context)
{
	(void)context;
	return server_count(script.server, "GET") >= 64;
}

/* However many may be sent, the server never has more than 64 at once. */
static void test_in_flight(void **state)
{
	struct kube_client_options options = { .qps = 0, .burst = 1, .timeout_ms = 10000 };
	struct result results[100];

	(void)state;
	script_start(&script, script_request, &options);
	for (size_t i = 0; i < SUPPORT_COUNT(results); i++)
		ask(&results[i], KUBE_GET, "");
	assert_true(loop_wait_until(script.loop, holds_64, NULL, WAIT_MS));
	assert_false(loop_wait_until(script.loop, is_done, &results[0], 100));
	assert_int_equal(server_count(script.server, "GET"), 64);
	assert_int_equal(kube_client_pending(script.client), 100);
	script_done(&script);
}

static void test_queue_has_a_deadline(void **state)
{
	struct kube_client_options options = { .qps = 1, .burst = 1, .timeout_ms = 200 };
	struct result first, second, third;

	(void)state;
	script_start(&script, script_echo, &options);
	ask(&first, KUBE_GET, "");
	ask(&second, KUBE_GET, "");
	ask(&third, KUBE_GET, "");
	kube_client_cancel(second.call);
	finish(&first);
	finish(&third);
	assert_int_equal(first.err.kind, ERR_NONE);
	assert_int_equal(third.err.kind, ERR_TIMEOUT);
	assert_non_null(strstr(third.err.text, "get pods a/p: not sent for 200 ms because of our"));
	assert_int_equal(second.done, 0);
	assert_int_equal(server_count(script.server, "GET"), 1);
	script_done(&script);
}

/* ---- cancel and chains ---- */

static void test_cancel_and_free(void **state)
{
	static const struct step steps[] = { { .kind = STEP_HOLD },
					     { .kind = STEP_HOLD },
					     { .text = "x" } };
	struct result sent, left, last;

	(void)state;
	script_steps(&script, steps, SUPPORT_COUNT(steps));
	ask(&sent, KUBE_GET, "");
	ask(&left, KUBE_GET, "");
	while (server_count(script.server, "GET") < 2) {
		ask(&last, KUBE_GET, "");
		kube_client_cancel(last.call);
		(void)loop_wait_until(script.loop, is_done, &sent, 5);
	}
	kube_client_cancel(sent.call);
	kube_client_cancel(NULL);
	assert_int_equal(kube_client_pending(script.client), 1);
	run(&last, KUBE_GET, "");
	assert_string_equal(last.body, "x");
	assert_int_equal(sent.done + left.done, 0);
	script_done(&script); /* with `left` under way */
}

static void test_chain(void **state)
{
	struct result results[50] = { { .done = 0 } };

	(void)state;
	script_start(&script, script_echo, &KUBE_CLIENT_OPTIONS_INIT);
	for (size_t i = 0; i + 1 < SUPPORT_COUNT(results); i++)
		results[i].next = &results[i + 1];
	results[0].call =
		kube_client_send(script.client, KUBE_GET, PATH, NULL, 0, on_done, &results[0]);
	finish(&results[SUPPORT_COUNT(results) - 1]);
	assert_int_equal(server_connections(script.server), 1);
	script_done(&script);
}

/* ---- clients that may not write ---- */

static bool may_write;

static bool ask_may_write(void *context)
{
	return *(bool *)context;
}

static void note_answer(void *context, const char *verb, int status)
{
	char *seen = context;

	(void)snprintf(seen + strlen(seen), 64 - strlen(seen), "%s %d;", verb, status);
}

/* The metrics count every answer by its verb, with status 0 when there was none. */
static void test_answers_are_declared(void **state)
{
	static const struct step steps[] = { { "GET /", .text = "read" },
					     { "PATCH /", .status = 409, .text = "{}" },
					     { "POST /", .kind = STEP_HOLD } };
	struct kube_client_options options = KUBE_CLIENT_OPTIONS_INIT;
	struct result result;
	char seen[64] = "";

	(void)state;
	options.timeout_ms = 500;
	options.answered = note_answer;
	options.answered_context = seen;
	script.steps = steps;
	script.step_count = SUPPORT_COUNT(steps);
	script_start(&script, script_request, &options);
	run(&result, KUBE_GET, "");
	run(&result, KUBE_MERGE_PATCH, "{}");
	run(&result, KUBE_CREATE, "{}");
	assert_string_equal(seen, "get 200;patch 409;create 0;");
	script_done(&script);
}

/* A refused write fails in a later loop iteration and delays no other call. */
static void test_who_may_not_write(void **state)
{
	static const enum kube_verb writes[] = { KUBE_CREATE, KUBE_JSON_PATCH, KUBE_MERGE_PATCH,
						 KUBE_UPDATE, KUBE_DELETE };
	static const struct step steps[] = { { "GET /", .text = "read" },
					     { "PATCH /", .text = "written" } };
	struct kube_client_options options = KUBE_CLIENT_OPTIONS_INIT;
	struct result refused[SUPPORT_COUNT(writes)], read, written;

	(void)state;
	options.qps = 0;
	options.may_write = ask_may_write;
	options.may_write_context = &may_write;
	may_write = false;
	script.steps = steps;
	script.step_count = SUPPORT_COUNT(steps);
	script_start(&script, script_request, &options);
	for (size_t i = 0; i < SUPPORT_COUNT(writes); i++)
		ask(&refused[i], writes[i], "{}");
	ask(&read, KUBE_GET, "");
	finish(&read);
	assert_string_equal(read.body, "read");
	for (size_t i = 0; i < SUPPORT_COUNT(writes); i++) {
		finish(&refused[i]);
		assert_int_equal(refused[i].err.kind, ERR_RETRY);
		assert_int_equal(refused[i].status, 0);
		assert_non_null(strstr(refused[i].err.text, "pods a/p: not sent, this replica"));
	}
	assert_int_equal(kube_client_pending(script.client), 0);
	may_write = true;
	run(&written, KUBE_JSON_PATCH, "[]");
	assert_string_equal(written.body, "written");
	script_done(&script);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_verbs),
		TEST(test_errors),
		TEST(test_answers_are_declared),
		TEST(test_limits_of_an_answer),
		TEST(test_refused_token_is_read_again),
		TEST(test_rate_limit),
		TEST(test_no_rate_limit),
		TEST(test_in_flight),
		TEST(test_queue_has_a_deadline),
		TEST(test_cancel_and_free),
		TEST(test_chain),
		TEST(test_who_may_not_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
