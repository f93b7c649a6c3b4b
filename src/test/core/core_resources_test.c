#include "core/model/resources.h"

#include <stdio.h>
#include <string.h>

#include "test/support/support.h"

static struct arena arena;

static int forget(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

static void test_nothing_is_found_in_nothing(void **state)
{
	const struct resources none = { NULL, 0 };
	const struct labels no_labels = { NULL, 0 };
	struct resources one;

	(void)state;
	assert_null(resources_find(&none, "CPU"));
	assert_int_equal(resources_amount(&none, "CPU", -7), -7);
	assert_null(labels_value(&no_labels, "a"));
	assert_int_equal(resources_sort(NULL, 0).count, 0);
	assert_int_equal(labels_sort(NULL, 0).count, 0);
	assert_string_equal(resources_text(&arena, &none), "{}");
	assert_int_equal(labels_merge(&arena, &no_labels, &no_labels).count, 0);
	one = resources_with(&arena, &none, "GPU", RESOURCE_UNIT);
	assert_int_equal(one.count, 1);
	assert_int_equal(resources_amount(&one, "GPU", 0), RESOURCE_UNIT);
}

static void test_zero_differs_from_absent(void **state)
{
	struct resource items[] = { { "GPU", 0 }, { "CPU", 10000 } };
	struct resource other_items[] = { { "CPU", 10000 } };
	struct resources with = resources_sort(items, 2);
	struct resources without = resources_sort(other_items, 1);

	(void)state;
	assert_non_null(resources_find(&with, "GPU"));
	assert_int_equal(resources_amount(&with, "GPU", 5), 0);
	assert_int_equal(resources_amount(&without, "GPU", 5), 5);
	assert_false(resources_equal(&with, &without));
	assert_true(resources_equal(&with, &with));
}

static void test_equal_compares_names_and_amounts(void **state)
{
	const struct resource one[] = { { "CPU", 1 } }, two[] = { { "CPU", 2 } };
	const struct resource other[] = { { "GPU", 1 } };
	const struct resources a = { one, 1 }, b = { two, 1 }, c = { other, 1 }, none = { NULL, 0 };

	(void)state;
	assert_true(resources_equal(&a, &a));
	assert_false(resources_equal(&a, &b));
	assert_false(resources_equal(&a, &c));
	assert_false(resources_equal(&a, &none));
	assert_true(resources_equal(&none, &none));
}

static void test_sort_keeps_last_of_equal_names(void **state)
{
	struct resource items[] = { { "b", 1 }, { "a", 2 }, { "b", 3 }, { "a", 4 },
				    { "c", 5 }, { "b", 6 }, { "", 7 } };
	struct resources sorted = resources_sort(items, SUPPORT_COUNT(items));

	(void)state;
	assert_int_equal(sorted.count, 4);
	assert_ptr_equal(sorted.at, items);
	assert_string_equal(resources_text(&arena, &sorted),
			    "{: 0.0007, a: 0.0004, b: 0.0006, c: 0.0005}");
}

static void test_with_adds_or_replaces(void **state)
{
	struct resource items[] = { { "b", 1 }, { "d", 2 } };
	struct resources some = resources_sort(items, 2);
	static const char *const names[] = { "a", "b", "c", "d", "e" };

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(names); i++) {
		struct resources more = resources_with(&arena, &some, names[i], 9);

		assert_int_equal(more.count, i % 2 == 0 ? 3 : 2);
		assert_int_equal(resources_amount(&more, names[i], 0), 9);
		for (size_t k = 1; k < more.count; k++)
			assert_true(strcmp(more.at[k - 1].name, more.at[k].name) < 0);
	}
	assert_int_equal(resources_amount(&some, "b", 0), 1); /* the first is kept */
	assert_int_equal(some.count, 2);
}

