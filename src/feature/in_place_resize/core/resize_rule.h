/* The rule of lint about ray.io/ippr (RESIZE_LINT_RULES). Pure. */
#ifndef FEATURE_IN_PLACE_RESIZE_CORE_RESIZE_RULE_H
#define FEATURE_IN_PLACE_RESIZE_CORE_RESIZE_RULE_H

#include "core/model/object_rule.h"

object_group_rule resize_rule_invalid;

#endif
