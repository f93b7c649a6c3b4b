#include "net/h2_connection.h"

#include <string.h>
#include <uv.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/memory.h"
#include "base/token_bucket.h"
#include "net/h2_frames.h"
#include "net/h2_tls.h"
#include "net/loop.h"
#include "net/process.h"

#define H2_READ_BYTES 65536
#define H2_READS_MAX 2 /* in a row, before other sockets have their turn */
#define H2_STEP "HTTP/2 of a Ray head"
#define H2_TLS_READ_BYTES 16384
#define H2_WRITE_STEP_BYTES 65536u
/* The type of a TLS record. No HTTP/2 frame begins with this byte: it would be too long. */
#define H2_TLS_ALERT 0x15

enum h2_state { H2_CLOSED = 0, H2_CONNECTING, H2_HANDSHAKE, H2_OPEN };

struct h2_connection {
	uv_tcp_t tcp;
	uv_connect_t connect_request;
	uv_write_t write_request;
	struct loop *loop;
	struct h2_frames frames;
	struct h2_tls_link *tls; /* NULL: plain text */
	enum h2_state state;
	char *writing; /* bytes of write_request, NULL when none is in flight */
	int64_t last_read_ms;
	struct token_bucket *waste;
	unsigned full_reads; /* in a row, each as large as the buffer */
	struct loop_place place;
};

/* One thread reads one socket after the other: all connections share the buffer, so that an idle
 * connection uses no memory for it. */
static char h2_read_bytes[H2_READ_BYTES];

bool h2_connection_accepts(const struct h2_connection *connection)
{
	return connection->state == H2_OPEN && !connection->frames.goaway;
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
	h2_frames_done(&connection->frames);
	h2_tls_link_free(steal(&connection->tls));
	uv_close((uv_handle_t *)&connection->tcp, h2_connection_on_close);
}

/* No frame has come since the request could be sent. */
static bool h2_connection_is_unheard(const struct h2_connection *connection)
{
	return connection->state == H2_OPEN && !connection->frames.received;
}

static void h2_connection_fail(struct h2_connection *connection, const struct err *err)
{
	void *owner = connection->frames.owner;
	struct err explained = *err;

	if (connection->state == H2_CLOSED)
		return;
	/* gRPC closes without an alert; in TLS 1.3 our handshake is done by then. */
	if (connection->tls && h2_connection_is_unheard(connection) && err->kind == ERR_RETRY)
		err_set(&explained, ERR_DENIED,
			"%s right after the handshake of TLS: so Ray refuses our certificate, which must "
			"be valid and of the CA of the head",
			err->text);
	h2_connection_close(connection);
	connection->frames.events->lost(owner, &explained);
}

/* why: NULL for none. A server that expects TLS answers bytes without it by no HTTP/2 frame. */
static void h2_connection_fail_as(struct h2_connection *connection, const char *what,
				  const char *why)
{
	bool unheard = h2_connection_is_unheard(connection);
	struct err err;

	err_set(&err, ERR_RETRY, "%s%s%s%s", what, why ? ": " : "", why ? why : "",
		unheard && !connection->tls ?
			"; it may expect TLS (RAY_USE_TLS and its certificates)" :
			"");
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
		h2_connection_fail_as(connection, "cannot write", uv_strerror(status));
	else if (!connection->tls || h2_connection_send_tls(connection) == 0)
		h2_connection_flush(connection);
}

/* Takes ownership of the bytes. At most one write waits for the socket; while it does, nghttp2
 * queues further frames (and fails when a peer floods it with frames that require an answer). */
