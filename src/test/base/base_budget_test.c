#include "base/budget_children.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/memory.h"
#include "test/support/support.h"

#define MIB ((size_t)1 << 20)

static void test_limit_of_one(void **state)
{
	struct budget budget = { .name = "one pass (--x)",
				 .fix = "raise --x",
				 .limit_bytes = 10 * MIB };
	struct err err;

	(void)state;
	assert_true(budget_charge(&budget, 4 * MIB));
	assert_true(budget_charge(&budget, 6 * MIB));
	assert_false(budget_charge(&budget, 1));
	assert_int_equal(budget.used_bytes, 10 * MIB);
	assert_int_equal(budget_refuse(&budget, 1, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_string_equal(err.text,
			    "more than the 10 MiB of memory for one pass (--x); raise --x");
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
		struct budget hogs[MANY], small = { .parent = &shared };
		size_t wanted = 2 * shared.limit_bytes / (2 * count + 1);
		bool grows = true;
		struct err err;

		for (size_t i = 0; i < count; i++)
			hogs[i] = (struct budget){ .name = "a hog",
						   .limit_bytes = 1000 * MIB,
						   .parent = &shared };
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
		assert_int_equal(err.kind, ERR_MEMORY);
		assert_non_null(
			strstr(err.text, "of the 128 MiB of memory for all (--y) are in use, "));
		assert_non_null(strstr(err.text, " by a hog; it is tried again at the next pass"));
		assert_true(budget_charge(&small, 200 << 10));
		budget_release(&small, 200 << 10);
		for (size_t i = 0; i < count; i++)
			budget_release(&hogs[i], hogs[i].used_bytes);
		assert_int_equal(shared.used_bytes, 0);
	}
}

/* The rule holds at each level: one namespace with many greedy passes has the part of one, so that a
 * second namespace gets as much. */
static void test_fair_parts_at_each_level(void **state)
{
	enum { PASSES = 20, STEP = 64 << 10 };
	struct budget root = { .name = "root", .limit_bytes = 200 * MIB };
	struct budget all = { .name = "all passes", .limit_bytes = 128 * MIB, .parent = &root };
	struct budget spaces[2], passes[2][PASSES];
	bool grows = true;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		spaces[i] = (struct budget){ .name = "a namespace", .parent = &all };
		for (size_t j = 0; j < PASSES; j++)
			passes[i][j] = (struct budget){ .name = "a pass", .parent = &spaces[i] };
	}
	for (size_t i = 0; grows; i++) {
		grows = budget_charge(&passes[0][i % PASSES], STEP);
		grows |= budget_charge(&passes[1][0], STEP);
	}
	assert_in_range(spaces[0].used_bytes, 50 * MIB, 52 * MIB);
	assert_in_range(spaces[1].used_bytes, 50 * MIB, 52 * MIB);
	assert_int_equal(root.used_bytes, spaces[0].used_bytes + spaces[1].used_bytes);
	assert_false(budget_is_over(&passes[0][0]));
	assert_false(budget_take(&passes[0][0], MIB));
	assert_true(budget_is_over(&passes[0][0]));
	assert_int_equal(budget_used(&root), all.used_bytes);
}

/* Memory that is kept: whoever comes first, small ones find room, and what the root has granted does
 * not give way to others. */
static void test_small_ones_find_room_after_many_large_ones(void **state)
{
	enum { LARGE = 20, SMALL = 20, STEP = 16 << 10 };
	struct budget root = { .name = "root", .limit_bytes = 200 * MIB };
	struct budget all = { .name = "all objects",
			      .limit_bytes = 100 * MIB,
			      .spared_bytes = 25 * MIB,
			      .granted_bytes = 100 * MIB,
			      .parent = &root };
	struct budget passes = { .name = "passes", .parent = &root };
	struct budget large[LARGE], small[SMALL];

	(void)state;
	for (size_t i = 0; i < LARGE; i++) {
		large[i] = (struct budget){ .name = "a large one", .parent = &all };
		while (budget_charge(&large[i], STEP))
			;
	}
	assert_in_range(large[0].used_bytes, 49 * MIB, 51 * MIB);
	for (size_t i = 0; i < SMALL; i++) {
		small[i] = (struct budget){ .name = "a small one", .parent = &all };
		for (size_t used = 0; used < 400 << 10; used += STEP)
			assert_true(budget_charge(&small[i], STEP));
	}
	budget_release(&large[0], large[0].used_bytes);
	while (budget_charge(&passes, STEP))
		;
	assert_true(budget_charge(&large[1], 8 * MIB));
	assert_true(budget_is_over(&passes));
}

#define SPACES ((size_t)32)
#define OBJECT_BYTES ((size_t)24 << 10)

static struct budget objects;
static struct budget spaces[SPACES];

