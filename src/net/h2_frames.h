/* The nghttp2 session of one HTTP/2 client connection: frames in, events out, frames out.
 * Embedded in struct h2_connection, which owns the socket; used by it alone.
 * Must not know the socket, TLS or calls. */
#ifndef NET_H2_FRAMES_H
#define NET_H2_FRAMES_H

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "net/h2_events.h"

struct h2_frames {
	nghttp2_session *session;
	const struct h2_connection_events *events;
	void *owner;
	bool received; /* a frame */
	bool goaway;   /* the peer accepts no more streams */
	char *why;     /* error text of nghttp2, or of the peer's GOAWAY; NULL */
	/* Counted since h2_connection read them last: bytes of messages that a stream consumed, and
	 * bytes of header fields after HPACK decoding. */
	size_t taken_bytes, header_bytes;
};

void h2_frames_init(struct h2_frames *frames, const struct h2_connection_events *events,
		    void *owner);
void h2_frames_done(struct h2_frames *frames);
/* Submits the settings that every connection starts with. */
void h2_frames_greet(struct h2_frames *frames);
/* Calls the events. -1: these bytes end the connection. */
int h2_frames_input(struct h2_frames *frames, const void *data, size_t size, struct err *err);
/* No more events of this stream; submits RST_STREAM. */
void h2_frames_reset(nghttp2_session *session, int32_t stream_id);
/* The session neither reads nor writes any more: 0, or -1 with the reason. */
int h2_frames_check(const struct h2_frames *frames, struct err *err);

#endif
