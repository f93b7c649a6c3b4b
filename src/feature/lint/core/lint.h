/* Errors and likely mistakes in one RayCluster or RayClusterAutoscaler: findings by rule, each with the line to write.
 * Pure; reads the decoded object, so a rule that needs the JSON itself (a number in place of a
 * string) is in the decoder, feature/lint/objects/lint_document. Everything lives in the arena. Must not
 * decide anything: how a decision uses the same fields is defined by capacity. */
#ifndef FEATURE_LINT_CORE_LINT_H
#define FEATURE_LINT_CORE_LINT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "core/model/device.h"
#include "core/model/kubernetes.h"
#include "core/model/ray_state.h"
#include "core/model/settings.h"
#include "core/model/snapshot.h"

/* Fits a message in a status, so that a reported text can be compared with the one there. */
#define LINT_REPORTED_MAX 440

enum lint_severity { LINT_INFO = 0, LINT_WARNING, LINT_ERROR };

struct lint_finding {
	enum lint_severity severity;
	const char *rule; /* "gpu-toleration-missing": of feature/lint/core/lint_rule.h */
	/* From the RayCluster's root:
	 * "spec.workerGroupSpecs[0].template.spec.containers[0].resources.limits["nvidia.com/gpu"]";
	 * names that are not plain words are in ["..."], as lint_path_member() writes them. For a
	 * missing field: the path of the object that lacks it. */
	const char *path;
	const char *message; /* the error and its effect */
	const char *fix;     /* the line or lines of YAML to write; "" for none */
};

struct lint_findings {
	VEC(struct lint_finding) list;
};

struct lint_context {
	const struct device_table *devices;
	const struct settings *settings;
	/* The RayClusterAutoscaler of the RayCluster, for lint_condition_make alone; NULL: none */
	const struct autoscaler_object *object;
	bool nodes_known; /* else selector-matches-no-node is not checked */
	const struct node *nodes;
	size_t node_count;
	/* The time zones that the schedules name, in the arena: reading them is I/O. NULL: they are not
	 * checked. */
	const struct time_zone *(*time_zones)(void *zones, const struct autoscaler_object *object,
					      struct arena *arena, size_t *ret_count);
	void *zones;
};

/* Appends the findings of a RayCluster, in the order of its groups (head first) and of the rule
 * table. */
void lint_cluster(const struct ray_cluster *cluster, const struct lint_context *context,
		  struct arena *arena, struct lint_findings *findings);
/* The Pods of the group, all on Nodes of one NVLink domain when they claim a channel, lack affinity on
 * it. The text and the fix of that finding. */
bool lint_lacks_clique(const struct worker_group *group);
const char *lint_clique_text(const char *group, struct arena *arena);
extern const char lint_clique_lines[];
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
