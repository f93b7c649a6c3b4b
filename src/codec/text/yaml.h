/* YAML to the same trees as codec/text/json, read as kubectl reads it: a quoted scalar is a string; plain
 * true, yes, null, 12, 0x1f, 1.5, .inf have their types (codec/text/yaml_scalar.h); "<<" merges a mapping,
 * or a list of them, into its own, whose members win. The caller owns the tree (json_free). Tags other
 * than the core ones are refused. Member names that are plain numbers or booleans are read as their
 * text. With positions, a number or boolean keeps its text as `valuestring`. */
#ifndef CODEC_TEXT_YAML_H
#define CODEC_TEXT_YAML_H

#include <stddef.h>

#include "codec/text/json.h"
#include "codec/text/position.h"

/* Errors name line and column: ERR_INPUT for invalid text, a second document, a duplicate member
 * name; ERR_LIMIT for depth, elements or bytes, counted after aliases are expanded. */
int yaml_parse(const char *text, size_t size, const struct json_limits *limits,
	       struct cJSON **ret_json, struct err *err);

/* JSON when the text begins with { or [ and is JSON, else YAML. */
int yaml_or_json_parse(const char *text, size_t size, const struct json_limits *limits,
		       struct cJSON **ret_json, struct err *err);

/* The documents of one text, one after another. `text` must live as long; the caller frees. */
struct yaml_stream;
struct yaml_stream *yaml_stream_new(const char *text, size_t size,
				    const struct json_limits *limits);
void yaml_stream_free(struct yaml_stream *stream); /* NULL is fine */
/* 1: *ret_json is the next document; 0: there is none (any more); -1 as yaml_parse. After 0 and -1
 * it must not be called again: text after an error cannot be read. limits->bytes is of the text,
 * and of the strings of one document; the other limits are of one document. `positions` (NULL: not
 * recorded) gets the positions of its values, or of the error (codec/text/position). */
int yaml_stream_next(struct yaml_stream *stream, struct positions *positions,
		     struct cJSON **ret_json, struct err *err);

/* Calls `take` with each document, which is freed behind it. -1: as yaml_stream_next, or it failed. */
int yaml_each(const char *text, size_t size, const struct json_limits *limits,
	      int (*take)(void *context, const struct cJSON *tree, struct err *err), void *context,
	      struct err *err);

#endif
