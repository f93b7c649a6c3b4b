#include "test/support/h2_server.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "net/grpc.h"
#include "test/support/support.h"

struct h2_server_write {
	uv_write_t request;
	char bytes[];
};

static void h2_server_on_written(uv_write_t *request, int status)
{
	(void)status;
	memory_free(request->data);
}

void h2_peer_write(struct h2_peer *peer, const void *data, size_t size)
{
	const char *bytes = data;

	while (size > 0 && !peer->closed) {
		size_t step = peer->server->one_byte_writes ? 1 : size;
		struct h2_server_write *write = memory_alloc(sizeof(*write) + step);
		uv_buf_t piece = uv_buf_init(write->bytes, (unsigned)step);

		memcpy(write->bytes, bytes, step);
		write->request.data = write;
		assert_int_equal(uv_write(&write->request, (uv_stream_t *)&peer->tcp, &piece, 1,
					  h2_server_on_written),
				 0);
		bytes += step;
		size -= step;
	}
}

void h2_peer_flush(struct h2_peer *peer)
{
	const uint8_t *data;
	ssize_t size;

	while (!peer->closed && (size = nghttp2_session_mem_send(peer->session, &data)) > 0)
		h2_peer_write(peer, data, (size_t)size);
}

static void h2_peer_on_close(uv_handle_t *handle)
{
	memory_free(handle->data);
}

static void h2_stream_free(struct h2_stream *stream)
{
	struct h2_stream **link = &stream->peer->streams;

	while (*link != stream)
		link = &(*link)->next;
	*link = stream->next;
	buf_done(&stream->body);
	buf_done(&stream->headers);
	memory_free(stream->reply);
	memory_free(stream);
}

void h2_peer_close(struct h2_peer *peer)
{
	struct h2_peer **link = &peer->server->peers;

	if (peer->closed)
		return;
	peer->closed = true;
	while (*link != peer)
		link = &(*link)->next;
	*link = peer->next;
	nghttp2_session_del(peer->session);
	while (peer->streams)
		h2_stream_free(peer->streams);
	uv_close((uv_handle_t *)&peer->tcp, h2_peer_on_close);
}

/* ---- replies ---- */

static nghttp2_nv h2_server_nv(const char *name, const char *value)
{
	return (nghttp2_nv){ (uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value), 0 };
}

static ssize_t h2_server_on_body(nghttp2_session *session, int32_t id, uint8_t *data, size_t size,
				 uint32_t *flags, nghttp2_data_source *source, void *context)
{
	struct h2_stream *stream = source->ptr;
	size_t left = stream->reply_size - stream->reply_sent;
	char status[20];
	nghttp2_nv trailers[2];

	(void)context;
	if (stream->piece && size > stream->piece)
		size = stream->piece;
	if (size > left)
		size = left;
	if (size > 0)
		memcpy(data, stream->reply + stream->reply_sent, size);
	stream->reply_sent += size;
	if (size < left)
		return (ssize_t)size;
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	if (stream->no_trailers)
		return (ssize_t)size;
	*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
	(void)snprintf(status, sizeof(status), "%d", stream->grpc_status);
	trailers[0] = h2_server_nv("grpc-status", status);
	trailers[1] = h2_server_nv("grpc-message", stream->grpc_message);
	assert_int_equal(nghttp2_submit_trailer(session, id, trailers, 2), 0);
	return (ssize_t)size;
}

/* h2_server_on_body sends the body in pieces and adds the trailers. */
void h2_stream_answer(struct h2_stream *stream, const struct h2_answer *answer)
{
	nghttp2_data_provider body = { .source.ptr = stream, .read_callback = h2_server_on_body };
	size_t prefix = answer->unframed ? 0 : GRPC_PREFIX_SIZE;
	const char *message = answer->grpc_message ? answer->grpc_message : "";
	char status[20] = "";
	nghttp2_nv headers[] = {
		h2_server_nv(":status", answer->http_status ? answer->http_status : "200"),
		h2_server_nv("content-type", "application/grpc"),
		h2_server_nv("grpc-status", status),
		h2_server_nv("grpc-message", message),
	};

	(void)snprintf(status, sizeof(status), "%d", answer->grpc_status);
	headers[2] = h2_server_nv("grpc-status", status);
	if (answer->trailers_only) {
		assert_int_equal(nghttp2_submit_response(stream->peer->session, stream->id, headers,
							 4, NULL),
				 0);
		h2_peer_flush(stream->peer);
		return;
	}
	stream->reply_size = prefix + answer->size;
	memory_free(stream->reply);
	stream->reply = memory_alloc(stream->reply_size + 1);
	if (prefix)
		grpc_prefix_write((unsigned char *)stream->reply, (uint32_t)answer->size);
	if (answer->size)
		memcpy(stream->reply + prefix, answer->message, answer->size);
	stream->piece = answer->piece;
	stream->grpc_status = answer->grpc_status;
	(void)snprintf(stream->grpc_message, sizeof(stream->grpc_message), "%s", message);
	stream->no_trailers = answer->no_trailers;
	assert_int_equal(
		nghttp2_submit_response(stream->peer->session, stream->id, headers, 2, &body), 0);
	h2_peer_flush(stream->peer);
}

/* ---- requests ---- */

