#include "codec/schema/one_document.h"

#include "base/memory.h"
#include "codec/text/documents.h"
#include "codec/text/position.h"

/* As documents_next. */
static int next_document(const struct one_document *form, struct documents *documents,
			 struct positions *positions, struct cJSON **ret_tree, struct err *err)
{
	int found;

	while ((found = documents_next(documents, positions, ret_tree, err)) == 1) {
		struct json_at root = json_root(*ret_tree, "", NULL);

		if (!form->is_beside || !form->is_beside(&root))
			break;
		json_done(ret_tree);
	}
	return found;
}

static int decode_one(const struct one_document *form, struct cJSON *tree,
		      struct positions *positions, struct arena *arena,
		      int (*decode)(const struct json_at *root, void *context), void *context,
		      size_t number, struct err *err)
{
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root = json_root(tree, "", &reader);
	struct position at;

	if (number > 0 && !form->several)
		return err_set(err, ERR_INPUT,
			       "there is a second document; put each into a file of its own");
	if (decode(&root, context) == 0)
		return 0;
	at = position_find(positions, place_root(tree), reader.failed_path);
	if (at.line > 0)
		err_prefix(err, "line %u, column %u", at.line, at.column);
	return -1;
}

int one_document_read_as(const struct one_document *form, const char *text, size_t size,
			 struct arena *arena,
			 int (*decode)(const struct json_at *root, void *context), void *context,
			 struct err *err)
{
	AUTO(arena_done) struct arena own = ARENA_INIT;
	struct documents *documents = documents_new(text, size, &form->limits);
	struct positions positions = { .arena = &own };
	size_t count = 0;
	int found = 1;

	while (found == 1) {
		AUTO(json_done) struct cJSON *tree = NULL;

		found = next_document(form, documents, &positions, &tree, err);
		if (found == 1 &&
		    decode_one(form, tree, &positions, arena, decode, context, count++, err))
			found = -1;
	}
	documents_free(documents);
	if (found == 0 && count == 0)
		return err_set(err, ERR_INPUT, "%s", form->none);
	return found;
}

int one_document_read(const char *text, size_t size, struct arena *arena,
		      int (*decode)(const struct json_at *root, void *context), void *context,
		      struct err *err)
{
	static const struct one_document form = {
		.limits = { .bytes = ONE_DOCUMENT_BYTES_MAX,
			    .depth = 100,
			    .elements = 20000,
			    .unique_names = true },
		.none = "line 1, column 1: there is no document; begin it with apiVersion and kind",
	};

	return one_document_read_as(&form, text, size, arena, decode, context, err);
}
