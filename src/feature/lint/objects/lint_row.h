/* Rules on the JSON of a RayCluster, RayJob, RayService or RayCronJob that are rows of a table: facts about the
 * object that must hold, a place, and a condition on the value there. For fields that no decoder reads. Only for
 * feature/lint/objects/lint_refused.c, lint_void.c and lint_together.c. */
#ifndef FEATURE_LINT_OBJECTS_LINT_ROW_H
#define FEATURE_LINT_OBJECTS_LINT_ROW_H

#include "base/arena.h"
#include "feature/lint/core/lint_rule.h"

struct cJSON;

/* Conditions that several rows share. */
enum lint_fact {
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
	PARKED = 1 << 25,   /* the container autoscaler sleeps */
	HTTP = 1 << 26,     /* submissionMode: HTTPMode */
	CLAIMED = 1 << 27,  /* gcsFaultToleranceOptions.storage.claimName */
	COLLECTS = 1 << 28, /* historyServerOptions.collectorOptions */
	SUBMITS = 1 << 29,  /* submitterPodTemplate */
	POLICY = 1 << 30,   /* networkPolicy */
};

/* Has no room in an enum: the annotation ray.io/overwrite-container-cmd. */
#define OWN_COMMAND (1U << 31)

/* Where a path begins. A row of the groups is checked for each of them, one of all for the head too. */
enum lint_start { OBJECT, SPEC, HEAD, GROUPS, ALL, JOB, SERVICE };

enum lint_test {
	IS_GIVEN,
	IS_MISSING,
	IS,     /* one of the words of `value`, which are separated by "|" */
	IS_NOT, /* given, and none of them */
	IS_NEGATIVE,
	IS_POSITIVE,
	IS_NOT_POSITIVE,
	IS_ABOVE,  /* the number of `value` */
	IS_PARTED, /* a number above 1 that is not whole */
	SETS,      /* the list of variables has the one of `value`, "NAME" or "NAME=WORD|WORD" */
	SETS_ANY,  /* for each of these variables, "NAME|NAME"; the message begins with its name */
	LACKS, /* the list of variables has none "NAME", but one "NAME=WORD|WORD" if that follows a blank */
	CONTAINS,      /* the text has `value` in it */
	IS_NO_YAML,    /* a text that YAML and JSON have not */
	IS_NO_MAP,     /* YAML, and no object */
	IS_NO_ZONE,    /* no name of a time zone */
	IS_NO_TIMEOUT, /* neither a positive number of seconds nor a duration of Go */
	IS_NO_LABEL,   /* no DNS label */
	IS_NO_ROOTED,  /* a path that is not absolute */
};

struct lint_row {
	unsigned on, off; /* facts that must hold, and that must not */
	enum lint_start start;
	/* Names from the start, separated by blanks; "*" is each element of a list. "NAMES=WORD ? " before them is a
	 * condition of the same start: the value at NAMES is WORD. */
	const char *path;
	enum lint_test test;
	const char *value;
	const char *why;
	const char *fix; /* lines to write, "" for none */
};

#define LINT_ENV "template spec containers 0 env"

/* Rows with one rule. */
struct lint_rows {
	enum lint_rule_id rule;
	bool refuses; /* messages end with "; KubeRay 1.7 refuses the KIND" */
	bool is_info; /* whatever the severity of the rule */
	const struct lint_row *at;
	size_t count;
};

/* The facts about an object with metadata and spec, which may be a part of one of the kind. */
unsigned lint_row_facts(const char *kind, const struct cJSON *object, struct arena *arena);
/* Appends the findings of the rows, with texts in the arena; paths are of the object. */
void lint_row_check(const struct lint_rows *rows, const char *kind, const struct cJSON *object,
		    unsigned known, struct arena *arena, struct lint_findings *findings);

#endif
