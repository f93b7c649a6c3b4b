/* Reads and writes objects by the tables of core/model/field.h. field_decode_all reads
 * JSON into the struct, field_write_all writes it for the snapshot file, lint
 * checks the types of the members that the rows name.
 *
 * Reading: missing and null give the zero value ("" for texts, TIME_NONE), an integer and a member
 * without a row keep the value of the struct. A wrong JSON type is an error with the path.
 * Writing: a member with the zero value is omitted (an OBJECT: if all of its members are) unless
 * it has FIELD_ALWAYS or `has` is true. With FIELD_ALWAYS one that is not given is null: a NULL
 * POINTER or TEXT, an empty LIST with FIELD_NULLABLE, `has` that is false, TIME_NONE.
 *
 * Exceptions are hooks. `check` has a condition on a value. `read` and `write` replace the engine
 * for one row and may call field_decode
 * and field_write_value for the usual part. `member` may be missing or null, and member->parent is the
 * object around it: of an element of a list member->parent->index is its index, and earlier elements
 * are before `object` in memory. */
#ifndef CODEC_SCHEMA_FIELD_H
#define CODEC_SCHEMA_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "codec/text/json.h"
#include "codec/text/json_write.h"
#include "core/model/field.h"
#include "core/model/kubernetes.h"

/* Not a member of a Kubernetes object: why it could not be read, in the file form. */
#define OBJECT_UNREADABLE "unreadable"
/* Kubernetes allows no longer name, for any kind. */
#define OBJECT_NAME_SIZE_MAX 253

/* Reads the members of `at`, an object or missing. 0, or -1 with the reader's error. */
int field_decode_all(const struct json_at *at, const struct field *fields, void *object);
/* The row of this name; NULL: there is none. */
const struct field *field_find(const struct field *fields, const char *name);
/* Fails when `at` is not an object, and on a member without a row. `what`: "a Snapshot". */
int field_check_names(const struct json_at *at, const struct field *fields, const char *what);
/* One member, without its hook. */
int field_decode(const struct json_at *member, const struct field *field, void *object);
/* Checks. An INTEGER with `has`: a negative one is a problem and counts as not given. */
/* The `schema` of upscalingMode in a RayCluster and a RayClusterAutoscaler. */
#define UPSCALING_MODES "enum: [Default, Aggressive, Conservative]"
/* A text that is none of the words of the row's `schema`, "enum: [A, B]", is a problem and counts as not given. */
int field_check_enum(const struct json_at *member, const struct field *field, void *object);
int field_check_not_negative(const struct json_at *member, const struct field *field, void *object);
/* A hook of a TEXT: the groupName of a group of the object's own list; "" is a problem of the object. */
int field_group_name_decode(const struct json_at *member, const struct field *field, void *object);
/* A NAME of an element, whose size is `size`: fails when an earlier element has it as well. */
int field_check_unique(const struct json_at *member, const struct field *field, void *object);

/* A whole object from the root of a tree: every decoder of an object begins with it. Of the row count
 * `members`, `size`, `initial` and `problems`. The object is unchanged when it fails. */
int field_decode_object(const struct cJSON *json, const char *path, const struct field *row,
			struct arena *arena, void *ret_object, struct err *err);
#define FIELD_WHOLE(T, fields, ...)                                                                \
	(&(const struct field){ .size = sizeof(T), .members = (fields), __VA_ARGS__ })
#define FIELD_PROBLEMS(T) .problems = offsetof(T, problems)
/* Member by member: one that cannot be read keeps its value. True: all could be read. */
bool field_decode_each(const struct json_at *at, const struct field *fields, void *object,
		       size_t size);

/* Writes `object` as the member `name`. */
void field_write_object(struct json_writer *writer, const char *name, const struct field *fields,
			const void *object);
/* The same on one line, as an element of the array that is open. */
void field_write_line(struct json_writer *writer, const struct field *fields, const void *object);
/* The members into the object that is open. */
void field_write_all(struct json_writer *writer, const struct field *fields, const void *object);
/* The object as a whole text on several lines. The buffer's ceiling is checked by the caller. */
void field_write_page(const struct field *fields, const void *object, struct buf *buf);
/* The object as text on one line, in the arena. The table bounds each part. */
const char *field_text(const struct field *fields, const void *object, struct arena *arena);
/* One member, whatever its value, without its hook. */
void field_write_value(struct json_writer *writer, const struct field *field, const void *object);
/* An array on one line. */
void field_write_texts(struct json_writer *writer, const char *name, const struct strings *texts);

/* ---- parts of all objects ---- */

extern const struct field condition_fields[]; /* of struct condition */
/* A member that is text, "" when it is missing or has another type: for values that only identify
 * an object, and for objects that cannot be read as a whole. */
const char *object_text_or_none(const struct json_at *at, const char *name);

#endif
