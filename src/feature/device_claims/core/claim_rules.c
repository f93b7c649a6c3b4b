#include "feature/device_claims/core/claim_rules.h"

#include <string.h>

#include "base/memory.h"
#include "core/capacity/pod_claims.h"
#include "feature/device_claims/model/claim_rule.h"

CLAIM_LINT_RULES(OBJECT_RULE_DECLARED, OBJECT_RULE_NONE, OBJECT_RULE_NONE)

void claim_rule_missing(const struct object_group *group, struct arena *arena,
			struct object_problems *problems)
{
	if (group->claims && group->claims->missing)
		object_problem_add(arena, problems, "", NULL, "%s", group->claims->missing)
			->decided = true;
}

/* Known to be of no accelerator (a network card, a channel), or reported as missing. */
static bool shares_nothing(const struct pod_claims *claims, const char *claim)
{
	const struct pod_claim_shared *shared;

	if (!claims || claims->problem)
		return false;
	shared = ARRAY_FIND(claims->shared, claims->shared_count, claim, claim);
	return !shared || shared->charge.count == 0;
}

void claim_rule_shared(const struct object_group *subject, struct arena *arena,
		       struct object_problems *problems)
{
	const struct worker_group *group = subject->group;

	if (!group || (group->max_replicas <= 1 && group->num_of_hosts <= 1))
		return;
	for (size_t i = 0; i < subject->pod->claim_count; i++) {
		const struct pod_claim *claim = &subject->pod->claims[i];

		if (*claim->claim == '\0' || shares_nothing(subject->claims, claim->claim))
			continue;
		object_problem_add(
			arena, problems, "",
			arena_printf(arena,
				     "%s.template.spec.resourceClaims[%zu].resourceClaimName",
				     subject->path, i),
			"all workers of %s use the one ResourceClaim %.253s: they share its "
			"devices, and those on another Node wait for ever; name a "
			"ResourceClaimTemplate, so that each has its own",
			subject->title, claim->claim)
			->fix = arena_printf(arena, "resourceClaimTemplateName: %s", claim->claim);
		return;
	}
}

/* NVML lists a GPU once, however many parts of it a container has. */
void claim_rule_of_parts(const struct object_group *group, struct arena *arena,
			 struct object_problems *problems)
{
	const char *below = group->has_start_params ? ".rayStartParams" : "";
	int64_t parts = 0;
	long long whole;

	if (!group->claims || group->declares_gpus)
		return;
	VEC_EACH(const struct quantity, held, &group->claims->ray) {
		const struct device_row *row = device_find(group->devices, held->name);

		if (held->valid && row && row->kind == DEVICE_GPU && row->share != DEVICE_WHOLE &&
		    row->share != DEVICE_QUALIFIER)
			parts += held->amount;
	}
	if (parts <= RESOURCE_UNIT)
		return;
	whole = (parts + RESOURCE_UNIT - 1) / RESOURCE_UNIT;
	object_problem_add(arena, problems, "", arena_printf(arena, "%s%s", group->path, below),
			   "each worker of %s claims %lld parts of GPUs, and Ray counts the GPUs "
			   "that they are on, 1 to %lld: tasks cannot rely on a number; declare it",
			   group->title, whole, whole)
		->fix = *below == '\0' ? "rayStartParams:\n  num-gpus: \"1\"" : "num-gpus: \"1\"";
}

/* ---- channels of ComputeDomains ---- */

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"

static const char clique_lines[] = "affinity:\n"
				   "  podAffinity:\n"
				   "    " REQUIRED ":\n"
				   "    - topologyKey: " LABEL_CLIQUE "\n"
				   "      matchLabelKeys: [" LABEL_CLUSTER ", " LABEL_GROUP "]\n"
				   "      labelSelector: {matchLabels: {" LABEL_NODE_TYPE
				   ": worker}}";

bool claim_rule_lacks_clique(const struct worker_group *group)
{
	const struct pod_spec *pod = &group->template.spec;
	if (pod->claim_count == 0 || (group->num_of_hosts <= 1 && group->max_replicas <= 1) ||
	    labels_value(&pod->node_selector, LABEL_CLIQUE))
		return false;
	ARRAY_EACH(const struct node_term, term, pod->required_node_terms,
		   pod->required_node_term_count) {
		if (ARRAY_FIND(term->expressions, term->count, key, LABEL_CLIQUE))
			return false;
	}
	for (size_t i = 0; i < pod->pod_affinity_keys.count; i++)
		if (strcmp(pod->pod_affinity_keys.at[i], LABEL_CLIQUE) == 0)
			return false;
	return true;
}

void claim_rule_add_clique(const char *group, const char *path, struct arena *arena,
			   struct object_problems *problems)
{
	object_problem_add(arena, problems, CLAIM_RULE_CLIQUE, path,
			   "group %.63s claims a channel of a ComputeDomain without required "
			   "affinity on " LABEL_CLIQUE
			   ": its Pods may be in several NVLink domains",
			   group)
		->fix = clique_lines;
}

void claim_rule_clique(const struct object_group *group, struct arena *arena,
		       struct object_problems *problems)
{
	if (group->claims && group->claims->channel && group->group &&
	    claim_rule_lacks_clique(group->group))
		claim_rule_add_clique(group->group->name,
				      arena_printf(arena, "%s.template.spec", group->path), arena,
				      problems);
}
