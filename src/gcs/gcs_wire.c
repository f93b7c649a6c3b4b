#include "gcs/gcs_wire.h"

#include <limits.h>
#include <string.h>

#define TAG_MAX_BYTES 5
#define LENGTH_MAX_BYTES 5
#define VARINT_MAX_BYTES 10

struct gcs_bytes gcs_bytes_of(const void *data, size_t size)
{
	static const unsigned char nothing[1];
	const unsigned char *at = size > 0 ? data : nothing;

	return (struct gcs_bytes){ .at = at, .end = at + size };
}

size_t gcs_bytes_size(const struct gcs_bytes *bytes)
{
	return (size_t)(bytes->end - bytes->at);
}

uint64_t gcs_wire_mix(uint64_t value)
{
	value ^= value >> 31;
	value *= UINT64_C(0x9e3779b97f4a7c15);
	value ^= value >> 29;
	value *= UINT64_C(0xbf58476d1ce4e5b9);
	return value ^ value >> 32;
}

uint64_t gcs_wire_hash(struct gcs_bytes bytes)
{
	uint64_t hash = gcs_bytes_size(&bytes), word;

	for (; gcs_bytes_size(&bytes) >= sizeof(word); bytes.at += sizeof(word)) {
		memcpy(&word, bytes.at, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x9fb21c651e98df25);
		hash ^= hash >> 35;
	}
	word = 0;
	if (bytes.at < bytes.end)
		memcpy(&word, bytes.at, gcs_bytes_size(&bytes));
	return gcs_wire_mix(hash ^ word);
}

static uint64_t gcs_varint(struct gcs_bytes *bytes, unsigned bytes_max)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes_max && bytes->at < bytes->end; i++) {
		unsigned char byte = *bytes->at++;

		value |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (!(byte & 0x80))
			return value;
	}
	bytes->bad = true;
	return 0;
}

static void gcs_skip(struct gcs_bytes *bytes, uint64_t size)
{
	if (size > gcs_bytes_size(bytes))
		bytes->bad = true;
	else
		bytes->at += size;
}

/* A field is a tag (field number << 3 | wire type) and a value by wire type: a varint, 4 or 8
 * bytes, or a length and as many bytes. gcs_varint and gcs_skip set `bad` at the end of the bytes.
 * For example, 12 02 41 42 is field 2, length-delimited, "AB". */
bool gcs_wire_next(struct gcs_bytes *bytes, struct gcs_field *ret)
{
	uint64_t size;

	if (bytes->bad || bytes->at == bytes->end)
		return false;
	ret->whole = *bytes;
	uint64_t tag = gcs_varint(bytes, TAG_MAX_BYTES);
	ret->number = (uint32_t)(tag >> 3);
	ret->wire = (enum gcs_wire)(tag & 7);
	if (ret->number == 0)
		bytes->bad = true;
	switch (ret->wire) {
	case GCS_WIRE_BYTES:
		size = gcs_varint(bytes, LENGTH_MAX_BYTES);
		if (size > INT_MAX)
			bytes->bad = true;
		ret->body = *bytes;
		gcs_skip(bytes, size);
		ret->body.end = bytes->at;
		break;
	case GCS_WIRE_VARINT:
		ret->value = gcs_varint(bytes, VARINT_MAX_BYTES);
		break;
	case GCS_WIRE_64:
		gcs_skip(bytes, 8);
		break;
	case GCS_WIRE_32:
		gcs_skip(bytes, 4);
		break;
	default: /* groups, which proto3 does not have */
		bytes->bad = true;
	}
	ret->whole.end = bytes->at;
	return !bytes->bad;
}

/* Only for the types that ray.proto uses at the levels that are walked here. */
static bool gcs_wire_fits(const ProtobufCFieldDescriptor *field, enum gcs_wire wire)
{
	bool is_bytes = field->type == PROTOBUF_C_TYPE_MESSAGE ||
			field->type == PROTOBUF_C_TYPE_STRING ||
			field->type == PROTOBUF_C_TYPE_BYTES;

	return wire == (is_bytes ? GCS_WIRE_BYTES : GCS_WIRE_VARINT);
}

const ProtobufCFieldDescriptor *gcs_wire_next_known(struct gcs_bytes *bytes,
						    const ProtobufCMessageDescriptor *message,
						    struct gcs_field *ret)
{
	while (gcs_wire_next(bytes, ret)) {
		const ProtobufCFieldDescriptor *field =
			protobuf_c_message_descriptor_get_field(message, ret->number);

		if (!field)
			continue;
		if (gcs_wire_fits(field, ret->wire))
			return field;
		bytes->bad = true;
	}
	return NULL;
}
