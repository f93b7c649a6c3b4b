/* Refusals of KubeRay of a RayCluster, RayJob, RayService or RayCronJob, known before it is applied: rows of
 * one table, each with a place and a condition on the JSON (ValidateRayClusterSpec, ValidateRayJobSpec and their
 * kin, KubeRay 1.7.0, ray-operator/controllers/ray/utils/validation.go). Refused objects are not reconciled at all:
 * no Pod, no scaling. Feature gates that are off by default are infos: an object does not tell whether they are on. Not
 * checked: the variables of a collector for Azure, and names of time zones beyond their form. */
#include <cjson/cJSON.h>
#include <string.h>

#include "base/arena.h"
#include "feature/lint/core/lint.h"
#include "feature/lint/objects/lint_check.h"
#include "feature/lint/objects/lint_found.h"
#include "feature/lint/objects/lint_row.h"

#define POLICIES_MAX 1000
#define V2_LINES "autoscalerOptions:\n  version: v2"
#define COLLECTOR_ENV "historyServerOptions collectorOptions env"
#define ALIYUN "STORAGE_BACKEND=ALIYUNOSS|AliyunOSS|aliyunoss"
#define TLS_ENV "RAY_USE_TLS|RAY_TLS_SERVER_CERT|RAY_TLS_SERVER_KEY|RAY_TLS_CA_CERT"
#define TLS_OWN "is managed by KubeRay with tlsOptions: remove it"
#define FT_ONLY "beside gcsFaultToleranceOptions: "

