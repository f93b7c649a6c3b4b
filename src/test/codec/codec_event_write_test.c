/* Events of ours as text, and their names. */
#include "codec/objects/event_json.h"

#include "test/support/codec_support.h"

static const struct event_object cluster = { .api_version = "ray.io/v1",
					     .kind = "RayCluster",
					     .namespace_ = "team-a",
					     .name = "demo",
					     .uid = "u-1",
					     .resource_version = "7" };

static const struct event_text event = { .name = "demo.1f",
					 .reason = "ScaleDown",
					 .message = "from 1 to 0 \"replicas\"",
					 .instance = "rayscaler-0",
					 .count = 3,
					 .first = 1500,
					 .last = 61999 };

static void test_new(void **state)
{
	struct buf buf;

	(void)state;
	buf_init(&buf, EVENT_BODY_MAX);
	event_write_new(&buf, &cluster, &event);
	assert_string_equal(
		buf_string(&buf),
		"{\"apiVersion\": \"v1\", \"kind\": \"Event\", \"metadata\": {\"namespace\": \"team-a\", "
		"\"name\": \"demo.1f\"}, \"involvedObject\": {\"apiVersion\": \"ray.io/v1\", \"kind\": "
		"\"RayCluster\", \"namespace\": \"team-a\", \"name\": \"demo\", \"uid\": \"u-1\", "
		"\"resourceVersion\": \"7\"}, \"reason\": \"ScaleDown\", \"message\": \"from 1 to 0 "
		"\\\"replicas\\\"\", \"type\": \"Normal\", \"count\": 3, \"firstTimestamp\": "
		"\"1970-01-01T00:00:01Z\", \"lastTimestamp\": \"1970-01-01T00:01:01Z\", \"source\": "
		"{\"component\": \"rayscaler\"}, \"reportingComponent\": \"rayscaler\", "
		"\"reportingInstance\": \"rayscaler-0\"}");
	buf_done(&buf);
}

static void test_repeat(void **state)
{
	struct buf buf;

	(void)state;
	buf_init(&buf, EVENT_BODY_MAX);
	event_write_repeat(&buf, &event);
	assert_string_equal(
		buf_string(&buf),
		"{\"count\": 3, \"lastTimestamp\": \"1970-01-01T00:01:01Z\", \"message\": "
		"\"from 1 to 0 \\\"replicas\\\"\"}");
	buf_done(&buf);
}

/* A DNS subdomain of at most 253 characters, for every name of an object. */
static void test_names_are_valid(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	char name[254];

	(void)state;
	assert_string_equal(event_name(&arena, "demo", 0x1f), "demo.1f");
	memset(name, 'a', 253);
	name[253] = '\0';
	assert_int_equal(strlen(event_name(&arena, name, UINT64_MAX)), 253);
	/* Cut in the middle of "--." it ends with a letter all the same. */
	memcpy(name + 233, "--.", 3);
	assert_int_equal(strlen(event_name(&arena, name, 1)), 233 + 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new),
		cmocka_unit_test(test_repeat),
		cmocka_unit_test(test_names_are_valid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
