/* Errors and likely mistakes in one RayCluster or RayClusterAutoscaler: findings by rule, each with the line to write.
 * Pure; reads the decoded object, so a rule that needs the JSON itself (a number in place of a
 * string) is in the decoder, feature/lint/objects/lint_document. Everything lives in the arena. Must not
 * decide anything: how a decision uses the same fields is defined by capacity. */
#ifndef FEATURE_LINT_CORE_LINT_H
#define FEATURE_LINT_CORE_LINT_H

#include "feature/lint/core/lint_finding.h"

/* Appends the findings of a RayCluster, in the order of its groups (head first) and of the rule
 * table. */
void lint_cluster(const struct ray_cluster *cluster, const struct lint_context *context,
		  struct arena *arena, struct lint_findings *findings);
/* A RayCluster as the rules of its RayClusterAutoscaler need it. */
struct lint_known {
	struct ray_cluster cluster; /* namespace, name, groups and what overrides settings alone */
	const char *owner;          /* autoscaler_problem_owner */
	const int64_t *gpus;        /* 1/10000 GPU of a replica of each group; NULL: unknown */
};

/* Of each group, in the arena. */
const int64_t *lint_gpus_of_groups(const struct ray_cluster *cluster,
				   const struct lint_context *context, struct arena *arena);
/* The findings of a RayClusterAutoscaler. `known`: the RayCluster of its name; NULL: unknown. */
void lint_settings(const struct autoscaler_object *object, const struct lint_known *known,
		   const struct lint_context *context, struct arena *arena,
		   struct lint_findings *findings);
/* The findings of a RayCluster in scaling, as the sentences of a condition and an Event: how many, of
 * which rules, the first of the worst. Those that a decision reports itself (InvalidRequest) are omitted. Made
 * once for a generation of a RayCluster, so it must not depend on Nodes or on the time. Notes alone make a
 * condition that is False; message "": no findings. Strings in the arena. */
void lint_condition_make(const struct ray_cluster *cluster, const struct lint_context *context,
			 struct arena *arena, struct extra_condition *ret_condition);

#endif
