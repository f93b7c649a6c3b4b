/* Converts an answer without success to an error: kind, and a text with verb, resource, object and
 * fix. Pure. Must not see tokens: the text is built from path and Status object. */
#ifndef KUBE_KUBE_ERROR_H
#define KUBE_KUBE_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "kube/kube_verb.h"

struct kube_error_call {
	enum kube_verb verb;
	bool watch;
	const char *path;    /* as of kube_path, with query */
	const char *source;  /* of the credentials (kube_config_source) */
	const char *problem; /* kube_config_problem */
};

/* "list pods in namespace a", "patch rayclusters.ray.io a/b": memory_free. */
char *kube_error_subject(const struct kube_error_call *call);

/* Without an answer: `why` of net/https. With `unreached` the text asks whether the API server of the
 * kubeconfig runs; not within a cluster, where the address is given. */
void kube_error_unanswered(const struct kube_error_call *call, const struct err *why,
			   bool unreached, struct err *err);

/* status is not 2xx. The body may be a Status object or anything else. *ret_retry_after_ms is
 * raised to the value in the Status. */
void kube_error_set(const struct kube_error_call *call, int status, const char *body,
		    size_t body_size, int64_t *ret_retry_after_ms, struct err *err);

#endif
