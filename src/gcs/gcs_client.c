#include "gcs/gcs_client.h"

#include <string.h>

#include "base/budget.h"
#include "base/memory.h"
#include "base/text.h"
#include "codec/objects/request_resources.h"
#include "codec/text/json_write.h"
#include "codec/text/number.h"
#include "codec/text/text.h"
#include "gcs/gcs_call.h"
#include "gcs/gcs_decode.h"
#include "gcs/gcs_list.h"
#include "gcs/gcs_message.h"
#include "gcs/gcs_report.h"
#include "net/h2.h"
#include "net/h2_tls.h"

#define GCS_AUTOSCALER_SERVICE "/ray.rpc.autoscaler.AutoscalerStateService/"
#define GCS_KV_SERVICE "/ray.rpc.InternalKVGcsService/"
#define GCS_PUBLISH_PATH "/ray.rpc.ObservabilityPubSubService/GcsPublish"
/* Of an older Ray, with one service for all channels. */
#define GCS_PUBLISH_PATH_BEFORE "/ray.rpc.InternalPubSubGcsService/GcsPublish"

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
	memory_set_string(&client->token, token ? token : "");
}

struct gcs_client *gcs_client_new(struct loop *loop, const struct gcs_config *config)
{
	struct gcs_client *client = memory_alloc(sizeof(*client));

	client->loop = loop;
	client->cluster = memory_strdup(config->cluster);
	client->may_write = config->may_write;
	client->may_write_context = config->may_write_context;
	gcs_client_configure(client, config);
	return client;
}

void gcs_client_configure(struct gcs_client *client, const struct gcs_config *config)
{
	struct err err;

	if (!client->token || strcmp(client->token, config->token ? config->token : "") != 0)
		gcs_client_set_token(client, config->token);
	memory_set_string(&client->token_source, config->token_source ? config->token_source : "");
	memory_set_string(&client->tls_source, config->tls_source ? config->tls_source : "");
	if (client->host && strcmp(client->host, config->host) == 0 &&
	    client->port == config->port && client->tls == config->tls &&
	    client->reply_ceiling_bytes == config->reply_ceiling_bytes)
		return;
	gcs_client_drop(client);
	gcs_client_take(client, config);
	err_set(&err, ERR_RETRY, "the address or the certificates of the head have changed");
	LIST_EACH(struct gcs_call, call, &client->calls, item) {
		call->h2 = NULL; /* freed with its session */
		gcs_call_fail_later(call, &err);
	}
}

void gcs_client_free(struct gcs_client *client)
{
	if (!client)
		return;
	LIST_EACH(struct gcs_call, call, &client->calls, item)
		gcs_call_cancel(call);
	gcs_client_drop(client);
	gcs_client_set_token(client, "");
	memory_free(client->token);
	memory_free(client->token_source);
	memory_free(client->tls_source);
	memory_free(client->cluster);
	memory_free(client);
}

/* ---- GetClusterResourceState ---- */

void gcs_call_ask_known(struct gcs_call *call, gcs_state_known *known)
{
	call->known = known;
}

struct gcs_call *gcs_client_get_state(struct gcs_client *client, int64_t timeout_ms,
				      struct arena *arena, gcs_done *done, void *context)
{
	/* The last-seen version stays 0: a GCS that was restarted aborts on one that it has not
	 * reached yet (docs/internals/ray.md, T2). */
	Ray__GetClusterResourceStateRequest request = RAY__GET_CLUSTER_RESOURCE_STATE_REQUEST__INIT;
	struct gcs_call *call = gcs_call_new(client, timeout_ms,
					     GCS_AUTOSCALER_SERVICE "GetClusterResourceState",
					     gcs_decode, done, context);

	call->arena = arena;
	gcs_call_send_message(call, &request.base);
	return call;
}

/* ---- DrainNode ---- */

