/* The findings of a RayCluster that is scaled, in the two sentences that its condition and its Event
 * show. What a decision says by itself (condition InvalidRequest) is left out: nothing is said twice.
 * Made by lint_digest_make (core/lint/lint.h) once for each generation of a RayCluster (ctl/watch/linted), so nothing in
 * it may depend on Nodes or on the time. */
#ifndef CORE_MODEL_LINT_DIGEST_H
#define CORE_MODEL_LINT_DIGEST_H

#include <stddef.h>

/* Fits what a status shows of a message, so that what was said can be found again there. */
#define LINT_DIGEST_TOLD_MAX 440

enum lint_severity { LINT_INFO = 0, LINT_WARNING, LINT_ERROR };

struct lint_digest {
	size_t counts[LINT_ERROR + 1]; /* by severity */
	/* Errors and warnings: how many, of which rules, the first of the worst; "" for none. */
	const char *told;
	const char *message; /* told, and how many notes there are; "" for no finding at all */
};

#endif
