/* ctl/shared/leader: the identity that it reports, and that a process stopped while it led does
 * nothing. */
#include "ctl/shared/leader.h"

#include <stdlib.h>

#include "ctl/pass/ray_access.h"
#include "test/support/lease_server.h"
#include "test/support/pass_bench.h"

#define LISTENING_HEAD                                                                             \
	"{'metadata': {'name': 'demo-head', 'namespace': 'a', 'labels': {'ray.io/cluster': "       \
	"'demo', 'ray.io/node-type': 'head', 'ray.io/group': 'headgroup'}}, 'spec': "              \
	"{'containers': [{'name': 'ray-head', 'ports': [{'name': 'gcs-server', "                   \
	"'containerPort': %d}]}]}, 'status': " RUNNING "}"

#define RENEWALS_MS 300 /* some retry periods */

static struct {
	struct leader *leader;
	int begins, losses, releases;
	struct err err;
	const char *stop_at; /* part of the path of the call to Ray during which we are stopped */
} lead;

static void begin(void *context)
{
	(void)context;
	lead.begins++;
	assert_true(leader_is_leading(lead.leader));
}

static void lost(void *context, const struct err *err)
{
	(void)context;
	lead.losses++;
	lead.err = *err;
}

static void released(void *context)
{
	(void)context;
	lead.releases++;
}

static bool has_begun(void *context)
{
	(void)context;
	return lead.begins > 0;
}

static bool has_lost(void *context)
{
	(void)context;
	return lead.losses > 0;
}

static bool has_released(void *context)
{
	(void)context;
	return lead.releases > 0;
}

static struct leader *enter(void)
{
	static const struct leader_callbacks callbacks = { .begin = begin, .lost = lost };

	return leader_new(&control, script_config(&script), &callbacks);
}

static int setup_leader(void **state)
{
	pass_bench_setup(state);
	memset(&lead, 0, sizeof(lead));
	lease_server_reset();
	api.leases = lease_server_answer;
	options.leader_elect_resource_namespace = "a";
	options.leader_elect_lease_duration_ms = 1000;
	options.leader_elect_renew_deadline_ms = 800;
	options.leader_elect_retry_period_ms = 100;
	unsetenv("POD_NAME");
	return 0;
}

static int teardown_leader(void **state)
{
	pass_free(steal(&seen.pass));
	leader_free(lead.leader);
	pass_bench_teardown(state);
	lease_server_reset();
	return 0;
}

static void take_the_lead(void)
{
	lead.leader = control.leader = enter();
	assert_true(loop_wait_until(script.loop, has_begun, NULL, WAIT_MS));
}

static void test_without_an_election_we_lead(void **state)
{
	(void)state;
	assert_true(leader_is_leading(NULL));
	assert_string_equal(leader_holder(NULL), "");
	assert_string_equal(leader_identity(NULL), "");
	assert_false(leader_release(NULL, released, NULL));
}

static void test_identity(void **state)
{
	struct leader *one, *two;

	(void)state;
	one = enter();
	two = enter();
	assert_non_null(strchr(leader_identity(one), '_'));
	assert_string_not_equal(leader_identity(one), leader_identity(two));
	leader_free(one);
	leader_free(two);
	setenv("POD_NAME", "rayscaler-5d8f-x2x", 1);
	take_the_lead();
	assert_string_equal(leader_identity(lead.leader), "rayscaler-5d8f-x2x");
	assert_string_equal(leader_holder(lead.leader), "rayscaler-5d8f-x2x");
}

static void test_a_leader_acts(void **state)
{
	(void)state;
	take_the_lead();
	set_pending_gpus(2);
	run_pass(NULL);
	assert_int_equal(api.patches, 1);
	assert_int_equal(seen.decisions, 1);
}

static void test_a_standby_does_not(void **state)
{
	(void)state;
	lease_server_set("{'holderIdentity': 'other', 'leaseDurationSeconds': 60}");
	pass_bench_idle_worker(); /* before the server answers for the first time */
	lead.leader = control.leader = enter();
	run_pass(NULL);
	assert_int_equal(ray.drains, 0);
	assert_int_equal(api.patches, 0);
	assert_int_equal(seen.decisions, 0);
}

/* As SIGSTOP: nothing is renewed, the loop is blocked past the deadline, and no timer has fired
 * when the answer is handled. */
static void stop_a_while(const char *path)
{
	if (!strstr(path, lead.stop_at))
		return;
	lease_server.hold = true;
	virtual_clock_sleep(options.leader_elect_renew_deadline_ms + 1);
	assert_int_equal(seen.endings, 0);
}

static void test_stopped_while_ray_is_read(void **state)
{
	(void)state;
	take_the_lead();
	pass_bench_idle_worker();
	lead.stop_at = "State";
	ray.before = stop_a_while;
	run_pass(NULL);
	assert_int_equal(ray.drains, 0);
	assert_int_equal(api.patches, 0);
	assert_int_equal(seen.decisions, 0);
	assert_int_equal(seen.err.kind, ERR_NONE);
	assert_true(loop_wait_until(script.loop, has_lost, NULL, WAIT_MS));
	assert_int_equal(lead.err.kind, ERR_DENIED);
	assert_non_null(strstr(lead.err.text,
			       "the Lease a/rayscaler is lost, another replica may act now: "));
	assert_int_equal(lead.losses, 1);
}

