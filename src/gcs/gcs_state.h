/* GetClusterResourceStateReply, protobuf bytes to struct ray_state. Pure; any thread; the same
 * rules as the JSON form (codec/objects/ray_state_json), so that a live reply and its file give the
 * same decision. The result lives in the arena and shares no memory with the bytes.
 *
 * Code in a Ray cluster may forge the reply, so everything in it has a limit. A reply above one is
 * refused as a whole, at the first byte above it: ERR_LIMIT with field, figure and limit. Then the
 * state of this cluster's Ray is unknown, and none of its workers is terminated. The limits are for
 * 10,000 workers with 100,000 pending tasks, with room. */
#ifndef GCS_GCS_STATE_H
#define GCS_GCS_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/model/ray_state.h"

struct work_job;

/* 10,000 workers, as many that died (a GCS keeps 1,000 of those), and the head. */
#define GCS_STATE_NODES_MAX ((size_t)20001)
/* Of one node, as bytes. Ray's own have 1 to 2 KB. */
#define GCS_STATE_NODE_BYTES_MAX ((size_t)1 << 20)
/* Each of total and available. A placement group adds about 4 to its nodes. */
#define GCS_STATE_NODE_RESOURCES_MAX ((size_t)4096)
/* Each of labels and dynamic labels. A placement group adds 1. */
#define GCS_STATE_NODE_LABELS_MAX ((size_t)4096)
#define GCS_STATE_NODE_ACTIVITY_MAX ((size_t)4096)
#define GCS_STATE_NODE_ID_MAX_BYTES ((size_t)64) /* Ray's have 28 */
/* Entries of pending_resource_requests, and of one constraint. A GCS groups equal tasks, so this is
 * 100,000 distinct tasks. */
#define GCS_STATE_REQUESTS_MAX ((size_t)100000)
/* Requests with distinct bytes, in tasks, constraints and gangs together. */
#define GCS_STATE_SHAPES_MAX ((size_t)100000)
/* Of one request, as bytes. */
#define GCS_STATE_REQUEST_BYTES_MAX ((size_t)64 << 10)
#define GCS_STATE_BUNDLE_RESOURCES_MAX ((size_t)1000) /* of one request */
/* request_resources() is one constraint. In one request: selectors (fallbacks), constraints of a
 * selector, values of one of these, placement constraints. */
#define GCS_STATE_CONSTRAINTS_MAX ((size_t)1000)
/* Placement groups; a GCS sends 1,000 at most (RAY_max_placement_group_load_report_size). */
#define GCS_STATE_GANGS_MAX ((size_t)10000)
#define GCS_STATE_GANG_CHOICES_MAX ((size_t)1000)
/* A bundle on each of 10,000 workers. */
#define GCS_STATE_GANG_BUNDLES_MAX ((size_t)10000)
/* Ray sends each bundle in two forms, and both count. */
#define GCS_STATE_BUNDLES_MAX ((size_t)200000)

/* ERR_INPUT: not this message. ERR_LIMIT: above a limit. An invalid amount (NaN, infinite,
 * negative, too large) is a problem of its node or request and of the state, never an error.
 * job: NULL, or that of a thread of the pool: ends soon after it was cancelled, with ERR_RETRY. */
int gcs_state_decode(const void *data, size_t size, const struct work_job *job, struct arena *arena,
		     struct ray_state *ret_state, struct err *err);

/* A digest of the reply's content, without the fields that change in each reply: the versions, and
 * idle_duration_ms, which grows with the clock. The order of nodes, and of the entries of their
 * maps, does not matter: Ray writes the same map in another order each time. For bytes that are not
 * such a message: a digest of the bytes. Not collision-resistant: two replies with one digest can
 * be forged. */
uint64_t gcs_state_digest(const void *data, size_t size);

#endif
