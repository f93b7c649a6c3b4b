/* The rules of NVIDIA ComputeDomains (resource.nvidia.com) and of the groups in the same files that
 * claim their channels. Pure; texts are in the arena of the report. */
#include <cjson/cJSON.h>
#include <string.h>

#include "feature/lint/core/lint_rule.h"
#include "feature/lint/objects/lint_check.h"
#include "feature/lint/objects/lint_report.h"

#define API_GROUP "resource.nvidia.com/"
#define DOMAINS_MAX 1000

static const struct cJSON *member(const struct cJSON *json, const char *name)
{
	return json ? cJSON_GetObjectItemCaseSensitive(json, name) : NULL;
}

static const char *text_of(const struct cJSON *json)
{
	return json && cJSON_IsString(json) ? json->valuestring : "";
}

bool lint_domain_is(const char *kind, const char *api_version)
{
	return strcmp(kind, "ComputeDomain") == 0 &&
	       strncmp(api_version, API_GROUP, strlen(API_GROUP)) == 0;
}

bool lint_domain_add(struct lint_report *report, const struct cJSON *object)
{
	const struct cJSON *spec = member(object, "spec"), *nodes = member(spec, "numNodes");
	const char *template_ =
		text_of(member(member(member(spec, "channel"), "resourceClaimTemplate"), "name"));

	if (report->domains.count < DOMAINS_MAX && *template_ != '\0')
		VEC_PUSH(report->arena, &report->domains,
			 ((struct lint_domain){
				 arena_strdup(
					 report->arena,
					 text_of(member(member(object, "metadata"), "namespace"))),
				 arena_strdup(report->arena, template_) }));
	return nodes && cJSON_IsNumber(nodes) && nodes->valuedouble > 0;
}

/* A file often leaves the namespace out. */
static bool is_channel_of(const struct lint_kept_group *group, const struct lint_domain *domain)
{
	if (*group->namespace_ != '\0' && *domain->namespace_ != '\0' &&
	    strcmp(group->namespace_, domain->namespace_) != 0)
		return false;
	return ARRAY_FIND(group->spec->claims, group->spec->claim_count, template_,
			  domain->template_) != NULL;
}

static void report_group(struct lint_report *report, const struct lint_kept_group *group)
{
	const struct lint_rule *rule = &lint_rules()[LINT_RULE_CLIQUE_AFFINITY_MISSING];
	struct lint_entry entry = group->entry;

	entry.finding.severity = rule->severity;
	entry.finding.rule = rule->name;
	entry.finding.message = lint_clique_text(group->name, report->arena);
	entry.finding.fix = lint_clique_lines;
	lint_report_add(report, &entry);
}

/* By the ResourceClaimTemplate of the channel, which is in the files. */
static bool is_reported(const struct lint_report *report, const struct lint_entry *group)
{
	const char *rule = lint_rules()[LINT_RULE_CLIQUE_AFFINITY_MISSING].name;

	if (report->templates.count == 0)
		return false;
	VEC_EACH(const struct lint_entry, entry, &report->list) {
		if (strcmp(entry->finding.rule, rule) == 0 &&
		    entry->file_number == group->file_number &&
		    entry->document == group->document &&
		    strcmp(entry->object, group->object) == 0 &&
		    strcmp(entry->finding.path, group->finding.path) == 0)
			return true;
	}
	return false;
}

void lint_domain_finish(struct lint_report *report)
{
	VEC_EACH(const struct lint_kept_group, group, &report->groups) {
		if (!group->claims)
			continue;
		VEC_EACH(const struct lint_domain, domain, &report->domains)
			if (is_channel_of(group, domain)) {
				if (!is_reported(report, &group->entry))
					report_group(report, group);
				break;
			}
	}
}