static const struct lint_row cluster_refusals[] = {
	{ 0, V2 | V2_BY_ENV, GROUPS, "idleTimeoutSeconds", IS_GIVEN, "",
	  "idleTimeoutSeconds of a group needs version v2 in spec.autoscalerOptions", V2_LINES },
	{ 0, 0, GROUPS, "idleTimeoutSeconds", IS_NEGATIVE, "", "idleTimeoutSeconds is negative",
	  "" },
	{ 0, 0, SPEC, "autoscalerOptions idleTimeoutSeconds", IS_NEGATIVE, "",
	  "idleTimeoutSeconds is negative", "" },
	{ NO_RAY_VERSION, 0, GROUPS, "priority", IS_NOT, "0",
	  "priority of a group needs spec.rayVersion 2.56.0 or later", "rayVersion: 2.56.0" },
	{ RAY_BELOW_2_56, 0, GROUPS, "priority", IS_NOT, "0",
	  "priority of a group needs spec.rayVersion 2.56.0 or later", "rayVersion: 2.56.0" },
	{ 0, V2 | V2_BY_ENV, GROUPS, "priority", IS_NOT, "0",
	  "priority of a group needs version v2 in spec.autoscalerOptions", V2_LINES },
	{ AUTOSCALED, 0, GROUPS, "suspend", IS, "true",
	  "a group of a RayCluster that is scaled cannot be suspended: set maxReplicas 0", "" },
	{ AUTOSCALED | VERSION, 0, HEAD, LINT_ENV, SETS, "RAY_enable_autoscaler_v2",
	  "RAY_enable_autoscaler_v2 is set beside autoscalerOptions.version: remove the variable",
	  "" },
	{ 0, AUTOSCALED, HEAD, LINT_ENV, SETS, "RAY_enable_autoscaler_v2=1|true",
	  "RAY_enable_autoscaler_v2 needs enableInTreeAutoscaling",
	  "enableInTreeAutoscaling: true" },
	{ AUTOSCALED | V2, 0, ALL, "template spec restartPolicy", IS_NOT, "Never",
	  "with autoscalerOptions.version v2 restartPolicy must be Never or absent",
	  "restartPolicy: Never" },
	{ 0, 0, SPEC, "autoscalerOptions env", SETS, "KUBERAY_GEN_AUTOSCALER_START_CMD",
	  "KUBERAY_GEN_AUTOSCALER_START_CMD is written by KubeRay: remove it", "" },
	{ FT_OPTIONS, 0, OBJECT, "metadata annotations ray.io/ft-enabled", IS_NOT, "",
	  FT_ONLY "remove the annotation ray.io/ft-enabled", "" },
	{ FT_OPTIONS, 0, OBJECT, "metadata annotations ray.io/external-storage-namespace", IS_NOT,
	  "", FT_ONLY "write externalStorageNamespace there instead of the annotation", "" },
	{ 0, FT, HEAD, LINT_ENV, SETS, "RAY_REDIS_ADDRESS",
	  "RAY_REDIS_ADDRESS needs spec.gcsFaultToleranceOptions: write redisAddress there", "" },
	{ FT_OPTIONS, 0, HEAD, LINT_ENV, SETS, "RAY_REDIS_ADDRESS",
	  FT_ONLY "write redisAddress there instead of RAY_REDIS_ADDRESS", "" },
	{ FT_OPTIONS, 0, HEAD, LINT_ENV, SETS, "REDIS_PASSWORD",
	  FT_ONLY "write redisPassword there instead of REDIS_PASSWORD", "" },
	{ FT_OPTIONS, 0, HEAD, "rayStartParams redis-password", IS_NOT, "",
	  FT_ONLY "write redisPassword there instead of redis-password", "" },
	{ 0, 0, HEAD, LINT_ENV, SETS, "REDIS_USERNAME",
	  "write redisUsername of gcsFaultToleranceOptions instead of REDIS_USERNAME", "" },
	{ 0, 0, HEAD, "rayStartParams redis-username", IS_NOT, "",
	  "write redisUsername of gcsFaultToleranceOptions instead of redis-username", "" },
	{ ROCKSDB, 0, SPEC, "gcsFaultToleranceOptions redisAddress", IS_NOT, "",
	  "backend rocksdb has no redisAddress: remove it", "" },
	{ ROCKSDB, 0, SPEC, "gcsFaultToleranceOptions redisUsername", IS_GIVEN, "",
	  "backend rocksdb has no redisUsername: remove it", "" },
	{ ROCKSDB, 0, SPEC, "gcsFaultToleranceOptions redisPassword", IS_GIVEN, "",
	  "backend rocksdb has no redisPassword: remove it", "" },
	{ ROCKSDB, 0, SPEC, "gcsFaultToleranceOptions externalStorageNamespace", IS_NOT, "",
	  "backend rocksdb has no externalStorageNamespace: remove it", "" },
	{ ROCKSDB, 0, HEAD, LINT_ENV, SETS, "RAY_gcs_storage",
	  "RAY_gcs_storage is managed by KubeRay with backend rocksdb: remove it", "" },
	{ ROCKSDB, 0, HEAD, LINT_ENV, SETS, "RAY_gcs_storage_path",
	  "RAY_gcs_storage_path is managed by KubeRay with backend rocksdb: remove it", "" },
	{ ROCKSDB, 0, HEAD, "template spec containers 0 volumeMounts * name", IS, "gcs-storage",
	  "the mount gcs-storage is KubeRay's with backend rocksdb: rename it", "" },
	{ ROCKSDB, 0, HEAD, "template spec containers 0 volumeMounts * mountPath", IS, "/data/gcs",
	  "/data/gcs is KubeRay's with backend rocksdb: use another mountPath", "" },
	{ ROCKSDB, 0, HEAD, "template spec volumes * name", IS, "gcs-storage",
	  "the volume gcs-storage is KubeRay's with backend rocksdb: rename it", "" },
	{ ROCKSDB | CLAIMED, 0, SPEC, "gcsFaultToleranceOptions storage size", IS_GIVEN, "",
	  "claimName names a volume that is there: remove size", "" },
	{ ROCKSDB | CLAIMED, 0, SPEC, "gcsFaultToleranceOptions storage storageClassName", IS_GIVEN,
	  "", "claimName names a volume that is there: remove storageClassName", "" },
	{ ROCKSDB | CLAIMED, 0, SPEC, "gcsFaultToleranceOptions storage accessModes 0", IS_GIVEN,
	  "", "claimName names a volume that is there: remove accessModes", "" },
	{ FT_OPTIONS, ROCKSDB, SPEC, "gcsFaultToleranceOptions storage", IS_GIVEN, "",
	  "storage needs backend rocksdb", "backend: rocksdb" },
	{ TOKEN | NO_RAY_VERSION, 0, SPEC, "authOptions mode", IS_GIVEN, "",
	  "mode token needs rayVersion 2.52.0 or later", "rayVersion: 2.52.0" },
	{ TOKEN | RAY_BELOW_2_52, 0, SPEC, "authOptions mode", IS_GIVEN, "",
	  "mode token needs rayVersion 2.52.0 or later", "rayVersion: 2.52.0" },
	{ TOKEN | K8S_TOKEN | RAY_BELOW_2_55, RAY_BELOW_2_52, SPEC,
	  "authOptions enableK8sTokenAuth", IS_GIVEN, "",
	  "enableK8sTokenAuth needs rayVersion 2.55.0 or later", "rayVersion: 2.55.0" },
	{ TOKEN | K8S_TOKEN, 0, SPEC, "authOptions secretName", IS_NOT, "",
	  "enableK8sTokenAuth has no secretName: remove one of them", "" },
	{ K8S_TOKEN, TOKEN, SPEC, "authOptions enableK8sTokenAuth", IS_GIVEN, "",
	  "enableK8sTokenAuth needs mode token", "mode: token" },
	{ K8S_TOKEN | OF_JOB, 0, SPEC, "authOptions enableK8sTokenAuth", IS_GIVEN, "",
	  "enableK8sTokenAuth is not supported in a RayJob", "" },
	{ K8S_TOKEN | OF_SERVICE, 0, SPEC, "authOptions enableK8sTokenAuth", IS_GIVEN, "",
	  "enableK8sTokenAuth is not supported in a RayService", "" },
	{ OF_JOB, 0, SPEC, "upgradeStrategy type", IS_GIVEN, "",
	  "the RayCluster of a RayJob has no upgradeStrategy: remove it", "" },
	{ OF_SERVICE, 0, SPEC, "upgradeStrategy type", IS_GIVEN, "",
	  "the RayCluster of a RayService has no upgradeStrategy: write it into spec of the "
	  "RayService",
	  "" },
	{ 0, OF_JOB | OF_SERVICE, SPEC, "upgradeStrategy type", IS_NOT, "Recreate|None",
	  "upgradeStrategy.type must be Recreate or None", "" },
	{ EGRESS, 0, SPEC, "networkPolicy head ingressRules", IS_GIVEN, "",
	  "ingressRules need a mode that restricts ingress", "mode: DenyAll" },
	{ EGRESS, 0, SPEC, "networkPolicy worker ingressRules", IS_GIVEN, "",
	  "ingressRules need a mode that restricts ingress", "mode: DenyAll" },
	{ INGRESS, 0, SPEC, "networkPolicy head egressRules", IS_GIVEN, "",
	  "egressRules need a mode that restricts egress", "mode: DenyAll" },
	{ INGRESS, 0, SPEC, "networkPolicy worker egressRules", IS_GIVEN, "",
	  "egressRules need a mode that restricts egress", "mode: DenyAll" },
	{ EGRESS, 0, SPEC, "networkPolicy workerGroups * ingressRules", IS_GIVEN, "",
	  "ingressRules need a mode that restricts ingress", "mode: DenyAll" },
	{ INGRESS, 0, SPEC, "networkPolicy workerGroups * egressRules", IS_GIVEN, "",
	  "egressRules need a mode that restricts egress", "mode: DenyAll" },
	{ POLICY, 0, GROUPS, "groupName", IS_NO_LABEL, "",
	  "networkPolicy needs a groupName of lower-case letters, digits and \"-\": rename the "
	  "group",
	  "" },
	{ TLS, 0, ALL, LINT_ENV, SETS_ANY, TLS_ENV, TLS_OWN, "" },
	{ TLS, 0, SPEC, "autoscalerOptions env", SETS_ANY, TLS_ENV, TLS_OWN, "" },
	{ TLS, 0, ALL, "template spec containers 0 volumeMounts * name", IS, "ray-tls",
	  "the mount ray-tls " TLS_OWN, "" },
	{ TLS, 0, ALL, "template spec containers 0 volumeMounts * mountPath", IS, "/etc/ray/tls",
	  "the mount at /etc/ray/tls " TLS_OWN, "" },
	{ TLS, 0, SPEC, "autoscalerOptions volumeMounts * name", IS, "ray-tls",
	  "the mount ray-tls " TLS_OWN, "" },
	{ TLS, 0, SPEC, "autoscalerOptions volumeMounts * mountPath", IS, "/etc/ray/tls",
	  "the mount at /etc/ray/tls " TLS_OWN, "" },
	{ 0, COLLECTS, SPEC, "historyServerOptions", IS_GIVEN, "",
	  "historyServerOptions needs collectorOptions: add it, or remove both", "" },
	{ COLLECTS, 0, SPEC, "historyServerOptions collectorOptions image", IS_MISSING, "",
	  "collectorOptions has no image: add it", "" },
	{ COLLECTS, 0, SPEC, COLLECTOR_ENV, SETS_ANY,
	  "POD_IP|FQ_RAY_IP|RAY_CLUSTER_NAME|RAY_CLUSTER_NAMESPACE|RAY_ROLE|OWNER_KIND|OWNER_NAME|"
	  "EVENTS_PORT",
	  "is managed by KubeRay in the collector: remove it", "" },
	{ COLLECTS, 0, SPEC, COLLECTOR_ENV, LACKS, "STORAGE_BACKEND",
	  "env of the collector has no STORAGE_BACKEND: add it",
	  "- {name: STORAGE_BACKEND, value: S3}" },
	{ COLLECTS, 0, SPEC, COLLECTOR_ENV, LACKS, "GCS_BUCKET STORAGE_BACKEND=GCS|gcs",
	  "STORAGE_BACKEND GCS needs GCS_BUCKET: add it", "- {name: GCS_BUCKET, value: BUCKET}" },
	{ COLLECTS, 0, SPEC, COLLECTOR_ENV, LACKS, "S3_REGION STORAGE_BACKEND=S3|s3",
	  "STORAGE_BACKEND S3 needs S3_REGION: add it", "- {name: S3_REGION, value: REGION}" },
	{ COLLECTS, 0, SPEC, COLLECTOR_ENV, LACKS, "OSS_BUCKET " ALIYUN,
	  "STORAGE_BACKEND ALIYUNOSS needs OSS_BUCKET: add it", "" },
	{ COLLECTS, 0, SPEC, COLLECTOR_ENV, LACKS, "OSS_ENDPOINT " ALIYUN,
	  "STORAGE_BACKEND ALIYUNOSS needs OSS_ENDPOINT: add it", "" },
	{ COLLECTS, 0, SPEC, COLLECTOR_ENV, LACKS, "OSS_REGION " ALIYUN,
	  "STORAGE_BACKEND ALIYUNOSS needs OSS_REGION: add it", "" },
	{ COLLECTS, 0, ALL, "template spec containers * name", IS, "ray-history-collector",
	  "ray-history-collector is the container of KubeRay: rename this one", "" },
	{ OF_SERVICE, 0, HEAD, "headService metadata name", IS_NOT, "",
	  "headService has no name in a RayService: remove it", "" },
};

