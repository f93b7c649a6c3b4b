/* Refusals of KubeRay of a RayCluster, RayJob, RayService or RayCronJob, known before it is applied: rows of
 * one table, each with a place and a condition on the JSON (ValidateRayClusterSpec, ValidateRayJobSpec and their
 * kin, KubeRay 1.7.0, ray-operator/controllers/ray/utils/validation.go). Refused objects are not reconciled at all:
 * no Pod, no scaling. Feature gates that are off by default are infos: an object does not tell whether they are on. Not
 * checked: the variables of a collector for Azure, and names of time zones beyond their form. */
#ifndef FEATURE_LINT_OBJECTS_LINT_REFUSED_H
#define FEATURE_LINT_OBJECTS_LINT_REFUSED_H

#include "base/arena.h"
#include "feature/lint/core/lint.h"

struct cJSON;

/* Findings of the rule kuberay-refuses, with texts in the arena. `object`: the whole object of the kind, whose
 * paths are of the object. */
void lint_refused_object(const char *kind, const struct cJSON *object, struct arena *arena,
			 struct lint_findings *findings);
/* `cluster`: with metadata and spec of a RayCluster, which may be a part of an object of the kind; paths as of
 * a RayCluster. */
void lint_refused_cluster(const char *kind, const struct cJSON *cluster, struct arena *arena,
			  struct lint_findings *findings);

#endif
