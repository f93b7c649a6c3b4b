#include "core/report/gpu_holders.h"

#include <stdbool.h>
#include <string.h>

#include "base/check.h"
#include "base/sort.h"
#include "core/model/resources.h"

#define GPU "GPU"

const char *gpu_holder_kind_name(enum gpu_holder_kind kind)
{
	static const char *const names[GPU_HOLDER_KINDS] = { "", "actor", "task",
							     "placement group" };

	return names[kind];
}

/* ---- workers ---- */

static int compare_workers(const void *a, const void *b)
{
	return strcmp(((const struct gpu_worker *)a)->pod, ((const struct gpu_worker *)b)->pod);
}

void gpu_holders_begin(const struct plan *plan, struct arena *arena, struct gpu_holders *ret)
{
	struct gpu_worker *workers = arena_array(arena, plan->workers.count, sizeof(*workers));
	size_t count = 0;

	VEC_EACH(const struct plan_worker, worker, &plan->workers) {
		int64_t gpus = worker->node ? resources_amount(&worker->node->total, GPU, 0) : 0;
		int64_t available;

		if (gpus <= 0)
			continue;
		available = resources_amount(&worker->node->available, GPU, 0);
		workers[count++] = (struct gpu_worker){
			.pod = arena_strdup(arena, worker->pod),
			.group = arena_strdup(arena, worker->group),
			.node = arena_strdup(arena, worker->node->id),
			.gpus = gpus,
			.in_use = available < gpus ? gpus - available : 0,
		};
	}
	sort_stable(workers, count, sizeof(*workers), compare_workers);
	*ret = (struct gpu_holders){ .problem = "", .workers = workers, .worker_count = count };
	if (plan->requests_note)
		ret->asked = arena_strdup(arena, plan->requests_note);
}

/* ---- rows ---- */

static int compare_jobs(const void *a, const void *b)
{
	return strcmp(((const struct gpu_use_job *)a)->id, ((const struct gpu_use_job *)b)->id);
}

/* By node, then by placement group; in it the group's own rows are last. */
static int compare_places(const void *a, const void *b)
{
	const struct gpu_use_row *left = a, *right = b;
	int order = strcmp(left->node, right->node);

	if (order == 0)
		order = strcmp(left->group, right->group);
	return order != 0 ? order : (int)left->kind - (int)right->kind;
}

/* By node, then by what makes one holder. */
static int compare_holders(const void *a, const void *b)
{
	const struct gpu_use_row *left = a, *right = b;
	int order = strcmp(left->node, right->node);

	if (order == 0)
		order = (int)left->kind - (int)right->kind;
	if (order == 0)
		order = strcmp(left->name, right->name);
	return order != 0 ? order : strcmp(left->job, right->job);
}

static int compare_sizes(const void *a, const void *b)
{
	const struct gpu_holder *left = a, *right = b;

	return (left->gpus < right->gpus) - (left->gpus > right->gpus);
}

struct rows {
	struct gpu_use_row *at;
	size_t count;
};

/* A placement group holds what it reserves on a node, less what its actors and tasks use there. */
static void subtract_groups(struct rows *rows)
{
	size_t kept = 0;
	int64_t used = 0;

	sort_stable(rows->at, rows->count, sizeof(*rows->at), compare_places);
	for (size_t i = 0; i < rows->count; i++) {
		struct gpu_use_row row = rows->at[i];

		if (i == 0 || strcmp(row.node, rows->at[i - 1].node) != 0 ||
		    strcmp(row.group, rows->at[i - 1].group) != 0)
			used = 0;
		if (row.kind != GPU_HOLDER_GROUP) {
			used = resource_sum(used, row.gpus);
		} else {
			int64_t covered = used < row.gpus ? used : row.gpus;

			used -= covered;
			row.gpus -= covered;
		}
		if (row.gpus > 0)
			rows->at[kept++] = row;
	}
	rows->count = kept;
}

static struct rows all_rows(const struct gpu_use *const *lists, struct arena *arena)
{
	struct rows rows = { .count = 0 };
	size_t count = 0;

