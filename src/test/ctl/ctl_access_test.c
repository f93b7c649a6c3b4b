/* ctl/report/access, with a server that answers TokenReviews and SubjectAccessReviews. */
#include "ctl/report/access.h"

#include "net/log.h"
#include "test/support/kube_script.h"
#include "test/support/log_capture.h"

#define KEPT_MS 300
#define GOOD "Bearer good"
#define FLOOD 10000

static struct kube_script script;
static struct access *access_;
static const char *peer; /* who asks */

/* Read by the threads of the server. */
static struct {
	_Atomic int tokens, rights; /* reviews */
	_Atomic int status;         /* of every answer, when it is not 0 */
	_Atomic bool hold;          /* no answer */
	_Atomic bool revoked;       /* no token is accepted any more */
	_Atomic bool moved;         /* the users are in group moved */
	_Atomic bool garbage;
} api;

/* Tokens that begin with "good" are accepted; the user is the token. Allowed are: the path /metrics,
 * namespace "mine", in namespace "named" the name "one", and everything for "goodall". */
static void answer_token(struct exchange *exchange)
{
	const char *token = strstr(exchange->body, "\"token\": \"good");
	char text[512] = "{\"status\": {\"authenticated\": false, \"error\": \"unknown\"}}";

	api.tokens++;
	if (token && !api.revoked) {
		token += strlen("\"token\": \"");
		(void)snprintf(text, sizeof(text),
			       "{\"status\": {\"authenticated\": true, \"user\": {\"username\": "
			       "\"%.*s\", \"uid\": \"7\", \"groups\": [\"%s\"], \"extra\": "
			       "{\"scopes\": [\"a\"]}}}}",
			       (int)strcspn(token, "\""), token, api.moved ? "moved" : "users");
	}
	exchange_answer(exchange, 201, "", text);
}

static bool has(const struct exchange *exchange, const char *text)
{
	char *wanted = script_text(text);
	bool found = strstr(exchange->body, wanted) != NULL;

	memory_free(wanted);
	return found;
}

static bool is_allowed(const struct exchange *exchange)
{
	if (!has(exchange, "'uid': '7'") || !has(exchange, "'extra': {'scopes':['a']}") ||
	    !has(exchange, "'groups': ['users']"))
		return false;
	if (has(exchange, "'nonResourceAttributes': {'verb': 'get', 'path': '/metrics'}"))
		return true;
	if (!has(exchange, "'resourceAttributes': {'verb': 'get', 'group': 'rayscaler.dev', "
			   "'resource': 'rayclusterautoscalers', 'subresource': 'status'"))
		return false;
	return has(exchange, "'user': 'goodall'") || has(exchange, "'namespace': 'mine'") ||
	       (has(exchange, "'namespace': 'named'") && has(exchange, "'name': 'one'"));
}

static void answer(struct exchange *exchange, void *context)
{
	char text[64];

	(void)context;
	(void)snprintf(text, sizeof(text), "{\"status\": {\"allowed\": %s}}",
		       is_allowed(exchange) ? "true" : "false");
	if (api.hold) {
		exchange_hold(exchange);
	} else if (api.status > 0) {
		exchange_answer(exchange, api.status, "", "{\"message\": \"refused here\"}");
	} else if (api.garbage) {
		exchange_answer(exchange, 201, "", "{\"status\": 7}");
	} else if (strstr(exchange->path, "/tokenreviews")) {
		answer_token(exchange);
	} else {
		api.rights++;
		exchange_answer(exchange, 201, "", text);
	}
}

static int setup(void **state)
{
	struct kube_client_options options = KUBE_CLIENT_OPTIONS_INIT;

	(void)state;
	memset(&api, 0, sizeof(api));
	peer = "10.0.0.1";
	options.timeout_ms = 1000;
	script = (struct kube_script){ .loop = NULL };
	script_start(&script, answer, &options);
	access_ = access_new(script.client, &(struct access_options){ .kept_ms = 60000 });
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	access_free(access_);
	script_done(&script);
	return 0;
}

static void keep_for(int64_t kept_ms)
{
	access_free(access_);
	access_ = access_new(script.client, &(struct access_options){ .kept_ms = kept_ms });
}

struct asked {
	int status; /* 0: no verdict yet */
	char text[512];
};

static void judged(void *context, const struct access_verdict *verdict)
{
	struct asked *asked = context;

	assert_int_equal(asked->status, 0);
	asked->status = verdict->status;
	(void)snprintf(asked->text, sizeof(asked->text), "%s", verdict->text);
}

