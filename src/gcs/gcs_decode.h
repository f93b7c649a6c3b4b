/* Where a reply that may be large is decoded: on the loop, or on a thread of the pool. Internal to gcs. */
#ifndef GCS_GCS_DECODE_H
#define GCS_GCS_DECODE_H

#include "gcs/gcs_call.h"

/* The gcs_call_read of GetClusterResourceState, of the lists of gcs_list and of calls with a gcs_call_decode: takes the
 * reply's bytes and decodes them into the arena of the call, which it empties first, and ends the call then: now for a small reply, else on a later turn of the loop, after a thread of the pool
 * has decoded it. */
void gcs_decode(struct gcs_call *call, const void *message, size_t size);

#endif
