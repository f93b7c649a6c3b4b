#include "codec/schema/one_document.h"

#include "base/memory.h"
#include "codec/text/position.h"
#include "codec/text/yaml.h"

static const struct json_limits limits = {
	.bytes = ONE_DOCUMENT_BYTES_MAX,
	.depth = 100,
	.elements = 20000,
	.unique_names = true,
};

int one_document_read(const char *text, size_t size, struct arena *arena,
		      int (*decode)(const struct json_at *root, void *context), void *context,
		      struct err *err)
{
	struct yaml_stream *stream = yaml_stream_new(text, size, &limits);
	struct positions positions = { .arena = arena };
	struct json_reader reader = { .arena = arena, .err = err };
	AUTO(json_done) struct cJSON *tree = NULL;
	AUTO(json_done) struct cJSON *second = NULL;
	int found = yaml_stream_next(stream, &positions, &tree, err), result = -1;
	struct json_at root;

	if (found == 0)
		err_set(err, ERR_INPUT,
			"line 1, column 1: there is no document; begin it with apiVersion and kind");
	if (found == 1) {
		root = json_root(tree, "", &reader);
		result = decode(&root, context);
	}
	if (found == 1 && result) {
		struct position at =
			position_find(&positions, place_root(tree), reader.failed_path);

		if (at.line > 0)
			err_prefix(err, "line %u, column %u", at.line, at.column);
	} else if (found == 1 && (found = yaml_stream_next(stream, NULL, &second, err)) != 0) {
		result =
			found < 0 ?
				-1 :
				err_set(err, ERR_INPUT,
					"there is a second document; put each into a file of its own");
	}
	yaml_stream_free(stream);
	return result;
}
