/* A file of one YAML or JSON document that a user wrote: parsed, decoded, and errors with the line
 * and column of their member. Must not know the members: the caller decodes. */
#ifndef CODEC_SCHEMA_ONE_DOCUMENT_H
#define CODEC_SCHEMA_ONE_DOCUMENT_H

#include "base/arena.h"
#include "base/err.h"
#include "codec/text/json.h"

#define ONE_DOCUMENT_BYTES_MAX ((size_t)1 << 20)

/* Calls decode with the root of the document: 0, or -1 with the reader's error. Results live in the
 * arena. ERR_INPUT also without a document, and with a second one; ERR_LIMIT. */
int one_document_read(const char *text, size_t size, struct arena *arena,
		      int (*decode)(const struct json_at *root, void *context), void *context,
		      struct err *err);

#endif
