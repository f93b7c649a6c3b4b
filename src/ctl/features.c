#include "ctl/features.h"

#include "feature/cost/ctl/cost.h"

const struct feature *const features_listed[] = {
	&cost_feature,
	NULL,
};
