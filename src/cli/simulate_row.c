#include "cli/simulate_row.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/capacity/price.h"
#include "core/model/workload.h"

#define GPU_MS_PER_HOUR (10000.0 * 3600 * 1000)

/* Work of one job that started after the same time. */
struct wait {
	const char *job;
	int64_t wait_ms, count;
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

/* The nearest rank: the smallest time that at least this share did not exceed. */
static int64_t percentile(const struct wait *waits, size_t count, int64_t total, int64_t percent)
{
	int64_t rank = (total * percent + 99) / 100, seen = 0;

	for (size_t i = 0; i < count; i++) {
		seen += waits[i].count;
		if (seen >= rank)
			return waits[i].wait_ms;
	}
	return 0;
}

/* `waits` sorted by time. */
static struct simulate_waits waits_of(const struct wait *waits, size_t count)
{
	struct simulate_waits ret = { .started = 0 };

	for (size_t i = 0; i < count; i++)
		ret.started += waits[i].count;
	if (ret.started == 0)
		return ret;
	ret.p50_ms = percentile(waits, count, ret.started, 50);
	ret.p95_ms = percentile(waits, count, ret.started, 95);
	ret.max_ms = waits[count - 1].wait_ms;
	return ret;
}

static int64_t unstarted_of(const struct sim_result *result, const char *job)
{
	int64_t count = 0;

	for (size_t i = 0; i < result->unstarted_count; i++) {
		if (!job || strcmp(result->unstarted[i].item->job, job) == 0)
			count += result->unstarted[i].count;
	}
	return count;
}

static void add_job(const struct sim_result *result, const struct wait *waits, size_t count,
		    struct simulate_job *job)
{
	job->job = waits[0].job;
	/* The sentinel of a job that never ran has the count 0. */
	job->waits = waits_of(waits, count);
	job->waits.unstarted = unstarted_of(result, job->job);
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

	for (size_t i = 0; i < result->unstarted_count; i++) {
		const struct sim_unstarted *one = &result->unstarted[i];
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

static void set_waits(const struct sim_result *result, struct arena *arena,
		      struct simulate_row *row)
{
	struct arena own = ARENA_INIT;
	size_t count = result->wait_count;
	struct wait *waits = arena_array(&own, count + result->unstarted_count, sizeof(*waits));

	for (size_t i = 0; i < count; i++)
		waits[i] = (struct wait){ result->waits[i].item->job, result->waits[i].wait_ms,
					  result->waits[i].count };
	if (count > 0)
		qsort(waits, count, sizeof(*waits), compare_waits);
	row->waits = waits_of(waits, count);
	row->waits.unstarted = unstarted_of(result, NULL);
	for (size_t i = 0; i < result->unstarted_count; i++)
		waits[count++] = (struct wait){ result->unstarted[i].item->job, 0, 0 };
	set_jobs(result, waits, count, arena, row);
	arena_done(&own);
}

double simulate_gpu_hours(__int128 gpu_ms)
{
	return (double)gpu_ms / GPU_MS_PER_HOUR;
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
	struct simulate_row row = { .finished = result->finished,
				    .restarted = result->restarted,
				    .makespan_ms = result->makespan_ms,
				    .end_ms = result->end_ms,
				    .decisions = result->decisions,
				    .head_ms = result->head_ms,
				    .suspensions = result->suspensions,
				    .peak_gpus = result->peak_gpus };

	set_groups(result, arena, &row);
	set_waits(result, arena, &row);
	set_never(result, arena, &row);
	*ret_row = row;
}

/* ---- the cost ---- */

/* NULL: the head. */
static const struct worker_group *find_group(const struct sim_input *input,
					     const struct sim_group *group,
					     const struct ray_cluster **ret_cluster)
{
	size_t i = 0;

	while (strcmp(input->clusters[i].cluster->name, group->cluster) != 0)
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

/* `a` is nowhere worse than `b`, and somewhere better. */
static bool is_better(const struct simulate_row *a, const struct simulate_row *b)
{
	double left = simulate_row_spent(a), right = simulate_row_spent(b);

	if (left > right || a->waits.p95_ms > b->waits.p95_ms ||
	    a->waits.unstarted > b->waits.unstarted)
		return false;
	return left < right || a->waits.p95_ms < b->waits.p95_ms ||
	       a->waits.unstarted < b->waits.unstarted;
}

bool simulate_row_is_best(const struct simulate_row *const *rows, size_t count, size_t index)
{
	for (size_t i = 0; i < count; i++) {
		if (is_better(rows[i], rows[index]))
			return false;
	}
	return true;
}

static double part(double value, double least, double most)
{
	return most > least ? (value - least) / (most - least) : 0;
}

/* A best row in which the least work never ran. */
static bool is_candidate(const struct simulate_row *const *rows, size_t count, size_t index)
{
	for (size_t i = 0; i < count; i++) {
		if (rows[i]->waits.unstarted < rows[index]->waits.unstarted)
			return false;
	}
	return simulate_row_is_best(rows, count, index);
}

size_t simulate_row_trade(const struct simulate_row *const *rows, size_t count)
{
	double least_gpu = 0, most_gpu = 0, least_wait = 0, most_wait = 0, least = 3;
	bool first = true;
	size_t best = 0;

	for (size_t i = 0; i < count; i++) {
		double gpu = simulate_row_spent(rows[i]), wait = (double)rows[i]->waits.p95_ms;

		if (!is_candidate(rows, count, i))
			continue;
		least_gpu = first || gpu < least_gpu ? gpu : least_gpu;
		most_gpu = first || gpu > most_gpu ? gpu : most_gpu;
		least_wait = first || wait < least_wait ? wait : least_wait;
		most_wait = first || wait > most_wait ? wait : most_wait;
		first = false;
	}
	for (size_t i = 0; i < count; i++) {
		double sum = part(simulate_row_spent(rows[i]), least_gpu, most_gpu) +
			     part((double)rows[i]->waits.p95_ms, least_wait, most_wait);

		if (is_candidate(rows, count, i) && sum < least) {
			least = sum;
			best = i;
		}
	}
	return best;
}
