#include "gcs/gcs_message.h"

#include <stdbool.h>
#include <string.h>

#include "base/memory.h"

struct gcs_message_memory {
	ProtobufCAllocator allocator;
	struct arena *arena;
	size_t used_bytes;
	bool refused;
};

static void *gcs_message_alloc(void *context, size_t bytes)
{
	struct gcs_message_memory *memory = context;

	if (bytes > GCS_MESSAGE_MEMORY_CEILING_BYTES - memory->used_bytes) {
		memory->refused = true;
		return NULL;
	}
	memory->used_bytes += bytes;
	return arena_alloc(memory->arena, bytes);
}

/* Freed with the arena. */
static void gcs_message_free(void *context UNUSED, void *pointer UNUSED)
{
}

void *gcs_message_unpack(const ProtobufCMessageDescriptor *descriptor, const void *data,
			 size_t size, struct arena *arena, struct err *err)
{
	struct gcs_message_memory memory = { .arena = arena };

	memory.allocator = (ProtobufCAllocator){
		.alloc = gcs_message_alloc,
		.free = gcs_message_free,
		.allocator_data = &memory,
	};
	ProtobufCMessage *message =
		protobuf_c_message_unpack(descriptor, &memory.allocator, size, data);
	if (message)
		return message;
	if (memory.refused)
		(void)err_set(err, ERR_LIMIT,
			      "%s: %zu bytes of it need more than %zu bytes of memory",
			      descriptor->short_name, size, GCS_MESSAGE_MEMORY_CEILING_BYTES);
	else
		(void)gcs_message_refuse(descriptor, size, err);
	return NULL;
}

int gcs_message_refuse(const ProtobufCMessageDescriptor *descriptor, size_t size, struct err *err)
{
	return err_set(err, ERR_INPUT,
		       "%s: the %zu bytes are not this message; is this a GCS of Ray?",
		       descriptor->short_name, size);
}

const char *gcs_message_hex(struct arena *arena, ProtobufCBinaryData bytes)
{
	static const char digits[] = "0123456789abcdef";
	char *hex = arena_alloc(arena, bytes.len * 2 + 1);

	for (size_t i = 0; i < bytes.len; i++) {
		hex[2 * i] = digits[bytes.data[i] >> 4];
		hex[2 * i + 1] = digits[bytes.data[i] & 15];
	}
	return hex;
}

ProtobufCBinaryData gcs_message_bytes(const char *text)
{
	return (ProtobufCBinaryData){ .data = memory_without_const(text), .len = strlen(text) };
}

/* protobuf-c packs into any object with an append function. */
struct gcs_message_writer {
	ProtobufCBuffer base;
	struct buf *bytes;
};

static void gcs_message_append(ProtobufCBuffer *buffer, size_t size, const uint8_t *data)
{
	struct gcs_message_writer *writer = (struct gcs_message_writer *)buffer;

	(void)buf_add(writer->bytes, data, size);
}

int gcs_message_pack(const ProtobufCMessage *message, struct buf *bytes)
{
	struct gcs_message_writer writer = { .base.append = gcs_message_append, .bytes = bytes };

	(void)protobuf_c_message_pack_to_buffer(message, &writer.base);
	return bytes->overflowed ? -1 : 0;
}
