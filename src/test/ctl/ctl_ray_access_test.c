/* ctl/pass/ray_access: which head Pod gets the cluster's token. */
#include "ctl/pass/ray_access.h"

#include <stdio.h>

#include "core/model/kubernetes.h"
#include "ctl/shared/options.h"
#include "gcs/gcs_address.h"
#include "net/loop.h"
#include "test/support/support.h"

static struct options options;
static struct control control;
static struct ray_access *access;
static struct container container;
static struct container_status status;
static struct ray_auth auth;
static struct ray_cluster cluster;
static struct pod head;
static const char *problem;

static int setup(void **state)
{
	static const struct secret_key none = { "", "" };
	static const struct label type = { "ray.io/node-type", "head" };

	(void)state;
	options_init(&options);
	control = (struct control){ .loop = loop_new(), .options = &options };
	access = ray_access_new(&control, "a", "a/demo");
	container = (struct container){ .name = "ray-head" };
	status = (struct container_status){ .name = "ray-head", .state = CONTAINER_RUNNING };
	auth = (struct ray_auth){ .mode = "token",
				  .plain_token = "secret",
				  .token = none,
				  .certificate = none,
				  .private_key = none,
				  .ca = none };
	cluster = (struct ray_cluster){ .namespace_ = "a",
					.name = "demo",
					.uid = "",
					.auth_mode = "",
					.auth_secret_name = "",
					.head_pod_name = "demo-head",
					.head_pod_ip = "127.0.0.1" };
	head = pod_empty;
	head.namespace_ = "a";
	head.name = "demo-head";
	head.labels = (struct labels){ &type, 1 };
	head.phase = "Running";
	head.pod_ip = "127.0.0.1";
	head.ray_auth = &auth;
	head.spec.containers = &container;
	head.spec.container_count = 1;
	head.container_statuses = &status;
	head.container_status_count = 1;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ray_access_free(access);
	loop_free(control.loop);
	options_done(&options);
	return 0;
}

static bool gets_token(void)
{
	const struct pod *pods[] = { &head };

	problem = "";
	return ray_access_client(access, &cluster, pods, 1, &problem) != NULL;
}

static void test_a_running_head_gets_the_token(void **state)
{
	(void)state;
	assert_true(gets_token());
}

static void test_a_head_that_does_not_run_gets_none(void **state)
{
	static const char *const phases[] = { "Pending", "Failed", "Succeeded", "Unknown", "" };

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(phases); i++) {
		head.phase = phases[i];
		assert_false(gets_token());
		assert_non_null(strstr(problem, phases[i][0] ? phases[i] : "phase unknown"));
	}
}

static void test_a_head_whose_ray_container_does_not_run_gets_none(void **state)
{
	(void)state;
	status.state = CONTAINER_TERMINATED;
	assert_false(gets_token());
	status.state = CONTAINER_WAITING;
	assert_false(gets_token());
	status.name = "another";
	status.state = CONTAINER_RUNNING;
	assert_false(gets_token());
	/* Without a token there is nothing to give away. */
	auth.mode = "disabled";
	assert_true(gets_token());
}

static void test_nobody_gets_it_while_the_status_names_no_head(void **state)
{
	(void)state;
	cluster.head_pod_name = cluster.head_pod_ip = "";
	assert_false(gets_token());
	assert_non_null(strstr(problem, "status.head"));
	cluster.head_pod_ip = "127.0.0.1";
	assert_true(gets_token());
	cluster.head_pod_name = "another-head";
	assert_false(gets_token());
}

/* record --address: the user names the address. */
static void test_an_address_of_the_user_is_trusted(void **state)
{
	const struct gcs_address address = { .host = "127.0.0.1", .port = 6379 };

	(void)state;
	cluster.head_pod_name = cluster.head_pod_ip = "";
	head.phase = "Unknown";
	control.gcs_address = &address;
	assert_true(gets_token());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_running_head_gets_the_token, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_head_that_does_not_run_gets_none, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			test_a_head_whose_ray_container_does_not_run_gets_none, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nobody_gets_it_while_the_status_names_no_head,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_an_address_of_the_user_is_trusted, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
