#include "feature/lint/objects/lint_domain.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "feature/lint/core/lint_rule.h"

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

void lint_domain_add_group(struct lint_report *report, const struct lint_entry *entry,
			   const char *namespace_, const struct worker_group *group)
{
	const struct pod_spec *pod = &group->template.spec;
	struct arena *arena = report->arena;
	struct lint_claiming_group *kept;
	const char **templates;

	if (arena->used_bytes > LINT_REPORT_BYTES_MAX)
		return;
	templates = arena_array(arena, pod->claim_count, sizeof(*templates));
	for (size_t i = 0; i < pod->claim_count; i++)
		templates[i] = arena_strdup(arena, pod->claims[i].template_);
	kept = VEC_ADD(arena, &report->claiming_groups);
	*kept = (struct lint_claiming_group){
		.entry = *entry,
		.namespace_ = arena_strdup(arena, namespace_),
		.name = arena_strdup(arena, group->name),
		.templates = { templates, pod->claim_count },
	};
	kept->entry.object = arena_strdup(arena, entry->object);
	kept->entry.finding.path = arena_strdup(arena, entry->finding.path);
}

/* A file often leaves the namespace out. */
static bool is_channel_of(const struct lint_claiming_group *group, const struct lint_domain *domain)
{
	if (*group->namespace_ != '\0' && *domain->namespace_ != '\0' &&
	    strcmp(group->namespace_, domain->namespace_) != 0)
		return false;
	for (size_t i = 0; i < group->templates.count; i++)
		if (strcmp(group->templates.at[i], domain->template_) == 0)
			return true;
	return false;
}

static void report_group(struct lint_report *report, const struct lint_claiming_group *group)
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
	for (size_t i = 0; i < report->list.count; i++) {
		const struct lint_entry *entry = &report->list.at[i];

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
	VEC_EACH(const struct lint_claiming_group, group, &report->claiming_groups)
		VEC_EACH(const struct lint_domain, domain, &report->domains)
			if (is_channel_of(group, domain)) {
				if (!is_reported(report, &group->entry))
					report_group(report, group);
				break;
			}
}
