/* Reads the unread objects of an informer (large_later) after its list: one at a time, each by a list that
 * selects its name, decoded by kube_decode. An object that the watch delivers meanwhile is not unread any
 * more, and the answer for it is dropped. The watch may then still deliver versions that are older than the
 * answer: kube_late_knows. Only for kube_informer.c. */
#ifndef KUBE_KUBE_INFORMER_LATE_H
#define KUBE_KUBE_INFORMER_LATE_H

#include <stdbool.h>

#include "kube/kube_informer_intern.h"

void kube_late_init(struct kube_informer *informer);
void kube_late_done(struct kube_informer *informer);
/* After a list: reads until no object is unread. */
void kube_late_start(struct kube_informer *informer);
/* Before a list: the answer that is under way may be older than it. */
void kube_late_stop(struct kube_informer *informer);
/* Whether a later version of the object in the event has been read already. */
bool kube_late_knows(struct kube_informer *informer, const struct watch_event *event);
/* Versions that are numbers grow along a watch (Kubernetes: API concepts, "Resource versions"); the
 * order of others is unknown. */
bool kube_version_is_older(const char *version, const char *than);

#endif
