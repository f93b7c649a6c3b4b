/* The features of the controller (ctl/report/feature.h). */
#ifndef CTL_FEATURES_H
#define CTL_FEATURES_H

#include "ctl/report/feature.h"

extern const struct feature *const features_listed[]; /* ends with NULL */

#endif
