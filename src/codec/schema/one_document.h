/* A file of one YAML or JSON document that a user wrote: parsed, decoded, and errors with the line
 * and column of their member. Must not know the members: the caller decodes. */
#ifndef CODEC_SCHEMA_ONE_DOCUMENT_H
#define CODEC_SCHEMA_ONE_DOCUMENT_H

#include "base/arena.h"
#include "base/err.h"
#include "codec/text/json.h"

#define ONE_DOCUMENT_BYTES_MAX ((size_t)1 << 20)

/* The forms that a file may have. */
struct one_document {
	struct json_limits limits;
	const char *none; /* the error without a document */
	/* Documents that are left out, before it and behind it; NULL: none. */
	bool (*is_beside)(const struct json_at *root);
	bool several; /* each further document is decoded like the first */
};

/* Calls decode with the root of the document: 0, or -1 with the reader's error. Results live in the
 * arena. ERR_INPUT also without a document, and with a second one if not `several`; ERR_LIMIT. */
int one_document_read_as(const struct one_document *form, const char *text, size_t size,
			 struct arena *arena,
			 int (*decode)(const struct json_at *root, void *context), void *context,
			 struct err *err);
/* Of at most ONE_DOCUMENT_BYTES_MAX. */
int one_document_read(const char *text, size_t size, struct arena *arena,
		      int (*decode)(const struct json_at *root, void *context), void *context,
		      struct err *err);

#endif
