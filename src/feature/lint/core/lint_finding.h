/* A finding of lint, and what the rules know beside the object, as plain data in the arena. */
#ifndef FEATURE_LINT_CORE_LINT_FINDING_H
#define FEATURE_LINT_CORE_LINT_FINDING_H

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
	bool decided;        /* of a feature: a decision reports it itself */
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

#endif
