#include "ctl/report/gpu_use_page.h"

#include <string.h>

#include "base/arena.h"
#include "base/budget.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/memory.h"
#include "codec/objects/gpu_holders_json.h"
#include "codec/text/json_write.h"
#include "core/report/gpu_holders.h"
#include "ctl/pass/pass.h"
#include "ctl/shared/options.h"
#include "gcs/gcs_client.h"
#include "net/loop.h"
#include "net/serve.h"
#include "net/work.h"

#define BUDGET_BYTES ((size_t)64 << 20) /* of all answers */

struct gpu_use_pages {
	const struct control *control;
	struct budget *budget;
	struct list pages;
};

struct page;

/* One list of the GCS. */
struct page_list {
	struct page *page;
	struct gcs_call *call; /* NULL: ended */
	struct arena arena;    /* of use */
	const struct gpu_use *use;
	const char *problem;
};

struct page {
	struct gpu_use_pages *pages;
	struct list_item item;
	struct serve_request *request;
	struct budget *budget; /* a reference: of the arenas */
	struct arena arena;
	const char *namespace_, *name;
	struct gpu_holders holders;
	struct page_list lists[GPU_USE_LISTS];
	size_t waiting;
	struct work_job *job; /* joins the lists; NULL: they are read */
	struct buf body;
};

static void page_free(void *context)
{
	struct page *page = context;

	list_remove(&page->item);
	for (size_t i = 0; i < GPU_USE_LISTS; i++)
		arena_done(&page->lists[i].arena);
	arena_done(&page->arena);
	budget_free(page->budget);
	buf_done(&page->body);
	memory_free(page);
}

static void page_write(struct page *page)
{
	struct json_writer writer;

	json_write_init(&writer, &page->body, JSON_STYLE_PRETTY);
	json_write_object(&writer, NULL);
	json_write_text(&writer, "kind", "GpuHolders");
	json_write_text(&writer, "namespace", page->namespace_);
	json_write_text(&writer, "name", page->name);
	field_write_all(&writer, gpu_holders_fields, &page->holders);
	json_write_object_end(&writer);
	(void)buf_add_char(&page->body, '\n');
}

static void page_answer(void *context)
{
	struct page *page = context;

	serve_answer(page->request, 200, SERVE_JSON, &page->body);
	page_free(page);
}

/* On a thread of the pool. */
static void page_join(void *context, const struct work_job *job)
{
	struct page *page = context;
	const struct gpu_use *lists[GPU_USE_LISTS];
	const char *problems[GPU_USE_LISTS];

	(void)job;
	for (size_t i = 0; i < GPU_USE_LISTS; i++) {
		lists[i] = page->lists[i].use;
		problems[i] = page->lists[i].problem;
	}
	gpu_holders_join(&page->holders, lists, problems, &page->arena);
	page_write(page);
}

static void list_read(void *context, const struct gcs_reply *reply, const struct err *err)
{
	static const struct work_functions functions = { page_join, page_answer, page_free };
	struct page_list *list = context;
	struct page *page = list->page;

	list->call = NULL;
	list->use = reply->gpu_use;
	if (err)
		list->problem = arena_strdup(&page->arena, err->text);
	if (--page->waiting == 0)
		page->job = work_start(page->pages->control->loop, &functions, page);
}

static void page_ask(struct page *page, struct gcs_client *gcs)
{
	int64_t timeout_ms = page->pages->control->options->gcs_timeout_seconds * MS_PER_SECOND;

	page->waiting = GPU_USE_LISTS;
	for (size_t i = 0; i < GPU_USE_LISTS; i++) {
		struct page_list *list = &page->lists[i];

		list->page = page;
		list->problem = "";
		list->arena.budget = page->budget;
		list->call = gcs_client_get_gpu_use(gcs, timeout_ms, (enum gpu_use_list)i,
						    &list->arena, list_read, list);
	}
}

void gpu_use_page_start(struct gpu_use_pages *pages, const struct pass_decision *decision,
			struct serve_request *request)
{
	struct page *page = memory_alloc(sizeof(*page));

	page->pages = pages;
	page->request = request;
	page->budget = budget_reference(pages->budget);
	page->arena.budget = page->budget;
	list_add(&pages->pages, &page->item);
	buf_init(&page->body, SERVE_BODY_MAX_BYTES);
	page->namespace_ = arena_strdup(&page->arena, decision->snapshot->cluster.namespace_);
	page->name = arena_strdup(&page->arena, decision->snapshot->cluster.name);
	gpu_holders_begin(decision->plan, &page->arena, &page->holders);
	page->holders.at = decision->now;
	if (decision->ray_state && decision->gcs) {
		page_ask(page, decision->gcs);
		return;
	}
	page->holders.problem = decision->snapshot->ray_problem &&
						decision->snapshot->ray_problem[0] ?
					decision->snapshot->ray_problem :
					"Ray was not read";
	page_write(page);
	page_answer(page);
}

void gpu_use_page_forget(struct gpu_use_pages *pages, const char *namespace_, const char *name)
{
	LIST_EACH(struct page, page, &pages->pages, item) {
		if (page->job || strcmp(page->namespace_, namespace_) != 0 ||
		    strcmp(page->name, name) != 0)
			continue;
		for (size_t i = 0; i < GPU_USE_LISTS; i++)
			if (page->lists[i].call)
				gcs_call_cancel(page->lists[i].call);
		serve_answer_text(page->request, 503,
				  "the RayCluster is not watched here any more");
		page_free(page);
	}
}

struct gpu_use_pages *gpu_use_pages_new(const struct control *control)
{
	struct gpu_use_pages *pages = memory_alloc(sizeof(*pages));

	pages->control = control;
	pages->budget = budget_new("all answers about GPUs in use", BUDGET_BYTES, control->memory);
	return pages;
}

void gpu_use_pages_free(struct gpu_use_pages *pages)
{
	if (!pages)
		return;
	LIST_EACH(struct page, page, &pages->pages, item) {
		if (page->job) {
			list_remove(&page->item);
			work_cancel(page->job);
			continue;
		}
		for (size_t i = 0; i < GPU_USE_LISTS; i++)
			if (page->lists[i].call)
				gcs_call_cancel(page->lists[i].call);
		page_free(page);
	}
	budget_free(pages->budget);
	memory_free(pages);
}
