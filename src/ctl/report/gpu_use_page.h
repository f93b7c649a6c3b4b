/* The answer of GET /gpu-holders/NAMESPACE/NAME: the workers of a decision, joined with the actors,
 * running tasks, placement groups and jobs of the cluster's GCS. Each list is one request with a
 * deadline, made for this answer alone and never in a pass; large replies are decoded, and the rows
 * joined, on the thread pool. The memory of all answers together has a budget. Owned by
 * ctl/report/status. */
#ifndef CTL_REPORT_GPU_USE_PAGE_H
#define CTL_REPORT_GPU_USE_PAGE_H

#include "ctl/shared/control.h"

struct gpu_use_pages;
struct pass_decision;
struct serve_request;

struct gpu_use_pages *gpu_use_pages_new(const struct control *control);
/* Requests that wait get no answer. NULL is fine. */
void gpu_use_pages_free(struct gpu_use_pages *pages);

/* Answers the request, now or later. The decision's client must live until gpu_use_page_forget. */
void gpu_use_page_start(struct gpu_use_pages *pages, const struct pass_decision *decision,
			struct serve_request *request);
/* The client of this cluster is about to be freed: answers 503. */
void gpu_use_page_forget(struct gpu_use_pages *pages, const char *namespace_, const char *name);

#endif
