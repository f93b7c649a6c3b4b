/* One line of a Kubernetes WATCH stream, and the Status object that the API server sends for
 * failures. The object stays in the tree for the object decoders; texts are copied to the arena. */
#ifndef CODEC_OBJECTS_WATCH_JSON_H
#define CODEC_OBJECTS_WATCH_JSON_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct cJSON;
struct kube_decoded;

enum watch_type {
	WATCH_NONE = 0,
	WATCH_ADDED,
	WATCH_MODIFIED,
	WATCH_DELETED,
	WATCH_BOOKMARK, /* only resource_version counts */
	WATCH_ERROR,    /* only status counts */
};

/* metav1.Status */
struct api_status {
	int64_t code;                 /* HTTP code, 0 when absent */
	const char *reason, *message; /* "" when absent */
	int64_t retry_after_seconds;  /* details.retryAfterSeconds, 0 when absent */
};

struct watch_event {
	enum watch_type type;
	const struct cJSON *object;   /* borrowed from the tree */
	const char *resource_version; /* of the object; "" for WATCH_ERROR */
	struct api_status status;     /* of WATCH_ERROR */
	/* Set by kube_watch: why `object` is only a skeleton; NULL: it is whole, or decoded. */
	const char *problem;
	struct kube_decoded
		*decoded; /* the whole object, of which `object` is the skeleton; NULL: none */
};

/* ERR_INPUT when it is not a watch event (also for an unknown type). */
int watch_decode(const struct cJSON *json, struct arena *arena, struct watch_event *ret_event,
		 struct err *err);

/* ERR_INPUT when it is not a Status object. */
int api_status_decode(const struct cJSON *json, const char *path, struct arena *arena,
		      struct api_status *ret_status, struct err *err);
/* The error kind for an HTTP code: 401 and 403 ERR_DENIED, 404 ERR_NOT_FOUND, 409 ERR_CONFLICT,
 * 410 ERR_GONE, 422 ERR_CONFLICT (a failed JSON Patch test), 408, 429 and 5xx ERR_RETRY, else
 * ERR_INPUT. */
enum err_kind api_status_kind(int64_t code);

#endif
