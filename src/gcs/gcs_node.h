/* NodeState, protobuf bytes to struct ray_node. */
#ifndef GCS_GCS_NODE_H
#define GCS_GCS_NODE_H

#include "gcs/gcs_reader.h"

/* -1: the reader has failed. */
int gcs_node_read(struct gcs_reader *reader, struct gcs_bytes body, struct ray_node *ret);

#endif
