/* Which devices a class and further selectors match, judged once for all decisions: each selector's text
 * is compiled once, and judged once for each device. A device that is not judged counts as matching, so that it
 * never stops a scale-up: an expression that CEL does not cover, a class that is not known, and a
 * selector above the limit of steps.
 *
 * Templates and claims are texts of any user, so the steps are shared fairly: the caller divides
 * DEVICE_JUDGE_STEPS between namespaces. Pure; matches are in the arena, the texts in a scratch arena that
 * device_judge_done frees. */
#ifndef FEATURE_DEVICE_CLAIMS_CORE_DEVICE_JUDGE_H
#define FEATURE_DEVICE_CLAIMS_CORE_DEVICE_JUDGE_H

#include "base/map.h"
#include "feature/device_claims/core/cel.h"
#include "feature/device_claims/core/device_free.h"

/* Of CEL, for all selectors together: nodes of the syntax tree and attributes that are read. About 0.3 s. */
#define DEVICE_JUDGE_STEPS ((size_t)40 * 1000 * 1000)

/* A set of devices: a bit for each, by its index in device_free. */
struct device_set {
	unsigned char *bits;
};

struct device_matches {
	struct device_set set; /* bits NULL: it is not judged, and any device may match */
	const char *problem;   /* what CEL does not cover of a selector; NULL: nothing */
};

struct device_judge {
	const struct device_free *free;
	size_t steps_left; /* set by the caller */
	/* Internal. */
	struct arena *arena, scratch;
	struct map texts, classes;
	struct device_set sure; /* of the last ask */
};

void device_judge_init(struct device_judge *judge, const struct device_free *free,
		       struct arena *arena);
void device_judge_done(struct device_judge *judge);
/* Of the ask's class and selectors; a new one at each call. */
struct device_matches device_judge_ask(struct device_judge *judge, const struct device_ask *ask);
/* Of the last ask, which is judged: whether a device certainly matches. */
bool device_judge_is_sure(const struct device_judge *judge, size_t device);

/* NULL, and one that is not judged, has all devices. */
bool device_matches_has(const struct device_matches *matches, size_t device);

#endif
