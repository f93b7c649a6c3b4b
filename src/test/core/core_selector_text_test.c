/* Selectors in short, for messages. */
#include "feature/device_claims/core/selector_text.h"

#include <string.h>

#include "base/memory.h"
#include "test/support/support.h"

static void check(const char *text, const char *wanted)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	assert_string_equal(selector_text_short(text, &arena), wanted);
}

static void test_comparisons(void **state)
{
	(void)state;
	check("device.attributes['gpu.nvidia.com'].architecture == 'Hopper'",
	      "architecture == Hopper");
	check("device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('80Gi')) >= 0",
	      "memory >= 80Gi");
	check("device.capacity[\"gpu.nvidia.com\"].memory.isGreaterThan(quantity(\"80Gi\"))",
	      "memory > 80Gi");
	check("device.attributes['d'].driverVersion.isLessThan(semver('570.0.0'))",
	      "driverVersion < 570.0.0");
	check("device.driver == 'd' &&\n\t device.attributes['d'].a == 1 || b",
	      "driver == d and a == 1 or b");
}

/* Texts of any user: any other form is copied, and nothing is read behind the end. */
static void test_other_texts(void **state)
{
	char many[3 * SELECTOR_SHORT_MAX];
	char wanted[SELECTOR_SHORT_MAX + 4];

	(void)state;
	check("", "");
	check("device.", "");
	check("device.attributes['a", "attributes[a");
	check("a.compareTo(quantity('1')) >", "a.compareTo(quantity(1)) >");
	check("a.compareTo(quantity('1", "a.compareTo(quantity(1");
	check("a\x01\x1b[1m\xff b", "a [1m b");
	memset(many, 'x', sizeof(many));
	many[sizeof(many) - 1] = '\0';
	memset(wanted, 'x', SELECTOR_SHORT_MAX);
	memcpy(wanted + SELECTOR_SHORT_MAX, "...", 4);
	check(many, wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_comparisons),
		cmocka_unit_test(test_other_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