static void gcs_drain_read(struct gcs_call *call, const void *message, size_t size)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct gcs_reply ended = { .rejection = "" };
	struct err err;

	const Ray__DrainNodeReply *reply = gcs_message_unpack(&ray__drain_node_reply__descriptor,
							      message, size, &scratch, &err);
	if (!reply) {
		gcs_call_fail(call, &err);
		return;
	}
	ended.accepted = reply->is_accepted;
	if (!reply->is_accepted)
		ended.rejection = reply->rejection_reason_message;
	gcs_call_end(call, &ended, NULL);
}

static int gcs_hex_read(const char *hex, unsigned char *ret_bytes, size_t *ret_size,
			struct err *err)
{
	size_t size = strlen(hex);

	if (size == 0 || size % 2 != 0 || size > 2 * (size_t)GCS_NODE_ID_MAX_BYTES ||
	    strspn(hex, "0123456789abcdef") != size)
		return err_set(err, ERR_INPUT, "\"%.140s\" is not a Ray node id", hex);
	for (size_t i = 0; i < size / 2; i++)
		ret_bytes[i] = (unsigned char)text_hex_byte(hex + 2 * i);
	*ret_size = size / 2;
	return 0;
}

struct gcs_call *gcs_client_drain_node(struct gcs_client *client, int64_t timeout_ms,
				       const char *node_id_hex, const char *message,
				       time_ms deadline, gcs_done *done, void *context)
{
	Ray__DrainNodeRequest request = RAY__DRAIN_NODE_REQUEST__INIT;
	unsigned char node_id[GCS_NODE_ID_MAX_BYTES];
	struct gcs_call *call = gcs_call_new(client, timeout_ms, GCS_AUTOSCALER_SERVICE "DrainNode",
					     gcs_drain_read, done, context);
	struct err err;

	call->writes = true;
	request.node_id.data = node_id;
	request.reason = RAY__DRAIN_NODE_REASON__DRAIN_NODE_REASON_IDLE_TERMINATION;
	if (deadline != TIME_NONE) {
		request.reason = RAY__DRAIN_NODE_REASON__DRAIN_NODE_REASON_PREEMPTION;
		request.deadline_timestamp_ms = deadline;
	}
	request.reason_message = GCS_STRING(message);
	if (gcs_hex_read(node_id_hex, node_id, &request.node_id.len, &err) < 0)
		gcs_call_fail_later(call, &err);
	else
		gcs_call_send_message(call, &request.base);
	return call;
}

/* ---- GetDrainingNodes ---- */

static void gcs_drains_read(struct gcs_call *call, const void *message, size_t size)
{
	AUTO(arena_done) struct arena scratch = { .budget = call->arena->budget };
	struct gcs_reply ended = { .rejection = "" };
	struct ray_drain *drains;
	struct err err;

	const Ray__GetDrainingNodesReply *reply = gcs_message_unpack(
		&ray__get_draining_nodes_reply__descriptor, message, size, &scratch, &err);
	if (!reply || gcs_status_check(reply->status, &err) < 0) {
		gcs_call_fail(call, &err);
		return;
	}
	ended.drain_count = reply->n_draining_nodes;
	ended.drains = drains = arena_array(call->arena, ended.drain_count, sizeof(*drains));
	for (size_t i = 0; i < ended.drain_count; i++)
		drains[i] = (struct ray_drain){
			.node_id = gcs_message_hex(call->arena, reply->draining_nodes[i]->node_id),
			.deadline_ms = reply->draining_nodes[i]->draining_deadline_timestamp_ms,
		};
	gcs_call_end(call, &ended, NULL);
}

struct gcs_call *gcs_client_get_drains(struct gcs_client *client, int64_t timeout_ms,
				       struct arena *arena, gcs_done *done, void *context)
{
	Ray__GetDrainingNodesRequest request = RAY__GET_DRAINING_NODES_REQUEST__INIT;
	struct gcs_call *call = gcs_call_new(client, timeout_ms,
					     "/ray.rpc.NodeResourceInfoGcsService/GetDrainingNodes",
					     gcs_drains_read, done, context);