static void test_stopped_while_a_drain_is_asked(void **state)
{
	(void)state;
	take_the_lead();
	pass_bench_idle_worker();
	lead.stop_at = "/DrainNode";
	ray.before = stop_a_while;
	run_pass(NULL);
	assert_int_equal(ray.drains, 1);
	assert_int_equal(api.patches, 0);
	assert_int_equal(seen.decisions, 0);
}

static void note_drain(void *context, const struct gcs_reply *reply, const struct err *err)
{
	(void)context;
	(void)reply;
	gcs_bench.ended++;
	if (err)
		gcs_bench.err = *err;
}

static bool drain_has_ended(void *context)
{
	(void)context;
	return gcs_bench.ended > 0;
}

/* Asked for in time, but there is no connection yet, and then we are stopped. */
static void test_stopped_before_a_drain_leaves(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(memory_free_string) char *pod_json = NULL, *cluster_json = NULL;
	struct ray_access *access = ray_access_new(&control, "a", "a/demo");
	struct ray_cluster cluster;
	const char *problem = "";
	struct gcs_client *client;
	const struct pod **pods;
	size_t count;
	struct err err;

	(void)state;
	take_the_lead();
	cluster_json = script_text(CLUSTER("0"));
	pod_json =
		script_text(arena_printf(&arena, LIST(LISTENING_HEAD), gcs_bench.gcs.server.port));
	assert_int_equal(
		act_decode_cluster(cluster_json, strlen(cluster_json), &arena, &cluster, &err), 0);
	pods = pass_bench_pods(pod_json, &arena, &count);
	client = ray_access_client(access, &cluster, pods, count, &problem);
	if (!client)
		fail_msg("%s", problem);
	gcs_bench.ended = 0;
	lease_server.hold = true;
	gcs_client_drain_node(client, 5000, "00ff10", "", TIME_NONE, note_drain, NULL);
	virtual_clock_sleep(options.leader_elect_renew_deadline_ms + 1);
	assert_false(leader_is_leading(lead.leader));
	assert_true(loop_wait_until(script.loop, drain_has_ended, NULL, WAIT_MS));
	assert_non_null(strstr(gcs_bench.err.text, "not sent, this replica does not lead"));
	assert_int_equal(ray.drains, 0);
	ray_access_free(access);
}

static bool has_renewed(void *context)
{
	(void)context;
	return lease_server.updates >= 30;
}

static void ignore_answer(void *context, const struct kube_answer *answer, const struct err *err)
{
	(void)context;
	(void)answer;
	(void)err;
}

/* --kube-api-qps and --kube-api-burst hold up everything else for longer than the Lease lasts. */
static void test_the_rate_limit_does_not_delay_a_renewal(void **state)
{
	struct kube_client_options limited = { .qps = 1, .burst = 1, .timeout_ms = WAIT_MS };
	struct kube_client *client;

	(void)state;
	options.kube_api_qps = options.kube_api_burst = 1;
	client = kube_client_new(script.loop, script.https, script.config, &limited);
	control.kube = client;
	for (int i = 0; i < 50; i++)
		(void)kube_client_send(client, KUBE_GET, "/api/v1/namespaces/a/pods/p", NULL, 0,
				       ignore_answer, NULL);
	take_the_lead();
	assert_true(loop_wait_until(script.loop, has_renewed, NULL, WAIT_MS));
	assert_true(leader_is_leading(lead.leader));
	assert_int_equal(lead.losses, 0);
	assert_true(kube_client_pending(client) > 40);
	kube_client_free(client);
}

/* The main loop does not run for several Lease durations: a large decision in its way, a slow
 * disk. */
static void test_a_loop_that_is_held_up_keeps_the_lease(void **state)
{
	int updates;

	(void)state;
	take_the_lead();
	updates = lease_server.updates;
	virtual_clock_sleep(3 * options.leader_elect_lease_duration_ms);
	assert_true(lease_server.updates >= updates + 3);
	assert_true(leader_is_leading(lead.leader));
	assert_int_equal(loop_wait_until(script.loop, has_lost, NULL, RENEWALS_MS), false);
}

static void test_release(void **state)
{
	(void)state;
	take_the_lead();
	assert_true(leader_release(lead.leader, released, NULL));
	assert_false(leader_is_leading(lead.leader));
	assert_false(leader_release(lead.leader, released, NULL));
	assert_true(loop_wait_until(script.loop, has_released, NULL, WAIT_MS));
	assert_string_equal(leader_holder(lead.leader), "");
	assert_int_equal(lead.losses, 0);
}

static void test_release_into_silence_ends(void **state)
{
	(void)state;
	options.leader_elect_lease_duration_ms = 60000;
	options.leader_elect_renew_deadline_ms = 50000;
	take_the_lead();
	lease_server.hold = true;
	assert_true(leader_release(lead.leader, released, NULL));
	assert_true(loop_wait_until(script.loop, has_released, NULL, WAIT_MS));
	assert_int_equal(lead.releases, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_leader, teardown_leader)
		TEST(test_without_an_election_we_lead),
		TEST(test_identity),
		TEST(test_a_leader_acts),
		TEST(test_a_standby_does_not),
		TEST(test_stopped_while_ray_is_read),
		TEST(test_stopped_while_a_drain_is_asked),
		TEST(test_stopped_before_a_drain_leaves),
		TEST(test_the_rate_limit_does_not_delay_a_renewal),
		TEST(test_a_loop_that_is_held_up_keeps_the_lease),
		TEST(test_release),
		TEST(test_release_into_silence_ends),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
