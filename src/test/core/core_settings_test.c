#include "core/model/settings.h"

#include <string.h>

#include "test/support/support.h"

static void test_defaults(void **state)
{
	struct settings settings;

	(void)state;
	memset(&settings, 0xff, sizeof(settings));
	settings_init(&settings);
	assert_int_equal(settings.idle_timeout_seconds, 60);
	assert_int_equal(settings.mode, MODE_CONTROLLER);
	assert_int_equal(settings.packing, PACKING_RAY);
	assert_int_equal(settings.accelerators.count, 0);
	assert_true(settings.conserve_accelerators);
	assert_int_equal(settings.max_starting_workers, 0);
	assert_int_equal(settings.node_provision_timeout_seconds, 900);
	assert_int_equal(settings.start_timeout_seconds, 1200);
	assert_int_equal(settings.raylet_gone_seconds, 60);
	assert_int_equal(settings.cancel_launch_seconds, 60);
	assert_int_equal(settings.backoff_initial_seconds, 10);
	assert_int_equal(settings.backoff_max_seconds, 600);
	assert_int_equal(settings.stuck_demand_seconds, 15);
	assert_int_equal(settings.state_max_age_seconds, 3);
	assert_int_equal(settings.enforce_max, ENFORCE_MAX_WHEN_IDLE);
	assert_int_equal(settings.max_gpus_per_cluster, 0);
}

static size_t size_of_kind(enum settings_kind kind)
{
	switch (kind) {
	case SETTINGS_INTEGER:
		return sizeof(int64_t);
	case SETTINGS_BOOLEAN:
		return sizeof(bool);
	case SETTINGS_CHOICE:
		return sizeof(int);
	default:
		break;
	}
	return sizeof(struct strings);
}

static void test_rows_describe_the_struct(void **state)
{
	size_t count = 0;
	const struct settings_row *rows = settings_rows(&count);
	size_t end = 0;

	(void)state;
	assert_true(count > 10);
	for (size_t i = 0; i < count; i++) {
		const struct settings_row *row = &rows[i];

		assert_ptr_equal(settings_row_find(row->name), row);
		assert_true(row->offset >= end); /* members in the order of the table, apart */
		end = row->offset + size_of_kind(row->kind);
		assert_true(end <= sizeof(struct settings));
		assert_true(row->minimum <= row->initial && row->initial <= row->maximum);
		assert_true(strlen(row->help) > 0 && strlen(row->unit) > 0);
	}
	assert_null(settings_row_find("idle_timeout_seconds"));
	assert_null(settings_row_find(""));
}

static void test_choices(void **state)
{
	const struct settings_row *mode = settings_row_find("mode");
	const struct settings_row *packing = settings_row_find("packing");
	const struct settings_row *enforce = settings_row_find("enforce-max");

	(void)state;
	assert_int_equal(settings_choice_value(mode, "controller"), MODE_CONTROLLER);
	assert_int_equal(settings_choice_value(mode, "sidecar"), MODE_SIDECAR);
	assert_int_equal(settings_choice_value(packing, "fewest-gpus"), PACKING_FEWEST_GPUS);
	assert_int_equal(settings_choice_value(enforce, "when-idle"), ENFORCE_MAX_WHEN_IDLE);
	assert_int_equal(settings_choice_value(enforce, "now"), ENFORCE_MAX_NOW);
}

static void test_words_that_are_no_choice(void **state)
{
	static const char *const words[] = {
		"", "Sidecar", "side", "sidecars", "controller|", "|sidecar", "controller|sidecar"
	};
	const struct settings_row *mode = settings_row_find("mode");

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(words); i++)
		assert_int_equal(settings_choice_value(mode, words[i]), -1);
	assert_int_equal(settings_choice_value(settings_row_find("accelerators"), "names"), -1);
}

/* The last value of every choice is the row's maximum: a new value needs its enum and bound. */
static void test_words_match_bounds(void **state)
{
	size_t count = 0;
	const struct settings_row *rows = settings_rows(&count);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		const char *last;

		if (rows[i].kind != SETTINGS_CHOICE)
			continue;
		last = strrchr(rows[i].unit, '|') + 1;
		assert_int_equal(settings_choice_value(&rows[i], last), rows[i].maximum);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_rows_describe_the_struct),
		cmocka_unit_test(test_choices),
		cmocka_unit_test(test_words_that_are_no_choice),
		cmocka_unit_test(test_words_match_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
