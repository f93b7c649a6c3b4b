/* The Ray heads of the fleet: gRPC over h2c, each at its own address, one listener bound to the
 * loopback interface. Replies are made from the recorded one of src/test/data/gcs (workers.bin):
 * its head and its worker, with other names. As in Ray no two replies have the same bytes: the
 * version grows with each, the entries of maps have another order, the head is idle for longer and
 * longer. Header only. */
#ifndef TEST_FLEET_GCS_H
#define TEST_FLEET_GCS_H

#include <arpa/inet.h>
#include <net/if.h>
#include <nghttp2/nghttp2.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/arena.h"
#include "gcs/gcs_message.h"
#include "net/grpc.h"
#include "ray.pb-c.h"
#include "test/fleet/fleet.h"

#define FLEET_ID_SIZE 28
/* Values in the encoded reply that each answer replaces; they take as many bytes as their
 * replacements. */
#define FLEET_VERSION (INT64_C(1) << 42)
#define FLEET_IDLE_MS (INT64_C(1) << 25)

static struct {
	struct fleet *fleet;
	struct arena arena;
	Ray__ClusterResourceState *recorded;
	Ray__NodeState *head, *worker;
	uv_tcp_t listener;
	nghttp2_session_callbacks *callbacks;
} fleet_gcs;

struct fleet_peer {
	uv_tcp_t tcp;
	nghttp2_session *session;
	unsigned index;
	bool closed;
};

/* One call: the method, and then its answer. */
struct fleet_call {
	char method[100];
	bool known; /* carried the cluster id of this head */
	unsigned char *reply;
	size_t size, sent;
};

/* --- the state of one cluster --- */

static void fleet_gcs_record(const char *path)
{
	struct err err;
	char bytes[65536];
	FILE *file = fopen(path, "rb");
	size_t size = file ? fread(bytes, 1, sizeof(bytes), file) : 0;
	Ray__GetClusterResourceStateReply *reply =
		gcs_message_unpack(&ray__get_cluster_resource_state_reply__descriptor, bytes, size,
				   &fleet_gcs.arena, &err);

	if (file)
		(void)fclose(file);
	if (size == 0 || !reply || !reply->cluster_resource_state) {
		fprintf(stderr, "%s: no recorded reply\n", path);
		exit(1);
	}
	fleet_gcs.recorded = reply->cluster_resource_state;
	for (size_t i = 0; i < fleet_gcs.recorded->n_node_states; i++) {
		Ray__NodeState *node = fleet_gcs.recorded->node_states[i];

		if (!strcmp(node->ray_node_type_name, "headgroup"))
			fleet_gcs.head = node;
		else if (node->status != RAY__NODE_STATUS__DEAD && node->n_dynamic_labels == 0)
			fleet_gcs.worker = node;
	}
	if (!fleet_gcs.head || !fleet_gcs.worker) {
		fprintf(stderr, "%s: no head or no worker in it\n", path);
		exit(1);
	}
}

static void fleet_gcs_node(unsigned index, unsigned pod, struct arena *arena,
			   Ray__NodeState *ret_node)
{
	unsigned char *id = arena_alloc(arena, FLEET_ID_SIZE);
	char name[64];
	size_t kept = 0;

	*ret_node = pod == 0 ? *fleet_gcs.head : *fleet_gcs.worker;
	fleet_pod_name(index, pod, name, sizeof(name));
	memcpy(id, &index, sizeof(index));
	memcpy(id + sizeof(index), &pod, sizeof(pod));
	ret_node->node_id = (ProtobufCBinaryData){ FLEET_ID_SIZE, id };
	ret_node->instance_id = arena_strdup(arena, name);
	if (pod == 0) {
		ret_node->status = RAY__NODE_STATUS__IDLE;
		ret_node->idle_duration_ms = FLEET_IDLE_MS;
		return;
	}
	/* Its GPUs are in use: a resource that is used up has no entry among the available. */
	ret_node->ray_node_type_name = arena_strdup(arena, FLEET_GROUP);
	ret_node->status = RAY__NODE_STATUS__RUNNING;
	ret_node->idle_duration_ms = 0;
	ret_node->available_resources = arena_alloc(
		arena, ret_node->n_available_resources * sizeof(*ret_node->available_resources));
	for (size_t i = 0; i < ret_node->n_available_resources; i++)
		if (strcmp(fleet_gcs.worker->available_resources[i]->key, "GPU") != 0)
			ret_node->available_resources[kept++] =
				fleet_gcs.worker->available_resources[i];
	ret_node->n_available_resources = kept;
}

