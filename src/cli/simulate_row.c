#include "cli/simulate_row.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/capacity/price.h"
#include "core/model/workload.h"

#define GPU_MS_PER_HOUR (10000.0 * 3600 * 1000)

double simulate_gpu_hours(__int128 gpu_ms)
{
	return (double)gpu_ms / GPU_MS_PER_HOUR;
}

/* Units of one job that started after the same time. */
struct wait {
	const char *job;
	int64_t wait_ms, count;
	int64_t gpus; /* 1/10000, of one unit */
	size_t queue; /* as of a sim_wait */
};

static int compare_waits(const void *a, const void *b)
{
	const struct wait *left = a, *right = b;

	return (left->wait_ms > right->wait_ms) - (left->wait_ms < right->wait_ms);
}

static int compare_jobs(const void *a, const void *b)
{
	const struct wait *left = a, *right = b;
	int order = strcmp(left->job, right->job);

	return order != 0 ? order : compare_waits(a, b);
}

static __int128 weight_of(const struct wait *wait, bool by_gpus)
{
	return (__int128)wait->count * (by_gpus ? wait->gpus : 1);
}

/* The nearest rank: the smallest time that at least this share of the weight did not exceed. */
static int64_t percentile(const struct wait *waits, size_t count, bool by_gpus, int percent)
{
	__int128 total = 0, seen = 0;

	for (size_t i = 0; i < count; i++)
		total += weight_of(&waits[i], by_gpus);
	for (size_t i = 0; i < count; i++) {
		seen += weight_of(&waits[i], by_gpus);
		if (seen * 100 >= total * percent)
			return waits[i].wait_ms;
	}
	return 0;
}

/* `waits` sorted by time. */
static struct simulate_waits waits_of(const struct wait *waits, size_t count)
{
	struct simulate_waits ret = { .started = 0 };
	__int128 gpus = 0, waited = 0;
	bool by_gpus;

	for (size_t i = 0; i < count; i++) {
		ret.started += waits[i].count;
		gpus += weight_of(&waits[i], true);
	}
	if (ret.started == 0)
		return ret;
	by_gpus = gpus > 0;
	for (size_t i = 0; i < count; i++)
		waited += weight_of(&waits[i], by_gpus) * waits[i].wait_ms;
	ret.waited = simulate_gpu_hours(waited) * (by_gpus ? 1 : RESOURCE_UNIT);
	ret.p50_ms = percentile(waits, count, by_gpus, 50);
	ret.p95_ms = percentile(waits, count, by_gpus, 95);
	ret.item_p50_ms = percentile(waits, count, false, 50);
	ret.item_p95_ms = percentile(waits, count, false, 95);
	ret.max_ms = waits[count - 1].wait_ms;
	return ret;
}

/* Of a job and of a queue; NULL: of all. */
static void add_unstarted(const struct sim_result *result, const char *job, const size_t *queue,
			  struct simulate_waits *waits)
{
	ARRAY_EACH(const struct sim_unstarted, one, result->unstarted, result->unstarted_count) {
		if ((job && strcmp(one->item->job, job) != 0) || (queue && one->queue != *queue))
			continue;
		waits->unstarted += one->count;
		waits->unstarted_gpus += (double)one->count * (double)one->gpus / RESOURCE_UNIT;
	}
}

static void add_job(const struct sim_result *result, const struct wait *waits, size_t count,
		    struct simulate_job *job)
{
	job->job = waits[0].job;
	/* The sentinel of a job that never ran has the count 0. */
	job->waits = waits_of(waits, count);
	add_unstarted(result, job->job, NULL, &job->waits);
}

/* `waits` has an entry of each job, also of those that never ran. */
static void set_jobs(const struct sim_result *result, struct wait *waits, size_t count,
		     struct arena *arena, struct simulate_row *row)
{
	struct simulate_job *jobs = arena_array(arena, count, sizeof(*jobs));
	size_t start = 0;

	if (count > 0)
		qsort(waits, count, sizeof(*waits), compare_jobs);
	for (size_t i = 0; i < count; i++) {
		if (i + 1 < count && strcmp(waits[i + 1].job, waits[i].job) == 0)
			continue;
		add_job(result, waits + start, i + 1 - start, &jobs[row->job_count++]);
		start = i + 1;
	}
	row->jobs = jobs;
}

static void set_never(const struct sim_result *result, struct arena *arena,
		      struct simulate_row *row)
{
	VEC(struct simulate_never) list = { .at = NULL };

