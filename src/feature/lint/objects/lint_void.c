/* Settings of a RayCluster, RayJob, RayService or RayCronJob that another one overrides or makes void (rule
 * setting-without-effect), and further rows on fields that no decoder reads. Those of decoded fields are in
 * feature/lint/core/lint_override.c. */
#include "base/arena.h"
#include "feature/lint/core/lint.h"
#include "feature/lint/objects/lint_check.h"
#include "feature/lint/objects/lint_row.h"

#define NO_SUBMITTER                                                                               \
	"has no effect in this submissionMode, which has no Pod that submits: remove it"
#define NO_SUBMISSION                                                                              \
	"has no effect in InteractiveMode, where you submit the job yourself: remove it"

#define WRITTEN_ANYWAY "the label has no effect, because KubeRay writes its own value: remove it"

static const struct lint_row cluster_voids[] = {
	{ AUTOSCALED | PARKED, 0, SPEC, "autoscalerOptions envFrom 0", IS_GIVEN, "",
	  "envFrom has no effect, as the container autoscaler sleeps: remove it", "" },
	{ 0, 0, ALL, "template spec initContainers * restartPolicy", IS, "Never|OnFailure",
	  "before Kubernetes 1.35 restartPolicy of an init container is Always or absent, and the "
	  "API server refuses or drops this one: remove it",
	  "" },
	{ 0, 0, ALL, "template spec containers * restartPolicy", IS, "Always|Never|OnFailure",
	  "before Kubernetes 1.35 containers have no restartPolicy, and the API server refuses or "
	  "drops it: remove it, or write it into spec of the Pod",
	  "" },
	{ 0, 0, ALL, "template spec tolerations * operator", IS, "Gt|Lt",
	  "operators Gt and Lt need the feature gate TaintTolerationComparisonOperators of Kubernetes "
	  "1.35, and without it the API server refuses each Pod: write Equal or Exists",
	  "operator: Exists" },
	{ 0, 0, OBJECT, "metadata annotations ray.io/ft-enabled", IS_NOT,
	  "true|True|TRUE|false|False|FALSE", "ray.io/ft-enabled counts as false: write \"true\"",
	  "ray.io/ft-enabled: \"true\"" },
	{ FT_OPTIONS, ROCKSDB, SPEC, "gcsFaultToleranceOptions redisAddress", IS_MISSING, "",
	  "gcsFaultToleranceOptions has no redisAddress, so Ray keeps nothing: add it",
	  "redisAddress: redis:6379" },
	{ 0, 0, HEAD, "rayStartParams dashboard-host", IS, "127.0.0.1|localhost",
	  "with this dashboard-host the Service of the dashboard has no effect, and no job can be "
	  "submitted to it: write 0.0.0.0, or remove it",
	  "dashboard-host: 0.0.0.0" },
	{ 0, 0, ALL, "template metadata labels ray.io/cluster", IS_GIVEN, "", WRITTEN_ANYWAY, "" },
	{ 0, 0, ALL, "template metadata labels ray.io/group", IS_GIVEN, "", WRITTEN_ANYWAY, "" },
	{ 0, 0, ALL, "template metadata labels ray.io/node-type", IS_GIVEN, "", WRITTEN_ANYWAY,
	  "" },
	{ 0, 0, OBJECT, "metadata annotations ray.io/overwrite-container-cmd", IS_NOT, "true",
	  "ray.io/overwrite-container-cmd has no effect: write \"true\", or remove it",
	  "ray.io/overwrite-container-cmd: \"true\"" },
};

