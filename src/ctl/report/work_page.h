/* GET /work/NAMESPACE/NAME: the tasks, actors and placement groups of the cluster's GCS with their
 * times and resources, for `rayscaler record`. */
#ifndef CTL_REPORT_WORK_PAGE_H
#define CTL_REPORT_WORK_PAGE_H

#include "ctl/report/list_page.h"

extern const struct list_page_kind work_page;

#endif