static int h2_connection_send(struct h2_connection *connection, char *bytes, size_t size)
{
	uv_buf_t all = uv_buf_init(bytes, (unsigned)size);
	int sent = uv_try_write((uv_stream_t *)&connection->tcp, &all, 1);

	CHECK(!connection->writing);
	if (sent < 0 && sent != UV_EAGAIN) {
		memory_free(bytes);
		h2_connection_fail_as(connection, "cannot write", uv_strerror(sent));
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
		h2_connection_fail_as(connection, "cannot write", uv_strerror(sent));
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
		ssize_t size = nghttp2_session_mem_send(connection->frames.session, &data);

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

		buf_init(&out, 2 * (size_t)H2_WRITE_STEP_BYTES);
		int collected = h2_connection_collect(connection, &out, &err);
		if (collected < 0)
			h2_connection_fail(connection, &err);
		if (collected <= 0)
			return;
		size = out.size;
		int sent = connection->tls ? h2_connection_send_tls(connection) :
					     h2_connection_send(connection, buf_steal(&out), size);
		if (sent < 0)
			return;
	}
}

/* ---- streams ---- */

static void h2_connection_greet(struct h2_connection *connection)
{
	connection->state = H2_OPEN;
	h2_frames_greet(&connection->frames);
	connection->frames.events->opened(connection->frames.owner);
	h2_connection_flush(connection);
}

int32_t h2_connection_submit(struct h2_connection *connection, const nghttp2_nv *headers,
			     size_t count, const nghttp2_data_provider *body, void *stream)
{
	int32_t id = nghttp2_submit_request(connection->frames.session, NULL, headers, count, body,
					    stream);

	return id < 0 ? -1 : id;
}

void h2_connection_reset(struct h2_connection *connection, int32_t stream_id)
{
	h2_frames_reset(connection->frames.session, stream_id);
}

void h2_connection_ping(struct h2_connection *connection)
{
	(void)nghttp2_submit_ping(connection->frames.session, NGHTTP2_FLAG_NONE, NULL);
	h2_connection_flush(connection);
}

/* ---- reading ---- */

/* Drives the TLS handshake with the bytes, then decrypts records into a small buffer and passes
 * it to nghttp2 until TLS needs more bytes. 0 also when a write closed the connection. */
static int h2_connection_input_tls(struct h2_connection *connection, const void *data, size_t size,
				   struct err *err)
{
	char plain[H2_TLS_READ_BYTES];
	long got;

	h2_tls_link_feed(connection->tls, data, size);
	if (connection->state == H2_HANDSHAKE) {
		int done = h2_tls_link_handshake(connection->tls, err);
		struct err unsent;

		/* Also after a failure: the alert tells the server the reason. */
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
		if (h2_frames_input(&connection->frames, plain, (size_t)got, err) < 0)
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
	if (h2_frames_check(&connection->frames, err) < 0) {
		h2_connection_fail(connection, err);
		return;
	}
	connection->frames.events->read_end(connection->frames.owner);
}

/* -1: too many of the `size` bytes did not advance any call. */
static int h2_connection_charge(struct h2_connection *connection, size_t size, struct err *err)
{
	struct h2_frames *frames = &connection->frames;
	size_t waste = size + frames->header_bytes;

	waste -= frames->taken_bytes < waste ? frames->taken_bytes : waste;
	frames->taken_bytes = frames->header_bytes = 0;
	if (token_bucket_take(connection->waste, (int64_t)waste, connection->last_read_ms))
		return 0;
	return err_set(err, ERR_LIMIT,
		       "HTTP/2: the other side floods the connection with frames that "
		       "need no answer (more than %lld bytes, and then %lld a "
		       "second); is this a GCS?",
		       (long long)connection->waste->burst,
		       (long long)connection->waste->per_second);
}

static void h2_connection_on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *bytes)
{
	struct h2_connection *connection = stream->data;
	struct err err = { .kind = ERR_NONE };

	if (connection->state == H2_CLOSED || size == 0 || size == UV_ENOBUFS)
		return;
	if (size == UV_EOF) {
		h2_connection_fail_as(connection, "the connection was closed by the other side",
				      connection->frames.why);
		return;
	}
	if (size < 0) {
		h2_connection_fail_as(connection, "cannot read", uv_strerror((int)size));
		return;
	}
	if (!connection->tls && connection->last_read_ms == INT64_MIN &&
	    bytes->base[0] == H2_TLS_ALERT) {
		h2_connection_fail_as(connection, "the other side sent a TLS alert", NULL);
		return;
	}
	connection->last_read_ms = loop_monotonic_ms(connection->loop);
	int status = connection->tls ?
			     h2_connection_input_tls(connection, bytes->base, (size_t)size, &err) :
			     h2_frames_input(&connection->frames, bytes->base, (size_t)size, &err);
	if (connection->state != H2_CLOSED && status == 0)
		status = h2_connection_charge(connection, (size_t)size, &err);
	if ((size_t)size < sizeof(h2_read_bytes))
		connection->full_reads = 0;
	h2_connection_read_done(connection, status, &err);
}

