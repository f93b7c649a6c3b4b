/* The objects of resource.k8s.io and ComputeDomains of NVIDIA (resource.nvidia.com) in files, and the rules of the groups that claim
 * their channels. Pure. */
#include <cjson/cJSON.h>
#include <string.h>

#include "codec/objects/object_kinds.h"
#include "feature/device_claims/codec/device_object_json.h"
#include "feature/device_claims/core/claim_rules.h"
#include "feature/device_claims/core/resolve.h"
#include "feature/device_claims/model/claim_rule.h"

#define CLAIM_GROUP "resource.k8s.io/"
#define DOMAIN_GROUP "resource.nvidia.com/"
#define DOMAINS_MAX 1000

/* A ComputeDomain, with the ResourceClaimTemplate of its channel. */
struct domain {
	const char *namespace_, *template_;
};

struct state {
	VEC(struct domain) domains;
	VEC(struct device_class) classes;
	VEC(struct claim_template) templates;
	VEC(struct resource_claim) claims;
};

static const struct cJSON *member(const struct cJSON *json, const char *name)
{
	return json ? cJSON_GetObjectItemCaseSensitive(json, name) : NULL;
}

static const char *text_of(const struct cJSON *json)
{
	return json && cJSON_IsString(json) ? json->valuestring : "";
}

static void add_domain(struct state *state, const struct cJSON *object, struct arena *arena,
		       struct object_problems *problems)
{
	const struct cJSON *spec = member(object, "spec"), *nodes = member(spec, "numNodes");
	const char *template_ =
		text_of(member(member(member(spec, "channel"), "resourceClaimTemplate"), "name"));

	if (state->domains.count < DOMAINS_MAX && *template_ != '\0')
		VEC_PUSH(arena, &state->domains,
			 ((struct domain){
				 arena_strdup(arena, text_of(member(member(object, "metadata"),
								    "namespace"))),
				 arena_strdup(arena, template_) }));
	if (nodes && cJSON_IsNumber(nodes) && nodes->valuedouble > 0)
		object_problem_add(arena, problems, CLAIM_RULE_NODES, "spec.numNodes",
				   "numNodes is deprecated: write 0, so that a group may have any "
				   "number of workers")
			->fix = "numNodes: 0";
}

/* One that is not valid is left to the API server. */
static bool add(void *own, const struct cJSON *object, const char *kind, const char *api_version,
		struct arena *arena, struct object_problems *problems)
{
	struct state *state = own;
	struct claim_template template_;
	struct resource_claim claim;
	struct device_class class;
	struct err err;

	if (strcmp(kind, "ComputeDomain") == 0 &&
	    strncmp(api_version, DOMAIN_GROUP, strlen(DOMAIN_GROUP)) == 0) {
		add_domain(state, object, arena, problems);
		return true;
	}
	if (strncmp(api_version, CLAIM_GROUP, strlen(CLAIM_GROUP)) != 0)
		return false;
	if (strcmp(kind, "DeviceClass") == 0 &&
	    device_class_decode(object, "", arena, &class, &err) == 0)
		VEC_PUSH(arena, &state->classes, class);
	else if (strcmp(kind, "ResourceClaimTemplate") == 0 &&
		 claim_template_decode(object, "", arena, &template_, &err) == 0)
		VEC_PUSH(arena, &state->templates, template_);
	else if (strcmp(kind, "ResourceClaim") == 0 &&
		 resource_claim_decode(object, "", arena, &claim, &err) == 0)
		VEC_PUSH(arena, &state->claims, claim);
	return true;
}

static const struct device_table *count(const void *own, const struct device_table *devices,
					struct arena *arena)
{
	const struct state *state = own;
	const struct device_objects objects = { .classes = state->classes.at,
						.class_count = state->classes.count,
						.templates = state->templates.at,
						.template_count = state->templates.count,
						.claims = state->claims.at,
						.claim_count = state->claims.count };

	return device_claims_attach(&objects, devices, arena);
}

static bool keeps(const struct worker_group *group, const struct device_table *devices UNUSED)
{
	return claim_rule_lacks_clique(group);
}

/* A file often leaves the namespace out. */
static bool is_channel_of(const struct object_kept_group *group, const struct domain *domain)
{
	if (*group->namespace_ != '\0' && *domain->namespace_ != '\0' &&
	    strcmp(group->namespace_, domain->namespace_) != 0)
		return false;
	return ARRAY_FIND(group->spec->claims, group->spec->claim_count, template_,
			  domain->template_) != NULL;
}

/* Where the ResourceClaimTemplate of the channel is in the files, the rule of the group has found it as well. */
static void check_group(void *own, const struct object_kept_group *group, struct arena *arena,
			struct object_problems *problems)
{
	const struct state *state = own;

	VEC_EACH(const struct domain, domain, &state->domains)
		if (is_channel_of(group, domain)) {
			claim_rule_add_clique(group->name, group->path, arena, problems);
			return;
		}
}

const struct object_kinds claim_kinds = { .state_size = sizeof(struct state),
					  .add = add,
					  .count = count,
					  .keeps = keeps,
					  .group_path = ".template.spec",
					  .group = check_group };
