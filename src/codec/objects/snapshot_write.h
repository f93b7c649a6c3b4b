/* struct snapshot to its file form, for `snapshot` and flight recording. Values that may be secret
 * are left out: values of env, commands and args of containers other than `autoscaler` (and in its
 * own those after a flag or variable with such a name), annotations that are neither ours nor
 * Ray's, rayStartParams with the name of a password, token, secret or key. */
#ifndef CODEC_OBJECTS_SNAPSHOT_WRITE_H
#define CODEC_OBJECTS_SNAPSHOT_WRITE_H

#include "base/buf.h"
#include "base/err.h"
#include "core/model/snapshot.h"

/* Pretty JSON and a line end; snapshot_read accepts it and the decision is the same, but for
 * amounts of a Ray node that were not numbers (written as 0). ERR_LIMIT at the buffer's ceiling. */
int snapshot_write(const struct snapshot *snapshot, struct buf *buf, struct err *err);

#endif