static void fleet_gcs_demand(Ray__ClusterResourceState *state)
{
	static Ray__ResourceRequest__ResourcesBundleEntry entry;
	static Ray__ResourceRequest__ResourcesBundleEntry *bundle[] = { &entry };
	static Ray__ResourceRequest request;
	static Ray__ResourceRequestByCount by_count;
	static Ray__ResourceRequestByCount *pending[] = { &by_count };

	ray__resource_request__resources_bundle_entry__init(&entry);
	ray__resource_request__init(&request);
	ray__resource_request_by_count__init(&by_count);
	entry.key = (char *)"GPU";
	entry.value = 2;
	request.resources_bundle = bundle;
	request.n_resources_bundle = 1;
	by_count.request = &request;
	by_count.count = 1;
	state->pending_resource_requests = pending;
	state->n_pending_resource_requests = 1;
}

/* Turns the order of the entries of its largest map. */
static void fleet_gcs_turn(Ray__NodeState *node, struct arena *arena)
{
	size_t count = node->n_total_resources;
	Ray__NodeState__TotalResourcesEntry **old = node->total_resources;

	node->total_resources = arena_alloc(arena, count * sizeof(*old));
	for (size_t i = 0; i < count; i++)
		node->total_resources[i] = old[count - 1 - i];
}

static void fleet_gcs_make_reply(unsigned index, unsigned order)
{
	struct fleet_cluster *cluster = &fleet_gcs.fleet->clusters[index];
	struct buf *bytes = &cluster->replies[order];
	Ray__GetClusterResourceStateReply reply = RAY__GET_CLUSTER_RESOURCE_STATE_REPLY__INIT;
	Ray__ClusterResourceState state = *fleet_gcs.recorded;
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	Ray__NodeState *nodes = arena_alloc(&arena, cluster->running * sizeof(*nodes));
	Ray__NodeState **list = arena_alloc(&arena, cluster->running * sizeof(*list));

	for (unsigned i = 0; i < cluster->running; i++) {
		fleet_gcs_node(index, i, &arena, &nodes[i]);
		if (order == 1)
			fleet_gcs_turn(&nodes[i], &arena);
		list[i] = &nodes[i];
	}
	state.cluster_resource_state_version = FLEET_VERSION;
	state.node_states = list;
	state.n_node_states = cluster->running;
	state.n_cluster_resource_constraints = 0;
	state.n_pending_resource_requests = 0;
	if (cluster->demand_us)
		fleet_gcs_demand(&state);
	reply.cluster_resource_state = &state;
	buf_init(bytes, FLEET_TEXT_MAX);
	if (gcs_message_pack(&reply.base, bytes) < 0)
		abort();
}

static size_t fleet_varint(unsigned char *bytes, uint64_t value)
{
	size_t size = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[size++] = (unsigned char)(value | 0x80);
	bytes[size++] = (unsigned char)value;
	return size;
}

/* Replaces the number in the message, if it is in it. */
static void fleet_replace(void *bytes, size_t size, int64_t old, int64_t value)
{
	unsigned char old_bytes[10], new_bytes[10];
	size_t length = fleet_varint(old_bytes, (uint64_t)old);
	unsigned char *at = memmem(bytes, size, old_bytes, length);

	if (at && fleet_varint(new_bytes, (uint64_t)value) == length)
		memcpy(at, new_bytes, length);
}

/* --- calls --- */

static void fleet_peer_on_close(uv_handle_t *handle)
{
	struct fleet_peer *peer = handle->data;

	nghttp2_session_del(peer->session);
	memory_free(peer);
}

static void fleet_peer_close(struct fleet_peer *peer)
{
	if (!peer->closed)
		uv_close((uv_handle_t *)&peer->tcp, fleet_peer_on_close);
	peer->closed = true;
}

/* Small answers to a peer that reads: the connection ends when the socket does not take all bytes
 * at once. */
static void fleet_peer_flush(struct fleet_peer *peer)
{
	char bytes[65536];
	size_t size = 0;
	const uint8_t *data;
	ssize_t step = 0;
	uv_buf_t piece;

	while (size + 20000 < sizeof(bytes) &&
	       (step = nghttp2_session_mem_send(peer->session, &data)) > 0) {
		if ((size_t)step > sizeof(bytes) - size)
			break;
		memcpy(bytes + size, data, (size_t)step);
		size += (size_t)step;
	}
	piece = uv_buf_init(bytes, (unsigned)size);
	if (step != 0 ||
	    (size > 0 && uv_try_write((uv_stream_t *)&peer->tcp, &piece, 1) != (int)size))
		fleet_peer_close(peer);
}

static nghttp2_nv fleet_nv(const char *name, const char *value)
{
	return (nghttp2_nv){ (uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value), 0 };
}

