/* A Pod and a pod spec as JSON, for the snapshot file only: decoded values that may be shown (see
 * codec/objects/snapshot_write). Must never be sent to an API server. */
#ifndef CODEC_OBJECTS_POD_WRITE_H
#define CODEC_OBJECTS_POD_WRITE_H

#include "codec/text/json_write.h"
#include "core/model/kubernetes.h"

void pod_write(struct json_writer *writer, const char *name, const struct pod *pod);
/* Writes an empty ownerReferences for a Pod without owners: a reader then uses owner references. */
void pod_write_foreign(struct json_writer *writer, const char *name, const struct pod *pod);
void pod_write_spec(struct json_writer *writer, const char *name, const struct pod_spec *spec);

#endif
