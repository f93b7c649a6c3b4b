/* The flags of `rayscaler run`: one table defines parsing, --help and docs/OPTIONS.md. The caller
 * owns struct options; strings point into argv, lists into the options' own arena. Options that
 * influence a decision are rows of core/model/settings.h and are added from there. */
#ifndef CTL_SHARED_OPTIONS_H
#define CTL_SHARED_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/model/device.h"
#include "core/model/price.h"
#include "core/model/settings.h"

/* X(kind, member, name, default, minimum, maximum, unit, help)
 * as in core/model/settings.h: TEXT ("" when not given), INTEGER, BOOLEAN or DURATION (the flag accepts
 * seconds as "15", or "15s", "2m", "500ms"). */
#define OPTIONS_TABLE(X)                                                                           \
	X(TEXT, kubeconfig, "kubeconfig", "", 0, 0, "file",                                        \
	  "default: in-cluster, else $KUBECONFIG, else ~/.kube/config")                            \
	X(TEXT, context, "context", "", 0, 0, "name",                                              \
	  "context of the kubeconfig; default: its own")                                           \
	X(TEXT, service_account_dir, "service-account-dir",                                        \
	  "/var/run/secrets/kubernetes.io/serviceaccount", 0, 0, "directory",                      \
	  "token and ca.crt, in-cluster")                                                          \
	X(TEXT, namespace_, "namespace", "", 0, 0, "name",                                         \
	  "watch this namespace only; default: all")                                               \
	X(TEXT, cluster_name, "cluster-name", "", 0, 0, "name",                                    \
	  "sidecar: the one RayCluster to scale")                                                  \
	X(TEXT, cluster_namespace, "cluster-namespace", "", 0, 0, "name",                          \
	  "sidecar: its namespace")                                                                \
	X(INTEGER, scan_interval_seconds, "scan-interval-seconds", 1, 1, 3600, "seconds",          \
	  "each Ray is read at least this often")                                                  \
	X(INTEGER, gcs_reads_per_second, "gcs-reads-per-second", 200, 0, 100000, "reads/s",        \
	  "of all clusters; clusters with work are read more often; 0: each scan interval")        \
	X(INTEGER, gcs_timeout_seconds, "gcs-timeout-seconds", 2, 1, 60, "seconds",                \
	  "deadline of one call to a Ray GCS")                                                     \
	X(INTEGER, decision_cpu_budget_ms, "decision-cpu-budget-ms", 1000, 10, 60000, "ms",        \
	  "CPU time for packing demand; what is left waits for the next decisions")                \
	X(INTEGER, max_drains, "max-drains-per-pass", 50, 1, 1000, "workers",                      \
	  "drain requests to one Ray in one pass")                                                 \
	X(INTEGER, max_pass_memory_mib, "max-pass-memory", 80, 1, 1000000, "MiB",                  \
	  "memory of one pass with its reply; above it Ray is unreadable")                         \
	X(INTEGER, memory_budget_mib, "memory-budget", 0, 0, 1000000, "MiB",                       \
	  "memory of all passes together; 0: half of the limit, without one 128")                  \
	X(INTEGER, memory_limit_mib, "memory-limit", 0, 0, 1000000, "MiB",                         \
	  "what this process may use; 0: the limit of its container")                              \
	X(INTEGER, kube_api_timeout_seconds, "kube-api-timeout-seconds", 10, 1, 300, "seconds",    \
	  "deadline of one request to the API server")                                             \
	X(INTEGER, kube_api_qps, "kube-api-qps", 100, 1, 100000, "requests/s",                     \
	  "limit on requests to the API server")                                                   \
	X(INTEGER, kube_api_burst, "kube-api-burst", 200, 1, 100000, "requests",                   \
	  "burst above that limit")                                                                \
	X(BOOLEAN, leader_elect, "leader-elect", false, 0, 0, "true|false",                        \
	  "only the replica that holds the Lease acts")                                            \
	X(DURATION, leader_elect_lease_duration_ms, "leader-elect-lease-duration", 15000, 1000,    \
	  3600000, "seconds", "standby replicas wait this long after the last renewal")            \
	X(DURATION, leader_elect_renew_deadline_ms, "leader-elect-renew-deadline", 10000, 500,     \
	  3600000, "seconds", "a leader that cannot renew for this long exits")                    \
	X(DURATION, leader_elect_retry_period_ms, "leader-elect-retry-period", 2000, 100, 3600000, \
	  "seconds", "between attempts to renew or acquire the Lease")                             \
	X(TEXT, leader_elect_resource_name, "leader-elect-resource-name", "rayscaler", 0, 0,       \
	  "name", "name of the Lease")                                                             \
	X(TEXT, leader_elect_resource_namespace, "leader-elect-resource-namespace", "", 0, 0,      \
	  "name", "default: the Pod's")                                                            \
	X(TEXT, metrics_bind_address, "metrics-bind-address", "", 0, 0, "address",                 \
	  "default :8080, sidecar :44217; 0: off")                                                 \
	X(TEXT, health_probe_bind_address, "health-probe-bind-address", "", 0, 0, "address",       \
	  "default :8081, sidecar 0; 0: off")                                                      \
	X(BOOLEAN, metrics_secure, "metrics-secure", false, 0, 0, "true|false",                    \
	  "TLS and bearer tokens for metrics and status; not a sidecar")                           \
	X(TEXT, metrics_cert_dir, "metrics-cert-dir", "", 0, 0, "directory",                       \
	  "tls.crt and tls.key, read again when changed; default: self-signed")                    \
	X(TEXT, device_table_file, "device-table", "", 0, 0, "file",                               \
	  "accelerators beside the built-in ones; read at start")                                  \
	X(TEXT, price_table_file, "price-table", "", 0, 0, "file",                                 \
	  "prices of GPU-hours (docs/COST.md); read at start")                                     \
	X(INTEGER, max_gpus_per_namespace, "max-gpus-per-namespace", 0, 0, 1000000, "GPUs",        \
	  "GPU quota of all clusters of a namespace, 0: none")                                     \
	X(INTEGER, max_gpus_total, "max-gpus-total", 0, 0, 1000000, "GPUs",                        \
	  "GPU quota of all clusters together, 0: none")                                           \
	X(BOOLEAN, driver_log, "driver-log", true, 0, 0, "true|false",                             \
	  "each change is a line in the output of Ray's drivers")                                  \
	X(TEXT, log_level, "log-level", "info", 0, 0, "level", "debug, info, warning or error")

