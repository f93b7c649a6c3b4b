#include "gcs/gcs_call.h"

#include <string.h>

#include "base/check.h"
#include "base/memory.h"
#include "gcs/gcs_message.h"
#include "net/grpc.h"
#include "net/h2.h"
#include "net/loop.h"
#include "net/work.h"

#define GCS_PATH_CLUSTER_ID "/ray.rpc.NodeInfoGcsService/GetClusterId"

/* ray: StatusCode of GcsStatus, src/ray/common/status.h */
enum gcs_status_code { GCS_STATUS_OK = 0, GCS_STATUS_NOT_FOUND = 17 };

/* ---- calls ---- */

static void gcs_call_free(struct gcs_call *call)
{
	list_remove(&call->item);
	if (call->job)
		work_cancel(call->job);
	loop_timer_free(call->later);
	memory_free(call->err);
	buf_done(&call->request);
	buf_done(&call->lines);
	memory_free(call);
}

void gcs_call_cancel(struct gcs_call *call)
{
	if (call->h2)
		h2_call_cancel(call->h2);
	gcs_call_free(call);
}

void gcs_call_end(struct gcs_call *call, const struct gcs_reply *reply, const struct err *err)
{
	gcs_done *done = call->done;
	void *context = call->context;

	gcs_call_free(call);
	done(context, reply, err);
}

static const char *gcs_method(const struct gcs_call *call)
{
	const char *slash = strrchr(call->path, '/');

	return slash ? slash + 1 : call->path;
}

void gcs_call_fail(struct gcs_call *call, const struct err *err)
{
	struct err named = *err;

	(void)err_prefix(&named, "%s: %s", call->client->cluster, gcs_method(call));
	gcs_call_end(call, &(struct gcs_reply){ .rejection = "" }, &named);
}

static void gcs_on_later(void *context)
{
	struct gcs_call *call = context;
	struct err err = *call->err;

	gcs_call_fail(call, &err);
}

void gcs_call_fail_later(struct gcs_call *call, const struct err *err)
{
	if (call->later)
		return;
	call->err = memory_alloc(sizeof(*call->err));
	*call->err = *err;
	call->later = loop_timer_new(call->client->loop, gcs_on_later, call);
	loop_timer_start(call->later, 0);
}

struct gcs_call *gcs_call_new(struct gcs_client *client, int64_t timeout_ms, const char *path,
			      gcs_call_read *read, gcs_done *done, void *context)
{
	struct gcs_call *call = memory_alloc(sizeof(*call));

	CHECK(timeout_ms > 0 && timeout_ms <= H2_TIMEOUT_MAX_MS);
	call->client = client;
	list_add(&client->calls, &call->item);
	call->deadline_ms = loop_attended_ms(client->loop) + timeout_ms;
	call->path = path;
	buf_init(&call->request, GCS_REQUEST_BUFFER_BYTES);
	call->read = read;
	call->done = done;
	call->context = context;
	return call;
}

/* ---- one unary call ---- */

/* Sends one method of the chain. Its timeout is the rest of the call's deadline. Only the call's
 * own method, and only with an arena, may have a large reply, which is charged to the arena's
 * budget; the others are limited to GCS_SMALL_REPLY_BYTES. The bearer token is wiped after it was
 * copied into the request. */
static void gcs_unary(struct gcs_call *call, const char *path, const char *cluster_id,
		      const struct buf *message, h2_done *done)
{
	struct gcs_client *client = call->client;
	int64_t left_ms = call->deadline_ms - loop_attended_ms(client->loop);
	AUTO(buf_done) struct buf bearer;
	struct h2_request request = {
		.path = path,
		.message = buf_string(message),
		.size = message->size,
		.timeout_ms = left_ms > 1 ? left_ms : 1,
		.may_send = call->writes ? client->may_write : NULL,
		.may_send_context = client->may_write_context,
		.reply_ceiling_bytes = GCS_SMALL_REPLY_BYTES,
	};
	size_t count = 0;

	if (path == call->path && call->arena) {
		request.reply_ceiling_bytes = call->reply_ceiling_bytes;
		request.reply_budget = call->arena->budget;
	}
	buf_init(&bearer, sizeof("Bearer ") + strlen(client->token));
	if (*client->token) {
		(void)buf_printf(&bearer, "Bearer %s", client->token);
		request.headers[count++] = (struct h2_header){ .name = "authorization",
							       .value = buf_string(&bearer),
							       .secret = true };
	}
	if (cluster_id)
		request.headers[count++] =
			(struct h2_header){ .name = "ray_cluster_id", .value = cluster_id };
	call->h2 = h2_call_start(client->session, &request, done, call);
	if (bearer.data)
		explicit_bzero(bearer.data, bearer.size);
}

/* ray: the token check of grpc_server.h answers UNAUTHENTICATED with either text; the first one
 * means that the head was replaced. */
static bool gcs_is_wrong_cluster(const struct h2_reply *reply)
{
	return reply->grpc_status == GRPC_UNAUTHENTICATED &&
	       strstr(reply->grpc_message, "WrongClusterID");
}

