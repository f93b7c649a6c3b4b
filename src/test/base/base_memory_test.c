#include "base/memory.h"

#include <string.h>

#include "test/support/support.h"

static void test_alloc_is_zeroed(void **state)
{
	(void)state;
	for (size_t bytes = 1; bytes < 300; bytes += 7) {
		char *memory = memory_alloc(bytes);

		for (size_t i = 0; i < bytes; i++)
			assert_int_equal(memory[i], 0);
		memory_free(memory);
	}
}

static void test_zero_bytes_give_unique_pointers(void **state)
{
	void *a = memory_alloc(0);
	void *b = memory_array(0, 8);
	void *c = memory_resize(NULL, 0, 8);

	(void)state;
	assert_non_null(a);
	assert_non_null(b);
	assert_non_null(c);
	assert_ptr_not_equal(a, b);
	assert_ptr_not_equal(b, c);
	memory_free(a);
	memory_free(b);
	memory_free(c);
	memory_free(NULL);
}

/* Each block counts as the C library says, until it is freed. */
static void test_heap_is_counted(void **state)
{
	size_t before = memory_heap_bytes();
	char *text = memory_strdup("text"), *more = memory_resize(NULL, 1000, 1);
	void *of_library = memory_try_array(10, 100);

	(void)state;
	assert_in_range(memory_heap_bytes() - before, 2005, 2300);
	more = memory_resize(more, 100000, 1);
	assert_in_range(memory_heap_bytes() - before, 101005, 105000);
	of_library = memory_try_resize(of_library, 10);
	assert_in_range(memory_heap_bytes() - before, 100000, 105000);
	memory_free(text);
	memory_free(more);
	memory_free(of_library);
	assert_int_equal(memory_heap_bytes(), before);
}

static void test_overflowing_product_is_checked(void **state)
{
	(void)state;
	EXPECT_CHECK(memory_array(SIZE_MAX / 2, 3));
	EXPECT_CHECK(memory_resize(NULL, SIZE_MAX, 2));
}

static void test_resize_keeps_content(void **state)
{
	int *numbers = NULL;

	(void)state;
	for (int count = 1; count <= 100; count++) {
		numbers = memory_resize(numbers, (size_t)count, sizeof(*numbers));
		numbers[count - 1] = count;
	}
	for (int i = 0; i < 100; i++)
		assert_int_equal(numbers[i], i + 1);
	memory_free(numbers);
}

static void test_strings_are_copied(void **state)
{
	const char bytes[3] = { 'a', 'b', 'c' }; /* no NUL: strndup must not look further */
	char *whole = memory_strdup("hello");
	char *part = memory_strndup("hello", 2);
	char *longer = memory_strndup("hello", 50);
	char *raw = memory_strndup(bytes, sizeof(bytes));

	(void)state;
	assert_string_equal(whole, "hello");
	assert_string_equal(part, "he");
	assert_string_equal(longer, "hello");
	assert_string_equal(raw, "abc");
	memory_free(whole);
	memory_free(part);
	memory_free(longer);
	memory_free(raw);
}

static char *handed_over(void)
{
	AUTO(memory_free_string) char *text = memory_strdup("mine");
	char *stolen = steal(&text);

	assert_null(text);
	return stolen;
}

/* The leak check of the sanitizer is the other half of this test. */
static void test_auto_frees_what_is_not_stolen(void **state)
{
	AUTO(memory_free_string) char *kept = memory_strdup("freed at scope end");
	AUTO(memory_free_string) char *text = handed_over();

	(void)state;
	assert_string_equal(kept, "freed at scope end");
	assert_string_equal(text, "mine");
}

static void test_freed_string_is_forgotten(void **state)
{
	char *text = memory_strdup("x");

	(void)state;
	memory_free_string(&text);
	assert_null(text);
	memory_free_string(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alloc_is_zeroed),
		cmocka_unit_test(test_zero_bytes_give_unique_pointers),
		cmocka_unit_test(test_heap_is_counted),
		cmocka_unit_test(test_overflowing_product_is_checked),
		cmocka_unit_test(test_resize_keeps_content),
		cmocka_unit_test(test_strings_are_copied),
		cmocka_unit_test(test_auto_frees_what_is_not_stolen),
		cmocka_unit_test(test_freed_string_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
