/* Compares two GetClusterResourceStateReply messages without decoding them. Pure. */
#ifndef GCS_GCS_DIGEST_H
#define GCS_GCS_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* A digest of the reply's content, without the fields that change in each reply: the versions, and
 * idle_duration_ms, which grows with the clock. The order of nodes, and of the entries of their
 * maps, does not matter: Ray writes the same map in another order each time. For bytes that are not
 * such a message: a digest of the bytes. Not collision-resistant: two replies with one digest can
 * be forged. */
uint64_t gcs_state_digest(const void *data, size_t size);

#endif