#define RULES_ONLY "beside deletionStrategy.deletionRules: "

#define UPGRADE "upgradeStrategy clusterUpgradeOptions "

static const struct lint_row object_refusals[] = {
	{ 0, 0, JOB, "runtimeEnvYAML", IS_NO_YAML, "",
	  "runtimeEnvYAML is not YAML: correct its text, which is a string of several lines", "" },
	{ 0, 0, JOB, "runtimeEnvYAML", IS_NO_MAP, "",
	  "runtimeEnvYAML must be an object, as working_dir: URL: correct its text", "" },
	{ 0, SHUTS_DOWN, JOB, "suspend", IS, "true", "suspend needs shutdownAfterJobFinishes",
	  "shutdownAfterJobFinishes: true" },
	{ SELECTS, 0, JOB, "suspend", IS, "true",
	  "a RayJob with clusterSelector cannot be suspended", "" },
	{ 0, 0, JOB, "ttlSecondsAfterFinished", IS_NEGATIVE, "",
	  "ttlSecondsAfterFinished is negative", "" },
	{ 0, SHUTS_DOWN, JOB, "ttlSecondsAfterFinished", IS_POSITIVE, "",
	  "ttlSecondsAfterFinished needs shutdownAfterJobFinishes",
	  "shutdownAfterJobFinishes: true" },
	{ 0, SELECTS | HAS_CLUSTER, JOB, "", IS_GIVEN, "",
	  "one of rayClusterSpec and clusterSelector must be set", "" },
	{ SELECTS, 0, JOB, "clusterSelector ray.io/cluster", IS_MISSING, "",
	  "clusterSelector has no ray.io/cluster", "ray.io/cluster: NAME" },
	{ SELECTS | SIDECAR, 0, JOB, "submissionMode", IS_GIVEN, "",
	  "SidecarMode has no clusterSelector: remove one of them", "" },
	{ SELECTS, 0, JOB, "backoffLimit", IS_POSITIVE, "",
	  "a RayJob with clusterSelector is not retried: remove backoffLimit", "" },
	{ INTERACTIVE, 0, JOB, "backoffLimit", IS_POSITIVE, "",
	  "a RayJob in InteractiveMode is not retried: remove backoffLimit", "" },
	{ 0, 0, JOB, "backoffLimit", IS_NEGATIVE, "", "backoffLimit is negative", "" },
	{ SIDECAR, 0, JOB, "submitterPodTemplate", IS_GIVEN, "",
	  "SidecarMode has no submitterPodTemplate: remove it", "" },
	{ SIDECAR, 0, JOB, "submitterConfig", IS_GIVEN, "",
	  "SidecarMode has no submitterConfig: remove it", "" },
	{ SIDECAR, 0, JOB, "rayClusterSpec headGroupSpec template spec restartPolicy", IS_NOT,
	  "Never", "in SidecarMode restartPolicy of the head must be Never or absent",
	  "restartPolicy: Never" },
	{ 0, 0, JOB, "activeDeadlineSeconds", IS_NOT_POSITIVE, "",
	  "activeDeadlineSeconds must be above 0", "" },
	{ 0, 0, JOB, "preRunningDeadlineSeconds", IS_NOT_POSITIVE, "",
	  "preRunningDeadlineSeconds must be above 0", "" },
	{ SHUTS_DOWN | HAS_RULES, 0, JOB, "shutdownAfterJobFinishes", IS_GIVEN, "",
	  RULES_ONLY "remove shutdownAfterJobFinishes", "" },
	{ HAS_RULES, 0, JOB, "deletionStrategy onSuccess", IS_GIVEN, "",
	  RULES_ONLY "remove onSuccess", "" },
	{ HAS_RULES, 0, JOB, "deletionStrategy onFailure", IS_GIVEN, "",
	  RULES_ONLY "remove onFailure", "" },
	{ 0, 0, SERVICE, "upgradeStrategy type", IS_NOT,
	  "NewClusterWithIncrementalUpgrade|NewCluster|None",
	  "upgradeStrategy.type must be NewCluster, NewClusterWithIncrementalUpgrade or None", "" },
	{ 0, 0, SERVICE, "rayClusterDeletionDelaySeconds", IS_NEGATIVE, "",
	  "rayClusterDeletionDelaySeconds is negative", "" },
	{ INCREMENTAL, AUTOSCALED, SERVICE, "upgradeStrategy type", IS_GIVEN, "",
	  "NewClusterWithIncrementalUpgrade needs enableInTreeAutoscaling of rayClusterConfig",
	  "enableInTreeAutoscaling: true" },
	{ INCREMENTAL, 0, SERVICE, "upgradeStrategy clusterUpgradeOptions", IS_MISSING, "",
	  "NewClusterWithIncrementalUpgrade needs clusterUpgradeOptions", "" },
	{ INCREMENTAL, 0, SERVICE, "upgradeStrategy clusterUpgradeOptions gatewayClassName",
	  IS_MISSING, "", "NewClusterWithIncrementalUpgrade needs gatewayClassName", "" },
	{ INCREMENTAL, 0, SERVICE, UPGRADE "maxSurgePercent", IS_NEGATIVE, "",
	  "maxSurgePercent must be 0 to 100", "" },
	{ INCREMENTAL, 0, SERVICE, UPGRADE "maxSurgePercent", IS_ABOVE, "100",
	  "maxSurgePercent must be 0 to 100", "maxSurgePercent: 100" },
	{ INCREMENTAL, 0, SERVICE, UPGRADE "stepSizePercent", IS_NEGATIVE, "",
	  "stepSizePercent must be 0 to 100", "" },
	{ INCREMENTAL, 0, SERVICE, UPGRADE "stepSizePercent", IS_ABOVE, "100",
	  "stepSizePercent must be 0 to 100", "" },
	{ INCREMENTAL, 0, SERVICE, UPGRADE "intervalSeconds", IS_NOT_POSITIVE, "",
	  "intervalSeconds must be above 0", "intervalSeconds: 10" },
	{ 0, 0, OBJECT, "metadata annotations ray.io/initializing-timeout", IS_NO_TIMEOUT, "",
	  "ray.io/initializing-timeout must be a duration such as 5m or 1h30m, or seconds above 0",
	  "ray.io/initializing-timeout: 5m" },
	{ 0, 0, OBJECT, "spec schedule", CONTAINS, "TZ",
	  "schedule names a time zone: write it as timeZone", "" },
	{ 0, 0, OBJECT, "spec timeZone", IS, "",
	  "timeZone is empty: write one like Europe/Berlin, or remove it", "" },
	{ 0, 0, OBJECT, "spec timeZone", IS_NO_ZONE, "",
	  "timeZone is not the name of a time zone: write one like Europe/Berlin", "" },
};

