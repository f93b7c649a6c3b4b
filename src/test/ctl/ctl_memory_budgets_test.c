/* ctl/shared/memory_budgets: the parts of the limit. */
#include "ctl/shared/memory_budgets.h"

#include "ctl/shared/options.h"
#include "test/support/support.h"

#define MIB ((size_t)1 << 20)

static const struct given {
	size_t limit_mib;
	int64_t passes_mib;                           /* of the flag */
	size_t root_mib, objects_mib, all_passes_mib; /* in MiB, 0: none */
} givens[] = {
	{ 256, 0, 144, 72, 128 }, { 256, 64, 144, 72, 64 }, { 1024, 0, 604, 302, 512 },
	{ 32, 0, 9, 4, 16 },      { 0, 0, 0, 0, 128 },      { 0, 40, 0, 0, 40 },
};

static void test_parts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(givens) / sizeof(givens[0]); i++) {
		struct options options;
		struct memory_budgets budgets;

		options_init(&options);
		options.memory_budget_mib = givens[i].passes_mib;
		memory_budgets_init(&budgets, &options, givens[i].limit_mib * MIB);
		assert_int_equal(budgets.root->limit_bytes / MIB, givens[i].root_mib);
		assert_int_equal(budgets.objects.parent->limit_bytes / MIB, givens[i].objects_mib);
		assert_int_equal(budgets.passes.parent->limit_bytes / MIB,
				 givens[i].all_passes_mib);
		assert_true(budgets.objects.parent->granted_bytes + budgets.views->granted_bytes +
				    budgets.beside->granted_bytes +
				    budgets.passes.parent->granted_bytes <=
			    budgets.root->limit_bytes);
		memory_budgets_done(&budgets);
		options_done(&options);
	}
}

static size_t heap(void)
{
	return 200 * MIB;
}

/* After a restart objects and views come first, and blocks that are charged nowhere. */
static void test_passes_find_room_after_everything_else(void **state)
{
	struct options options;
	struct memory_budgets budgets;
	struct budget *large, *small;

	(void)state;
	options_init(&options);
	memory_budgets_init(&budgets, &options, 256 * MIB);
	budgets.root->measure = heap;
	large = budget_children_get(&budgets.passes, "hostile");
	small = budget_children_get(&budgets.passes, "honest");
	while (budget_charge(large, MIB / 8))
		;
	assert_in_range(budget_used(large), 14 * MIB, 16 * MIB);
	assert_true(budget_charge(small, 4 * MIB));
	budget_release(large, budget_used(large));
	budget_release(small, budget_used(small));
	budget_free(large);
	budget_free(small);
	memory_budgets_done(&budgets);
	options_done(&options);
}

/* Objects of one namespace and passes of many never take the last of what the container has. */
static void test_the_sum_is_below_the_limit(void **state)
{
	struct options options;
	struct memory_budgets budgets;
	struct budget *objects, *passes[20];

	(void)state;
	options_init(&options);
	memory_budgets_init(&budgets, &options, 256 * MIB);
	objects = budget_children_get(&budgets.objects, "a");
	for (size_t i = 0; i < 20; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "n%zu", i);
		passes[i] = budget_children_get(&budgets.passes, name);
		while (budget_charge(passes[i], MIB / 8))
			;
	}
	while (budget_charge(objects, MIB / 8))
		;
	assert_in_range(budget_used(objects), 30 * MIB, 37 * MIB);
	assert_true(budget_used(budgets.root) < 145 * MIB);
	for (size_t i = 0; i < 20; i++) {
		budget_release(passes[i], budget_used(passes[i]));
		budget_free(passes[i]);
	}
	budget_release(objects, budget_used(objects));
	budget_free(objects);
	memory_budgets_done(&budgets);
	options_done(&options);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_passes_find_room_after_everything_else),
		cmocka_unit_test(test_the_sum_is_below_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
