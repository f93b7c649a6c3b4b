#include "base/sort.h"

#include "base/memory.h"
#include "test/support/support.h"

struct item {
	int key;
	size_t place; /* where it was before the sort */
	char filler;  /* a size that is not a power of two */
};

static size_t comparisons;

static int compare(const void *a, const void *b)
{
	const struct item *left = a, *right = b;

	comparisons++;
	return (left->key > right->key) - (left->key < right->key);
}

static void check_sorted(const struct item *items, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		assert_true(items[i - 1].key <= items[i].key);
		if (items[i - 1].key == items[i].key)
			assert_true(items[i - 1].place < items[i].place);
	}
}

static void test_nothing_to_sort(void **state)
{
	struct item one = { .key = 1 };

	(void)state;
	sort_stable(NULL, 0, sizeof(one), compare);
	sort_stable(&one, 1, sizeof(one), compare);
	assert_int_equal(one.key, 1);
}

/* All lengths up to 100 and some longer, few and many equal keys. */
static void test_sorted_and_stable(void **state)
{
	uint64_t random = 11;

	(void)state;
	for (size_t count = 2; count < 3000; count += count < 100 ? 1 : 487) {
		static const size_t ranges[] = { 1, 2, 10, 1000000 };

		for (size_t range = 0; range < SUPPORT_COUNT(ranges); range++) {
			struct item *items = memory_array(count, sizeof(*items));
			size_t sum = 0;

			for (size_t i = 0; i < count; i++) {
				size_t key = support_random_below(&random, ranges[range]);

				items[i] = (struct item){ .key = (int)key, .place = i };
			}
			sort_stable(items, count, sizeof(*items), compare);
			check_sorted(items, count);
			for (size_t i = 0; i < count; i++)
				sum += items[i].place;
			assert_int_equal(sum, count * (count - 1) / 2);
			memory_free(items);
		}
	}
}

/* A peer chooses the order: no order may be slow. */
static void test_comparisons_are_bounded(void **state)
{
	enum { COUNT = 1 << 15, LOG = 15 };
	struct item *items = memory_array(COUNT, sizeof(*items));

	(void)state;
	for (int shape = 0; shape < 3; shape++) {
		for (int i = 0; i < COUNT; i++)
			items[i].key = shape == 0 ? i : shape == 1 ? COUNT - i : i * 7919 % 1000;
		comparisons = 0;
		sort_stable(items, COUNT, sizeof(*items), compare);
		assert_true(comparisons <= (size_t)COUNT * (LOG + 1));
	}
	memory_free(items);
}

static void test_find(void **state)
{
	static const struct item items[] = {
		{ 1, 0, 0 }, { 3, 1, 0 }, { 3, 2, 0 }, { 3, 3, 0 }, { 5, 4, 0 },
	};

	(void)state;
	for (size_t count = 0; count <= sizeof(items) / sizeof(items[0]); count++)
		for (int key = 0; key <= 6; key++) {
			const struct item wanted = { .key = key };
			const struct item *found = SORT_FIND(&wanted, items, count, compare);
			size_t first = 0;

			while (first < count && items[first].key != key)
				first++;
			assert_ptr_equal(found, first < count ? &items[first] : NULL);
		}
	assert_null(sort_find("", NULL, 0, 1, compare));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_to_sort),
		cmocka_unit_test(test_sorted_and_stable),
		cmocka_unit_test(test_comparisons_are_bounded),
		cmocka_unit_test(test_find),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
