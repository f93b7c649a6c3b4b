/* A RayCluster as JSON, for the snapshot file only: decoded values that may be shown (see
 * codec/objects/snapshot_write). Must never be sent to an API server. */
#ifndef CODEC_OBJECTS_RAY_CLUSTER_WRITE_H
#define CODEC_OBJECTS_RAY_CLUSTER_WRITE_H

#include "codec/text/json_write.h"
#include "core/model/kubernetes.h"

void ray_cluster_write(struct json_writer *writer, const char *name,
		       const struct ray_cluster *cluster);

#endif