	call->arena = arena;
	call->reply_ceiling_bytes = GCS_DRAINS_BYTES;
	gcs_call_send_message(call, &request.base);
	return call;
}

/* ---- ResizeRayletResourceInstances ---- */

static void gcs_resize_read(struct gcs_call *call, const void *message, size_t size)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct gcs_reply ended = { .rejection = "", .size = { -1, -1 } };
	struct err err;

	const Ray__ResizeRayletResourceInstancesReply *reply =
		gcs_message_unpack(&ray__resize_raylet_resource_instances_reply__descriptor,
				   message, size, &scratch, &err);
	if (reply)
		for (size_t i = 0; i < reply->n_total_resources; i++) {
			const char *name = reply->total_resources[i]->key, *problem;
			int64_t amount =
				amount_from_double(reply->total_resources[i]->value, &problem);

			if (!problem && !strcmp(name, "CPU"))
				ended.size.cpu = amount;
			else if (!problem && !strcmp(name, "memory"))
				ended.size.memory = amount;
		}
	if (reply && (ended.size.cpu < 0 || ended.size.memory < 0)) {
		err_set(&err, ERR_INPUT, "the reply has no valid CPU and memory");
		reply = NULL;
	}
	if (reply)
		gcs_call_end(call, &ended, NULL);
	else
		gcs_call_fail(call, &err);
}

struct gcs_call *gcs_client_resize_node(struct gcs_client *client, int64_t timeout_ms,
					const char *node_id_hex, const struct plan_size *size,
					gcs_done *done, void *context)
{
	typedef Ray__ResizeRayletResourceInstancesRequest__ResourcesEntry entry;

	Ray__ResizeRayletResourceInstancesRequest request =
		RAY__RESIZE_RAYLET_RESOURCE_INSTANCES_REQUEST__INIT;
	entry cpu = RAY__RESIZE_RAYLET_RESOURCE_INSTANCES_REQUEST__RESOURCES_ENTRY__INIT;
	entry memory = cpu;
	entry *entries[] = { &cpu, &memory };
	unsigned char node_id[GCS_NODE_ID_MAX_BYTES];
	struct gcs_call *call = gcs_call_new(client, timeout_ms,
					     GCS_AUTOSCALER_SERVICE "ResizeRayletResourceInstances",
					     gcs_resize_read, done, context);
	struct err err;

	call->writes = true;
	request.node_id.data = node_id;
	cpu.key = "CPU";
	cpu.value = (double)size->cpu / (double)RESOURCE_UNIT;
	memory.key = "memory";
	memory.value = (double)size->memory / (double)RESOURCE_UNIT;
	request.resources = entries;
	request.n_resources = 2;
	if (gcs_hex_read(node_id_hex, node_id, &request.node_id.len, &err) < 0)
		gcs_call_fail_later(call, &err);
	else
		gcs_call_send_message(call, &request.base);
	return call;
}

/* ---- ReportAutoscalingState ---- */

/* An empty message. */
static void gcs_report_read(struct gcs_call *call, const void *message UNUSED, size_t size UNUSED)
{
	gcs_call_end(call, &(struct gcs_reply){ .rejection = "" }, NULL);
}

