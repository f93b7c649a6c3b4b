/* codec/objects/autoscaler_json: the bodies that create the object and write its status. */
#include "codec/objects/autoscaler_json.h"

#include "test/support/codec_support.h"

static void test_bodies(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct ray_cluster cluster = {
		.api_version = "ray.io/v1", .namespace_ = "a", .name = "demo", .uid = "u-1"
	};

	(void)state;
	assert_string_equal(
		autoscaler_create_body(&cluster, &arena),
		"{\"apiVersion\": \"rayscaler.dev/v1alpha1\", \"kind\": \"RayClusterAutoscaler\", "
		"\"metadata\": {\"namespace\": \"a\", \"name\": \"demo\", \"labels\": "
		"{\"app.kubernetes.io/managed-by\": \"rayscaler\"}, \"ownerReferences\": "
		"[{\"apiVersion\": \"ray.io/v1\", \"kind\": \"RayCluster\", \"name\": \"demo\", "
		"\"uid\": \"u-1\"}]}}");
	assert_string_equal(
		autoscaler_status_body("{\"a\": 1}", "12", &arena),
		"{\"metadata\": {\"resourceVersion\": \"12\"}, \"status\": {\"a\": 1}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bodies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
