#include "net/h2_connection.h"

#include <string.h>
#include <uv.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/memory.h"
#include "net/h2_tls.h"
#include "net/loop.h"

#define H2_WINDOW_BYTES (1 << 20)
#define H2_READ_BYTES 65536
#define H2_TLS_READ_BYTES 16384
#define H2_WRITE_STEP_BYTES 65536u
#define H2_HEADER_LIST_BYTES 16384
#define H2_WHY_BYTES 200

struct h2_connection {
	uv_tcp_t tcp;
	uv_connect_t connect_request;
	uv_write_t write_request;
	struct loop *loop;
	const struct h2_connection_events *events;
	void *owner; /* NULL: closed, no more events */
	nghttp2_session *session;
	struct h2_tls_link *tls; /* NULL: plain text */
	enum h2_state state;
	bool goaway;
	char *writing; /* bytes of write_request, NULL when none is under way */
	char *why;     /* what nghttp2 had against the peer's bytes; NULL */
	int64_t last_read_ms;
};

/* One thread reads one socket after the other: all connections share the buffer, so that an idle
 * one has none. */
static char h2_read_bytes[H2_READ_BYTES];

const char *h2_state_name(enum h2_state state)
{
	switch (state) {
	case H2_CLOSED:
		return "Closed";
	case H2_CONNECTING:
		return "Connecting";
	case H2_HANDSHAKE:
		return "Handshake";
	case H2_OPEN:
		return "Open";
	}
	return "Unknown";
}

enum h2_state h2_connection_state(const struct h2_connection *connection)
{
	return connection->state;
}

bool h2_connection_accepts(const struct h2_connection *connection)
{
	return connection->state == H2_OPEN && !connection->goaway;
}

int64_t h2_connection_last_read_ms(const struct h2_connection *connection)
{
	return connection->last_read_ms;
}

/* ---- the end ---- */

static void h2_connection_on_close(uv_handle_t *handle)
{
	struct h2_connection *connection = handle->data;

	memory_free(connection->writing);
	memory_free(connection);
}

void h2_connection_close(struct h2_connection *connection)
{
	if (!connection || connection->state == H2_CLOSED)
		return;
	connection->state = H2_CLOSED;
	connection->owner = NULL;
	nghttp2_session_del(connection->session);
	connection->session = NULL;
	h2_tls_link_free(steal(&connection->tls));
	memory_free(steal(&connection->why));
	uv_close((uv_handle_t *)&connection->tcp, h2_connection_on_close);
}

static void h2_connection_fail(struct h2_connection *connection, const struct err *err)
{
	void *owner = connection->owner;

	if (connection->state == H2_CLOSED)
		return;
	h2_connection_close(connection);
	connection->events->lost(owner, err);
}

static void h2_connection_fail_uv(struct h2_connection *connection, const char *what, int error)
{
	struct err err;

	err_set(&err, ERR_RETRY, "%s: %s", what, uv_strerror(error));
	h2_connection_fail(connection, &err);
}

/* ---- writing ---- */

static int h2_connection_send_tls(struct h2_connection *connection);

static void h2_connection_on_written(uv_write_t *request, int status)
{
	struct h2_connection *connection = request->data;

	memory_free(steal(&connection->writing));
	if (connection->state == H2_CLOSED)
		return;
	if (status < 0)
		h2_connection_fail_uv(connection, "cannot write", status);
	else if (!connection->tls || h2_connection_send_tls(connection) == 0)
		h2_connection_flush(connection);
}

/* Takes the bytes over. At most one write waits for the socket; while it does, nghttp2 keeps what
 * comes after it (and gives up on a peer that floods it with what must be answered). */
static int h2_connection_send(struct h2_connection *connection, char *bytes, size_t size)
{
	uv_buf_t all = uv_buf_init(bytes, (unsigned)size);
	int sent = uv_try_write((uv_stream_t *)&connection->tcp, &all, 1);

	CHECK(!connection->writing);
	if (sent < 0 && sent != UV_EAGAIN) {
		memory_free(bytes);
		h2_connection_fail_uv(connection, "cannot write", sent);
		return -1;
	}
	if (sent < 0)
		sent = 0;
	if ((size_t)sent < size) {
		uv_buf_t rest = uv_buf_init(bytes + sent, (unsigned)(size - (size_t)sent));

		connection->writing = bytes;
		connection->write_request.data = connection;
		sent = uv_write(&connection->write_request, (uv_stream_t *)&connection->tcp, &rest,
				1, h2_connection_on_written);
		if (sent == 0)
			return 0;
		memory_free(steal(&connection->writing));
		h2_connection_fail_uv(connection, "cannot write", sent);
		return -1;
	}
	memory_free(bytes);
	return 0;
}

