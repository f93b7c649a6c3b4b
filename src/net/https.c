#include "net/https.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <uv.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/err.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "net/loop.h"
#include "net/process.h"
#include "net/tls_ciphers.h"

#define HTTPS_IDLE_CONNECTIONS 32L
#define HTTPS_HEADER_MAX_BYTES ((size_t)65536)
#define HTTPS_RETRY_AFTER_MAX_S 86400
/* Bytes of a stream that one turn of the loop delivers: their receiver decodes them on the loop, at
 * about 10 MB/s. libcurl alone reads up to 100 times from a socket that has data. */
#define HTTPS_TURN_BYTES ((size_t)32 << 10)

/* libcurl must not be called from inside its own callbacks, and a user may start and cancel
 * requests there. So `inside` is raised around each call that can call back, starts wait as QUEUED,
 * cancels only mark, and https_settle does the rest when curl has returned. on_done never runs
 * inside https_start: a chain of requests must not recurse. */
enum https_state {
	HTTPS_QUEUED = 1, /* not yet passed to curl */
	HTTPS_ACTIVE,
	HTTPS_BROKEN, /* could not be set up or continued: reported in the next turn */
	HTTPS_DONE,   /* on_done runs */
};

/* One libcurl easy handle, set up from a struct https_call. */
struct https_easy {
	CURL *curl;
	struct curl_slist *headers;
	struct curl_slist *connect_to; /* with a server name of its own */
	void *body;
	char error[CURL_ERROR_SIZE];
};

struct https_request {
	struct https *https;
	struct list_item item;
	enum https_state state;
	bool added; /* to curl's multi handle */
	bool cancelled;
	bool paused; /* curl keeps a piece: continues in the next turn, or when it is not held */
	bool held;   /* until https_resume */
	size_t turn_bytes;
	int64_t turn_ms; /* of turn_bytes */
	struct https_easy easy;
	char *origin; /* for messages */
	struct https_call
		call; /* what it points to is the caller's, and not used after https_start */
	struct loop_timer *timer;
	int64_t first_byte_deadline_ms, last_piece_ms;
	int64_t total_deadline_ms; /* of a stream; curl has that of others. INT64_MAX: none */
	int64_t held_ms;           /* when it was held */
	bool opened;               /* the header of the final answer is complete */
	int status;
	size_t header_bytes;
	int64_t retry_after_ms;
	struct buf body;
	bool no_file;    /* a socket was refused for want of file descriptors */
	struct err stop; /* why this module ended it */
};

struct https {
	struct loop *loop;
	CURLM *multi;
	char *user_agent;
	struct loop_timer *timer;  /* curl's own */
	struct loop_timer *resume; /* of paused requests */
	struct list requests, sockets;
	unsigned inside;
	int64_t distrust_ms; /* monotonic, of the last deadline that passed; below 0: none */
};

struct https_socket {
	uv_poll_t poll; /* first: loop_handle_free */
	struct https *https;
	curl_socket_t fd;
	struct list_item item;
	struct loop_place place;
	int events; /* that the poll waits for */
};

/* ---- the set-up of an easy handle: method, headers, body, TLS, deadlines ---- */

#define HTTPS_STEP "HTTPS of the API server"
#define HTTPS_RECEIVE_BYTES 16384L /* a piece of a body is not larger */
#define HTTPS_IDLE_MAX_S 118L      /* libcurl's own CURLOPT_MAXAGE_CONN */
#define HTTPS_KEEPALIVE_IDLE_S 15L
#define HTTPS_KEEPALIVE_INTERVAL_S 5L

/* A setopt that is refused is a fault of the libcurl build: reported, never ignored. */
#define HTTPS_SET(easy, option, value)                                                             \
	do {                                                                                       \
		CURLcode code_ = curl_easy_setopt((easy)->curl, (option), (value));                \
		if (code_ != CURLE_OK)                                                             \
			return err_set(err, ERR_FATAL, "libcurl refuses " #option ": %s",          \
				       curl_easy_strerror(code_));                                 \
	} while (0)

