/* Protobuf on the wire: the fields of one message, cut from its bytes without copying and without
 * decoding their content. The generated descriptor maps numbers to fields, so there is no second
 * table of fields. Accepts the same messages as protobuf-c. Pure. */
#ifndef GCS_GCS_WIRE_H
#define GCS_GCS_WIRE_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gcs_wire { GCS_WIRE_VARINT = 0, GCS_WIRE_64 = 1, GCS_WIRE_BYTES = 2, GCS_WIRE_32 = 5 };

/* A message, or its unread rest; `at` moves while it is read. */
struct gcs_bytes {
	const unsigned char *at, *end;
	bool bad; /* not a message of protobuf; reading ends here */
};

struct gcs_field {
	uint32_t number;
	enum gcs_wire wire;
	uint64_t value;         /* of GCS_WIRE_VARINT */
	struct gcs_bytes body;  /* of GCS_WIRE_BYTES */
	struct gcs_bytes whole; /* with its tag and its length */
};

struct gcs_bytes gcs_bytes_of(const void *data, size_t size); /* data may be NULL when size is 0 */
size_t gcs_bytes_size(const struct gcs_bytes *bytes);         /* unread */

/* The next field. False at the end, and for an invalid field: then bytes->bad is set. */
bool gcs_wire_next(struct gcs_bytes *bytes, struct gcs_field *ret);

/* The next field that the message has, unknown ones skipped; NULL at the end. A known field of
 * another wire type makes the message bad, as in protobuf-c. Compare the `offset` of the result
 * with offsetof(). */
const ProtobufCFieldDescriptor *gcs_wire_next_known(struct gcs_bytes *bytes,
						    const ProtobufCMessageDescriptor *message,
						    struct gcs_field *ret);

/* Not collision-resistant: two byte strings with one hash can be forged. */
uint64_t gcs_wire_hash(struct gcs_bytes bytes);
uint64_t gcs_wire_mix(uint64_t value);

#endif
