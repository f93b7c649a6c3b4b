/* kube/kube_lease and clocks: our own clock counts, from before a renewal was sent, and the wall
 * clock does not matter. Also a server that answers 429. */
#include "test/support/lease_bench.h"
#include "test/support/virtual_clock.h"

#define DAY_S 86400
#define STOPPED_S 2 /* longer than RENEW_MS and LEASE_MS */
#define REST_MS (RENEW_MS / 2)
#define REQUESTS_MAX 4
#define APART "/apart/" /* the paths of the elector with a client of its own */

static struct {
	_Atomic int stop;     /* so many writes take STOPPED_S, by our clock */
	_Atomic bool rest;    /* 429 with Retry-After */
	_Atomic int requests; /* while rest */
	_Atomic bool cut;     /* no answer on the paths APART */
	_Atomic int64_t at_ms[REQUESTS_MAX];
} api;

static void answer(struct exchange *exchange, void *context)
{
	if (api.cut && strncmp(exchange->path, APART, sizeof(APART) - 1) == 0) {
		exchange_hold(exchange);
		return;
	}
	if (api.rest) {
		int number = atomic_fetch_add(&api.requests, 1);

		if (number < REQUESTS_MAX)
			api.at_ms[number] = loop_boot_ms();
		exchange_answer(exchange, 429, "Retry-After: 30\r\n", "{}");
		return;
	}
	if (strcmp(exchange->method, "GET") != 0 && api.stop > 0) {
		api.stop--;
		jump_boot_s += STOPPED_S;
	}
	lease_server_answer(exchange, context);
}

static int setup_clocks(void **state)
{
	(void)state;
	jump_reset();
	memset((void *)&api, 0, sizeof(api));
	lease_script = (struct kube_script){ .loop = NULL };
	one = two = (struct elector){ .lease = NULL };
	lease_server_reset();
	script_start(&lease_script, answer,
		     &(struct kube_client_options){ .burst = 1,
						    .timeout_ms = TIMEOUT_MS,
						    .body_max_bytes = KUBE_LEASE_BODY_MAX });
	return 0;
}

/* An elector on another way to the same API server. */
static struct {
	struct kube_config *config;
	struct kube_client *client;
} apart;

static void enter_apart(struct elector *elector, const char *identity)
{
	struct kube_lease_options options = usual_options(elector, identity);
	char text[512];
	char *path;
	struct err err;

	(void)snprintf(text, sizeof(text),
		       "current-context: x\n"
		       "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:%d" APART "'}}]\n"
		       "users: [{name: u, user: {token: t}}]\n"
		       "contexts: [{name: x, context: {cluster: c, user: u}}]\n",
		       lease_script.server->port);
	temp_write(lease_script.directory, "apart", text);
	path = temp_path(lease_script.directory, "apart");
	apart.config = kube_config_load(&(struct kube_config_options){ .kubeconfig = path }, &err);
	CHECK(apart.config);
	memory_free(path);
	apart.client = kube_client_new(
		lease_script.loop, lease_script.https, apart.config,
		&(struct kube_client_options){ .burst = 1,
					       .timeout_ms = TIMEOUT_MS,
					       .body_max_bytes = KUBE_LEASE_BODY_MAX });
	elector->lease = kube_lease_new(apart.client, &options);
}

static int teardown_clocks(void **state)
{
	kube_lease_free(steal(&one.lease));
	kube_client_free(steal(&apart.client));
	lease_bench_teardown(state);
	kube_config_free(steal(&apart.config));
	return 0;
}

static bool has_failed(void *context)
{
	return ((const struct elector *)context)->errors > 0;
}

static void settle_again(void)
{
	one.goods = two.goods = 0;
	until(is_settled, &one);
	until(is_settled, &two);
}

static void test_a_wall_clock_that_jumps(void **state)
{
	(void)state;
	enter(&one, "x");
	until(leads, &one);
	enter(&two, "y");
	until(is_settled, &two);
	jump_wall_s = DAY_S;
	settle_again();
	jump_wall_s = -DAY_S;
	settle_again();
	assert_true(kube_lease_held(one.lease));
	assert_int_equal(one.lost + two.leading + one.errors + two.errors, 0);
}

/* The write succeeded, but the Lease may have expired before its answer arrives. */
static void test_an_answer_that_comes_too_late_is_no_lease(void **state)
{
	(void)state;
	api.stop = 1;
	enter(&one, "x");
	until(has_failed, &one);
	assert_non_null(strstr(one.err.text, "was too late"));
	assert_int_equal(one.leading, 0);
	until(leads, &one);
	assert_true(kube_lease_held(one.lease));
}

/* As SIGSTOP and SIGCONT: nothing more is written, whether a timer fires or an answer arrives
 * first. */
static void test_who_was_stopped_renews_nothing(void **state)
{
	size_t accepted;

	(void)state;
	enter(&one, "x");
	until(is_settled, &one);
	jump_boot_s = STOPPED_S;
	assert_false(kube_lease_held(one.lease));
	accepted = lease_server_accepted();
	until(has_lost, &one);
	/* One may have been on its way. */
	assert_true(lease_server_accepted() <= accepted + 1);
}

static bool has_asked(void *context)
{
	(void)context;
	return api.requests >= REQUESTS_MAX;
}

static void test_retry_after_is_obeyed_as_far_as_it_can(void **state)
{
	(void)state;
	api.rest = true;
	enter(&one, "x");
	until(has_asked, &one);
	for (size_t i = 1; i < REQUESTS_MAX; i++)
		assert_true(api.at_ms[i] - api.at_ms[i - 1] >= REST_MS - 5);
	api.rest = false;
	until(leads, &one);
}

/* Cut off from the API server while another one is not: it stops before the other one leads. */
static void test_who_is_cut_off_stops_before_another_begins(void **state)
{
	(void)state;
	enter_apart(&one, "x");
	until(leads, &one);
	enter(&two, "y");
	until(is_settled, &two);
	api.cut = true;
	until(leads, &two);
	assert_int_equal(one.lost, 1);
	assert_true(one.lost_ms < two.leading_ms);
	assert_non_null(strstr(one.why, "it was not renewed for"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_clocks, teardown_clocks)
		TEST(test_a_wall_clock_that_jumps),
		TEST(test_an_answer_that_comes_too_late_is_no_lease),
		TEST(test_who_was_stopped_renews_nothing),
		TEST(test_retry_after_is_obeyed_as_far_as_it_can),
		TEST(test_who_is_cut_off_stops_before_another_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