static void test_amounts_as_text(void **state)
{
	static const struct {
		int64_t amount;
		const char *text;
	} cases[] = {
		{ 0, "0" },
		{ 1, "0.0001" },
		{ 10, "0.001" },
		{ 5000, "0.5" },
		{ 10000, "1" },
		{ 100000, "10" },
		{ 1000000, "100" },
		{ 15001, "1.5001" },
		{ -5000, "-0.5" },
		{ RESOURCE_AMOUNT_MAX, "90000000000000" },
		{ INT64_MAX, "922337203685477.5807" },
		{ INT64_MIN, "-922337203685477.5808" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(cases); i++)
		assert_string_equal(resource_amount_text(&arena, cases[i].amount), cases[i].text);
}

static void test_resources_as_text(void **state)
{
	struct resource items[] = { { "GPU", 5000 }, { "CPU", 10000 } };
	struct resources two = resources_sort(items, 2);

	(void)state;
	assert_string_equal(resources_text(&arena, &two), "{CPU: 1, GPU: 0.5}");
}

/* Whole characters only: the cut one here has two bytes, the 64th and the 65th. */
static void test_long_names_are_cut(void **state)
{
	struct resource item = {
		"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-\xc3\xa4!", 10000
	};
	struct resources one = { &item, 1 };

	(void)state;
	assert_string_equal(
		resources_text(&arena, &one),
		"{abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-...: 1}");
	assert_string_equal(resource_name_text(&arena, "CPU"), "CPU");
}

static void test_labels(void **state)
{
	struct label base_items[] = { { "zone", "a" }, { "market", "spot" }, { "zone", "b" } };
	struct label over_items[] = { { "market", "on-demand" }, { "accelerator", "A100" } };
	struct labels base = labels_sort(base_items, 3);
	struct labels over = labels_sort(over_items, 2);
	struct labels both = labels_merge(&arena, &base, &over);

	(void)state;
	assert_int_equal(base.count, 2);
	assert_string_equal(labels_value(&base, "zone"), "b");
	assert_null(labels_value(&base, "accelerator"));
	assert_int_equal(both.count, 3);
	assert_string_equal(labels_value(&both, "market"), "on-demand");
	assert_string_equal(labels_value(&both, "accelerator"), "A100");
	assert_string_equal(labels_value(&both, "zone"), "b");
	assert_string_equal(labels_value(&base, "market"), "spot");
}

/* Random lists against a plain array indexed by the name's number. */
static void test_matches_a_model(void **state)
{
	enum { NAMES = 40 };
	uint64_t random = 3;

	(void)state;
	for (int round = 0; round < 500; round++) {
		size_t count = support_random_below(&random, 60);
		int64_t model[NAMES];
		struct resource *items = arena_array(&arena, count, sizeof(*items));
		struct resources sorted;
		size_t distinct = 0;

		for (size_t i = 0; i < NAMES; i++)
			model[i] = -1;
		for (size_t i = 0; i < count; i++) {
			size_t name = support_random_below(&random, NAMES);

			model[name] = (int64_t)support_random_below(&random, 3);
			items[i] = (struct resource){ arena_printf(&arena, "r%zu", name),
						      model[name] };
		}
		sorted = resources_sort(items, count);
		for (size_t i = 0; i < NAMES; i++) {
			const char *name = arena_printf(&arena, "r%zu", i);

			assert_int_equal(resources_amount(&sorted, name, -1), model[i]);
			distinct += model[i] >= 0 ? 1 : 0;
		}
		assert_int_equal(sorted.count, distinct);
		arena_reset(&arena);
	}
}

/* A peer may send 100,000 names, in the worst order. */
static void test_many_names_are_sorted_quickly(void **state)
{
	enum { COUNT = 100000 };
	struct resource *items = arena_array(&arena, COUNT, sizeof(*items));
	struct resources sorted;

	(void)state;
	for (int i = 0; i < COUNT; i++)
		items[i] = (struct resource){ arena_printf(&arena, "%08d", COUNT - i), i };
	sorted = resources_sort(items, COUNT);
	assert_int_equal(sorted.count, COUNT);
	assert_int_equal(resources_amount(&sorted, "00000001", -1), COUNT - 1);
}

static void test_print_amount(void **state)
{
	static const struct {
		int64_t amount;
		const char *text;
	} table[] = {
		{ 0, "0" },
		{ 10000, "1" },
		{ 15000, "1.5" },
		{ 1, "0.0001" },
		{ 1010, "0.101" },
		{ -15000, "-1.5" },
		{ INT64_MIN, "-922337203685477.5808" },
		{ RESOURCE_AMOUNT_MAX, "90000000000000" },
	};
	char text[RESOURCE_AMOUNT_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		assert_int_equal(resource_amount_print(table[i].amount, text),
				 strlen(table[i].text));
		assert_string_equal(text, table[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_print_amount),
		cmocka_unit_test_teardown(test_nothing_is_found_in_nothing, forget),
		cmocka_unit_test_teardown(test_zero_differs_from_absent, forget),
		cmocka_unit_test_teardown(test_equal_compares_names_and_amounts, forget),
		cmocka_unit_test_teardown(test_sort_keeps_last_of_equal_names, forget),
		cmocka_unit_test_teardown(test_with_adds_or_replaces, forget),
		cmocka_unit_test_teardown(test_amounts_as_text, forget),
		cmocka_unit_test_teardown(test_resources_as_text, forget),
		cmocka_unit_test_teardown(test_long_names_are_cut, forget),
		cmocka_unit_test_teardown(test_labels, forget),
		cmocka_unit_test_teardown(test_matches_a_model, forget),
		cmocka_unit_test_teardown(test_many_names_are_sorted_quickly, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