#define GATE(field, gate)                                                                          \
	field " needs the feature gate " gate " of the operator, which is off by default: "        \
	      "set it in the chart of KubeRay 1.7, which refuses the object otherwise"
/* Alpha in KubeRay 1.7.0 (ray-operator/pkg/features/features.go). */
static const struct lint_row gates[] = {
	{ POLICY, 0, SPEC, "networkPolicy", IS_GIVEN, "",
	  GATE("networkPolicy", "RayClusterNetworkPolicy"), "" },
	{ 0, 0, SPEC, "tlsOptions", IS_GIVEN, "", GATE("tlsOptions", "RayClusterMTLS"), "" },
	{ COLLECTS, 0, SPEC, "historyServerOptions", IS_GIVEN, "",
	  GATE("historyServerOptions", "RayClusterHistoryServer"), "" },
	{ ROCKSDB, 0, SPEC, "gcsFaultToleranceOptions backend", IS_GIVEN, "",
	  GATE("backend rocksdb", "GCSFaultToleranceEmbeddedStorage"), "" },
};

static const struct lint_row object_gates[] = {
	{ 0, 0, OBJECT, "spec jobTemplate", IS_GIVEN, "",
	  "a RayCronJob starts nothing without the feature gate RayCronJob of the operator, which "
	  "is off by default: set it in the chart of KubeRay 1.7",
	  "" },
};