static int h2_connection_send_tls(struct h2_connection *connection)
{
	struct buf *output = h2_tls_link_output(connection->tls);
	size_t size = output->size;

	if (size == 0 || connection->writing)
		return 0;
	return h2_connection_send(connection, buf_steal(output), size);
}

/* Frames of nghttp2 into `out`, or into the TLS link. 0 when there was none. */
static int h2_connection_collect(struct h2_connection *connection, struct buf *out, struct err *err)
{
	size_t total = 0;

	while (total < H2_WRITE_STEP_BYTES) {
		const uint8_t *data;
		ssize_t size = nghttp2_session_mem_send(connection->session, &data);

		if (size < 0)
			return err_set(err, ERR_RETRY, "HTTP/2: %s", nghttp2_strerror((int)size));
		if (size == 0)
			break;
		total += (size_t)size;
		if (connection->tls &&
		    h2_tls_link_write(connection->tls, data, (size_t)size, err) < 0)
			return -1;
		if (!connection->tls && buf_add(out, data, (size_t)size) < 0)
			return err_set(err, ERR_RETRY, "HTTP/2: a frame is too long");
	}
	return total > 0;
}

void h2_connection_flush(struct h2_connection *connection)
{
	while (connection->state == H2_OPEN && !connection->writing) {
		AUTO(buf_done) struct buf out;
		struct err err;
		size_t size;
		int collected, sent;

		buf_init(&out, 2 * (size_t)H2_WRITE_STEP_BYTES);
		collected = h2_connection_collect(connection, &out, &err);
		if (collected < 0)
			h2_connection_fail(connection, &err);
		if (collected <= 0)
			return;
		size = out.size;
		sent = connection->tls ? h2_connection_send_tls(connection) :
					 h2_connection_send(connection, buf_steal(&out), size);
		if (sent < 0)
			return;
	}
}

/* ---- nghttp2 ---- */

static void h2_connection_note(struct h2_connection *connection, const char *text)
{
	if (!connection->why)
		connection->why = memory_strndup(text, strnlen(text, H2_WHY_BYTES));
}

static int h2_on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
			size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags,
			void *context)
{
	struct h2_connection *connection = context;
	void *stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

	(void)flags;
	if (stream)
		connection->events->header(connection->owner, stream, (const char *)name, name_size,
					   (const char *)value, value_size);
	return 0;
}

static int h2_on_data(nghttp2_session *session, uint8_t flags, int32_t stream_id,
		      const uint8_t *data, size_t size, void *context)
{
	struct h2_connection *connection = context;
	void *stream = nghttp2_session_get_stream_user_data(session, stream_id);

	(void)flags;
	if (stream && connection->events->data(connection->owner, stream, data, size) < 0)
		h2_connection_reset(connection, stream_id);
	return 0;
}

static int h2_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
	struct h2_connection *connection = context;
	void *stream;

	if (frame->hd.type == NGHTTP2_GOAWAY) {
		connection->goaway = true;
		h2_connection_note(connection, nghttp2_http2_strerror(frame->goaway.error_code));
	}
	if (!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM) ||
	    (frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS))
		return 0;
	stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	if (!stream)
		return 0;
	connection->events->stream_end(connection->owner, stream, true, 0);
	/* The server answered without having read all: the rest is not sent. */
	if (nghttp2_session_get_stream_local_close(session, frame->hd.stream_id) == 0)
		h2_connection_reset(connection, frame->hd.stream_id);
	else
		(void)nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, NULL);
	return 0;
}

static int h2_on_stream_close(nghttp2_session *session, int32_t stream_id, uint32_t error_code,
			      void *context)
{
	struct h2_connection *connection = context;
	void *stream = nghttp2_session_get_stream_user_data(session, stream_id);

	if (stream)
		connection->events->stream_end(connection->owner, stream, false, error_code);
	return 0;
}