	ARRAY_EACH(const struct sim_unstarted, one, result->unstarted, result->unstarted_count) {
		struct simulate_never *last = list.count > 0 ? &list.at[list.count - 1] : NULL;

		if (last && strcmp(last->job, one->item->job) == 0 &&
		    strcmp(last->message, one->message) == 0) {
			last->count += one->count;
			continue;
		}
		VEC_PUSH(arena, &list,
			 ((struct simulate_never){ .job = one->item->job,
						   .reason = arena_strdup(arena, one->reason),
						   .message = arena_strdup(arena, one->message),
						   .count = one->count }));
	}
	row->never = list.at;
	row->never_count = list.count;
}

/* ---- GPUPools ---- */

/* `waits` sorted by time. */
static struct simulate_waits waits_of_queue(const struct sim_result *result,
					    const struct wait *waits, size_t queue)
{
	AUTO(arena_done) struct arena own = ARENA_INIT;
	struct wait *some = arena_array(&own, result->wait_count, sizeof(*some));
	struct simulate_waits ret;
	size_t count = 0;

	for (size_t i = 0; i < result->wait_count; i++)
		if (waits[i].queue == queue)
			some[count++] = waits[i];
	ret = waits_of(some, count);
	add_unstarted(result, NULL, &queue, &ret);
	return ret;
}

static void set_pools(const struct sim_result *result, struct arena *arena,
		      struct simulate_row *row)
{
	struct sim_pool *pools = arena_array(arena, result->pool_count, sizeof(*pools));

	for (size_t i = 0; i < result->pool_count; i++) {
		pools[i] = result->pools[i];
		pools[i].name = arena_strdup(arena, pools[i].name);
	}
	row->pools = pools;
	row->pool_count = result->pool_count;
}

static void set_queues(const struct sim_result *result, const struct wait *waits,
		       struct arena *arena, struct simulate_row *row)
{
	struct simulate_queue *queues = arena_array(arena, result->queue_count, sizeof(*queues));

	for (size_t i = 0; i < result->queue_count; i++) {
		const struct sim_queue *queue = &result->queues[i];

		queues[i] = (struct simulate_queue){
			.pool = queue->pool,
			.name = arena_strdup(arena, queue->name),
			.clusters = queue->clusters,
			.held = simulate_gpu_hours(queue->held),
			.used = simulate_gpu_hours(queue->used),
			.lost = simulate_gpu_hours(queue->lost),
			.idle_while_others_waited =
				simulate_gpu_hours(queue->idle_while_others_waited),
			.below_guarantee_ms = queue->below_guarantee_ms,
			.waits = waits_of_queue(result, waits, i),
		};
	}
	row->queues = queues;
	row->queue_count = result->queue_count;
	set_pools(result, arena, row);
}

static void set_waits(const struct sim_result *result, struct arena *arena,
		      struct simulate_row *row)
{
	struct arena own = ARENA_INIT;
	size_t count = result->wait_count;
	struct wait *waits = arena_array(&own, count + result->unstarted_count, sizeof(*waits));

	for (size_t i = 0; i < count; i++)
		waits[i] = (struct wait){ result->waits[i].item->job, result->waits[i].wait_ms,
					  result->waits[i].count, result->waits[i].gpus,
					  result->waits[i].queue };
	if (count > 0)
		qsort(waits, count, sizeof(*waits), compare_waits);
	row->waits = waits_of(waits, count);
	add_unstarted(result, NULL, NULL, &row->waits);
	set_queues(result, waits, arena, row);
	for (size_t i = 0; i < result->unstarted_count; i++)
		waits[count++] = (struct wait){ .job = result->unstarted[i].item->job };
	set_jobs(result, waits, count, arena, row);
	arena_done(&own);
}

static void set_groups(const struct sim_result *result, struct arena *arena,
		       struct simulate_row *row)
{
	struct sim_group *groups = arena_array(arena, result->group_count, sizeof(*groups));

	for (size_t i = 0; i < result->group_count; i++) {
		const struct sim_group *group = &result->groups[i];
		struct sim_mark *marks = arena_array(arena, group->mark_count, sizeof(*marks));

		row->provisioned += simulate_gpu_hours(group->provisioned);
		row->used += simulate_gpu_hours(group->used);
		row->idle += simulate_gpu_hours(group->idle);
		row->starting += simulate_gpu_hours(group->starting);
		row->terminating += simulate_gpu_hours(group->terminating);
		row->scale_ups += group->scale_ups;
		if (group->mark_count > 0)
			memcpy(marks, group->marks, group->mark_count * sizeof(*marks));
		groups[i] = *group;
		for (size_t j = 0; j < group->mark_count; j++)
			marks[j].reason = arena_strdup(arena, marks[j].reason);
		groups[i].marks = marks;
		groups[i].points = NULL;
		groups[i].point_count = 0;
	}
	row->groups = groups;
	row->group_count = result->group_count;
}

