#include "feature/record/core/recorded_work.h"

#include <string.h>

#include "base/check.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/sort.h"

#define SUBMIT_STEP_MS 100

/* A row with what is known of it so far. */
struct entry {
	struct ray_work_row row;
	time_ms seen_open; /* the last answer in which it had not ended; TIME_NONE: none */
	time_ms seen_over; /* the first one after it in which it had */
};

struct recorded_work {
	struct arena arena;
	struct map entries; /* "KIND ID": struct entry */
	struct map jobs;    /* id: struct ray_work_job */
	struct map nodes;   /* of workers, id: the time_ms when Ray was ready in it */
	int64_t full;
};

struct recorded_work *recorded_work_new(void)
{
	struct recorded_work *work = memory_alloc(sizeof(*work));

	work->entries = MAP_INIT;
	work->jobs = MAP_INIT;
	work->nodes = MAP_INIT;
	return work;
}

void recorded_work_free(struct recorded_work *work)
{
	if (!work)
		return;
	map_done(&work->entries);
	map_done(&work->jobs);
	map_done(&work->nodes);
	arena_done(&work->arena);
	memory_free(work);
}

/* ---- answers ---- */

static void take_bundles(struct ray_work_row *row, const struct ray_work_row *from,
			 struct arena *arena)
{
	static const struct field fields[] = {
		FIELD_LIST(struct ray_work_row, bundles, bundle_count, work_bundle_fields,
			   "bundles"),
		FIELD_END,
	};

	row->bundles = from->bundles;
	row->bundle_count = from->bundle_count;
	field_own(fields, row, arena);
}

static void take_time(time_ms *known, time_ms time)
{
	if (time != TIME_NONE)
		*known = time;
}

static struct entry *new_entry(struct recorded_work *work, const char *key,
			       const struct ray_work_row *row)
{
	struct entry *entry = ARENA_PUT(&work->arena, (struct entry){
		.row = {
		.kind = row->kind,
		.id = arena_strdup(&work->arena, row->id),
		.job = arena_strdup(&work->arena, row->job),
		.group = "",
		.node = "",
		.submitted = TIME_NONE,
		.started = TIME_NONE,
		.ended = TIME_NONE,
		},
		.seen_open = TIME_NONE,
		.seen_over = TIME_NONE,
	});

	map_set(&work->entries, key, entry);
	return entry;
}

static void add_row(struct recorded_work *work, const struct ray_work_row *row, time_ms at,
		    struct arena *scratch)
{
	const char *key = arena_printf(scratch, "%d %s", (int)row->kind, row->id);
	struct entry *entry = map_get(&work->entries, key);

	if (!entry && work->entries.count >= RECORDED_WORK_ROWS_MAX) {
		work->full++;
		return;
	}
	if (!entry)
		entry = new_entry(work, key, row);
	take_time(&entry->row.submitted, row->submitted);
	take_time(&entry->row.started, row->started);
	take_time(&entry->row.ended, row->ended);
	if (*row->group != '\0' && *entry->row.group == '\0')
		entry->row.group = arena_strdup(&work->arena, row->group);
	if (*row->node != '\0' && *entry->row.node == '\0')
		entry->row.node = arena_strdup(&work->arena, row->node);
	if (row->bundle_count > 0 && entry->row.bundle_count == 0) {
		take_bundles(&entry->row, row, &work->arena);
		entry->row.strategy = row->strategy;
	}
	if (!row->over)
		entry->seen_open = at;
	else if (!entry->row.over)
		entry->seen_over = at;
	entry->row.over = entry->row.over || row->over;
}

static void add_job(struct recorded_work *work, const struct ray_work_job *from)
{
	struct ray_work_job *job = map_get(&work->jobs, from->id);

	if (!job) {
		if (work->jobs.count >= RECORDED_WORK_ROWS_MAX)
			return;
		job = ARENA_NEW(&work->arena, struct ray_work_job);
		job->id = arena_strdup(&work->arena, from->id);
		job->name = arena_strdup(&work->arena, from->name);
		map_set(&work->jobs, from->id, job);
	}
	job->ended = from->ended;
}

void recorded_work_add(struct recorded_work *work, const struct ray_work_page *page)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;

	work->full = 0;
	for (size_t i = 0; i < page->row_count; i++) {
		add_row(work, &page->rows[i], page->at, &scratch);
		arena_reset(&scratch);
	}
	for (size_t i = 0; i < page->job_count; i++)
		add_job(work, &page->jobs[i]);
}