/* "https://host:port" of a URL, for messages; memory_free. */
static char *https_origin(const char *url)
{
	const char *host = strstr(url, "://");
	size_t size = host ? (size_t)(host - url) + 3 : 0;

	size += strcspn(url + size, "/?#");
	return memory_strndup(url, size);
}

/* A line end inside a header (a token file with two lines) would inject another header. */
static int https_add_header(struct https_easy *easy, const char *name, const char *value,
			    struct err *err)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;

	for (const char *c = value; *c; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7F)
			return err_set(err, ERR_FATAL,
				       "a control character in the value of header %s",
				       *name ? name : "(own)");
	}
	struct curl_slist *list =
		curl_slist_append(easy->headers, arena_printf(&scratch, "%s%s", name, value));
	if (!list)
		return err_set(err, ERR_FATAL, "out of memory for a header");
	easy->headers = list;
	return 0;
}

static int https_set_headers(struct https_easy *easy, const struct https_call *call,
			     struct err *err)
{
	/* "Expect: 100-continue" would cost a round trip of up to a second for large bodies. */
	if (https_add_header(easy, "Expect:", "", err) < 0)
		return -1;
	for (size_t i = 0; i < call->header_count; i++) {
		if (https_add_header(easy, "", call->headers[i], err) < 0)
			return -1;
	}
	if (call->bearer_token &&
	    https_add_header(easy, "Authorization: Bearer ", call->bearer_token, err) < 0)
		return -1;
	HTTPS_SET(easy, CURLOPT_HTTPHEADER, easy->headers);
	return 0;
}

static int https_set_request(struct https_easy *easy, const struct https_call *call,
			     struct err *err)
{
	bool plain = call->allow_plain && strncmp(call->url, "http://", 7) == 0;

	/* curl has the same error code for this as for an answer that is not HTTP. */
	if (!plain && strncmp(call->url, "https://", 8) != 0)
		return err_set(err, ERR_FATAL, "the address must begin with https://");
	HTTPS_SET(easy, CURLOPT_PROTOCOLS_STR, plain ? "http" : "https");
	if (call->body_size > 0) {
		easy->body = memory_alloc(call->body_size);
		memcpy(easy->body, call->body, call->body_size);
		HTTPS_SET(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body_size);
		HTTPS_SET(easy, CURLOPT_POSTFIELDS, (char *)easy->body);
	}
	HTTPS_SET(easy, CURLOPT_CUSTOMREQUEST, call->method);
	HTTPS_SET(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	HTTPS_SET(easy, CURLOPT_FOLLOWLOCATION, 0L);
	HTTPS_SET(easy, CURLOPT_PROXY, ""); /* else curl reads the environment */
	HTTPS_SET(easy, CURLOPT_PATH_AS_IS, 1L);
	return 0;
}

static int https_set_limits(struct https_easy *easy, const struct https_call *call, struct err *err)
{
	HTTPS_SET(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)call->connect_ms);
	HTTPS_SET(easy, CURLOPT_TIMEOUT_MS, call->on_chunk ? 0L : (long)call->total_ms);
	HTTPS_SET(easy, CURLOPT_BUFFERSIZE, HTTPS_RECEIVE_BYTES);
	/* No SIGALRM, and no wait for a resolver thread when a request is cancelled. */
	HTTPS_SET(easy, CURLOPT_NOSIGNAL, 1L);
	HTTPS_SET(easy, CURLOPT_QUICK_EXIT, 1L);
	HTTPS_SET(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	HTTPS_SET(easy, CURLOPT_TCP_KEEPIDLE, HTTPS_KEEPALIVE_IDLE_S);
	HTTPS_SET(easy, CURLOPT_TCP_KEEPINTVL, HTTPS_KEEPALIVE_INTERVAL_S);
	return 0;
}

static int https_set_pem(struct https_easy *easy, CURLoption option, const char *pem,
			 struct err *err)
{
	struct curl_blob blob = { .flags = CURL_BLOB_COPY };

