#include "test/support/gcs_bench.h"

struct gcs_bench gcs_bench;

void fake_gcs_answer(struct h2_stream *stream, const ProtobufCMessage *message)
{
	AUTO(buf_done) struct buf bytes;
	struct h2_answer answer = { .size = 0 };

	buf_init(&bytes, 1 << 20);
	if (message)
		assert_int_equal(gcs_message_pack(message, &bytes), 0);
	answer.message = bytes.data;
	answer.size = bytes.size;
	h2_stream_answer(stream, &answer);
}

static void fake_gcs_refuse(struct h2_stream *stream, const char *message)
{
	h2_stream_answer(stream, &(struct h2_answer){ .grpc_status = GRPC_UNAUTHENTICATED,
						      .grpc_message = message,
						      .trailers_only = true });
}

static bool has_cluster_id(const struct fake_gcs *gcs, const char *headers)
{
	char wanted[100] = "ray_cluster_id: ";
	size_t used = strlen(wanted);

	for (size_t i = 0; i < sizeof(gcs->cluster_id); i++)
		used += (size_t)snprintf(wanted + used, sizeof(wanted) - used, "%02x",
					 gcs->cluster_id[i]);
	return strstr(headers, wanted) != NULL;
}

void fake_gcs_handle(struct h2_server *server, struct h2_stream *stream)
{
	struct fake_gcs *gcs = server->context;
	const char *headers = buf_string(&stream->headers);

	(void)snprintf(gcs->headers, sizeof(gcs->headers), "%s", headers);
	if (gcs->check_token &&
	    !strstr(headers, "authorization: Bearer " TOKEN " (never indexed)\n")) {
		fake_gcs_refuse(stream,
				"InvalidAuthToken: Authentication token is missing or incorrect");
		return;
	}
	if (strcmp(stream->path, "/ray.rpc.NodeInfoGcsService/GetClusterId") == 0) {
		Ray__GetClusterIdReply reply = RAY__GET_CLUSTER_ID_REPLY__INIT;

		gcs->id_calls++;
		assert_null(strstr(headers, "ray_cluster_id"));
		reply.cluster_id.data = gcs->cluster_id;
		reply.cluster_id.len = sizeof(gcs->cluster_id);
		fake_gcs_answer(stream, &reply.base);
		return;
	}
	if (!has_cluster_id(gcs, headers)) {
		gcs->refused++;
		fake_gcs_refuse(stream,
				"WrongClusterID: Perhaps the client is accessing GCS after it has "
				"restarted.");
		return;
	}
	(void)snprintf(gcs->path, sizeof(gcs->path), "%s", stream->path);
	buf_clear(&gcs->body);
	assert_int_equal(buf_add(&gcs->body, stream->body.data + GRPC_PREFIX_SIZE,
				 stream->body.size - GRPC_PREFIX_SIZE),
			 0);
	if (gcs->mute)
		return;
	if (gcs->fault.grpc_status)
		h2_stream_answer(stream, &gcs->fault);
	else
		fake_gcs_answer(stream, gcs->reply);
}

/* ---- the bench ---- */

static void on_deadline(void *context)
{
	(void)context;
	loop_stop(gcs_bench.loop);
}

struct gcs_config gcs_bench_config(void)
{
	return (struct gcs_config){ .cluster = "default/demo",
				    .host = "127.0.0.1",
				    .port = gcs_bench.gcs.server.port };
}

void gcs_bench_open_on(struct loop *loop, h2_server_handler *handler)
{
	struct gcs_config first;

	memset(&gcs_bench, 0, sizeof(gcs_bench));
	gcs_bench.loop = loop;
	gcs_bench.gcs.server.handler = handler;
	gcs_bench.gcs.server.context = &gcs_bench.gcs;
	memset(gcs_bench.gcs.cluster_id, 0xa7, sizeof(gcs_bench.gcs.cluster_id));
	buf_init(&gcs_bench.gcs.body, 16u << 20);
	h2_server_start(&gcs_bench.gcs.server, gcs_bench.loop, 0);
	first = gcs_bench_config();
	gcs_bench.client = gcs_client_new(gcs_bench.loop, &first);
}

