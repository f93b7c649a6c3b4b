/* Messages of Ray in the proto3 JSON mapping, written from the structs of core/model/ray_state:
 * names in lowerCamelCase, defaults left out, int64 as strings, the doubles of a bundle as
 * received. */
#ifndef CODEC_OBJECTS_RAY_STATE_WRITE_H
#define CODEC_OBJECTS_RAY_STATE_WRITE_H

#include "base/arena.h"
#include "codec/text/json_write.h"
#include "core/model/ray_state.h"

/* `name` as in json_write: NULL inside an array and at the top. */
void ray_request_write(struct json_writer *writer, const char *name,
		       const struct ray_request *request);
/* Its resources alone: {"CPU": 1, "GPU": 0.5}. */
void ray_bundle_write(struct json_writer *writer, const char *name,
		      const struct ray_request *request);
void ray_gang_write(struct json_writer *writer, const char *name, const struct ray_gang *gang);
/* The arena is for the base64 of node ids. */
void ray_state_write(struct json_writer *writer, const char *name, const struct ray_state *state,
		     struct arena *arena);

#endif
