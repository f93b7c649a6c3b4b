#include "ctl/features.h"

#include "feature/cost/ctl/cost.h"
#include "feature/device_claims/ctl/device_watch.h"
#include "feature/in_place_resize/ctl/resizer.h"
#include "feature/kueue/ctl/kueue_reader.h"
#include "feature/lint/ctl/linted.h"
#include "feature/pools/ctl/pool_feature.h"
#include "feature/protect_busy_pods/ctl/protector.h"
#include "feature/record/ctl/work_page.h"

const struct feature *const features_listed[] = {
	&cost_feature,
	&lint_feature,
	&record_feature,
	&pools_feature,
	&protect_busy_pods_feature,
	&in_place_resize_feature,
	&device_claims_feature,
	&kueue_feature,
	NULL,
};