/* The longest names: what KubeRay adds for Services and Pods must fit as well. */
static const struct {
	const char *kind;
	size_t bytes_max;
} names[] = { { "RayCluster", 53 }, { "RayService", 47 }, { "RayJob", 47 }, { "RayCronJob", 36 } };

/* A DNS label of RFC 1035: begins with a letter. */
static bool is_dns_label(const char *name)
{
	static const char rest[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	size_t size = strlen(name);

	return *name >= 'a' && *name <= 'z' && strspn(name, rest) == size && name[size - 1] != '-';
}

/* The API server appends some letters to the beginning of generateName. */
#define GENERATED_BYTES 5
#define GENERATE_NAME_BYTES_MAX 58

/* Of the object; one of another type is reported elsewhere. */
static void check_name(const char *kind, const struct cJSON *object, struct arena *arena,
		       struct lint_findings *findings)
{
	struct lint_found root = { object, "" };
	struct lint_found at = lint_found_follow(root, "metadata name", arena);
	bool generated = !lint_found_is_given(at);
	const char *name, *why = NULL;

	if (generated)
		at = lint_found_follow(root, "metadata generateName", arena);
	name = cJSON_IsString(at.json) ? at.json->valuestring : "";
	if (generated && *name != '\0')
		name = arena_printf(arena, "%.*s%.*s", GENERATE_NAME_BYTES_MAX, name,
				    GENERATED_BYTES, "xxxxx");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && *name != '\0'; i++)
		if (strcmp(names[i].kind, kind) == 0 && strlen(name) > names[i].bytes_max)
			why = arena_printf(
				arena,
				"the name has %zu characters, more than %zu: use a shorter %s",
				strlen(name), names[i].bytes_max,
				generated ? "generateName" : "one");
	if (!why && *name != '\0' && !is_dns_label(name))
		why = "the name must begin with a lower-case letter, and have only lower-case "
		      "letters, digits and \"-\": rename it";
	if (why)
		lint_add(arena, findings, LINT_RULE_KUBERAY_REFUSES, at.path,
			 arena_printf(arena, "%s; KubeRay 1.7 refuses the %s", why, kind), "");
}

