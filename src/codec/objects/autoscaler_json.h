/* RayClusterAutoscaler (rayscaler.dev/v1alpha1), to and from struct autoscaler_object. The field
 * table is also the source of crd/rayclusterautoscalers.rayscaler.dev.yaml and of the fields in
 * docs/AUTOSCALER_OBJECT.md (make docs). */
#ifndef CODEC_OBJECTS_AUTOSCALER_JSON_H
#define CODEC_OBJECTS_AUTOSCALER_JSON_H

#include "base/arena.h"
#include "base/err.h"
#include "codec/schema/field.h"
#include "core/model/kubernetes.h"
#include "core/report/summary.h"

struct cJSON;

#define AUTOSCALER_KIND "RayClusterAutoscaler"
/* A longer status is not read, but written again. */
#define AUTOSCALER_STATUS_MAX ((size_t)256 << 10)

/* Writing is for the snapshot file only: of the status the templates. */
extern const struct field autoscaler_fields[];

/* As ray_cluster_decode, but the name may be missing. The result lives in the arena. */
int autoscaler_decode(const struct cJSON *json, const char *path, struct arena *arena,
		      struct autoscaler_object *ret_autoscaler, struct err *err);

/* The JSON text of the member `status`: the content of a merge patch, where null removes a member.
 * Equal texts are equal statuses. */
extern const struct field autoscaler_status_fields[]; /* of struct summary */
const char *autoscaler_status_text(const struct summary *status, struct arena *arena);
/* {"metadata": {"resourceVersion": ...}, "status": ...}: the body of the merge patch. */
const char *autoscaler_status_body(const char *status_text, const char *resource_version,
				   struct arena *arena);
/* The body that creates the object of a RayCluster, in the arena: owned by it, without a spec. The
 * owner reference has neither `controller` (its operator does not manage this object) nor
 * blockOwnerDeletion: with OwnerReferencesPermissionEnforcement this needs the right to update
 * rayclusters/finalizers, and nothing is lost when the RayCluster is deleted first. */
const char *autoscaler_create_body(const struct ray_cluster *cluster, struct arena *arena);

#endif
