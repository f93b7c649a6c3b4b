/* GET /work/NAMESPACE/NAME: the tasks, actors and placement groups of the cluster's GCS with their
 * times and resources, for `rayscaler record`, and how long its Pods took to start. */
#ifndef FEATURE_RECORD_CTL_WORK_PAGE_H
#define FEATURE_RECORD_CTL_WORK_PAGE_H

#include "ctl/report/feature.h"
#include "ctl/report/list_page.h"

extern const struct list_page_kind work_page; /* `begin` gets a struct start_times */
extern const struct feature record_feature;   /* its state is a struct start_times */

#endif