struct gcs_call *gcs_client_report_state(struct gcs_client *client, int64_t timeout_ms, time_ms now,
					 const struct ray_state *state, const struct plan *plan,
					 gcs_done *done, void *context)
{
	struct gcs_call *call = gcs_call_new(client, timeout_ms,
					     GCS_AUTOSCALER_SERVICE "ReportAutoscalingState",
					     gcs_report_read, done, context);
	struct err err;

	call->writes = true;
	client->report_version = gcs_report_version(now, state, client->report_version);
	if (gcs_report_write(client->report_version, now, state, plan, &call->request) == 0) {
		gcs_call_send(call);
		return call;
	}
	err_set(&err, ERR_LIMIT, "the report is larger than %zu bytes", GCS_REQUEST_BUFFER_BYTES);
	gcs_call_fail_later(call, &err);
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

static bool gcs_kv_is_v2(ProtobufCBinaryData value)
{
	return value.len == strlen(GCS_V2_VALUE) &&
	       memcmp(value.data, GCS_V2_VALUE, value.len) == 0;
}

static void gcs_kv_send_get(struct gcs_call *call, const char *namespace_, const char *key)
{
	Ray__InternalKVGetRequest request = RAY__INTERNAL_KVGET_REQUEST__INIT;

	request.key = gcs_message_bytes(key);
	request.namespace_ = gcs_message_bytes(namespace_);
	gcs_call_send_message(call, &request.base);
}

static void gcs_kv_put_read(struct gcs_call *call, const void *message, size_t size)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct err err;

	const Ray__InternalKVPutReply *reply = gcs_message_unpack(
		&ray__internal_kvput_reply__descriptor, message, size, &scratch, &err);
	if (!reply || gcs_status_check(reply->status, &err) < 0)
		gcs_call_fail(call, &err);
	else
		gcs_call_end(call, &(struct gcs_reply){ .rejection = "" }, NULL);
}

struct gcs_call *gcs_client_kv_put(struct gcs_client *client, int64_t timeout_ms,
				   const char *namespace_, const char *key, const char *value,
				   size_t size, gcs_done *done, void *context)
{
	Ray__InternalKVPutRequest request = RAY__INTERNAL_KVPUT_REQUEST__INIT;
	struct gcs_call *call = gcs_call_new(client, timeout_ms, GCS_KV_SERVICE "InternalKVPut",
					     gcs_kv_put_read, done, context);

	call->writes = true;
	request.key = gcs_message_bytes(key);
	request.namespace_ = gcs_message_bytes(namespace_);
	request.value = (ProtobufCBinaryData){ .data = memory_without_const(value), .len = size };
	request.overwrite = true;
	gcs_call_send_message(call, &request.base);
	return call;
}

/* ---- requests that the SDK wrote into the store ---- */

/* The tree of the JSON is on the heap: the text's size times this is an upper bound. */
#define TREE_FACTOR 40

int gcs_requests_parse(const void *value, size_t size, struct arena *arena,
		       struct ray_constraint *ret, struct err *err)
{
	AUTO(arena_done) struct arena scratch = { .budget = arena->budget };

	if (!budget_charge(arena->budget, size * TREE_FACTOR))
		return budget_refuse(arena->budget, size * TREE_FACTOR, err);
	int status = request_resources_parse(arena_strndup(&scratch, value, size), arena, ret, err);
	budget_release(arena->budget, size * TREE_FACTOR);
	if (status == 0 && (arena->over_budget || scratch.over_budget))
		return budget_refuse(arena->budget, 0, err);
	return status;
}

static int gcs_requests_decode(const void *message, size_t size, struct arena *arena,
			       struct gcs_reply *ret_reply, struct err *err)
{
	AUTO(arena_done) struct arena scratch = { .budget = arena->budget };
	struct ray_constraint *constraint;
	ProtobufCBinaryData value;

	if (gcs_kv_read_value(message, size, &scratch, &value, err) < 0)
		return -1;
	if (value.len == 0)
		return 0;
	constraint = ARENA_NEW(arena, struct ray_constraint);
	if (gcs_requests_parse(value.data, value.len, arena, constraint, err) < 0)
		return err_prefix(err, "key %s of the GCS, as request_resources() writes it",
				  GCS_KV_REQUESTS_KEY);
	ret_reply->constraint = constraint;
	return 0;
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
	if (gcs_kv_is_v2(value)) {
		gcs_call_end(call, &(struct gcs_reply){ .rejection = "" }, NULL);
		return;
	}
	call->read = gcs_decode;
	call->decode = gcs_requests_decode;
	call->reply_ceiling_bytes = 0;
	gcs_kv_send_get(call, "", GCS_KV_REQUESTS_KEY);
}

