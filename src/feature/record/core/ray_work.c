#include "feature/record/core/ray_work.h"

const struct field work_bundle_fields[] = {
	FIELD_RESOURCES(struct work_bundle, resources, "resources"),
	FIELD_LABELS(struct work_bundle, selector, "labelSelector"),
	FIELD_END,
};
