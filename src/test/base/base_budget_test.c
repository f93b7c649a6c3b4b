#include "base/budget.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/memory.h"
#include "test/support/support.h"

#define MIB ((size_t)1 << 20)

static void test_limit_of_one(void **state)
{
	struct budget budget = { .name = "one pass (--x)", .limit_bytes = 10 * MIB };
	struct err err;

	(void)state;
	assert_true(budget_charge(&budget, 4 * MIB));
	assert_true(budget_charge(&budget, 6 * MIB));
	assert_false(budget_charge(&budget, 1));
	assert_int_equal(budget.used_bytes, 10 * MIB);
	assert_int_equal(budget_refuse(&budget, 1, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_string_equal(err.text, "more than the 10 MiB of memory for one pass (--x)");
	budget_release(&budget, 10 * MIB);
	assert_int_equal(budget.used_bytes, 0);
	assert_true(budget.peak_bytes >= 10 * MIB);
	EXPECT_CHECK(budget_release(&budget, 1));
}

static void test_no_limit(void **state)
{
	struct budget budget = { .limit_bytes = 0 };

	(void)state;
	assert_true(budget_charge(NULL, 1));
	budget_release(NULL, 1);
	assert_true(budget_charge(&budget, SIZE_MAX / 2));
}

/* n that take all they get have 2/(2n + 1) each, and a small one still gets in. */
static void test_fair_parts_of_a_shared_budget(void **state)
{
	enum { MANY = 100, STEP = 1 << 10 };

	(void)state;
	for (size_t count = 1; count <= MANY; count *= 10) {
		struct budget shared = { .name = "all (--y)", .limit_bytes = 128 * MIB };
		struct budget hogs[MANY], small = { .shared = &shared };
		size_t wanted = 2 * shared.limit_bytes / (2 * count + 1);
		bool grows = true;
		struct err err;

		for (size_t i = 0; i < count; i++)
			hogs[i] = (struct budget){ .limit_bytes = 1000 * MIB, .shared = &shared };
		while (grows) {
			grows = false;
			for (size_t i = 0; i < count; i++)
				grows |= budget_charge(&hogs[i], STEP);
		}
		for (size_t i = 0; i < count; i++)
			assert_in_range(hogs[i].used_bytes, wanted - 2 * (size_t)STEP,
					wanted + STEP);
		assert_true(shared.used_bytes < shared.limit_bytes);
		assert_int_equal(budget_refuse(&hogs[0], STEP, &err), -1);
		assert_int_equal(err.kind, ERR_RETRY);
		assert_non_null(strstr(err.text, "of the 128 MiB of memory for all (--y) are in "
						 "use; it is tried again at the next pass"));
		assert_true(budget_charge(&small, 200 << 10));
		budget_release(&small, 200 << 10);
		for (size_t i = 0; i < count; i++)
			budget_release(&hogs[i], hogs[i].used_bytes);
		assert_int_equal(shared.used_bytes, 0);
	}
}

/* An arena never fails: it reports that it is over its budget until it is reset. */
static void test_arena_over_its_budget(void **state)
{
	struct budget budget = { .name = "x", .limit_bytes = MIB };
	struct arena arena = { .budget = &budget };

	(void)state;
	(void)arena_alloc(&arena, MIB / 2);
	assert_false(arena.over_budget);
	assert_in_range(budget.used_bytes, MIB / 2, MIB / 2 + 8192);
	(void)arena_alloc(&arena, MIB);
	assert_true(arena.over_budget);
	assert_true(budget.used_bytes > MIB);
	(void)arena_alloc(&arena, 1);
	assert_true(arena.over_budget);
	arena_reset(&arena);
	assert_false(arena.over_budget);
	assert_true(budget.used_bytes < MIB / 2);
	(void)arena_alloc(&arena, MIB * 2);
	assert_true(arena.over_budget);
	arena_done(&arena);
	assert_int_equal(budget.used_bytes, 0);
	assert_ptr_equal(arena.budget, &budget);
}

static void test_buffer_over_its_budget(void **state)
{
	AUTO(buf_done) struct buf buf;
	struct budget budget = { .name = "x", .limit_bytes = MIB };
	char bytes[1000] = "";
	size_t added = 0;

	(void)state;
	buf_init(&buf, 100 * MIB);
	buf.budget = &budget;
	while (buf_add(&buf, bytes, sizeof(bytes)) == 0)
		added += sizeof(bytes);
	assert_in_range(added, MIB / 4, MIB);
	assert_true(buf.overflowed);
	assert_int_equal(buf.size, added);
	assert_int_equal(budget.used_bytes, buf.capacity);
	memory_free(buf_steal(&buf));
	assert_int_equal(budget.used_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limit_of_one),
		cmocka_unit_test(test_no_limit),
		cmocka_unit_test(test_fair_parts_of_a_shared_budget),
		cmocka_unit_test(test_arena_over_its_budget),
		cmocka_unit_test(test_buffer_over_its_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
