/* Nodes under repair in the objects and tables of core/model: the published signals, the settings, and the rows of
 * the tables of core/model/reason.h. Plain data. */
#ifndef FEATURE_REPAIR_MODEL_REPAIR_H
#define FEATURE_REPAIR_MODEL_REPAIR_H

#include <stdbool.h>
#include <stdint.h>

/* Taints, of a Node or of a device, that say that it is to be repaired; they act.
 * X(key, source: file and version) */
#define REPAIR_TAINT_TABLE(X)                                                                      \
	X("nvidia.com/gpu-xid-error", "NVSentinel docs/INTEGRATIONS.md 9087c1f8")                  \
	X("nvidia.com/gpu-nvlink-error", "the same")                                               \
	X("nvidia.com/gpu-error", "the same")                                                      \
	X("nvidia.com/syslog-xid-error", "the same")                                               \
	X("gpu.nvidia.com/xid", "kubernetes-sigs/dra-driver-nvidia-gpu "                           \
				"site/content/docs/guides/gpu-health-checking.md 132094a5")        \
	X("gpu.nvidia.com/gpu-lost", "the same")

/* Conditions of Nodes that say that a device is sick; reported, and act only where --repair-conditions names them.
 * X(type, status while it is sick, source: file and version) */
#define REPAIR_CONDITION_TABLE(X)                                                                  \
	X("GpuMemWatch", "True", "NVSentinel docs/INTEGRATIONS.md 9087c1f8")                       \
	X("GpuNvlinkWatch", "True", "the same")                                                    \
	X("GpuPcieWatch", "True", "the same")                                                      \
	X("GpuThermalWatch", "True", "the same")                                                   \
	X("GpuPowerWatch", "True", "the same")                                                     \
	X("GpuInforomWatch", "True", "the same")                                                   \
	X("GpuSmWatch", "True", "the same")                                                        \
	X("GpuMcuWatch", "True", "the same")                                                       \
	X("GpuPmuWatch", "True", "the same")                                                       \
	X("GpuDriverWatch", "True", "the same")                                                    \
	X("NVSwitchFatalError", "True", "the same")                                                \
	X("NVSwitchDown", "True", "the same")                                                      \
	X("SysLogsXIDError", "True", "the same")                                                   \
	X("SysLogsSXIDError", "True", "the same")                                                  \
	X("SysLogsGPUFallenOff", "True", "the same")                                               \
	X("XidCriticalError", "True",                                                              \
	  "GoogleCloudPlatform/container-engine-accelerators "                                     \
	  "pkg/gpu/nvidia/health_check/health_checker.go 06e703e6")                                \
	X("AcceleratedHardwareReady", "False",                                                     \
	  "aws/eks-node-monitoring-agent pkg/conditions/conditions.go baf7e155")                   \
	X("GPUMissing", "True",                                                                    \
	  "MicrosoftDocs/azure-aks-docs articles/aks/node-problem-detector.md 2026-09")            \
	X("NVLinkStatusInactive", "True", "the same")                                              \
	X("XIDErrors", "True", "the same")                                                         \
	X("IBLinkFlapping", "True", "the same")                                                    \
	X("NebiusGPUError", "True",                                                                \
	  "nebius/nebius-solutions-library "                                                       \
	  "soperator/modules/k8s/k8s_ng_workers_v2.tf c1861f98")                                   \
	X("Ready", "Unknown",                                                                      \
	  "kubernetes v1.34 pkg/controller/nodelifecycle/node_lifecycle_controller.go: "           \
	  "its kubelet is silent")

/* Of the inventory's Nodes, while they are sick. */
#define REPAIR_NODE_CONDITIONS(X) REPAIR_CONDITION_TABLE(X)

/* In the order of trust. */
enum repair_source {
	REPAIR_BY_REQUEST = 0, /* a DrainRequest of NVSentinel */
	REPAIR_BY_TAINT,
	REPAIR_BY_CONDITION,
	REPAIR_BY_CORDON, /* spec.unschedulable */
	REPAIR_BY_DEVICE, /* a taint of a device, for the workers that have it by a claim */
};

#define WORKER_FAILURES_MAX 32 /* that a decision reads */

/* A worker that failed, as the watch of Pods saw it: KubeRay deletes its Pod soon after. */
struct worker_failure {
	const char *group, *pod, *node;
	int64_t at;          /* time_ms */
	const char *message; /* how it failed; "": unknown */
};

