#include "feature/lint/objects/lint_domain.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "feature/lint/core/lint_rule.h"

#define API_GROUP "resource.nvidia.com/"
#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define DOMAINS_MAX 1000

static const char affinity_lines[] = "affinity:\n"
				     "  podAffinity:\n"
				     "    " REQUIRED ":\n"
				     "    - topologyKey: " LABEL_CLIQUE "\n"
				     "      matchLabelKeys: [" LABEL_CLUSTER ", " LABEL_GROUP "]\n"
				     "      labelSelector: {matchLabels: {" LABEL_NODE_TYPE
				     ": worker}}";

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

static bool has_term(const struct node_term *term)
{
	return ARRAY_FIND(term->expressions, term->count, key, LABEL_CLIQUE) != NULL;
}

bool lint_domain_lacks_affinity(const struct worker_group *group, const struct cJSON *json)
{
	const struct pod_spec *pod = &group->template.spec;
	const struct cJSON *spec = member(member(json, "template"), "spec");
	const struct cJSON *terms =
		member(member(member(spec, "affinity"), "podAffinity"), REQUIRED);
	const struct cJSON *term;

	if (pod->claim_count == 0 || (group->num_of_hosts <= 1 && group->max_replicas <= 1) ||
	    labels_value(&pod->node_selector, LABEL_CLIQUE))
		return false;
	for (size_t i = 0; i < pod->required_node_term_count; i++)
		if (has_term(&pod->required_node_terms[i]))
			return false;
	cJSON_ArrayForEach(term, terms)
	{
		if (strcmp(text_of(member(term, "topologyKey")), LABEL_CLIQUE) == 0)
			return false;
	}
	return true;
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
	entry.finding.message = arena_printf(
		report->arena,
		"group %.63s claims a channel of a ComputeDomain without required affinity on " LABEL_CLIQUE
		": its Pods may be in several NVLink domains",
		group->name);
	entry.finding.fix = affinity_lines;
	lint_report_add(report, &entry);
}

void lint_domain_finish(struct lint_report *report)
{
	VEC_EACH(const struct lint_claiming_group, group, &report->claiming_groups)
		VEC_EACH(const struct lint_domain, domain, &report->domains)
			if (is_channel_of(group, domain)) {
				report_group(report, group);
				break;
			}
}