static int h2_on_invalid_frame(nghttp2_session *session, const nghttp2_frame *frame, int error,
			       void *context)
{
	(void)session;
	(void)frame;
	h2_connection_note(context, nghttp2_strerror(error));
	return 0;
}

static int h2_on_error(nghttp2_session *session, int code, const char *text, size_t size,
		       void *context)
{
	struct h2_connection *connection = context;

	(void)session;
	(void)code;
	if (!connection->why && size > 0)
		connection->why = memory_strndup(text, size < H2_WHY_BYTES ? size : H2_WHY_BYTES);
	return 0;
}

static nghttp2_session *h2_connection_session_new(struct h2_connection *connection)
{
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *option;
	nghttp2_session *session;

	CHECK(nghttp2_session_callbacks_new(&callbacks) == 0);
	CHECK(nghttp2_option_new(&option) == 0);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, h2_on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, h2_on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, h2_on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, h2_on_stream_close);
	nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks,
								     h2_on_invalid_frame);
	nghttp2_session_callbacks_set_error_callback2(callbacks, h2_on_error);
	nghttp2_option_set_no_closed_streams(option, 1);
	CHECK(nghttp2_session_client_new2(&session, callbacks, connection, option) == 0);
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(callbacks);
	return session;
}

static void h2_connection_greet(struct h2_connection *connection)
{
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, H2_WINDOW_BYTES },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, H2_HEADER_LIST_BYTES },
	};

	connection->state = H2_OPEN;
	CHECK(nghttp2_submit_settings(connection->session, NGHTTP2_FLAG_NONE, settings,
				      sizeof(settings) / sizeof(settings[0])) == 0);
	CHECK(nghttp2_session_set_local_window_size(connection->session, NGHTTP2_FLAG_NONE, 0,
						    H2_WINDOW_BYTES) == 0);
	connection->events->opened(connection->owner);
	h2_connection_flush(connection);
}

int32_t h2_connection_submit(struct h2_connection *connection, const nghttp2_nv *headers,
			     size_t count, const nghttp2_data_provider *body, void *stream)
{
	int32_t id = nghttp2_submit_request(connection->session, NULL, headers, count, body, stream);

	return id < 0 ? -1 : id;
}

void h2_connection_reset(struct h2_connection *connection, int32_t stream_id)
{
	(void)nghttp2_session_set_stream_user_data(connection->session, stream_id, NULL);
	(void)nghttp2_submit_rst_stream(connection->session, NGHTTP2_FLAG_NONE, stream_id,
					NGHTTP2_CANCEL);
}

void h2_connection_ping(struct h2_connection *connection)
{
	(void)nghttp2_submit_ping(connection->session, NGHTTP2_FLAG_NONE, NULL);
	h2_connection_flush(connection);
}

/* ---- reading ---- */

/* 0, or -1 when the bytes end the connection. */
static int h2_connection_input(struct h2_connection *connection, const void *data, size_t size,
			       struct err *err)
{
	ssize_t used = nghttp2_session_mem_recv(connection->session, data, size);

	if (used < 0 || (size_t)used != size)
		return err_set(err, ERR_RETRY, "HTTP/2: %s; is this a GCS, and without TLS?",
			       connection->why ? connection->why :
						 nghttp2_strerror((int)(used < 0 ? used : 0)));
	return 0;
}

static int h2_connection_input_tls(struct h2_connection *connection, const void *data, size_t size,
				   struct err *err)
{
	char plain[H2_TLS_READ_BYTES];
	long got;

	h2_tls_link_feed(connection->tls, data, size);
	if (connection->state == H2_HANDSHAKE) {
		int done = h2_tls_link_handshake(connection->tls, err);
		struct err unsent;

		/* Also after a failure: the alert tells the server why. */
		if (done <= 0) {
			unsent = *err;
			if (h2_connection_send_tls(connection) < 0)
				return 0;
			*err = unsent;
			return done;
		}
		if (h2_connection_send_tls(connection) < 0)
			return 0;
		h2_connection_greet(connection);
	}
	while (connection->state == H2_OPEN) {
		got = h2_tls_link_read(connection->tls, plain, sizeof(plain), err);
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		if (h2_connection_input(connection, plain, (size_t)got, err) < 0)
			return -1;
	}
	if (connection->state == H2_OPEN)
		(void)h2_connection_send_tls(connection); /* TLS answers of its own */
	return 0;
}

