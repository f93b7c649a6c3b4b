/* The rules of lint about the claims of a head or worker group (CLAIM_LINT_RULES), and the part of them that is about
 * objects of files. Pure. */
#ifndef FEATURE_DEVICE_CLAIMS_CORE_CLAIM_RULES_H
#define FEATURE_DEVICE_CLAIMS_CORE_CLAIM_RULES_H

#include "core/model/object_rule.h"

/* Its Pods, all on Nodes of one NVLink domain when they claim a channel, lack affinity on it. */
bool claim_rule_lacks_clique(const struct worker_group *group);
void claim_rule_add_clique(const char *group, const char *path, struct arena *arena,
			   struct object_problems *problems);

#endif
