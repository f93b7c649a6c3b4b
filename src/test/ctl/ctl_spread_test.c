/* Clusters of a fleet whose names differ in a number start at different times. */
#include "ctl/queue/spread.h"

#include <stdio.h>

#include "test/support/support.h"

#define CLUSTERS 10000
#define SLOTS 10
#define SCAN_MS 1000
#define REPORT_MS 5000

static int64_t of(int number, enum spread what, int64_t interval_ms)
{
	char key[64];

	(void)snprintf(key, sizeof(key), "team-%d/cluster-%05d", number % 7, number);
	return spread_ms(key, what, interval_ms);
}

static void test_within_the_interval(void **state)
{
	(void)state;
	for (int i = 0; i < CLUSTERS; i++) {
		int64_t at = of(i, SPREAD_SCANS, SCAN_MS);

		assert_true(at >= 0 && at < SCAN_MS && at % SPREAD_SLOT_MS == 0);
		assert_int_equal(at, of(i, SPREAD_SCANS, SCAN_MS));
	}
	assert_int_equal(of(1, SPREAD_SCANS, 1), 0);
}

/* Each tenth of the reports is spread evenly over the tenths of the scans: 100 of 10,000, give or
 * take. */
static void test_scans_and_reports_are_independent(void **state)
{
	int count[SLOTS][SLOTS] = { 0 };

	(void)state;
	for (int i = 0; i < CLUSTERS; i++)
		count[of(i, SPREAD_SCANS, SCAN_MS) * SLOTS / SCAN_MS]
		     [of(i, SPREAD_REPORTS, REPORT_MS) * SLOTS / REPORT_MS]++;
	for (int scan = 0; scan < SLOTS; scan++)
		for (int report = 0; report < SLOTS; report++)
			assert_in_range(count[scan][report], 50, 150);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_within_the_interval),
		cmocka_unit_test(test_scans_and_reports_are_independent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
