#include "gcs/gcs_address.h"

#include <string.h>

#include "test/support/support.h"

static struct pod head_pod(struct container *container, const struct container_port *ports,
			   size_t count)
{
	*container = (struct container){ .name = "ray-head", .ports = ports, .port_count = count };
	return (struct pod){ .namespace_ = "default",
			     .name = "demo-head",
			     .phase = "Running",
			     .pod_ip = "10.0.0.7",
			     .spec.containers = container,
			     .spec.container_count = 1 };
}

static void expect(const struct container_port *ports, size_t count, int port)
{
	struct container container;
	struct pod pod = head_pod(&container, ports, count);
	struct gcs_address address;
	struct err err;

	assert_int_equal(gcs_address_of_pod(&pod, &address, &err), 0);
	assert_string_equal(address.host, "10.0.0.7");
	assert_int_equal(address.port, port);
}

static void test_ports(void **state)
{
	const struct container_port none[] = { { "dashboard", 8265 } };
	const struct container_port long_name[] = { { "gcs", 6380 }, { "gcs-server", 6390 } };
	const struct container_port short_name[] = { { "dashboard", 8265 }, { "gcs", 6380 } };

	(void)state;
	expect(none, 0, 6379);
	expect(none, 1, 6379);
	expect(long_name, 2, 6390);
	expect(short_name, 2, 6380);
}

static void test_refusals(void **state)
{
	const struct container_port zero[] = { { "gcs-server", 0 } };
	const struct container_port large[] = { { "gcs", 65536 } };
	const struct container_port *const bad[] = { zero, large };
	struct container container;
	struct gcs_address address;
	struct err err;
	struct pod pod;

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(bad); i++) {
		pod = head_pod(&container, bad[i], 1);
		assert_int_equal(gcs_address_of_pod(&pod, &address, &err), -1);
		assert_int_equal(err.kind, ERR_INPUT);
		assert_non_null(strstr(err.text, "default/demo-head"));
	}
	pod = head_pod(&container, NULL, 0);
	pod.pod_ip = "";
	assert_int_equal(gcs_address_of_pod(&pod, &address, &err), -1);
	assert_int_equal(err.kind, ERR_RETRY);
	/* Its address is not known either, and that is not the reason. */
	pod.unreadable = "spec.nodeName: must be a string";
	assert_int_equal(gcs_address_of_pod(&pod, &address, &err), -1);
	assert_string_equal(err.text, "head Pod default/demo-head cannot be read: "
				      "spec.nodeName: must be a string");
}

/* The address in the status of a Pod that has ended may be another tenant's. */
static void test_a_pod_that_has_ended(void **state)
{
	static const char *const phases[] = { "Succeeded", "Failed", "Unknown" };
	struct container container;
	struct gcs_address address;
	struct err err;
	struct pod pod = head_pod(&container, NULL, 0);

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(phases); i++) {
		pod.phase = phases[i];
		assert_int_equal(gcs_address_of_pod(&pod, &address, &err), -1);
		assert_int_equal(err.kind, ERR_RETRY);
		assert_non_null(strstr(err.text, phases[i]));
	}
}

static void test_pod_without_containers(void **state)
{
	struct pod pod = { .namespace_ = "a", .name = "b", .phase = "", .pod_ip = "fd00::1" };
	struct gcs_address address;
	struct err err;

	(void)state;
	assert_int_equal(gcs_address_of_pod(&pod, &address, &err), 0);
	assert_string_equal(address.host, "fd00::1");
	assert_int_equal(address.port, GCS_DEFAULT_PORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_a_pod_that_has_ended),
		cmocka_unit_test(test_pod_without_containers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