	for (size_t i = 0; i < RAY_LISTS; i++)
		count += lists[i] ? lists[i]->row_count : 0;
	rows.at = arena_array(arena, count, sizeof(*rows.at));
	for (size_t i = 0; i < RAY_LISTS; i++)
		if (lists[i])
			for (size_t k = 0; k < lists[i]->row_count; k++)
				rows.at[rows.count++] = lists[i]->rows[k];
	subtract_groups(&rows);
	sort_stable(rows.at, rows.count, sizeof(*rows.at), compare_holders);
	return rows;
}

/* ---- holders ---- */

struct joining {
	struct arena *arena;
	const struct gpu_use_job *jobs; /* by id */
	size_t job_count;
};

static struct gpu_holder new_holder(const struct joining *joining, const struct gpu_use_row *row)
{
	const struct gpu_use_job wanted = { .id = row->job };
	const struct gpu_use_job *job =
		SORT_FIND(&wanted, joining->jobs, joining->job_count, compare_jobs);

	return (struct gpu_holder){
		.kind = row->kind,
		.name = row->name,
		.job = row->job,
		.entrypoint = job ? job->entrypoint : "",
		.submission = job ? job->submission : "",
		.since = row->since,
	};
}

static bool is_same(const struct gpu_holder *holder, const struct gpu_use_row *row)
{
	return holder->kind == row->kind && strcmp(holder->name, row->name) == 0 &&
	       strcmp(holder->job, row->job) == 0;
}

/* An actor that is being created. It may still wait on its node for resources that others have. */
static bool is_starting(const struct gpu_use_row *row)
{
	return row->kind == GPU_HOLDER_ACTOR && row->since == TIME_NONE;
}

/* GPUs in use on the node that no started holder has. */
static int64_t room_of_starting(const struct gpu_worker *worker, const struct gpu_use_row *rows,
				size_t count)
{
	int64_t started = 0;

	for (size_t i = 0; i < count; i++)
		if (!is_starting(&rows[i]))
			started = resource_sum(started, rows[i].gpus);
	return worker->in_use > started ? worker->in_use - started : 0;
}

/* The rows of one node, which are sorted by holder. */
static void join_worker(const struct joining *joining, struct gpu_worker *worker,
			const struct gpu_use_row *rows, size_t count)
{
	struct gpu_holder *holders = arena_array(joining->arena, count, sizeof(*holders));
	int64_t named = 0, room = room_of_starting(worker, rows, count);

	worker->holder_count = 0;
	for (size_t i = 0; i < count; i++) {
		struct gpu_holder *last = &holders[worker->holder_count];

		if (is_starting(&rows[i])) {
			if (rows[i].gpus > room)
				continue;
			room -= rows[i].gpus;
		}
		if (worker->holder_count == 0 || !is_same(--last, &rows[i])) {
			last = &holders[worker->holder_count++];
			*last = new_holder(joining, &rows[i]);
		}
		last->count++;
		last->gpus = resource_sum(last->gpus, rows[i].gpus);
		if (last->since == TIME_NONE ||
		    (rows[i].since != TIME_NONE && rows[i].since < last->since))
			last->since = rows[i].since;
	}
	CHECK(worker->holder_count <= count);
	sort_stable(holders, worker->holder_count, sizeof(*holders), compare_sizes);
	if (worker->holder_count > GPU_HOLDERS_MAX)
		worker->holder_count = GPU_HOLDERS_MAX;
	for (size_t i = 0; i < worker->holder_count; i++) {
		CHECK(holders[i].count > 0 && holders[i].gpus > 0);
		CHECK(i == 0 || holders[i - 1].gpus >= holders[i].gpus);
		named = resource_sum(named, holders[i].gpus);
	}
	worker->holders = holders;
	worker->unnamed = worker->in_use > named ? worker->in_use - named : 0;
}

static size_t rows_of(const struct rows *rows, size_t from, const char *node)
{
	size_t count = 0;

	while (from + count < rows->count && strcmp(rows->at[from + count].node, node) == 0)
		count++;
	return count;
}

