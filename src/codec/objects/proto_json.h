/* Reading the proto3 JSON mapping (https://protobuf.dev/programming-guides/json/) with
 * codec/text/json: a field has two names, int64 may be a string, enums are names or numbers, bytes
 * are base64. Used by the decoders of Ray's messages only; results live in the reader's arena. */
#ifndef CODEC_OBJECTS_PROTO_JSON_H
#define CODEC_OBJECTS_PROTO_JSON_H

#include "codec/text/json.h"
#include "core/model/kubernetes.h"

struct proto_enum {
	const char *name;
	int32_t number;
};

/* All accept the lowerCamelCase name and the original one; both at once is an error. Missing and
 * null give "", 0 or a value whose json is NULL. */
int proto_text(const struct json_at *at, const char *camel, const char *snake,
	       const char **ret_value);
int proto_int64(const struct json_at *at, const char *camel, const char *snake, int64_t *ret_value);
/* A name that is not in the table (ended by a NULL name) is a problem and gives -1. */
int proto_enum(const struct json_at *at, const char *camel, const char *snake,
	       const struct proto_enum *table, int32_t *ret_number);
/* Lower-case hex; text that is not base64 is a problem and gives "". */
int proto_bytes_hex(const struct json_at *at, const char *camel, const char *snake,
		    const char **ret_hex);
int proto_array(const struct json_at *at, const char *camel, const char *snake,
		struct json_at *ret_value);
int proto_object(const struct json_at *at, const char *camel, const char *snake,
		 struct json_at *ret_value);
int proto_strings(const struct json_at *at, const char *camel, const char *snake,
		  struct strings *ret_strings);
/* map<string, string> */
int proto_labels(const struct json_at *at, const char *camel, const char *snake,
		 struct labels *ret_labels);

/* The value itself as a double: a number, or a string of one ("NaN", "Infinity", "1.5"). */
int proto_double_value(const struct json_at *at, double *ret_value);

#endif
