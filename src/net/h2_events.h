/* The events that an HTTP/2 connection reports to the owner of its streams. */
#ifndef NET_H2_EVENTS_H
#define NET_H2_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* Parts of the text of an err, by which the peer was never reached. */
#define H2_NO_CONNECTION "no connection within"
#define H2_CANNOT_CONNECT "cannot connect"

/* header, data and stream_end are called during a read: they may only record data. */
struct h2_connection_events {
	void (*opened)(void *owner);
	void (*header)(void *stream, const char *name, size_t name_size, const char *value,
		       size_t value_size);
	int (*data)(void *stream, const void *data, size_t size); /* -1: reset it */
	/* complete: the server ended the stream in order; else it was reset with error_code. */
	void (*stream_end)(void *owner, void *stream, bool complete, uint32_t error_code);
	void (*read_end)(void *owner); /* the last event of a read */
	/* The connection failed and is closed already. Also called from submit and flush. */
	void (*lost)(void *owner, const struct err *err);
};

#endif