/* ---- notes ---- */

struct notes {
	VEC(const char *) at;
};

static void add_deployments(const struct gpu_use *use, struct notes *notes, struct arena *arena)
{
	for (size_t i = 0; i < use->deployment_count; i++)
		VEC_PUSH(arena, &notes->at,
			 arena_printf(arena, "Ray Serve: %lld replica%s of %s %s for a worker",
				      (long long)use->deployments[i].replicas,
				      use->deployments[i].replicas == 1 ? "" : "s",
				      use->deployments[i].name,
				      use->deployments[i].replicas == 1 ? "waits" : "wait"));
}

static void add_notes(struct gpu_holders *holders, const struct gpu_use *const *lists,
		      const char *const *problems, struct arena *arena)
{
	struct notes list = { .at = { .at = NULL } };
	bool libraries = lists[RAY_LIST_ACTORS] && lists[RAY_LIST_ACTORS]->libraries;

	if (holders->asked)
		VEC_PUSH(arena, &list.at,
			 arena_printf(arena, "%s%s", holders->asked,
				      libraries ? "; Ray Data or Ray Train is running "
						  "(AutoscalingCoordinator)" :
						  ""));
	for (size_t i = 0; i < RAY_LISTS; i++)
		if (lists[i])
			add_deployments(lists[i], &list, arena);
	for (size_t i = 0; i < RAY_LISTS; i++) {
		if (!lists[i]) {
			VEC_PUSH(arena, &list.at,
				 arena_printf(arena, "%s are unknown: %s",
					      ray_list_name((enum ray_list)i), problems[i]));
			continue;
		}
		if (lists[i]->missing > 0)
			VEC_PUSH(arena, &list.at,
				 arena_printf(arena, "%lld more %s are not listed",
					      (long long)lists[i]->missing,
					      ray_list_name((enum ray_list)i)));
		if (lists[i]->dropped > 0)
			VEC_PUSH(arena, &list.at,
				 arena_printf(arena,
					      "Ray dropped the events of %lld tasks, so a task may "
					      "be missing",
					      (long long)lists[i]->dropped));
	}
	holders->notes = (struct strings){ .at = list.at.at, .count = list.at.count };
}

static int compare_nodes(const void *a, const void *b)
{
	return strcmp(((const struct gpu_worker *)a)->node, ((const struct gpu_worker *)b)->node);
}

void gpu_holders_join(struct gpu_holders *holders, const struct gpu_use *const *lists,
		      const char *const *problems, struct arena *arena)
{
	const struct gpu_use *jobs = lists[RAY_LIST_JOBS];
	struct gpu_worker *workers = ARENA_COPY(arena, holders->workers, holders->worker_count);
	struct joining joining = { .arena = arena };
	struct rows rows = all_rows(lists, arena);
	size_t at = 0;

	if (jobs && jobs->job_count > 0) {
		struct gpu_use_job *sorted = ARENA_COPY(arena, jobs->jobs, jobs->job_count);

		sort_stable(sorted, jobs->job_count, sizeof(*sorted), compare_jobs);
		joining.jobs = sorted;
		joining.job_count = jobs->job_count;
	}
	sort_stable(workers, holders->worker_count, sizeof(*workers), compare_nodes);
	for (size_t i = 0; i < holders->worker_count; i++) {
		size_t count;

		while (at < rows.count && strcmp(rows.at[at].node, workers[i].node) < 0)
			at++;
		count = rows_of(&rows, at, workers[i].node);
		join_worker(&joining, &workers[i], &rows.at[at], count);
		at += count;
		CHECK(at <= rows.count); /* no row counts for two workers */
	}
	sort_stable(workers, holders->worker_count, sizeof(*workers), compare_workers);
	holders->workers = workers;
	add_notes(holders, lists, problems, arena);
}

const struct gpu_worker *gpu_holders_find(const struct gpu_holders *holders, const char *pod)
{
	const struct gpu_worker wanted = { .pod = pod };

	return SORT_FIND(&wanted, holders->workers, holders->worker_count, compare_workers);
}
