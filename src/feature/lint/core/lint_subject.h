/* The object of one lint rule: the head or one group of worker Pods. Only for the files
 * feature/lint/core/lint_*.c; a rule is one function here and one row in feature/lint/core/lint_rule.h. Plain data
 * in the arena of the findings. */
#ifndef FEATURE_LINT_CORE_LINT_SUBJECT_H
#define FEATURE_LINT_CORE_LINT_SUBJECT_H

#include "core/capacity/capacity.h"
#include "feature/lint/core/lint_rule.h"

/* Limit of a list of limits, requests or resources, because rules compare lists entry by entry.
 * Longer ones do not occur in files written by hand; their rest is not checked. */
#define LINT_AMOUNTS_MAX 256

struct lint_subject {
	const struct ray_cluster *cluster;
	const struct lint_context *context;
	struct arena *arena;
	struct lint_findings *findings;
	const char *path;                   /* "spec.headGroupSpec", "spec.workerGroupSpecs[0]" */
	const char *title;                  /* "group gpu", "the head" */
	const struct worker_group *group;   /* NULL: the head */
	const struct quantities *resources; /* its own field */
	const struct labels *labels, *start_params;
	const struct pod_template *template;
	const struct pod_spec *pod;
	const struct container *container; /* Ray's; NULL: the Pod has none, few rules apply */
	const char *container_path;
	struct capacity capacity;
	bool cluster_has_nvidia; /* a group or the head requests an NVIDIA GPU or a share */
};

/* Appends a finding with the severity of its rule; the result is valid until the next one. */
struct lint_finding *lint_report_finding(struct lint_subject *subject, enum lint_rule_id rule,
					 const char *path, const char *fix, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
/* A finding from a text "PATH: what is wrong" of a decoder or a decision, which may have the name of its
 * object before "spec.". */
void lint_problem(struct lint_subject *subject, enum lint_rule_id rule, const char *text);
/* How many of them are checked. */
size_t lint_amount_count(const struct quantities *quantities);
/* NULL when absent. */
const struct quantity *lint_quantity(const struct quantities *quantities, const char *name);
/* The accelerator of a quantity above 0; NULL: it is not one, or only qualifies another. */
const struct device_row *lint_device(const struct lint_subject *subject,
				     const struct quantity *quantity);
bool lint_is_nvidia(const struct device_row *row); /* NULL: no */
/* The accelerators of a Pod's Ray container: its limits, and requests that are not in the
 * limits. */
struct quantities lint_devices(const struct lint_subject *subject, const struct pod_spec *pod);
/* Whether the group itself declares the GPUs of its workers. */
bool lint_declares_gpus(const struct lint_subject *subject);
/* Whole units, rounded up, at least 1. */
long long lint_whole(int64_t amount);
/* The path and the lines that add `lines` to a mapping `name` of `path`: the mapping's own path
 * when it exists, else the path of the object that lacks it, with "name:" above the lines. Sets
 * *fix. */
const char *lint_place(struct lint_subject *subject, const char *path, const char *name,
		       bool is_there, const char **fix);

/* "PATH: what is wrong" in a RayClusterAutoscaler, in the arena; NULL: nothing. `owner` as of
 * lint_settings. Features have the same type of function without this header. */
typedef const char *lint_problem_function(const struct autoscaler_object *object, const char *owner,
					  struct arena *arena);

/* The checks of the table: each in the file of its kin, feature/lint/core/lint_*.c. */
#define X(identifier, severity, name, check, what, cure) void check(struct lint_subject *subject);
#define T(identifier, severity, name, rule, what, cure) object_group_rule rule;
#define N(...)
#define S(identifier, severity, name, problem, what, cure) lint_problem_function problem;
LINT_RULE_TABLE(X, T, N, S)
#undef S
#undef N
#undef T
#undef X

#endif
