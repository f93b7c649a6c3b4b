/* The tables of reasons: words that can be searched for, and the document that is generated from
 * them. */
#include <ctype.h>
#include <string.h>

#include "test/support/reasons_markdown.h"
#include "test/support/support.h"

static const char *read_document(char *buffer, size_t size)
{
	FILE *file = fopen("docs/REASONS.md", "r");
	size_t length;

	if (!file)
		fail_msg("no docs/REASONS.md: run the tests from the top of the repository");
	length = fread(buffer, 1, size - 1, file);
	buffer[length] = '\0';
	fclose(file);
	return buffer;
}

static void test_document_is_current(void **state)
{
	static char document[65536], made[65536];
	FILE *file = fmemopen(made, sizeof(made) - 1, "w");

	(void)state;
	assert_non_null(file);
	reasons_print(file);
	fclose(file);
	if (strcmp(read_document(document, sizeof(document)), made) != 0)
		fail_msg("docs/REASONS.md differs from core/model/reason.h: make docs");
}

static void test_rows_are_sorted_by_word(void **state)
{
	static char document[65536];
	const char *last = NULL;
	size_t last_length = 0, count = 0;

	(void)state;
	for (const char *at = read_document(document, sizeof(document)); (at = strstr(at, "\n| `"));
	     count++) {
		const char *word = at += 4;
		size_t length = strcspn(word, "`");

		if (last)
			assert_true(strncmp(last, word,
					    length < last_length ? length : last_length) <= 0);
		last = word;
		last_length = length;
	}
	assert_int_equal(count, REASONS_ROW_COUNT);
}

/* Kubernetes wants UpperCamelCase for reasons of conditions and Events. */
static void test_words_can_be_searched_for(void **state)
{
	(void)state;
	for (size_t i = 0; i < REASONS_ROW_COUNT; i++) {
		const struct reasons_row *row = &reasons_rows[i];

		assert_true(isupper((unsigned char)row->word[0]));
		for (const char *c = row->word; *c; c++)
			assert_true(isalnum((unsigned char)*c));
		assert_true(row->meaning[0] && row->cure[0]);
		assert_null(strchr(row->meaning, '|'));
		assert_null(strchr(row->cure, '|'));
	}
}

static void test_no_word_twice_in_one_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < REASONS_ROW_COUNT; i++)
		for (size_t j = 0; j < i; j++)
			if (!strcmp(reasons_rows[i].word, reasons_rows[j].word))
				assert_string_not_equal(reasons_rows[i].where,
							reasons_rows[j].where);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_document_is_current),
		cmocka_unit_test(test_rows_are_sorted_by_word),
		cmocka_unit_test(test_words_can_be_searched_for),
		cmocka_unit_test(test_no_word_twice_in_one_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
