/* Event (v1 and events.k8s.io/v1), JSON to struct event. The result lives in the arena. */
#ifndef CODEC_OBJECTS_EVENT_JSON_H
#define CODEC_OBJECTS_EVENT_JSON_H

#include "base/arena.h"
#include "base/err.h"
#include "codec/objects/field.h"
#include "core/model/kubernetes.h"

struct cJSON;

/* As pod_decode, but without problems (a time that does not parse is TIME_NONE) and the name may
 * be missing. */
int event_decode(const struct cJSON *json, const char *path, struct arena *arena,
		 struct event *ret_event, struct err *err);
/* Writing is for the snapshot file only. */
extern const struct field event_fields[];

#endif
