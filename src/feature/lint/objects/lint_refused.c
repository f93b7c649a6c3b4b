#include "feature/lint/objects/lint_refused.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "feature/lint/core/lint_rule.h"
#include "feature/lint/objects/lint_found.h"

/* Conditions that several rows share. */
enum fact {
	AUTOSCALED = 1 << 0, /* enableInTreeAutoscaling */
	V2 = 1 << 1,         /* autoscalerOptions.version: v2 */
	VERSION = 1 << 2,    /* any version there */
	V2_BY_ENV = 1 << 3,  /* RAY_enable_autoscaler_v2 of the head */
	FT_OPTIONS = 1 << 4, /* gcsFaultToleranceOptions */
	FT = 1 << 5,         /* fault tolerance of the GCS, by options or annotation */
	ROCKSDB = 1 << 6,
	TOKEN = 1 << 7,     /* authOptions.mode: token */
	K8S_TOKEN = 1 << 8, /* authOptions.enableK8sTokenAuth */
	TLS = 1 << 9,
	NO_RAY_VERSION = 1 << 10,
	RAY_BELOW_2_52 = 1 << 11,
	RAY_BELOW_2_55 = 1 << 12,
	RAY_BELOW_2_56 = 1 << 13,
	OF_JOB = 1 << 14, /* the RayCluster is part of a RayJob or RayCronJob */
	OF_SERVICE = 1 << 15,
	SHUTS_DOWN = 1 << 16, /* shutdownAfterJobFinishes */
	SELECTS = 1 << 17,    /* clusterSelector */
	SIDECAR = 1 << 18,    /* submissionMode: SidecarMode */
	INTERACTIVE = 1 << 19,
	INCREMENTAL = 1 << 20, /* upgradeStrategy of a RayService */
	HAS_RULES = 1 << 21,   /* deletionStrategy.deletionRules */
	HAS_CLUSTER = 1 << 22, /* rayClusterSpec */
	EGRESS = 1 << 23,      /* networkPolicy.mode: DenyAllEgress */
	INGRESS = 1 << 24,
};

/* Where a path begins. A row of the groups is checked for each of them. */
enum start { OBJECT, SPEC, HEAD, GROUPS, JOB, SERVICE };

enum test {
	IS_GIVEN,
	IS_MISSING,
	IS,     /* one of the words of `value`, which are separated by "|" */
	IS_NOT, /* given, and none of them */
	IS_NEGATIVE,
	IS_POSITIVE,
	IS_NOT_POSITIVE,
	SETS,     /* the list of variables has the one of `value`, "NAME" or "NAME=WORD|WORD" */
	CONTAINS, /* the text has `value` in it */
};

struct refusal {
	unsigned on, off; /* facts that must hold, and that must not */
	enum start start;
	const char *path; /* names from the start, separated by blanks */
	enum test test;
	const char *value;
	const char *why;
	const char *fix; /* lines to write, "" for none */
};

#define ENV "template spec containers 0 env"
#define V2_LINES "autoscalerOptions:\n  version: v2"
#define FT_ONLY "beside gcsFaultToleranceOptions: "
#define TLS_ENV "is managed by KubeRay with tlsOptions: remove it"

