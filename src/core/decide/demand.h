/* The demand of a snapshot, with a reason for requests that no node can serve. Requests are in
 * canonical order and equal ones are merged, because their order in Ray's reply is that of a hash
 * map. Placement groups keep the order of the reply, which is the GCS queue's
 * (docs/internals/ray.md). Must not pack: that is schedule. */
#ifndef CORE_DECIDE_DEMAND_H
#define CORE_DECIDE_DEMAND_H

#include "core/decide/facts.h"

/* Sets demands, constraints, gangs and problems. */
void demand_collect(struct facts *facts);
/* Of a constraint: request_resources of Ray's SDK asks for it, not our annotation and no schedule. */
static inline bool demand_is_of_sdk(const struct demand_list *list)
{
	return list->at.count > 0 && list->at.at[0].source == SOURCE_RAY;
}
/* Ascending order by content; 0 for equal requests. Any two requests. */
int demand_compare_requests(const struct ray_request *a, const struct ray_request *b);
/* "{CPU: 1, GPU: 0.5}". */
const char *demand_bundle_text(struct arena *arena, const struct ray_request *request);
/* The bundles of a gang in one of its choices: bundle selector number `choice`, or for 0 the older
 * form without selectors. */
const struct ray_request *demand_gang_bundles(const struct ray_gang *gang, size_t choice,
					      size_t *ret_count);
/* Ascending order by content; 0 for equal gangs. */
int demand_compare_gangs(const struct ray_gang *a, const struct ray_gang *b);
/* A short text that identifies a shape in memory. */
const char *demand_key(struct arena *arena, const struct ray_request *request);
const char *demand_gang_key(struct arena *arena, const struct ray_gang *gang);

#endif
