#include "feature/repair/kube/drain_request_type.h"

#include "feature/repair/codec/repair_json.h"
#include "kube/kube_type.h"

KUBE_TYPE(drain_request, struct drain_request, drain_request_decode, .kind = "DrainRequest",
	  .plural = "drainrequests", .group = "nvsentinel.nvidia.com",
	  .versions = { "v1alpha1", NULL },
	  .install = "it comes with NVSentinel, plugins/slinky-drainer/config/crd")
