/* JSON trees from untrusted bytes, read member by member with errors that contain the path. This
 * module is the only owner of cJSON (with codec/text/yaml, which builds the same trees); the caller
 * owns a tree and frees it with json_free. Values that are read are copied to the arena. Must not
 * be used to hold or send back a foreign object: decode and drop the tree.
 *
 * Missing, null and zero are three states: json_type distinguishes them. The typed readers treat
 * null as missing, as Kubernetes and proto3 do. Numbers are doubles: an integer beyond 2^53 is
 * refused by json_integer, because it may not be the number that was written.
 * The typed readers fail on JSON_MARK (json_limits.h) with the path; json_shown reads it for display. */
#ifndef CODEC_TEXT_JSON_H
#define CODEC_TEXT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "codec/text/json_limits.h"

struct cJSON;
struct positions;

#define JSON_INTEGER_MAX (INT64_C(1) << 53)

/* From now on parsed values are counted as base/memory's. Before the first thread is started. */
void json_count_memory(void);

/* Strict RFC 8259: one value, UTF-8 without NUL, numbers of at most 60 characters. ERR_INPUT with
 * line and column when the text is invalid, ERR_LIMIT above a limit. `text` needs no NUL. */
int json_parse(const char *text, size_t size, const struct json_limits *limits,
	       struct cJSON **ret_json, struct err *err);
/* As json_parse; records the position of each value, or of the error, when `positions` is not NULL
 * (codec/text/position). */
int json_parse_positions(const char *text, size_t size, const struct json_limits *limits,
			 struct positions *positions, struct cJSON **ret_json, struct err *err);
void json_free(struct cJSON *json);  /* NULL is fine */
void json_done(struct cJSON **json); /* for AUTO(json_done) */

enum json_type {
	JSON_MISSING = 0,
	JSON_NULL,
	JSON_BOOLEAN,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
	JSON_UNREADABLE, /* only with json_limits.foreign; also a value with such a name */
};

/* State of the readers: the arena of strings, the error, the problems that were found. */
struct json_reader {
	struct arena *arena;
	struct err *err;
	const char *failed_path;    /* of the error */
	VEC(const char *) problems; /* "path: what is wrong"; at most JSON_PROBLEMS_MAX */
	/* The proto3 JSON mapping (protobuf.dev/programming-guides/json), for codec/schema/field:
	 * a member has two names, and an integer may be a string. */
	bool proto;
};

#define JSON_PROBLEMS_MAX 100

/* A value and its path. Lives on the stack of the reader; the parent must outlive it. */
struct json_at {
	const struct cJSON *json;     /* NULL: missing */
	const struct json_at *parent; /* NULL: the root */
	const char *name; /* of the member; of the root the path so far; NULL: element `index` */
	size_t index;
	struct json_reader *reader;
};

/* `path` ("" or "rayCluster") starts every path; it must live as long as the value is read. */
struct json_at json_root(const struct cJSON *json, const char *path, struct json_reader *reader);
enum json_type json_type(const struct json_at *at);
/* Neither missing nor null. */
bool json_is_given(const struct json_at *at);
/* "missing", "null", "a string", "an object", ... */
const char *json_type_name(enum json_type type);
/* "spec.workerGroupSpecs[0].maxReplicas", in the arena. */
const char *json_path(const struct json_at *at);

/* Sets the reader's error to "PATH: text", kind ERR_INPUT; returns -1. */
int json_fail(const struct json_at *at, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
#ifdef __clang_analyzer__ /* see err_set */
#define json_fail(...) (json_fail(__VA_ARGS__), -1)
#endif
/* Right type, invalid value: records "PATH: text" in the reader's problems and continues. */
void json_problem(const struct json_at *at, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* 0 when the value has this type, else json_fail "must be a string, is a number". */
int json_expect(const struct json_at *at, enum json_type type);
/* As json_expect; 0 also when it is missing or null. */
int json_optional(const struct json_at *at, enum json_type type);

/* A member of an object; missing when it does not exist or `at` is not an object. Names are
 * case-sensitive; of duplicate names the first is used. */
struct json_at json_member(const struct json_at *at, const char *name);

/* Readers of one member of the object `at`: 0, or -1 with the path in the reader's error when the
 * type is wrong. For missing and null: text gives "", boolean false, array and object give a value
 * whose json is NULL; integer leaves *ret_value unchanged and clears *ret_has (may be
 * NULL). */
int json_text(const struct json_at *at, const char *name, const char **ret_value);
/* As json_text, for texts that are only displayed or compared: marks are read as U+FFFD. */
int json_shown(const struct json_at *at, const char *name, const char **ret_value);
int json_boolean(const struct json_at *at, const char *name, bool *ret_value);
int json_integer(const struct json_at *at, const char *name, bool *ret_has, int64_t *ret_value);
int json_array(const struct json_at *at, const char *name, struct json_at *ret_value);
int json_object(const struct json_at *at, const char *name, struct json_at *ret_value);

const char *json_text_value(const struct json_at *at); /* in the tree: copy what must last */
/* A copy in the arena, "" when it is not a string. */
const char *json_text_or_none(const struct json_at *at);
/* The string value of type JSON_UNREADABLE with its marks, "" when it is not a string. */
const char *json_unreadable_value(const struct json_at *at);
/* A copy in the arena, each run of marks as one U+FFFD; `text` is of a foreign tree. */
const char *json_shown_text(struct arena *arena, const char *text);
double json_number_value(const struct json_at *at);
bool json_boolean_value(const struct json_at *at);
/* 0, or -1 with the path: not a number, a fraction, or beyond 2^53. */
int json_integer_value(const struct json_at *at, int64_t *ret_value);

/* The elements of an array or the members of an object, in order:
 * for (struct json_at e = json_first(&list); e.json; json_next(&e)) ... */
struct json_at json_first(const struct json_at *at);
void json_next(struct json_at *at);
size_t json_count(const struct json_at *at);

/* The value as JSON text on one line, in the arena (for foreign members that are only
 * displayed). */
const char *json_print(const struct json_at *at);

#endif