/* ---- the start of processes ---- */

void recorded_work_node(struct recorded_work *work, const char *node, time_ms ready)
{
	if (*node == '\0' || map_get(&work->nodes, node) ||
	    work->nodes.count >= RECORDED_WORK_ROWS_MAX)
		return;
	map_set(&work->nodes, node, ARENA_PUT(&work->arena, ready));
}

/* By node: the first end of work on it. */
static void find_first_ends(const struct recorded_work *work, struct map *ends)
{
	for (size_t i = 0; i < work->entries.count; i++) {
		const struct entry *entry = work->entries.entries[i].value;
		const time_ms *end = map_get(ends, entry->row.node);

		if (entry->row.ended != TIME_NONE && (!end || entry->row.ended < *end))
			map_set(ends, entry->row.node, &entry->row.ended);
	}
}

/* -1: it may have waited, or have taken the process of earlier work. */
static int64_t process_ms(const struct recorded_work *work, const struct ray_work_row *row,
			  const struct map *ends)
{
	const time_ms *ready = map_get(&work->nodes, row->node);
	const time_ms *end = map_get(ends, row->node);
	time_ms from = row->submitted;

	if (!ready || from == TIME_NONE || row->started == TIME_NONE || *row->group != '\0' ||
	    (end && *end <= row->started))
		return -1;
	from = *ready > from ? *ready : from;
	return row->started >= from ? row->started - from : -1;
}

static int compare_ms(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left > right) - (left < right);
}

int64_t recorded_work_process_ms(const struct recorded_work *work, size_t *ret_count)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct map ends = MAP_INIT;
	int64_t *found = arena_array(&scratch, work->entries.count, sizeof(*found)), median = -1;
	size_t count = 0;

	find_first_ends(work, &ends);
	for (size_t i = 0; i < work->entries.count; i++) {
		const struct entry *entry = work->entries.entries[i].value;
		int64_t ms = process_ms(work, &entry->row, &ends);

		if (ms >= 0)
			found[count++] = ms;
	}
	map_done(&ends);
	sort_stable(found, count, sizeof(*found), compare_ms);
	if (count > 0)
		median = found[count / 2];
	*ret_count = count;
	return median;
}

/* ---- the end of each ---- */

struct making {
	const struct recorded_work *work;
	struct arena *arena;
	time_ms since, until;
	/* Id of each placement group that is known: the time_ms of the last end in it; TIME_NONE:
	 * none. */
	struct map groups;
	VEC(struct recorded_item) items;
	struct recorded_items *result;
};

static const struct entry *entry_at(const struct making *making, size_t index)
{
	return making->work->entries.entries[index].value;
}

static void find_groups(struct making *making)
{
	for (size_t i = 0; i < making->work->entries.count; i++) {
		const struct entry *entry = entry_at(making, i);

		if (entry->row.kind != WORK_PLACEMENT_GROUP)
			continue;
		map_set(&making->groups, entry->row.id,
			ARENA_PUT(making->arena, ((time_ms){ TIME_NONE })));
	}
	for (size_t i = 0; i < making->work->entries.count; i++) {
		const struct entry *entry = entry_at(making, i);
		time_ms *ended = *entry->row.group != '\0' ?
					 map_get(&making->groups, entry->row.group) :
					 NULL;

		if (ended && entry->row.ended > *ended)
			*ended = entry->row.ended;
	}
}

/* A GCS does not say when a placement group was removed: between two answers, else after the work in
 * it, else with its job. TIME_NONE: unknown. */
static time_ms end_of(const struct making *making, const struct entry *entry)
{
	const time_ms *last = map_get(&making->groups, entry->row.id);
	const struct ray_work_job *job = map_get(&making->work->jobs, entry->row.job);

	if (entry->row.ended != TIME_NONE)
		return entry->row.ended;
	if (entry->seen_open != TIME_NONE && entry->seen_over != TIME_NONE)
		return last && *last > entry->seen_open ? *last : entry->seen_over;
	if (entry->row.kind == WORK_PLACEMENT_GROUP && last && *last != TIME_NONE)
		return *last;
	return job ? job->ended : TIME_NONE;
}

/* ---- items ---- */

/* Three digits of it: 61234 ms are 61200 ms. */
static int64_t round_duration(int64_t ms)
{
	int64_t step = 1;

	while (ms / step >= 1000)
		step *= 10;
	ms = (ms + step / 2) / step * step;
	return ms > 0 ? ms : 1;
}