	if (!pem || !*pem)
		return 0;
	blob.data = memory_without_const(pem);
	blob.len = strlen(pem);
	if (curl_easy_setopt(easy->curl, option, &blob) != CURLE_OK)
		return err_set(err, ERR_FATAL, "libcurl refuses a certificate or key");
	return 0;
}

/* SNI and verification use `name`, while the connection is made to the host of the URL. */
static int https_set_server_name(struct https_easy *easy, const struct https_call *call,
				 const char *name, struct err *err)
{
	CURLU *url = curl_url();
	char *host = NULL, *port = NULL, *changed = NULL;
	char target[1024], header[512];
	int result = -1;

	if (!url || curl_url_set(url, CURLUPART_URL, call->url, 0) != CURLUE_OK ||
	    curl_url_get(url, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
	    curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) != CURLUE_OK ||
	    curl_url_set(url, CURLUPART_HOST, name, 0) != CURLUE_OK ||
	    curl_url_get(url, CURLUPART_URL, &changed, 0) != CURLUE_OK) {
		err_set(err, ERR_FATAL, "the address or the server name \"%s\" cannot be used",
			name);
		goto out;
	}
	if (snprintf(target, sizeof(target), "::%s:%s", host, port) >= (int)sizeof(target) ||
	    snprintf(header, sizeof(header), "%s:%s", host, port) >= (int)sizeof(header)) {
		err_set(err, ERR_FATAL, "the host of the address is too long");
		goto out;
	}
	easy->connect_to = curl_slist_append(NULL, target);
	if (!easy->connect_to ||
	    curl_easy_setopt(easy->curl, CURLOPT_CONNECT_TO, easy->connect_to) != CURLE_OK ||
	    curl_easy_setopt(easy->curl, CURLOPT_URL, changed) != CURLE_OK) {
		err_set(err, ERR_FATAL, "libcurl refuses the server name \"%s\"", name);
		goto out;
	}
	result = https_add_header(easy, "Host: ", header, err);
out:
	curl_free(host);
	curl_free(port);
	curl_free(changed);
	curl_url_cleanup(url);
	return result;
}

static int https_set_tls(struct https_easy *easy, const struct https_call *call, struct err *err)
{
	const struct https_tls *tls = call->tls;

	HTTPS_SET(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	HTTPS_SET(easy, CURLOPT_SSL_CIPHER_LIST, TLS_CIPHERS);
	if (!tls)
		return 0;
	if (tls->insecure) {
		HTTPS_SET(easy, CURLOPT_SSL_VERIFYPEER, 0L);
		HTTPS_SET(easy, CURLOPT_SSL_VERIFYHOST, 0L);
	}
	if (tls->ca_pem && *tls->ca_pem) {
		/* The blob replaces CAINFO only; Debian's libcurl would also trust all of
		 * /etc/ssl/certs. */
		HTTPS_SET(easy, CURLOPT_CAPATH, (char *)NULL);
	}
	if (https_set_pem(easy, CURLOPT_CAINFO_BLOB, tls->ca_pem, err) < 0 ||
	    https_set_pem(easy, CURLOPT_SSLCERT_BLOB, tls->certificate_pem, err) < 0 ||
	    https_set_pem(easy, CURLOPT_SSLKEY_BLOB, tls->key_pem, err) < 0)
		return -1;
	if (tls->server_name && *tls->server_name)
		return https_set_server_name(easy, call, tls->server_name, err);
	return 0;
}

/* 0, or -1 with ERR_FATAL (texts never hold a header). https_easy_done is needed either way, and
 * the struct must not move in between. */
static int https_easy_init(struct https_easy *easy, const struct https_call *call,
			   const char *user_agent, struct err *err)
{
	easy->curl = curl_easy_init();
	if (!easy->curl)
		return err_set(err, ERR_FATAL, "libcurl cannot make a handle");
	HTTPS_SET(easy, CURLOPT_ERRORBUFFER, easy->error);
	HTTPS_SET(easy, CURLOPT_USERAGENT, user_agent);
	HTTPS_SET(easy, CURLOPT_URL, call->url);
	if (https_set_request(easy, call, err) < 0 || https_set_limits(easy, call, err) < 0 ||
	    https_set_tls(easy, call, err) < 0)
		return -1;
	return https_set_headers(easy, call, err);
}

/* Prevents the use of connections that have idled since before since_ms ago. -1 with ERR_FATAL. */
static int https_easy_distrust(struct https_easy *easy, int64_t since_ms, struct err *err)
{
	long seconds = (long)(since_ms / MS_PER_SECOND);

	/* libcurl closes connections that idled for more whole seconds than this; 0 means no
	 * limit. */
	if (seconds < 2)
		HTTPS_SET(easy, CURLOPT_FRESH_CONNECT, 1L);
	else if (seconds <= HTTPS_IDLE_MAX_S)
		HTTPS_SET(easy, CURLOPT_MAXAGE_CONN, seconds - 1);
	return 0;
}

static void https_easy_done(struct https_easy *easy)
{
	curl_easy_cleanup(easy->curl);
	curl_slist_free_all(easy->headers);
	curl_slist_free_all(easy->connect_to);
	memory_free(easy->body);
}

/* ---- requests ---- */

static void https_request_free(struct https_request *request)
{
	struct https *https = request->https;

	if (request->added)
		CHECK(curl_multi_remove_handle(https->multi, request->easy.curl) == CURLM_OK);
	list_remove(&request->item);
	https_easy_done(&request->easy);
	loop_timer_free(request->timer);
	buf_done(&request->body);
	memory_free(request->origin);
	memory_free(request);
}

/* Converts curl's result to an error of the caller. */
static void https_error(const struct https_request *request, CURLcode code, struct err *err)
{
	const char *detail = request->easy.error[0] ? request->easy.error :
						      curl_easy_strerror(code);

	if (code != CURLE_OPERATION_TIMEDOUT && request->no_file) {
		(void)process_refuse_file(false, err);
		(void)err_prefix(err, "%s", request->origin);
		return;
	}
	switch (code) {
	case CURLE_OPERATION_TIMEDOUT:
		err_set(err, ERR_TIMEOUT, "%s: %s", request->origin, detail);
		break;
	case CURLE_URL_MALFORMAT:
		err_set(err, ERR_FATAL, "%s: the address cannot be used: %s", request->origin,
			detail);
		break;
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CACERT_BADFILE:
		err_set(err, ERR_FATAL,
			"%s: the client certificate, its key or the CA cannot be "
			"used: %s",
			request->origin, detail);
		break;
	case CURLE_PEER_FAILED_VERIFICATION:
		err_set(err, ERR_RETRY,
			"%s: the server's certificate is not trusted (check the CA "
			"and the server's name): %s",
			request->origin, detail);
		break;
	default:
		err_set(err, ERR_RETRY, "%s: %s", request->origin, detail);
	}
}

static void https_finish(struct https_request *request, CURLcode code)
{
	struct https_response response = {
		.status = request->opened ? request->status : 0,
		.body = buf_string(&request->body),
		.body_size = request->body.size,
		.retry_after_ms = request->retry_after_ms,
	};
	struct err err = { .kind = ERR_NONE };

	if (request->stop.kind != ERR_NONE)
		err = request->stop;
	else if (code != CURLE_OK)
		https_error(request, code, &err);
	if (err.kind == ERR_TIMEOUT)
		request->https->distrust_ms = loop_monotonic_ms(request->https->loop);
	request->state = HTTPS_DONE;
	request->call.on_done(request->call.context, &response, err.kind == ERR_NONE ? NULL : &err);
	https_request_free(request);
}

static void https_activate(struct https_request *request)
{
	CHECK(curl_multi_add_handle(request->https->multi, request->easy.curl) == CURLM_OK);
	request->state = HTTPS_ACTIVE;
	request->added = true;
}

/* After curl has returned. */
static void https_settle(struct https *https)
{
	CURLMsg *message;
	int left;

	LIST_EACH(struct https_request, r, &https->requests, item) {
		if (r->cancelled) {
			https_request_free(r);
		} else if (r->state == HTTPS_QUEUED) {
			https_activate(r);
		}
	}
	/* on_done may start and cancel: curl drops the messages of removed handles. */
	while ((message = curl_multi_info_read(https->multi, &left))) {
		struct https_request *request = NULL;

		CHECK(message->msg == CURLMSG_DONE);
		CHECK(curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &request) ==
		      CURLE_OK);
		https_finish(request, message->data.result);
	}
}

/* Lets curl handle an event, and then its results. */
static void https_action(struct https *https, curl_socket_t fd, int events)
{
	int running;

	https->inside++;
	CHECK(curl_multi_socket_action(https->multi, fd, events, &running) == CURLM_OK);
	https->inside--;
	https_settle(https);
}

static int https_on_timer_change(CURLM *multi UNUSED, long timeout_ms, void *context)
{
	struct https *https = context;

	if (timeout_ms < 0)
		loop_timer_stop(https->timer);
	else
		loop_timer_start(https->timer, timeout_ms);
	return 0;
}

static void https_on_curl_timer(void *context)
{
	https_action(context, CURL_SOCKET_TIMEOUT, 0);
}

/* ---- sockets ---- */

static void https_on_poll(uv_poll_t *handle, int status, int events)
{
	struct https_socket *socket = handle->data;
	int flags = 0;

	if (!loop_enter(socket->https->loop, &socket->place, HTTPS_STEP)) {
		if (status < 0) /* libuv has ended the poll */
			CHECK(uv_poll_start(handle, socket->events, https_on_poll) == 0);
		return;
	}
	if (status < 0)
		flags = CURL_CSELECT_ERR;
	if (events & UV_READABLE)
		flags |= CURL_CSELECT_IN;
	if (events & UV_WRITABLE)
		flags |= CURL_CSELECT_OUT;
	https_action(socket->https, socket->fd, flags);
}

static void https_socket_free(struct https_socket *socket)
{
	list_remove(&socket->item);
	(void)uv_poll_stop(&socket->poll);
	loop_handle_free(socket);
}

static struct https_socket *https_socket_new(struct https *https, curl_socket_t fd)
{
	struct https_socket *socket = memory_alloc(sizeof(*socket));

