/* One HTTP/2 client connection: socket, TLS and nghttp2 session. Used by net/h2 alone. Created by
 * h2_connection_open, ended by h2_connection_close, which may be called from everywhere but the
 * events header, data and stream_end; its memory is freed when the loop has closed the socket. Must
 * not know calls, deadlines or gRPC: a stream is the pointer that h2 submitted it with.
 *
 * All bytes that do not advance any call are counted: frames that need no answer, empty DATA, DATA
 * of streams that were reset, header fields, framing, TLS records. A peer that sends too many loses
 * the connection (ERR_LIMIT). One frame has 9 bytes or more, so this bounds frames, too. */
#ifndef NET_H2_CONNECTION_H
#define NET_H2_CONNECTION_H

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "net/h2_events.h"

struct h2_connection;
struct h2_tls;
struct loop;
struct token_bucket;

/* host: a numeric IPv4 or IPv6 address. waste: token bucket for bytes that do not advance any call;
 * the owner's, so that another connection does not start with a full one. NULL with err (ERR_INPUT:
 * invalid address; ERR_RETRY: no socket). tls may be NULL. No event is called before the loop
 * turns. */
struct h2_connection *h2_connection_open(struct loop *loop, const char *host, int port,
					 struct h2_tls *tls, struct token_bucket *waste,
					 const struct h2_connection_events *events, void *owner,
					 struct err *err);
void h2_connection_close(struct h2_connection *connection); /* no more events; NULL is fine */

bool h2_connection_accepts(const struct h2_connection *connection); /* open, without GOAWAY */
/* Monotonic; INT64_MIN: no byte received. */
int64_t h2_connection_last_read_ms(const struct h2_connection *connection);

/* `body` reads the body of `stream`. A stream id, or -1: no more streams on this connection. The
 * caller flushes after its last submit. */
int32_t h2_connection_submit(struct h2_connection *connection, const nghttp2_nv *headers,
			     size_t count, const nghttp2_data_provider *body, void *stream);
/* No more events of this stream; sends RST_STREAM to the server. */
void h2_connection_reset(struct h2_connection *connection, int32_t stream_id);
void h2_connection_ping(struct h2_connection *connection);
void h2_connection_flush(struct h2_connection *connection);

#endif
