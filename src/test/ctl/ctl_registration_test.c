/* The address under which Ray finds our metrics; the rest is tried on a real Ray. */
#include "ctl/report/registration.h"

#include "ctl/pass/pass.h"
#include "ctl/shared/options.h"
#include "test/support/gcs_bench.h"
#include "test/support/loop_wait.h"
#include "test/support/support.h"

static void expect(const char *bind, int port, const char *pod_ip, const char *wanted)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	assert_string_equal(registration_address(bind, port, pod_ip, &arena), wanted);
}

static void test_address(void **state)
{
	(void)state;
	expect(":44217", 44217, "10.0.0.7", "10.0.0.7:44217");
	expect(":0", 40123, "10.0.0.7", "10.0.0.7:40123");
	expect("0.0.0.0:44217", 44217, "10.0.0.7", "10.0.0.7:44217");
	expect("[::]:44217", 44217, "fd00::7", "[fd00::7]:44217");
	expect("127.0.0.5:0", 40123, "10.0.0.7", "127.0.0.5:40123");
	expect("[fd00::9]:44217", 44217, "10.0.0.7", "[fd00::9]:44217");
}

static bool has_request(void *context)
{
	(void)context;
	return gcs_bench.gcs.body.size > 0;
}

/* One reading of a Ray with this session; returns the value put into its store, "" for none. */
static const char *decided(struct registration *registration, const char *session)
{
	static char value[64];
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct label labels[] = { { LABEL_NODE_TYPE, "head" } };
	const struct pod head = { .labels = { labels, 1 }, .pod_ip = "10.0.0.7" };
	const struct ray_state state = { .session_name = session };
	const struct pod *const pods[] = { &head };
	const struct snapshot snapshot = { .pods = pods, .pod_count = 1 };
	const struct pass_decision decision = { .snapshot = &snapshot,
						.ray_state = &state,
						.gcs = gcs_bench.client };
	const Ray__InternalKVPutRequest *request;

	buf_clear(&gcs_bench.gcs.body);
	registration_decided(registration, &decision);
	if (!loop_wait_until(gcs_bench.loop, has_request, NULL, 300))
		return "";
	assert_string_equal(gcs_bench.gcs.path, "/ray.rpc.InternalKVGcsService/InternalKVPut");
	request = gcs_message_unpack(&ray__internal_kvput_request__descriptor,
				     gcs_bench.gcs.body.data, gcs_bench.gcs.body.size, &arena,
				     NULL);
	assert_non_null(request);
	assert_memory_equal(request->key.data, "AutoscalerMetricsAddress", request->key.len);
	assert_int_equal(request->namespace_.len, 0);
	assert_true(request->overwrite);
	(void)snprintf(value, sizeof(value), "%.*s", (int)request->value.len,
		       (const char *)request->value.data);
	return value;
}

/* Once for a session; a restarted Ray has lost the value and gets it again. */
static void test_every_session_is_declared(void **state)
{
	Ray__InternalKVPutReply reply = RAY__INTERNAL_KVPUT_REPLY__INIT;
	struct options options = { .gcs_timeout_seconds = 2 };
	struct registration *registration;
	struct control control;

	(void)state;
	gcs_bench_open();
	gcs_bench.gcs.reply = &reply.base;
	control = (struct control){ .loop = gcs_bench.loop, .options = &options };
	registration = registration_new(&control, ":44217", 44217);
	assert_string_equal(decided(registration, "session_1"), "10.0.0.7:44217");
	assert_string_equal(decided(registration, "session_1"), "");
	assert_string_equal(decided(registration, "session_2"), "10.0.0.7:44217");
	assert_string_equal(decided(registration, "session_2"), "");
	gcs_client_free(steal(&gcs_bench.client));
	registration_free(registration);
	gcs_bench_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_address),
					    cmocka_unit_test(test_every_session_is_declared) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
