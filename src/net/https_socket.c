#include "net/https_intern.h"

#include "base/check.h"
#include "base/memory.h"

/* Bytes of a stream that one turn of the loop delivers: their receiver decodes them on the loop, at
 * about 10 MB/s. libcurl alone reads up to 100 times from a socket that has data. */
#define HTTPS_TURN_BYTES ((size_t)32 << 10)

struct https_socket {
	uv_poll_t poll; /* first: loop_handle_free */
	struct https *https;
	curl_socket_t fd;
	struct list_item item;
};

static void https_on_poll(uv_poll_t *handle, int status, int events)
{
	struct https_socket *socket = handle->data;
	int flags = 0;

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

int https_on_socket(CURL *curl, curl_socket_t fd, int what, void *context, void *assigned)
{
	struct https_socket *socket = assigned;
	struct https *https = context;
	int events = 0;

	(void)curl;
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
	CHECK(uv_poll_start(&socket->poll, events, https_on_poll) == 0);
	return 0;
}

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

/* Runs in the next turn of the loop, which does not wait. curl delivers the piece that it kept. */
static void https_on_resume(uv_idle_t *handle)
{
	struct https *https = handle->data;

	(void)uv_idle_stop(handle);
	https->inside++;
	LIST_EACH(struct https_request, request, &https->requests, item) {
		if (!request->paused)
			continue;
		request->paused = false;
		request->turn_bytes = 0;
		if (!request->cancelled)
			https_continue(request);
	}
	https->inside--;
	https_settle(https);
}

bool https_is_turn_over(struct https_request *request, size_t bytes)
{
	if (request->turn_ms != request->last_piece_ms)
		request->turn_bytes = 0;
	request->turn_ms = request->last_piece_ms;
	if (request->turn_bytes < HTTPS_TURN_BYTES) {
		request->turn_bytes += bytes;
		return false;
	}
	request->paused = true;
	CHECK(uv_idle_start(request->https->resume, https_on_resume) == 0);
	return true;
}

void https_sockets_init(struct https *https)
{
	https->resume = memory_alloc(sizeof(*https->resume));
	CHECK(uv_idle_init(loop_uv(https->loop), https->resume) == 0);
	https->resume->data = https;
}

void https_sockets_done(struct https *https)
{
	LIST_EACH(struct https_socket, socket, &https->sockets, item)
		https_socket_free(socket);
	loop_handle_free(https->resume);
}
