/* The verbs of requests, in HTTP and in metrics. */
#ifndef KUBE_KUBE_VERB_H
#define KUBE_KUBE_VERB_H

#define KUBE_VERB_WATCH "watch" /* in metrics */

enum kube_verb {
	KUBE_GET = 1, /* of an object; of a collection it is a list */
	KUBE_CREATE,
	KUBE_JSON_PATCH,  /* application/json-patch+json */
	KUBE_MERGE_PATCH, /* application/merge-patch+json */
	KUBE_UPDATE,
	KUBE_DELETE,
};

struct kube_verb_words {
	const char *name, *method; /* "create", "POST" */
	const char *content_type;  /* the header line, for a body */
};

extern const struct kube_verb_words kube_verbs[KUBE_DELETE + 1]; /* by enum kube_verb */

#endif