static int h2_server_on_begin(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
	struct h2_stream *stream = memory_alloc(sizeof(*stream));

	stream->peer = context;
	stream->next = stream->peer->streams;
	stream->peer->streams = stream;
	stream->id = frame->hd.stream_id;
	buf_init(&stream->body, (size_t)64 << 20);
	buf_init(&stream->headers, 65536);
	return nghttp2_session_set_stream_user_data(session, stream->id, stream);
}

static int h2_server_on_header(nghttp2_session *session, const nghttp2_frame *frame,
			       const uint8_t *name, size_t name_size, const uint8_t *value,
			       size_t value_size, uint8_t flags, void *context)
{
	struct h2_stream *stream =
		nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

	(void)context;
	(void)buf_printf(&stream->headers, "%.*s: %.*s%s\n", (int)name_size, (const char *)name,
			 (int)value_size, (const char *)value,
			 flags & NGHTTP2_NV_FLAG_NO_INDEX ? " (never indexed)" : "");
	if (name_size == 5 && memcmp(name, ":path", 5) == 0)
		(void)snprintf(stream->path, sizeof(stream->path), "%.*s", (int)value_size,
			       (const char *)value);
	return 0;
}

static int h2_server_on_data(nghttp2_session *session, uint8_t flags, int32_t id,
			     const uint8_t *data, size_t size, void *context)
{
	struct h2_stream *stream = nghttp2_session_get_stream_user_data(session, id);

	(void)flags;
	(void)context;
	return buf_add(&stream->body, data, size);
}

static int h2_server_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
	struct h2_peer *peer = context;
	struct h2_stream *stream;

	if (!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM) ||
	    (frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS))
		return 0;
	stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	peer->server->requests++;
	peer->server->handler(peer->server, stream);
	return 0;
}

static int h2_server_on_stream_close(nghttp2_session *session, int32_t id, uint32_t code,
				     void *context)
{
	struct h2_stream *stream = nghttp2_session_get_stream_user_data(session, id);

	(void)code;
	(void)context;
	if (stream)
		h2_stream_free(stream);
	return 0;
}

static void h2_peer_greet(struct h2_peer *peer)
{
	nghttp2_session_callbacks *callbacks;

	assert_int_equal(nghttp2_session_callbacks_new(&callbacks), 0);
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, h2_server_on_begin);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, h2_server_on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, h2_server_on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, h2_server_on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks,
							       h2_server_on_stream_close);
	assert_int_equal(nghttp2_session_server_new(&peer->session, callbacks, peer), 0);
	nghttp2_session_callbacks_del(callbacks);
	if (!peer->server->handler)
		return;
	assert_int_equal(nghttp2_submit_settings(peer->session, 0, NULL, 0), 0);
	h2_peer_flush(peer);
}

/* ---- connections ---- */

static void h2_peer_on_read(uv_stream_t *tcp, ssize_t size, const uv_buf_t *bytes)
{
	struct h2_peer *peer = tcp->data;

	if (size < 0) {
		h2_peer_close(peer);
	} else if (size > 0 && peer->server->handler) {
		if (nghttp2_session_mem_recv(peer->session, (const uint8_t *)bytes->base,
					     (size_t)size) < 0)
			h2_peer_close(peer);
		else
			h2_peer_flush(peer);
	}
}

static void h2_peer_on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_bytes)
{
	static char room[65536];

	(void)handle;
	(void)suggested;
	*ret_bytes = uv_buf_init(room, sizeof(room));
}

static void h2_server_on_connection(uv_stream_t *listener, int status)
{
	struct h2_server *server = listener->data;
	struct h2_peer *peer = memory_alloc(sizeof(*peer));

	assert_int_equal(status, 0);
	assert_int_equal(uv_tcp_init(loop_uv(server->loop), &peer->tcp), 0);
	assert_int_equal(uv_accept(listener, (uv_stream_t *)&peer->tcp), 0);
	assert_int_equal(uv_tcp_nodelay(&peer->tcp, 1), 0);
	peer->tcp.data = peer;
	peer->server = server;
	peer->next = server->peers;
	server->peers = peer;
	server->connections++;
	h2_peer_greet(peer);
	if (server->deaf)
		return;
	assert_int_equal(uv_read_start((uv_stream_t *)&peer->tcp, h2_peer_on_room, h2_peer_on_read),
			 0);
	if (!server->handler) {
		h2_peer_write(peer, server->raw, server->raw_size);
		if (server->close_after_raw)
			assert_int_equal(
				uv_shutdown(&peer->shutdown, (uv_stream_t *)&peer->tcp, NULL), 0);
	}
}

void h2_server_start(struct h2_server *server, struct loop *loop, int port)
{
	struct sockaddr_in address;
	int size = sizeof(address);

	server->loop = loop;
	assert_int_equal(uv_ip4_addr("127.0.0.1", port, &address), 0);
	assert_int_equal(uv_tcp_init(loop_uv(loop), &server->listener), 0);
	server->listener.data = server;
	assert_int_equal(uv_tcp_bind(&server->listener, (const struct sockaddr *)&address, 0), 0);
	assert_int_equal(uv_listen((uv_stream_t *)&server->listener, 128, h2_server_on_connection),
			 0);
	assert_int_equal(uv_tcp_getsockname(&server->listener, (struct sockaddr *)&address, &size),
			 0);
	server->port = ntohs(address.sin_port);
}

void h2_server_stop(struct h2_server *server)
{
	while (server->peers)
		h2_peer_close(server->peers);
	uv_close((uv_handle_t *)&server->listener, NULL);
}
