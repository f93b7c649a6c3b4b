/* A RayClusterAutoscaler as commands read it: its user's settings, for a decision made here, and
 * the status that the controller wrote last, for when the controller cannot be reached. Objects
 * belong to the informer of kube_type_last_word. */
#ifndef CLI_LAST_WORD_H
#define CLI_LAST_WORD_H

#include "core/model/kubernetes.h"
#include "kube/kube_informer.h"

struct last_word {
	struct autoscaler_object object;
	/* Of status; all "" when there is none yet. */
	const char *reason, *message;
	const char *gpus;    /* "2/4/8": now, at the target, at the maximum */
	const char *pending; /* GPUs that pending demand asks for */
};

extern const struct kube_type kube_type_last_word;

#endif
