/* The part of core/report/summary that sums logical resources. Bounded: resources beyond
 * SUMMARY_RESOURCES_MAX are left out. */
#ifndef CORE_REPORT_SUMMARY_RESOURCES_H
#define CORE_REPORT_SUMMARY_RESOURCES_H

#include "core/report/summary.h"

/* Needs the groups of the summary and sets its resources. */
void summary_resources(const struct snapshot *snapshot, struct arena *arena,
		       struct summary *summary);

#endif
