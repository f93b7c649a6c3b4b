/* The file form of a snapshot (docs/SNAPSHOT.md), YAML or JSON, to struct snapshot.
 * Everything decoded lives in the arena, nothing points into text or tree. */
#ifndef CODEC_OBJECTS_SNAPSHOT_JSON_H
#define CODEC_OBJECTS_SNAPSHOT_JSON_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "codec/text/json.h"
#include "core/model/snapshot.h"

#define SNAPSHOT_BYTES_MAX ((size_t)64 << 20)
#define SNAPSHOT_API_VERSION "rayscaler.dev/v1alpha1"

extern const struct json_limits snapshot_limits;

/* Text of a file: parse and decode. ERR_INPUT or ERR_LIMIT with the path of the field, or line and
 * column when the text itself is wrong. Unknown members at the top level and in `settings` are
 * errors. */
int snapshot_read(const char *text, size_t size, struct arena *arena, struct snapshot *ret_snapshot,
		  struct err *err);
/* A parsed tree; `path` is the prefix of the fields ("" or "snapshot"). */
int snapshot_decode(const struct cJSON *json, const char *path, struct arena *arena,
		    struct snapshot *ret_snapshot, struct err *err);

#endif
