#include "net/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/budget_children.h"
#include "base/check.h"
#include "base/err.h"
#include "base/list.h"
#include "base/memory.h"
#include "net/work.h"

/* GnuTLS: TLS 1.3 and 1.2, with authenticated encryption and ephemeral keys alone: no CBC, no
 * SHA-1. */
#define SERVE_PRIORITIES                                                                           \
	"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:"                                              \
	"-CIPHER-ALL:+AES-256-GCM:+CHACHA20-POLY1305:+AES-128-GCM:-MAC-ALL:+AEAD:"                 \
	"-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:-SIGN-RSA-SHA1:-SIGN-ECDSA-SHA1"

#define SERVE_STEP "HTTP server"
#define SERVE_RESERVE 8U /* free connections below which a slow one is closed */

struct serve_connection {
	struct list_item item;
	struct serve *serve;
	struct MHD_Connection *mhd;
	char peer[INET6_ADDRSTRLEN];
	gnutls_session_t handshake; /* under way; NULL: none, or it has ended */
	uv_poll_t *handshake_poll; /* set with it; active while the connection is suspended for it */
	bool handshake_waits;
	struct loop_place place;
	bool nul; /* its path or query has a NUL byte, at which the library cuts it */
	int fd;
	int64_t since_ms; /* of the connection, or the read of its last answer */
	bool closing;
	struct serve_request *request; /* NULL: not read yet */
};

/* A body that a job writes. */
struct serve_job {
	struct list_item item; /* of serve->jobs */
	struct serve_request *request;
	const char *content_type;
	struct serve_page page;
	void *own;
	struct budget *budget; /* a reference: of the body */
	struct buf body;
	struct work_job *job;
};

/* A body that is written while it is read. */
struct serve_stream {
	struct serve_request *request;
	struct serve_source source;
	void *own;
	struct budget *budget; /* a reference: of the piece */
	struct buf piece;
	size_t sent; /* of the piece */
	bool begun;  /* it has a piece */
	bool last;   /* the piece is the last one */
};

struct serve_request {
	struct serve *serve;
	struct MHD_Connection *mhd;
	struct serve_connection *connection;
	struct list_item item; /* of those that wait for their answer */
	struct list_item held; /* in serve->held */
	struct loop_place place;
	bool asked, waiting, answered;
	int status;
	const char *content_type;
	struct budget *budget; /* a reference; NULL: serve_charge_to was not called yet */
	char *body;
	size_t body_size;
	size_t unread_bytes;         /* charged to the budget */
	struct serve_stream *stream; /* instead of the body, until the library has it */
};

/* One instance of the library with its connections. */
struct serve_daemon {
	struct MHD_Daemon *mhd; /* NULL: none */
	uv_poll_t *poll;        /* freed on a later turn */
};

struct serve {
	struct loop *loop;
	struct serve_limits limits;
	serve_handler *handler;
	void *context;
	struct serve_daemon daemon, last; /* last: accepts no connection, ends with its last one */
	struct loop_timer *timer;         /* when the library's connections are due */
	struct loop_place place;
	struct list connections, waiting, jobs;
	struct list held;              /* requests that continue in the next turn of the loop */
	struct budget_children unread; /* by owner */
	bool changed;                  /* a connection was opened or closed in this turn */
	int port;
};

/* The listening socket of net/serve. The caller owns the descriptor. */

#define SERVE_BACKLOG 64
#define SERVE_HOST_MAX 64
#define SERVE_PORT_DIGITS_MAX 5

static int bad_address(const char *address, struct err *err)
{
	return err_set(err, ERR_INPUT,
		       "\"%s\" is not an address to listen on; \":8080\", "
		       "\"127.0.0.1:8080\" and \"[::1]:8080\" are",
		       address);
}

/* getaddrinfo reads 65537 as 1. */
static bool is_port(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits > 0 && digits <= SERVE_PORT_DIGITS_MAX && text[digits] == '\0' &&
	       strtol(text, NULL, 10) <= UINT16_MAX;
}

static int split_address(const char *address, char *host, const char **ret_port, struct err *err)
{
	const char *colon = strrchr(address, ':');
	const char *start = address;

	if (!colon || !is_port(colon + 1))
		return bad_address(address, err);
	size_t size = (size_t)(colon - address);
	if (size >= 2 && start[0] == '[' && start[size - 1] == ']') {
		start++;
		size -= 2;
	} else if (memchr(start, ':', size)) {
		return bad_address(address, err);
	}
	if (size >= SERVE_HOST_MAX)
		return bad_address(address, err);
	memcpy(host, start, size);
	host[size] = '\0';
	*ret_port = colon + 1;
	return 0;
}

