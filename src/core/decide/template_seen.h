/* What living workers show of the template that they were made from: a group's capacity is what its
 * template promises until a raylet has joined, then what that raylet reports, for as long as the
 * template is the same. So nothing is launched again for a resource that a worker turned out to lack, a
 * type that was only inferred is taken back, and what no template can say is known from zero.
 * The last worker seen is kept in memory (core/model/memory_state), in controller mode in the status of the
 * RayClusterAutoscaler as well.
 * Must not launch or terminate; the workers that minReplicas asks for are made whatever they lack. */
#ifndef CORE_DECIDE_TEMPLATE_SEEN_H
#define CORE_DECIDE_TEMPLATE_SEEN_H

#include "core/decide/situation.h"

/* Of one group; more is left out, and names that are not printable ASCII: the status of an object holds
 * it for up to 100 groups. What the template promises comes first. */
#define TEMPLATE_SEEN_RESOURCES_MAX 16
#define TEMPLATE_SEEN_NAMES_SIZE_MAX 512 /* of these together */
#define TEMPLATE_SEEN_NAME_SIZE_MAX 253

/* Needs groups, workers and demands. Sets promised, lacks, inferred and the seen capacity of the
 * groups, and the templates of the new memory. What Ray's own autoscaler would not know of a group is
 * added only when some demand asks for it, so that all other demand is packed in Ray's order. */
void template_seen_update(struct situation *situation);

/* The first thing that a worker was seen to lack and without which the group would serve the request;
 * NULL: the group serves it, or would not with it either. */
const struct template_lack *template_seen_lack(const struct group *group,
					       const struct ray_request *request);
/* "group gpu-group: its template promises GPU 1, worker demo-x made from it reports 0: ..." */
const char *template_seen_lack_text(struct arena *arena, const struct group *group,
				    const struct template_lack *lack);

#endif
