/* The documents of a text that a user wrote. A program has one of two implementations: YAML and JSON
 * (codec/text/documents.c), or JSON alone (src/image/documents.c), where no parser of YAML is linked. */
#ifndef CODEC_TEXT_DOCUMENTS_H
#define CODEC_TEXT_DOCUMENTS_H

#include <stddef.h>

#include "codec/text/json.h"
#include "codec/text/position.h"

/* `text` must live as long; the caller frees. */
struct documents;
struct documents *documents_new(const char *text, size_t size, const struct json_limits *limits);
void documents_free(struct documents *documents); /* NULL is fine */
/* As yaml_stream_next. */
int documents_next(struct documents *documents, struct positions *positions,
		   struct cJSON **ret_json, struct err *err);

/* A text of one document; the caller owns the tree. ERR_INPUT, ERR_LIMIT. */
int document_parse(const char *text, size_t size, const struct json_limits *limits,
		   struct cJSON **ret_json, struct err *err);

#endif
