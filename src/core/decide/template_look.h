/* The template of a group as its registered workers show it: for each resource the smallest amount
 * that one of them reports, without resources that belong to a single worker. Must not draw
 * conclusions: that is core/decide/template_seen. */
#ifndef CORE_DECIDE_TEMPLATE_LOOK_H
#define CORE_DECIDE_TEMPLATE_LOOK_H

#include "core/decide/offer.h"

/* Needs workers, and promised and inferred of the group; entry->since separates Pods that are too
 * old. Sets resources, labels and pod of the entry; false, and nothing set: no registered worker
 * was made from the current template. */
bool template_look(const struct offer *offer, const struct group *group,
		   struct memory_template *entry);
/* Whether the resource belongs to this node alone and not to its template: its address, the resources of placement
 * groups, the name of its TPU slice. */
bool template_look_is_own(const struct ray_node *node, const char *name);

#endif
