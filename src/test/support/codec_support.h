/* Shared by the tests of codec: a tree from YAML text, and the table "this text gives that error".
 * Header only. */
#ifndef TEST_SUPPORT_CODEC_SUPPORT_H
#define TEST_SUPPORT_CODEC_SUPPORT_H

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/memory.h"
#include "codec/text/json.h"
#include "codec/text/yaml.h"
#include "test/support/support.h"

static const struct json_limits codec_limits __attribute__((unused)) = {
	.bytes = 16 << 20,
	.depth = 100,
	.elements = 1000000,
	.unique_names = true,
};

/* Fails the test when the text is not YAML. The caller frees the tree. */
__attribute__((unused)) static struct cJSON *codec_tree(const char *text)
{
	struct cJSON *tree = NULL;
	struct err err;

	if (yaml_parse(text, strlen(text), &codec_limits, &tree, &err))
		fail_msg("test text: %s", err.text);
	return tree;
}

/* A text that must give an error whose text begins with `error`. */
struct codec_bad {
	const char *text;
	const char *error;
};

typedef int codec_decode(const char *text, struct arena *arena, struct err *err);

__attribute__((unused)) static void codec_check_bad(const struct codec_bad *table, size_t count,
						    codec_decode *decode)
{
	for (size_t i = 0; i < count; i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct err err = { .kind = ERR_NONE };

		if (decode(table[i].text, &arena, &err) == 0)
			fail_msg("no error for: %s", table[i].text);
		if (strncmp(err.text, table[i].error, strlen(table[i].error)) != 0)
			fail_msg("%s\n  gives  %s\n  not    %s", table[i].text, err.text,
				 table[i].error);
	}
}

#endif