static const char *gcs_token_cure(const struct gcs_client *client)
{
	if (client->token_source[0])
		return client->token_source;
	if (client->token[0])
		return "check the token: Ray's own is in the Secret of spec.authOptions, or in "
		       "RAY_AUTH_TOKEN";
	return "no token was sent: neither spec.authOptions nor the variables and volumes of the "
	       "head Pod name a Secret with one; set spec.authOptions.mode: token";
}

static void gcs_explain(const struct gcs_client *client, const struct h2_reply *reply,
			struct err *err)
{
	struct err plain = *err;

	if (reply->grpc_status == GRPC_UNIMPLEMENTED)
		(void)err_set(err, ERR_NOT_FOUND, "%s; this Ray is too old for autoscaler v2",
			      plain.text);
	else if ((reply->grpc_status == GRPC_UNAUTHENTICATED && !gcs_is_wrong_cluster(reply)) ||
		 reply->grpc_status == GRPC_PERMISSION_DENIED)
		(void)err_set(err, ERR_DENIED, "%s; %s", plain.text, gcs_token_cure(client));
	else if (reply->grpc_status == GRPC_NONE && err->kind == ERR_DENIED &&
		 client->tls_source[0])
		(void)err_set(err, ERR_DENIED, "%s; %s", plain.text, client->tls_source);
}

static void gcs_on_reply(void *context, const struct h2_reply *reply, const struct err *err)
{
	struct gcs_call *call = context;

	call->h2 = NULL;
	if (!err) {
		call->body = reply->body;
		call->read(call, reply->message, reply->size);
		return;
	}
	if (gcs_is_wrong_cluster(reply) && !call->repeated) {
		call->repeated = true;
		call->client->cluster_id[0] = '\0';
		gcs_call_send(call);
		return;
	}
	if (reply->grpc_status == GRPC_UNIMPLEMENTED && call->other_path) {
		call->path = call->other_path;
		call->other_path = NULL;
		gcs_call_send(call);
		return;
	}
	struct err explained = *err;
	gcs_explain(call->client, reply, &explained);
	gcs_call_fail(call, &explained);
}

int gcs_status_check(const Ray__GcsStatus *status, struct err *err)
{
	if (!status || status->code == GCS_STATUS_OK)
		return 0;
	return err_set(err, status->code == GCS_STATUS_NOT_FOUND ? ERR_NOT_FOUND : ERR_RETRY,
		       "the GCS answered: %s (%d)", status->message, (int)status->code);
}

static int gcs_read_cluster_id(struct gcs_client *client, const struct h2_reply *reply,
			       struct err *err)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const Ray__GetClusterIdReply *message = gcs_message_unpack(
		&ray__get_cluster_id_reply__descriptor, reply->message, reply->size, &scratch, err);

	if (!message || gcs_status_check(message->status, err) < 0)
		return -1;
	if (message->cluster_id.len == 0 || message->cluster_id.len > GCS_CLUSTER_ID_MAX_BYTES)
		return err_set(err, ERR_INPUT, "the cluster id has %zu bytes, must have 1 to %d",
			       message->cluster_id.len, GCS_CLUSTER_ID_MAX_BYTES);
	memcpy(client->cluster_id, gcs_message_hex(&scratch, message->cluster_id),
	       2 * message->cluster_id.len + 1);
	client->cluster_id_generation = h2_session_generation(client->session);
	return 0;
}

static void gcs_on_cluster_id(void *context, const struct h2_reply *reply, const struct err *err)
{
	struct gcs_call *call = context;
	struct err explained;

	call->h2 = NULL;
	if (err) {
		explained = *err;
		gcs_explain(call->client, reply, &explained);
	} else if (gcs_read_cluster_id(call->client, reply, &explained) == 0) {
		gcs_unary(call, call->path, call->client->cluster_id, &call->request, gcs_on_reply);
		return;
	}
	(void)err_prefix(&explained, "GetClusterId");
	gcs_call_fail(call, &explained);
}

/* Sends GetClusterId first when the id is from another connection, because the head may have been
 * replaced since. */
void gcs_call_send(struct gcs_call *call)
{
	struct gcs_client *client = call->client;
	AUTO(buf_done) struct buf empty;

	buf_init(&empty, 0);
	if (client->cluster_id[0] &&
	    client->cluster_id_generation == h2_session_generation(client->session))
		gcs_unary(call, call->path, client->cluster_id, &call->request, gcs_on_reply);
	else
		gcs_unary(call, GCS_PATH_CLUSTER_ID, NULL, &empty, gcs_on_cluster_id);
}

void gcs_call_send_message(struct gcs_call *call, const ProtobufCMessage *message)
{
	struct err err;

	buf_clear(&call->request);
	if (gcs_message_pack(message, &call->request) == 0) {
		gcs_call_send(call);
		return;
	}
	err_set(&err, ERR_LIMIT, "the request is larger than %zu bytes", GCS_REQUEST_BUFFER_BYTES);
	gcs_call_fail_later(call, &err);
}
