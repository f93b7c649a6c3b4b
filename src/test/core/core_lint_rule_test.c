/* The table of lint rules: stable names for tools, and the document that is generated from it. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#include "test/support/lint_markdown.h"
#include "test/support/support.h"

static char *read_all(const char *path)
{
	static char text[1 << 20];
	FILE *file = fopen(path, "re");

	if (!file)
		fail_msg("%s cannot be opened; run from the top of the source tree", path);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	return text;
}

static void test_document(void **state)
{
	char *made = NULL;
	size_t size;
	FILE *file = open_memstream(&made, &size);
	const char *rules = strstr(read_all("docs/LINT.md"), LINT_MARKDOWN_START);

	(void)state;
	lint_markdown_print(file);
	fclose(file);
	if (!rules || strcmp(rules + strlen(LINT_MARKDOWN_START), made) != 0)
		fail_msg("docs/LINT.md differs from feature/lint/core/lint_rule.h: make docs");
	free(made);
}

static void test_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < LINT_RULE_COUNT; i++) {
		const struct lint_rule *rule = &lint_rules()[i];

		assert_int_equal(strspn(rule->name, "abcdefghijklmnopqrstuvwxyz-"),
				 strlen(rule->name));
		assert_true(rule->what[0] != '\0' && rule->cure[0] != '\0');
		assert_true(rule->severity <= LINT_ERROR);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(rule->name, lint_rules()[j].name);
	}
}

static void test_paths(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	(void)state;
	assert_string_equal(lint_path_member(&arena, "spec", "name"), "spec.name");
	assert_string_equal(lint_path_member(&arena, "", "spec"), "spec");
	assert_string_equal(lint_path_member(&arena, "a.limits", "nvidia.com/gpu"),
			    "a.limits[\"nvidia.com/gpu\"]");
	assert_string_equal(lint_path_member(&arena, "a", ""), "a[\"\"]");
	assert_string_equal(lint_path_member(&arena, "a", "b\"]\\"), "a[\"b\\\"]\\\\\"]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_document),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