static bool is_judged(void *context)
{
	return ((struct asked *)context)->status != 0;
}

static struct access_question *start(const char *token, const char *namespace_, const char *name,
				     struct asked *asked)
{
	const struct access_right right = { .path = namespace_ ? NULL : "/metrics",
					    .namespace_ = namespace_,
					    .name = name };
	struct access_question *question;

	*asked = (struct asked){ .status = 0 };
	question = access_ask(access_, token, peer, &right, judged, asked);
	assert_true((asked->status != 0) == (question == NULL));
	return question;
}

/* namespace_ NULL: the path /metrics. */
static int ask(const char *token, const char *namespace_, const char *name, struct asked *asked)
{
	start(token, namespace_, name, asked);
	assert_true(loop_wait_until(script.loop, is_judged, asked, WAIT_MS));
	return asked->status;
}

static bool never(void *context)
{
	(void)context;
	return false;
}

/* Until the answers that are kept have passed their time. */
static void age(void)
{
	(void)loop_wait_until(script.loop, never, NULL, KEPT_MS + 100);
}

static void expect_text(const struct asked *asked, const char *text)
{
	if (!strstr(asked->text, text))
		fail_msg("\"%s\" is not in \"%s\"", text, asked->text);
}

static void test_who_asks(void **state)
{
	static const char *const none[] = { NULL,          "",        "good",       "Basic good",
					    "Bearer",      "Bearer ", "Bearer a b", "Bearer \"a\"",
					    "Bearer g\xc3" };
	struct asked asked;

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(none); i++) {
		assert_int_equal(ask(none[i], NULL, NULL, &asked), 401);
		expect_text(&asked, "needs a bearer token");
	}
	assert_int_equal(api.tokens, 0);
	assert_int_equal(ask("Bearer forged", NULL, NULL, &asked), 401);
	expect_text(&asked, "does not accept this bearer token");
	assert_int_equal(ask(GOOD, NULL, NULL, &asked), 200);
	assert_int_equal(ask("bearer  good", NULL, NULL, &asked), 200);
	assert_int_equal(api.tokens, 2);
	assert_int_equal(api.rights, 1);
}

static void test_rights(void **state)
{
	struct asked asked;

	(void)state;
	assert_int_equal(ask(GOOD, "mine", "a", &asked), 200);
	assert_int_equal(ask(GOOD, "mine", "b", &asked), 200);
	assert_int_equal(api.rights, 1); /* that to the namespace serves both */
	assert_int_equal(ask(GOOD, "named", "one", &asked), 200);
	assert_int_equal(ask(GOOD, "named", "two", &asked), 403);
	expect_text(&asked,
		    "good may not read this; it needs the verb get on resource "
		    "rayclusterautoscalers/status of API group rayscaler.dev in namespace named");
	assert_int_equal(ask(GOOD, "", "", &asked), 403);
	expect_text(&asked, "in all namespaces");
	assert_int_equal(ask(GOOD, "other", "one", &asked), 403);
	assert_int_equal(api.rights, 7);
	/* Once known, the right to all namespaces serves each. */
	assert_int_equal(ask("Bearer goodall", "", "", &asked), 200);
	assert_int_equal(ask("Bearer goodall", "other", "one", &asked), 200);
	assert_int_equal(api.rights, 8);
	assert_int_equal(api.tokens, 2);
}

static void test_answers_are_kept_and_end(void **state)
{
	struct asked asked;

	(void)state;
	keep_for(KEPT_MS);
	assert_int_equal(ask(GOOD, NULL, NULL, &asked), 200);
	assert_int_equal(ask("Bearer forged", NULL, NULL, &asked), 401);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(ask(GOOD, NULL, NULL, &asked), 200);
		assert_int_equal(ask("Bearer forged", NULL, NULL, &asked), 401);
	}
	assert_int_equal(api.tokens, 2);
	assert_int_equal(api.rights, 1);
	age();
	assert_int_equal(ask(GOOD, NULL, NULL, &asked), 200);
	assert_int_equal(api.tokens, 3);
	assert_int_equal(api.rights, 2);
	age();
	api.moved = true; /* into a group without the right */
	assert_int_equal(ask(GOOD, NULL, NULL, &asked), 403);
	age();
	api.revoked = true;
	assert_int_equal(ask(GOOD, NULL, NULL, &asked), 401);
	age();
	api.revoked = api.moved = false;
	assert_int_equal(ask(GOOD, NULL, NULL, &asked), 200);
}