/* Objects of all namespaces come in a random order, those of some all at once, as in a list. */
static void store_in_random_order(uint64_t *state, const size_t *demands)
{
	size_t left[SPACES], all = 0;

	objects = (struct budget){ .name = "all objects",
				   .limit_bytes = 72 * MIB,
				   .spared_bytes = 18 * MIB,
				   .granted_bytes = 72 * MIB };
	for (size_t i = 0; i < SPACES; i++) {
		spaces[i] = (struct budget){ .name = "a namespace", .parent = &objects };
		left[i] = demands[i];
		all += demands[i];
	}
	while (all > 0) {
		size_t i = support_random_below(state, SPACES);
		size_t count = support_random_below(state, 2) ? left[i] : left[i] > 0;

		left[i] -= count;
		all -= count;
		while (count-- > 0)
			(void)budget_charge(&spaces[i], OBJECT_BYTES);
	}
}

/* A namespace has for certain, in whatever order objects come: 1/BUDGET_SMALL of the limit, for as many as
 * the spared part has room for. Above that the order decides, and no rule that never takes memory back can do
 * without: the first one does not know whether others come. */
static void test_parts_in_any_order(void **state)
{
	size_t certain = 72 * MIB / BUDGET_SMALL / OBJECT_BYTES, large[2] = { 0, 0 };
	uint64_t random = 7;

	(void)state;
	for (int world = 0; world < 100; world++) {
		size_t demands[SPACES];

		for (size_t i = 0; i < SPACES; i++)
			demands[i] = support_random_below(&random, 10) < 3 ?
					     support_random_below(&random, 3000) :
					     support_random_below(&random, certain + 1);
		for (int order = 0; order < 5; order++) {
			store_in_random_order(&random, demands);
			assert_true(objects.used_bytes <= objects.limit_bytes);
			for (size_t i = 0; i < SPACES; i++) {
				size_t kept = spaces[i].used_bytes / OBJECT_BYTES;

				assert_true(kept >= (demands[i] < certain ? demands[i] : certain));
				assert_true(spaces[i].used_bytes <= objects.limit_bytes / 2);
			}
		}
	}
	for (size_t first = 0; first < 2; first++) {
		store_in_random_order(&random, (size_t[SPACES]){ 0 });
		while (budget_charge(&spaces[first], OBJECT_BYTES))
			;
		while (budget_charge(&spaces[1 - first], OBJECT_BYTES))
			;
		large[first] = spaces[0].used_bytes;
	}
	assert_true(large[0] > 2 * large[1]);
}

/* For who waits for a fall: the restart forgets an older peak. */
static size_t beside;

static size_t measure(void)
{
	return beside;
}

/* Blocks that are charged nowhere count in the root and in no child. */
static void test_measured_root(void **state)
{
	struct budget root = { .name = "all", .limit_bytes = 100 * MIB, .measure = measure };
	struct budget child = { .name = "one", .limit_bytes = 90 * MIB, .parent = &root };
	struct err err;

	(void)state;
	beside = 10 * MIB;
	assert_true(budget_charge(&child, 20 * MIB));
	assert_int_equal(budget_used(&root), 20 * MIB);
	beside = 80 * MIB;
	assert_int_equal(budget_used(&root), 80 * MIB);
	assert_int_equal(budget_used(&child), 20 * MIB);
	assert_false(budget_charge(&child, 15 * MIB));
	assert_int_equal(budget_refuse(&child, 15 * MIB, &err), -1);
	assert_non_null(strstr(err.text, "80 MiB of the 100 MiB of memory for all are in use, "
					 "20 MiB by one"));
	beside = 0;
	assert_true(budget_charge(&child, 15 * MIB));
	budget_release(&child, 35 * MIB);
}

/* Others may hold all of the root, charged or not: the passes have the part that is granted to them, and their
 * children share that. */
static void test_a_grant_holds_in_a_full_root(void **state)
{
	enum { STEP = 16 << 10 };
	struct budget root = { .name = "all", .limit_bytes = 100 * MIB, .measure = measure };
	struct budget passes = { .name = "passes",
				 .limit_bytes = 80 * MIB,
				 .granted_bytes = 15 * MIB,
				 .parent = &root };
	struct budget hog = { .name = "a hog", .parent = &passes };
	struct budget honest = { .name = "an honest one", .parent = &passes };
	struct err err;

	(void)state;
	beside = 150 * MIB;
	while (budget_charge(&hog, STEP))
		;
	assert_in_range(hog.used_bytes, 10 * MIB - STEP, 10 * MIB);
	assert_int_equal(budget_refuse(&hog, STEP, &err), -1);
	assert_int_equal(err.kind, ERR_MEMORY);
	assert_string_equal(err.text, "150 MiB of the 100 MiB of memory for all are in use, "
				      "10 MiB by a hog; it is tried again at the next pass");
	while (budget_charge(&honest, STEP))
		;
	assert_in_range(honest.used_bytes, 3 * MIB, 4 * MIB);
	assert_true(passes.used_bytes <= 15 * MIB);
	beside = 0;
	assert_true(budget_charge(&honest, 10 * MIB));
	budget_release(&honest, honest.used_bytes);
	budget_release(&hog, hog.used_bytes);
}