struct options {
#define X(kind, member, name, initial, minimum, maximum, unit, help) SETTINGS_TYPE_##kind member;
	OPTIONS_TABLE(X)
#undef X
	struct settings settings;
	/* Never NULL; options_init sets the built-in one, the reader of a file replaces it. */
	const struct device_table *device_table;
	const struct price_table *price_table; /* NULL: none */
	bool help;                             /* --help was given: nothing else was checked */
	struct arena arena;
};

void options_init(struct options *options); /* the defaults */
void options_done(struct options *options);

/* Reads "--name value" and "--name=value"; the value of a boolean may be omitted. argv[0] is the
 * first flag. 0, or -1 with ERR_INPUT that names the flag and the accepted values. cluster-name and
 * cluster-namespace are given together and set mode sidecar. The three times of the leader election
 * must be in order: retry period < renew deadline < lease duration, which is whole seconds. */
int options_parse(struct options *options, int count, char *const *argv, struct err *err);

bool options_sidecar(const struct options *options);
/* Where to listen for metrics and for probes, as net/serve takes it; "0": nowhere. */
const char *options_metrics_address(const struct options *options);
const char *options_probe_address(const struct options *options);

/* Every flag with its unit and default, by subject, at most 80 columns wide. */
void options_print(FILE *file);
/* The same as a Markdown table, for docs/OPTIONS.md. */
void options_print_markdown(FILE *file);
/* A line for each flag, for the chart: "NAME", "NAME 1..3600", "NAME true|false" or "NAME duration". */
void options_print_values(FILE *file);

#endif
