/* HTTP/1.1 for the fleet's API server: requests with a length, answers whole or in chunks, on
 * connections that stay open. Header only. */
#ifndef TEST_FLEET_HTTP_H
#define TEST_FLEET_HTTP_H

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <uv.h>

#include "base/buf.h"
#include "base/memory.h"
#include "net/loop.h"

#define HTTP_BODY_MAX ((size_t)32 << 20)

struct http_peer {
	uv_tcp_t tcp;
	struct http_peer *next; /* of those that watch */
	struct buf in;
	bool closed;
	/* a watch: */
	bool watching;
	int kind;
	int64_t end_ms;
	uint64_t sent_version;
};

struct http_request {
	struct http_peer *peer;
	const char *method, *target, *body; /* target with its query */
	size_t body_size;
};

static struct {
	uv_tcp_t listener;
	void (*handle)(const struct http_request *request);
	void (*closed)(struct http_peer *peer);
} http;

struct http_write {
	uv_write_t request;
	char bytes[];
};

static void http_on_written(uv_write_t *request, int status)
{
	(void)status;
	memory_free(request->data);
}

static void http_write(struct http_peer *peer, const char *bytes, size_t size)
{
	struct http_write *write;
	uv_buf_t piece;

	if (peer->closed)
		return;
	write = memory_alloc(sizeof(*write) + size);
	memcpy(write->bytes, bytes, size);
	write->request.data = write;
	piece = uv_buf_init(write->bytes, (unsigned)size);
	if (uv_write(&write->request, (uv_stream_t *)&peer->tcp, &piece, 1, http_on_written) < 0)
		memory_free(write);
}

static void http_answer(struct http_peer *peer, int status, const char *body, size_t size)
{
	char head[200];
	int used = snprintf(head, sizeof(head),
			    "HTTP/1.1 %d Status\r\nContent-Type: application/json\r\n"
			    "Content-Length: %zu\r\n\r\n",
			    status, size);

	http_write(peer, head, (size_t)used);
	http_write(peer, body, size);
}

static void http_answer_buf(struct http_peer *peer, int status, const struct buf *body)
{
	http_answer(peer, status, body->data, body->size);
}

static void http_begin_chunks(struct http_peer *peer)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
				   "Transfer-Encoding: chunked\r\n\r\n";

	http_write(peer, head, sizeof(head) - 1);
}

/* Of size 0: the last one. */
static void http_chunk(struct http_peer *peer, const char *bytes, size_t size)
{
	struct buf chunk;

	buf_init(&chunk, HTTP_BODY_MAX + 100);
	(void)buf_printf(&chunk, "%zx\r\n", size);
	(void)buf_add(&chunk, bytes, size);
	(void)buf_add_string(&chunk, "\r\n");
	http_write(peer, chunk.data, chunk.size);
	buf_done(&chunk);
}

static void http_on_closed(uv_handle_t *handle)
{
	struct http_peer *peer = handle->data;

	buf_done(&peer->in);
	memory_free(peer);
}

static void http_close(struct http_peer *peer)
{
	if (peer->closed)
		return;
	peer->closed = true;
	http.closed(peer);
	uv_close((uv_handle_t *)&peer->tcp, http_on_closed);
}

/* Removes one request from the received bytes; false: it is not whole yet. */
static bool http_take(struct http_peer *peer)
{
	char *text = (char *)buf_string(&peer->in);
	char *end = strstr(text, "\r\n\r\n"), *length, *space;
	struct http_request request = { .peer = peer };
	size_t head_size;

	if (!end)
		return false;
	head_size = (size_t)(end - text) + 4;
	*end = '\0';
	length = strcasestr(text, "\r\nContent-Length:");
	if (length)
		request.body_size = strtoul(length + 17, NULL, 10);
	if (peer->in.size < head_size + request.body_size) {
		*end = '\r';
		return false;
	}
	request.body = text + head_size;
	request.method = text;
	space = strchr(text, ' ');
	if (space && strchr(space + 1, ' ')) {
		*space = '\0';
		*strchr(space + 1, ' ') = '\0';
		request.target = space + 1;
		http.handle(&request);
	}
	buf_consume(&peer->in, head_size + request.body_size);
	return true;
}

static void http_on_read(uv_stream_t *tcp, ssize_t size, const uv_buf_t *bytes)
{
	struct http_peer *peer = tcp->data;

	if (size < 0 || (size > 0 && buf_add(&peer->in, bytes->base, (size_t)size) < 0)) {
		http_close(peer);
		return;
	}
	while (!peer->closed && peer->in.size > 0 && http_take(peer)) {
	}
}

static void http_on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_bytes)
{
	static char room[65536];

	(void)handle;
	(void)suggested;
	*ret_bytes = uv_buf_init(room, sizeof(room));
}

static void http_on_connection(uv_stream_t *listener, int status)
{
	struct http_peer *peer = memory_alloc(sizeof(*peer));

	(void)status;
	(void)uv_tcp_init(listener->loop, &peer->tcp);
	peer->tcp.data = peer;
	buf_init(&peer->in, HTTP_BODY_MAX);
	if (uv_accept(listener, (uv_stream_t *)&peer->tcp) < 0) {
		http_close(peer);
		return;
	}
	(void)uv_tcp_nodelay(&peer->tcp, 1);
	(void)uv_read_start((uv_stream_t *)&peer->tcp, http_on_room, http_on_read);
}

/* The port. */
static int http_start(struct loop *loop)
{
	struct sockaddr_in address;
	int size = sizeof(address);

	if (uv_ip4_addr("127.0.0.1", 0, &address) < 0 ||
	    uv_tcp_init(loop_uv(loop), &http.listener) < 0 ||
	    uv_tcp_bind(&http.listener, (const struct sockaddr *)&address, 0) < 0 ||
	    uv_listen((uv_stream_t *)&http.listener, 128, http_on_connection) < 0 ||
	    uv_tcp_getsockname(&http.listener, (struct sockaddr *)&address, &size) < 0) {
		fprintf(stderr, "cannot listen on 127.0.0.1\n");
		exit(1);
	}
	return ntohs(address.sin_port);
}

#endif