void simulate_row_make(const struct sim_result *result, struct arena *arena,
		       struct simulate_row *ret_row)
{
	struct simulate_row row = { .course = result->course,
				    .finished = result->finished,
				    .restarted = result->restarted,
				    .makespan_ms = result->makespan_ms,
				    .end_ms = result->end_ms,
				    .decisions = result->decisions,
				    .head_ms = result->head_ms,
				    .suspensions = result->suspensions,
				    .resizes = result->resizes,
				    .peak_gpus = result->peak_gpus };

	set_groups(result, arena, &row);
	set_waits(result, arena, &row);
	set_never(result, arena, &row);
	*ret_row = row;
}

/* ---- the page ---- */

static const struct simulate_span row_spans[SIMULATE_SPANS] = {
	{ .name = "below 1 s", .below_ms = 1000 },
	{ .name = "1 to 10 s", .below_ms = 10000 },
	{ .name = "10 to 30 s", .below_ms = 30000 },
	{ .name = "30 to 60 s", .below_ms = 60000 },
	{ .name = "1 to 5 min", .below_ms = 300000 },
	{ .name = "5 to 30 min", .below_ms = 1800000 },
	{ .name = "over 30 min", .below_ms = INT64_MAX },
};

static struct simulate_series series_of(const struct sim_group *group, struct arena *arena)
{
	struct sim_point *points = arena_array(arena, group->point_count, sizeof(*points));

	if (group->worker_gpus == 0 || group->point_count == 0)
		return (struct simulate_series){ .count = 0 };
	memcpy(points, group->points, group->point_count * sizeof(*points));
	return (struct simulate_series){ points, group->point_count };
}

void simulate_row_keep(const struct sim_result *result, struct arena *arena,
		       struct simulate_row *row)
{
	struct simulate_series *series =
		arena_array(arena, result->group_count + 1, sizeof(*series));

	for (size_t i = 0; i < result->group_count; i++)
		series[i] = series_of(&result->groups[i], arena);
	memcpy(row->spans, row_spans, sizeof(row_spans));
	ARRAY_EACH(const struct sim_wait, wait, result->waits, result->wait_count) {
		struct simulate_span *span = row->spans;

		while (wait->wait_ms >= span->below_ms)
			span++;
		span->gpus += (double)wait->gpus / RESOURCE_UNIT * (double)wait->count;
		span->units += wait->count;
	}
	row->series = series;
}

/* ---- the cost ---- */

/* NULL: the head. */
static const struct worker_group *find_group(const struct sim_input *input,
					     const struct sim_group *group,
					     const struct ray_cluster **ret_cluster)
{
	size_t i = 0;

	while (strcmp(input->clusters[i].name, group->cluster) != 0)
		i++;
	*ret_cluster = input->clusters[i].cluster;
	return ARRAY_FIND((*ret_cluster)->groups, (*ret_cluster)->group_count, name, group->name);
}

static struct simulate_group_cost cost_of(const struct sim_group *group,
					  const struct sim_input *input, struct arena *arena)
{
	const struct ray_cluster *cluster;
	const struct worker_group *spec = find_group(input, group, &cluster);
	struct simulate_group_cost cost = { .market = price_market_of(cluster, spec) };
	const struct price_row *price;

	if (!input->prices)
		return cost;
	price = price_find(input->prices, cluster, spec, NULL, arena);
	cost.has_price = price != NULL;
	if (price)
		cost.cost = simulate_gpu_hours(group->provisioned) *
			    (double)price->micros_per_gpu_hour / PRICE_MICROS;
	return cost;
}

void simulate_row_price(const struct sim_input *input, struct arena *arena,
			struct simulate_row *row)
{
	AUTO(arena_done) struct arena own = ARENA_INIT;
	struct simulate_group_cost *costs = arena_array(arena, row->group_count, sizeof(*costs));

	for (size_t i = 0; i < row->group_count; i++) {
		costs[i] = cost_of(&row->groups[i], input, &own);
		row->cost += costs[i].cost;
	}
	row->costs = costs;
	row->has_cost = row->by_cost = input->prices != NULL;
}

bool simulate_row_lacks_price(const struct simulate_row *row, size_t group)
{
	return row->has_cost && !row->costs[group].has_price && row->groups[group].provisioned > 0;
}

/* ---- the best rows ---- */

double simulate_row_spent(const struct simulate_row *row)
{
	return row->by_cost ? row->cost : row->provisioned;
}

