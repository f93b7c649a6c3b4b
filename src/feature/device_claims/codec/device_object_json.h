/* ResourceSlice, DeviceClass, ResourceClaimTemplate, ResourceClaim and DeviceTaintRule of resource.k8s.io, JSON to
 * and from the structs of feature/device_claims/core/device_object.h. Results live in the arena, nothing points into the
 * tree. Writing is for the snapshot file only. */
#ifndef FEATURE_DEVICE_CLAIMS_CODEC_DEVICE_OBJECT_JSON_H
#define FEATURE_DEVICE_CLAIMS_CODEC_DEVICE_OBJECT_JSON_H

#include "base/arena.h"
#include "base/err.h"
#include "codec/schema/field.h"
#include "feature/device_claims/core/device_object.h"

struct cJSON;

/* Of struct device_objects: the members of a snapshot. */
/* Of the files of a simulation. */
#define DEVICE_KEPT_KINDS(X)                                                                       \
	X("DeviceClass", NULL, NULL)                                                               \
	X("ResourceClaimTemplate", NULL, NULL)                                                     \
	X("ResourceClaim", NULL, NULL)

extern const struct field device_objects_fields[];

/* As pod_decode. A template or claim whose spec or status cannot be read has only its names and
 * `unreadable`. */
int resource_slice_decode(const struct cJSON *json, const char *path, struct arena *arena,
			  struct resource_slice *ret_slice, struct err *err);
int device_class_decode(const struct cJSON *json, const char *path, struct arena *arena,
			struct device_class *ret_class, struct err *err);
int taint_rule_decode(const struct cJSON *json, const char *path, struct arena *arena,
		      struct device_taint_rule *ret_rule, struct err *err);
int claim_template_decode(const struct cJSON *json, const char *path, struct arena *arena,
			  struct claim_template *ret_template, struct err *err);
int resource_claim_decode(const struct cJSON *json, const char *path, struct arena *arena,
			  struct resource_claim *ret_claim, struct err *err);
/* The names alone, and the problem. -1: it has no name. */
int claim_template_decode_unreadable(const struct cJSON *json, const char *problem,
				     struct arena *arena, struct claim_template *ret_template);
int resource_claim_decode_unreadable(const struct cJSON *json, const char *problem,
				     struct arena *arena, struct resource_claim *ret_claim);

/* The part of them that a snapshot of a cluster of this namespace has: templates of its namespace alone, and of
 * claims of others the devices that are allocated, without names, requests and Pods. */
struct device_objects device_objects_for(const struct device_objects *objects,
					 const char *namespace_, struct arena *arena);

#endif