	CHECK(uv_poll_init_socket(loop_uv(https->loop), &socket->poll, fd) == 0);
	socket->poll.data = socket;
	socket->https = https;
	socket->fd = fd;
	list_add(&https->sockets, &socket->item);
	(void)curl_multi_assign(https->multi, fd, socket);
	return socket;
}

/* curl: watch this socket for these events. */
static int https_on_socket(CURL *curl UNUSED, curl_socket_t fd, int what, void *context,
			   void *assigned)
{
	struct https_socket *socket = assigned;
	struct https *https = context;
	int events = 0;

	if (what == CURL_POLL_REMOVE) {
		if (socket) {
			(void)curl_multi_assign(https->multi, fd, NULL);
			https_socket_free(socket);
		}
		return 0;
	}
	if (!socket)
		socket = https_socket_new(https, fd);
	if (what & CURL_POLL_IN)
		events |= UV_READABLE;
	if (what & CURL_POLL_OUT)
		events |= UV_WRITABLE;
	socket->events = events;
	CHECK(uv_poll_start(&socket->poll, events, https_on_poll) == 0);
	return 0;
}

/* ---- deadlines that curl does not have: first byte, stall, and total without the time held ---- */

static int64_t https_deadline_ms(const struct https_request *request)
{
	int64_t next_ms = INT64_MAX;

	if (!request->opened)
		next_ms = request->first_byte_deadline_ms;
	else if (request->call.stall_ms > 0)
		next_ms = request->last_piece_ms + request->call.stall_ms;
	return next_ms < request->total_deadline_ms ? next_ms : request->total_deadline_ms;
}

static void https_start_timer(struct https_request *request)
{
	int64_t left_ms = https_deadline_ms(request) - loop_monotonic_ms(request->https->loop);

	if (request->held || https_deadline_ms(request) == INT64_MAX)
		loop_timer_stop(request->timer);
	else
		loop_timer_start(request->timer, left_ms > 0 ? left_ms : 0);
}

static void https_note_deadline(struct https_request *request, int64_t now)
{
	const struct https_call *call = &request->call;

	if (now >= request->total_deadline_ms)
		err_set(&request->stop, ERR_TIMEOUT, "%s: not all was received within %lld ms",
			request->origin, (long long)call->total_ms);
	else if (request->opened)
		err_set(&request->stop, ERR_TIMEOUT, "%s: nothing was received for %lld ms",
			request->origin, (long long)call->stall_ms);
	else
		err_set(&request->stop, ERR_TIMEOUT, "%s: no answer began within the deadline",
			request->origin);
}

/* Also reports BROKEN requests. */
static void https_on_timer(void *context)
{
	struct https_request *request = context;
	int64_t now = loop_monotonic_ms(request->https->loop);

	if (request->state != HTTPS_BROKEN) {
		if (now < https_deadline_ms(request)) {
			https_start_timer(request);
			return;
		}
		https_note_deadline(request, now);
	}
	https_finish(request, CURLE_OK);
}

/* ---- turns of streams ---- */

/* curl returns an error of the piece that it kept here only, and does not end the request. */
static void https_continue(struct https_request *request)
{
	CURLcode code = curl_easy_pause(request->easy.curl, CURLPAUSE_CONT);

	if (code == CURLE_OK || request->cancelled)
		return;
	if (request->stop.kind == ERR_NONE)
		https_error(request, code, &request->stop);
	request->state = HTTPS_BROKEN;
	loop_timer_start(request->timer, 0);
}

/* Runs in the next turn of the loop, which does not wait. curl delivers the piece that it kept. Those for which
 * the turn has no time are the first in the next one. */
static void https_on_resume(void *context)
{
	struct https *https = context;
	bool continued = false;

	https->inside++;
	LIST_EACH(struct https_request, request, &https->requests, item) {
		if (!request->paused || request->held)
			continue;
		if (continued && loop_is_spent(https->loop)) {
			loop_timer_start(https->resume, 0);
			break;
		}
		continued = true;
		list_remove(&request->item);
		list_add(&https->requests, &request->item);
		request->paused = false;
		request->turn_bytes = 0;
		if (!request->cancelled)
			https_continue(request);
	}
	https->inside--;
	https_settle(https);
}

void https_resume(struct https_request *request)
{
	request->last_piece_ms = loop_monotonic_ms(request->https->loop);
	if (request->held && request->total_deadline_ms < INT64_MAX)
		request->total_deadline_ms += request->last_piece_ms - request->held_ms;
	request->held = false;
	https_start_timer(request);
	if (request->paused)
		loop_timer_start(request->https->resume, 0);
}

/* True: the receiver of a stream gets this piece in the next turn of the loop. */
static bool https_is_turn_over(struct https_request *request, size_t bytes)
{
	if (request->turn_ms != request->last_piece_ms)
		request->turn_bytes = 0;
	request->turn_ms = request->last_piece_ms;
	if (request->held)
		return request->paused = true;
	if (request->turn_bytes < HTTPS_TURN_BYTES) {
		request->turn_bytes += bytes;
		return false;
	}
	request->paused = true;
	loop_timer_start(request->https->resume, 0);
	return true;
}

/* ---- libcurl ---- */

struct https *https_new(struct loop *loop, const char *user_agent)
{
	struct https *https = memory_alloc(sizeof(*https));