/* libuv reads up to 32 times for one poll event, the first time in its turn. Without room it stops (UV_ENOBUFS), and continues
 * in the next turn of the loop, after the other sockets. */
static void h2_connection_on_room(uv_handle_t *handle, size_t suggested UNUSED, uv_buf_t *ret_bytes)
{
	struct h2_connection *connection = handle->data;
	bool first = connection->full_reads == 0;
	bool stop = connection->full_reads++ == H2_READS_MAX;

	if (first && !loop_enter(connection->loop, &connection->place, H2_STEP))
		stop = true;
	if (stop)
		connection->full_reads = 0;
	*ret_bytes = uv_buf_init(h2_read_bytes, stop ? 0 : sizeof(h2_read_bytes));
}

/* ---- opening ---- */

static void h2_connection_on_connect(uv_connect_t *request, int status)
{
	struct h2_connection *connection = request->handle->data;
	struct err err = { .kind = ERR_NONE };

	loop_step(connection->loop, H2_STEP);
	if (connection->state == H2_CLOSED)
		return;
	if (status < 0) {
		h2_connection_fail_as(connection, H2_CANNOT_CONNECT, uv_strerror(status));
		return;
	}
	(void)uv_tcp_nodelay(&connection->tcp, 1);
	status = uv_read_start((uv_stream_t *)&connection->tcp, h2_connection_on_room,
			       h2_connection_on_read);
	if (status < 0) {
		h2_connection_fail_as(connection, "cannot read", uv_strerror(status));
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
	return err_set(err, ERR_INPUT, "\"%s\" is not a numeric IP address", host);
}

/* The socket is made here, so that its descriptor is known. */
static int h2_connection_begin(struct h2_connection *connection,
			       const struct sockaddr_storage *address, struct err *err)
{
	uv_os_fd_t fd = -1;
	int status;

	(void)uv_fileno((uv_handle_t *)&connection->tcp, &fd);
	if (fd < 0 || process_file_is_reserved(fd))
		return process_refuse_file(fd >= 0, err);
	status = uv_tcp_connect(&connection->connect_request, &connection->tcp,
				(const struct sockaddr *)address, h2_connection_on_connect);
	if (status < 0)
		return err_set(err, ERR_RETRY, H2_CANNOT_CONNECT ": %s", uv_strerror(status));
	return 0;
}

struct h2_connection *h2_connection_open(struct loop *loop, const char *host, int port,
					 struct h2_tls *tls, struct token_bucket *waste,
					 const struct h2_connection_events *events, void *owner,
					 struct err *err)
{
	struct h2_connection *connection;
	struct sockaddr_storage address;

	if (h2_connection_address(host, port, &address, err) < 0)
		return NULL;
	connection = memory_alloc(sizeof(*connection));
	connection->loop = loop;
	connection->state = H2_CONNECTING;
	connection->last_read_ms = INT64_MIN;
	connection->waste = waste;
	if (uv_tcp_init_ex(loop_uv(loop), &connection->tcp, address.ss_family) < 0)
		CHECK(uv_tcp_init(loop_uv(loop), &connection->tcp) == 0); /* without a socket */
	connection->tcp.data = connection;
	h2_frames_init(&connection->frames, events, owner);
	if (tls)
		connection->tls = h2_tls_link_new(tls, host);
	if (h2_connection_begin(connection, &address, err) < 0) {
		h2_connection_close(connection);
		return NULL;
	}
	return connection;
}
