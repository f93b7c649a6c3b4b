#include "base/nearest.h"

#include <string.h>

#include "test/support/support.h"

static void test_distance(void **state)
{
	char longest[NEAREST_BYTES_MAX + 1], longer[NEAREST_BYTES_MAX + 2];

	(void)state;
	memset(longest, 'a', NEAREST_BYTES_MAX);
	longest[NEAREST_BYTES_MAX] = '\0';
	memset(longer, 'a', NEAREST_BYTES_MAX + 1);
	longer[NEAREST_BYTES_MAX + 1] = '\0';
	assert_int_equal(nearest_distance("", ""), 0);
	assert_int_equal(nearest_distance("", "abc"), 3);
	assert_int_equal(nearest_distance("status", "status"), 0);
	assert_int_equal(nearest_distance("stauts", "status"), 1);
	assert_int_equal(nearest_distance("ab", "ba"), 1);
	assert_int_equal(nearest_distance("nvdia.com/gpu", "nvidia.com/gpu"), 1);
	assert_int_equal(nearest_distance("nvidia.com/gpus", "nvidia.com/gpu"), 1);
	assert_int_equal(nearest_distance("kitten", "sitting"), 3);
	assert_int_equal(nearest_distance("gpu", "GPU"), 0);
	assert_int_equal(nearest_distance(longest, ""), NEAREST_BYTES_MAX);
	assert_int_equal(nearest_distance(longest, longest), 0);
	assert_int_equal(nearest_distance(longer, longer), NEAREST_BYTES_MAX + 1);
	assert_int_equal(nearest_distance("a", longer), NEAREST_BYTES_MAX + 1);
}

/* All pairs of words of up to 4 letters of two, and longer ones. */
static void test_errors(void **state)
{
	static const char letters[] = "aB";
	char words[32][5], longer[NEAREST_BYTES_MAX + 2];
	size_t count = 0;

	(void)state;
	for (size_t size = 0; size <= 4; size++)
		for (size_t bits = 0; bits < (size_t)1 << size; bits++, count++) {
			for (size_t i = 0; i < size; i++)
				words[count][i] = letters[bits >> i & 1];
			words[count][size] = '\0';
		}
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count; j++) {
			size_t distance = nearest_distance(words[i], words[j]);

			assert_int_equal(nearest_errors(words[i], words[j]),
					 distance < 2 ? distance : 2);
		}
	memset(longer, 'a', NEAREST_BYTES_MAX + 1);
	longer[NEAREST_BYTES_MAX + 1] = '\0';
	assert_int_equal(nearest_errors(longer, longer), 2);
	assert_int_equal(nearest_errors("nvdia.com/gpu", "nvidia.com/GPU"), 1);
	assert_int_equal(nearest_errors("memroy", "memory"), 1);
	assert_int_equal(nearest_errors("memryo", "memory"), 2);
	assert_int_equal(nearest_errors("gpu", "GPU"), 0);
}

static const char *hint_of(const char *typed)
{
	static const char *const words[] = {
		"status",      "explain",    "run", "idleTimeout", "idle-timeout-seconds",
		"minReplicas", "maxReplicas"
	};
	static char text[NEAREST_HINT_SIZE];
	struct nearest nearest = nearest_start(typed);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		nearest_offer(&nearest, words[i]);
	return nearest_hint(&nearest, text);
}

static void test_hint(void **state)
{
	char longer[NEAREST_BYTES_MAX + 10];

	(void)state;
	memset(longer, 'r', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_string_equal(hint_of("stauts"), "; did you mean status?");
	assert_string_equal(hint_of("statuss"), "; did you mean status?");
	assert_string_equal(hint_of("minreplicas"), "; did you mean minReplicas?");
	assert_string_equal(hint_of("maxReplica"), "; did you mean maxReplicas?");
	assert_string_equal(hint_of("idle-timeout"), "; did you mean idleTimeout?");
	assert_string_equal(hint_of("idle-t"), "; did you mean idle-timeout-seconds?");
	assert_string_equal(hint_of("exp"), "; did you mean explain?");
	assert_string_equal(hint_of("rn"), "");
	assert_string_equal(hint_of("ex"), "");
	assert_string_equal(hint_of("plan"), "");
	assert_string_equal(hint_of(""), "");
	assert_string_equal(hint_of(longer), "");
}

/* A word of the largest size fits into the hint. */
static void test_longest_hint(void **state)
{
	char word[NEAREST_BYTES_MAX + 1], text[NEAREST_HINT_SIZE];
	struct nearest nearest;

	(void)state;
	memset(word, 'w', NEAREST_BYTES_MAX);
	word[NEAREST_BYTES_MAX] = '\0';
	nearest = nearest_start(word);
	nearest_offer(&nearest, word);
	assert_ptr_equal(nearest.word, word);
	nearest_hint(&nearest, text);
	assert_string_equal(text + strlen(text) - 3, "ww?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distance),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_hint),
		cmocka_unit_test(test_longest_hint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
