/* One key of a v1 Secret. The bytes live in the arena: reset it soon. Error texts never hold a
 * value of the Secret. */
#ifndef CODEC_OBJECTS_SECRET_JSON_H
#define CODEC_OBJECTS_SECRET_JSON_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

struct cJSON;

/* data[key] decoded, NUL after the bytes. ERR_NOT_FOUND without that key, ERR_INPUT for a wrong
 * type or text that is not base64. */
int secret_decode(const struct cJSON *json, const char *path, const char *key, struct arena *arena,
		  const char **ret_value, size_t *ret_size, struct err *err);

#endif
