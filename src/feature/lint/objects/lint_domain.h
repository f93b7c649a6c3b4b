/* The rules of NVIDIA ComputeDomains (resource.nvidia.com) and of the groups in the same files that
 * claim their channels. Pure; texts are in the arena of the report. */
#ifndef FEATURE_LINT_OBJECTS_LINT_DOMAIN_H
#define FEATURE_LINT_OBJECTS_LINT_DOMAIN_H

#include "feature/lint/objects/lint_report.h"

struct cJSON;

bool lint_domain_is(const char *kind, const char *api_version);
/* Remembers the template of its channel. True: it has numNodes above 0, which is a finding. */
bool lint_domain_add(struct lint_report *report, const struct cJSON *object);
/* After the last file: the findings of these groups. */
void lint_domain_finish(struct lint_report *report);

#endif