static int bind_one(const struct addrinfo *found)
{
	int on = 1, off = 0;
	int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	CHECK(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0);
	if (found->ai_family == AF_INET6)
		CHECK(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0);
	if (bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, SERVE_BACKLOG) == 0)
		return fd;
	int failure = errno;
	close(fd);
	errno = failure;
	return -1;
}

/* The listening socket, or -1 with errno; errno 0: the host is not an address of this family. */
static int listen_on(const char *host, const char *port, int family)
{
	struct addrinfo hints = { .ai_family = family,
				  .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV };
	struct addrinfo *found = NULL;

	if (getaddrinfo(host[0] ? host : NULL, port, &hints, &found) != 0) {
		errno = 0;
		return -1;
	}
	int fd = bind_one(found);
	freeaddrinfo(found);
	return fd;
}

/* For ":port" IPv6 is tried first, because its socket accepts IPv4 as well; a machine without IPv6
 * uses IPv4. */
/* "host:port", ":port" (every address of the machine, IPv6 and IPv4) or "[address]:port"; the
 * host is an address, not a name, so that no resolver is needed; port 0 selects a free one. The
 * descriptor, or -1: ERR_INPUT for an address of another form, ERR_FATAL when it cannot be
 * bound. */
static int serve_listen(const char *address, struct err *err)
{
	char host[SERVE_HOST_MAX];
	const char *port = "";

	if (split_address(address, host, &port, err) < 0)
		return -1;
	int fd = listen_on(host, port, AF_INET6);
	int failure = errno;
	if (fd < 0 && failure != EADDRINUSE) {
		fd = listen_on(host, port, AF_INET);
		failure = errno ? errno : failure;
	}
	if (fd < 0 && failure == 0)
		return bad_address(address, err);
	if (fd < 0)
		return err_set(err, ERR_FATAL, "cannot listen on %s: %s; choose another address",
			       address, strerror(failure));
	return fd;
}

/* The port that a listening socket has. */
static int serve_listen_port(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in ipv4;
		struct sockaddr_in6 ipv6;
	} name;
	socklen_t size = sizeof(name);

	memset(&name, 0, sizeof(name));
	CHECK(getsockname(fd, &name.any, &size) == 0);
	return ntohs(name.any.sa_family == AF_INET6 ? name.ipv6.sin6_port : name.ipv4.sin_port);
}

/* ---- connections ---- */

static void close_connection(struct serve_connection *connection)
{
	/* The library sees the end of the stream and frees its part of the connection. */
	(void)shutdown(connection->fd, SHUT_RDWR);
	connection->closing = true;
}

/* For an answer of ours. */
static bool is_waiting(const struct serve_connection *connection)
{
	return connection->request && connection->request->waiting;
}

static size_t connections_of(const struct serve *serve, const char *peer)
{
	size_t count = 0;

	LIST_EACH(const struct serve_connection, c, &serve->connections, item)
		count += !c->closing && strcmp(c->peer, peer) == 0;
	return count;
}

/* Of the client that has most connections. */
static void close_slowest(struct serve *serve)
{
	struct serve_connection *slowest = NULL;
	size_t most = 0;

	LIST_EACH(struct serve_connection, c, &serve->connections, item) {
		size_t count = connections_of(serve, c->peer);

		if (c->closing || is_waiting(c) || count < most ||
		    (slowest && count == most && c->since_ms >= slowest->since_ms))
			continue;
		slowest = c;
		most = count;
	}
	if (slowest)
		close_connection(slowest);
}

static int64_t overdue_at_ms(const struct serve *serve, const struct serve_connection *c)
{
	int64_t silence_ms = (int64_t)serve->limits.silence_seconds * MS_PER_SECOND;

	return c->since_ms + (c->handshake ? silence_ms : serve->limits.exchange_ms) + 1;
}

static void close_overdue(struct serve *serve)
{
	int64_t now_ms = loop_monotonic_ms(serve->loop);

	LIST_EACH(struct serve_connection, c, &serve->connections, item)
		if (!c->closing && !is_waiting(c) && overdue_at_ms(serve, c) <= now_ms)
			close_connection(c);
}

