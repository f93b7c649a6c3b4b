#include "feature/record/ctl/work_page.h"

#include "ctl/pass/pass.h"
#include "feature/record/ctl/start_times.h"
#include "feature/record/gcs/gcs_work.h"
#include "feature/record/objects/ray_work_json.h"

/* The largest reply, and what it becomes. */
#define BUDGET_BYTES ((size_t)96 << 20)

static void *page_begin(const void *self, const struct pass_decision *decision, struct arena *arena)
{
	const struct ray_cluster *cluster = &decision->snapshot->cluster;
	struct ray_work_page *page = ARENA_NEW(arena, struct ray_work_page);

	page->at = decision->now;
	page->starts =
		start_times_of(self, cluster->namespace_, cluster->name, arena, &page->start_count);
	return page;
}

static void join(struct ray_work_page *page, const struct list_answer *lists, struct arena *arena)
{
	struct ray_work_source *sources = arena_array(arena, RAY_LISTS, sizeof(*sources));
	VEC(struct ray_work_row) rows = { .at = NULL };

	for (size_t i = 0; i < RAY_LISTS; i++) {
		const struct ray_work *work = lists[i].reply.work;

		sources[i].list = (enum ray_list)i;
		sources[i].problem = lists[i].problem;
		if (!work)
			continue;
		sources[i].missing = work->missing;
		sources[i].dropped = work->dropped;
		for (size_t k = 0; k < work->row_count; k++)
			VEC_PUSH(arena, &rows, work->rows[k]);
		if (i == RAY_LIST_JOBS) {
			page->jobs = work->jobs;
			page->job_count = work->job_count;
		}
	}
	page->sources = sources;
	page->source_count = RAY_LISTS;
	page->rows = rows.at;
	page->row_count = rows.count;
}

static void write(void *own, const struct list_answer *lists, const char *problem,
		  struct arena *arena, struct json_writer *writer)
{
	struct ray_work_page *page = own;

	page->problem = problem;
	if (lists)
		join(page, lists, arena);
	field_write_all(writer, ray_work_fields, page);
}

const struct list_page_kind work_page = {
	.path = "work",
	.name = "Work",
	.what = "the actors, tasks and placement groups of Ray, for `rayscaler record`",
	.budget_name = "all answers about work",
	.budget_bytes = BUDGET_BYTES,
	.use = &gcs_work,
	.begin = page_begin,
	.write = write,
};

const struct feature record_feature = {
	.state_size = sizeof(struct start_times),
	.cluster_size = sizeof(struct starts),
	.cluster_done = starts_done,
	.pod_changed = start_times_pod_changed,
	.ray_cluster_changed = start_times_ray_cluster_changed,
	.page = &work_page,
};
