#include "net/serve.h"

#include <errno.h>
#include <fcntl.h>
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

#include "base/check.h"
#include "base/err.h"
#include "base/list.h"
#include "base/memory.h"

/* GnuTLS: TLS 1.3 and 1.2, with its other defaults. */
#define SERVE_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

#define SERVE_RESERVE 8U /* free connections below which a slow one is closed */

struct serve_connection {
	struct list_item item;
	int fd;
	int64_t since_ms; /* of the connection, or the read of its last answer */
	bool closing;
	struct serve_request *request; /* NULL: not read yet */
};

struct serve_request {
	struct serve *serve;
	struct MHD_Connection *mhd;
	struct serve_connection *connection;
	struct list_item item; /* of those that wait for their answer */
	bool asked, waiting, answered;
	int status;
	const char *content_type;
	char *body;
	size_t body_size;
	size_t unread_bytes; /* its share of serve->unread_bytes */
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
	struct list connections, waiting;
	bool changed; /* a connection was opened or closed in this turn */
	size_t unread_bytes;
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

static bool is_waiting(const struct serve_connection *connection)
{
	return connection->request && connection->request->waiting;
}

static void close_slowest(struct serve *serve)
{
	struct serve_connection *slowest = NULL;

	LIST_EACH(struct serve_connection, c, &serve->connections, item)
		if (!c->closing && !is_waiting(c) && (!slowest || c->since_ms < slowest->since_ms))
			slowest = c;
	if (slowest)
		close_connection(slowest);
}

static void close_overdue(struct serve *serve)
{
	int64_t oldest_ms = loop_monotonic_ms(serve->loop) - serve->limits.exchange_ms;

	LIST_EACH(struct serve_connection, c, &serve->connections, item)
		if (!c->closing && !is_waiting(c) && c->since_ms < oldest_ms)
			close_connection(c);
}

static void connection_started(struct serve *serve, struct MHD_Connection *mhd,
			       void **socket_context)
{
	struct serve_connection *connection = memory_alloc(sizeof(*connection));
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);

	CHECK(info);
	connection->fd = info->connect_fd;
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
	serve->unread_bytes -= request->unread_bytes;
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
	struct MHD_Response *response = MHD_create_response_from_buffer(
		request->body_size, steal(&request->body), MHD_RESPMEM_MUST_FREE);

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

bool serve_may_wait(struct serve_request *request)
{
	struct serve *serve = request->serve;

	if (request->waiting || serve->waiting.count < serve->limits.waiting)
		return true;
	serve_answer_text(request, MHD_HTTP_SERVICE_UNAVAILABLE,
			  "too many requests wait for their answer, try again");
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

	if (why)
		serve_answer_text(request, MHD_HTTP_BAD_REQUEST, why);
	else if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
		 strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		serve_answer_text(request, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD");
	return request->answered;
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
	if (!request->asked) {
		request->asked = true;
		serve->handler(serve->context, path, request);
	}
	if (request->answered)
		return send_answer(request);
	wait_for_answer(request);
	return MHD_YES;
}

static void keep_answer(struct serve_request *request, int status, const char *content_type,
			struct buf *body)
{
	struct serve *serve = request->serve;

	CHECK(!request->answered);
	request->answered = true;
	request->status = status;
	request->content_type = content_type;
	request->body_size = body->size;
	request->unread_bytes = body->size;
	request->body = buf_steal(body);
	serve->unread_bytes += request->unread_bytes;
}

void serve_answer(struct serve_request *request, int status, const char *content_type,
		  struct buf *body)
{
	struct serve *serve = request->serve;
	AUTO(buf_done) struct buf instead;

	buf_init(&instead, SERVE_REQUEST_MAX_BYTES);
	if (body->overflowed) {
		status = MHD_HTTP_INTERNAL_SERVER_ERROR;
		(void)buf_add_string(&instead, "the answer is too large\n");
	} else if (body->size > serve->limits.unread_bytes - serve->unread_bytes) {
		status = MHD_HTTP_SERVICE_UNAVAILABLE;
		(void)buf_add_string(&instead, "too many answers wait to be read, try again\n");
	}
	if (instead.size > 0)
		keep_answer(request, status, SERVE_TEXT, &instead);
	else
		keep_answer(request, status, content_type, body);
	if (request->waiting) {
		wait_ended(request);
		loop_timer_start(serve->timer, 0);
	}
}

void serve_answer_text(struct serve_request *request, int status, const char *text)
{
	AUTO(buf_done) struct buf body;

	buf_init(&body, SERVE_REQUEST_MAX_BYTES);
	(void)buf_add_string(&body, text);
	(void)buf_add_char(&body, '\n');
	serve_answer(request, status, SERVE_TEXT, &body);
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

/* Starts the timer for the earlier of the two libraries' next times. */
static void watch_timeouts(struct serve *serve)
{
	struct MHD_Daemon *const daemons[] = { serve->daemon.mhd, serve->last.mhd };
	MHD_UNSIGNED_LONG_LONG wait_ms, least_ms = UINT64_MAX;

	for (size_t i = 0; i < sizeof(daemons) / sizeof(daemons[0]); i++)
		if (daemons[i] && MHD_get_timeout(daemons[i], &wait_ms) == MHD_YES &&
		    wait_ms < least_ms)
			least_ms = wait_ms;
	if (least_ms == UINT64_MAX)
		loop_timer_stop(serve->timer);
	else
		loop_timer_start(serve->timer, (int64_t)least_ms);
}

static void serve_turn(void *context)
{
	struct serve *serve = context;

	close_overdue(serve);
	serve->changed = false;
	CHECK(MHD_run(serve->daemon.mhd) == MHD_YES);
	if (serve->last.mhd)
		CHECK(MHD_run(serve->last.mhd) == MHD_YES);
	end_last(serve);
	/* A library that was at its limit listens again only in the run after the one in which a
	 * connection was closed, and no event would cause that run. */
	if (serve->changed)
		loop_timer_start(serve->timer, 0);
	else
		watch_timeouts(serve);
}

static void on_poll(uv_poll_t *handle, int status UNUSED, int events UNUSED)
{
	serve_turn(handle->data);
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
	serve->handler = handler;
	serve->context = context;
	serve->port = serve_listen_port(fd);
	serve->daemon.mhd = start_daemon(serve, fd, NULL);
	if (!serve->daemon.mhd) {
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
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)certificate_pem },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)key_pem },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)SERVE_PRIORITIES },
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
	LIST_EACH(struct serve_request, request, &serve->waiting, item)
		wait_ended(request);
	stop_daemon(&serve->last);
	stop_daemon(&serve->daemon); /* closes the listening socket */
	memory_free(serve);
}
