/* docs/METRICS.md from ctl/report/metrics_table.h. Header only, for the tool and the test. */
#ifndef TEST_SUPPORT_METRICS_MARKDOWN_H
#define TEST_SUPPORT_METRICS_MARKDOWN_H

#include <stdio.h>
#include <string.h>

#include "ctl/report/metrics_table.h"

struct metrics_row {
	const char *kind, *name, *labels, *help;
};

static const struct metrics_row metrics_rows[] = {
#define X(kind, identifier, name, labels, help) { #kind, name, labels, help },
	METRICS_TABLE(X)
#undef X
};

static const char metrics_introduction[] =
	"# Metrics\n\n"
	"`GET /metrics` on `--metrics-bind-address` (port 8080; 44217 in a sidecar), in "
	"Prometheus' text format.\n"
	"This file is made from `src/ctl/report/metrics_table.h` by `make docs`.\n\n"
	"`autoscaler_*` are the names and labels of Ray's own autoscaler, with `namespace` and "
	"`raycluster` beside them, so that\nRay's Grafana board works; `NodeType` is the group, "
	"`headgroup` for the head. Left out are those that mean nothing here and\nthat no board "
	"of Ray asks for: `updating_nodes`, `recovering_nodes`, `successful_` and "
	"`failed_updates`, `successful_` and\n`failed_recoveries`, `worker_update_time_seconds` "
	"(Ray's updater threads: there are none), `failed_create_nodes`,\n"
	"`node_launch_exceptions`, `worker_create_node_time_seconds` (the operator creates Pods: see "
	"`rayscaler_group_backoff` and\n`rayscaler_patch_to_pod_seconds`), `reset_exceptions`, "
	"`config_validation_exceptions` (nothing is reset; a bad field is the\ncondition "
	"`InvalidRequest`).\n\n"
	"GPUs are counted as Ray counts them. No metric has a Pod's name. The series of a "
	"RayCluster end when it is deleted; counters start\nat 0 with the process. What Ray did not tell in the last pass is absent, not 0. "
	"A standby has no series of clusters.\n\n"
	"A RayCluster with one group costs about 1.2 KiB of memory (a unit test holds it below 2 KiB) "
	"and 4 KB of a scrape; of its\ngroups the first 256 are shown, of its resources 32. 1,000 of "
	"them are written in about 20 ms of CPU time, in pieces, between\nwhich everything else goes "
	"on.\n\n"
	"The same address answers `GET /status` (what this replica is, every RayCluster's conditions), "
	"`/status/NAMESPACE/NAME` (the\nplan of the next pass) and `/snapshot/NAMESPACE/NAME` (what "
	"that plan is made from, without secrets: [SNAPSHOT.md](SNAPSHOT.md));\n`rayscaler status`, "
	"`explain` and `snapshot` read them. The last two wait for a pass, 5 s at most, else 504; a "
	"standby answers 503\nwith the leader's name. `--health-probe-bind-address` (port 8081) has "
	"`/healthz`, which answers as long as the event loop turns,\nand `/readyz`: 503 until all "
	"RayClusters and Pods have been listed, and on a leader again while their list or watch\n"
	"cannot be renewed; the answer names the cache and the error, and "
	"`rayscaler_safe_to_scale_down` is 0 for that time. One object that\ncannot be read does not "
	"matter. A standby that has listed them once stays ready. The chart's metrics Service lists "
	"Pods that are not ready too.\nA port that is taken ends a controller with a message that "
	"names the flag; a sidecar logs it and goes on. In a sidecar "
	"the address is in Ray's key-value store\nas `AutoscalerMetricsAddress`, as Ray's own "
	"autoscaler puts it.\n\n";

static inline void metrics_print(FILE *file)
{
	fputs(metrics_introduction, file);
	fputs("| metric | kind | labels | meaning |\n| --- | --- | --- | --- |\n", file);
	for (size_t i = 0; i < sizeof(metrics_rows) / sizeof(metrics_rows[0]); i++) {
		const struct metrics_row *row = &metrics_rows[i];

		fprintf(file, "| `%s` | %s | ", row->name,
			!strcmp(row->kind, "GAUGE")   ? "gauge" :
			!strcmp(row->kind, "COUNTER") ? "counter" :
							"histogram");
		for (const char *c = row->labels; *c; c++)
			fputs(*c == ',' ? ", " : (char[]){ *c, '\0' }, file);
		fprintf(file, " | %s |\n", row->help);
	}
}

#endif
