/* YAML text. Laws: an error has a text and leaves no tree; a tree that holds no NaN or infinity is
 * JSON that the strict reader takes. */
#include "fuzz.h"

#include <string.h>

#include "base/memory.h"
#include "codec/text/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done) struct cJSON *tree = NULL;
	AUTO(json_done) struct cJSON *again = NULL;
	struct err err = { .kind = ERR_NONE };
	struct json_reader reader = { .arena = &arena, .err = &err };
	struct json_limits wide = fuzz_limits;
	struct json_at root;
	const char *text;

	if (yaml_parse((const char *)data, size, &fuzz_limits, &tree, &err)) {
		REQUIRE(!tree && err.text[0] != '\0');
		return 0;
	}
	root = json_root(tree, "", &reader);
	text = json_print(&root);
	wide.bytes = SIZE_MAX; /* escapes make it longer */
	REQUIRE(json_parse(text, strlen(text), &wide, &again, &err) == 0);
	return 0;
}