static const struct lint_row object_voids[] = {
	{ 0, INTERACTIVE | SUBMITS, JOB, "entrypoint", IS_MISSING, "",
	  "the RayJob has no entrypoint, so its job fails at once: add the command",
	  "entrypoint: python /home/ray/job.py" },
	{ 0, 0, JOB, "submissionMode", IS_NOT, "K8sJobMode|HTTPMode|InteractiveMode|SidecarMode",
	  "submissionMode has no effect: it must be one of K8sJobMode, HTTPMode, InteractiveMode and "
	  "SidecarMode",
	  "submissionMode: K8sJobMode" },
	{ 0, 0, JOB, "entrypointResources", IS_NO_YAML, "",
	  "entrypointResources is not JSON: write an object of numbers",
	  "entrypointResources: '{\"Custom\": 1}'" },
	{ 0, 0, JOB, "entrypointResources", IS_NO_MAP, "",
	  "entrypointResources is not an object: write one of numbers",
	  "entrypointResources: '{\"Custom\": 1}'" },
	{ 0, 0, SERVICE, "serveConfigV2", IS_MISSING, "",
	  "the RayService has no serveConfigV2, so it serves nothing: add the applications", "" },
	{ 0, 0, SERVICE, "serveConfigV2", IS_NO_YAML, "",
	  "serveConfigV2 is not YAML, so KubeRay deploys nothing: correct its text", "" },
	{ 0, 0, SERVICE, "serveConfigV2", IS_NO_MAP, "",
	  "serveConfigV2 must be an object with applications: correct its text", "" },
	{ SELECTS, 0, JOB, "rayClusterSpec", IS_GIVEN, "",
	  "rayClusterSpec has no effect beside clusterSelector, which names the RayCluster of the "
	  "job: remove one of them",
	  "" },
	{ SELECTS, 0, JOB, "shutdownAfterJobFinishes", IS, "true",
	  "shutdownAfterJobFinishes has no effect beside clusterSelector: KubeRay does not delete "
	  "a RayCluster that it did not create; remove it",
	  "" },
	{ HTTP, 0, JOB, "submitterPodTemplate", IS_GIVEN, "", "submitterPodTemplate " NO_SUBMITTER,
	  "" },
	{ HTTP, 0, JOB, "submitterConfig", IS_GIVEN, "", "submitterConfig " NO_SUBMITTER, "" },
	{ INTERACTIVE, 0, JOB, "submitterPodTemplate", IS_GIVEN, "",
	  "submitterPodTemplate " NO_SUBMITTER, "" },
	{ INTERACTIVE, 0, JOB, "submitterConfig", IS_GIVEN, "", "submitterConfig " NO_SUBMITTER,
	  "" },
	{ INTERACTIVE, 0, JOB, "entrypoint", IS_NOT, "", "entrypoint " NO_SUBMISSION, "" },
};

/* An hour of a drained worker costs as much as one of work. */
static const struct lint_row grace_rows[] = {
	{ 0, 0, ALL, "template spec terminationGracePeriodSeconds", IS_ABOVE, "1799",
	  "a Pod that is terminated keeps its CPUs and GPUs for up to this time, as `ray start` "
	  "may not end on the signal: write at most some minutes",
	  "terminationGracePeriodSeconds: 120" },
};

/* A worker at work, too. */
static const struct lint_row deadline_rows[] = {
	{ 0, 0, ALL, "template spec activeDeadlineSeconds", IS_POSITIVE, "",
	  "the kubelet ends each Pod after this time, whatever runs in it: remove it, or write "
	  "activeDeadlineSeconds of a RayJob",
	  "" },
};

#define STARTS_RAY                                                                                        \
	"KubeRay runs `ray start` itself after this command, which does not end or starts a second one: " \
	"remove it, or write the annotation ray.io/overwrite-container-cmd: \"true\""
#define ENDLESS "sleep|/bin/sleep|/usr/bin/sleep|tail"
/* KubeRay runs `ray start` after the container's own command. */
static const struct lint_row start_rows[] = {
	{ 0, 0, ALL, "template spec containers 0 command 0", IS, ENDLESS,
	  "the command does not end, so `ray start` never runs after it: remove the command", "" },
	{ 0, OWN_COMMAND, ALL, "template spec containers 0 command *", CONTAINS, "ray start",
	  STARTS_RAY, "" },
	{ 0, OWN_COMMAND, ALL, "template spec containers 0 args *", CONTAINS, "ray start",
	  STARTS_RAY, "" },
	{ 0, 0, ALL, "template spec containers 0 args 0", IS, ENDLESS,
	  "the command does not end, so `ray start` never runs after it: remove args", "" },
};

