#include "base/arena.h"
#include "base/budget.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "test/support/support.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
/* gcc provides this function without its header. */
size_t __sanitizer_get_current_allocated_bytes(void);
#define IS_POISONED(at) __asan_address_is_poisoned(at)
#endif

static void test_memory_is_zeroed_and_aligned(void **state)
{
	struct arena arena = ARENA_INIT;

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (size_t bytes = 0; bytes < 20000; bytes = bytes * 3 / 2 + 1) {
			char *memory = arena_alloc(&arena, bytes);

			assert_int_equal((uintptr_t)memory % 16, 0);
			for (size_t i = 0; i < bytes; i++)
				assert_int_equal(memory[i], 0);
			memset(memory, 0xff, bytes);
		}
		arena_reset(&arena);
		assert_int_equal(arena.used_bytes, 0);
	}
	arena_done(&arena);
}

/* Random sizes: no two allocations overlap, and all keep their content. */
static void test_allocations_are_apart(void **state)
{
	enum { COUNT = 2000 };
	struct arena arena = ARENA_INIT;
	unsigned char **memory = memory_array(COUNT, sizeof(*memory));
	size_t *sizes = memory_array(COUNT, sizeof(*sizes));
	uint64_t random = 42;
	size_t sum = 0;

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		sizes[i] = support_random_below(&random, i % 50 == 0 ? 100000 : 200);
		memory[i] = arena_alloc(&arena, sizes[i]);
		memset(memory[i], (int)(i % 251), sizes[i]);
		sum += sizes[i];
	}
	assert_true(arena.used_bytes >= sum);
	assert_true(arena.used_bytes <= sum + 16 * COUNT);
	for (size_t i = 0; i < COUNT; i++)
		for (size_t at = 0; at < sizes[i]; at++)
			assert_int_equal(memory[i][at], i % 251);
	arena_done(&arena);
	assert_null(arena.head);
	memory_free(memory);
	memory_free(sizes);
}

static void test_strings(void **state)
{
	struct arena arena = ARENA_INIT;
	const char raw[2] = { 'x', 'y' };
	char *original = memory_strdup("text");
	char *copy = arena_strdup(&arena, original);

	(void)state;
	memory_free(original);
	assert_string_equal(copy, "text");
	assert_string_equal(arena_strndup(&arena, "text", 2), "te");
	assert_string_equal(arena_strndup(&arena, "text", 9), "text");
	assert_string_equal(arena_strndup(&arena, raw, 2), "xy");
	assert_string_equal(arena_printf(&arena, "%s-%05d", "a", 42), "a-00042");
	assert_string_equal(arena_printf(&arena, "%*d", 9000, 1) + 8999, "1");
	arena_done(&arena);
}

static void test_impossible_sizes_are_checked(void **state)
{
	struct arena arena = ARENA_INIT;

	(void)state;
	EXPECT_CHECK(arena_alloc(&arena, SIZE_MAX));
	EXPECT_CHECK(arena_alloc(&arena, (size_t)PTRDIFF_MAX - 8));
	EXPECT_CHECK(arena_array(&arena, SIZE_MAX / 4, 8));
	EXPECT_CHECK(arena_reserve(&arena, SIZE_MAX));
	assert_null(arena.head);
}

static void test_array_is_zeroed(void **state)
{
	struct arena arena = ARENA_INIT;
	int64_t *numbers = arena_array(&arena, 1000, sizeof(*numbers));

	(void)state;
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(numbers[i], 0);
	assert_non_null(arena_array(&arena, 0, 8));
	arena_done(&arena);
}

struct pair {
	int64_t first, second;
};

static void test_vec_keeps_elements(void **state)
{
	struct arena arena = ARENA_INIT;
	VEC(struct pair) pairs = { 0 };
	VEC(const char *) texts = { 0 };

	(void)state;
	for (int64_t i = 0; i < 5000; i++) {
		struct pair *pair = VEC_ADD(&arena, &pairs);

		assert_int_equal(pair->first, 0);
		assert_int_equal(pair->second, 0);
		*pair = (struct pair){ .first = i, .second = -i };
		if (i % 100 == 0)
			VEC_PUSH(&arena, &texts, arena_printf(&arena, "%d", (int)i));
	}
	assert_int_equal(pairs.count, 5000);
	assert_int_equal(texts.count, 50);
	for (size_t i = 0; i < pairs.count; i++) {
		assert_int_equal(pairs.at[i].first, i);
		assert_int_equal(pairs.at[i].second, -(int64_t)i);
	}
	assert_string_equal(texts.at[49], "4900");
	arena_done(&arena);
}

