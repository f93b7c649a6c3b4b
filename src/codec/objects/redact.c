#include "codec/objects/redact.h"

#include <string.h>

#include "base/buf.h"
#include "base/memory.h"

#define SEPARATORS " \t\r\n\"'`;&|()"
#define HIDDEN "REDACTED"

bool redact_name(const char *name)
{
	static const char *const words[] = { "passw", "token", "secret", "key", "credential" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcasestr(name, words[i]))
			return true;
	}
	return false;
}

/* One word without separators. */
static void add_word(struct buf *buf, const char *word, bool *next_is_secret)
{
	const char *equals = strchr(word, '=');
	struct arena arena = ARENA_INIT;
	bool hide = *next_is_secret, named;

	named = redact_name(equals ? arena_strndup(&arena, word, (size_t)(equals - word)) : word);
	arena_done(&arena);
	*next_is_secret = false;
	if (hide && word[0] != '-') {
		(void)buf_add_string(buf, HIDDEN);
	} else if (named && equals) {
		(void)buf_add(buf, word, (size_t)(equals - word) + 1);
		(void)buf_add_string(buf, equals[1] ? HIDDEN : "");
		*next_is_secret = equals[1] == '\0'; /* quoted, or missing */
	} else {
		(void)buf_add_string(buf, word);
		*next_is_secret = named && word[0] == '-';
	}
}

const char *redact_command(const char *text, bool *next_is_secret, struct arena *arena)
{
	AUTO(buf_done) struct buf buf;

	buf_init(&buf, (strlen(text) + 1) * sizeof(HIDDEN));
	while (*text) {
		size_t gap = strspn(text, SEPARATORS), size;

		(void)buf_add(&buf, text, gap);
		text += gap;
		/* A quoted value may have any number of words. */
		if (*next_is_secret && gap > 0 && strchr("\"'`", text[-1]))
			size = strcspn(text, (char[]){ text[-1], '\0' });
		else
			size = strcspn(text, SEPARATORS);
		if (size > 0)
			add_word(&buf, arena_strndup(arena, text, size), next_is_secret);
		text += size;
	}
	return arena_strdup(arena, buf_string(&buf));
}