/* An IPv4 client of an IPv6 socket has its IPv4 address. */
static void write_peer(struct MHD_Connection *mhd, char *peer)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr *address = info ? info->client_addr : NULL;
	struct in6_addr ipv6 = IN6ADDR_ANY_INIT;
	struct in_addr ipv4;

	if (address && address->sa_family == AF_INET) {
		ipv4 = ((const struct sockaddr_in *)(const void *)address)->sin_addr;
	} else if (address && address->sa_family == AF_INET6) {
		memcpy(&ipv6, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr,
		       sizeof(ipv6));
		if (!IN6_IS_ADDR_V4MAPPED(&ipv6)) {
			(void)inet_ntop(AF_INET6, &ipv6, peer, INET6_ADDRSTRLEN);
			return;
		}
		memcpy(&ipv4, &ipv6.s6_addr[12], sizeof(ipv4));
	} else {
		return;
	}
	(void)inet_ntop(AF_INET, &ipv4, peer, INET6_ADDRSTRLEN);
}

/* ---- handshakes of TLS ----
 *
 * While a handshake waits for its client, the library would try again in each turn, without a pause; and
 * all handshakes that have bytes would be one callback. So a connection is suspended until its handshake
 * has ended, whenever its socket has no bytes, and each has a callback of its own. */

static void serve_turn(void *context);

static void run(struct serve *serve)
{
	CHECK(MHD_run(serve->daemon.mhd) == MHD_YES);
	if (serve->last.mhd)
		CHECK(MHD_run(serve->last.mhd) == MHD_YES);
}

static void handshake_continue(struct serve_connection *connection)
{
	if (!connection->handshake_waits)
		return;
	connection->handshake_waits = false;
	CHECK(uv_poll_stop(connection->handshake_poll) == 0);
	MHD_resume_connection(connection->mhd);
}

static void on_handshake_poll(uv_poll_t *handle, int status, int events UNUSED)
{
	struct serve_connection *connection = handle->data;
	struct serve *serve = connection->serve;

	if (!loop_enter(serve->loop, &connection->place, SERVE_STEP)) {
		if (status < 0) /* libuv has ended the poll */
			CHECK(uv_poll_start(handle, UV_READABLE, on_handshake_poll) == 0);
		return;
	}
	handshake_continue(connection);
	run(serve); /* the library polls its socket again, and reads it in the next run */
	serve_turn(serve);
}

static void handshake_end(struct serve_connection *connection)
{
	if (!connection->handshake)
		return;
	(void)uv_poll_stop(connection->handshake_poll);
	loop_handle_free(connection->handshake_poll);
	connection->handshake = NULL;
}

static void handshake_begin(struct serve_connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);

	if (!info) /* plain text */
		return;
	connection->handshake = info->tls_session;
	connection->handshake_poll = memory_alloc(sizeof(*connection->handshake_poll));
	CHECK(uv_poll_init(loop_uv(connection->serve->loop), connection->handshake_poll,
			   connection->fd) == 0);
	connection->handshake_poll->data = connection;
}

/* GnuTLS says so by what can be had of a session. */
static bool handshake_has_ended(gnutls_session_t session)
{
	gnutls_datum_t binding = { .data = NULL };
	int status = gnutls_session_channel_binding(session, GNUTLS_CB_TLS_EXPORTER, &binding);

	gnutls_free(binding.data);
	return status != GNUTLS_E_CHANNEL_BINDING_NOT_AVAILABLE;
}

/* After each run. */
static void handshakes_wait(struct serve *serve)
{
	LIST_EACH(struct serve_connection, c, &serve->connections, item) {
		if (!c->handshake || c->handshake_waits)
			continue;
		if (c->request || handshake_has_ended(c->handshake)) {
			handshake_end(c);
			continue;
		}
		c->handshake_waits = true;
		MHD_suspend_connection(c->mhd);
		CHECK(uv_poll_start(c->handshake_poll, UV_READABLE, on_handshake_poll) == 0);
	}
}

static void connection_started(struct serve *serve, struct MHD_Connection *mhd,
			       void **socket_context)
{
	static const int size =
		SERVE_PIECE_BYTES; /* else the kernel takes MiB of what is not read */
	struct serve_connection *connection = memory_alloc(sizeof(*connection));
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);

	CHECK(info);
	connection->serve = serve;
	connection->mhd = mhd;
	connection->fd = info->connect_fd;
	(void)setsockopt(connection->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	handshake_begin(connection);
	write_peer(mhd, connection->peer);
	connection->since_ms = loop_monotonic_ms(serve->loop);
	list_add(&serve->connections, &connection->item);
	*socket_context = connection;
	if (serve->connections.count + SERVE_RESERVE > serve->limits.connections)
		close_slowest(serve);
}

static void on_connection(void *context, struct MHD_Connection *mhd, void **socket_context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct serve *serve = context;
	struct serve_connection *connection = *socket_context;

	serve->changed = true;
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		connection_started(serve, mhd, socket_context);
		return;
	}
	handshake_end(connection);
	list_remove(&connection->item);
	memory_free(connection);
}

