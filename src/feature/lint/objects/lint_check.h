/* Parts of lint's reading of one object (feature/lint/objects/lint_document.h), a source file each, whose
 * comment says what it checks. Pure. They append findings with texts in the arena. */
#ifndef FEATURE_LINT_OBJECTS_LINT_CHECK_H
#define FEATURE_LINT_OBJECTS_LINT_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "feature/lint/objects/lint_found.h"

struct cJSON;
struct object_kinds;
struct lint_findings;
struct lint_report;

/* ---- lint_cron.c ---- */

/* The problem and its fix as one text, in the arena; NULL: the schedule is accepted. */
const char *lint_cron_problem(const char *text, struct arena *arena);

/* ---- lint_deletion.c ---- */

/* Appends findings of the rule kuberay-refuses. `spec`: that of a RayJob, which may be a part of an object of the
 * kind; its JSON may be NULL. */
void lint_deletion_check(const char *kind, struct lint_found spec, struct arena *arena,
			 struct lint_findings *findings);

/* ---- lint_kind.c ---- */

/* A kind of ray.io with the spec of a RayCluster, or one of rayscaler.dev. */
struct lint_kind {
	const char *kind, *group;
	const char *path[4];           /* of the spec, member by member, NULL after the last */
	bool is_settings;              /* of rayscaler.dev; without a path */
	const struct object_kinds *of; /* of them, one of a feature, which is in no namespace */
	size_t feature;                /* then: its number in lint_features */
};

/* `api_version` may be "", and have another version of the group or a group that is most likely a
 * misspelt one. False: lint skips the object. */
bool lint_kind_find(const char *kind, const char *api_version, struct lint_kind *ret_kind);
bool lint_kind_is_cluster(const struct lint_kind *kind); /* the RayCluster itself */
/* Why the API server refuses the version of an object of this kind, and the line to write; NULL: it
 * does not. */
const char *lint_kind_version_problem(const struct lint_kind *kind, const char *api_version,
				      struct arena *arena, const char **ret_fix);
/* Of another object: its kind is unknown in ray.io, or near one of rayscaler.dev; NULL: neither.
 * *ret_misspelt: in one letter. */
const char *lint_kind_problem(const char *kind, const char *api_version, struct arena *arena,
			      bool *ret_misspelt);

/* ---- lint_pod.c ---- */

/* A new tree of copies; `cluster` has metadata and spec of a RayCluster, `group` is one of its workerGroupSpecs, NULL
 * for the head. NULL: it has no Pod template with a container. */
struct cJSON *lint_pod_make(const struct cJSON *cluster, const struct cJSON *group);

/* ---- lint_refused.c ---- */

/* Findings of the rule kuberay-refuses, with texts in the arena. `object`: the whole object of the kind, whose
 * paths are of the object. */
void lint_refused_object(const char *kind, const struct cJSON *object, struct arena *arena,
			 struct lint_findings *findings);
/* `cluster`: with metadata and spec of a RayCluster, which may be a part of an object of the kind; paths as of
 * a RayCluster. */
void lint_refused_cluster(const char *kind, const struct cJSON *cluster, struct arena *arena,
			  struct lint_findings *findings);

/* ---- lint_schema.c ---- */

/* Checks `spec` of an object of this kind, except a RayCluster within it. A place with a finding gets no second one.
 * Wrong values are changed as by lint_shape_check. */
void lint_schema_check(const char *kind, struct cJSON *object, struct arena *arena,
		       struct lint_findings *findings);

/* ---- lint_security.c ---- */

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

/* ---- lint_serve.c ---- */

/* As those of lint_refused.c. A text that is not YAML is left to others. */
void lint_serve_check(const char *kind, const struct cJSON *object, struct arena *arena,
		      struct lint_findings *findings);

/* ---- lint_template.c ---- */

/* `cluster`: with metadata and spec of a RayCluster. Findings in the order of the head and the groups. */
void lint_template_check(const struct cJSON *cluster, struct arena *arena,
			 struct lint_findings *findings);

/* ---- lint_together.c ---- */

/* Rows on the templates of a RayCluster, as those of lint_refused.c. */
void lint_together_cluster(const char *kind, const struct cJSON *cluster, struct arena *arena,
			   struct lint_findings *findings);
/* `own`: the name of the container that KubeRay adds to the Pods, "" for none. */
void lint_together_check(struct lint_found template, const char *own, struct arena *arena,
			 struct lint_findings *findings);
/* Requests above limits in the member resources of a container that no Pod template has. */
void lint_together_amounts(struct lint_found container, struct arena *arena,
			   struct lint_findings *findings);

/* ---- lint_void.c ---- */

/* As those of lint_refused.c. */
void lint_void_object(const char *kind, const struct cJSON *object, struct arena *arena,
		      struct lint_findings *findings);
void lint_void_cluster(const char *kind, const struct cJSON *cluster, struct arena *arena,
		       struct lint_findings *findings);

/* ---- lint_volume.c ---- */

/* `spec` is that of the Pod. */
void lint_volume_check(struct lint_found spec, struct arena *arena, struct lint_findings *findings);

#endif