/* KubeRay accepts the values, and the API server not what it makes of them. */
static const struct lint_row field_rows[] = {
	{ 0, 0, HEAD, "serviceType", IS_NOT, "ClusterIP|NodePort|LoadBalancer|ExternalName|",
	  "serviceType must be one of ClusterIP, NodePort, LoadBalancer; the API server refuses the "
	  "Service of the head",
	  "" },
	{ 0, 0, HEAD, "headService spec type", IS_NOT,
	  "ClusterIP|NodePort|LoadBalancer|ExternalName|",
	  "type must be one of ClusterIP, NodePort, LoadBalancer; the API server refuses the "
	  "Service of the head",
	  "" },
	{ 0, 0, SPEC, "gcsFaultToleranceOptions redisAddress", CONTAINS, "http",
	  "redisAddress must be like redis:6379 or rediss://redis:6379; the head does not start",
	  "" },
	{ 0, 0, GROUPS, "numOfHosts", IS_NOT_POSITIVE, "",
	  "numOfHosts must be at least 1; the group gets no Pod", "numOfHosts: 1" },
};

static const struct lint_row job_rows[] = {
	{ 0, 0, JOB, "entrypointNumCpus", IS_NEGATIVE, "",
	  "entrypointNumCpus is negative: write 0 or more", "" },
	{ 0, 0, JOB, "entrypointNumGpus", IS_NEGATIVE, "",
	  "entrypointNumGpus is negative: write 0 or more", "" },
	{ 0, 0, JOB, "entrypointNumGpus", IS_PARTED, "",
	  "entrypointNumGpus above 1 must be a whole number; Ray refuses the job", "" },
	{ 0, HTTP | INTERACTIVE | SIDECAR, JOB, "submitterPodTemplate spec restartPolicy", IS,
	  "Always",
	  "restartPolicy must be Never or OnFailure; the API server refuses the submitter's Job",
	  "restartPolicy: Never" },
	{ SUBMITS, HTTP | INTERACTIVE | SIDECAR, JOB, "submitterPodTemplate spec containers 0",
	  IS_MISSING, "",
	  "submitterPodTemplate has no container; the API server refuses the submitter's Job: add one",
	  "" },
};

static const struct lint_row version_rows[] = {
	{ 0, 0, OBJECT, "apiVersion", IS, "ray.io/v1alpha1",
	  "v1alpha1 has no new fields, and KubeRay 1.9 does not serve it: write v1",
	  "apiVersion: ray.io/v1" },
};

#define ROWS(rule, rows)                                                                           \
	{                                                                                          \
		rule, false, false, rows, sizeof(rows) / sizeof((rows)[0])                         \
	}

static void check_all(const struct lint_rows *tables, size_t count, const char *kind,
		      const struct cJSON *object, struct arena *arena,
		      struct lint_findings *findings)
{
	unsigned facts = lint_row_facts(kind, object, arena);

	for (size_t i = 0; i < count; i++)
		lint_row_check(&tables[i], kind, object, facts, arena, findings);
}

void lint_void_object(const char *kind, const struct cJSON *object, struct arena *arena,
		      struct lint_findings *findings)
{
	static const struct lint_rows tables[] = {
		ROWS(LINT_RULE_API_VERSION_OLD, version_rows),
		ROWS(LINT_RULE_SETTING_WITHOUT_EFFECT, object_voids),
		ROWS(LINT_RULE_FIELD_INVALID, job_rows),
	};

	check_all(tables, sizeof(tables) / sizeof(tables[0]), kind, object, arena, findings);
}

void lint_void_cluster(const char *kind, const struct cJSON *cluster, struct arena *arena,
		       struct lint_findings *findings)
{
	static const struct lint_rows tables[] = {
		ROWS(LINT_RULE_SETTING_WITHOUT_EFFECT, cluster_voids),
		ROWS(LINT_RULE_FIELD_INVALID, field_rows),
		ROWS(LINT_RULE_GRACE_PERIOD_LONG, grace_rows),
		ROWS(LINT_RULE_POD_DEADLINE, deadline_rows),
		ROWS(LINT_RULE_RAY_NOT_STARTED, start_rows),
	};

	check_all(tables, sizeof(tables) / sizeof(tables[0]), kind, cluster, arena, findings);
}