	CHECK(curl_global_init_mem(CURL_GLOBAL_DEFAULT, memory_try_alloc, memory_free,
				   memory_try_resize, memory_strdup, memory_try_array) == CURLE_OK);
	https->loop = loop;
	https->distrust_ms = -1;
	https->user_agent = memory_strdup(user_agent);
	https->timer = loop_timer_new(loop, https_on_curl_timer, https);
	https->resume = loop_timer_new(loop, https_on_resume, https);
	https->multi = curl_multi_init();
	CHECK(https->multi);
	CHECK(curl_multi_setopt(https->multi, CURLMOPT_SOCKETFUNCTION, https_on_socket) ==
	      CURLM_OK);
	CHECK(curl_multi_setopt(https->multi, CURLMOPT_SOCKETDATA, https) == CURLM_OK);
	CHECK(curl_multi_setopt(https->multi, CURLMOPT_TIMERFUNCTION, https_on_timer_change) ==
	      CURLM_OK);
	CHECK(curl_multi_setopt(https->multi, CURLMOPT_TIMERDATA, https) == CURLM_OK);
	CHECK(curl_multi_setopt(https->multi, CURLMOPT_MAXCONNECTS, HTTPS_IDLE_CONNECTIONS) ==
	      CURLM_OK);
	return https;
}

void https_free(struct https *https)
{
	if (!https)
		return;
	CHECK(https->inside == 0);
	LIST_EACH(struct https_request, request, &https->requests, item)
		https_request_free(request);
	CHECK(curl_multi_cleanup(https->multi) == CURLM_OK);
	LIST_EACH(struct https_socket, socket, &https->sockets, item)
		https_socket_free(socket);
	loop_timer_free(https->resume);
	loop_timer_free(https->timer);
	memory_free(https->user_agent);
	memory_free(https);
	curl_global_cleanup();
}

static void https_stop(struct https_request *request, enum err_kind kind, const char *text)
{
	err_set(&request->stop, kind, "%s: %s", request->origin, text);
}

static void https_note_header(struct https_request *request, const char *line, size_t size)
{
	static const char name[] = "retry-after:";
	int64_t seconds = 0;
	size_t at = sizeof(name) - 1;

	if (size <= at || strncasecmp(line, name, at) != 0)
		return;
	while (at < size && line[at] == ' ')
		at++;
	for (; at < size && text_is_digit(line[at]); at++) {
		seconds = seconds * 10 + (line[at] - '0');
		if (seconds > HTTPS_RETRY_AFTER_MAX_S)
			seconds = HTTPS_RETRY_AFTER_MAX_S;
	}
	request->retry_after_ms = seconds * MS_PER_SECOND;
}

/* libcurl: one header line. Anything but `size * count` ends the transfer. */
static size_t https_on_header(char *line, size_t size, size_t count, void *context)
{
	struct https_request *request = context;
	size_t bytes = size * count;
	long status = 0;

	if (request->cancelled || request->opened)
		return request->cancelled ? 0 : bytes; /* opened: a trailer */
	request->header_bytes += bytes;
	if (request->header_bytes > HTTPS_HEADER_MAX_BYTES) {
		https_stop(request, ERR_LIMIT, "the header of the answer is larger than 64 KiB");
		return 0;
	}
	if (bytes > 2 || (bytes == 2 && line[0] != '\r')) {
		https_note_header(request, line, bytes);
		return bytes;
	}
	(void)curl_easy_getinfo(request->easy.curl, CURLINFO_RESPONSE_CODE, &status);
	if (status < 200)
		return bytes; /* 100 Continue: the answer follows */
	request->opened = true;
	request->status = (int)status;
	request->last_piece_ms = loop_monotonic_ms(request->https->loop);
	https_start_timer(request);
	if (request->call.on_chunk && request->call.on_open && status < 300)
		request->call.on_open(request->call.context);
	return request->cancelled ? 0 : bytes;
}

static size_t https_on_write(char *data, size_t size, size_t count, void *context)
{
	struct https_request *request = context;
	size_t bytes = size * count;

	if (request->cancelled)
		return 0;
	request->last_piece_ms = loop_monotonic_ms(request->https->loop);
	if (request->call.on_chunk && request->status < 300) {
		if (https_is_turn_over(request, bytes))
			return CURL_WRITEFUNC_PAUSE;
		int answer =
			bytes > 0 ? request->call.on_chunk(request->call.context, data, bytes) : 0;
		if (answer > 0 && !request->cancelled) {
			request->held = true;
			request->held_ms = request->last_piece_ms;
			loop_timer_stop(request->timer);
		}
		if (answer >= 0)
			return request->cancelled ? 0 : bytes;
		if (!request->cancelled)
			https_stop(request, ERR_INPUT, "the answer cannot be used");
		return 0;
	}
	if (buf_add(&request->body, data, bytes) == 0)
		return bytes;
	err_set(&request->stop, ERR_LIMIT, "%s: the answer is larger than %zu bytes",
		request->origin, request->body.ceiling_bytes);
	return 0;
}

/* libcurl: the connection is up, and the request is about to be sent. */
static int https_on_send(void *context, char *peer UNUSED, char *own UNUSED, int peer_port UNUSED,
			 int own_port UNUSED)
{
	struct https_request *request = context;

	if (request->cancelled)
		return CURL_PREREQFUNC_ABORT;
	const char *why = request->call.may_send ? request->call.may_send(request->call.context) :
						   NULL;
	if (!why)
		return CURL_PREREQFUNC_OK;
	err_set(&request->stop, ERR_RETRY, "%s: not sent, %s", request->origin, why);
	return CURL_PREREQFUNC_ABORT;
}

static curl_socket_t https_on_open_socket(void *context, curlsocktype purpose UNUSED,
					  struct curl_sockaddr *address)
{
	struct https_request *request = context;
	int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);