/* ---- the framing of a request ---- */

/* Checks that the framing of a request is unambiguous, so that all proxies read the same request
 * (RFC 9112, 3.2, 5 and 6). libmicrohttpd 0.9.75 accepts most of the refused requests. Used by
 * net/serve alone. */

struct serve_strict {
	unsigned hosts, lengths, encodings, tokens, proxied_tokens;
	bool bad_name, unknown_encoding;
};

/* The characters of a token (RFC 9110, 5.6.2): neither space nor tab, which would hide a name. */
static bool is_token(const char *text, size_t size)
{
	static const char token[] = "!#$%&'*+-.^_`|~0123456789"
				    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	return size > 0 && strspn(text, token) == size;
}

static enum MHD_Result look_at_field(void *context, enum MHD_ValueKind kind UNUSED,
				     const char *name, size_t name_size, const char *value,
				     size_t value_size UNUSED)
{
	struct serve_strict *found = context;

	found->bad_name |= !is_token(name, name_size);
	if (!strcasecmp(name, MHD_HTTP_HEADER_HOST)) {
		found->hosts++;
	} else if (!strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH)) {
		found->lengths++;
	} else if (!strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING)) {
		found->encodings++;
		found->unknown_encoding |= !value || strcasecmp(value, "chunked") != 0;
	} else if (!strcasecmp(name, SERVE_AUTHORIZATION)) {
		found->tokens++;
	} else if (!strcasecmp(name, SERVE_AUTHORIZATION_PROXIED)) {
		found->proxied_tokens++;
	}
	return MHD_YES;
}

/* Why the request must be answered with 400, NULL when it may be served. `version` is that of the
 * request line. A folded header line cannot be detected here, because the library has joined it
 * with the one before it. It is harmless: net/serve reads one request of a connection. */
static const char *serve_strict_check(struct MHD_Connection *connection, const char *version)
{
	bool http_1_1 = !strcmp(version, MHD_HTTP_VERSION_1_1);
	struct serve_strict found = { 0 };

	(void)MHD_get_connection_values_n(connection, MHD_HEADER_KIND, look_at_field, &found);
	if (!http_1_1 && strcmp(version, MHD_HTTP_VERSION_1_0) != 0)
		return "the version must be HTTP/1.0 or HTTP/1.1";
	if (found.bad_name)
		return "the name of a header field has characters that no name has";
	if (found.hosts > 1 || (http_1_1 && found.hosts == 0))
		return "a request has one Host field";
	if (found.lengths > 1)
		return "more than one Content-Length field";
	if (found.tokens > 1 || found.proxied_tokens > 1)
		return "more than one Authorization field";
	if (found.lengths > 0 && found.encodings > 0)
		return "Content-Length together with Transfer-Encoding";
	if (found.encodings > 1 || found.unknown_encoding)
		return "the only Transfer-Encoding is chunked";
	return NULL;
}

/* ---- unread answers ---- */

static struct budget *budget_of(struct serve_request *request)
{
	if (!request->budget)
		serve_charge_to(request, serve_peer(request));
	return request->budget;
}

const char *serve_peer(const struct serve_request *request)
{
	return request->connection->peer;
}

void serve_charge_to(struct serve_request *request, const char *owner)
{
	CHECK(!request->budget);
	request->budget = budget_children_get(&request->serve->unread, owner);
}

static void stream_free(void *context)
{
	struct serve_stream *stream = context;

	if (!stream)
		return;
	buf_done(&stream->piece);
	stream->source.free(stream->own);
	budget_free(stream->budget);
	memory_free(stream);
}

/* -1: the memory for the next piece is refused. */
static int stream_next(struct serve_stream *stream)
{
	buf_clear(&stream->piece);
	stream->sent = 0;
	stream->begun = true;
	while (stream->piece.size == 0 && !stream->last)
		stream->last = !stream->source.next(stream->own, &stream->piece);
	return stream->piece.overflowed ? -1 : 0;
}

/* True: the library asks again in the next turn. Otherwise all connections would have a piece in one turn. */
static bool hold(struct serve_request *request)
{
	struct serve *serve = request->serve;

	if (loop_enter(serve->loop, &request->place, SERVE_STEP))
		return false;
	list_add(&serve->held, &request->held);
	MHD_suspend_connection(request->mhd);
	return true;
}

static void release_held(struct serve *serve)
{
	LIST_EACH(struct serve_request, request, &serve->held, held) {
		list_remove(&request->held);
		MHD_resume_connection(request->mhd);
	}
}

