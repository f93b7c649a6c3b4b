/* The lines for Ray's drivers, against a scripted GCS. */
#include "ctl/report/driver_log.h"

#include "ctl/pass/act.h"
#include "ctl/shared/options.h"
#include "test/support/gcs_bench.h"
#include "test/support/loop_wait.h"
#include "test/support/support.h"

#define OBSERVABILITY "/ray.rpc.ObservabilityPubSubService/GcsPublish"
#define INTERNAL "/ray.rpc.InternalPubSubGcsService/GcsPublish"

static struct {
	const char *mark; /* of v2 in the store; NULL: no such key */
	const char *path; /* of the publication that this GCS knows */
	int marks, published, refused;
	const char *status; /* of the reply to a publication; NULL: none */
	struct arena arena;
	const Ray__LogBatch *batch; /* of the last one */
} gcs;

static struct options options;
static struct control control;

static void answer_mark(struct h2_stream *stream)
{
	Ray__GcsStatus status = RAY__GCS_STATUS__INIT;
	Ray__InternalKVGetReply reply = RAY__INTERNAL_KVGET_REPLY__INIT;

	gcs.marks++;
	reply.status = &status;
	status.code = gcs.mark ? 0 : 17;
	if (gcs.mark)
		reply.value = (ProtobufCBinaryData){ .data = (uint8_t *)gcs.mark,
						     .len = strlen(gcs.mark) };
	fake_gcs_answer(stream, &reply.base);
}

static void on_call(struct h2_server *server, struct h2_stream *stream)
{
	Ray__GcsStatus status = RAY__GCS_STATUS__INIT;
	Ray__GcsPublishReply reply = RAY__GCS_PUBLISH_REPLY__INIT;
	const Ray__GcsPublishRequest *request;

	if (strstr(stream->path, "/InternalKVGet")) {
		answer_mark(stream);
		return;
	}
	if (!strstr(stream->path, "/GcsPublish")) {
		fake_gcs_handle(server, stream);
		return;
	}
	if (strcmp(stream->path, gcs.path) != 0) {
		gcs.refused++;
		h2_stream_answer(stream, &(struct h2_answer){ .grpc_status = GRPC_UNIMPLEMENTED,
							      .trailers_only = true });
		return;
	}
	request = gcs_message_unpack(&ray__gcs_publish_request__descriptor,
				     stream->body.data + GRPC_PREFIX_SIZE,
				     stream->body.size - GRPC_PREFIX_SIZE, &gcs.arena, NULL);
	assert_non_null(request);
	assert_int_equal(request->n_pub_messages, 1);
	assert_int_equal(request->pub_messages[0]->channel_type, 7);
	gcs.batch = request->pub_messages[0]->log_batch_message;
	gcs.published++;
	if (gcs.status) {
		status.code = 5;
		status.message = (char *)gcs.status;
		reply.status = &status;
	}
	fake_gcs_answer(stream, &reply.base);
}

static int setup(void **state)
{
	(void)state;
	memset(&gcs, 0, sizeof(gcs));
	gcs.path = OBSERVABILITY;
	gcs.mark = "1";
	gcs_bench_open();
	gcs_bench.gcs.server.handler = on_call;
	options = (struct options){ .gcs_timeout_seconds = 2, .driver_log = true };
	control = (struct control){ .loop = gcs_bench.loop, .options = &options };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	gcs_bench_close();
	arena_done(&gcs.arena);
	return 0;
}

static bool is_published(void *context)
{
	(void)context;
	return gcs.published > 0;
}

static void scale(const char *line)
{
	const struct act_scaled_list list = { .lines = { &line, 1 } };

	gcs.published = 0;
	driver_log_add(&control, gcs_bench.client, &list);
}

static void expect_line(const char *line, const char *wanted)
{
	scale(line);
	assert_true(loop_wait_until(gcs_bench.loop, is_published, NULL, 10000));
	assert_int_equal(gcs.published, 1);
	assert_string_equal(gcs.batch->ip, "127.0.0.1");
	assert_string_equal(gcs.batch->pid, "autoscaler");
	assert_int_equal(gcs.batch->n_lines, 1);
	assert_string_equal(gcs.batch->lines[0], wanted);
}

#define ADDING "Adding 2 node(s) of type gpu-group."

#define EVENT(text)                                                                                \
	"{\"source_type\": \"AUTOSCALER\", \"severity\": \"INFO\", \"message\": \"" text "\"}"

