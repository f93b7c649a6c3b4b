/* base/words, and arena_text, which takes its strings from there. */
#include "base/words.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "test/support/support.h"

static struct words *words;

static int setup(void **state)
{
	(void)state;
	words = words_new();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	words_free(words);
	return 0;
}

static void what_is_seen_twice_is_kept_once(void **state)
{
	const char *word;

	(void)state;
	assert_null(words_find(words, "ray.io/cluster", true));
	word = words_find(words, "ray.io/cluster", true);
	assert_string_equal(word, "ray.io/cluster");
	assert_ptr_equal(words_find(words, "ray.io/cluster", true), word);
	assert_ptr_equal(words_find(words, "ray.io/cluster", false), word);
	assert_int_equal(words_count(words), 1);
	assert_null(words_find(words, "ray.io/clusters", true));
	assert_null(words_find(words, "", true));
	assert_string_equal(words_find(words, "", true), "");
}

static void looking_is_not_seeing(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		assert_null(words_find(words, "worker-7f3a", false));
	assert_null(words_find(words, "worker-7f3a", true));
	assert_null(words_find(words, "worker-7f3a", false));
	assert_int_equal(words_count(words), 0);
}

/* Objects point to them. */
static void words_stay_where_they_are(void **state)
{
	enum { COUNT = 5000 };
	static const char *found[COUNT];
	char text[32];
	size_t kept = 0;

	(void)state;
	for (unsigned i = 0; i < COUNT; i++) {
		(void)snprintf(text, sizeof(text), "label-%u", i);
		(void)words_find(words, text, true);
		found[i] = words_find(words, text, true);
		kept += found[i] != NULL;
	}
	assert_true(kept > COUNT * 9 / 10);
	assert_int_equal(words_count(words), kept);
	for (unsigned i = 0; i < COUNT; i++) {
		(void)snprintf(text, sizeof(text), "label-%u", i);
		if (found[i])
			assert_string_equal(found[i], text);
	}
}

static void junk_makes_them_useless_and_not_large(void **state)
{
	char text[WORDS_LENGTH_MAX + 2];

	(void)state;
	memset(text, 'x', sizeof(text));
	text[WORDS_LENGTH_MAX + 1] = '\0';
	for (int i = 0; i < 3; i++)
		assert_null(words_find(words, text, true));
	text[WORDS_LENGTH_MAX] = '\0';
	for (unsigned i = 0; i < 2 * WORDS_MAX; i++) {
		(void)snprintf(text, 16, "%08u", i);
		text[8] = 'x';
		(void)words_find(words, text, true);
		(void)words_find(words, text, true);
	}
	assert_in_range(words_count(words), WORDS_BYTES_MAX / sizeof(text) / 2,
			WORDS_BYTES_MAX / (sizeof(text) - 1));
	for (unsigned i = 0; i < 2 * WORDS_MAX; i++) {
		(void)snprintf(text, sizeof(text), "%u", i);
		(void)words_find(words, text, true);
		(void)words_find(words, text, true);
	}
	assert_in_range(words_count(words), 1, WORDS_MAX);
}

/* Texts so short that their number is the limit. */
static void there_are_at_most_as_many_words(void **state)
{
	char text[16];

	(void)state;
	for (unsigned i = 0; i < 2 * WORDS_MAX; i++) {
		(void)snprintf(text, sizeof(text), "%x", i);
		(void)words_find(words, text, true);
		(void)words_find(words, text, true);
	}
	assert_int_equal(words_count(words), WORDS_MAX);
}

static void an_arena_takes_texts_from_its_words(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT, other = ARENA_INIT;
	const char *word, *copy;

	(void)state;
	copy = arena_text(&arena, "Running");
	assert_string_equal(copy, "Running");
	arena.words = words;
	assert_ptr_not_equal(arena_text(&arena, "Running"), copy);
	assert_int_equal(words_count(words), 0); /* it does not learn */
	arena.learns = true;
	(void)arena_text(&arena, "Running");
	word = arena_text(&arena, "Running");
	assert_ptr_equal(word, words_find(words, "Running", false));
	other.words = words;
	assert_ptr_equal(arena_text(&other, "Running"), word);
	assert_int_equal(other.used_bytes, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_seen_twice_is_kept_once), TEST(looking_is_not_seeing),
		TEST(words_stay_where_they_are),       TEST(junk_makes_them_useless_and_not_large),
		TEST(there_are_at_most_as_many_words), TEST(an_arena_takes_texts_from_its_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
