/* Names and values of labels: the lengths and characters that Kubernetes and Ray allow. */
#include "core/model/label_syntax.h"

#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "test/support/support.h"

static const char *repeat(struct arena *arena, char c, size_t count)
{
	char *text = arena_alloc(arena, count + 1);

	memset(text, c, count);
	text[count] = '\0';
	return text;
}

static void test_keys(void **state)
{
	static const char *const good[] = { "a",        "Z",           "0",      "a-b_c.d", "a.b/c",
					    "ray.io/x", "example/A-1", "a..b/c", "x9.y8/z7" };
	static const char *const bad[] = { "",    "-a",    "a-",    "_a",       "a.",  "a b", "a/",
					   "a/-", "-a/b",  "a-/b",  "a{b",      "a[b", "a@b", "a:b",
					   "{a",  "a/b/c", "a.-/b", "\xc3\xa4", "a^" };

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(good); i++)
		if (!label_syntax_key(good[i]))
			fail_msg("\"%s\" is refused", good[i]);
	for (size_t i = 0; i < SUPPORT_COUNT(bad); i++)
		if (label_syntax_key(bad[i]))
			fail_msg("\"%s\" is taken", bad[i]);
}

static void test_values(void **state)
{
	(void)state;
	assert_true(label_syntax_value(""));
	assert_true(label_syntax_value("A100-80GB"));
	assert_false(label_syntax_value("a/b"));
	assert_false(label_syntax_value("a b"));
	assert_false(label_syntax_value("a."));
}

static void test_lengths(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const char *part = repeat(&arena, 'p', 62);
	const char *prefix = arena_printf(&arena, "%s.%s.%s.%s", part, part, part, part);

	(void)state;
	assert_true(label_syntax_key(repeat(&arena, 'a', 63)));
	assert_false(label_syntax_key(repeat(&arena, 'a', 64)));
	assert_true(label_syntax_value(repeat(&arena, 'a', 63)));
	assert_false(label_syntax_value(repeat(&arena, 'a', 64)));
	assert_true(label_syntax_key(arena_printf(&arena, "%s.p/a", prefix)));   /* 253 */
	assert_false(label_syntax_key(arena_printf(&arena, "%s.pp/a", prefix))); /* 254 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
