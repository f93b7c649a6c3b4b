/* A Pod with more names of devices than any machine has: only a limited number of them is read. */
#include "core/capacity/device_model.h"

#include <string.h>

#include "base/memory.h"
#include "core/model/resources.h"
#include "test/support/support.h"

#define NAMES 20000

static void test_ceiling(void **state)
{
	static struct quantity limits[NAMES];
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct container container = { .name = "ray", .limits = { limits, NAMES } };
	struct device_model model;

	(void)state;
	for (size_t i = 0; i < NAMES; i++)
		limits[i] =
			(struct quantity){ .name = arena_printf(&arena, "example.com/%05zu-gpu", i),
					   .text = "1",
					   .valid = true,
					   .amount = RESOURCE_UNIT };
	device_model_make(&container, device_table_builtin(), true, &arena, &model);
	assert_int_equal(model.held_count, DEVICE_HELD_MAX);
	assert_string_equal(model.resource, "example.com/00000-gpu");
	/* A name that is there twice counts once. */
	limits[1].name = limits[0].name;
	container.limits.count = 2;
	device_model_make(&container, device_table_builtin(), true, &arena, &model);
	assert_int_equal(model.held_count, 1);
}

/* KubeRay's rule for the resource that Ray gets: the name ends with gpu, or is a MIG profile
 * without attributes. */
static void test_what_ray_is_declared(void **state)
{
	static const char *const rows[][2] = {
		{ "nvidia.com/gpu", "GPU" },
		{ "nvidia.com/mig-1g.5gb", "GPU" },
		{ "nvidia.com/mig-1g.5gb.me", NULL },
		{ "nvidia.com/mig-g.5gb", NULL },
		{ "nvidia.com/mig-1x.5gb", NULL },
		{ "nvidia.com/mig-1g.gb", NULL },
		{ "nvidia.com/mig-", NULL },
		{ "google.com/tpu", "TPU" },
		{ "cpu", NULL },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(rows); i++) {
		const char *declared = device_ray_resource(rows[i][0]);

		if (!rows[i][1])
			assert_null(declared);
		else
			assert_string_equal(declared, rows[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_ray_is_declared),
		cmocka_unit_test(test_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
