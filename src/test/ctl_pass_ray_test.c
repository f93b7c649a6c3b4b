/* One pass against a GCS that lies, hangs or says too much: what is believed, what is told, and that
 * nobody else waits for it. */
#include "test/pass_bench.h"

#define HUGE_BYTES ((size_t)100 << 20)
#define HANGING 20

static char *huge;

static void answer_huge(struct h2_server *server, struct h2_stream *stream)
{
	if (!strstr(stream->path, "State")) {
		handle(server, stream);
		return;
	}
	h2_stream_answer(stream, &(struct h2_answer){ .message = huge, .size = HUGE_BYTES });
}

static void test_reply_of_100_mib_is_refused_with_a_reason(void **state)
{
	(void)state;
	idle_worker();
	huge = memory_alloc(HUGE_BYTES);
	bench.gcs.server.handler = answer_huge;
	run_pass(NULL);
	assert_false(seen.ray_reached);
	assert_int_equal(ray.drains + (unsigned)api.patches, 0);
	assert_non_null(strstr(seen.active, "104857600 bytes, more than the ceiling of 67108864"));
	assert_true(seen.reading.refused);
	/* The next reply is as good as ever. */
	bench.gcs.server.handler = on_call;
	seen.endings = 0;
	run_pass(NULL);
	assert_true(seen.ray_reached);
	assert_false(seen.reading.refused);
	memory_free(huge);
}

static void test_state_without_nodes_is_no_empty_cluster(void **state)
{
	(void)state;
	idle_worker();
	cluster_state.n_node_states = 0;
	run_pass(NULL);
	assert_non_null(strstr(seen.active, "no living head node"));
	assert_int_equal(ray.drains + (unsigned)api.patches, 0);
}

static void test_what_a_reading_costs(void **state)
{
	(void)state;
	seen.ray_note = "it is read every 8 s";
	run_pass(NULL);
	assert_in_range(seen.reading.bytes, 50, 1000);
	assert_non_null(strstr(seen.active, "1 node; it is read every 8 s"));
	ray.mute_state = true;
	seen.endings = 0;
	run_pass(NULL);
	assert_int_equal(seen.reading.bytes, 0);
	assert_in_range(seen.reading.took_ms, 900, WAIT_MS);
	assert_non_null(strstr(seen.active, "still scale up; it is read every 8 s"));
}

/* --- many heads that hang, and one that does not --- */

static struct fake_gcs hanging;
static int hung_decisions, hung_endings;

static void hung_decided(void *context, const struct pass_decision *decision)
{
	(void)context;
	assert_null(decision->ray_state);
	hung_decisions++;
}

static void hung_ended(void *context, const struct pass_result *result)
{
	struct pass **pass = context;

	assert_true(result->reading.took_ms >= 900);
	hung_endings++;
	pass_free(steal(pass));
}

static bool all_hung_have_ended(void *context)
{
	(void)context;
	return hung_endings == HANGING;
}

static bool all_are_asked(void *context)
{
	(void)context;
	return hanging.server.connections == HANGING && hanging.path[0] != '\0';
}

static void test_heads_that_hang_delay_nobody(void **state)
{
	struct gcs_client *clients[HANGING];
	struct pass *passes[HANGING];
	struct gcs_config gcs = config();

	(void)state;
	memset(&hanging, 0, sizeof(hanging));
	hung_decisions = hung_endings = 0;
	hanging.server.handler = handle;
	hanging.server.context = &hanging;
	hanging.mute = true;
	buf_init(&hanging.body, 1u << 20);
	h2_server_start(&hanging.server, bench.loop, 0);
	gcs.port = hanging.server.port;
	for (size_t i = 0; i < HANGING; i++) {
		struct pass_callbacks callbacks = { .context = &passes[i],
						    .view = view,
						    .decided = hung_decided,
						    .done = hung_ended };

		clients[i] = gcs_client_new(bench.loop, &gcs);
		passes[i] = pass_new(&(struct pass_config){ .control = &control,
							    .namespace_ = "a",
							    .name = "demo",
							    .api_version = "ray.io/v1",
							    .gcs = clients[i] },
				     &callbacks);
	}
	assert_true(loop_wait_until(script.loop, all_are_asked, NULL, WAIT_MS));
	set_pending_gpus(2);
	run_pass(NULL);
	assert_true(seen.patched);
	assert_int_equal(hung_endings, 0);
	assert_true(loop_wait_until(script.loop, all_hung_have_ended, NULL, WAIT_MS));
	assert_int_equal(hung_decisions, HANGING);
	assert_int_equal(api.patches, 1);
	for (size_t i = 0; i < HANGING; i++)
		gcs_client_free(clients[i]);
	h2_server_stop(&hanging.server);
	buf_done(&hanging.body);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_reply_of_100_mib_is_refused_with_a_reason),
		TEST(test_state_without_nodes_is_no_empty_cluster),
		TEST(test_what_a_reading_costs),
		TEST(test_heads_that_hang_delay_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
