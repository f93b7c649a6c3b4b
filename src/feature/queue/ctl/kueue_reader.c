#include "feature/queue/ctl/kueue_reader.h"

#include <string.h>

#include "base/budget.h"
#include "base/buf.h"
#include "base/int64.h"
#include "base/memory.h"
#include "base/token_bucket.h"
#include "codec/objects/foreign_object.h"
#include "codec/objects/list_stream.h"
#include "core/model/field.h"
#include "core/model/snapshot.h"
#include "ctl/pass/pass.h"
#include "ctl/shared/cluster_map.h"
#include "ctl/shared/control.h"
#include "ctl/shared/memory_budgets.h"
#include "ctl/shared/options.h"
#include "feature/queue/codec/kueue_json.h"
#include "feature/queue/core/queue.h"
#include "kube/kube_client.h"
#include "kube/kube_path.h"
#include "net/loop.h"
#include "net/work.h"

#define VERSION "kueue.x-k8s.io/v1beta2"
#define PAGE_MAX ((size_t)4 << 20)
#define CURE                                                                                       \
	"install the chart with kueue.readWorkloads=true, which grants list of workloads.kueue.x-k8s.io"
#define TEXT_MAX 200

struct reader {
	struct feature_state of; /* clusters: struct awaited */
	struct token_bucket budget;
};

/* A RayCluster with a Pod that waits. */
struct awaited {
	struct cluster_entry of;
	struct reader *reader;
	char *uid;
	struct kube_call *call;
	struct budget *budget; /* a reference: of the replies in the namespace; NULL: no limit */
	struct buf body;
	struct arena pages; /* of `slices` */
	struct kueue_slices slices;
	struct page_job *job; /* decodes a page meanwhile; NULL: none */
	size_t page;
	struct arena arena;                    /* of `workload` */
	const struct kueue_workload *workload; /* NULL: not read yet */
	int64_t generation;                    /* of the RayCluster */
	int64_t next_ms, wait_ms;
};

/* A page while a thread of the pool decodes it: what it reads and writes. */
struct page_job {
	struct awaited *awaited; /* which cancels it */
	struct work_job *work;
	struct budget *budget; /* a reference */
	struct buf body;
	struct arena pages;
	struct kueue_slices slices;
	struct err err; /* ERR_NONE: decoded */
};

static int64_t now_ms(const struct reader *reader)
{
	return loop_monotonic_ms(reader->of.control->loop);
}

/* ---- memory ---- */

static void awaited_done(void *one)
{
	struct awaited *awaited = one;

	kube_client_cancel(awaited->call);
	if (awaited->job)
		work_cancel(awaited->job->work);
	buf_done(&awaited->body);
	arena_done(&awaited->pages);
	arena_done(&awaited->arena);
	budget_free(awaited->budget);
	memory_free(awaited->uid);
}

static void begin_page(struct awaited *awaited)
{
	buf_done(&awaited->body);
	buf_init(&awaited->body, PAGE_MAX);
	awaited->body.budget = awaited->budget;
}

static struct awaited *make(struct reader *reader, const struct ray_cluster *cluster)
{
	struct awaited *awaited =
		cluster_map_make(&reader->of.clusters, cluster->namespace_, cluster->name);

	struct memory_budgets *memory = reader->of.control->memory;

	awaited->reader = reader;
	awaited->uid = memory_strdup(cluster->uid);
	if (memory)
		awaited->budget = budget_children_get(&memory->passes, cluster->namespace_);
	awaited->pages = (struct arena){ .budget = awaited->budget };
	begin_page(awaited);
	awaited->next_ms = now_ms(reader);
	awaited->wait_ms = KUEUE_READER_FIRST_MS;
	return awaited;
}

/* ---- answers ---- */

static void ask(struct awaited *awaited);

/* The cluster decides again when the answer is another one. */
static void keep(struct awaited *awaited, const struct kueue_workload *workload)
{
	if (awaited->workload && field_equal(kueue_workload_fields, awaited->workload, workload))
		return;
	arena_reset(&awaited->arena);
	awaited->workload = FIELD_COPY(kueue_workload_fields, workload, &awaited->arena);
	(void)control_wake(awaited->reader->of.control, awaited->of.namespace_, awaited->of.name);
}

