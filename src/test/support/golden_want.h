/* The wanted members of a plan: the member `want` of a golden case. src/test/golden/README.md has the rules. */
#ifndef TEST_GOLDEN_WANT_H
#define TEST_GOLDEN_WANT_H

#include "base/arena.h"

struct cJSON;

/* NULL when the plan has all that is wanted, else where it differs, in the arena. */
const char *golden_difference(const struct cJSON *want, const struct cJSON *plan,
			      struct arena *arena);

/* The same members with the values of the plan. The caller deletes the tree. */
struct cJSON *golden_want_update(const struct cJSON *want, const struct cJSON *plan);

#endif
