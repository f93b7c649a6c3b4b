#include "ctl/report/list_page.h"

#include <string.h>

#include "base/budget.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/memory.h"
#include "ctl/pass/pass.h"
#include "ctl/shared/memory_budgets.h"
#include "ctl/shared/options.h"
#include "net/loop.h"
#include "net/serve.h"

struct list_pages {
	const struct list_page_kind *kind;
	const void *self;
	const struct control *control;
	struct budget *budget;
	struct list pages;
};

struct page;

/* One list of the GCS. */
struct page_list {
	struct page *page;
	struct gcs_call *call; /* NULL: ended */
	struct arena arena;    /* of the reply */
};

struct page {
	struct list_pages *pages;
	const struct list_page_kind *kind;
	struct list_item item;
	struct serve_request *request;
	struct budget *budget; /* a reference: of the arenas */
	struct arena arena;
	const char *namespace_, *name;
	void *own;           /* of the kind */
	const char *problem; /* "", or why Ray was not asked */
	struct page_list lists[RAY_LISTS];
	struct list_answer answers[RAY_LISTS];
	size_t waiting;
	bool done; /* the lists are read, and net/serve has the page */
};

static void page_free(void *context)
{
	struct page *page = context;

	list_remove(&page->item);
	for (size_t i = 0; i < RAY_LISTS; i++) {
		if (page->lists[i].call)
			gcs_call_cancel(page->lists[i].call);
		arena_done(&page->lists[i].arena);
	}
	arena_done(&page->arena);
	budget_free(page->budget);
	memory_free(page);
}

/* On a thread of the pool. */
static void page_write(void *context, struct buf *body)
{
	struct page *page = context;
	const struct list_page_kind *kind = page->kind;
	const struct list_answer *answers = *page->problem == '\0' ? page->answers : NULL;
	struct json_writer writer;

	json_write_init(&writer, body, JSON_STYLE_PRETTY);
	json_write_object(&writer, NULL);
	JSON_WRITE_TEXTS(&writer, { "kind", kind->name }, { "namespace", page->namespace_ },
			 { "name", page->name });
	kind->write(page->own, answers, page->problem, &page->arena, &writer);
	json_write_object_end(&writer);
	(void)buf_add_char(body, '\n');
}

static void page_answer(struct page *page)
{
	static const struct serve_page written = { page_write, page_free };

	page->done = true;
	serve_answer_page(page->request, SERVE_JSON, &written, page);
}

static void list_read(void *context, const struct gcs_reply *reply, const struct err *err)
{
	struct page_list *list = context;
	struct page *page = list->page;

	list->call = NULL;
	page->answers[list - page->lists] = (struct list_answer){
		.reply = *reply,
		.problem = err ? arena_strdup(&page->arena, err->text) : "",
	};
	if (--page->waiting == 0)
		page_answer(page);
}

static void page_ask(struct page *page, struct gcs_client *gcs)
{
	int64_t timeout_ms = page->pages->control->options->gcs_timeout_seconds * MS_PER_SECOND;

	page->waiting = RAY_LISTS;
	for (size_t i = 0; i < RAY_LISTS; i++) {
		struct page_list *list = &page->lists[i];

		list->page = page;
		list->arena.budget = page->budget;
		list->call = gcs_client_get_list(gcs, timeout_ms, (enum ray_list)i, page->kind->use,
						 &list->arena, list_read, list);
	}
}

void list_page_start(struct list_pages *pages, const struct pass_decision *decision,
		     struct serve_request *request)
{
	struct page *page = memory_alloc(sizeof(*page));

	page->pages = pages;
	page->kind = pages->kind;
	page->request = request;
	page->budget = budget_reference(pages->budget);
	page->arena.budget = page->budget;
	list_add(&pages->pages, &page->item);
	page->namespace_ = arena_strdup(&page->arena, decision->snapshot->cluster.namespace_);
	page->name = arena_strdup(&page->arena, decision->snapshot->cluster.name);
	page->own = pages->kind->begin(pages->self, decision, &page->arena);
	page->problem = "";
	if (decision->ray_state && decision->gcs) {
		page_ask(page, decision->gcs);
		return;
	}
	page->problem = decision->snapshot->ray_problem && decision->snapshot->ray_problem[0] ?
				arena_strdup(&page->arena, decision->snapshot->ray_problem) :
				"Ray was not read";
	page_answer(page);
}

void list_pages_forget(struct list_pages *pages, const char *namespace_, const char *name)
{
	LIST_EACH(struct page, page, &pages->pages, item) {
		if (page->done || strcmp(page->namespace_, namespace_) != 0 ||
		    strcmp(page->name, name) != 0)
			continue;
		serve_answer_text(page->request, 503,
				  "the RayCluster is not watched here any more");
		page_free(page);
	}
}

struct list_pages *list_pages_new(const struct list_page_kind *kind, const void *self,
				  const struct control *control)
{
	struct list_pages *pages = memory_alloc(sizeof(*pages));

	pages->kind = kind;
	pages->self = self;
	pages->control = control;
	pages->budget = budget_new(kind->budget_name, "ask again later", kind->budget_bytes,
				   control->memory ? control->memory->root : NULL);
	return pages;
}

const char *list_pages_path(const struct list_pages *pages)
{
	return pages->kind->path;
}

void list_pages_free(struct list_pages *pages)
{
	if (!pages)
		return;
	LIST_EACH(struct page, page, &pages->pages, item) {
		list_remove(&page->item);
		if (!page->done)
			page_free(page);
	}
	budget_free(pages->budget);
	memory_free(pages);
}
