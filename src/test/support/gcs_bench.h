/* A client and a scripted GCS on one loop, for the tests of gcs/gcs_client. Header only. */
#ifndef TEST_SUPPORT_GCS_BENCH_H
#define TEST_SUPPORT_GCS_BENCH_H

#include "gcs/gcs_client.h"
#include "gcs/gcs_message.h"
#include "ray.pb-c.h"
#include "test/support/h2_server.h"

#define TOKEN "secret-token"

struct fake_gcs {
	struct h2_server server;
	unsigned char cluster_id[28];
	bool check_token;
	unsigned id_calls, refused;
	const ProtobufCMessage *reply; /* to all other methods */
	struct h2_answer fault;        /* instead, when it has a status */
	char path[200];
	char headers[2000];
	struct buf body; /* of the last request, without prefix */
	bool mute;
};

struct bench {
	struct loop *loop;
	struct loop_timer *timer;
	struct fake_gcs gcs;
	struct gcs_client *client;
	struct arena arena;
	/* how the last call ended */
	unsigned ended;
	bool failed;
	struct err err;
	const struct ray_state *state;
	bool flag; /* accepted, added */
	bool has_value;
	char text[500];
	const struct ray_constraint *constraint;
};

static struct bench bench;

/* ---- the GCS ---- */

__attribute__((unused)) static void answer_message(struct h2_stream *stream,
						   const ProtobufCMessage *message)
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

__attribute__((unused)) static void refuse(struct h2_stream *stream, const char *message)
{
	h2_stream_answer(stream, &(struct h2_answer){ .grpc_status = GRPC_UNAUTHENTICATED,
						      .grpc_message = message,
						      .trailers_only = true });
}

__attribute__((unused)) static bool has_cluster_id(const struct fake_gcs *gcs, const char *headers)
{
	char wanted[100] = "ray_cluster_id: ";
	size_t used = strlen(wanted);

	for (size_t i = 0; i < sizeof(gcs->cluster_id); i++)
		used += (size_t)snprintf(wanted + used, sizeof(wanted) - used, "%02x",
					 gcs->cluster_id[i]);
	return strstr(headers, wanted) != NULL;
}

__attribute__((unused)) static void handle(struct h2_server *server, struct h2_stream *stream)
{
	struct fake_gcs *gcs = server->context;
	const char *headers = buf_string(&stream->headers);

	(void)snprintf(gcs->headers, sizeof(gcs->headers), "%s", headers);
	if (gcs->check_token &&
	    !strstr(headers, "authorization: Bearer " TOKEN " (never indexed)\n")) {
		refuse(stream, "InvalidAuthToken: Authentication token is missing or incorrect");
		return;
	}
	if (strcmp(stream->path, "/ray.rpc.NodeInfoGcsService/GetClusterId") == 0) {
		Ray__GetClusterIdReply reply = RAY__GET_CLUSTER_ID_REPLY__INIT;

		gcs->id_calls++;
		assert_null(strstr(headers, "ray_cluster_id"));
		reply.cluster_id.data = gcs->cluster_id;
		reply.cluster_id.len = sizeof(gcs->cluster_id);
		answer_message(stream, &reply.base);
		return;
	}
	if (!has_cluster_id(gcs, headers)) {
		gcs->refused++;
		refuse(stream, "WrongClusterID: Perhaps the client is accessing GCS after it has "
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
		answer_message(stream, gcs->reply);
}

/* ---- the bench ---- */

__attribute__((unused)) static void on_deadline(void *context)
{
	(void)context;
	loop_stop(bench.loop);
}

__attribute__((unused)) static struct gcs_config config(void)
{
	return (struct gcs_config){ .cluster = "default/demo",
				    .host = "127.0.0.1",
				    .port = bench.gcs.server.port };
}

__attribute__((unused)) static void open_bench(void)
{
	struct gcs_config first;

	memset(&bench, 0, sizeof(bench));
	bench.loop = loop_new();
	bench.timer = loop_timer_new(bench.loop, on_deadline, NULL);
	bench.gcs.server.handler = handle;
	bench.gcs.server.context = &bench.gcs;
	memset(bench.gcs.cluster_id, 0xa7, sizeof(bench.gcs.cluster_id));
	buf_init(&bench.gcs.body, 16u << 20);
	h2_server_start(&bench.gcs.server, bench.loop, 0);
	first = config();
	bench.client = gcs_client_new(bench.loop, &first);
}

__attribute__((unused)) static void close_bench(void)
{
	gcs_client_free(bench.client);
	h2_server_stop(&bench.gcs.server);
	buf_done(&bench.gcs.body);
	loop_timer_free(bench.timer);
	arena_done(&bench.arena);
	loop_free(bench.loop);
}

__attribute__((unused)) static void note(const struct err *err)
{
	bench.ended++;
	bench.failed = err != NULL;
	if (err)
		bench.err = *err;
	loop_stop(bench.loop);
}

__attribute__((unused)) static void run(void)
{
	loop_timer_start(bench.timer, 10000);
	bench.ended = 0;
	loop_run(bench.loop);
	assert_int_equal(bench.ended, 1);
}

__attribute__((unused)) static void run_good(void)
{
	run();
	if (bench.failed)
		fail_msg("%s", bench.err.text);
}

__attribute__((unused)) static void run_error(enum err_kind kind, const char *why)
{
	run();
	assert_true(bench.failed);
	if (bench.err.kind != kind || !strstr(bench.err.text, why))
		fail_msg("wanted kind %d with \"%s\", got kind %d: %s", kind, why, bench.err.kind,
			 bench.err.text);
}

__attribute__((unused)) static void on_state(void *context, const struct ray_state *state,
					     const struct err *err)
{
	(void)context;
	assert_true((state == NULL) == (err != NULL));
	bench.state = state;
	note(err);
}

__attribute__((unused)) static void on_drain(void *context, bool accepted, const char *rejection,
					     const struct err *err)
{
	(void)context;
	bench.flag = accepted;
	(void)snprintf(bench.text, sizeof(bench.text), "%s", rejection);
	note(err);
}

__attribute__((unused)) static void on_plain(void *context, const struct err *err)
{
	(void)context;
	note(err);
}

__attribute__((unused)) static void on_alive(void *context, const char *ray_version,
					     const struct err *err)
{
	(void)context;
	(void)snprintf(bench.text, sizeof(bench.text), "%s", ray_version);
	note(err);
}

__attribute__((unused)) static void on_kv_get(void *context, const char *value, size_t size,
					      const struct err *err)
{
	(void)context;
	bench.has_value = value != NULL;
	(void)snprintf(bench.text, sizeof(bench.text), "%.*s", (int)size, value ? value : "");
	note(err);
}

__attribute__((unused)) static void on_kv_put(void *context, bool added, const struct err *err)
{
	(void)context;
	bench.flag = added;
	note(err);
}

__attribute__((unused)) static void
on_requests(void *context, const struct ray_constraint *constraint, const struct err *err)
{
	(void)context;
	bench.constraint = constraint;
	note(err);
}

__attribute__((unused)) static void get_state(void)
{
	gcs_client_get_state(bench.client, 2000, &bench.arena, on_state, NULL);
}

/* A state with one node. */
__attribute__((unused)) static const ProtobufCMessage *small_state(void)
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

/* Runs calls until the client has noticed that its connection is closed. */
__attribute__((unused)) static void run_good_again(void)
{
	for (int i = 0; i < 100; i++) {
		get_state();
		run();
		if (!bench.failed)
			return;
		assert_int_equal(bench.err.kind, ERR_RETRY);
	}
	fail_msg("%s", bench.err.text);
}

#endif
