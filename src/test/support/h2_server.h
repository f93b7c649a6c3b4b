/* An HTTP/2 server on the loop of the test, for faults that a real gRPC server never shows: it
 * answers as the test sets, or sends raw bytes. */
#ifndef TEST_SUPPORT_H2_SERVER_H
#define TEST_SUPPORT_H2_SERVER_H

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/buf.h"
#include "net/loop.h"

struct h2_server;
struct h2_peer;

/* One request that was received whole. */
struct h2_stream {
	struct h2_peer *peer;
	struct h2_stream *next;
	int32_t id;
	struct buf body;    /* prefix and message */
	struct buf headers; /* "name: value\n" each */
	char path[200];
	/* the reply under way */
	char *reply;
	size_t reply_size, reply_sent, piece;
	int grpc_status;
	char grpc_message[300];
	bool no_trailers;
};

typedef void h2_server_handler(struct h2_server *server, struct h2_stream *stream);

struct h2_server {
	struct loop *loop;
	uv_tcp_t listener;
	int port;
	h2_server_handler *handler; /* of requests; NULL: speaks no HTTP/2 by itself */
	void *context;
	const void *raw; /* sent as soon as a connection is there, when handler is NULL */
	size_t raw_size;
	bool close_after_raw;
	bool deaf;            /* reads nothing and sends nothing */
	bool one_byte_writes; /* every byte is a write of its own */
	unsigned connections, requests;
	struct h2_peer *peers;
};

struct h2_peer {
	uv_tcp_t tcp;
	struct h2_server *server;
	struct h2_peer *next;
	nghttp2_session *session;
	struct h2_stream *streams;
	uv_shutdown_t shutdown;
	bool closed;
};

struct h2_answer {
	const void *message;
	size_t size;
	bool unframed; /* message is the body as it is, without prefix */
	size_t piece;  /* bytes of a DATA frame; 0: as many as fit */
	int grpc_status;
	const char *grpc_message; /* as it is on the wire */
	bool no_trailers;
	bool trailers_only;
	const char *http_status; /* NULL: "200" */
};

/* port 0: a free one. */
void h2_server_start(struct h2_server *server, struct loop *loop, int port);
void h2_peer_write(struct h2_peer *peer, const void *data, size_t size);
void h2_peer_flush(struct h2_peer *peer);
void h2_peer_close(struct h2_peer *peer);
void h2_server_stop(struct h2_server *server);
/* Sends headers, body and trailers of the answer, or the headers with the status alone
 * (trailers_only). */
void h2_stream_answer(struct h2_stream *stream, const struct h2_answer *answer);

#endif
