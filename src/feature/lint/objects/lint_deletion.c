/* The deletionStrategy of a RayJob, as KubeRay checks it (validateDeletionConfiguration, 1.7.0): rules that need more than
 * one value each. */
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <string.h>

#include "feature/lint/core/lint_rule.h"
#include "feature/lint/objects/lint_check.h"
#include "feature/lint/objects/lint_found.h"

#define RULES_MAX 100 /* that each rule is compared with */

struct check {
	const char *kind;
	struct lint_found spec;
	bool selects, is_scaled, shuts_down;
	struct arena *arena;
	struct lint_findings *findings;
};

static void refuse(const struct check *check, const char *path, const char *fix, const char *why)
{
	lint_add(check->arena, check->findings, LINT_RULE_KUBERAY_REFUSES, path,
		 arena_printf(check->arena, "%s; KubeRay 1.7 refuses the %s", why, check->kind),
		 fix);
}

static struct lint_found follow(const struct check *check, struct lint_found from,
				const char *names)
{
	return lint_found_follow(from, names, check->arena);
}

static bool is_true(const struct check *check, const char *names)
{
	return cJSON_IsTrue(follow(check, check->spec, names).json);
}

static bool is_given(const struct check *check, struct lint_found from, const char *names)
{
	return lint_found_is_given(follow(check, from, names));
}

/* A policy that this RayJob cannot have. */
static void check_policy(const struct check *check, struct lint_found policy)
{
	const char *text = lint_found_text(policy, check->arena);
	bool of_workers = strcmp(text, "DeleteWorkers") == 0;

	if (check->selects && (of_workers || strcmp(text, "DeleteCluster") == 0))
		refuse(check, policy.path, "policy: DeleteSelf",
		       arena_printf(check->arena,
				    "%s is not possible beside clusterSelector: write DeleteSelf "
				    "or DeleteNone",
				    text));
	else if (check->is_scaled && of_workers)
		refuse(check, policy.path, "policy: DeleteCluster",
		       "DeleteWorkers is not possible with enableInTreeAutoscaling: write "
		       "DeleteCluster");
}

/* ---- onSuccess and onFailure ---- */

static void check_outcome(const struct check *check, struct lint_found strategy, const char *name)
{
	struct lint_found outcome = follow(check, strategy, name);
	struct lint_found policy = follow(check, outcome, "policy");

	if (!lint_found_is_given(outcome)) {
		refuse(check, strategy.path,
		       arena_printf(check->arena, "%s: {policy: DeleteNone}", name),
		       arena_printf(check->arena,
				    "deletionStrategy has no %s: add it, or write "
				    "deletionRules instead",
				    name));
		return;
	}
	if (!lint_found_is_given(policy))
		refuse(check, outcome.path, "policy: DeleteCluster",
		       arena_printf(check->arena,
				    "%s has no policy: add DeleteCluster, "
				    "DeleteWorkers, DeleteSelf or DeleteNone",
				    name));
	else if (check->shuts_down &&
		 strcmp(lint_found_text(policy, check->arena), "DeleteNone") == 0)
		refuse(check, policy.path, "",
		       "DeleteNone contradicts shutdownAfterJobFinishes: remove one of them");
	else
		check_policy(check, policy);
}

/* ---- deletionRules ---- */

/* The status that a rule waits for, as "jobStatus SUCCEEDED"; "": not just one. */
static const char *status_of(const struct check *check, struct lint_found rule)
{
	struct lint_found job = follow(check, rule, "condition jobStatus");
	struct lint_found deployment = follow(check, rule, "condition jobDeploymentStatus");
	bool of_job = lint_found_is_given(job);

	if (of_job == lint_found_is_given(deployment))
		return "";
	return arena_printf(check->arena, "%s %.40s", of_job ? "jobStatus" : "jobDeploymentStatus",
			    lint_found_text(of_job ? job : deployment, check->arena));
}