/* Questions at the same time share the reviews. */
static void test_one_review_for_all(void **state)
{
	struct asked asked[30];

	(void)state;
	assert_int_equal(ask(GOOD, NULL, NULL, &asked[0]), 200);
	for (size_t i = 0; i < SUPPORT_COUNT(asked); i++)
		start(GOOD, "mine", "a", &asked[i]);
	for (size_t i = 0; i < SUPPORT_COUNT(asked); i++) {
		assert_true(loop_wait_until(script.loop, is_judged, &asked[i], WAIT_MS));
		assert_int_equal(asked[i].status, 200);
	}
	assert_int_equal(api.tokens, 1);
	assert_int_equal(api.rights, 2);
}

/* A flood of forged tokens costs the API server the burst and then a few reviews a second, and an
 * accepted token is used and renewed meanwhile. */
static void test_a_flood_of_forged_tokens(void **state)
{
	int64_t begun_ms = loop_precise_us() / 1000, took_s;
	int refused = 0, unknown = 0, honest = 0;
	char token[64];

	(void)state;
	keep_for(KEPT_MS);
	struct asked asked, honest_asked;
	assert_int_equal(ask(GOOD, NULL, NULL, &asked), 200);
	for (int i = 0; i < FLOOD; i++) {
		(void)snprintf(token, sizeof(token), "Bearer forged%d", i);
		assert_int_not_equal(ask(token, NULL, NULL, &asked), 200);
		refused += asked.status == 429;
		unknown += asked.status == 401;
		if (i % 1000 == 999) {
			age(); /* a scrape after a pause */
			assert_int_equal(ask(GOOD, NULL, NULL, &honest_asked), 200);
			honest++;
		}
	}
	took_s = (loop_precise_us() / 1000 - begun_ms) / 1000 + 1;
	assert_int_equal(refused + unknown, FLOOD);
	assert_int_equal(honest, FLOOD / 1000);
	assert_true(unknown <= ACCESS_PEER_NEW_BURST + took_s * ACCESS_PEER_NEW_PER_SECOND);
	assert_int_equal(api.tokens, unknown + honest + 1);
}

/* One client's forged tokens delay no other client: it takes its own part, also of four at once. */
static void test_a_flood_of_one_client_delays_no_other(void **state)
{
	static const char *const floods[] = { "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4" };
	struct asked asked;
	char token[64];

	(void)state;
	for (int i = 0, refused = 0; refused < 100; i++) {
		peer = floods[i % (int)SUPPORT_COUNT(floods)];
		(void)snprintf(token, sizeof(token), "Bearer forged%d", i);
		assert_int_not_equal(ask(token, NULL, NULL, &asked), 200);
		refused += asked.status == 429;
	}
	peer = "10.0.0.9";
	assert_int_equal(ask(GOOD, NULL, NULL, &asked), 200);
}

/* The clients that are remembered have a limit. */
static void test_many_clients(void **state)
{
	struct asked asked;
	char address[32];

	(void)state;
	for (int i = 0; i < 2 * ACCESS_PEERS_MAX; i++) {
		(void)snprintf(address, sizeof(address), "10.0.%d.%d", i / 256, i % 256);
		peer = address;
		assert_int_not_equal(ask("Bearer forged", NULL, NULL, &asked), 200);
	}
}

static void test_few_unknown_tokens_wait(void **state)
{
	struct asked asked[ACCESS_PEER_NEW_WAITING_MAX + 1], honest;
	struct access_question *questions[ACCESS_PEER_NEW_WAITING_MAX + 1];
	char token[64];

	(void)state;
	assert_int_equal(ask(GOOD, NULL, NULL, &honest), 200);
	api.hold = true;
	for (size_t i = 0; i < SUPPORT_COUNT(asked); i++) {
		(void)snprintf(token, sizeof(token), "Bearer forged%zu", i / 2);
		questions[i] = start(token, NULL, NULL, &asked[i]);
	}
	assert_int_equal(asked[ACCESS_PEER_NEW_WAITING_MAX].status, 429);
	assert_int_equal(ask(GOOD, NULL, NULL, &honest), 200); /* kept */
	/* One gives up, and its place is free. */
	access_cancel(questions[0]);
	start("Bearer forged0", NULL, NULL, &asked[0]);
	assert_int_equal(asked[0].status, 0);
	for (size_t i = 0; i < ACCESS_PEER_NEW_WAITING_MAX; i++) {
		assert_true(loop_wait_until(script.loop, is_judged, &asked[i], WAIT_MS));
		assert_int_equal(asked[i].status, 503);
	}
	api.hold = false;
	assert_int_equal(ask("Bearer forged0", NULL, NULL, &asked[0]), 401);
}

