#include "gcs/gcs_client.h"

#include <string.h>

#include "base/memory.h"
#include "gcs/gcs_call.h"
#include "gcs/gcs_message.h"
#include "gcs/gcs_report.h"
#include "gcs/gcs_requests.h"
#include "net/h2.h"
#include "net/h2_tls.h"

#define GCS_AUTOSCALER_SERVICE "/ray.rpc.autoscaler.AutoscalerStateService/"
#define GCS_NODE_SERVICE "/ray.rpc.NodeInfoGcsService/"
#define GCS_KV_SERVICE "/ray.rpc.InternalKVGcsService/"

/* ray: src/ray/common/constants.h and python/ray/_private/ray_constants.py */
#define GCS_V2_NAMESPACE "__autoscaler"
#define GCS_V2_KEY "__autoscaler_v2_enabled"
#define GCS_V2_VALUE "1"
#define GCS_KV_REQUESTS_KEY "autoscaler_resource_request"

#define GCS_NODE_ID_MAX_BYTES 64

/* ---- the client ---- */

static void gcs_client_take(struct gcs_client *client, const struct gcs_config *config)
{
	struct h2_config session = {
		.host = config->host,
		.port = config->port,
		.tls = config->tls,
		.reply_ceiling_bytes = config->reply_ceiling_bytes,
	};

	client->host = memory_strdup(config->host);
	client->port = config->port;
	client->tls = h2_tls_reference(config->tls);
	client->reply_ceiling_bytes = config->reply_ceiling_bytes;
	client->cluster_id[0] = '\0';
	client->session = h2_session_new(client->loop, &session);
}

static void gcs_client_drop(struct gcs_client *client)
{
	h2_session_free(steal(&client->session));
	h2_tls_release(steal(&client->tls));
	memory_free(steal(&client->host));
}

static void gcs_client_set_token(struct gcs_client *client, const char *token)
{
	if (client->token)
		explicit_bzero(client->token, strlen(client->token));
	memory_free(client->token);
	client->token = memory_strdup(token ? token : "");
}

struct gcs_client *gcs_client_new(struct loop *loop, const struct gcs_config *config)
{
	struct gcs_client *client = memory_alloc(sizeof(*client));

	client->loop = loop;
	client->cluster = memory_strdup(config->cluster);
	client->may_write = config->may_write;
	client->may_write_context = config->may_write_context;
	gcs_client_set_token(client, config->token);
	gcs_client_take(client, config);
	return client;
}

void gcs_client_configure(struct gcs_client *client, const struct gcs_config *config)
{
	struct err err;

	if (strcmp(client->token, config->token ? config->token : "") != 0)
		gcs_client_set_token(client, config->token);
	if (strcmp(client->host, config->host) == 0 && client->port == config->port &&
	    client->tls == config->tls &&
	    client->reply_ceiling_bytes == config->reply_ceiling_bytes)
		return;
	gcs_client_drop(client);
	gcs_client_take(client, config);
	err_set(&err, ERR_RETRY, "the address or the certificates of the head have changed");
	for (struct gcs_call *call = client->calls; call; call = call->next) {
		call->h2 = NULL; /* freed with its session */
		gcs_call_fail_later(call, &err);
	}
}

void gcs_client_free(struct gcs_client *client)
{
	if (!client)
		return;
	while (client->calls)
		gcs_call_cancel(client->calls);
	gcs_client_drop(client);
	gcs_client_set_token(client, "");
	memory_free(client->token);
	memory_free(client->cluster);
	memory_free(client);
}

/* ---- GetClusterResourceState ---- */

static void gcs_state_failed(struct gcs_call *call, const struct err *err)
{
	struct gcs_call taken = gcs_call_take(call);

	taken.done.state(taken.context, NULL, err);
}

void gcs_call_ask_known(struct gcs_call *call, gcs_state_known *known)
{
	call->known = known;
}

