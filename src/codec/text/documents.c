#include "codec/text/documents.h"

#include "codec/text/yaml.h"

struct documents *documents_new(const char *text, size_t size, const struct json_limits *limits)
{
	return (struct documents *)yaml_stream_new(text, size, limits);
}

void documents_free(struct documents *documents)
{
	yaml_stream_free((struct yaml_stream *)documents);
}

int documents_next(struct documents *documents, struct positions *positions,
		   struct cJSON **ret_json, struct err *err)
{
	return yaml_stream_next((struct yaml_stream *)documents, positions, ret_json, err);
}

int document_parse(const char *text, size_t size, const struct json_limits *limits,
		   struct cJSON **ret_json, struct err *err)
{
	return yaml_or_json_parse(text, size, limits, ret_json, err);
}
