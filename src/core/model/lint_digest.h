/* The lint findings of a RayCluster in scaling, as the two sentences of its condition and its
 * Event. Findings that a decision reports itself (condition InvalidRequest) are omitted, so that
 * each is reported once. lint_digest_make (feature/lint/core/lint.h) makes it once for each generation of a
 * RayCluster (feature/lint/ctl/linted), so it must not depend on Nodes or on the time. */
#ifndef CORE_MODEL_LINT_DIGEST_H
#define CORE_MODEL_LINT_DIGEST_H

#include <stddef.h>

/* Fits the length of a message in a status, so that a reported text can be compared with it
 * there. */
#define LINT_DIGEST_TOLD_MAX 440

enum lint_severity { LINT_INFO = 0, LINT_WARNING, LINT_ERROR };

struct lint_digest {
	size_t counts[LINT_ERROR + 1]; /* by severity */
	/* Errors and warnings: how many, of which rules, the first of the worst; "" for none. */
	const char *declared;
	const char *message; /* told, and the number of notes; "" without findings */
};

#endif
