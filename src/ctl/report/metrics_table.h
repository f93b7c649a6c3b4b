/* Every metric that the program exports, in one table, besides those of features
 * (ctl/report/feature.h): source of the exposition, docs/METRICS.md and the names that alerts and
 * boards may use. A name is never changed, only added. Must not have a label with unbounded values:
 * no Pod names, no error texts. */
#ifndef CTL_REPORT_METRICS_TABLE_H
#define CTL_REPORT_METRICS_TABLE_H

/* X(kind, identifier, name, labels, help); labels are separated by commas. */

/* Metrics of Ray's own autoscaler, with its names and labels, so that its Grafana board works. */
#define METRICS_RAY_TABLE(X)                                                                       \
	X(GAUGE, RAY_ACTIVE_NODES, "autoscaler_active_nodes",                                      \
	  "namespace,raycluster,NodeType,SessionName", "Nodes that Ray knows, by group.")          \
	X(GAUGE, RAY_PENDING_NODES, "autoscaler_pending_nodes",                                    \
	  "namespace,raycluster,NodeType,SessionName",                                             \
	  "Launched workers that are not registered in Ray, by group.")                            \
	X(GAUGE, RAY_RECENTLY_FAILED_NODES, "autoscaler_recently_failed_nodes",                    \
	  "namespace,raycluster,NodeType,SessionName",                                             \
	  "Failed or ended workers whose Pod still exists: raylet dead, Pod finished or "          \
	  "being deleted.")                                                                        \
	X(GAUGE, RAY_RUNNING_WORKERS, "autoscaler_running_workers_nodes",                          \
	  "namespace,raycluster,SessionName", "Workers that Ray knows, without the head.")         \
	X(GAUGE, RAY_CLUSTER_RESOURCES, "autoscaler_cluster_resources",                            \
	  "namespace,raycluster,resource,SessionName",                                             \
	  "Logical resources of the nodes that Ray knows; memory in bytes.")                       \
	X(GAUGE, RAY_PENDING_RESOURCES, "autoscaler_pending_resources",                            \
	  "namespace,raycluster,resource,SessionName",                                             \
	  "Logical resources of the launched workers that are not registered in Ray.")             \
	X(HISTOGRAM, RAY_UPDATE_TIME, "autoscaler_update_time_seconds",                            \
	  "namespace,raycluster,SessionName", "Duration of one pass over this cluster.")           \
	X(COUNTER, RAY_STARTED_NODES, "autoscaler_started_nodes_total",                            \
	  "namespace,raycluster,SessionName", "Workers launched by accepted patches.")             \
	X(COUNTER, RAY_STOPPED_NODES, "autoscaler_stopped_nodes_total",                            \
	  "namespace,raycluster,SessionName", "Workers terminated by accepted patches.")           \
	X(COUNTER, RAY_UPDATE_LOOP_EXCEPTIONS, "autoscaler_update_loop_exceptions_total",          \
	  "namespace,raycluster,SessionName",                                                      \
	  "Passes that could not read Ray or could not patch the RayCluster.")                     \
	X(COUNTER, RAY_DRAIN_NODE_EXCEPTIONS, "autoscaler_drain_node_exceptions_total",            \
	  "namespace,raycluster,SessionName",                                                      \
	  "DrainNode calls that failed; rejections are not counted.")