/* An element that was removed and is added again is zeroed again. */
static void test_vec_zeroes_reused_element(void **state)
{
	struct arena arena = ARENA_INIT;
	VEC(struct pair) pairs = { 0 };

	(void)state;
	VEC_PUSH(&arena, &pairs, ((struct pair){ .first = 1, .second = 2 }));
	pairs.count--;
	assert_int_equal(VEC_ADD(&arena, &pairs)->second, 0);
	arena_done(&arena);
}

static void test_lone_vec_grows_in_place(void **state)
{
	struct arena arena = ARENA_INIT;
	VEC(int64_t) numbers = { 0 };

	(void)state;
	for (int64_t i = 0; i < 256; i++)
		VEC_PUSH(&arena, &numbers, i);
	assert_int_equal(arena.used_bytes, 256 * sizeof(int64_t));
	arena_done(&arena);
}

static void test_copies(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	static const int first[] = { 1, 2 }, second[] = { 3, 4, 5 };
	const int *both = ARENA_JOIN(&arena, first, 2, second, 3), *none = NULL;
	const int *put = ARENA_PUT(&arena, (int){ 7 });

	(void)state;
	for (int i = 0; i < 5; i++)
		assert_int_equal(both[i], i + 1);
	assert_memory_equal(ARENA_COPY(&arena, second, 3), second, sizeof(second));
	assert_memory_equal(ARENA_JOIN(&arena, none, 0, second, 3), second, sizeof(second));
	assert_memory_equal(ARENA_JOIN(&arena, first, 2, none, 0), first, sizeof(first));
	assert_non_null(ARENA_COPY(&arena, none, 0));
	assert_int_equal(*put, 7);
}

static void fill(struct arena *arena, uint64_t random)
{
	VEC(struct pair) pairs = { 0 };

	for (int i = 0; i < 400; i++) {
		size_t dice = support_random_below(&random, 100);

		if (dice < 60)
			VEC_PUSH(arena, &pairs, ((struct pair){ .first = i, .second = i }));
		else if (dice < 80)
			arena_alloc(arena, support_random_below(&random, 300));
		else if (dice < 99)
			arena_printf(arena, "%*s", (int)support_random_below(&random, 300), "");
		else
			arena_alloc(arena, 10000);
	}
}

static void test_second_making_fits_reserved_block(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct arena first = ARENA_INIT, second = ARENA_INIT;
		struct arena_block *block;

		fill(&first, seed);
		arena_reserve(&second, first.used_bytes);
		block = second.head;
		fill(&second, seed);
		assert_ptr_equal(second.head, block); /* a further big block would hide behind it */
		assert_true(second.used_bytes <= first.used_bytes);
		if (second.used_bytes < first.used_bytes)
			arena_alloc(&second, first.used_bytes - second.used_bytes);
		assert_ptr_equal(second.head, block);
		arena_done(&first);
		arena_done(&second);
	}
}

static void test_reserve_of_what_is_there_changes_nothing(void **state)
{
	struct arena arena = ARENA_INIT;
	struct arena_block *block;

	(void)state;
	arena_alloc(&arena, 1);
	block = arena.head;
	arena_reserve(&arena, 1000);
	assert_ptr_equal(arena.head, block);
	arena_reserve(&arena, 1000000);
	assert_ptr_not_equal(arena.head, block);
	arena_done(&arena);
}