/* Members beside those that every object has. */
static void check_members(const char *kind, const struct cJSON *object, struct arena *arena,
			  struct lint_findings *findings)
{
	static const char *const known[] = { "apiVersion", "kind", "metadata", "spec", "status" };
	const struct cJSON *member;

	cJSON_ArrayForEach(member, object)
	{
		size_t i = 0;

		while (i < sizeof(known) / sizeof(known[0]) &&
		       strcmp(known[i], member->string) != 0)
			i++;
		if (i == sizeof(known) / sizeof(known[0]))
			lint_add(arena, findings, LINT_RULE_UNKNOWN_FIELD,
				 lint_path_member(arena, "", member->string),
				 arena_printf(arena,
					      "%.80s is not a field of a %s; kubectl refuses it: "
					      "remove it, or write it into spec",
					      member->string, kind),
				 "");
	}
}

/* ---- rules of more than one value ---- */

static void refuse(const char *kind, const char *path, const char *why, struct arena *arena,
		   struct lint_findings *findings)
{
	lint_add(arena, findings, LINT_RULE_KUBERAY_REFUSES, path,
		 arena_printf(arena, "%s; KubeRay 1.7 refuses the %s", why, kind), "");
}

static void check_schedule(const char *kind, struct lint_found object, struct arena *arena,
			   struct lint_findings *findings)
{
	struct lint_found at = lint_found_follow(object, "spec schedule", arena);
	const char *text = cJSON_GetStringValue(at.json), *problem;

