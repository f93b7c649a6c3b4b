/* The annotation ANNOTATION_PROTECTED of a Pod: "2026-11-20T10:00:00Z " and the keys that this program
 * has set, or "ended" for none, when the protection has ended before the work. Pure. */
#ifndef FEATURE_PROTECT_BUSY_PODS_CORE_PROTECT_RECORD_H
#define FEATURE_PROTECT_BUSY_PODS_CORE_PROTECT_RECORD_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/time.h"
#include "core/model/kubernetes.h"
#include "feature/protect_busy_pods/model/protect_busy_pods.h"

struct protect_record {
	time_ms since; /* 0 when it cannot be read */
	bool keys[PROTECT_ANNOTATION_COUNT];
};

const char *protect_key(enum protect_annotation annotation);
const char *protect_value(enum protect_annotation annotation);
bool protect_record_ended(const struct protect_record *record);
/* false: the Pod has none. */
bool protect_record_of(const struct pod *pod, struct protect_record *ret_record);
const char *protect_record_text(const struct protect_record *record, struct arena *arena);

#endif
