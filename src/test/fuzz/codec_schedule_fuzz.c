/* A schedule: bytes of a time, a cron expression in one line, and a time zone file. Laws: a refusal
 * has a reason; a zone that is read ascends and stays in its range; the state of a window changes
 * at its next change and not before. */
#include "fuzz.h"

#include <string.h>

#include "base/memory.h"
#include "codec/text/duration.h"
#include "codec/text/tzif.h"
#include "feature/schedules/codec/cron.h"
#include "feature/schedules/core/calendar.h"

#define FROM INT64_C(1767225600000) /* 2026-01-01T00:00:00Z */
#define DAY_MS INT64_C(86400000)

static void check_zone(const struct time_zone *zone)
{
	REQUIRE(zone->offset_seconds >= TIME_ZONE_OFFSET_MIN &&
		zone->offset_seconds <= TIME_ZONE_OFFSET_MAX);
	for (size_t i = 0; i < zone->change_count; i++) {
		const struct time_zone_change *change = &zone->changes[i];

		REQUIRE(change->offset_seconds >= TIME_ZONE_OFFSET_MIN &&
			change->offset_seconds <= TIME_ZONE_OFFSET_MAX);
		REQUIRE(change->at > (i > 0 ? change[-1].at : FROM));
	}
}

static void check_window(const struct cron *cron, int64_t duration_ms, const struct time_zone *zone,
			 time_ms now)
{
	struct calendar_window window = calendar_window(cron, duration_ms, zone, now);
	time_ms next = window.next_change;

	if (next == TIME_NONE)
		return;
	REQUIRE(next > now);
	REQUIRE(calendar_window(cron, duration_ms, zone, next - 1).active == window.active);
	REQUIRE(calendar_window(cron, duration_ms, zone, next).active != window.active);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct time_zone zone = { .name = "" };
	const uint8_t *line, *end;
	const char *problem = NULL;
	int64_t duration_ms, now;
	struct cron cron;

	if (size < 5)
		return 0;
	now = FROM + (data[0] << 8 | data[1]) * (DAY_MS / 179);
	duration_ms = CALENDAR_DURATION_MIN_MS * (1 + (data[2] << 8 | data[3]) % 44640);
	line = data + 4;
	end = memchr(line, '\n', size - 4);
	end = end ? end : data + size;
	if (cron_parse(arena_strndup(&arena, (const char *)line, (size_t)(end - line)), &cron,
		       &problem)) {
		REQUIRE(problem != NULL);
		return 0;
	}
	end += end < data + size;
	if (tzif_read(end, (size_t)(data + size - end), FROM, FROM + 450 * DAY_MS, &arena, &zone,
		      &problem))
		REQUIRE(problem != NULL);
	check_zone(&zone);
	check_window(&cron, duration_ms, &zone, now);
	return 0;
}
