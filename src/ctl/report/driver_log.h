/* The driver log: lines of accepted patches in the output of every program that is connected to the
 * Ray cluster, as Ray's own autoscaler publishes them: "(autoscaler +12s) Adding 2 node(s) of type
 * gpu-group.", and lines of Events for those who run work there (core/report/decision_event.h). Off with
 * --driver-log=false. Nothing depends on it: a line that cannot be published
 * is lost. */
#ifndef CTL_REPORT_DRIVER_LOG_H
#define CTL_REPORT_DRIVER_LOG_H

#include "ctl/shared/control.h"

struct act_scaled_list;
struct gcs_client;
struct strings;

/* One GcsPublish for one patch, on the loop and without waiting. gcs NULL: Ray was not reached. */
void driver_log_add(const struct control *control, struct gcs_client *gcs,
		    const struct act_scaled_list *scaled);
/* The same of other lines. */
void driver_log_add_lines(const struct control *control, struct gcs_client *gcs,
			  const struct strings *lines);

#endif