/* Metrics of rayscaler, for each cluster. */
#define METRICS_CLUSTER_TABLE(X)                                                                   \
	X(GAUGE, GROUP_REPLICAS, "rayscaler_group_replicas", "namespace,raycluster,group",         \
	  "Replicas in the spec of the RayCluster.")                                               \
	X(GAUGE, GROUP_TARGET_REPLICAS, "rayscaler_group_target_replicas",                         \
	  "namespace,raycluster,group", "Replicas that the last decision wants.")                  \
	X(GAUGE, GROUP_MIN_REPLICAS, "rayscaler_group_min_replicas", "namespace,raycluster,group", \
	  "minReplicas of the group.")                                                             \
	X(GAUGE, GROUP_MAX_REPLICAS, "rayscaler_group_max_replicas", "namespace,raycluster,group", \
	  "maxReplicas of the group.")                                                             \
	X(GAUGE, GROUP_BACKOFF, "rayscaler_group_backoff", "namespace,raycluster,group,cause",     \
	  "1 while the group is in backoff because it got no capacity; causes: "                   \
	  "docs/REASONS.md.")                                                                      \
	X(GAUGE, GPUS_WANTED, "rayscaler_gpus_wanted", "namespace,raycluster,group",               \
	  "GPUs of the replicas that the last decision wants.")                                    \
	X(GAUGE, GPUS_RUNNING, "rayscaler_gpus_running", "namespace,raycluster,group",             \
	  "GPUs of workers that Ray knows.")                                                       \
	X(GAUGE, GPUS_IDLE, "rayscaler_gpus_idle", "namespace,raycluster,group",                   \
	  "GPUs of workers that Ray reports as idle.")                                             \
	X(GAUGE, GPUS_WASTED, "rayscaler_gpus_wasted", "namespace,raycluster,group",               \
	  "GPUs of registered workers that no task or actor uses.")                                \
	X(GAUGE, GPUS_PENDING, "rayscaler_gpus_pending", "namespace,raycluster",                   \
	  "GPUs requested by pending tasks, actors and placement groups.")                         \
	X(GAUGE, UNFULFILLABLE_DEMAND, "rayscaler_unfulfillable_demand",                           \
	  "namespace,raycluster,reason",                                                           \
	  "Bundles that cannot be served, now or ever, by reason (docs/REASONS.md).")              \
	X(GAUGE, SAFE_TO_SCALE_DOWN, "rayscaler_safe_to_scale_down", "namespace,raycluster",       \
	  "1: the last pass had a fresh view of Ray and could remove workers, and the view of "    \
	  "the API server is fresh now; 0: nothing is removed.")                                   \
	X(GAUGE, SCAN_INTERVAL, "rayscaler_scan_interval_seconds", "namespace,raycluster",         \
	  "Interval between reads of Ray; above --scan-interval-seconds while its replies are "    \
	  "large or slow.")                                                                        \
	X(GAUGE, CONDITION, "rayscaler_condition", "namespace,raycluster,type,reason",             \
	  "1: the condition is True, 0: it is not; reason: docs/REASONS.md.")                      \
	X(GAUGE, SCHEDULE_ACTIVE, "rayscaler_schedule_active", "namespace,raycluster,schedule",    \
	  "1: a window of the schedule is open; absent: unknown.")                                 \
	X(GAUGE, SCHEDULE_NEXT_CHANGE, "rayscaler_schedule_next_change_timestamp_seconds",         \
	  "namespace,raycluster,schedule", "When that changes, in seconds since 1970.")            \
	X(GAUGE, LAST_DECISION, "rayscaler_last_decision_timestamp_seconds",                       \
	  "namespace,raycluster",                                                                  \
	  "Time of the last decision in seconds since 1970; up to 5 s ago where nothing changes.")

