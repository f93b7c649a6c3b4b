/* Protobuf messages between bytes and the generated structs, with a ceiling on the memory that a
 * peer's bytes may take. Unpacked messages live in the caller's arena and are never freed singly.
 * Must not be used outside gcs: the generated structs stay behind this layer. */
#ifndef GCS_GCS_MESSAGE_H
#define GCS_GCS_MESSAGE_H

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/memory.h"

/* Two bytes on the wire can be a message of 100: the limit of one message in structs. The state of
 * a cluster is read entry by entry (gcs_state), so this is for one of its entries, and for the
 * other replies: the largest is what request_resources() wrote into the store of the GCS. */
#define GCS_MESSAGE_MEMORY_CEILING_BYTES ((size_t)16 << 20)

/* The message in the arena, or NULL: ERR_INPUT (not this message), ERR_LIMIT (above the
 * ceiling). */
void *gcs_message_unpack(const ProtobufCMessageDescriptor *descriptor, const void *data,
			 size_t size, struct arena *arena, struct err *err);
/* ERR_INPUT, "the 7 bytes are not this message"; -1. */
int gcs_message_refuse(const ProtobufCMessageDescriptor *descriptor, size_t size, struct err *err);
/* The generated structs use char * for strings that they only read. */
#define GCS_STRING(text) ((char *)memory_without_const(text))
/* Lower-case hex. */
const char *gcs_message_hex(struct arena *arena, ProtobufCBinaryData bytes);
/* The bytes of a text, for a message that is packed while it lives. */
ProtobufCBinaryData gcs_message_bytes(const char *text);
/* Appends the bytes of the message; -1 above the buffer's ceiling. */
int gcs_message_pack(const ProtobufCMessage *message, struct buf *bytes);

#endif
