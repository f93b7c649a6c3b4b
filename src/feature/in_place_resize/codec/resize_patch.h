/* The two patches of a Pod that is resized. Pure. */
#ifndef FEATURE_IN_PLACE_RESIZE_CODEC_RESIZE_PATCH_H
#define FEATURE_IN_PLACE_RESIZE_CODEC_RESIZE_PATCH_H

#include "base/arena.h"
#include "core/model/plan.h"

/* A merge patch with the Pod's uid, and its resourceVersion unless that is "":
 * ANNOTATION_RESIZE_STATUS as Ray writes it, from resize->status, with the size that is wanted. */
const char *resize_record_body(const struct plan_resize *resize, struct arena *arena);
/* A JSON Patch of the subresource `resize` with a `test` of uid and container, as Ray's
 * _make_ippr_patch: the limits are resize->wanted, the requests keep their distance from them. CPU is
 * rounded up to 1/1000, memory to bytes. */
const char *resize_patch_body(const struct plan_resize *resize, struct arena *arena);

#endif
