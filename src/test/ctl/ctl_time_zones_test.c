/* The time zones of schedules, from the files of this machine. */
#include "ctl/shared/time_zones.h"

#include <string.h>

#include "base/memory.h"
#include "core/model/time_zone.h"
#include "test/support/support.h"

#define NOW INT64_C(1795168800000) /* 2026-11-20T10:00:00Z */
#define DAY_MS INT64_C(86400000)

static struct autoscaler_schedule schedules[4];

static struct autoscaler_object object_of(const char *const names[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		schedules[i] = (struct autoscaler_schedule){ .time_zone = names[i] };
	return (struct autoscaler_object){ .schedules = schedules, .schedule_count = count };
}

static void each_zone_is_there_once(void **state)
{
	static const char *const names[] = { "Europe/Berlin", "", "UTC", "Europe/Berlin" };
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct autoscaler_object object = object_of(names, SUPPORT_COUNT(names));
	struct time_zones *zones = time_zones_new();
	const struct time_zone *found;
	size_t count;

	(void)state;
	assert_null(time_zones_of(zones, NULL, NOW, &arena, &count));
	assert_int_equal(count, 0);
	/* The second time from memory, then for a time at which more is needed. */
	for (int day = 0; day < 3; day++) {
		found = time_zones_of(zones, &object, NOW + day / 2 * DAY_MS * 400, &arena, &count);
		assert_int_equal(count, 1);
		assert_string_equal(found->name, "Europe/Berlin");
		assert_null(found->problem);
		assert_true(found->change_count >= 2);
		assert_true(found->changes[found->change_count - 1].at >
			    NOW + day / 2 * DAY_MS * 400 + 200 * DAY_MS);
	}
	time_zones_free(zones);
	assert_string_equal(found->name, "Europe/Berlin");
}

static void others_have_a_problem(void **state)
{
	static const struct {
		const char *name, *problem;
	} cases[] = {
		{ "Mars/Phobos",
		  "is not in /usr/share/zoneinfo (package tzdata): write a name such as "
		  "Europe/Berlin" },
		{ "Europe/Berlin/Mitte",
		  "is not in /usr/share/zoneinfo (package tzdata): write a name such as "
		  "Europe/Berlin" },
		{ "../../../etc/passwd", "is not a name like Europe/Berlin" },
		{ "/etc/passwd", "is not a name like Europe/Berlin" },
		{ "zone.tab", "is not a name like Europe/Berlin" },
		{ "Europe", "cannot be read from /usr/share/zoneinfo/Europe: Is a directory" },
		{ "leapseconds",
		  "cannot be used: /usr/share/zoneinfo/leapseconds is not a time zone file (TZif, "
		  "RFC 8536)" },
	};
	struct time_zones *zones = time_zones_new();

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct autoscaler_object object = object_of(&cases[i].name, 1);
		const struct time_zone *found;
		size_t count;

		found = time_zones_of(zones, &object, NOW, &arena, &count);
		assert_int_equal(count, 1);
		assert_string_equal(found->name, cases[i].name);
		assert_string_equal(found->problem, cases[i].problem);
	}
	time_zones_free(zones);
	time_zones_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_zone_is_there_once),
		cmocka_unit_test(others_have_a_problem),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
