/* The file form of a snapshot (docs/internals/snapshot.md), YAML or JSON, to and from struct snapshot.
 * Everything decoded lives in the arena, nothing points into text or tree. */
#ifndef CODEC_OBJECTS_SNAPSHOT_JSON_H
#define CODEC_OBJECTS_SNAPSHOT_JSON_H

#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "codec/schema/field.h"
#include "codec/text/json.h"
#include "core/model/snapshot.h"

#define SNAPSHOT_BYTES_MAX ((size_t)64 << 20)

extern const struct json_limits snapshot_limits;
/* Of struct snapshot. */
extern const struct field snapshot_fields[];

/* Text of a file: parse and decode. ERR_INPUT or ERR_LIMIT with the path of the field, or line and
 * column when the text itself is wrong. Unknown members at the top level and in `settings` are
 * errors. */
int snapshot_read(const char *text, size_t size, struct arena *arena, struct snapshot *ret_snapshot,
		  struct err *err);
/* After a decoded snapshot got another device table: features add theirs to it. */
void snapshot_table_changed(struct snapshot *snapshot, struct arena *arena);
/* A parsed tree; `path` is the prefix of the fields ("" or "snapshot"). */
int snapshot_decode(const struct cJSON *json, const char *path, struct arena *arena,
		    struct snapshot *ret_snapshot, struct err *err);

/* Members with the names of settings_rows, as in a snapshot; others keep their value. -1 with the
 * reader's error. */
int settings_json_decode(const struct json_at *at, struct settings *settings);

/* Pretty JSON and a line end; snapshot_read accepts it and the decision is the same, but for
 * amounts of a Ray node that were not numbers (written as 0). ERR_LIMIT at the buffer's ceiling.
 * Values that may be secret are left out: values of env, commands and args of containers other than
 * `autoscaler` (and in its own those after a flag or variable with such a name), annotations that
 * are neither ours nor Ray's, rayStartParams with the name of a password, token, secret or key, labels
 * of Nodes that no decision on the cluster reads. */
int snapshot_write(const struct snapshot *snapshot, struct buf *buf, struct err *err);

#endif
