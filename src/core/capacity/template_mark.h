/* Determines whether a worker was made from the current template of its group: a short fingerprint
 * of a template, and the comparison of a Pod with it. Pure; must not depend on reports of workers:
 * that is core/decide/template_seen. */
#ifndef CORE_CAPACITY_TEMPLATE_MARK_H
#define CORE_CAPACITY_TEMPLATE_MARK_H

#include <stdbool.h>

#include "base/arena.h"
#include "core/model/kubernetes.h"

/* 16 hex digits that change with every field that affects a worker's capacity in Ray: the group's
 * resources, labels and rayStartParams for them, image, resources and names of environment
 * variables of its Ray container, nodeSelector and required node affinity. The same for a
 * RayCluster and for its part of a snapshot file, so the values of those variables are not
 * included; the order of maps does not matter. */
const char *template_mark_fingerprint(const struct worker_group *group, struct arena *arena);

/* Whether the Pod's Ray container has the resources of the template's, as the API server completes
 * them (requests default to limits). */
bool template_mark_same_resources(const struct pod_spec *pod, const struct pod_spec *template);

#endif
