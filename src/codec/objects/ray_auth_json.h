/* How Ray in a head Pod is secured: the variables of its first container, and the Secrets where their
 * values and files come from. Only values of Secrets can be found; a file on another volume is not.
 * Members of a wrong type count as missing: they do not make a Pod unreadable. */
#ifndef CODEC_OBJECTS_RAY_AUTH_JSON_H
#define CODEC_OBJECTS_RAY_AUTH_JSON_H

#include "base/arena.h"
#include "codec/text/json.h"
#include "core/model/kubernetes.h"

/* `spec` is that of a Pod. NULL: none of it is set. Lives in the reader's arena. */
const struct ray_auth *ray_auth_decode(const struct json_at *spec);

#endif
