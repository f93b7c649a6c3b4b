/* Rules of features about the objects of files or of an API server: what they find, for a program that checks these. The rows of the
 * rules are in FEATURE_LINT_RULES. Plain data in the arena. */
#ifndef CORE_MODEL_OBJECT_RULE_H
#define CORE_MODEL_OBJECT_RULE_H

#include "base/arena.h"
#include "core/model/device.h"
#include "core/model/kubernetes.h"

/* Of all features: the names of two rows of lint. */
#define RULE_FIELD_INVALID "field-invalid"
#define RULE_WITHOUT_EFFECT "setting-without-effect"

struct pod_claims;

struct object_problem {
	const char *rule; /* the name of its row */
	/* From the root of the object; NULL: the message is "PATH: what is wrong". */
	const char *path;
	const char *message, *fix; /* as in a finding */
	bool warning;              /* whatever the severity of the rule */
	bool decided;              /* a decision reports it itself */
};

struct object_problems {
	VEC(struct object_problem) list;
};

/* Appends one without a fix; the result is valid until the next one. */
struct object_problem *object_problem_add(struct arena *arena, struct object_problems *problems,
					  const char *rule, const char *path, const char *format,
					  ...) __attribute__((format(printf, 5, 6)));

/* The head or a worker group of a RayCluster. */
struct object_group {
	const struct ray_cluster *cluster;
	const struct worker_group *group; /* NULL: the head */
	const char *path, *title;         /* "spec.workerGroupSpecs[0]", "group gpu" */
	const struct pod_spec *pod;
	const struct pod_claims *claims; /* NULL: none that are known */
	const struct device_table *devices;
	bool has_start_params;
	bool declares_gpus; /* of its workers, to Ray */
};

/* A rule about each of them. */
typedef void object_group_rule(const struct object_group *group, struct arena *arena,
			       struct object_problems *problems);
/* Of the rows of a feature, as NAME_LINT_RULES(OBJECT_RULE_DECLARED, OBJECT_RULE_NONE, OBJECT_RULE_NONE). */
#define OBJECT_RULE_DECLARED(identifier, severity, name, rule, ...) object_group_rule rule;
#define OBJECT_RULE_NONE(...)

#endif
