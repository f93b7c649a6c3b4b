/* docs/METRICS.md from ctl/report/metrics_table.h and the features. Header only, for the tool and the test. */
#ifndef TEST_SUPPORT_METRICS_MARKDOWN_H
#define TEST_SUPPORT_METRICS_MARKDOWN_H

#include <stdio.h>
#include <string.h>

#include "ctl/features.h"
#include "ctl/report/list_page.h"

static const char metrics_introduction[] =
	"# Metrics\n"
	"\n"
	"`GET /metrics` on `--metrics-bind-address` (port 8080; 44217 in a sidecar), in Prometheus' text format.\n"
	"This file is made from `src/ctl/report/metrics_table.h` by `make docs`.\n"
	"\n"
	"The metrics `autoscaler_*` have the names and labels of Ray's own autoscaler, plus `namespace` and `raycluster`, so that\n"
	"Ray's Grafana board works; `NodeType` is the group, `headgroup` for the head. Metrics of Ray's autoscaler without a\n"
	"meaning here are omitted; no board of Ray uses them. Their nearest counterparts are `rayscaler_group_backoff` (failed\n"
	"launches) and `rayscaler_patch_to_pod_seconds` (time to create Pods).\n"
	"\n"
	"GPUs are counted as Ray counts them. No metric has a Pod's name. The series of a RayCluster end when it is deleted;\n"
	"counters start at 0 with the process. A value that Ray did not report in the last pass is absent, not 0. A follower has\n"
	"no series of clusters. A RayCluster with one group costs about 1.2 KiB of memory and 4 KB of a scrape; at most 256 groups\n"
	"and 32 resources of a cluster are shown.\n"
	"\n"
	"| path on the same address | answer |\n"
	"| --- | --- |\n"
	"| `/status` | this replica and the conditions of every RayCluster |\n"
	"| `/status/NAMESPACE/NAME` | the plan of the next pass |\n"
	"| `/snapshot/NAMESPACE/NAME` | the inputs of that plan, without secrets ([snapshot.md](internals/snapshot.md)) |\n";

/* After the pages. */
static const char metrics_of_pages[] =
	"\n"
	"`rayscaler status`, `explain`, `snapshot` and `record` read these paths. Those of a RayCluster wait for a pass, at most\n"
	"5 s, else 504; a follower answers 503 with the leader's name.\n"
	"\n"
	"`--health-probe-bind-address` (port 8081) serves `/healthz`, which answers while the event loop turns, and `/readyz`: 503\n"
	"until all RayClusters and Pods have been listed, and on a leader again while their list or watch cannot be renewed; the\n"
	"answer names the cache and the error, and `rayscaler_safe_to_scale_down` is 0 for that time. One unreadable object does not\n"
	"matter. A follower that has listed them once stays ready. The chart's metrics Service lists Pods that are not ready too.\n"
	"\n"
	"A port in use ends a controller with a message that names the flag; a sidecar logs it and continues. In a sidecar the\n"
	"address is in Ray's key-value store as `AutoscalerMetricsAddress`, as with Ray's own autoscaler.\n"
	"\n";

static inline void metrics_print_row(FILE *file, const struct metrics_row *row)
{
	static const char *const kinds[] = { "gauge", "counter", "histogram" };

	fprintf(file, "| `%s` | %s | ", row->name, kinds[row->kind]);
	for (const char *c = row->labels; *c; c++)
		fputs(*c == ',' ? ", " : (char[]){ *c, '\0' }, file);
	fprintf(file, " | %s |\n", row->help);
}

static inline void metrics_print_page(FILE *file, const struct list_page_kind *page)
{
	fprintf(file, "| `/%s/NAMESPACE/NAME` | %s |\n", page->path, page->what);
}

static inline void metrics_print(FILE *file)
{
	fputs(metrics_introduction, file);
	metrics_print_page(file, &gpu_use_page);
	for (size_t f = 0; features_listed[f]; f++)
		if (features_listed[f]->page)
			metrics_print_page(file, features_listed[f]->page);
	fputs(metrics_of_pages, file);
	fputs("| metric | kind | labels | meaning |\n| --- | --- | --- | --- |\n", file);
	for (size_t i = 0; i < METRICS_COUNT; i++) {
		if (i == METRICS_BUILD_INFO) /* the first that is not of a cluster */
			for (size_t f = 0; features_listed[f]; f++)
				for (size_t m = 0; m < features_listed[f]->metric_count; m++)
					metrics_print_row(file,
							  &features_listed[f]->metrics[m].row);
		metrics_print_row(file, &metrics_rows[i]);
	}
}

#endif
