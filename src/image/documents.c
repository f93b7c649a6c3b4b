/* The documents of a text in the image: one, in JSON. The program links this file before the archives, so
 * that codec/text/documents.c, which reads YAML, stays out. */
#include "codec/text/documents.h"

#include <stdbool.h>

#include "base/memory.h"

struct documents {
	const char *text;
	size_t size;
	const struct json_limits *limits;
	bool read;
};

struct documents *documents_new(const char *text, size_t size, const struct json_limits *limits)
{
	struct documents *documents = memory_alloc(sizeof(*documents));

	*documents = (struct documents){ .text = text, .size = size, .limits = limits };
	return documents;
}

void documents_free(struct documents *documents)
{
	memory_free(documents);
}

int documents_next(struct documents *documents, struct positions *positions UNUSED,
		   struct cJSON **ret_json, struct err *err)
{
	if (documents->read)
		return 0;
	documents->read = true;
	return document_parse(documents->text, documents->size, documents->limits, ret_json, err) ?
		       -1 :
		       1;
}

int document_parse(const char *text, size_t size, const struct json_limits *limits,
		   struct cJSON **ret_json, struct err *err)
{
	if (json_parse(text, size, limits, ret_json, err) == 0)
		return 0;
	return err_set(err, err->kind,
		       "%s; the program of the image reads JSON, the one for your machine YAML too",
		       err->text);
}