static ssize_t fleet_call_read(nghttp2_session *session, int32_t id, uint8_t *data, size_t size,
			       uint32_t *flags, nghttp2_data_source *source, void *context)
{
	struct fleet_call *call = source->ptr;
	nghttp2_nv trailers[] = { fleet_nv("grpc-status", "0"), fleet_nv("grpc-message", "") };

	(void)context;
	if (size > call->size - call->sent)
		size = call->size - call->sent;
	memcpy(data, call->reply + call->sent, size);
	call->sent += size;
	if (call->sent == call->size) {
		*flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
		(void)nghttp2_submit_trailer(session, id, trailers, 2);
	}
	return (ssize_t)size;
}

static void fleet_call_answer(struct fleet_peer *peer, int32_t id, struct fleet_call *call,
			      const void *message, size_t size)
{
	nghttp2_nv headers[] = { fleet_nv(":status", "200"),
				 fleet_nv("content-type", "application/grpc") };
	nghttp2_data_provider body = { .source.ptr = call, .read_callback = fleet_call_read };

	call->size = GRPC_PREFIX_SIZE + size;
	call->reply = memory_alloc(call->size);
	grpc_prefix_write(call->reply, (uint32_t)size);
	if (size > 0)
		memcpy(call->reply + GRPC_PREFIX_SIZE, message, size);
	(void)nghttp2_submit_response(peer->session, id, headers, 2, &body);
}

static void fleet_call_refuse(const struct fleet_peer *peer, int32_t id, const char *status,
			      const char *message)
{
	nghttp2_nv headers[] = { fleet_nv(":status", "200"),
				 fleet_nv("content-type", "application/grpc"),
				 fleet_nv("grpc-status", status),
				 fleet_nv("grpc-message", message) };

	(void)nghttp2_submit_response(peer->session, id, headers, 4, NULL);
}

static void fleet_cluster_id(unsigned index, unsigned char *ret_id)
{
	memset(ret_id, 0xa7, FLEET_ID_SIZE);
	memcpy(ret_id, &index, sizeof(index));
}

static void fleet_call_id(struct fleet_peer *peer, int32_t id, struct fleet_call *call)
{
	Ray__GetClusterIdReply reply = RAY__GET_CLUSTER_ID_REPLY__INIT;
	unsigned char cluster_id[FLEET_ID_SIZE];
	AUTO(buf_done) struct buf bytes;

	fleet_cluster_id(peer->index, cluster_id);
	reply.cluster_id = (ProtobufCBinaryData){ FLEET_ID_SIZE, cluster_id };
	buf_init(&bytes, 1024);
	(void)gcs_message_pack(&reply.base, &bytes);
	fleet_call_answer(peer, id, call, bytes.data, bytes.size);
}

static void fleet_call_state(struct fleet_peer *peer, int32_t id, struct fleet_call *call)
{
	struct fleet *fleet = fleet_gcs.fleet;
	struct fleet_cluster *cluster = &fleet->clusters[peer->index];
	unsigned order = (unsigned)random() % FLEET_ORDERS;
	const struct buf *bytes = &cluster->replies[order];
	int64_t age_ms = loop_boot_ms() - fleet->start_ms;

	fleet->states++;
	if (!cluster->asked && ++fleet->asked == fleet->count)
		fleet->all_asked_us = loop_precise_us();
	cluster->asked = true;
	if (bytes->size == 0)
		fleet_gcs_make_reply(peer->index, order);
	fleet_call_answer(peer, id, call, bytes->data, bytes->size);
	fleet_replace(call->reply, call->size, FLEET_VERSION, FLEET_VERSION + ++fleet->replies);
	fleet_replace(call->reply, call->size, FLEET_IDLE_MS, FLEET_IDLE_MS + age_ms);
}

static void fleet_call_take(struct fleet_peer *peer, int32_t id, struct fleet_call *call)
{
	const char *slash = strrchr(call->method, '/');
	const char *method = slash ? slash + 1 : "";

	if (!strcmp(method, "GetClusterId")) {
		fleet_gcs.fleet->other_calls++;
		fleet_call_id(peer, id, call);
	} else if (!call->known) {
		fleet_call_refuse(peer, id, "16", "WrongClusterID: the client has another one");
	} else if (!strcmp(method, "GetClusterResourceState")) {
		fleet_call_state(peer, id, call);
	} else if (!strcmp(method, "ReportAutoscalingState")) {
		fleet_gcs.fleet->reports++;
		fleet_call_answer(peer, id, call, NULL, 0);
	} else {
		fleet_gcs.fleet->other_calls++;
		fleet_call_refuse(peer, id, "12", "not part of the fleet");
	}
}

/* --- nghttp2 --- */

static int fleet_on_begin(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
	(void)context;
	return nghttp2_session_set_stream_user_data(session, frame->hd.stream_id,
						    memory_alloc(sizeof(struct fleet_call)));
}