struct gcs_call *gcs_client_get_state(struct gcs_client *client, int64_t timeout_ms,
				      struct arena *arena, gcs_state_done *done, void *context)
{
	/* The last-seen version stays 0: a GCS that was restarted aborts on one that it has not
	 * reached yet (docs/internals/ray.md, T2). */
	Ray__GetClusterResourceStateRequest request = RAY__GET_CLUSTER_RESOURCE_STATE_REQUEST__INIT;
	struct gcs_call *call = gcs_call_new(client, timeout_ms,
					     GCS_AUTOSCALER_SERVICE "GetClusterResourceState",
					     gcs_decode, gcs_state_failed, context);

	call->arena = arena;
	call->done.state = done;
	gcs_call_send_message(call, &request.base);
	return call;
}

/* ---- DrainNode ---- */

static void gcs_drain_failed(struct gcs_call *call, const struct err *err)
{
	struct gcs_call taken = gcs_call_take(call);

	taken.done.drain(taken.context, false, "", err);
}

static void gcs_drain_read(struct gcs_call *call, const void *message, size_t size)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct err err;
	const Ray__DrainNodeReply *reply = gcs_message_unpack(&ray__drain_node_reply__descriptor,
							      message, size, &scratch, &err);

	if (!reply) {
		gcs_call_fail(call, &err);
		return;
	}
	struct gcs_call taken = gcs_call_take(call);

	taken.done.drain(taken.context, reply->is_accepted,
			 reply->is_accepted ? "" : reply->rejection_reason_message, NULL);
}

static int gcs_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

static int gcs_hex_read(const char *hex, unsigned char *ret_bytes, size_t *ret_size,
			struct err *err)
{
	size_t size = strlen(hex);

	if (size == 0 || size % 2 != 0 || size > 2 * (size_t)GCS_NODE_ID_MAX_BYTES)
		return err_set(err, ERR_INPUT, "\"%.140s\" is not a Ray node id", hex);
	for (size_t i = 0; i < size / 2; i++) {
		int high = gcs_hex_digit(hex[2 * i]), low = gcs_hex_digit(hex[2 * i + 1]);

		if (high < 0 || low < 0)
			return err_set(err, ERR_INPUT, "\"%.140s\" is not a Ray node id", hex);
		ret_bytes[i] = (unsigned char)(high * 16 + low);
	}
	*ret_size = size / 2;
	return 0;
}

struct gcs_call *gcs_client_drain_node(struct gcs_client *client, int64_t timeout_ms,
				       const char *node_id_hex, const char *message,
				       gcs_drain_done *done, void *context)
{
	Ray__DrainNodeRequest request = RAY__DRAIN_NODE_REQUEST__INIT;
	unsigned char node_id[GCS_NODE_ID_MAX_BYTES];
	struct gcs_call *call = gcs_call_new(client, timeout_ms, GCS_AUTOSCALER_SERVICE "DrainNode",
					     gcs_drain_read, gcs_drain_failed, context);
	struct err err;

	call->writes = true;
	call->done.drain = done;
	request.node_id.data = node_id;
	request.reason = RAY__DRAIN_NODE_REASON__DRAIN_NODE_REASON_IDLE_TERMINATION;
	request.reason_message = (char *)message;
	if (gcs_hex_read(node_id_hex, node_id, &request.node_id.len, &err) < 0)
		gcs_call_fail_later(call, &err);
	else
		gcs_call_send_message(call, &request.base);
	return call;
}

/* ---- ReportAutoscalingState ---- */

static void gcs_report_failed(struct gcs_call *call, const struct err *err)
{
	struct gcs_call taken = gcs_call_take(call);

	taken.done.report(taken.context, err);
}

static void gcs_report_read(struct gcs_call *call, const void *message, size_t size)
{
	struct gcs_call taken = gcs_call_take(call);

	(void)message; /* an empty message */
	(void)size;
	taken.done.report(taken.context, NULL);
}

struct gcs_call *gcs_client_report_state(struct gcs_client *client, int64_t timeout_ms, time_ms now,
					 const struct ray_state *state, const struct plan *plan,
					 gcs_report_done *done, void *context)
{
	struct gcs_call *call = gcs_call_new(client, timeout_ms,
					     GCS_AUTOSCALER_SERVICE "ReportAutoscalingState",
					     gcs_report_read, gcs_report_failed, context);
	struct err err;

	call->writes = true;
	call->done.report = done;
	client->report_version = gcs_report_version(now, state, client->report_version);
	if (gcs_report_write(client->report_version, now, state, plan, &call->request) == 0) {
		gcs_call_send(call);
		return call;
	}
	err_set(&err, ERR_LIMIT, "the report is larger than %zu bytes", GCS_REQUEST_BUFFER_BYTES);
	gcs_call_fail_later(call, &err);
	return call;
}