/* Metrics of rayscaler, for the whole program. */
#define METRICS_PROGRAM_TABLE(X)                                                                    \
	X(GAUGE, BUILD_INFO, "rayscaler_build_info", "version", "1, with the version as label.")    \
	X(GAUGE, LEADER, "rayscaler_leader", "",                                                    \
	  "1: this replica is the leader, 0: it is on standby.")                                    \
	X(GAUGE, CLUSTERS, "rayscaler_clusters", "state",                                           \
	  "RayClusters in the cache; state is managed or hands_off.")                               \
	X(GAUGE, GPUS_CEILING, "rayscaler_gpus_ceiling", "scope,namespace",                         \
	  "GPU quotas over several clusters: scope total has no namespace, scope namespace has "    \
	  "one sample for each namespace with RayClusters.")                                        \
	X(GAUGE, GPUS_COUNTED, "rayscaler_gpus_counted", "scope,namespace",                         \
	  "GPUs that count against that quota: those of the RayClusters, of their replicas and of " \
	  "patches under way; above the quota nothing is added.")                                   \
	X(HISTOGRAM, RECONCILE_DURATION, "rayscaler_reconcile_duration_seconds", "phase",           \
	  "Time of a pass by phase: reading, deciding, draining, verifying, patching, total; a "    \
	  "phase that a pass does not need is not counted.")                                        \
	X(COUNTER, DECISIONS, "rayscaler_decisions_total", "direction,reason",                      \
	  "Decisions of groups: up and down when a patch changed the group, with the group's "      \
	  "reason; none once for each pass that changed nothing, with the reason of "               \
	  "ScalingActive.")                                                                         \
	X(COUNTER, IDLE_TERMINATIONS, "rayscaler_idle_terminations_total", "action",                \
	  "RayClusters that idle termination suspended, deleted or resumed.")                       \
	X(COUNTER, SKIPPED_SCALE_EVENTS, "rayscaler_skipped_scale_events_total",                    \
	  "direction,reason",                                                                       \
	  "Scaling that was needed and not done, counted when it begins: up with the reason of "    \
	  "unserved demand, down with the reason why an idle worker is kept.")                      \
	X(HISTOGRAM, DEMAND_TO_PATCH, "rayscaler_demand_to_patch_seconds", "",                      \
	  "From the pass in which a group's need for more workers was first seen (end of its "      \
	  "reading) to the accepted patch. The time until the next pass reads the demand, at "      \
	  "most the scan interval, comes before it.")                                               \
	X(HISTOGRAM, PATCH_TO_POD, "rayscaler_patch_to_pod_seconds", "",                            \
	  "From an accepted patch that raised replicas to the first pass in which all Pods "        \
	  "requested are in the cache: the operator's lag. Not kept over a restart.")               \
	X(COUNTER, UNDECIDED, "rayscaler_decisions_undecided_total", "",                            \
	  "Decisions above the limits of CPU time or memory; they changed nothing.")                \
	X(GAUGE, LONGEST_TURN, "rayscaler_event_loop_longest_turn_seconds", "",                     \
	  "Longest turn of the event loop since the start; during a turn no watch, probe or "       \
	  "request of any cluster is served.")                                                      \
	X(GAUGE, LONGEST_TURN_CPU, "rayscaler_event_loop_longest_turn_cpu_seconds", "",             \
	  "Largest CPU time of one turn of the event loop. The rest of the longest turn is a "      \
	  "wait for a processor.")                                                                  \
	X(GAUGE, MEMORY_LIMIT, "rayscaler_memory_limit_bytes", "budget",                            \
	  "Memory that others can make the program hold: budget is all, objects (watch caches), "   \
	  "views (of device claims), beside (objects that are refused or replaced) or passes "      \
	  "(replies of Ray and decisions). Absent without a limit of the container.")               \
	X(GAUGE, MEMORY_USED, "rayscaler_memory_used_bytes", "budget",                              \
	  "The bytes of it that are in use.")                                                       \
	X(GAUGE, MEMORY_PEAK, "rayscaler_memory_peak_bytes", "budget",                              \
	  "The most that was in use since the start.")                                              \
	X(COUNTER, API_REQUESTS, "rayscaler_api_requests_total", "code,verb",                       \
	  "Requests to the API server that ended, by HTTP status, or error without one.")           \
	X(COUNTER, GCS_ERRORS, "rayscaler_gcs_errors_total", "kind",                                \
	  "Calls to a Ray GCS that failed, by kind of error.")                                      \
	X(COUNTER, EVENTS_SENT, "rayscaler_events_sent_total", "reason",                            \
	  "Events written on RayClusters.")

/* Process metrics, with the names of Prometheus' client libraries. */
#define METRICS_PROCESS_TABLE(X)                                                                   \
	X(COUNTER, PROCESS_CPU, "process_cpu_seconds_total", "",                                   \
	  "User and system CPU time spent, in seconds.")                                           \
	X(GAUGE, PROCESS_RESIDENT, "process_resident_memory_bytes", "",                            \
	  "Resident memory size in bytes.")                                                        \
	X(GAUGE, PROCESS_OPEN_FDS, "process_open_fds", "", "Open file descriptors.")               \
	X(GAUGE, PROCESS_MAX_FDS, "process_max_fds", "",                                           \
	  "Most file descriptors that may be open.")                                               \
	X(GAUGE, PROCESS_START_TIME, "process_start_time_seconds", "",                             \
	  "Start of the process in seconds since 1970.")

#define METRICS_TABLE(X)                                                                           \
	METRICS_RAY_TABLE(X)                                                                       \
	METRICS_CLUSTER_TABLE(X)                                                                   \
	METRICS_PROGRAM_TABLE(X)                                                                   \
	METRICS_PROCESS_TABLE(X)

enum metrics_id {
#define X(kind, identifier, name, labels, help) METRICS_##identifier,
	METRICS_TABLE(X)
#undef X
		METRICS_COUNT
};

enum metrics_kind { METRICS_GAUGE, METRICS_COUNTER, METRICS_HISTOGRAM };

/* A row of the table, or of a feature. */
struct metrics_row {
	enum metrics_kind kind;
	const char *name, *labels, *help;
};

extern const struct metrics_row metrics_rows[METRICS_COUNT];

#endif
