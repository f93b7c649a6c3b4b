#include "base/buf.h"

#include <string.h>

#include "base/memory.h"
#include "test/support/support.h"

static void test_empty_buffer_is_empty_string(void **state)
{
	AUTO(buf_done) struct buf buf;

	(void)state;
	buf_init(&buf, 10);
	assert_string_equal(buf_string(&buf), "");
	assert_int_equal(buf_add(&buf, NULL, 0), 0);
	assert_string_equal(buf_string(&buf), "");
	buf_consume(&buf, 0);
}

static void test_appends_are_joined(void **state)
{
	AUTO(buf_done) struct buf buf;

	(void)state;
	buf_init(&buf, 1000);
	assert_int_equal(buf_add(&buf, "abc", 2), 0);
	assert_int_equal(buf_add_string(&buf, "cd"), 0);
	assert_int_equal(buf_add_char(&buf, 'e'), 0);
	assert_int_equal(buf_printf(&buf, "-%d-%s", 42, "x"), 0);
	assert_string_equal(buf_string(&buf), "abcde-42-x");
	assert_int_equal(buf.size, 10);
}

static void test_bytes_may_be_nul(void **state)
{
	AUTO(buf_done) struct buf buf;

	(void)state;
	buf_init(&buf, 10);
	assert_int_equal(buf_add(&buf, "a\0b", 3), 0);
	assert_int_equal(buf_add_char(&buf, '\0'), 0);
	assert_int_equal(buf.size, 4);
	assert_memory_equal(buf.data, "a\0b\0", 5);
}

/* For every limit and every piece: exactly the limit fits, one byte more is refused whole. */
static void test_ceiling_is_exact(void **state)
{
	char piece[300];

	(void)state;
	memset(piece, 'p', sizeof(piece));
	for (size_t ceiling = 0; ceiling < sizeof(piece); ceiling++) {
		AUTO(buf_done) struct buf buf;

		buf_init(&buf, ceiling);
		assert_int_equal(buf_add(&buf, piece, ceiling), 0);
		assert_int_equal(buf_add_char(&buf, 'x'), -1);
		assert_true(buf.overflowed);
		assert_int_equal(buf.size, ceiling);
		assert_int_equal(strlen(buf_string(&buf)), ceiling);
	}
}

static void test_refused_append_adds_nothing_and_stays(void **state)
{
	AUTO(buf_done) struct buf buf;

	(void)state;
	buf_init(&buf, 5);
	assert_int_equal(buf_add_string(&buf, "abc"), 0);
	assert_int_equal(buf_printf(&buf, "%d", 1234), -1);
	assert_string_equal(buf_string(&buf), "abc");
	assert_int_equal(buf_add_char(&buf, 'd'), -1); /* would fit: but the text has a hole now */
	assert_int_equal(buf_add(&buf, "", 0), -1);
	buf_clear(&buf);
	assert_false(buf.overflowed);
	assert_int_equal(buf_add_string(&buf, "12345"), 0);
	assert_string_equal(buf_string(&buf), "12345");
}

static void test_huge_sizes_are_refused(void **state)
{
	AUTO(buf_done) struct buf buf;

	(void)state;
	buf_init(&buf, 100);
	assert_int_equal(buf_add(&buf, "abc", SIZE_MAX), -1);
	buf_clear(&buf);
	assert_int_equal(buf_add_string(&buf, "abc"), 0);
	assert_int_equal(buf_add(&buf, "abc", SIZE_MAX - 2), -1);
	EXPECT_CHECK(buf_init(&buf, SIZE_MAX));
}

static void test_consume_moves_the_rest(void **state)
{
	AUTO(buf_done) struct buf buf;

	(void)state;
	buf_init(&buf, 10);
	buf_add_string(&buf, "0123456789");
	buf_consume(&buf, 4);
	assert_string_equal(buf_string(&buf), "456789");
	assert_int_equal(buf_add_string(&buf, "abcd"), 0);
	assert_string_equal(buf_string(&buf), "456789abcd");
	buf_consume(&buf, 10);
	assert_string_equal(buf_string(&buf), "");
	EXPECT_CHECK(buf_consume(&buf, 1));
}

static void test_steal_hands_over(void **state)
{
	AUTO(buf_done) struct buf buf;
	AUTO(memory_free_string) char *first = NULL;
	AUTO(memory_free_string) char *second = NULL;

	(void)state;
	buf_init(&buf, 10);
	buf_add_string(&buf, "first");
	first = buf_steal(&buf);
	assert_string_equal(first, "first");
	assert_int_equal(buf.size, 0);
	second = buf_steal(&buf);
	assert_string_equal(second, "");
	assert_int_equal(buf_add_string(&buf, "0123456789"), 0); /* the limit is unchanged */
	assert_int_equal(buf_add_char(&buf, 'x'), -1);
}

/* Random appends and consumes against a plain array. */
static void test_matches_a_model(void **state)
{
	enum { CEILING = 3000 };
	AUTO(buf_done) struct buf buf;
	char *model = memory_alloc(CEILING + 1);
	size_t size = 0;
	uint64_t random = 7;

	(void)state;
	buf_init(&buf, CEILING);
	for (int step = 0; step < 20000; step++) {
		size_t amount = support_random_below(&random, 200);

		if (support_random_below(&random, 2) == 0) {
			char piece[200];
			int result;

			memset(piece, 'a' + step % 26, sizeof(piece));
			result = buf_add(&buf, piece, amount);
			assert_int_equal(result, size + amount <= CEILING ? 0 : -1);
			if (result == 0) {
				memcpy(model + size, piece, amount);
				size += amount;
			} else {
				buf_clear(&buf);
				size = 0;
			}
		} else if (amount <= size) {
			buf_consume(&buf, amount);
			size -= amount;
			memmove(model, model + amount, size);
		}
		assert_int_equal(buf.size, size);
		assert_memory_equal(buf_string(&buf), model, size);
		assert_int_equal(buf_string(&buf)[size], '\0');
	}
	memory_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty_buffer_is_empty_string),
		cmocka_unit_test(test_appends_are_joined),
		cmocka_unit_test(test_bytes_may_be_nul),
		cmocka_unit_test(test_ceiling_is_exact),
		cmocka_unit_test(test_refused_append_adds_nothing_and_stays),
		cmocka_unit_test(test_huge_sizes_are_refused),
		cmocka_unit_test(test_consume_moves_the_rest),
		cmocka_unit_test(test_steal_hands_over),
		cmocka_unit_test(test_matches_a_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
