/* The answers that `record` has had about one RayCluster: its work and the starts of its Pods. Owned by the
 * caller; no I/O. */
#ifndef FEATURE_RECORD_CLI_RECORDER_H
#define FEATURE_RECORD_CLI_RECORDER_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "core/model/snapshot.h"
#include "feature/record/core/ray_work.h"

struct recorder;

/* since_ms: how long before the first answer the recording begins. */
struct recorder *recorder_new(int64_t since_ms);
void recorder_free(struct recorder *recorder); /* NULL is fine */

/* Adds an answer of /work and the snapshot beside it. Everything is copied. */
void recorder_add(struct recorder *recorder, const struct snapshot *snapshot,
		  const struct ray_work_page *page);

/* The file with the objects of the last snapshot, and lines about it for the user. Call recorder_add
 * before. ERR_LIMIT: it is too large. */
int recorder_write(const struct recorder *recorder, const struct snapshot *snapshot,
		   struct buf *file, struct buf *summary, struct err *err);

#endif
