#include <string.h>

#include "base/memory.h"
#include "feature/lint/core/lint.h"
#include "feature/lint/core/lint_subject.h"

void lint_claim_missing(struct lint_subject *subject)
{
	const struct pod_claims *claims = subject->capacity.claims;
	if (claims && claims->missing)
		lint_problem(subject, LINT_RULE_CLAIM_MISSING, claims->missing);
}

/* Known to be of no accelerator (a network card, a channel), or reported as missing. */
static bool shares_nothing(const struct lint_subject *subject, const char *claim)
{
	const struct pod_claims *claims = subject->capacity.claims;
	const struct pod_claim_shared *shared;
	if (!claims || claims->problem)
		return false;
	shared = ARRAY_FIND(claims->shared, claims->shared_count, claim, claim);
	return !shared || shared->charge.count == 0;
}

void lint_claim_shared(struct lint_subject *subject)
{
	const struct worker_group *group = subject->group;
	if (!group || (group->max_replicas <= 1 && group->num_of_hosts <= 1))
		return;
	for (size_t i = 0; i < subject->pod->claim_count; i++) {
		const struct pod_claim *claim = &subject->pod->claims[i];
		if (*claim->claim == '\0' || shares_nothing(subject, claim->claim))
			continue;
		lint_report_finding(
			subject, LINT_RULE_CLAIM_SHARED,
			arena_printf(subject->arena,
				     "%s.template.spec.resourceClaims[%zu].resourceClaimName",
				     subject->path, i),
			arena_printf(subject->arena, "resourceClaimTemplateName: %s", claim->claim),
			"all workers of %s use the one ResourceClaim %.253s: they share its "
			"devices, and those on another Node wait for ever; name a "
			"ResourceClaimTemplate, so that each has its own",
			subject->title, claim->claim);
		return;
	}
}

/* NVML lists a GPU once, however many parts of it a container has. */
void lint_claim_of_parts(struct lint_subject *subject)
{
	const struct pod_claims *claims = subject->capacity.claims;
	int64_t parts = 0;
	const char *fix = "num-gpus: \"1\"", *path;
	if (!claims || lint_declares_gpus(subject))
		return;
	VEC_EACH(const struct quantity, held, &claims->ray) {
		const struct device_row *row = lint_device(subject, held);
		if (row && row->kind == DEVICE_GPU && row->share != DEVICE_WHOLE)
			parts += held->amount;
	}
	if (parts <= RESOURCE_UNIT)
		return;
	path = lint_place(subject, subject->path, "rayStartParams",
			  subject->start_params->count > 0, &fix);
	lint_report_finding(
		subject, LINT_RULE_CLAIM_OF_PARTS, path, fix,
		"each worker of %s claims %lld parts of GPUs, and Ray counts the GPUs "
		"that they are on, 1 to %lld: tasks cannot rely on a number; declare it",
		subject->title, lint_whole(parts), lint_whole(parts));
}

/* ---- channels of ComputeDomains ---- */

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"

const char lint_clique_lines[] = "affinity:\n"
				 "  podAffinity:\n"
				 "    " REQUIRED ":\n"
				 "    - topologyKey: " LABEL_CLIQUE "\n"
				 "      matchLabelKeys: [" LABEL_CLUSTER ", " LABEL_GROUP "]\n"
				 "      labelSelector: {matchLabels: {" LABEL_NODE_TYPE
				 ": worker}}";

bool lint_lacks_clique(const struct worker_group *group)
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

const char *lint_clique_text(const char *group, struct arena *arena)
{
	return arena_printf(
		arena,
		"group %.63s claims a channel of a ComputeDomain without required affinity on " LABEL_CLIQUE
		": its Pods may be in several NVLink domains",
		group);
}

void lint_clique_affinity_missing(struct lint_subject *subject)
{
	const struct pod_claims *claims = subject->capacity.claims;
	if (!claims || !claims->channel || !subject->group || !lint_lacks_clique(subject->group))
		return;
	lint_report_finding(subject, LINT_RULE_CLIQUE_AFFINITY_MISSING,
			    arena_printf(subject->arena, "%s.template.spec", subject->path),
			    lint_clique_lines, "%s",
			    lint_clique_text(subject->group->name, subject->arena));
}
