/* Pages that are made from the lists of a cluster's GCS: actors, tasks, placement groups and jobs.
 * Each list is one request with a deadline, made for this answer alone and never in a pass; large
 * replies are decoded, and the page written (serve_answer_page), on the thread pool. The memory of all answers of a kind
 * together has a budget. Owned by ctl/report/status. */
#ifndef CTL_REPORT_LIST_PAGE_H
#define CTL_REPORT_LIST_PAGE_H

#include <stddef.h>

#include "base/arena.h"
#include "codec/text/json_write.h"
#include "core/model/ray_list.h"
#include "ctl/shared/control.h"
#include "gcs/gcs_client.h"

struct list_pages;
struct pass_decision;
struct serve_request;

/* One list of an answer. */
struct list_answer {
	struct gcs_reply reply; /* empty, or with the member of the kind's use */
	const char *problem;    /* why it is empty; "" when it is not */
};

struct list_page_kind {
	const char *path; /* "work": GET /work/NAMESPACE/NAME */
	const char *name; /* kind of the JSON object */
	const char *what; /* for docs/METRICS.md */
	const char *budget_name;
	size_t budget_bytes;
	const struct gcs_list_use *use;
	/* The values that the page keeps of a decision, in the arena; self: of list_pages_new. */
	void *(*begin)(const void *self, const struct pass_decision *decision, struct arena *arena);
	/* The members of the object, on a thread of the pool. problem: "", or why Ray was not asked;
	 * then lists is NULL. */
	void (*write)(void *own, const struct list_answer *lists, const char *problem,
		      struct arena *arena, struct json_writer *writer);
};

/* self: of the feature that has the kind; NULL without one. */
struct list_pages *list_pages_new(const struct list_page_kind *kind, const void *self,
				  const struct control *control);
const char *list_pages_path(const struct list_pages *pages);
/* Requests that wait get no answer. NULL is fine. */
void list_pages_free(struct list_pages *pages);

/* Answers the request, now or later. The decision's client must live until list_pages_forget. */
void list_page_start(struct list_pages *pages, const struct pass_decision *decision,
		     struct serve_request *request);
/* The client of this cluster is about to be freed: answers 503. */
void list_pages_forget(struct list_pages *pages, const char *namespace_, const char *name);

/* GET /gpu-holders/NAMESPACE/NAME: the workers of a decision, joined with the actors, running tasks,
 * placement groups and jobs of the cluster's GCS. */
extern const struct list_page_kind gpu_use_page;

#endif