static void test_drivers_of_v2(void **state)
{
	(void)state;
	expect_line(ADDING, EVENT("Adding 2 node(s) of type gpu-group."));
	expect_line("Resized to 1 CPUs.", EVENT("Resized to 1 CPUs."));
}

static void test_drivers_of_v1(void **state)
{
	(void)state;
	gcs.mark = NULL;
	expect_line(ADDING, ":event_summary:Adding 2 node(s) of type gpu-group.");
	gcs.mark = "0";
	expect_line("Resized to 1 CPUs.", ":event_summary:Resized to 1 CPUs.");
}

/* One service for all channels. */
static void test_the_service_of_older_rays(void **state)
{
	(void)state;
	gcs.path = INTERNAL;
	expect_line(ADDING, EVENT("Adding 2 node(s) of type gpu-group."));
	assert_int_equal(gcs.refused, 1);
	assert_int_equal(gcs.marks, 1);
}

/* The name of a group is free text in the CRD of KubeRay. */
static void test_a_hostile_name(void **state)
{
	static const char *const line = "Adding 2 node(s) of type a\x1b[2J\n\"b\xff.";

	(void)state;
	expect_line(line, EVENT("Adding 2 node(s) of type a?[2J?\\\"b?."));
	gcs.mark = NULL;
	expect_line(line, ":event_summary:Adding 2 node(s) of type a?[2J?\"b?.");
}

static void test_sizes_are_limited(void **state)
{
	const char *lines[3 * GCS_LINES_MAX];
	const struct act_scaled_list list = { .lines = { lines, SUPPORT_COUNT(lines) } };
	char line[2 * GCS_LINE_MAX_BYTES];

	(void)state;
	memset(line, '"', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	for (size_t i = 0; i < SUPPORT_COUNT(lines); i++)
		lines[i] = line;
	driver_log_add(&control, gcs_bench.client, &list);
	assert_true(loop_wait_until(gcs_bench.loop, is_published, NULL, 10000));
	assert_int_equal(gcs.batch->n_lines, GCS_LINES_MAX);
	assert_in_range(strlen(gcs.batch->lines[GCS_LINES_MAX - 1]), GCS_LINE_MAX_BYTES,
			2 * GCS_LINE_MAX_BYTES + 100);
	assert_non_null(strstr(gcs.batch->lines[GCS_LINES_MAX - 1], "...\"}"));
}

static bool is_marked(void *context)
{
	(void)context;
	return gcs.marks > 0;
}

static void test_nothing_to_publish(void **state)
{
	const struct act_scaled_list none = { 0 };

	(void)state;
	driver_log_add(&control, gcs_bench.client, &none);
	driver_log_add(&control, NULL, &none);
	options.driver_log = false;
	scale(ADDING);
	assert_false(loop_wait_until(gcs_bench.loop, is_marked, NULL, 300));
	assert_int_equal(gcs_bench.gcs.server.requests, 0);
}

/* Each end is reported: the call ends by itself and the program continues. */
static void test_replies_that_are_not_a_reply(void **state)
{
	static const char *const lines[] = { "Adding 2 node(s) of type gpu-group." };

	(void)state;
	gcs.status = "the channel is full";
	gcs_client_publish_lines(gcs_bench.client, 2000, lines, 1, gcs_bench_on_done, NULL);
	gcs_bench_run_error(ERR_RETRY, "the GCS answered: the channel is full (5)");
	gcs.path = "/neither";
	gcs_client_publish_lines(gcs_bench.client, 2000, lines, 1, gcs_bench_on_done, NULL);
	gcs_bench_run_error(ERR_NOT_FOUND, "GcsPublish");
	assert_int_equal(gcs.refused, 2);
	gcs_bench.gcs.server.handler = fake_gcs_handle;
	gcs_bench.gcs.mute = true;
	gcs_client_publish_lines(gcs_bench.client, 200, lines, 1, gcs_bench_on_done, NULL);
	gcs_bench_run_error(ERR_TIMEOUT, "InternalKVGet");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_drivers_of_v2, setup, teardown),
		cmocka_unit_test_setup_teardown(test_drivers_of_v1, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_service_of_older_rays, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_hostile_name, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sizes_are_limited, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_to_publish, setup, teardown),
		cmocka_unit_test_setup_teardown(test_replies_that_are_not_a_reply, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