	if (!text || strstr(text, "TZ"))
		return;
	problem = lint_cron_problem(text, arena);
	if (problem)
		refuse(kind, at.path, problem, arena, findings);
}

static void check_steps(const char *kind, struct lint_found object, struct arena *arena,
			struct lint_findings *findings)
{
	struct lint_found options = lint_found_follow(object, "spec " UPGRADE, arena);
	struct lint_found step = lint_found_follow(options, "stepSizePercent", arena);
	struct lint_found surge = lint_found_follow(options, "maxSurgePercent", arena);
	double most = cJSON_IsNumber(surge.json) ? surge.json->valuedouble : 100;

	if (cJSON_IsNumber(step.json) && step.json->valuedouble > most && most >= 0)
		refuse(kind, step.path,
		       arena_printf(arena,
				    "stepSizePercent is above maxSurgePercent, %.0f: lower it",
				    most),
		       arena, findings);
}

static bool has_group(struct lint_found groups, const char *name)
{
	const struct cJSON *group;

	cJSON_ArrayForEach(group, groups.json)
	{
		const char *own =
			cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(group, "groupName"));

		if (own && strcmp(own, name) == 0)
			return true;
	}
	return false;
}

/* A policy for a group that is not there. */
static void check_policy_groups(const char *kind, struct lint_found cluster, struct arena *arena,
				struct lint_findings *findings)
{
	struct lint_found groups = lint_found_follow(cluster, "spec workerGroupSpecs", arena);
	struct lint_found list =
		lint_found_follow(cluster, "spec networkPolicy workerGroups", arena);
	struct lint_found one = lint_found_element(list, 0, arena);

