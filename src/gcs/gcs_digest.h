/* Whether one GetClusterResourceStateReply says the same as another, without decoding it. Pure. */
#ifndef GCS_GCS_DIGEST_H
#define GCS_GCS_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* A digest of what the reply says, without what changes by itself in each one: the versions, and
 * idle_duration_ms, which grows with the clock. The order of nodes, and of the entries of their maps,
 * does not matter: Ray writes the same map in another order each time. Of bytes that are no such
 * message: a digest of the bytes. Who wants to forge two replies with one digest can. */
uint64_t gcs_state_digest(const void *data, size_t size);

#endif