/* A fact holds if a row of it does. The last rows read the facts before them. */
static const struct {
	unsigned fact;
	struct refusal row;
} facts[] = {
	{ AUTOSCALED, { 0, 0, SPEC, "enableInTreeAutoscaling", IS, "true", "", "" } },
	{ VERSION, { 0, 0, SPEC, "autoscalerOptions version", IS_GIVEN, "", "", "" } },
	{ V2, { 0, 0, SPEC, "autoscalerOptions version", IS, "v2", "", "" } },
	{ V2_BY_ENV, { 0, 0, HEAD, ENV, SETS, "RAY_enable_autoscaler_v2=1|true", "", "" } },
	{ FT_OPTIONS, { 0, 0, SPEC, "gcsFaultToleranceOptions", IS_GIVEN, "", "", "" } },
	{ FT, { 0, 0, SPEC, "gcsFaultToleranceOptions", IS_GIVEN, "", "", "" } },
	{ FT,
	  { 0, 0, OBJECT, "metadata annotations ray.io/ft-enabled", IS, "true|True|TRUE", "",
	    "" } },
	{ ROCKSDB, { 0, 0, SPEC, "gcsFaultToleranceOptions backend", IS, "rocksdb", "", "" } },
	{ TOKEN, { 0, 0, SPEC, "authOptions mode", IS, "token", "", "" } },
	{ K8S_TOKEN, { 0, 0, SPEC, "authOptions enableK8sTokenAuth", IS, "true", "", "" } },
	{ TLS, { 0, 0, SPEC, "tlsOptions enabled", IS, "true", "", "" } },
	{ NO_RAY_VERSION, { 0, 0, SPEC, "rayVersion", IS_MISSING, "", "", "" } },
	{ EGRESS, { 0, 0, SPEC, "networkPolicy mode", IS, "DenyAllEgress", "", "" } },
	{ INGRESS, { 0, 0, SPEC, "networkPolicy mode", IS, "DenyAllIngress", "", "" } },
	{ SHUTS_DOWN, { 0, 0, JOB, "shutdownAfterJobFinishes", IS, "true", "", "" } },
	{ SELECTS, { 0, 0, JOB, "clusterSelector", IS_GIVEN, "", "", "" } },
	{ SIDECAR, { 0, 0, JOB, "submissionMode", IS, "SidecarMode", "", "" } },
	{ INTERACTIVE, { 0, 0, JOB, "submissionMode", IS, "InteractiveMode", "", "" } },
	{ HAS_RULES, { 0, 0, JOB, "deletionStrategy deletionRules", IS_GIVEN, "", "", "" } },
	{ HAS_CLUSTER, { 0, 0, JOB, "rayClusterSpec", IS_GIVEN, "", "", "" } },
	{ INCREMENTAL,
	  { 0, 0, SERVICE, "upgradeStrategy type", IS, "NewClusterWithIncrementalUpgrade", "",
	    "" } },
	{ AUTOSCALED,
	  { INCREMENTAL, 0, SERVICE, "rayClusterConfig enableInTreeAutoscaling", IS, "true", "",
	    "" } },
};