static void test_a_trimmed_block_is_as_large_as_its_content(void **state)
{
	struct budget budget = { .name = "test" };
	struct arena arena = ARENA_INIT;
	char *text;

	(void)state;
	assert_true(arena_trim(&arena));
	arena.budget = &budget;
	text = arena_strdup(&arena, "pod");
	if (arena_trim(&arena))
		assert_string_equal(text, "pod");
	assert_true(budget.used_bytes < 100);
	assert_true(arena_trim(&arena));
	text = arena_strdup(&arena, "node");
	assert_string_equal(text, "node");
	arena_done(&arena);
	assert_int_equal(budget.used_bytes, 0);
}

static void test_reset_and_done_allow_reuse(void **state)
{
	struct arena arena = ARENA_INIT;

	(void)state;
	arena_reset(&arena);
	arena_done(&arena);
	for (int pass = 0; pass < 50; pass++) {
		for (int i = 0; i < pass * 100; i++)
			memset(arena_alloc(&arena, 100), 1, 100);
		if (pass % 7 == 0)
			arena_done(&arena);
		else
			arena_reset(&arena);
	}
	arena_alloc(&arena, 1 << 20);
	arena_reset(&arena);
	arena_done(&arena);
}

static void test_each_and_find(void **state)
{
	struct named {
		const char *name;
		int value;
	};
	static const struct named three[] = { { "a", 1 }, { "b", 2 }, { "b", 4 } };
	const struct named *none = NULL;
	const struct {
		const struct named *at;
		size_t count;
	} all = { three, 3 }, no_one = { NULL, 0 };
	int sum = 0;

	(void)state;
	VEC_EACH(const struct named, one, &all)
		sum += one->value;
	VEC_EACH(const struct named, one, &no_one)
		sum += 100;
	ARRAY_EACH(const struct named, one, three, 0)
		sum += 100;
	assert_int_equal(sum, 7);
	assert_ptr_equal(VEC_FIND(&all, name, "b"), &three[1]);
	assert_null(VEC_FIND(&all, name, "c"));
	assert_null(ARRAY_FIND(three, 1, name, "b"));
	assert_null(ARRAY_FIND(none, 0, name, "b"));
}

#ifdef IS_POISONED
static void test_sanitizer_sees_dead_and_foreign_bytes(void **state)
{
	struct arena arena = ARENA_INIT;
	char *memory = arena_alloc(&arena, 21);

	(void)state;
	assert_false(IS_POISONED(memory + 20));
	assert_true(IS_POISONED(memory + 21));
	assert_true(IS_POISONED(memory + 32));
	arena_reset(&arena);
	assert_true(IS_POISONED(memory));
	arena_done(&arena);
}

/* arena_reset keeps at most one block of the usual size. */
static void test_reset_gives_memory_back(void **state)
{
	struct arena arena = ARENA_INIT;
	size_t before = __sanitizer_get_current_allocated_bytes();

	(void)state;
	for (int i = 0; i < 100; i++)
		arena_alloc(&arena, 4000);
	arena_reset(&arena);
	assert_true(__sanitizer_get_current_allocated_bytes() - before <= 66000);
	arena_reserve(&arena, 1 << 20);
	assert_true(__sanitizer_get_current_allocated_bytes() - before <= (1 << 20) + 64);
	arena_reset(&arena);
	assert_int_equal(__sanitizer_get_current_allocated_bytes(), before);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_is_zeroed_and_aligned),
		cmocka_unit_test(test_allocations_are_apart),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_impossible_sizes_are_checked),
		cmocka_unit_test(test_array_is_zeroed),
		cmocka_unit_test(test_vec_keeps_elements),
		cmocka_unit_test(test_vec_zeroes_reused_element),
		cmocka_unit_test(test_lone_vec_grows_in_place),
		cmocka_unit_test(test_second_making_fits_reserved_block),
		cmocka_unit_test(test_reserve_of_what_is_there_changes_nothing),
		cmocka_unit_test(test_a_trimmed_block_is_as_large_as_its_content),
		cmocka_unit_test(test_reset_and_done_allow_reuse),
		cmocka_unit_test(test_each_and_find),
		cmocka_unit_test(test_copies),
#ifdef IS_POISONED
		cmocka_unit_test(test_sanitizer_sees_dead_and_foreign_bytes),
		cmocka_unit_test(test_reset_gives_memory_back),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
