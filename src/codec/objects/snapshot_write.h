/* struct snapshot to its file form, for `snapshot` and flight recording.
 * What may be secret is left out: values of env, commands and args of containers other than
 * `autoscaler` (and in its own what follows a flag or variable named so), annotations that are neither
 * ours nor Ray's, rayStartParams whose name tells of a password, token, secret or key. */
#ifndef CODEC_OBJECTS_SNAPSHOT_WRITE_H
#define CODEC_OBJECTS_SNAPSHOT_WRITE_H

#include "base/buf.h"
#include "base/err.h"
#include "core/model/snapshot.h"

/* Pretty JSON and a line end; snapshot_read takes it and it decides the same, but for amounts of a
 * Ray node that were no numbers (written as 0). ERR_LIMIT at the buffer's ceiling. */
int snapshot_write(const struct snapshot *snapshot, struct buf *buf, struct err *err);

#endif
