/* Settings without effect: a path that another setting overrides, values that change nothing, and rows
 * that are the same. */
#ifndef CLI_SIMULATE_EFFECT_H
#define CLI_SIMULATE_EFFECT_H

#include "cli/simulate_variant.h"

/* Adds notes to the plan, which has its rows. `set`: the texts of --set, as PATH=VALUE. */
void simulate_effect_note(struct simulate_plan *plan, const struct flag_values *set);

#endif
