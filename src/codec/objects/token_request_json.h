/* authentication.k8s.io/v1 TokenRequest: a short-lived token of a ServiceAccount. A token is never in
 * an error text. */
#ifndef CODEC_OBJECTS_TOKEN_REQUEST_JSON_H
#define CODEC_OBJECTS_TOKEN_REQUEST_JSON_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/time.h"

struct cJSON;

/* A request for a token that is valid for so many seconds (the API server: 600 and above). */
void token_request_write(int seconds, struct buf *buf);
/* The answer: the token in the arena, and its end, TIME_NONE when it is not given. ERR_INPUT with the
 * path. */
int token_request_decode(const struct cJSON *json, const char *path, struct arena *arena,
			 const char **ret_token, time_ms *ret_expires, struct err *err);

#endif
