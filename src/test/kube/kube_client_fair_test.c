/* kube/kube_client with several clusters: one that asks for a lot, or is never answered, and others. */
#include "kube/kube_client.h"

#include "test/support/kube_script.h"

#define HOSTILE 1000
#define HONEST 50

static struct kube_script script;

static struct {
	size_t hostile, honest; /* answered */
} seen;

static int setup(void **state)
{
	(void)state;
	script = (struct kube_script){ .loop = NULL };
	memset(&seen, 0, sizeof(seen));
	return 0;
}

static void on_done(void *context, const struct kube_answer *answer, const struct err *err)
{
	size_t *counter = context;

	assert_null(err);
	assert_int_equal(answer->status, 200);
	++*counter;
}

/* A write of a cluster, as passes send it. */
static void ask_for(const char *flow, size_t *counter)
{
	char path[100];

	(void)snprintf(path, sizeof(path), "/apis/ray.io/v1/%s", flow);
	(void)kube_client_request(script.client,
				  &(struct kube_request){ .verb = KUBE_JSON_PATCH,
							  .path = path,
							  .body = "[]",
							  .body_size = 2,
							  .flow = flow },
				  on_done, counter);
}

static bool all_honest_are_done(void *context)
{
	(void)context;
	return seen.honest == HONEST;
}

static bool is_answered(void *context)
{
	return *(const size_t *)context > 0;
}

/* The server never answers one cluster. */
static void script_hangs_one(struct exchange *exchange, void *context)
{
	(void)context;
	if (strstr(exchange->path, "hangs"))
		exchange_hold(exchange);
	else
		exchange_answer(exchange, 200, "", "{}");
}

/* One cluster has 1,000 writes waiting, 50 have one: the rate is shared in turn. */
static void test_a_cluster_delays_no_other(void **state)
{
	struct kube_client_options options = { .qps = 200, .burst = 1, .timeout_ms = 60000 };
	char flow[32];

	(void)state;
	script_start(&script, script_hangs_one, &options);
	for (size_t i = 0; i < HOSTILE; i++)
		ask_for("n/hostile", &seen.hostile);
	for (size_t i = 0; i < HONEST; i++) {
		(void)snprintf(flow, sizeof(flow), "n/honest-%zu", i);
		ask_for(flow, &seen.honest);
	}
	assert_true(loop_wait_until(script.loop, all_honest_are_done, NULL, WAIT_MS));
	assert_in_range(seen.hostile, 0, HONEST + 2);
	assert_true(kube_client_pending(script.client) >= HOSTILE - HONEST - 2);
	script_done(&script);
}

/* It takes its own places under way, however often it asks, and no one else's. */
static void test_hanging_requests_of_a_cluster_hold_up_no_other(void **state)
{
	struct kube_client_options options = { .qps = 0, .burst = 1, .timeout_ms = 60000 };
	size_t hanging = 0, own = 0;
	char flow[32];

	(void)state;
	script_start(&script, script_hangs_one, &options);
	for (size_t i = 0; i < 100; i++)
		ask_for("n/hangs", &hanging);
	for (size_t i = 0; i < HONEST; i++) {
		(void)snprintf(flow, sizeof(flow), "n/honest-%zu", i);
		ask_for(flow, &seen.honest);
	}
	assert_true(loop_wait_until(script.loop, all_honest_are_done, NULL, WAIT_MS));
	(void)kube_client_send(script.client, KUBE_GET, "/apis/ray.io/v1/rayclusters", NULL, 0,
			       on_done, &own);
	assert_true(loop_wait_until(script.loop, is_answered, &own, WAIT_MS));
	assert_int_equal(hanging, 0);
	assert_int_equal(server_count(script.server, "n/hangs"), 4);
	script_done(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_cluster_delays_no_other, setup),
		cmocka_unit_test_setup(test_hanging_requests_of_a_cluster_hold_up_no_other, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