struct gcs_call *gcs_client_get_kv_requests(struct gcs_client *client, int64_t timeout_ms,
					    struct arena *arena, gcs_done *done, void *context)
{
	struct gcs_call *call = gcs_call_new(client, timeout_ms, GCS_KV_SERVICE "InternalKVGet",
					     gcs_requests_read_mark, done, context);

	call->arena = arena;
	call->reply_ceiling_bytes = GCS_SMALL_REPLY_BYTES; /* of the mark */
	gcs_kv_send_get(call, GCS_V2_NAMESPACE, GCS_V2_KEY);
	return call;
}

/* ---- lines that drivers print ---- */

/* ray: filter_autoscaler_events() of python/ray/_private/worker.py. Under v2 a line is the JSON of
 * a message Event, and any other text prints a traceback; under v1 it has a mark. */
static char *gcs_line_write(const char *line, bool is_v2, struct arena *arena)
{
	AUTO(buf_done) struct buf buf;
	struct json_writer writer;

	buf_init(&buf, 2 * (size_t)GCS_LINE_MAX_BYTES + 100); /* at most " and \\ are escaped */
	if (!is_v2)
		return arena_printf(arena, ":event_summary:%s", line);
	json_write_init(&writer, &buf, JSON_STYLE_LINE);
	json_write_object(&writer, NULL);
	JSON_WRITE_TEXTS(&writer, { "source_type", "AUTOSCALER" }, { "severity", "INFO" },
			 { "message", line });
	json_write_object_end(&writer);
	return arena_strdup(arena, buf_string(&buf));
}

static void gcs_lines_read(struct gcs_call *call, const void *message, size_t size)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct err err;

	const Ray__GcsPublishReply *reply = gcs_message_unpack(&ray__gcs_publish_reply__descriptor,
							       message, size, &scratch, &err);
	if (!reply || gcs_status_check(reply->status, &err) < 0)
		gcs_call_fail(call, &err);
	else
		gcs_call_end(call, &(struct gcs_reply){ .rejection = "" }, NULL);
}

static void gcs_lines_read_mark(struct gcs_call *call, const void *message, size_t size)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	Ray__LogBatch batch = RAY__LOG_BATCH__INIT;
	Ray__PubMessage published = RAY__PUB_MESSAGE__INIT, *list[] = { &published };
	Ray__GcsPublishRequest request = RAY__GCS_PUBLISH_REQUEST__INIT;
	char *lines[GCS_LINES_MAX];
	ProtobufCBinaryData value;
	struct err err;

	if (gcs_kv_read_value(message, size, &scratch, &value, &err) < 0) {
		gcs_call_fail(call, &err);
		return;
	}
	for (size_t at = 0; at < call->lines.size; at += strlen(&call->lines.data[at]) + 1)
		lines[batch.n_lines++] =
			gcs_line_write(&call->lines.data[at], gcs_kv_is_v2(value), &scratch);
	batch.lines = lines;
	batch.ip = call->client->host; /* drivers omit the address of their own head */
	batch.pid = (char *)"autoscaler";
	published.channel_type = RAY__CHANNEL_TYPE__RAY_LOG_CHANNEL;
	published.log_batch_message = &batch;
	request.pub_messages = list;
	request.n_pub_messages = 1;
	call->path = GCS_PUBLISH_PATH;
	call->other_path = GCS_PUBLISH_PATH_BEFORE;
	call->read = gcs_lines_read;
	gcs_call_send_message(call, &request.base);
}

