/* Security settings of the Pod templates of a RayCluster: what the Pod Security Standards baseline and restricted forbid
 * (k8s.io/pod-security-admission 0.34, policy), and capabilities and sysctls that containers cannot have (kubelet 1.34). */
#ifndef FEATURE_LINT_OBJECTS_LINT_SECURITY_H
#define FEATURE_LINT_OBJECTS_LINT_SECURITY_H

#include <stdbool.h>

#include "base/arena.h"
#include "feature/lint/core/lint.h"

struct cJSON;

/* A part of a template that a standard forbids. */
struct lint_violation {
	bool restricted;   /* by the standard restricted alone; else by baseline, too */
	const char *path;  /* from the RayCluster's root */
	const char *what;  /* "capability SYS_ADMIN" */
	const char *write; /* "remove it" */
};

struct lint_violations {
	VEC(struct lint_violation) list;
};

/* `cluster`: with metadata and spec of a RayCluster. The containers that KubeRay adds count: the one that waits for the
 * head has the securityContext of Ray's container, the autoscaler that of autoscalerOptions. Findings: capabilities and
 * sysctls that no Namespace permits. */
void lint_security_check(const struct cJSON *cluster, struct arena *arena,
			 struct lint_findings *findings, struct lint_violations *ret_violations);

#endif