	request->no_file = fd < 0 && (errno == EMFILE || errno == ENFILE);
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static int https_set_callbacks(struct https_easy *easy, struct https_request *request,
			       struct err *err)
{
	HTTPS_SET(easy, CURLOPT_PRIVATE, request);
	HTTPS_SET(easy, CURLOPT_PREREQFUNCTION, https_on_send);
	HTTPS_SET(easy, CURLOPT_PREREQDATA, request);
	HTTPS_SET(easy, CURLOPT_HEADERFUNCTION, https_on_header);
	HTTPS_SET(easy, CURLOPT_HEADERDATA, request);
	HTTPS_SET(easy, CURLOPT_WRITEFUNCTION, https_on_write);
	HTTPS_SET(easy, CURLOPT_WRITEDATA, request);
	HTTPS_SET(easy, CURLOPT_OPENSOCKETFUNCTION, https_on_open_socket);
	HTTPS_SET(easy, CURLOPT_OPENSOCKETDATA, request);
	return 0;
}

static int https_distrust(struct https_request *request)
{
	const struct https *https = request->https;

	if (https->distrust_ms < 0)
		return 0;
	return https_easy_distrust(&request->easy,
				   loop_monotonic_ms(https->loop) - https->distrust_ms,
				   &request->stop);
}

/* Every request ends by on_done: its timer reports one that cannot be set up (BROKEN). */
struct https_request *https_start(struct https *https, const struct https_call *call)
{
	struct https_request *request = memory_alloc(sizeof(*request));

