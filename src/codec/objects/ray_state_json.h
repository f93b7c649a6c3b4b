/* ray.rpc.autoscaler.ClusterResourceState in the proto3 JSON mapping, to the structs of
 * core/model/ray_state. Results live in the arena and back. The protobuf form is in gcs. */
#ifndef CODEC_OBJECTS_RAY_STATE_JSON_H
#define CODEC_OBJECTS_RAY_STATE_JSON_H

#include "base/arena.h"
#include "codec/schema/field.h"
#include "core/model/ray_state.h"

/* Sets a request's bundle: amounts and the first problem from the received doubles; sorts the
 * entries by name; of equal names the last is kept. Shared with gcs. Reorders `entries`. */
void ray_request_set_bundle(struct ray_request *request, struct bundle_entry *entries, size_t count,
			    struct arena *arena);

extern const struct field ray_request_fields[]; /* of struct ray_request */
/* Written in lowerCamelCase, defaults omitted, int64 as strings, the doubles of a bundle as received.
 * `name` as in json_write: NULL inside an array and at the top. */
void ray_request_write(struct json_writer *writer, const char *name,
		       const struct ray_request *request);
/* Its resources alone: {"CPU": 1, "GPU": 0.5}. */
void ray_bundle_write(struct json_writer *writer, const char *name,
		      const struct ray_request *request);
void ray_gang_write(struct json_writer *writer, const char *name, const struct ray_gang *gang);
/* lowerCamelCase and snake_case names (FIELD_PROTO), int64 as number or string, enums as names or
 * numbers, bytes in base64, doubles also as "NaN", "Infinity", "-Infinity". Unknown members are
 * ignored. Wrong JSON type: ERR_INPUT with the path; bad value: a problem, also of the request. */
extern const struct field ray_state_fields[];

#endif