/* ---- CheckAlive ---- */

static void gcs_alive_failed(struct gcs_call *call, const struct err *err)
{
	struct gcs_call taken = gcs_call_take(call);

	taken.done.alive(taken.context, "", err);
}

static void gcs_alive_read(struct gcs_call *call, const void *message, size_t size)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct err err;
	const Ray__CheckAliveReply *reply = gcs_message_unpack(&ray__check_alive_reply__descriptor,
							       message, size, &scratch, &err);

	if (!reply || gcs_status_check(reply->status, &err) < 0) {
		gcs_call_fail(call, &err);
		return;
	}
	struct gcs_call taken = gcs_call_take(call);

	taken.done.alive(taken.context, reply->ray_version, NULL);
}

struct gcs_call *gcs_client_check_alive(struct gcs_client *client, int64_t timeout_ms,
					gcs_alive_done *done, void *context)
{
	Ray__CheckAliveRequest request = RAY__CHECK_ALIVE_REQUEST__INIT;
	struct gcs_call *call = gcs_call_new(client, timeout_ms, GCS_NODE_SERVICE "CheckAlive",
					     gcs_alive_read, gcs_alive_failed, context);

	call->done.alive = done;
	gcs_call_send_message(call, &request.base);
	return call;
}

/* ---- InternalKV ---- */

/* The key does not exist: the GCS returns the status or omits the value. */
static int gcs_kv_read_value(const void *message, size_t size, struct arena *arena,
			     ProtobufCBinaryData *ret_value, struct err *err)
{
	const Ray__InternalKVGetReply *reply = gcs_message_unpack(
		&ray__internal_kvget_reply__descriptor, message, size, arena, err);

	if (!reply)
		return -1;
	if (gcs_status_check(reply->status, err) == 0) {
		*ret_value = reply->value;
		return 0;
	}
	*ret_value = (ProtobufCBinaryData){ .data = NULL, .len = 0 };
	return err->kind == ERR_NOT_FOUND ? 0 : -1;
}

static void gcs_kv_send_get(struct gcs_call *call, const char *namespace_, const char *key)
{
	Ray__InternalKVGetRequest request = RAY__INTERNAL_KVGET_REQUEST__INIT;

	request.key = (ProtobufCBinaryData){ .data = (uint8_t *)key, .len = strlen(key) };
	request.namespace_ =
		(ProtobufCBinaryData){ .data = (uint8_t *)namespace_, .len = strlen(namespace_) };
	gcs_call_send_message(call, &request.base);
}

static void gcs_kv_get_failed(struct gcs_call *call, const struct err *err)
{
	struct gcs_call taken = gcs_call_take(call);

	taken.done.kv_get(taken.context, NULL, 0, err);
}

static void gcs_kv_get_read(struct gcs_call *call, const void *message, size_t size)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	ProtobufCBinaryData value;
	struct err err;

	if (gcs_kv_read_value(message, size, &scratch, &value, &err) < 0) {
		gcs_call_fail(call, &err);
		return;
	}
	struct gcs_call taken = gcs_call_take(call);

	taken.done.kv_get(taken.context, (const char *)value.data, value.len, NULL);
}

struct gcs_call *gcs_client_kv_get(struct gcs_client *client, int64_t timeout_ms,
				   const char *namespace_, const char *key, gcs_kv_get_done *done,
				   void *context)
{
	struct gcs_call *call = gcs_call_new(client, timeout_ms, GCS_KV_SERVICE "InternalKVGet",
					     gcs_kv_get_read, gcs_kv_get_failed, context);

	call->done.kv_get = done;
	gcs_kv_send_get(call, namespace_, key);
	return call;
}

static void gcs_kv_put_failed(struct gcs_call *call, const struct err *err)
{
	struct gcs_call taken = gcs_call_take(call);

	taken.done.kv_put(taken.context, false, err);
}

