#include "feature/device_claims/kube/device_types.h"

#include "feature/device_claims/codec/device_object_json.h"
#include "kube/kube_type.h"

static int kube_decode_bad_template(const struct cJSON *json, const char *problem,
				    struct arena *arena, void *ret_object)
{
	return claim_template_decode_unreadable(json, problem, arena, ret_object);
}

static int kube_decode_bad_claim(const struct cJSON *json, const char *problem, struct arena *arena,
				 void *ret_object)
{
	return resource_claim_decode_unreadable(json, problem, arena, ret_object);
}

#define CLAIMS_INSTALL "Kubernetes 1.34 and later serve resource.k8s.io/v1, unless it is turned off"

KUBE_TYPE(resource_slice, struct resource_slice, resource_slice_decode, .kind = "ResourceSlice",
	  .plural = "resourceslices", .group = "resource.k8s.io", .versions = { "v1", NULL },
	  .install = CLAIMS_INSTALL)

KUBE_TYPE(device_class, struct device_class, device_class_decode, .kind = "DeviceClass",
	  .plural = "deviceclasses", .group = "resource.k8s.io", .versions = { "v1", NULL },
	  .install = CLAIMS_INSTALL)

KUBE_TYPE(claim_template, struct claim_template, claim_template_decode,
	  .kind = "ResourceClaimTemplate", .plural = "resourceclaimtemplates",
	  .group = "resource.k8s.io", .versions = { "v1", NULL }, .install = CLAIMS_INSTALL,
	  .decode_bad = kube_decode_bad_template)

KUBE_TYPE(resource_claim, struct resource_claim, resource_claim_decode, .kind = "ResourceClaim",
	  .plural = "resourceclaims", .group = "resource.k8s.io", .versions = { "v1", NULL },
	  .install = CLAIMS_INSTALL, .decode_bad = kube_decode_bad_claim)

KUBE_TYPE(taint_rule, struct device_taint_rule, taint_rule_decode, .kind = "DeviceTaintRule",
	  .plural = "devicetaintrules", .group = "resource.k8s.io",
	  .versions = { "v1", "v1beta2", "v1alpha3", NULL },
	  .install = "Kubernetes 1.37 and later serve resource.k8s.io/v1 with DeviceTaintRules")
