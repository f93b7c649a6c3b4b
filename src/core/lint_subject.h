/* What one rule of lint looks at: the head or one group of worker Pods. For the files core/lint_*.c
 * alone; a rule is one function here and one row in core/lint_rule.h.
 * Plain data in the arena of the findings. */
#ifndef CORE_LINT_SUBJECT_H
#define CORE_LINT_SUBJECT_H

#include "core/capacity.h"
#include "core/lint_rule.h"

struct lint_subject {
	const struct ray_cluster *cluster;
	const struct lint_context *context;
	struct arena *arena;
	struct lint_findings *findings;
	const char *path;                   /* "spec.headGroupSpec", "spec.workerGroupSpecs[0]" */
	const char *name;                   /* groupName, "headgroup" */
	const struct worker_group *group;   /* NULL: the head */
	const struct quantities *resources; /* its own field */
	const struct labels *labels, *start_params;
	const struct pod_template *template;
	const struct container *container; /* Ray's; NULL: the Pod has none */
	const char *container_path;
};

void lint_say(struct lint_subject *subject, enum lint_rule_id rule, const char *path,
	      const char *fix, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* core/lint_group.c */
void lint_field_invalid(struct lint_subject *subject);
void lint_min_above_max(struct lint_subject *subject);

#endif