static ssize_t read_stream(void *context, uint64_t position UNUSED, char *bytes, size_t max)
{
	struct serve_stream *stream = context;
	size_t size = stream->piece.size - stream->sent;

	if (size == 0 && !stream->last && hold(stream->request))
		return 0;
	if (size == 0 && stream_next(stream) < 0)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	size = stream->piece.size - stream->sent;
	if (size == 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	size = size < max ? size : max;
	memcpy(bytes, stream->piece.data + stream->sent, size);
	stream->sent += size;
	return (ssize_t)size;
}

/* ---- requests ---- */

static struct serve_request *request_new(struct serve *serve, struct MHD_Connection *mhd)
{
	struct serve_request *request = memory_alloc(sizeof(*request));
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	CHECK(info);
	request->serve = serve;
	request->mhd = mhd;
	request->connection = info->socket_context;
	request->connection->request = request;
	return request;
}

/* Every request that on_request has seen ends here, whether it was read to its end or not. */
static void on_completed(void *context, struct MHD_Connection *mhd UNUSED, void **state,
			 enum MHD_RequestTerminationCode code UNUSED)
{
	struct serve *serve = context;
	struct serve_request *request = *state;

	if (!request)
		return;
	CHECK(!request->waiting);
	request->connection->request = NULL;
	request->connection->since_ms = loop_monotonic_ms(serve->loop);
	budget_release(request->budget, request->unread_bytes);
	budget_free(request->budget);
	stream_free(request->stream);
	memory_free(request->body);
	memory_free(request);
	*state = NULL;
}

/* A header field that answers of this status have. */
static const struct status_header {
	int status;
	const char *name, *value;
} status_headers[] = {
	{ MHD_HTTP_UNAUTHORIZED, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer" },
	{ MHD_HTTP_METHOD_NOT_ALLOWED, MHD_HTTP_HEADER_ALLOW, "GET, HEAD" },
	{ MHD_HTTP_TOO_MANY_REQUESTS, MHD_HTTP_HEADER_RETRY_AFTER, "1" },
};

static enum MHD_Result send_answer(struct serve_request *request)
{
	struct MHD_Response *response =
		request->stream ?
			MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, SERVE_PIECE_BYTES,
							  read_stream, steal(&request->stream),
							  stream_free) :
			MHD_create_response_from_buffer_with_free_callback(
				request->body_size, steal(&request->body), memory_free);

	CHECK(response);
	/* Bytes behind the request are never read as another one. */
	CHECK(MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close") == MHD_YES);
	CHECK(MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
				      request->content_type) == MHD_YES);
	for (size_t i = 0; i < sizeof(status_headers) / sizeof(status_headers[0]); i++)
		if (request->status == status_headers[i].status)
			CHECK(MHD_add_response_header(response, status_headers[i].name,
						      status_headers[i].value) == MHD_YES);
	enum MHD_Result result =
		MHD_queue_response(request->mhd, (unsigned int)request->status, response);
	MHD_destroy_response(response);
	return result;
}

const char *serve_header(const struct serve_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->mhd, MHD_HEADER_KIND, name);
}

/* Both count for the same owner: a namespace, or else a client. */
static bool is_of_same_owner(const struct serve_request *a, const struct serve_request *b)
{
	return a->budget == b->budget && (a->budget || strcmp(serve_peer(a), serve_peer(b)) == 0);
}

bool serve_may_wait(struct serve_request *request)
{
	struct serve *serve = request->serve;
	size_t of_owner = 0;

	LIST_EACH(const struct serve_request, other, &serve->waiting, item)
		of_owner += is_of_same_owner(other, request);
	if (request->waiting || (serve->waiting.count < serve->limits.waiting &&
				 of_owner < serve->limits.waiting_of_owner))
		return true;
	serve_answer_text(request, MHD_HTTP_SERVICE_UNAVAILABLE,
			  of_owner < serve->limits.waiting_of_owner ?
				  "too many requests wait for their answer, try again" :
				  "too many requests for this namespace, or from your address, "
				  "wait for their answer, try again");
	return false;
}

static void wait_for_answer(struct serve_request *request)
{
	struct serve *serve = request->serve;

	CHECK(serve->waiting.count < serve->limits.waiting);
	request->waiting = true;
	list_add(&serve->waiting, &request->item);
	MHD_suspend_connection(request->mhd);
}

static void wait_ended(struct serve_request *request)
{
	list_remove(&request->item);
	request->waiting = false;
	MHD_resume_connection(request->mhd);
}

