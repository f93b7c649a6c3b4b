#include "ctl/features.h"

#include "feature_ctl.h"

const struct feature *const features_listed[] = { FEATURE_CONTROLLERS NULL };
