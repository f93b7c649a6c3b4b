/* The gRPC message frame and status, without any I/O: the content of HTTP/2 streams. The caller
 * owns struct grpc_reader and frees its bytes with grpc_reader_done. Must not be used for streaming
 * calls (one message per direction) or compression. */
#ifndef NET_GRPC_H
#define NET_GRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* Compressed flag and big-endian length before every message. */
#define GRPC_PREFIX_SIZE 5

/* google.golang.org/grpc/codes and grpc's statuscodes.md, the ones that are distinguished here. */
enum grpc_status {
	GRPC_NONE = -1, /* no grpc-status received */
	GRPC_OK = 0,
	GRPC_CANCELLED = 1,
	GRPC_UNKNOWN = 2,
	GRPC_INVALID_ARGUMENT = 3,
	GRPC_DEADLINE_EXCEEDED = 4,
	GRPC_NOT_FOUND = 5,
	GRPC_PERMISSION_DENIED = 7,
	GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_FAILED_PRECONDITION = 9,
	GRPC_UNIMPLEMENTED = 12,
	GRPC_UNAVAILABLE = 14,
	GRPC_UNAUTHENTICATED = 16,
};

/* "UNAVAILABLE"; "status 99" has no name: "unknown status". */
const char *grpc_status_name(int status);
/* The error kind for a grpc-status: the caller's reaction to it. */
enum err_kind grpc_status_kind(int status);

/* Collects the pieces of one reply. */
struct grpc_reader {
	unsigned char prefix[GRPC_PREFIX_SIZE];
	size_t prefix_size; /* bytes of the prefix received so far */
	size_t length;      /* of the message, once the prefix is complete */
	struct buf message;
};

void grpc_reader_init(struct grpc_reader *reader, size_t ceiling_bytes);
void grpc_reader_done(struct grpc_reader *reader);
/* ERR_LIMIT: the prefix announces a message above the ceiling. ERR_INPUT: compressed, or more bytes
 * than the one message. Memory grows with the received bytes, never with the announced length. */
int grpc_reader_add(struct grpc_reader *reader, const void *data, size_t size, struct err *err);
bool grpc_reader_is_complete(const struct grpc_reader *reader); /* the whole message received */

/* The prefix of a message of `size` bytes. */
void grpc_prefix_write(unsigned char ret_prefix[static GRPC_PREFIX_SIZE], uint32_t size);

/* Decodes grpc-message: %41 is A; an invalid escape is not changed. Appends to `text` up to its
 * ceiling. */
void grpc_message_decode(const char *value, size_t size, struct buf *text);
/* grpc-status: 0 to 9999, -1 when it is not a number. */
int grpc_status_parse(const char *value, size_t size);

#endif