static void check_condition(const struct check *check, struct lint_found rule)
{
	struct lint_found condition = follow(check, rule, "condition");
	struct lint_found seconds = follow(check, condition, "ttlSeconds");
	bool of_job = is_given(check, condition, "jobStatus");

	if (!lint_found_is_given(condition))
		return; /* the definition requires it */
	if (*status_of(check, rule) == '\0')
		refuse(check, condition.path, of_job ? "" : "jobStatus: SUCCEEDED",
		       of_job ?
			       "condition has jobStatus and jobDeploymentStatus: remove one of them" :
			       "condition has neither jobStatus nor jobDeploymentStatus: add one");
	if (cJSON_IsNumber(seconds.json) && seconds.json->valuedouble < 0)
		refuse(check, seconds.path, "ttlSeconds: 0",
		       "ttlSeconds is negative: write 0 or more");
}

/* Workers go before their RayCluster, and that before its RayJob; -1: it deletes nothing. */
static int order_of(const char *policy)
{
	static const char *const order[] = { "DeleteWorkers", "DeleteCluster", "DeleteSelf" };

	for (int i = 0; i < (int)(sizeof(order) / sizeof(order[0])); i++)
		if (strcmp(order[i], policy) == 0)
			return i;
	return -1;
}

static double seconds_of(const struct check *check, struct lint_found rule)
{
	const struct cJSON *seconds = follow(check, rule, "condition ttlSeconds").json;

	return cJSON_IsNumber(seconds) ? seconds->valuedouble : 0;
}

/* Two rules for one status. */
static void check_pair(const struct check *check, struct lint_found rule, struct lint_found before)
{
	const char *own = lint_found_member_text(rule, "policy", check->arena);
	const char *other = lint_found_member_text(before, "policy", check->arena);
	int first = order_of(own), second = order_of(other);
	double later = seconds_of(check, rule), earlier = seconds_of(check, before);

	if (strcmp(own, other) == 0)
		refuse(check, rule.path, "",
		       arena_printf(check->arena,
				    "an earlier rule has %.40s for %s: remove one of them", own,
				    status_of(check, rule)));
	else if (first >= 0 && second >= 0 && (first < second ? later > earlier : later < earlier))
		refuse(check, rule.path, "",
		       arena_printf(
			       check->arena,
			       "for %s ttlSeconds of %s is %.0f and that of %s %.0f: workers go "
			       "first, then the RayCluster, then the RayJob; raise the later one",
			       status_of(check, rule), own, later, other, earlier));
}

static void check_rules(const struct check *check, struct lint_found rules)
{
	struct lint_found rule = lint_found_element(rules, 0, check->arena);

	for (size_t i = 0; rule.json && i < RULES_MAX;
	     rule = lint_found_element(rules, ++i, check->arena)) {
		const char *status = status_of(check, rule);

		check_condition(check, rule);
		check_policy(check, follow(check, rule, "policy"));
		for (size_t before = 0; before < i && *status != '\0'; before++) {
			struct lint_found other = lint_found_element(rules, before, check->arena);

			if (strcmp(status_of(check, other), status) == 0)
				check_pair(check, rule, other);
		}
	}
}

void lint_deletion_check(const char *kind, struct lint_found spec, struct arena *arena,
			 struct lint_findings *findings)
{
	struct check check = { .kind = kind, .spec = spec, .arena = arena, .findings = findings };
	struct lint_found strategy = follow(&check, spec, "deletionStrategy");
	struct lint_found rules = follow(&check, strategy, "deletionRules");

	if (!lint_found_is_given(strategy))
		return;
	check.selects = is_given(&check, spec, "clusterSelector ray.io/cluster");
	check.is_scaled = is_true(&check, "rayClusterSpec enableInTreeAutoscaling");
	check.shuts_down = is_true(&check, "shutdownAfterJobFinishes");
	if (cJSON_IsArray(rules.json) && rules.json->child) {
		check_rules(&check, rules);
	} else if (is_given(&check, strategy, "onSuccess") ||
		   is_given(&check, strategy, "onFailure")) {
		check_outcome(&check, strategy, "onSuccess");
		check_outcome(&check, strategy, "onFailure");
	} else {
		refuse(&check, strategy.path,
		       "deletionRules:\n- policy: DeleteCluster\n  condition: {jobStatus: SUCCEEDED, "
		       "ttlSeconds: 60}",
		       "deletionStrategy deletes nothing: add deletionRules");
	}
}