bool simulate_row_is_same(const struct simulate_row *a, const struct simulate_row *b)
{
	return a->course == b->course && a->provisioned == b->provisioned && a->cost == b->cost &&
	       a->waits.max_ms == b->waits.max_ms && a->waits.unstarted == b->waits.unstarted;
}

size_t simulate_row_first(const struct simulate_row *const *rows, size_t count, size_t index)
{
	size_t first = 0;

	while (first < count && first < index && !simulate_row_is_same(rows[first], rows[index]))
		first++;
	return first;
}

/* `a` is nowhere worse than `b`, and somewhere better. */
static bool is_better(const struct simulate_row *a, const struct simulate_row *b)
{
	const double pairs[][2] = {
		{ simulate_row_spent(a), simulate_row_spent(b) },
		{ (double)a->waits.p95_ms, (double)b->waits.p95_ms },
		{ (double)a->waits.max_ms, (double)b->waits.max_ms },
		{ (double)a->waits.unstarted, (double)b->waits.unstarted },
		{ a->waits.unstarted_gpus, b->waits.unstarted_gpus },
	};
	bool better = false;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (pairs[i][0] > pairs[i][1])
			return false;
		better = better || pairs[i][0] < pairs[i][1];
	}
	return better;
}

/* No other row is better. */
static bool is_best(const struct simulate_row *const *rows, size_t count, size_t index)
{
	for (size_t i = 0; i < count; i++) {
		if (is_better(rows[i], rows[index]))
			return false;
	}
	return true;
}

bool simulate_row_is_starred(const struct simulate_row *const *rows, size_t count, size_t index)
{
	return simulate_row_first(rows, count, index) == index && is_best(rows, count, index);
}

static bool ran_more(const struct simulate_row *a, const struct simulate_row *b)
{
	if (a->waits.unstarted_gpus != b->waits.unstarted_gpus)
		return a->waits.unstarted_gpus < b->waits.unstarted_gpus;
	return a->waits.unstarted < b->waits.unstarted;
}

/* A best row in which the least work never ran. */
static bool is_candidate(const struct simulate_row *const *rows, size_t count, size_t index)
{
	for (size_t i = 0; i < count; i++) {
		if (ran_more(rows[i], rows[index]))
			return false;
	}
	return is_best(rows, count, index);
}

/* Of one GPU-hour, on average; 1 where GPU-hours count. */
static double average_price(const struct simulate_row *const *rows, size_t count)
{
	double cost = 0, hours = 0;

	for (size_t i = 0; i < count; i++) {
		cost += simulate_row_spent(rows[i]);
		hours += rows[i]->provisioned;
	}
	return hours > 0 && rows[0]->by_cost ? cost / hours : 1;
}

/* The first candidate with the least sum of what is spent and of the two weighted waiting times. */
static size_t least(const struct simulate_row *const *rows, size_t count, double of_spent,
		    double of_waited, double of_times)
{
	double least_sum = 0;
	size_t best = count;

	for (size_t i = 0; i < count; i++) {
		const struct simulate_row *row = rows[i];
		double sum = of_spent * simulate_row_spent(row) + of_waited * row->waits.waited +
			     of_times * (double)(row->waits.p95_ms + row->waits.max_ms);

		if (!is_candidate(rows, count, i) || (best < count && sum >= least_sum))
			continue;
		least_sum = sum;
		best = i;
	}
	return best;
}

size_t simulate_row_trade(const struct simulate_row *const *rows, size_t count)
{
	return least(rows, count, 1, average_price(rows, count), 0);
}

size_t simulate_row_thrifty(const struct simulate_row *const *rows, size_t count)
{
	return least(rows, count, 1, 0, 0);
}

size_t simulate_row_fast(const struct simulate_row *const *rows, size_t count)
{
	return least(rows, count, 0, 0, 1);
}

const char *simulate_time_text(struct arena *arena, int64_t ms)
{
	int64_t seconds = (ms + 500) / 1000;

	if (ms < 60000)
		return arena_printf(arena, "%.1fs", (double)ms / 1000);
	if (seconds < 3600)
		return arena_printf(arena, "%" PRId64 "m%02" PRId64 "s", seconds / 60,
				    seconds % 60);
	return arena_printf(arena, "%" PRId64 "h%02" PRId64 "m", seconds / 3600, seconds / 60 % 60);
}

const char *simulate_wait_text(struct arena *arena, const struct simulate_waits *waits, int64_t ms)
{
	return waits->started > 0 ? simulate_time_text(arena, ms) : "";
}

const char *simulate_hours_text(struct arena *arena, double hours)
{
	return arena_printf(arena, hours < 100 ? "%.2f" : "%.1f", hours);
}