static void failed(struct awaited *awaited, const struct err *err)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct kueue_workload workload = kueue_workload_none;
	bool refused = err->kind == ERR_NOT_FOUND || err->kind == ERR_DENIED;

	if (refused)
		awaited->next_ms = now_ms(awaited->reader) + KUEUE_READER_REFUSED_MS;
	workload.problem = arena_printf(&scratch, "its Workload cannot be read: %s%.*s",
					refused ? CURE "; " : "", TEXT_MAX, err->text);
	keep(awaited, &workload);
}

static void finish(struct awaited *awaited)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct kueue_workload workload;

	kueue_workload_make(&awaited->slices, &scratch, &workload);
	keep(awaited, &workload);
}

static int on_chunk(void *context, const char *data, size_t size)
{
	struct awaited *awaited = context;

	return buf_add(&awaited->body, data, size);
}

static void page_read(struct awaited *awaited, const struct err *err)
{
	struct err own;

	begin_page(awaited);
	awaited->page++;
	if (!err && awaited->slices.next_page[0] != '\0') {
		if (awaited->page < KUEUE_READER_PAGES) {
			ask(awaited);
			return;
		}
		err_set(&own, ERR_LIMIT,
			"it has more than %d Workloads: set objectRetentionPolicies of Kueue",
			KUEUE_READER_PAGES * KUEUE_READER_PAGE);
		err = &own;
	}
	if (err)
		failed(awaited, err);
	else
		finish(awaited);
	arena_done(&awaited->pages);
	awaited->slices = (struct kueue_slices){ .next_page = "" };
}

static void add_workload(void *context, const char *text, size_t size, const char *problem)
{
	struct page_job *job = context;
	AUTO(json_done) struct cJSON *json = NULL;
	struct err unreadable;

	if (job->err.kind != ERR_NONE || job->pages.over_budget)
		return;
	if (problem) {
		err_set(&job->err, ERR_LIMIT, "a Workload %s", problem);
		return;
	}
	foreign_object_parse(text, size, false, &json, &unreadable);
	if (unreadable.kind != ERR_NONE)
		job->err = unreadable;
	else
		(void)kueue_slices_add(json, &job->pages, &job->slices, &job->err);
}

/* Workload by Workload: one of 1.5 MiB takes 20 ms, and 20 MiB for its tree. */
static void page_run(void *context, const struct work_job *work UNUSED)
{
	struct page_job *job = context;
	AUTO(list_stream_done) struct list_stream stream;
	struct list_page page;

	list_stream_init(&stream, FOREIGN_OBJECT_MAX_BYTES, add_workload, job);
	(void)list_stream_feed(&stream, job->body.data, job->body.size);
	if (job->err.kind == ERR_NONE &&
	    list_stream_end(&stream, &job->pages, &page, &job->err) == 0)
		job->slices.next_page = page.continue_token;
	if (job->err.kind == ERR_NONE && job->pages.over_budget)
		(void)budget_refuse(job->budget, 0, &job->err);
}

static void page_drop(void *context)
{
	struct page_job *job = context;

	buf_done(&job->body);
	arena_done(&job->pages);
	budget_free(job->budget);
	memory_free(job);
}

static void page_done(void *context)
{
	struct page_job *job = context;
	struct awaited *awaited = job->awaited;
	struct err err = job->err;

	awaited->job = NULL;
	awaited->pages = job->pages;
	awaited->slices = job->slices;
	job->pages = ARENA_INIT;
	page_drop(job);
	page_read(awaited, err.kind == ERR_NONE ? NULL : &err);
}

static void start_page(struct awaited *awaited)
{
	static const struct work_functions functions = { page_run, page_done, page_drop };
	struct page_job *job = memory_alloc(sizeof(*job));

	*job = (struct page_job){ .awaited = awaited,
				  .budget = budget_reference(awaited->budget),
				  .body = awaited->body,
				  .pages = awaited->pages,
				  .slices = awaited->slices };
	awaited->job = job;
	awaited->body = (struct buf){ .data = NULL };
	awaited->pages = (struct arena){ .budget = awaited->budget };
	job->work =
		work_start_slow(awaited->reader->of.control->loop, &functions, job, loop_boot_ms());
}