/* spec.repair of a RayClusterAutoscaler; members without `has` are not given. */
struct repair_spec {
	int64_t deadline_seconds;
	bool has_deadline_seconds, has_deletes, has_max_unavailable, has_max_unavailable_percent;
	bool deletes;
	int64_t max_unavailable, max_unavailable_percent;
};

#define REPAIR_DEADLINE_SECONDS_MAX 604800

/* Rows of the table of core/model/settings.h. */
#define REPAIR_SETTINGS(X)                                                                         \
	X(LIST, repair_taints, "repair-taints", 0, 0, 0, "keys",                                   \
	  "further taints by which a Node, or a claimed device, is to be repaired")                \
	X(LIST, repair_conditions, "repair-conditions", 0, 0, 0, "types",                          \
	  "conditions of Nodes that act, as TYPE or TYPE=STATUS; others are reported")             \
	X(INTEGER, repair_after_seconds, "repair-after-seconds", 30, 0, 86400, "seconds",          \
	  "a taint or condition acts when it has lasted this long")                                \
	X(INTEGER, repair_cordon_seconds, "repair-cordon-seconds", 0, 0, 31536000, "seconds",      \
	  "a cordon alone acts when it has lasted this long, 0: never")                            \
	X(INTEGER, repair_deadline_seconds, "repair-deadline-seconds", 600, 1,                     \
	  REPAIR_DEADLINE_SECONDS_MAX, "seconds",                                                  \
	  "the time that Ray gets to move work from a Node that is to be repaired")                \
	X(BOOLEAN, repair_deletes, "repair-deletes", false, 0, 1, "true|false",                    \
	  "after it, the Pods are deleted while their work runs")                                  \
	X(INTEGER, repair_max_unavailable, "repair-max-unavailable", 1, 0, 100000, "Nodes",        \
	  "of a cluster at most so many Nodes are emptied at once, 0: none")                       \
	X(INTEGER, repair_max_unavailable_percent, "repair-max-unavailable-percent", 0, 0, 100,    \
	  "percent", "the same, of the Nodes that the cluster uses; the larger counts")            \
	X(INTEGER, repair_fleet_max_unavailable, "repair-fleet-max-unavailable", 1, 0, 100000,     \
	  "Nodes", "of all RayClusters together at most so many Nodes are emptied at once")        \
	X(BOOLEAN, repair_drain_requests, "repair-drain-requests", false, 0, 1, "true|false",      \
	  "DrainRequests of NVSentinel act, and are completed when the Node is empty")             \
	X(BOOLEAN, repair_dry_run, "repair-dry-run", false, 0, 1, "true|false",                    \
	  "says what it would do on Nodes that are to be repaired, and does nothing")

#define REPAIR_CAUSES(X)                                                                           \
	X(NODE_FAILS, "NodeFails", TRAIT_OUTLASTS,                                                 \
	  "most of its workers that failed in 24 h, at least three, ran on one Node; others run "  \
	  "elsewhere, or it has a sign",                                                           \
	  "look at the Node that the message names; cordon it while it is sick")

#define CONDITION_NODES_TO_REPAIR "NodesToRepair"
#define CONDITION_REPAIR_UNREAD "RepairUnread"

#define REPAIR_EVENTS(X)                                                                           \
	X(NODES_TO_REPAIR, NORMAL, "NodesToRepair",                                                \
	  "a Node with workers has a sign that it is sick",                                        \
	  "see the condition NodesToRepair: its reason says whether work moves away")

#define REPAIR_CONDITION_REASONS(X)                                                                \
	X(REPAIR_BEGUN, "RepairBegun", 0, "NodesToRepair: work moves away from a Node",            \
	  "nothing: replacements start first; the Node can be repaired when it is empty")          \
	X(REPAIR_WAITS, "RepairWaits", 0, "NodesToRepair: more Nodes than repair.maxUnavailable",  \
	  "wait, or look whether the signal is false; --repair-max-unavailable")                   \
	X(REPAIR_REPORTED, "RepairReported", 0,                                                    \
	  "NodesToRepair: a sign of a sick Node that does not act",                                \
	  "cordon the Node and name the condition in --repair-conditions, if it is to act")        \
	X(REPAIR_UNREAD, "RepairUnread", 0,                                                        \
	  "RepairUnread: a setting of repair has no effect, as its signs cannot be read",          \
	  "the message has the right")

#endif