static const struct refusal cluster_refusals[] = {
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
	{ AUTOSCALED | VERSION, 0, HEAD, ENV, SETS, "RAY_enable_autoscaler_v2",
	  "RAY_enable_autoscaler_v2 is set beside autoscalerOptions.version: remove the variable",
	  "" },
	{ 0, AUTOSCALED, HEAD, ENV, SETS, "RAY_enable_autoscaler_v2=1|true",
	  "RAY_enable_autoscaler_v2 needs enableInTreeAutoscaling",
	  "enableInTreeAutoscaling: true" },
	{ AUTOSCALED | V2, 0, HEAD, "template spec restartPolicy", IS_NOT, "Never",
	  "with autoscalerOptions.version v2 restartPolicy must be Never or absent",
	  "restartPolicy: Never" },
	{ AUTOSCALED | V2, 0, GROUPS, "template spec restartPolicy", IS_NOT, "Never",
	  "with autoscalerOptions.version v2 restartPolicy must be Never or absent",
	  "restartPolicy: Never" },
	{ 0, 0, SPEC, "autoscalerOptions env", SETS, "KUBERAY_GEN_AUTOSCALER_START_CMD",
	  "KUBERAY_GEN_AUTOSCALER_START_CMD is written by KubeRay: remove it", "" },
	{ FT_OPTIONS, 0, OBJECT, "metadata annotations ray.io/ft-enabled", IS_NOT, "",
	  FT_ONLY "remove the annotation ray.io/ft-enabled", "" },
	{ FT_OPTIONS, 0, OBJECT, "metadata annotations ray.io/external-storage-namespace", IS_NOT,
	  "", FT_ONLY "write externalStorageNamespace there instead of the annotation", "" },
	{ 0, FT, HEAD, ENV, SETS, "RAY_REDIS_ADDRESS",
	  "RAY_REDIS_ADDRESS needs spec.gcsFaultToleranceOptions: write redisAddress there", "" },
	{ FT_OPTIONS, 0, HEAD, ENV, SETS, "RAY_REDIS_ADDRESS",
	  FT_ONLY "write redisAddress there instead of RAY_REDIS_ADDRESS", "" },
	{ FT_OPTIONS, 0, HEAD, ENV, SETS, "REDIS_PASSWORD",
	  FT_ONLY "write redisPassword there instead of REDIS_PASSWORD", "" },
	{ FT_OPTIONS, 0, HEAD, "rayStartParams redis-password", IS_NOT, "",
	  FT_ONLY "write redisPassword there instead of redis-password", "" },
	{ 0, 0, HEAD, ENV, SETS, "REDIS_USERNAME",
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
	{ ROCKSDB, 0, HEAD, ENV, SETS, "RAY_gcs_storage",
	  "RAY_gcs_storage is managed by KubeRay with backend rocksdb: remove it", "" },
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
	{ TLS, 0, HEAD, ENV, SETS, "RAY_USE_TLS", "RAY_USE_TLS " TLS_ENV, "" },
	{ TLS, 0, HEAD, ENV, SETS, "RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_CERT " TLS_ENV, "" },
	{ TLS, 0, HEAD, ENV, SETS, "RAY_TLS_SERVER_KEY", "RAY_TLS_SERVER_KEY " TLS_ENV, "" },
	{ TLS, 0, HEAD, ENV, SETS, "RAY_TLS_CA_CERT", "RAY_TLS_CA_CERT " TLS_ENV, "" },
	{ TLS, 0, GROUPS, ENV, SETS, "RAY_USE_TLS", "RAY_USE_TLS " TLS_ENV, "" },
	{ TLS, 0, GROUPS, ENV, SETS, "RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_CERT " TLS_ENV, "" },
	{ TLS, 0, GROUPS, ENV, SETS, "RAY_TLS_SERVER_KEY", "RAY_TLS_SERVER_KEY " TLS_ENV, "" },
	{ TLS, 0, GROUPS, ENV, SETS, "RAY_TLS_CA_CERT", "RAY_TLS_CA_CERT " TLS_ENV, "" },
	{ OF_SERVICE, 0, HEAD, "headService metadata name", IS_NOT, "",
	  "headService has no name in a RayService: remove it", "" },
};

#define RULES_ONLY "beside deletionStrategy.deletionRules: "

static const struct refusal object_refusals[] = {
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
	{ 0, 0, OBJECT, "spec schedule", CONTAINS, "TZ",
	  "schedule names a time zone: write it as timeZone", "" },
};

/* The longest names: what KubeRay adds for Services and Pods must fit as well. */
static const struct {
	const char *kind;
	size_t bytes_max;
} names[] = { { "RayCluster", 53 }, { "RayService", 47 }, { "RayJob", 47 }, { "RayCronJob", 36 } };

/* ---- values ---- */

/* One object that is checked. */
struct check {
	const char *kind;
	const struct cJSON *object; /* with metadata and spec */
	struct arena *arena;
	struct lint_findings *findings;
	unsigned facts;
};

/* One of the words, which are separated by "|"; "" is the empty text. */
static bool is_word(const char *text, const char *words)
{
	size_t size = strlen(text);

	for (;;) {
		size_t word = strcspn(words, "|");

		if (word == size && memcmp(words, text, size) == 0)
			return true;
		if (words[word] == '\0')
			return false;
		words += word + 1;
	}
}

/* The variable of a list like env; *path becomes its path. */
static bool sets(const struct check *check, struct lint_found *list, const char *variable)
{
	size_t size = strcspn(variable, "="), index = 0;
	const struct cJSON *one;

	cJSON_ArrayForEach(one, list->json)
	{
		const struct cJSON *name = cJSON_GetObjectItemCaseSensitive(one, "name");
		const struct cJSON *value = cJSON_GetObjectItemCaseSensitive(one, "value");

		if (cJSON_IsString(name) && strlen(name->valuestring) == size &&
		    memcmp(name->valuestring, variable, size) == 0 &&
		    (variable[size] == '\0' ||
		     is_word(lint_found_text((struct lint_found){ value, "" }, check->arena),
			     variable + size + 1))) {
			list->path = arena_printf(check->arena, "%s[%zu]", list->path, index);
			return true;
		}
		index++;
	}
	return false;
}

static bool holds(const struct check *check, const struct refusal *row, struct lint_found *at)
{
	const char *text = lint_found_text(*at, check->arena);
	double number = cJSON_IsNumber(at->json) ? at->json->valuedouble : 0;

	switch (row->test) {
	case IS_GIVEN:
		return lint_found_is_given(*at);
	case IS_MISSING:
		return !lint_found_is_given(*at) || (cJSON_IsString(at->json) && *text == '\0');
	case IS:
		return lint_found_is_given(*at) && is_word(text, row->value);
	case IS_NOT:
		return lint_found_is_given(*at) && !is_word(text, row->value);
	case IS_NEGATIVE:
		return number < 0;
	case IS_POSITIVE:
		return number > 0;
	case IS_NOT_POSITIVE:
		return cJSON_IsNumber(at->json) && number <= 0;
	case SETS:
		return sets(check, at, row->value);
	case CONTAINS:
		return strstr(text, row->value);
	}
	return false;
}

/* ---- rows ---- */

static void refuse(const struct check *check, const struct refusal *row, const char *path)
{
	lint_add(check->arena, check->findings, LINT_RULE_KUBERAY_REFUSES, path,
		 arena_printf(check->arena, "%s; KubeRay 1.7 refuses the %s", row->why,
			      check->kind),
		 row->fix);
}

/* NULL json: the kind has no such part. */
static struct lint_found start_of(const struct check *check, enum start start)
{
	static const char *const paths[] = {
		"", "spec", "spec headGroupSpec", "spec workerGroupSpecs", "spec", "spec"
	};
	bool cron = strcmp(check->kind, "RayCronJob") == 0;
	struct lint_found root = { check->object, "" };

	if ((start == JOB && !cron && strcmp(check->kind, "RayJob") != 0) ||
	    (start == SERVICE && strcmp(check->kind, "RayService") != 0))
		return (struct lint_found){ NULL, "" };
	return lint_found_follow(root, start == JOB && cron ? "spec jobTemplate" : paths[start],
				 check->arena);
}

static bool test_at(const struct check *check, const struct refusal *row, struct lint_found from,
		    struct lint_found *ret_at)
{
	*ret_at = lint_found_follow(from, row->path, check->arena);
	return from.json && holds(check, row, ret_at);
}

static void check_row(const struct check *check, const struct refusal *row)
{
	struct lint_found from = start_of(check, row->start), at;

	if ((check->facts & row->on) != row->on || (check->facts & row->off))
		return;
	if (row->start != GROUPS) {
		if (test_at(check, row, from, &at))
			refuse(check, row, at.path);
		return;
	}
	for (int i = 0; i < cJSON_GetArraySize(from.json); i++) {
		struct lint_found group = { cJSON_GetArrayItem(from.json, i),
					    arena_printf(check->arena, "%s[%d]", from.path, i) };

		if (test_at(check, row, group, &at))
			refuse(check, row, at.path);
	}
}

static bool is_below(const char *version, long major, long minor)
{
	char *end;
	long first = strtol(version, &end, 10);
	long second = *end == '.' ? strtol(end + 1, NULL, 10) : 0;

	return first < major || (first == major && second < minor);
}

static void find_facts(struct check *check)
{
	struct lint_found version = lint_found_follow((struct lint_found){ check->object, "" },
						      "spec rayVersion", check->arena);
	const char *text = lint_found_text(version, check->arena);
	struct lint_found at;

	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		if ((check->facts & facts[i].row.on) == facts[i].row.on &&
		    test_at(check, &facts[i].row, start_of(check, facts[i].row.start), &at))
			check->facts |= facts[i].fact;
	if (*text != '\0') {
		check->facts |= is_below(text, 2, 52) ? RAY_BELOW_2_52 : 0;
		check->facts |= is_below(text, 2, 55) ? RAY_BELOW_2_55 : 0;
		check->facts |= is_below(text, 2, 56) ? RAY_BELOW_2_56 : 0;
	}
}

/* A DNS label of RFC 1035: begins with a letter. */
static bool is_dns_label(const char *name)
{
	static const char rest[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	size_t size = strlen(name);

	return *name >= 'a' && *name <= 'z' && strspn(name, rest) == size && name[size - 1] != '-';
}

static void check_name(const struct check *check)
{
	struct lint_found at = lint_found_follow((struct lint_found){ check->object, "" },
						 "metadata name", check->arena);
	const char *name = lint_found_text(at, check->arena);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct refusal row = { .fix = "" };

		if (strcmp(names[i].kind, check->kind) != 0 || *name == '\0')
			continue;
		row.why = arena_printf(check->arena, "the name has %zu characters, more than %zu",
				       strlen(name), names[i].bytes_max);
		if (strlen(name) > names[i].bytes_max)
			refuse(check, &row, at.path);
		row.why = "the name must begin with a lower-case letter, and have only lower-case "
			  "letters, digits and \"-\"";
		if (!is_dns_label(name))
			refuse(check, &row, at.path);
	}
}

/* Members beside those that every object has. */
static void check_members(const struct check *check)
{
	static const char *const known[] = { "apiVersion", "kind", "metadata", "spec", "status" };
	const struct cJSON *member;

	cJSON_ArrayForEach(member, check->object)
	{
		size_t i = 0;

		while (i < sizeof(known) / sizeof(known[0]) &&
		       strcmp(known[i], member->string) != 0)
			i++;
		if (i == sizeof(known) / sizeof(known[0]))
			lint_add(check->arena, check->findings, LINT_RULE_UNKNOWN_FIELD,
				 lint_path_member(check->arena, "", member->string),
				 arena_printf(check->arena,
					      "%.80s is not a field of a %s; kubectl refuses it: "
					      "remove it, or write it into spec",
					      member->string, check->kind),
				 "");
	}
}

void lint_refused_object(const char *kind, const struct cJSON *object, struct arena *arena,
			 struct lint_findings *findings)
{
	struct check check = { kind, object, arena, findings, 0 };

	find_facts(&check);
	check_members(&check);
	check_name(&check);
	for (size_t i = 0; i < sizeof(object_refusals) / sizeof(object_refusals[0]); i++)
		check_row(&check, &object_refusals[i]);
}

void lint_refused_cluster(const char *kind, const struct cJSON *cluster, struct arena *arena,
			  struct lint_findings *findings)
{
	struct check check = { kind, cluster, arena, findings, 0 };

	if (strcmp(kind, "RayService") == 0)
		check.facts |= OF_SERVICE;
	else if (strcmp(kind, "RayCluster") != 0)
		check.facts |= OF_JOB;
	find_facts(&check);
	for (size_t i = 0; i < sizeof(cluster_refusals) / sizeof(cluster_refusals[0]); i++)
		check_row(&check, &cluster_refusals[i]);
}