/* Checks the header alone: an answer now ends the connection without reading its body. */
static bool is_refused(struct serve_request *request, const char *method, const char *version)
{
	const char *why = serve_strict_check(request->mhd, version);

	if (request->connection->nul)
		why = "the path has a NUL byte";
	if (why)
		serve_answer_text(request, MHD_HTTP_BAD_REQUEST, why);
	else if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
		 strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		serve_answer_text(request, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD");
	return request->answered;
}

/* False: its memory is refused. */
static bool keep_body(struct serve_request *request, const char *content_type, struct buf *body)
{
	size_t size = body->size;
	char *bytes = memory_resize(buf_steal(body), size + 1, 1);

	CHECK(!request->answered);
	if (!budget_charge(budget_of(request), size)) {
		memory_free(bytes);
		return false;
	}
	request->answered = true;
	request->status = MHD_HTTP_OK;
	request->content_type = content_type;
	request->body_size = request->unread_bytes = size;
	request->body = bytes;
	return true;
}

/* It is small, and not charged. */
static void keep_text(struct serve_request *request, int status, struct buf *text)
{
	CHECK(!request->answered);
	request->answered = true;
	request->status = status;
	request->content_type = SERVE_TEXT;
	request->body_size = text->size;
	request->body = buf_steal(text);
}

static void keep_refusal(struct serve_request *request, size_t bytes)
{
	AUTO(buf_done) struct buf text;
	struct err err;

	(void)budget_refuse(budget_of(request), bytes, &err);
	buf_init(&text, SERVE_REQUEST_MAX_BYTES);
	(void)buf_printf(&text, "%s: %s\n",
			 err.kind == ERR_LIMIT ? "this answer is too large" :
						 "no memory for this answer",
			 err.text);
	keep_text(request, MHD_HTTP_SERVICE_UNAVAILABLE, &text);
}

/* The first piece is made here, not where the request was answered: many are by one review of their token. */
static enum MHD_Result begin_answer(struct serve_request *request)
{
	struct serve_stream *stream = request->stream;

	if (stream && !stream->begun) {
		if (hold(request))
			return MHD_YES;
		if (stream_next(stream) < 0) {
			size_t size = 2 * stream->piece.capacity;

			stream_free(steal(&request->stream));
			request->answered = false;
			keep_refusal(request, size);
		}
	}
	return send_answer(request);
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *mhd, const char *path,
				  const char *method, const char *version, const char *data UNUSED,
				  size_t *data_size, void **state)
{
	struct serve *serve = context;
	struct serve_request *request = *state;

	if (!request) { /* the first call has only the header */
		*state = request = request_new(serve, mhd);
		return is_refused(request, method, version) ? send_answer(request) : MHD_YES;
	}
	if (*data_size > 0) { /* a body is ignored */
		*data_size = 0;
		return MHD_YES;
	}
	if (!request->asked && hold(request))
		return MHD_YES;
	if (!request->asked) {
		request->asked = true;
		serve->handler(serve->context, path, request);
	}
	if (request->answered)
		return begin_answer(request);
	wait_for_answer(request);
	return MHD_YES;
}

static void answered(struct serve_request *request)
{
	if (!request->waiting)
		return;
	wait_ended(request);
	loop_timer_start(request->serve->timer, 0);
}

void serve_answer_source(struct serve_request *request, const char *content_type,
			 const struct serve_source *source, void *own)
{
	struct serve_stream *stream = memory_alloc(sizeof(*stream));

	stream->request = request;
	stream->source = *source;
	stream->own = own;
	stream->budget = budget_reference(budget_of(request));
	buf_init(&stream->piece, SERVE_UNREAD_MAX_BYTES);
	stream->piece.budget = stream->budget;
	CHECK(!request->answered);
	request->answered = true;
	request->status = MHD_HTTP_OK;
	request->content_type = content_type;
	request->stream = stream;
	answered(request);
}

/* ---- pages ---- */

static void job_free(void *context)
{
	struct serve_job *job = context;

	list_remove(&job->item);
	buf_done(&job->body);
	job->page.free(job->own);
	budget_free(job->budget);
	memory_free(job);
}

static void job_run(void *context, const struct work_job *work UNUSED)
{
	struct serve_job *job = context;

	job->page.write(job->own, &job->body);
}

static void job_done(void *context)
{
	struct serve_job *job = context;
	struct serve_request *request = job->request;
	size_t size = job->body.overflowed ? 2 * job->body.capacity : job->body.size;
	bool kept = !job->body.overflowed && keep_body(request, job->content_type, &job->body);

	job_free(job);
	if (!kept)
		keep_refusal(request, size);
	answered(request);
}

void serve_answer_page(struct serve_request *request, const char *content_type,
		       const struct serve_page *page, void *own)
{
	static const struct work_functions functions = { job_run, job_done, job_free };
	struct serve *serve = request->serve;
	struct serve_job *job = memory_alloc(sizeof(*job));

	job->request = request;
	job->content_type = content_type;
	job->page = *page;
	job->own = own;
	job->budget = budget_reference(budget_of(request));
	buf_init(&job->body, SERVE_UNREAD_MAX_BYTES);
	job->body.budget = job->budget;
	list_add(&serve->jobs, &job->item);
	job->job = work_start_slow(serve->loop, &functions, job, loop_boot_ms());
}

void serve_answer_text(struct serve_request *request, int status, const char *text)
{
	AUTO(buf_done) struct buf body;

	buf_init(&body, SERVE_REQUEST_MAX_BYTES);
	(void)buf_add_string(&body, text);
	(void)buf_add_char(&body, '\n');
	keep_text(request, status, &body);
	answered(request);
}

/* ---- on the loop ---- */

static void stop_daemon(struct serve_daemon *daemon)
{
	if (!daemon->mhd)
		return;
	(void)uv_poll_stop(daemon->poll);
	loop_handle_free(daemon->poll);
	MHD_stop_daemon(daemon->mhd);
	*daemon = (struct serve_daemon){ .mhd = NULL };
}

static bool has_connections(const struct serve_daemon *daemon)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(daemon->mhd, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);

	CHECK(info);
	return info->num_connections > 0;
}

