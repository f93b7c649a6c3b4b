/* ReportClusterConfig: the shape of a RayCluster to its GCS, which keeps the bytes in its key-value store
 * (ray: gcs_autoscaler_state_manager.cc, HandleReportClusterConfig). */
#ifndef FEATURE_REQUESTS_GCS_CLUSTER_SHAPE_CALL_H
#define FEATURE_REQUESTS_GCS_CLUSTER_SHAPE_CALL_H

#include "base/buf.h"
#include "feature/requests/core/cluster_shape.h"
#include "gcs/gcs_client.h"

/* Of the bytes of a message; a RayCluster has at most 1.5 MiB. */
#define CLUSTER_SHAPE_BYTES_MAX ((size_t)4 << 20)

/* Appends the bytes of ReportClusterConfigRequest; equal shapes have equal bytes. -1 above the buffer's ceiling. */
int cluster_shape_write(const struct cluster_shape *shape, struct buf *bytes);
/* Copies the bytes. The reply has no member of its own. ERR_NOT_FOUND: this Ray has no such method. */
struct gcs_call *cluster_shape_send(struct gcs_client *client, int64_t timeout_ms,
				    const struct buf *bytes, gcs_done *done, void *context);

#endif
