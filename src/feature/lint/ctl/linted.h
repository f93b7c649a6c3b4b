/* The lint conditions of the RayClusters, each kept until its generation or an annotation changes, so that
 * a pass does not run the rules. May be lost. No I/O. */
#ifndef FEATURE_LINT_CTL_LINTED_H
#define FEATURE_LINT_CTL_LINTED_H

#include <stddef.h>

#include "ctl/report/feature.h"

extern const struct feature lint_feature;
size_t linted_runs(const void *self); /* how often the rules were run */

#endif