static void end_last(struct serve *serve)
{
	if (serve->last.mhd && !has_connections(&serve->last))
		stop_daemon(&serve->last);
}

/* Until the first connection is overdue; at most the time of an exchange. */
static int64_t overdue_in_ms(const struct serve *serve)
{
	int64_t now_ms = loop_monotonic_ms(serve->loop);
	int64_t first_ms = now_ms + serve->limits.exchange_ms;

	LIST_EACH(const struct serve_connection, c, &serve->connections, item)
		if (!c->closing && !is_waiting(c) && overdue_at_ms(serve, c) < first_ms)
			first_ms = overdue_at_ms(serve, c);
	return first_ms > now_ms ? first_ms - now_ms : 0;
}

/* Starts the timer for the earlier of the two libraries' next times, and that of an exchange. */
static void watch_timeouts(struct serve *serve)
{
	struct MHD_Daemon *const daemons[] = { serve->daemon.mhd, serve->last.mhd };
	MHD_UNSIGNED_LONG_LONG wait_ms, least_ms = UINT64_MAX;

	for (size_t i = 0; i < sizeof(daemons) / sizeof(daemons[0]); i++)
		if (daemons[i] && MHD_get_timeout(daemons[i], &wait_ms) == MHD_YES &&
		    wait_ms < least_ms)
			least_ms = wait_ms;
	if (serve->connections.count == 0 && least_ms == UINT64_MAX) {
		loop_timer_stop(serve->timer);
		return;
	}
	int64_t overdue_ms = overdue_in_ms(serve);
	loop_timer_start(serve->timer,
			 least_ms < (uint64_t)overdue_ms ? (int64_t)least_ms : overdue_ms);
}

static void serve_turn(void *context)
{
	struct serve *serve = context;

	close_overdue(serve);
	release_held(serve);
	serve->changed = false;
	run(serve);
	handshakes_wait(serve);
	end_last(serve);
	/* A library that was at its limit listens again only in the run after the one in which a
	 * connection was closed, and no event would cause that run. */
	if (serve->changed || serve->held.first)
		loop_timer_start(serve->timer, 0);
	else
		watch_timeouts(serve);
}

static void on_poll(uv_poll_t *handle, int status UNUSED, int events UNUSED)
{
	struct serve *serve = handle->data;

	if (loop_enter(serve->loop, &serve->place, SERVE_STEP))
		serve_turn(serve);
}

static void start_polling(struct serve *serve, struct serve_daemon *daemon)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(daemon->mhd, MHD_DAEMON_INFO_EPOLL_FD);

	CHECK(info);
	daemon->poll = memory_alloc(sizeof(*daemon->poll));
	CHECK(uv_poll_init(loop_uv(serve->loop), daemon->poll, info->epoll_fd) == 0);
	daemon->poll->data = serve;
	CHECK(uv_poll_start(daemon->poll, UV_READABLE, on_poll) == 0);
}

