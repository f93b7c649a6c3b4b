/* The features that golden cases need: src/test/golden/features.txt, lines "FEATURE...: NUMBER or FROM-TO ...". */
#ifndef TEST_GOLDEN_FEATURES_H
#define TEST_GOLDEN_FEATURES_H

#include <stdbool.h>

#include "base/arena.h"

/* The features that the case 0001_name.yaml needs, separated by spaces, in the arena; "": none. NULL: the
 * file cannot be read. */
const char *golden_features_of(const char *name, struct arena *arena);

/* Each word of `needed` is one of `built`. */
bool golden_features_are_built(const char *needed, const char *built, struct arena *arena);

#endif
