/* A Pod and a pod spec as JSON, for the snapshot file only: what was decoded and may be shown (see
 * codec/objects/snapshot_write). Must never be sent to an API server. */
#ifndef CODEC_OBJECTS_POD_WRITE_H
#define CODEC_OBJECTS_POD_WRITE_H

#include "codec/text/json_write.h"
#include "core/model/kubernetes.h"

void pod_write(struct json_writer *writer, const char *name, const struct pod *pod);
/* Writes ownerReferences also where there is none: a reader then goes by them. */
void pod_write_foreign(struct json_writer *writer, const char *name, const struct pod *pod);
void pod_write_spec(struct json_writer *writer, const char *name, const struct pod_spec *spec);

#endif
