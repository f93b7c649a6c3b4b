/* The capacity of a group as registered workers show it: by its template until a raylet has
 * registered, then as that raylet reports, for as long as the template is the same. So launches are
 * not repeated for a resource that a worker turned out to lack, a type that was only inferred is
 * withdrawn, and resources that no template can declare are used from zero replicas on.
 *
 * Memory keeps the last worker seen (core/model/memory_state); in controller mode the status of the
 * RayClusterAutoscaler does as well. Must not launch or terminate; the workers of minReplicas are
 * created whatever they lack. */
#ifndef CORE_DECIDE_TEMPLATE_SEEN_H
#define CORE_DECIDE_TEMPLATE_SEEN_H

#include "core/decide/offer.h"

/* Needs groups, workers and demands. Sets promised, lacks, inferred and the seen capacity of the
 * groups, and the templates of the new memory. Resources that Ray's own autoscaler would not find
 * in a group are added only when some demand requests them, so that all other demand is packed in
 * Ray's order. */
void template_seen_update(struct offer *offer);

/* The first thing that a worker was seen to lack and without which the group would serve the
 * request; NULL: the group serves it, or would not with it either. */
const struct template_lack *template_seen_lack(const struct group_offer *group,
					       const struct ray_request *request);
/* "group gpu-group: its template promises GPU 1, worker demo-x made from it reports 0: ..." */
const char *template_seen_lack_text(const struct offer *offer, const struct group *group,
				    const struct template_lack *lack);

#endif