void gcs_bench_close_on(void)
{
	gcs_client_free(gcs_bench.client);
	h2_server_stop(&gcs_bench.gcs.server);
	buf_done(&gcs_bench.gcs.body);
}

void gcs_bench_open(void)
{
	gcs_bench_open_on(loop_new(), fake_gcs_handle);
	gcs_bench.timer = loop_timer_new(gcs_bench.loop, on_deadline, NULL);
}

void gcs_bench_close(void)
{
	gcs_bench_close_on();
	loop_timer_free(gcs_bench.timer);
	arena_done(&gcs_bench.arena);
	arena_done(&gcs_bench.sent);
	loop_free(gcs_bench.loop);
}

int gcs_bench_setup(void **state)
{
	(void)state;
	gcs_bench_open();
	return 0;
}

int gcs_bench_teardown(void **state)
{
	(void)state;
	gcs_bench_close();
	return 0;
}

void gcs_bench_note(const struct err *err)
{
	gcs_bench.ended++;
	gcs_bench.failed = err != NULL;
	if (err)
		gcs_bench.err = *err;
	loop_stop(gcs_bench.loop);
}

static void gcs_bench_run(void)
{
	loop_timer_start(gcs_bench.timer, 10000);
	gcs_bench.ended = 0;
	loop_run(gcs_bench.loop);
	assert_int_equal(gcs_bench.ended, 1);
}

void gcs_bench_run_good(void)
{
	gcs_bench_run();
	if (gcs_bench.failed)
		fail_msg("%s", gcs_bench.err.text);
}

void gcs_bench_run_error(enum err_kind kind, const char *why)
{
	gcs_bench_run();
	assert_true(gcs_bench.failed);
	if (gcs_bench.err.kind != kind || !strstr(gcs_bench.err.text, why))
		fail_msg("wanted kind %d with \"%s\", got kind %d: %s", kind, why,
			 gcs_bench.err.kind, gcs_bench.err.text);
}

void gcs_bench_on_done(void *context, const struct gcs_reply *reply, const struct err *err)
{
	(void)context;
	gcs_bench.state = reply->state;
	gcs_bench.constraint = reply->constraint;
	gcs_bench.flag = reply->accepted;
	(void)snprintf(gcs_bench.text, sizeof(gcs_bench.text), "%s", reply->rejection);
	gcs_bench_note(err);
}

void gcs_bench_on_state(void *context, const struct gcs_reply *reply, const struct err *err)
{
	assert_true((!reply->state) == (err != NULL));
	gcs_bench_on_done(context, reply, err);
}

void gcs_bench_get_state(void)
{
	gcs_client_get_state(gcs_bench.client, 2000, &gcs_bench.arena, gcs_bench_on_state, NULL);
}

static void on_list(void *context, const struct gcs_reply *reply, const struct err *err)
{
	(void)context;
	gcs_bench.reply = *reply;
	gcs_bench_note(err);
}

void gcs_bench_get_list(enum ray_list list, const struct gcs_list_use *use,
			const ProtobufCMessage *reply)
{
	gcs_bench.gcs.reply = reply;
	gcs_client_get_list(gcs_bench.client, 2000, list, use, &gcs_bench.arena, on_list, NULL);
}

const ProtobufCMessage *fake_gcs_small_state(void)
{
	static Ray__NodeState node;
	static Ray__NodeState *nodes[1];
	static Ray__ClusterResourceState cluster;
	static Ray__GetClusterResourceStateReply reply;

	ray__node_state__init(&node);
	ray__cluster_resource_state__init(&cluster);
	ray__get_cluster_resource_state_reply__init(&reply);
	node.instance_id = (char *)"head-pod";
	nodes[0] = &node;
	cluster.node_states = nodes;
	cluster.n_node_states = 1;
	cluster.last_seen_autoscaler_state_version = 41;
	reply.cluster_resource_state = &cluster;
	return &reply.base;
}

void gcs_bench_run_good_again(void)
{
	for (int i = 0; i < 100; i++) {
		gcs_bench_get_state();
		gcs_bench_run();
		if (!gcs_bench.failed)
			return;
		assert_int_equal(gcs_bench.err.kind, ERR_RETRY);
	}
	fail_msg("%s", gcs_bench.err.text);
}