static void h2_connection_read_done(struct h2_connection *connection, int status, struct err *err)
{
	if (connection->state == H2_CLOSED)
		return;
	if (status < 0) {
		h2_connection_flush(connection);
		h2_connection_fail(connection, err);
		return;
	}
	h2_connection_flush(connection);
	if (connection->state != H2_OPEN)
		return;
	if (!nghttp2_session_want_read(connection->session) &&
	    !nghttp2_session_want_write(connection->session)) {
		err_set(err, ERR_RETRY, "HTTP/2: the connection was ended: %s",
			connection->why ? connection->why : "no reason given");
		h2_connection_fail(connection, err);
		return;
	}
	connection->events->read_end(connection->owner);
}

static void h2_connection_on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *bytes)
{
	struct h2_connection *connection = stream->data;
	struct err err = { .kind = ERR_NONE };
	int status;

	if (connection->state == H2_CLOSED || size == 0)
		return;
	if (size == UV_EOF) {
		err_set(&err, ERR_RETRY, "the connection was closed by the other side%s%s",
			connection->why ? ": " : "", connection->why ? connection->why : "");
		h2_connection_fail(connection, &err);
		return;
	}
	if (size < 0) {
		h2_connection_fail_uv(connection, "cannot read", (int)size);
		return;
	}
	connection->last_read_ms = loop_monotonic_ms(connection->loop);
	status = connection->tls ?
			 h2_connection_input_tls(connection, bytes->base, (size_t)size, &err) :
			 h2_connection_input(connection, bytes->base, (size_t)size, &err);
	h2_connection_read_done(connection, status, &err);
}

static void h2_connection_on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_bytes)
{
	(void)handle;
	(void)suggested;
	*ret_bytes = uv_buf_init(h2_read_bytes, sizeof(h2_read_bytes));
}

/* ---- opening ---- */

static void h2_connection_on_connect(uv_connect_t *request, int status)
{
	struct h2_connection *connection = request->handle->data;
	struct err err = { .kind = ERR_NONE };

	if (connection->state == H2_CLOSED)
		return;
	if (status < 0) {
		h2_connection_fail_uv(connection, "cannot connect", status);
		return;
	}
	(void)uv_tcp_nodelay(&connection->tcp, 1);
	status = uv_read_start((uv_stream_t *)&connection->tcp, h2_connection_on_room,
			       h2_connection_on_read);
	if (status < 0) {
		h2_connection_fail_uv(connection, "cannot read", status);
	} else if (!connection->tls) {
		h2_connection_greet(connection);
	} else {
		connection->state = H2_HANDSHAKE;
		status = h2_connection_input_tls(connection, NULL, 0, &err);
		h2_connection_read_done(connection, status, &err);
	}
}

static int h2_connection_address(const char *host, int port, struct sockaddr_storage *ret_address,
				 struct err *err)
{
	memset(ret_address, 0, sizeof(*ret_address));
	if (uv_ip4_addr(host, port, (struct sockaddr_in *)ret_address) == 0 ||
	    uv_ip6_addr(host, port, (struct sockaddr_in6 *)ret_address) == 0)
		return 0;
	return err_set(err, ERR_INPUT, "\"%s\" is no numeric IP address", host);
}

struct h2_connection *h2_connection_open(struct loop *loop, const char *host, int port,
					 struct h2_tls *tls,
					 const struct h2_connection_events *events, void *owner,
					 struct err *err)
{
	struct h2_connection *connection;
	struct sockaddr_storage address;
	int status;

	if (h2_connection_address(host, port, &address, err) < 0)
		return NULL;
	connection = memory_alloc(sizeof(*connection));
	connection->loop = loop;
	connection->events = events;
	connection->owner = owner;
	connection->state = H2_CONNECTING;
	connection->last_read_ms = INT64_MIN;
	CHECK(uv_tcp_init(loop_uv(loop), &connection->tcp) == 0);
	connection->tcp.data = connection;
	connection->session = h2_connection_session_new(connection);
	if (tls)
		connection->tls = h2_tls_link_new(tls, host);
	status = uv_tcp_connect(&connection->connect_request, &connection->tcp,
				(const struct sockaddr *)&address, h2_connection_on_connect);
	if (status < 0) {
		h2_connection_close(connection);
		(void)err_set(err, ERR_RETRY, "cannot connect: %s", uv_strerror(status));
		return NULL;
	}
	return connection;
}