/* The library passes on texts that end at the first NUL. */
static size_t unescape(void *context UNUSED, struct MHD_Connection *mhd, char *text)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct serve_connection *connection = info->socket_context;

	connection->nul |= strstr(text, "%00") != NULL;
	return MHD_http_unescape(text);
}

/* tls NULL: plain; else ends with MHD_OPTION_END. NULL: the library has closed the socket. */
static struct MHD_Daemon *start_daemon(struct serve *serve, int fd, struct MHD_OptionItem *tls)
{
	static struct MHD_OptionItem none[] = { { MHD_OPTION_END, 0, NULL } };
	unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (tls ? MHD_USE_TLS : 0U);

	return MHD_start_daemon(flags, 0, NULL, NULL, on_request, serve, MHD_OPTION_LISTEN_SOCKET,
				fd, MHD_OPTION_CONNECTION_LIMIT, serve->limits.connections,
				MHD_OPTION_CONNECTION_TIMEOUT, serve->limits.silence_seconds,
				MHD_OPTION_CONNECTION_MEMORY_LIMIT, SERVE_REQUEST_MAX_BYTES,
				MHD_OPTION_NOTIFY_CONNECTION, on_connection, serve,
				MHD_OPTION_NOTIFY_COMPLETED, on_completed, serve,
				MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL,
				MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_ARRAY,
				tls ? tls : none, MHD_OPTION_END);
}

struct serve *serve_new(struct loop *loop, const char *address, const struct serve_limits *limits,
			serve_handler *handler, void *context, struct err *err)
{
	struct serve *serve;
	int fd = serve_listen(address, err);

	if (fd < 0)
		return NULL;
	serve = memory_alloc(sizeof(*serve));
	serve->loop = loop;
	serve->limits = *limits;
	budget_children_init(&serve->unread, budget_reference(limits->unread),
			     "the unread answers of");
	serve->handler = handler;
	serve->context = context;
	serve->port = serve_listen_port(fd);
	serve->daemon.mhd = start_daemon(serve, fd, NULL);
	if (!serve->daemon.mhd) {
		budget_children_done(&serve->unread);
		memory_free(serve);
		err_set(err, ERR_FATAL,
			"cannot serve on %s: no file descriptor is left; raise the limit of open "
			"files",
			address);
		return NULL;
	}
	serve->timer = loop_timer_new(loop, serve_turn, serve);
	start_polling(serve, &serve->daemon);
	return serve;
}

/* A second descriptor of the listening socket, for the next daemon; -1 without one. */
static int listening_again(const struct serve *serve)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(serve->daemon.mhd, MHD_DAEMON_INFO_LISTEN_FD);

	CHECK(info);
	return fcntl(info->listen_fd, F_DUPFD_CLOEXEC, 0);
}

int serve_tls(struct serve *serve, const char *certificate_pem, const char *key_pem,
	      struct err *err)
{
	/* The library copies none of the texts, and reads them in MHD_start_daemon only. */
	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, memory_without_const(certificate_pem) },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, memory_without_const(key_pem) },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, memory_without_const(SERVE_PRIORITIES) },
		{ MHD_OPTION_END, 0, NULL },
	};
	struct serve_daemon next = { .mhd = NULL };
	int fd;

	end_last(serve);
	if (serve->last.mhd)
		return err_set(err, ERR_RETRY,
			       "connections with the certificate before the last one are open");
	fd = listening_again(serve);
	next.mhd = fd < 0 ? NULL : start_daemon(serve, fd, tls);
	if (!next.mhd)
		return err_set(err, ERR_INPUT,
			       "the certificate and key cannot be used for TLS, or no file "
			       "descriptor is left");
	start_polling(serve, &next);
	(void)close(MHD_quiesce_daemon(serve->daemon.mhd));
	serve->last = serve->daemon;
	serve->daemon = next;
	loop_timer_start(serve->timer, 0);
	return 0;
}

int serve_port(const struct serve *serve)
{
	return serve->port;
}

void serve_free(struct serve *serve)
{
	if (!serve)
		return;
	loop_timer_free(serve->timer);
	LIST_EACH(struct serve_job, job, &serve->jobs, item) {
		list_remove(&job->item);
		work_cancel(job->job); /* job_free follows */
	}
	LIST_EACH(struct serve_request, request, &serve->waiting, item)
		wait_ended(request);
	release_held(serve);
	LIST_EACH(struct serve_connection, c, &serve->connections, item)
		handshake_continue(c);
	stop_daemon(&serve->last);
	stop_daemon(&serve->daemon); /* closes the listening socket */
	budget_children_done(&serve->unread);
	memory_free(serve);
}