static void gcs_kv_put_read(struct gcs_call *call, const void *message, size_t size)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct err err;
	const Ray__InternalKVPutReply *reply = gcs_message_unpack(
		&ray__internal_kvput_reply__descriptor, message, size, &scratch, &err);

	if (!reply || gcs_status_check(reply->status, &err) < 0) {
		gcs_call_fail(call, &err);
		return;
	}
	struct gcs_call taken = gcs_call_take(call);

	taken.done.kv_put(taken.context, reply->added, NULL);
}

struct gcs_call *gcs_client_kv_put(struct gcs_client *client, int64_t timeout_ms,
				   const char *namespace_, const char *key, const char *value,
				   size_t size, gcs_kv_put_done *done, void *context)
{
	Ray__InternalKVPutRequest request = RAY__INTERNAL_KVPUT_REQUEST__INIT;
	struct gcs_call *call = gcs_call_new(client, timeout_ms, GCS_KV_SERVICE "InternalKVPut",
					     gcs_kv_put_read, gcs_kv_put_failed, context);

	call->writes = true;
	call->done.kv_put = done;
	request.key = (ProtobufCBinaryData){ .data = (uint8_t *)key, .len = strlen(key) };
	request.namespace_ =
		(ProtobufCBinaryData){ .data = (uint8_t *)namespace_, .len = strlen(namespace_) };
	request.value = (ProtobufCBinaryData){ .data = (uint8_t *)value, .len = size };
	request.overwrite = true;
	gcs_call_send_message(call, &request.base);
	return call;
}

/* ---- requests that the SDK wrote into the store ---- */

static void gcs_requests_failed(struct gcs_call *call, const struct err *err)
{
	struct gcs_call taken = gcs_call_take(call);

	taken.done.requests(taken.context, NULL, err);
}

static void gcs_requests_end(struct gcs_call *call, const struct ray_constraint *constraint)
{
	struct gcs_call taken = gcs_call_take(call);

	taken.done.requests(taken.context, constraint, NULL);
}

static void gcs_requests_read(struct gcs_call *call, const void *message, size_t size)
{
	AUTO(arena_done) struct arena scratch = { .budget = call->arena->budget };
	struct ray_constraint *constraint;
	ProtobufCBinaryData value;
	struct err err;

	if (gcs_kv_read_value(message, size, &scratch, &value, &err) < 0) {
		gcs_call_fail(call, &err);
		return;
	}
	if (value.len == 0) {
		gcs_requests_end(call, NULL);
		return;
	}
	constraint = ARENA_NEW(call->arena, struct ray_constraint);
	if (gcs_requests_parse(value.data, value.len, call->arena, constraint, &err) < 0) {
		(void)err_prefix(&err, "key %s of the GCS, as request_resources() writes it",
				 GCS_KV_REQUESTS_KEY);
		gcs_call_fail(call, &err);
		return;
	}
	gcs_requests_end(call, constraint);
}

static void gcs_requests_read_mark(struct gcs_call *call, const void *message, size_t size)
{
	AUTO(arena_done) struct arena scratch = { .budget = call->arena->budget };
	ProtobufCBinaryData value;
	struct err err;

	if (gcs_kv_read_value(message, size, &scratch, &value, &err) < 0) {
		gcs_call_fail(call, &err);
		return;
	}
	if (value.len == strlen(GCS_V2_VALUE) && memcmp(value.data, GCS_V2_VALUE, value.len) == 0) {
		gcs_requests_end(call, NULL);
		return;
	}
	call->read = gcs_requests_read;
	gcs_kv_send_get(call, "", GCS_KV_REQUESTS_KEY);
}

struct gcs_call *gcs_client_get_kv_requests(struct gcs_client *client, int64_t timeout_ms,
					    struct arena *arena, gcs_requests_done *done,
					    void *context)
{
	struct gcs_call *call = gcs_call_new(client, timeout_ms, GCS_KV_SERVICE "InternalKVGet",
					     gcs_requests_read_mark, gcs_requests_failed, context);

	call->arena = arena;
	call->done.requests = done;
	gcs_kv_send_get(call, GCS_V2_NAMESPACE, GCS_V2_KEY);
	return call;
}