static const char *job_name(const struct making *making, const char *id)
{
	const struct ray_work_job *job = map_get(&making->work->jobs, id);

	return job && *job->name != '\0' ? job->name : id;
}

/* Sorts by kind, strategy, job and duration. */
static const char *key_of(const struct recorded_item *item, struct arena *arena)
{
	AUTO(buf_done) struct buf key = BUF_INIT(RECORDED_KEY_BYTES_MAX);

	buf_printf(&key, "%d %d %s\n%020lld ", (int)item->kind, (int)item->strategy, item->job,
		   (long long)item->duration_ms);
	ARRAY_EACH(const struct work_bundle, bundle, item->bundles, item->bundle_count)
		work_bundle_add_key(bundle, &key);
	return arena_strdup(arena, buf_string(&key));
}

/* Adds the work between the two times, cut at the limits of the recording. */
static void add_item(struct making *making, const struct entry *entry, time_ms started,
		     time_ms ended)
{
	time_ms submitted = entry->row.submitted;

	if (submitted == TIME_NONE || submitted > started)
		submitted = started;
	if (submitted < making->since)
		submitted = making->since;
	if (started < making->since)
		started = making->since;
	if (ended > making->until)
		ended = making->until;
	if (ended <= making->since || submitted > making->until)
		return;
	struct recorded_item *item = VEC_ADD(making->arena, &making->items);
	*item = (struct recorded_item){
		.kind = entry->row.kind,
		.strategy = entry->row.strategy,
		.job = job_name(making, entry->row.job),
		.submitted = submitted / SUBMIT_STEP_MS * SUBMIT_STEP_MS,
		.duration_ms = round_duration(ended > started ? ended - started : 1),
		.count = 1,
		.bundles = entry->row.bundles,
		.bundle_count = entry->row.bundle_count,
	};
	item->key = key_of(item, making->arena);
	making->result->by_kind[entry->row.kind]++;
	making->result->open += !entry->row.over;
}

static void add_entry(struct making *making, const struct entry *entry)
{
	time_ms started = entry->row.started;

	if (entry->row.bundle_count == 0 ||
	    (*entry->row.group != '\0' && map_get(&making->groups, entry->row.group)))
		return;
	if (entry->row.over && started == TIME_NONE)
		return; /* it never ran */
	if (entry->row.over && end_of(making, entry) == TIME_NONE) {
		making->result->endless++;
		return;
	}
	if (started == TIME_NONE)
		started = entry->row.submitted;
	if (started != TIME_NONE)
		add_item(making, entry, started,
			 entry->row.over ? end_of(making, entry) : making->until);
}

/* ---- equal items ---- */

static int compare_items(const void *a, const void *b)
{
	const struct recorded_item *left = a, *right = b;

	return left->submitted != right->submitted ? (left->submitted < right->submitted ? -1 : 1) :
						     strcmp(left->key, right->key);
}

static size_t fold(struct recorded_item *items, size_t count)
{
	size_t kept = 0;

	sort_stable(items, count, sizeof(*items), compare_items);
	for (size_t i = 0; i < count; i++) {
		if (kept > 0 && compare_items(&items[kept - 1], &items[i]) == 0)
			items[kept - 1].count++;
		else
			items[kept++] = items[i];
	}
	return kept;
}

void recorded_work_items(const struct recorded_work *work, time_ms since, time_ms until,
			 struct arena *arena, struct recorded_items *ret)
{
	struct making making = { .work = work,
				 .arena = arena,
				 .since = since,
				 .until = until,
				 .groups = MAP_INIT,
				 .result = ret };
	size_t items = 0;

	*ret = (struct recorded_items){ .full = work->full };
	find_groups(&making);
	for (size_t i = 0; i < work->entries.count; i++)
		add_entry(&making, entry_at(&making, i));
	map_done(&making.groups);
	ret->count = fold(making.items.at, making.items.count);
	ret->at = making.items.at;
	for (size_t i = 0; i < ret->count; i++) {
		CHECK(ret->at[i].duration_ms > 0 && ret->at[i].submitted <= until);
		CHECK(i == 0 || ret->at[i - 1].submitted <= ret->at[i].submitted);
		items += (size_t)ret->at[i].count;
	}
	CHECK(items == making.items.count);
}
