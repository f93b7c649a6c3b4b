/* A plan as text for people: the groups with current and target replicas and the reason, the
 * workers to terminate, the demand that was not placed. The form may change; programs read the JSON
 * (codec/objects/plan_json). */
#ifndef CODEC_OBJECTS_PLAN_TEXT_H
#define CODEC_OBJECTS_PLAN_TEXT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/model/plan.h"

/* Control characters in names and messages become "?". `debug` adds the placements. ERR_LIMIT at
 * the buffer's ceiling. */
int plan_text_write(const struct plan *plan, bool debug, struct buf *buf, struct err *err);

/* Its first line, "RayCluster namespace/name". */
void plan_text_cluster(struct buf *buf, const char *namespace_, const char *name);
/* Parts of it, for `explain`; each starts with an empty line and is omitted when it is empty. */
void plan_text_groups(struct buf *buf, const struct plan *plan);
void plan_text_schedules(struct buf *buf, const struct plan *plan);
void plan_text_workers(struct buf *buf, const struct plan *plan);
void plan_text_conditions(struct buf *buf, const struct plan *plan);
void plan_text_demands(struct buf *buf, const char *title, const struct plan_demand *demands,
		       size_t count);
/* "{CPU: 1, GPU: 0.5}" */
void plan_text_bundle(struct buf *buf, const struct ray_request *request);
/* "5 bundles {CPU: 1} {CPU: 1} ..." */
void plan_text_gang(struct buf *buf, const struct ray_gang *gang);

#endif
