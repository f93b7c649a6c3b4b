#include "gcs/gcs_digest.h"

#include <stdbool.h>

#include "gcs/gcs_wire.h"

/* Numbers of fields in protobuf, as in src/gcs/ray.proto; that of node_state_version, which is not
 * read elsewhere, is in Ray's own autoscaler.proto. */
enum { REPLY_STATE = 1, STATE_VERSION = 1, STATE_LAST_SEEN = 2, STATE_NODES = 3 };
enum { NODE_VERSION = 7, NODE_IDLE = 9 };

/* Sums, because the order of fields must not matter. */

static uint64_t gcs_sum_node(struct gcs_bytes bytes, bool *ret_bad)
{
	struct gcs_field field;
	uint64_t sum = 0;

	while (gcs_wire_next(&bytes, &field))
		if (field.number != NODE_VERSION && field.number != NODE_IDLE)
			sum += gcs_wire_hash(field.whole);
	*ret_bad |= bytes.bad;
	return sum;
}

static uint64_t gcs_sum_state(struct gcs_bytes bytes, bool *ret_bad)
{
	struct gcs_field field;
	uint64_t sum = 0;

	while (gcs_wire_next(&bytes, &field)) {
		if (field.number == STATE_NODES && field.wire == GCS_WIRE_BYTES)
			sum += gcs_wire_mix(gcs_sum_node(field.body, ret_bad));
		else if (field.number != STATE_VERSION && field.number != STATE_LAST_SEEN)
			sum += gcs_wire_hash(field.whole);
	}
	*ret_bad |= bytes.bad;
	return sum;
}

uint64_t gcs_state_digest(const void *data, size_t size)
{
	const struct gcs_bytes all = gcs_bytes_of(data, size);
	struct gcs_bytes bytes = all;
	struct gcs_field field;
	uint64_t sum = 0;
	bool bad = false;

	while (gcs_wire_next(&bytes, &field))
		sum += field.number == REPLY_STATE && field.wire == GCS_WIRE_BYTES ?
			       gcs_wire_mix(gcs_sum_state(field.body, &bad)) :
			       gcs_wire_hash(field.whole);
	return bad || bytes.bad ? gcs_wire_hash(all) : sum;
}
