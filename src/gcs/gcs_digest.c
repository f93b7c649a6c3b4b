#include "gcs/gcs_digest.h"

#include <stdbool.h>
#include <string.h>

/* Forms and numbers of fields in protobuf; the numbers are those of src/gcs/ray.proto, and in Ray's own
 * autoscaler.proto that of node_state_version, which is read nowhere else. */
enum gcs_wire { GCS_WIRE_VARINT = 0, GCS_WIRE_64 = 1, GCS_WIRE_BYTES = 2, GCS_WIRE_32 = 5 };
enum { REPLY_STATE = 1, STATE_VERSION = 1, STATE_LAST_SEEN = 2, STATE_NODES = 3 };
enum { NODE_VERSION = 7, NODE_IDLE = 9 };

struct gcs_bytes {
	const unsigned char *at, *end;
	bool bad; /* no message of protobuf */
};

struct gcs_field {
	uint64_t number, wire;
	struct gcs_bytes whole; /* with its tag and its length */
	struct gcs_bytes body;  /* of GCS_WIRE_BYTES */
};

static uint64_t gcs_mix(uint64_t value)
{
	value ^= value >> 31;
	value *= UINT64_C(0x9e3779b97f4a7c15);
	value ^= value >> 29;
	value *= UINT64_C(0xbf58476d1ce4e5b9);
	return value ^ value >> 32;
}

static uint64_t gcs_hash(struct gcs_bytes bytes)
{
	uint64_t hash = (uint64_t)(bytes.end - bytes.at), word;

	for (; bytes.end - bytes.at >= (ptrdiff_t)sizeof(word); bytes.at += sizeof(word)) {
		memcpy(&word, bytes.at, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x9fb21c651e98df25);
		hash ^= hash >> 35;
	}
	word = 0;
	if (bytes.at < bytes.end)
		memcpy(&word, bytes.at, (size_t)(bytes.end - bytes.at));
	return gcs_mix(hash ^ word);
}

static uint64_t gcs_varint(struct gcs_bytes *bytes)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64 && bytes->at < bytes->end; shift += 7) {
		unsigned char byte = *bytes->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	bytes->bad = true;
	return 0;
}

static void gcs_skip(struct gcs_bytes *bytes, uint64_t size)
{
	if (size > (uint64_t)(bytes->end - bytes->at))
		bytes->bad = true;
	else
		bytes->at += size;
}

/* False at the end, and when there is no field. */
static bool gcs_next(struct gcs_bytes *bytes, struct gcs_field *ret)
{
	uint64_t tag;

	if (bytes->bad || bytes->at == bytes->end)
		return false;
	ret->whole = *bytes;
	tag = gcs_varint(bytes);
	ret->number = tag >> 3;
	ret->wire = tag & 7;
	if (ret->wire == GCS_WIRE_BYTES) {
		uint64_t size = gcs_varint(bytes);

		ret->body = *bytes;
		gcs_skip(bytes, size);
		ret->body.end = bytes->at;
	} else if (ret->wire == GCS_WIRE_VARINT) {
		(void)gcs_varint(bytes);
	} else if (ret->wire == GCS_WIRE_64 || ret->wire == GCS_WIRE_32) {
		gcs_skip(bytes, ret->wire == GCS_WIRE_64 ? 8 : 4);
	} else {
		bytes->bad = true;
	}
	ret->whole.end = bytes->at;
	return !bytes->bad;
}

/* Sums, because the order of fields must not matter. */

static uint64_t gcs_sum_node(struct gcs_bytes bytes, bool *ret_bad)
{
	struct gcs_field field;
	uint64_t sum = 0;

	while (gcs_next(&bytes, &field))
		if (field.number != NODE_VERSION && field.number != NODE_IDLE)
			sum += gcs_hash(field.whole);
	*ret_bad |= bytes.bad;
	return sum;
}

static uint64_t gcs_sum_state(struct gcs_bytes bytes, bool *ret_bad)
{
	struct gcs_field field;
	uint64_t sum = 0;

	while (gcs_next(&bytes, &field)) {
		if (field.number == STATE_NODES && field.wire == GCS_WIRE_BYTES)
			sum += gcs_mix(gcs_sum_node(field.body, ret_bad));
		else if (field.number != STATE_VERSION && field.number != STATE_LAST_SEEN)
			sum += gcs_hash(field.whole);
	}
	*ret_bad |= bytes.bad;
	return sum;
}

uint64_t gcs_state_digest(const void *data, size_t size)
{
	static const unsigned char nothing[1];
	struct gcs_bytes all = { .at = size > 0 ? data : nothing }, bytes;
	struct gcs_field field;
	uint64_t sum = 0;
	bool bad = false;

	all.end = all.at + size;
	bytes = all;
	while (gcs_next(&bytes, &field))
		sum += field.number == REPLY_STATE && field.wire == GCS_WIRE_BYTES ?
			       gcs_mix(gcs_sum_state(field.body, &bad)) :
			       gcs_hash(field.whole);
	return bad || bytes.bad ? gcs_hash(all) : sum;
}
