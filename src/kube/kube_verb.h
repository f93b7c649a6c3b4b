/* The verbs of kube_client in HTTP and in metrics. Pure; the texts are constant. */
#ifndef KUBE_KUBE_VERB_H
#define KUBE_KUBE_VERB_H

#include "kube/kube_client.h"

const char *kube_verb_name(enum kube_verb verb); /* "get", "create", "patch", ... */
const char *kube_verb_method(enum kube_verb verb);
const char *kube_verb_content_type(enum kube_verb verb); /* the header line, for a body */

#endif