struct gcs_call *gcs_client_publish_lines(struct gcs_client *client, int64_t timeout_ms,
					  const char *const *lines, size_t count, gcs_done *done,
					  void *context)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct gcs_call *call = gcs_call_new(client, timeout_ms, GCS_KV_SERVICE "InternalKVGet",
					     gcs_lines_read_mark, done, context);

	call->writes = true;
	buf_init(&call->lines, (size_t)GCS_LINES_MAX * GCS_LINE_MAX_BYTES);
	for (size_t i = 0; i < count && i < GCS_LINES_MAX; i++) {
		text_add_clean(&call->lines, arena_cut(&scratch, lines[i], GCS_LINE_MAX_BYTES - 1));
		(void)buf_add(&call->lines, "", 1);
	}
	gcs_kv_send_get(call, GCS_V2_NAMESPACE, GCS_V2_KEY);
	return call;
}

/* ---- lists ---- */

/* Running tasks: those in none of the states before, and not ended. */
static void ask_tasks(struct gcs_call *call, const struct gcs_list_use *use)
{
	static const char *const others[] = { "NIL",
					      "PENDING_ARGS_AVAIL",
					      "PENDING_NODE_ASSIGNMENT",
					      "SUBMITTED_TO_WORKER",
					      "FINISHED",
					      "FAILED" };
	enum { OTHERS = sizeof(others) / sizeof(others[0]) };
	Ray__GetTaskEventsRequest request = RAY__GET_TASK_EVENTS_REQUEST__INIT;
	Ray__GetTaskEventsRequest__Filters filters = RAY__GET_TASK_EVENTS_REQUEST__FILTERS__INIT;
	Ray__GetTaskEventsRequest__Filters__StateFilter states[OTHERS], *list[OTHERS];

	for (size_t i = 0; i < OTHERS; i++) {
		ray__get_task_events_request__filters__state_filter__init(&states[i]);
		states[i].predicate = RAY__FILTER_PREDICATE__NOT_EQUAL;
		states[i].state = GCS_STRING(others[i]);
		list[i] = &states[i];
	}
	filters.exclude_driver = true;
	filters.state_filters = list;
	filters.n_state_filters = use->running ? OTHERS : 0;
	request.limit = (int64_t)use->rows_max;
	request.filters = &filters;
	gcs_call_send_message(call, &request.base);
}

struct gcs_call *gcs_client_get_list(struct gcs_client *client, int64_t timeout_ms,
				     enum ray_list list, const struct gcs_list_use *use,
				     struct arena *arena, gcs_done *done, void *context)
{
	static const char *const paths[] = {
		[RAY_LIST_ACTORS] = "/ray.rpc.ActorInfoGcsService/GetAllActorInfo",
		[RAY_LIST_TASKS] = "/ray.rpc.TaskInfoGcsService/GetTaskEvents",
		[RAY_LIST_GROUPS] = "/ray.rpc.PlacementGroupInfoGcsService/GetAllPlacementGroup",
		[RAY_LIST_JOBS] = "/ray.rpc.JobInfoGcsService/GetAllJobInfo",
	};
	struct gcs_call *call =
		gcs_call_new(client, timeout_ms, paths[list], gcs_decode, done, context);
	Ray__GetAllActorInfoRequest actors = RAY__GET_ALL_ACTOR_INFO_REQUEST__INIT;
	Ray__GetAllPlacementGroupRequest groups = RAY__GET_ALL_PLACEMENT_GROUP_REQUEST__INIT;
	Ray__GetAllJobInfoRequest jobs = RAY__GET_ALL_JOB_INFO_REQUEST__INIT;

	call->arena = arena;
	call->list_use = use;
	call->list = list;
	call->reply_ceiling_bytes = use->reply_max_bytes;
	actors.limit = groups.limit = (int64_t)use->rows_max;
	jobs.limit = (int32_t)use->rows_max;
	jobs.skip_submission_job_info_field = true;
	jobs.skip_is_running_tasks_field = true; /* else the GCS calls every driver */
	if (list == RAY_LIST_ACTORS)
		gcs_call_send_message(call, &actors.base);
	else if (list == RAY_LIST_TASKS)
		ask_tasks(call, use);
	else if (list == RAY_LIST_GROUPS)
		gcs_call_send_message(call, &groups.base);
	else
		gcs_call_send_message(call, &jobs.base);
	return call;
}