	CHECK(call->connect_ms > 0 && call->first_byte_ms > 0);
	CHECK(call->total_ms > 0 || call->stall_ms > 0);
	request->https = https;
	list_add(&https->requests, &request->item);
	request->call = *call;
	request->origin = https_origin(call->url);
	request->first_byte_deadline_ms = loop_monotonic_ms(https->loop) + call->first_byte_ms;
	request->total_deadline_ms = call->on_chunk && call->total_ms > 0 ?
					     loop_monotonic_ms(https->loop) + call->total_ms :
					     INT64_MAX;
	request->timer = loop_timer_new(https->loop, https_on_timer, request);
	buf_init(&request->body, call->ceiling_bytes);

	if (https_easy_init(&request->easy, call, https->user_agent, &request->stop) < 0 ||
	    https_set_callbacks(&request->easy, request, &request->stop) < 0 ||
	    https_distrust(request) < 0) {
		request->state = HTTPS_BROKEN;
		loop_timer_start(request->timer, 0);
		return request;
	}
	request->state = HTTPS_QUEUED;
	https_start_timer(request);
	if (https->inside == 0)
		https_activate(request);
	return request;
}

void https_cancel(struct https_request *request)
{
	if (!request || request->state == HTTPS_DONE)
		return;
	if (request->https->inside > 0 && request->added)
		request->cancelled = true;
	else
		https_request_free(request);
}
