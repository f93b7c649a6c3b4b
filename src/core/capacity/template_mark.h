/* Tells whether a worker was made from the template that its group has now: a short mark of a template,
 * and the comparison of a Pod with it.
 * Pure; must not know what a worker reports: that is core/decide/template_seen. */
#ifndef CORE_CAPACITY_TEMPLATE_MARK_H
#define CORE_CAPACITY_TEMPLATE_MARK_H

#include <stdbool.h>

#include "base/arena.h"
#include "core/model/kubernetes.h"

/* 16 hex digits that change when what says how much a worker brings to Ray is edited: the group's
 * resources, labels and rayStartParams for them, image, resources and names of environment
 * variables of its Ray container, nodeSelector and required node affinity. The same for a RayCluster and
 * for what a snapshot file keeps of it, so the values of those variables are not in it; the order of
 * maps does not count. */
const char *template_mark_fingerprint(const struct worker_group *group, struct arena *arena);

/* Has the Pod's Ray container the resources of the template's, as the API server completes them
 * (requests default to limits)? */
bool template_mark_same_resources(const struct pod_spec *pod, const struct pod_spec *template);

#endif
