/* Carries out the resizes of a plan (feature/in_place_resize/core/in_place_resize.c), after a decision,
 * in Ray's order:
 *   resize  what shrinks is taken from the raylet, whose answer keeps what is in use; the record is
 *           written on the Pod; its subresource `resize` is patched. The kubelet then changes it
 *   sync    the Pod has its new size: the raylet gets it, and when Ray's replies show that, the record
 *           says that nothing is under way
 * One change of a Pod at a time, UNDER_WAY_MAX of a cluster. A process that is killed between two
 * steps leaves a Pod with which the next decision continues: the record has the size that is wanted, and
 * each step may be repeated. A record has the Pod's resourceVersion, so that a Pod that changed
 * meanwhile waits for the next decision; after a change, decisions on the Pod from before are left out
 * until the cache shows it. A resize that the API server
 * refuses as invalid, or for a quota, and one for which the Node has less room than Ray uses, is recorded as failed, so that demand gets new workers. Keeps what is
 * under way, and counters; all of it may be lost. */
#ifndef FEATURE_IN_PLACE_RESIZE_CTL_RESIZER_H
#define FEATURE_IN_PLACE_RESIZE_CTL_RESIZER_H

#include "ctl/report/feature.h"

extern const struct feature in_place_resize_feature;

#endif
