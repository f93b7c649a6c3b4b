/* A small writer of JSON text with stable bytes: the caller determines the order, the same calls
 * give the same text. Writes into a struct buf of the caller; its ceiling is checked at the end.
 * Must not be used to build text that is parsed again in the same process. */
#ifndef CODEC_TEXT_JSON_WRITE_H
#define CODEC_TEXT_JSON_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/time.h"

struct json_at;

enum json_style {
	JSON_STYLE_PRETTY = 0, /* one member per line, two spaces per level */
	JSON_STYLE_LINE,       /* {"op": "add", "value": 2} on one line */
};

#define JSON_WRITE_DEPTH_MAX 64

struct json_writer {
	struct buf *buf;
	unsigned depth;
	bool line[JSON_WRITE_DEPTH_MAX];   /* this level is written on one line */
	bool filled[JSON_WRITE_DEPTH_MAX]; /* this level has a member already */
};

void json_write_init(struct json_writer *writer, struct buf *buf, enum json_style style);

/* `name` is the member's name inside an object, NULL inside an array and at the top.
 * The _line forms keep everything inside on one line. Empty ones are {} and []. */
void json_write_object(struct json_writer *writer, const char *name);
void json_write_object_line(struct json_writer *writer, const char *name);
void json_write_object_end(struct json_writer *writer);
void json_write_array(struct json_writer *writer, const char *name);
void json_write_array_line(struct json_writer *writer, const char *name);
void json_write_array_end(struct json_writer *writer);

/* Bytes that are not UTF-8 become U+FFFD, so that the output is always JSON. */
void json_write_text(struct json_writer *writer, const char *name, const char *text);
/* Several members: JSON_WRITE_TEXTS(&writer, { "kind", kind }, { "name", name }). */
#define JSON_WRITE_TEXTS(writer, ...)                                                              \
	json_write_texts((writer), (const struct json_text[]){ __VA_ARGS__, { .name = NULL } })
struct json_text {
	const char *name, *text;
};
void json_write_texts(struct json_writer *writer, const struct json_text *texts);
/* The same as an object on one line. */
#define JSON_WRITE_TEXTS_LINE(writer, member, ...)                                                 \
	json_write_texts_line((writer), (member),                                                  \
			      (const struct json_text[]){ __VA_ARGS__, { .name = NULL } })
void json_write_texts_line(struct json_writer *writer, const char *name,
			   const struct json_text *texts);
void json_write_integer(struct json_writer *writer, const char *name, int64_t value);
void json_write_boolean(struct json_writer *writer, const char *name, bool value);
void json_write_null(struct json_writer *writer, const char *name);
/* Shortest form that reads back the same; "NaN", "Infinity", "-Infinity" as strings (proto3). */
void json_write_double(struct json_writer *writer, const char *name, double value);
/* 1/10000 units as a decimal number: 15000 is 1.5. */
void json_write_amount(struct json_writer *writer, const char *name, int64_t amount);
/* RFC 3339; null for TIME_NONE. */
void json_write_time(struct json_writer *writer, const char *name, time_ms time);
/* A value that is JSON text already (json_print). */
void json_write_raw(struct json_writer *writer, const char *name, const char *json);

/* A value that was read. Objects and arrays without further ones inside are on one line. */
void json_write_tree(struct json_writer *writer, const char *name, const struct json_at *at);

#endif
