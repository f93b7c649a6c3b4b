/* Event (v1 and events.k8s.io/v1), JSON to struct event, and the Events of this program. A result lives in the arena. */
#ifndef CODEC_OBJECTS_EVENT_JSON_H
#define CODEC_OBJECTS_EVENT_JSON_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "codec/schema/field.h"
#include "core/model/kubernetes.h"

struct cJSON;

/* As pod_decode, but without problems (a time that does not parse is TIME_NONE) and the name may
 * be missing. */
int event_decode(const struct cJSON *json, const char *path, struct arena *arena,
		 struct event *ret_event, struct err *err);
/* Writing is for the snapshot file only. */
extern const struct field event_fields[];

/* ---- Events of this program ---- */

/* As JSON for the API server: core/v1, so that kubectl describe finds it under the object.
 * https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/ */
#define EVENT_COMPONENT "rayscaler"
#define EVENT_NAME_MAX 253
#define EVENT_BODY_MAX ((size_t)16 << 10)

/* The object that kubectl describe shows the Event under. */
struct event_object {
	const char *api_version, *kind, *namespace_, *name, *uid, *resource_version;
};

struct event_text {
	const char *name; /* of the Event: event_name */
	const char *reason, *message, *instance;
	bool warning;
	int64_t count;
	time_ms first, last;
};

/* "demo.18a3f2c00001": a valid name (DNS subdomain) however long the object's is, one for each
 * `id`. */
const char *event_name(struct arena *arena, const char *object, uint64_t id);

extern const struct field event_object_fields[];

/* About an object without a namespace it is in `default`, where kubectl describe finds it. */
void event_write_new(struct buf *buf, const struct event_object *about,
		     const struct event_text *event);
/* The merge patch for an existing Event: count, time and message. */
void event_write_repeat(struct buf *buf, const struct event_text *event);

#endif