/* More rights than are remembered: the bucket of the token refuses, and other tokens have theirs. */
static void test_a_flood_of_names(void **state)
{
	int refused = 0, forbidden = 0;
	struct asked asked;
	char name[32];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		assert_int_not_equal(ask(GOOD, name, "one", &asked), 200);
		refused += asked.status == 429;
		forbidden += asked.status == 403;
	}
	assert_int_equal(refused + forbidden, 1000);
	assert_true(api.rights < 400);
	assert_true(refused > 600);
	assert_int_equal(ask("Bearer good2", "mine", "a", &asked), 200);
}

/* Refused tokens replace only each other, the one that was used longest ago first; accepted ones the
 * same. */
static void test_the_tables_are_bounded(void **state)
{
	struct asked asked;
	char token[64];

	(void)state;
	access_free(access_);
	access_ = access_new(script.client, &(struct access_options){ .tokens_max = 2 });
	assert_int_equal(ask(GOOD, NULL, NULL, &asked), 200);
	for (int i = 0; i < 3; i++) {
		(void)snprintf(token, sizeof(token), "Bearer forged%d", i);
		assert_int_equal(ask(token, NULL, NULL, &asked), 401);
		assert_int_equal(ask("Bearer forged0", NULL, NULL, &asked), 401);
	}
	assert_int_equal(api.tokens, 4);
	assert_int_equal(ask("Bearer forged1", NULL, NULL, &asked), 401);
	assert_int_equal(api.tokens, 5);
	assert_int_equal(ask("Bearer good1", NULL, NULL, &asked), 200);
	assert_int_equal(ask(GOOD, NULL, NULL, &asked), 200);
	assert_int_equal(api.tokens, 6);
	assert_int_equal(ask("Bearer good2", NULL, NULL, &asked), 200);
	assert_int_equal(ask(GOOD, NULL, NULL, &asked), 200);
	assert_int_equal(api.tokens, 7);
	assert_int_equal(ask("Bearer good1", NULL, NULL, &asked), 200);
	assert_int_equal(api.tokens, 8);
}

static void expect_unanswered(const char *log)
{
	struct asked asked;

	CAPTURE_LOG(assert_int_equal(ask("Bearer good-unknown", NULL, NULL, &asked), 503));
	expect_text(&asked, "the controller's log has the cause");
	if (!strstr(output, log))
		fail_msg("\"%s\" is not in \"%s\"", log, output);
	assert_null(strstr(output, "good-unknown"));
}

static void test_the_api_server_does_not_answer(void **state)
{
	struct asked asked;

	(void)state;
	api.status = 403;
	expect_unanswered("tokenreviews");
	api.status = 500;
	expect_unanswered("500");
	api.status = 0;
	api.garbage = true;
	expect_unanswered("status: must be an object");
	api.garbage = false;
	api.hold = true;
	expect_unanswered("cannot check bearer tokens");
	api.hold = false;
	assert_int_equal(ask(GOOD, NULL, NULL, &asked), 200);
	api.status = 500;
	assert_int_equal(ask(GOOD, "mine", "a", &asked), 503);
	api.status = 0;
	assert_int_equal(ask(GOOD, "mine", "a", &asked), 200);
}

static void test_the_end_with_questions(void **state)
{
	struct asked asked[3];

	(void)state;
	assert_int_equal(ask(GOOD, NULL, NULL, &asked[0]), 200);
	api.hold = true;
	start(GOOD, "mine", "a", &asked[0]);
	start("Bearer forged", "mine", "a", &asked[1]);
	access_cancel(start(GOOD, "other", "a", &asked[2]));
	access_free(access_);
	access_ = NULL;
	assert_int_equal(asked[0].status, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_who_asks),
		TEST(test_rights),
		TEST(test_answers_are_kept_and_end),
		TEST(test_one_review_for_all),
		TEST(test_a_flood_of_forged_tokens),
		TEST(test_a_flood_of_one_client_delays_no_other),
		TEST(test_many_clients),
		TEST(test_few_unknown_tokens_wait),
		TEST(test_a_flood_of_names),
		TEST(test_the_tables_are_bounded),
		TEST(test_the_api_server_does_not_answer),
		TEST(test_the_end_with_questions),
	};

	log_level_set(LOG_WARNING);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
