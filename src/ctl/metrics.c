#include "ctl/metrics.h"

#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/memory.h"
#include "ctl/metrics_text.h"
#include "net/process.h"

/* One series of a counter or histogram: the label values are kept in its key, "first\nsecond". */
struct metrics_series {
	uint64_t count;
	struct metrics_histogram histogram;
};

struct metrics {
	time_ms start;
	struct map series[METRICS_COUNT]; /* used by METRICS_PROGRAM_TABLE alone */
};

struct metrics *metrics_new(time_ms start)
{
	struct metrics *metrics = memory_alloc(sizeof(*metrics));

	metrics->start = start;
	return metrics;
}

void metrics_free(struct metrics *metrics)
{
	if (!metrics)
		return;
	for (size_t id = 0; id < METRICS_COUNT; id++) {
		for (size_t i = 0; i < metrics->series[id].count; i++)
			memory_free(metrics->series[id].entries[i].value);
		map_done(&metrics->series[id]);
	}
	memory_free(metrics);
}

static struct metrics_series *find_series(struct metrics *metrics, enum metrics_id id,
					  const char *first, const char *second)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct map *map = &metrics->series[id];
	const char *key = arena_printf(&scratch, "%s\n%s", first, second);
	struct metrics_series *series = map_get(map, key);

	if (series)
		return series;
	if (map->count >= METRICS_SERIES_MAX && strcmp(first, "other") != 0)
		return find_series(metrics, id, "other", "other");
	series = memory_alloc(sizeof(*series));
	map_set(map, key, series);
	return series;
}

void metrics_count(struct metrics *metrics, enum metrics_id id, const char *first,
		   const char *second)
{
	if (metrics)
		find_series(metrics, id, first, second)->count++;
}

void metrics_duration(struct metrics *metrics, enum metrics_id id, const char *label,
		      double seconds)
{
	if (metrics)
		metrics_histogram_add(id, &find_series(metrics, id, label, "")->histogram, seconds);
}

/* ---- exposition ---- */

static bool is_histogram(enum metrics_id id)
{
	return id == METRICS_RECONCILE_DURATION || id == METRICS_DEMAND_TO_PATCH ||
	       id == METRICS_PATCH_TO_POD;
}

static void write_series(const struct metrics *metrics, enum metrics_id id, struct buf *buf)
{
	struct metrics_family family = METRICS_FAMILY(buf, id);

	for (size_t i = 0; i < metrics->series[id].count; i++) {
		AUTO(arena_done) struct arena scratch = ARENA_INIT;
		const struct metrics_series *series = metrics->series[id].entries[i].value;
		const char *key = metrics->series[id].entries[i].key;
		const char *line = strchr(key, '\n');
		const char *values[] = { arena_strndup(&scratch, key, (size_t)(line - key)),
					 line + 1 };

		if (is_histogram(id))
			metrics_text_histogram(&family, values, &series->histogram);
		else
			metrics_text_integer(&family, values, (int64_t)series->count);
	}
}

static void write_gauge(struct buf *buf, enum metrics_id id, const char *label, double value)
{
	struct metrics_family family = METRICS_FAMILY(buf, id);

	metrics_text_double(&family, &label, value);
}

static void write_clusters(const struct metrics_now *now, struct buf *buf)
{
	struct metrics_family family = METRICS_FAMILY(buf, METRICS_CLUSTERS);

	metrics_text_integer(&family, (const char *const[]){ "managed" }, (int64_t)now->managed);
	metrics_text_integer(&family, (const char *const[]){ "hands_off" },
			     (int64_t)now->hands_off);
}

static void write_process(const struct metrics *metrics, struct buf *buf)
{
	struct process_figures figures;

	process_read(&figures);
	write_gauge(buf, METRICS_PROCESS_CPU, "", figures.cpu_seconds);
	write_gauge(buf, METRICS_PROCESS_RESIDENT, "", (double)figures.resident_bytes);
	if (figures.open_fds >= 0)
		write_gauge(buf, METRICS_PROCESS_OPEN_FDS, "", (double)figures.open_fds);
	if (figures.max_fds >= 0)
		write_gauge(buf, METRICS_PROCESS_MAX_FDS, "", (double)figures.max_fds);
	write_gauge(buf, METRICS_PROCESS_START_TIME, "", (double)metrics->start / 1000);
}

void metrics_write(const struct metrics *metrics, const struct metrics_now *now, struct buf *buf)
{
	write_gauge(buf, METRICS_BUILD_INFO, RAYSCALER_VERSION, 1);
	write_gauge(buf, METRICS_LEADER, "", now->leader);
	write_clusters(now, buf);
	for (size_t id = 0; id < METRICS_COUNT; id++)
		write_series(metrics, (enum metrics_id)id, buf);
	write_process(metrics, buf);
}