static void answered(void *context, const struct kube_answer *answer UNUSED, const struct err *err)
{
	struct awaited *awaited = context;
	struct err own;

	awaited->call = NULL;
	if (!awaited->body.overflowed && !err) {
		start_page(awaited);
		return;
	}
	if (awaited->body.overflowed && budget_fits(awaited->budget, PAGE_MAX))
		err_set(&own, ERR_LIMIT, "a page of the list has more than %zu bytes", PAGE_MAX);
	else if (awaited->body.overflowed)
		(void)budget_refuse(awaited->budget, PAGE_MAX, &own);
	page_read(awaited, awaited->body.overflowed ? &own : err);
}

/* ---- requests ---- */

static void ask(struct awaited *awaited)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	char *path = kube_path(&scratch, VERSION, awaited->of.namespace_, "workloads", NULL, NULL);

	path = kube_path_query(&scratch, path, "labelSelector",
			       arena_printf(&scratch, KUEUE_LABEL_JOB_UID "=%s", awaited->uid));
	path = kube_path_query(&scratch, path, "limit",
			       arena_printf(&scratch, "%d", KUEUE_READER_PAGE));
	if (awaited->page > 0)
		path = kube_path_query(&scratch, path, "continue", awaited->slices.next_page);
	awaited->call = kube_client_request(awaited->reader->of.control->kube,
					    &(struct kube_request){ .verb = KUBE_GET,
								    .path = path,
								    .flow = awaited->of.key,
								    .on_chunk = on_chunk },
					    answered, awaited);
}

static void begin_read(struct awaited *awaited)
{
	struct reader *reader = awaited->reader;
	int64_t now = now_ms(reader);

	if (awaited->call || awaited->job || now < awaited->next_ms ||
	    !token_bucket_take(&reader->budget, 1, now))
		return;
	awaited->next_ms = now + awaited->wait_ms;
	awaited->wait_ms = int64_min(2 * awaited->wait_ms, KUEUE_READER_LAST_MS);
	awaited->page = 0;
	ask(awaited);
}

static bool any_waits(const struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->pod_count; i++)
		if (queue_reads_workload(snapshot->pods[i]))
			return true;
	return false;
}

static void decided(void *self, const struct pass_decision *decision)
{
	struct reader *reader = self;
	const struct ray_cluster *cluster = &decision->snapshot->cluster;
	struct awaited *awaited =
		cluster_map_get(&reader->of.clusters, cluster->namespace_, cluster->name);
	bool is_awaited = cluster->uid[0] != '\0' && any_waits(decision->snapshot);

	if (awaited && (!is_awaited || strcmp(awaited->uid, cluster->uid) != 0)) {
		cluster_map_remove(&reader->of.clusters, cluster->namespace_, cluster->name);
		awaited = NULL;
	}
	if (!is_awaited)
		return;
	if (!awaited)
		awaited = make(reader, cluster);
	if (awaited->generation != cluster->generation) {
		awaited->generation = cluster->generation;
		awaited->wait_ms = KUEUE_READER_FIRST_MS;
		if (!awaited->workload || awaited->workload->problem[0] == '\0')
			awaited->next_ms = now_ms(reader);
	}
	begin_read(awaited);
}

static void observe(void *self, const struct ray_cluster *cluster, struct arena *arena,
		    struct snapshot *snapshot)
{
	const struct reader *reader = self;
	const struct awaited *awaited =
		cluster_map_get(&reader->of.clusters, cluster->namespace_, cluster->name);

	if (awaited && awaited->workload && strcmp(awaited->uid, cluster->uid) == 0)
		snapshot->kueue = FIELD_COPY(kueue_workload_fields, awaited->workload, arena);
}

/* ---- the feature ---- */

static void begin(void *self)
{
	struct reader *reader = self;
	int64_t rate = int64_min(int64_max(reader->of.control->options->kube_api_qps / 10, 1),
				 KUEUE_READER_FLEET_PER_SECOND);

	token_bucket_init(&reader->budget, rate, rate, now_ms(reader));
}

const struct feature kueue_feature = {
	.state_size = sizeof(struct reader),
	.cluster_size = sizeof(struct awaited),
	.cluster_done = awaited_done,
	.begin = begin,
	.decided = decided,
	.observe = observe,
};
