#include "core/model/ray_state.h"

#include "test/support/support.h"

static void test_head_is_declared_by_its_resource(void **state)
{
	const struct resource head[] = { { "CPU", 10000 }, { RAY_HEAD_RESOURCE, 10000 } };
	const struct ray_node node = { .total = { head, 2 } };
	const struct ray_node worker = { .total = { head, 1 }, .type_name = "headgroup" };

	(void)state;
	assert_true(ray_node_is_head(&node));
	assert_false(ray_node_is_head(&worker));
}

static void test_alive_by_status(void **state)
{
	(void)state;
	for (int status = -1; status < 7; status++) {
		const struct ray_node node = { .status = (enum ray_node_status)status };
		bool wanted = status == RAY_NODE_RUNNING || status == RAY_NODE_IDLE ||
			      status == RAY_NODE_DRAINING;

		assert_int_equal(ray_node_is_alive(&node), wanted);
	}
}

static const struct resource total[] = { { "CPU", 20000 }, { "GPU", 10000 }, { "zero", 0 } };

static bool is_unused(const struct resource *available, size_t count)
{
	const struct ray_node node = { .total = { total, 3 }, .available = { available, count } };

	return ray_node_is_unused(&node);
}

static void test_unused_when_nothing_is_taken(void **state)
{
	const struct resource all[] = { { "CPU", 20000 }, { "GPU", 10000 } };
	const struct resource more[] = { { "CPU", 30000 }, { "GPU", 10000 }, { "new", 1 } };

	(void)state;
	assert_true(is_unused(all, 2)); /* an absent key of a total of 0 is nothing taken */
	assert_true(is_unused(more, 3));
}

/* The dangerous answer is "unused": in doubt it must be used. */
static void test_used_when_anything_is_taken(void **state)
{
	const struct resource fraction[] = { { "CPU", 19999 }, { "GPU", 10000 } };
	const struct resource key_dropped[] = { { "CPU", 20000 } };
	const struct resource implicit[] = { { "CPU", 20000 },
					     { "GPU", 10000 },
					     { RAY_IMPLICIT_RESOURCE_PREFIX "x", 9999 } };
	const struct resource implicit_free[] = { { "CPU", 20000 },
						  { "GPU", 10000 },
						  { RAY_IMPLICIT_RESOURCE_PREFIX "x", 10000 } };

	(void)state;
	assert_false(is_unused(fraction, 2));
	assert_false(is_unused(key_dropped, 1));
	assert_false(is_unused(NULL, 0));
	assert_false(is_unused(implicit, 3));
	assert_true(is_unused(implicit_free, 3));
}

static void test_activity_is_use(void **state)
{
	const char *const activities[] = { "Busy: object store" };
	struct ray_node node = {
		.total = { total, 3 },
		.available = { total, 3 },
		.activity = { activities, 1 },
	};

	(void)state;
	for (int status = 0; status <= RAY_NODE_DRAINING; status++) {
		node.status = (enum ray_node_status)status;
		assert_true(ray_node_is_unused(&node) == (status == RAY_NODE_IDLE));
	}
}

static void test_node_with_an_invalid_amount_is_in_use(void **state)
{
	const struct ray_node node = {
		.total = { total, 3 },
		.available = { total, 3 },
		.problem = "available GPU: NaN",
	};

	(void)state;
	assert_false(ray_node_is_unused(&node));
}

static void test_idle_durations_are_bounded(void **state)
{
	(void)state;
	assert_int_equal(ray_idle_duration_ms(INT64_MIN), 0);
	assert_int_equal(ray_idle_duration_ms(-1), 0);
	assert_int_equal(ray_idle_duration_ms(61000), 61000);
	assert_int_equal(ray_idle_duration_ms(INT64_MAX), RAY_IDLE_DURATION_MAX_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_head_is_declared_by_its_resource),
		cmocka_unit_test(test_alive_by_status),
		cmocka_unit_test(test_unused_when_nothing_is_taken),
		cmocka_unit_test(test_used_when_anything_is_taken),
		cmocka_unit_test(test_activity_is_use),
		cmocka_unit_test(test_node_with_an_invalid_amount_is_in_use),
		cmocka_unit_test(test_idle_durations_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
