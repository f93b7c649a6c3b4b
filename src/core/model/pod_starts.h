/* How long Pods of one worker group took from their creation until Ray was ready in them, as a
 * recording observed them, in the order of their creation. */
#ifndef CORE_MODEL_POD_STARTS_H
#define CORE_MODEL_POD_STARTS_H

#include <stddef.h>
#include <stdint.h>

#define POD_STARTS_MAX 100000 /* times of one group */
#define POD_STARTS_MAX_MS (INT64_C(86400) * 1000)

struct pod_starts {
	const char *cluster, *group;
	const int64_t *ms; /* 0 to POD_STARTS_MAX_MS each */
	size_t count;
};

struct pod_starts_list {
	const struct pod_starts *at;
	size_t count;
};

#endif