	for (size_t i = 0; one.json && i < POLICIES_MAX;
	     one = lint_found_element(list, ++i, arena)) {
		const char *name = lint_found_member_text(one, "groupName", arena);

		if (*name != '\0' && !has_group(groups, name))
			refuse(kind, one.path,
			       arena_printf(arena,
					    "no group of workerGroupSpecs has the name \"%.63s\": "
					    "correct it",
					    name),
			       arena, findings);
	}
}

/* ---- tables ---- */

#define ROWS(rows, ...)                                                                            \
	{                                                                                          \
		LINT_RULE_KUBERAY_REFUSES, __VA_ARGS__, rows, sizeof(rows) / sizeof((rows)[0])     \
	}

void lint_refused_object(const char *kind, const struct cJSON *object, struct arena *arena,
			 struct lint_findings *findings)
{
	static const struct lint_rows rows = ROWS(object_refusals, true, false);
	static const struct lint_rows info = ROWS(object_gates, false, true);
	unsigned facts = lint_row_facts(kind, object, arena);
	struct lint_found root = { object, "" };

	check_members(kind, object, arena, findings);
	check_name(kind, object, arena, findings);
	lint_row_check(&rows, kind, object, facts, arena, findings);
	if (facts & INCREMENTAL)
		check_steps(kind, root, arena, findings);
	if (strcmp(kind, "RayJob") == 0)
		lint_deletion_check(kind, lint_found_follow(root, "spec", arena), arena, findings);
	if (strcmp(kind, "RayCronJob") != 0)
		return;
	check_schedule(kind, root, arena, findings);
	lint_deletion_check(kind, lint_found_follow(root, "spec jobTemplate", arena), arena,
			    findings);
	lint_row_check(&info, kind, object, facts, arena, findings);
}

void lint_refused_cluster(const char *kind, const struct cJSON *cluster, struct arena *arena,
			  struct lint_findings *findings)
{
	static const struct lint_rows rows = ROWS(cluster_refusals, true, false);
	static const struct lint_rows info = ROWS(gates, false, true);
	unsigned facts = lint_row_facts(kind, cluster, arena);

	lint_row_check(&rows, kind, cluster, facts, arena, findings);
	check_policy_groups(kind, (struct lint_found){ cluster, "" }, arena, findings);
	lint_row_check(&info, kind, cluster, facts, arena, findings);
}
