/* What the living workers of one group show of the template that they were made from: of each resource
 * the least that one of them reports, and nothing that is of one worker alone.
 * Must not say what follows: that is core/decide/template_seen. */
#ifndef CORE_DECIDE_TEMPLATE_LOOK_H
#define CORE_DECIDE_TEMPLATE_LOOK_H

#include "core/decide/situation.h"

/* Needs workers, and promised and inferred of the group; entry->since says which Pods are too old.
 * Sets resources, labels and pod of the entry; false, and nothing set: no living worker was made from
 * the present template. */
bool template_look(const struct situation *situation, const struct group *group,
		   struct memory_template *entry);

#endif
