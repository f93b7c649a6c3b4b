/* GET /gpu-holders/NAMESPACE/NAME: the workers of a decision, joined with the actors, running tasks,
 * placement groups and jobs of the cluster's GCS. */
#ifndef CTL_REPORT_GPU_USE_PAGE_H
#define CTL_REPORT_GPU_USE_PAGE_H

#include "ctl/report/list_page.h"

extern const struct list_page_kind gpu_use_page;

#endif