/* A hog took more than the grant while there was room, which others have filled since. */
static void test_little_is_not_refused_for_the_excess_of_others(void **state)
{
	struct budget root = { .name = "all", .limit_bytes = 100 * MIB, .measure = measure };
	struct budget passes = { .name = "passes",
				 .limit_bytes = 80 * MIB,
				 .granted_bytes = 15 * MIB,
				 .parent = &root };
	struct budget hog = { .name = "a hog", .parent = &passes };
	struct budget honest = { .name = "an honest one", .parent = &passes };
	struct budget pass = { .name = "its pass", .parent = &honest };

	(void)state;
	beside = 0;
	assert_true(budget_charge(&hog, 30 * MIB));
	beside = 90 * MIB;
	assert_false(budget_charge(&hog, 1 << 10));
	assert_true(budget_charge(&pass, MIB));
	assert_false(budget_charge(&pass, MIB));
	beside = 100 * MIB;
	assert_false(budget_charge(&pass, 1 << 10));
	beside = 0;
	budget_release(&pass, MIB);
	budget_release(&hog, 30 * MIB);
}

/* More than one child has of an empty parent: to wait would not help. */
static void test_too_large_for_a_part(void **state)
{
	struct budget all = { .name = "all answers",
			      .fix = "ask for less",
			      .limit_bytes = 30 * MIB };
	struct budget one = { .name = "client a", .parent = &all };
	struct err err;

	(void)state;
	assert_int_equal(budget_refuse(&one, 21 * MIB, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_string_equal(err.text, "21 MiB at once, more than client a may have of the 30 MiB "
				      "of memory for all answers; ask for less");
	assert_true(budget_charge(&one, 20 * MIB));
	assert_int_equal(budget_refuse(&one, 10 * MIB, &err), -1);
	assert_int_equal(err.kind, ERR_MEMORY);
}

static void test_recent_peak(void **state)
{
	struct budget budget = { .name = "x" };

	(void)state;
	(void)budget_take(&budget, 5 * MIB);
	budget_release(&budget, 4 * MIB);
	assert_int_equal(budget_recent_peak(&budget, false), 5 * MIB);
	assert_int_equal(budget_recent_peak(&budget, true), 5 * MIB);
	assert_int_equal(budget_recent_peak(&budget, false), MIB);
	assert_int_equal(budget_peak(&budget), 5 * MIB);
	(void)budget_take(&budget, MIB);
	assert_int_equal(budget_recent_peak(&budget, false), 2 * MIB);
}

static void test_children_by_name(void **state)
{
	struct budget_children children;
	struct budget *a, *again, *b;
	char name[16];
	struct err err;

	(void)state;
	budget_children_init(&children, budget_new("all objects", "delete some", 10 * MIB, NULL),
			     "the objects of namespace");
	a = budget_children_get(&children, "a");
	again = budget_children_get(&children, "a");
	b = budget_children_get(&children, "b");
	assert_ptr_equal(a, again);
	assert_ptr_not_equal(a, b);
	assert_true(budget_charge(a, 6 * MIB));
	assert_int_equal(budget_refuse(a, MIB, &err), -1);
	assert_string_equal(err.text, "6 MiB of the 10 MiB of memory for all objects are in use, "
				      "6 MiB by the objects of namespace a; delete some");
	budget_free(again);
	budget_free(b);
	budget_free(a); /* its charges keep it */
	for (size_t i = 0; i < 1000; i++) {
		(void)snprintf(name, sizeof(name), "n%zu", i);
		budget_free(budget_children_get(&children, name));
	}
	assert_in_range(children.budgets.count, 1, 64);
	a = budget_children_get(&children, "a");
	assert_int_equal(budget_used(a), 6 * MIB);
	budget_release(a, 6 * MIB);
	budget_free(a);
	assert_null(budget_children_get(NULL, "a"));
	budget_children_done(&children);
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
		cmocka_unit_test(test_fair_parts_at_each_level),
		cmocka_unit_test(test_small_ones_find_room_after_many_large_ones),
		cmocka_unit_test(test_parts_in_any_order),
		cmocka_unit_test(test_measured_root),
		cmocka_unit_test(test_a_grant_holds_in_a_full_root),
		cmocka_unit_test(test_little_is_not_refused_for_the_excess_of_others),
		cmocka_unit_test(test_too_large_for_a_part),
		cmocka_unit_test(test_recent_peak),
		cmocka_unit_test(test_children_by_name),
		cmocka_unit_test(test_arena_over_its_budget),
		cmocka_unit_test(test_buffer_over_its_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
