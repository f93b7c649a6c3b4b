/* The verbs of kube_client in HTTP and in metrics. */
#ifndef KUBE_KUBE_VERB_H
#define KUBE_KUBE_VERB_H

#include "kube/kube_client.h"

#define KUBE_VERB_WATCH "watch" /* in metrics */

struct kube_verb_words {
	const char *name, *method; /* "create", "POST" */
	const char *content_type;  /* the header line, for a body */
};

extern const struct kube_verb_words kube_verbs[KUBE_DELETE + 1]; /* by enum kube_verb */

#endif