static int fleet_on_header(nghttp2_session *session, const nghttp2_frame *frame,
			   const uint8_t *name, size_t name_size, const uint8_t *value,
			   size_t value_size, uint8_t flags, void *context)
{
	struct fleet_call *call =
		nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	const struct fleet_peer *peer = context;

	(void)flags;
	if (name_size == 5 && memcmp(name, ":path", 5) == 0) {
		(void)snprintf(call->method, sizeof(call->method), "%.*s", (int)value_size,
			       (const char *)value);
	} else if (name_size == 14 && memcmp(name, "ray_cluster_id", 14) == 0) {
		unsigned char id[FLEET_ID_SIZE];
		char text[2 * FLEET_ID_SIZE + 1];

		fleet_cluster_id(peer->index, id);
		for (size_t i = 0; i < FLEET_ID_SIZE; i++)
			(void)snprintf(text + 2 * i, 3, "%02x", id[i]);
		call->known = value_size == 2 * FLEET_ID_SIZE && !memcmp(value, text, value_size);
	}
	return 0;
}

static int fleet_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
	if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) &&
	    (frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS))
		fleet_call_take(context, frame->hd.stream_id,
				nghttp2_session_get_stream_user_data(session, frame->hd.stream_id));
	return 0;
}

static int fleet_on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *context)
{
	struct fleet_call *call = nghttp2_session_get_stream_user_data(session, id);

	(void)code;
	(void)context;
	if (call)
		memory_free(call->reply);
	memory_free(call);
	return 0;
}

/* --- connections --- */

static void fleet_on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_bytes)
{
	static char room[65536];

	(void)handle;
	(void)suggested;
	*ret_bytes = uv_buf_init(room, sizeof(room));
}

static void fleet_peer_on_read(uv_stream_t *tcp, ssize_t size, const uv_buf_t *bytes)
{
	struct fleet_peer *peer = tcp->data;

	if (size < 0 ||
	    (size > 0 && nghttp2_session_mem_recv(peer->session, (const uint8_t *)bytes->base,
						  (size_t)size) < 0))
		fleet_peer_close(peer);
	else if (size > 0)
		fleet_peer_flush(peer);
}

static void fleet_gcs_on_connection(uv_stream_t *listener, int status)
{
	struct fleet_peer *peer = memory_alloc(sizeof(*peer));
	struct sockaddr_in address;
	int size = sizeof(address);

	(void)status;
	(void)uv_tcp_init(listener->loop, &peer->tcp);
	peer->tcp.data = peer;
	(void)nghttp2_session_server_new(&peer->session, fleet_gcs.callbacks, peer);
	if (uv_accept(listener, (uv_stream_t *)&peer->tcp) < 0 ||
	    uv_tcp_getsockname(&peer->tcp, (struct sockaddr *)&address, &size) < 0) {
		fleet_peer_close(peer);
		return;
	}
	peer->index = ntohl(address.sin_addr.s_addr) - fleet_head_address(0);
	if (peer->index >= fleet_gcs.fleet->count) {
		fleet_peer_close(peer);
		return;
	}
	fleet_gcs.fleet->connections++;
	(void)uv_tcp_nodelay(&peer->tcp, 1);
	(void)nghttp2_submit_settings(peer->session, 0, NULL, 0);
	(void)uv_read_start((uv_stream_t *)&peer->tcp, fleet_on_room, fleet_peer_on_read);
	fleet_peer_flush(peer);
}

static int fleet_gcs_listen(int *ret_port)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	/* All of 127.0.0.0/8 and nothing else. */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		return -1;
	*ret_port = ntohs(address.sin_port);
	return fd;
}

static void fleet_gcs_start(struct fleet *fleet, const char *recorded)
{
	int fd = fleet_gcs_listen(&fleet->gcs_port);

	fleet_gcs.fleet = fleet;
	fleet_gcs_record(recorded);
	(void)nghttp2_session_callbacks_new(&fleet_gcs.callbacks);
	nghttp2_session_callbacks_set_on_begin_headers_callback(fleet_gcs.callbacks,
								fleet_on_begin);
	nghttp2_session_callbacks_set_on_header_callback(fleet_gcs.callbacks, fleet_on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(fleet_gcs.callbacks, fleet_on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(fleet_gcs.callbacks,
							       fleet_on_stream_close);
	if (fd < 0 || uv_tcp_init(loop_uv(fleet->loop), &fleet_gcs.listener) < 0 ||
	    uv_tcp_open(&fleet_gcs.listener, fd) < 0 ||
	    uv_listen((uv_stream_t *)&fleet_gcs.listener, 4096, fleet_gcs_on_connection) < 0) {
		fprintf(stderr, "cannot listen on the loopback interface\n");
		exit(1);
	}
}

#endif
