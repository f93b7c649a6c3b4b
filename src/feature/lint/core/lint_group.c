#include <string.h>

#include "base/buf.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "core/model/label_syntax.h"
#include "feature/lint/core/lint_subject.h"

#define MAX_SUGGESTED 10
#define LINES_BYTES_MAX ((size_t)16 << 10)

static const char *const autoscaler_versions[] = { "v1", "v2", NULL };

static void lint_word(struct lint_subject *subject, const char *path, const char *value,
		      const char *const *words)
{
	struct nearest nearest = nearest_start(value);
	char hint[NEAREST_HINT_SIZE];
	const char *all = "";
	if (!value || value[0] == '\0')
		return;
	for (; *words != NULL; words++) {
		if (strcmp(value, *words) == 0)
			return;
		nearest_offer(&nearest, *words);
		all = arena_printf(subject->arena, "%s%s%s", all, *all != '\0' ? ", " : "", *words);
	}
	lint_report_finding(
		subject, LINT_RULE_FIELD_INVALID, path, "",
		"%s must be one of %s, is \"%.64s\"; the API server refuses the object%s",
		lint_member_name(path), all, value, nearest_hint(&nearest, hint));
}

/* KubeRay takes it, in lower case, into the names of Pods and into the label ray.io/group. */
static void lint_group_name(struct lint_subject *subject)
{
	const char *name = subject->group->name;
	if (strcmp(name, HEAD_GROUP_NAME) == 0)
		lint_report_finding(subject, LINT_RULE_FIELD_INVALID,
				    arena_printf(subject->arena, "%s.groupName", subject->path), "",
				    "groupName %s is that of the head: rename the group", name);
	if (label_syntax_value(name) && name[0] != '\0' && !strchr(name, '_'))
		return;
	lint_report_finding(
		subject, LINT_RULE_FIELD_INVALID,
		arena_printf(subject->arena, "%s.groupName", subject->path), "",
		"groupName: must be 1 to 63 letters, digits, \"-\" and \".\", with a letter or "
		"digit at both ends, is \"%.80s\"; the API server refuses the Pods",
		name);
}

void lint_problem(struct lint_subject *subject, enum lint_rule_id rule, const char *text)
{
	const char *start = strstr(text, "spec."), *end = strstr(text, ": "), *path;

	if (!end)
		return;
	if (!start || start > end)
		start = text;
	path = arena_strndup(subject->arena, start, (size_t)(end - start));
	lint_report_finding(subject, rule, path, "", "%s: %s%s", lint_shown_path(path), end + 2,
			    strstr(end, "did you mean") ||
					    (strncmp(end + 2, "must ", 5) != 0 &&
					     (strstr(end, "; ") || strstr(end, "is required"))) ?
				    "" :
				    "; write the value that you mean, or remove the line");
}

/* Amounts belong to the rule quantity-invalid. */
void lint_field_invalid(struct lint_subject *subject)
{
	const struct strings *problems = &subject->cluster->problems;
	if (subject->group) {
		lint_group_name(subject);
		return;
	}
	for (size_t i = 0; i < problems->count; i++)
		if (!strstr(problems->at[i], ".resources."))
			lint_problem(subject, LINT_RULE_FIELD_INVALID, problems->at[i]);
	lint_word(subject, "spec.autoscalerOptions.version", subject->cluster->autoscaler_version,
		  autoscaler_versions);
}

void lint_container_missing(struct lint_subject *subject)
{
	if (subject->container)
		return;
	lint_report_finding(
		subject, LINT_RULE_CONTAINER_MISSING, subject->path,
		arena_printf(subject->arena,
			     "template:\n"
			     "  spec:\n"
			     "    containers:\n"
			     "    - name: ray-%s\n"
			     "      image: rayproject/ray:%s",
			     !subject->group ? "head" : "worker",
			     subject->cluster->ray_version[0] != '\0' ?
				     subject->cluster->ray_version :
				     "2.52.0"),
		"the Pod template of %s has no container; KubeRay refuses the RayCluster",
		subject->title);
}

void lint_cpu_undetected(struct lint_subject *subject)
{
	const char *fix = "cpu: 1", *path;
	if (!subject->group || !subject->container ||
	    resources_find(&subject->capacity.resources, "CPU"))
		return;
	path = arena_printf(subject->arena, "%s.resources", subject->container_path);
	if (subject->container->limits.count == 0 && subject->container->requests.count == 0) {
		fix = "limits:\n  cpu: 1";
		path = lint_place(subject, subject->container_path, "resources", false, &fix);
	} else {
		path = lint_place(subject, path, "limits", subject->container->limits.count > 0,
				  &fix);
	}
	lint_report_finding(
		subject, LINT_RULE_CPU_UNDETECTED, path, fix,
		"the number of CPUs of a worker of %s is unknown: it has "
		"neither num-cpus nor a limit or request of cpu; %s",
		subject->title,
		subject->cluster->enable_in_tree_autoscaling ?
			"the group is not scaled, and Ray's own autoscaler stops for the whole "
			"cluster" :
			"Ray assumes all CPUs of the Node for each of its Pods")
		->severity = subject->cluster->enable_in_tree_autoscaling ? LINT_ERROR :
									    LINT_WARNING;
}

void lint_min_above_max(struct lint_subject *subject)
{
	const struct worker_group *group = subject->group;
	if (group && group->replicas > group->max_replicas)
		lint_report_finding(
			subject, LINT_RULE_MIN_ABOVE_MAX,
			lint_path_member(subject->arena, subject->path, "replicas"),
			arena_printf(subject->arena, "replicas: %lld",
				     (long long)group->max_replicas),
			"%s has replicas %lld above maxReplicas %lld; KubeRay starts no more "
			"than that",
			subject->title, (long long)group->replicas, (long long)group->max_replicas)
			->severity = LINT_WARNING;
	if (!group || group->min_replicas <= group->max_replicas)
		return;
	lint_report_finding(
		subject, LINT_RULE_MIN_ABOVE_MAX,
		lint_path_member(subject->arena, subject->path, "maxReplicas"),
		arena_printf(subject->arena, "maxReplicas: %lld  # or minReplicas: %lld",
			     (long long)group->min_replicas, (long long)group->max_replicas),
		"%s has minReplicas %lld above maxReplicas %lld; KubeRay refuses the RayCluster",
		subject->title, (long long)group->min_replicas, (long long)group->max_replicas);
}

void lint_max_unset(struct lint_subject *subject)
{
	const struct worker_group *group = subject->group;
	int64_t most = MAX_SUGGESTED;
	if (!group || !subject->cluster->enable_in_tree_autoscaling ||
	    group->max_replicas < INT32_MAX || group->problem)
		return;
	most = group->min_replicas > most ? group->min_replicas : most;
	most = group->replicas > most ? group->replicas : most;
	lint_report_finding(
		subject, LINT_RULE_MAX_UNSET, subject->path,
		arena_printf(subject->arena, "maxReplicas: %lld", (long long)most),
		"%s has no maxReplicas: demand alone decides how many workers are paid for",
		subject->title);
}

/* Reports once for a cluster, because there is one line to write. */
void lint_autoscaling_off(struct lint_subject *subject)
{
	const struct ray_cluster *cluster = subject->cluster;
	const struct worker_group *first = NULL;
	size_t more = 0;
	if (subject->group || cluster->enable_in_tree_autoscaling)
		return;
	for (size_t g = 0; g < cluster->group_count; g++) {
		if (cluster->groups[g].min_replicas >= cluster->groups[g].max_replicas)
			continue;
		if (!first)
			first = &cluster->groups[g];
		else
			more++;
	}
	if (!first)
		return;
	lint_report_finding(subject, LINT_RULE_AUTOSCALING_OFF, "spec",
			    "enableInTreeAutoscaling: true  # or nothing: all replicas stay",
			    "group %s has minReplicas %lld and maxReplicas %lld%s, and no "
			    "autoscaler scales it: enableInTreeAutoscaling is not true",
			    first->name, (long long)first->min_replicas,
			    (long long)first->max_replicas,
			    more > 0 ? arena_printf(subject->arena, " (and %zu more)", more) : "");
}

/* Replaces characters that a label value cannot contain with "-". */
static const char *label_line(struct arena *arena, const struct label *label)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	char *value = arena_strdup(arena, label->value);
	for (char *at = value + strspn(value, allowed); *at != '\0'; at += strspn(at, allowed))
		*at = '-';
	return label_syntax_key(label->key) && label_syntax_value(value) ?
		       arena_printf(arena, "%s: \"%s\"", label->key, value) :
		       "";
}

/* "a=1,b=2" as lines; "" when they exceed LINES_BYTES_MAX. */
static const char *label_lines(struct arena *arena, const char *params)
{
	AUTO(buf_done) struct buf lines = BUF_INIT(LINES_BYTES_MAX);
	buf_add_string(&lines, "labels:");
	while (*params != '\0' && !lines.overflowed) {
		size_t size = strcspn(params, ","), key = strcspn(params, "=,");
		if (key < size)
			buf_printf(&lines, "\n  %.*s: \"%.*s\"", (int)key, params,
				   (int)(size - key - 1), params + key + 1);
		params += size + (params[size] == ',' ? 1 : 0);
	}
	return lines.overflowed ? "" : arena_strdup(arena, buf_string(&lines));
}

void lint_label_invalid(struct lint_subject *subject)
{
	const char *path = lint_path_member(subject->arena, subject->path, "labels");
	const char *params = labels_value(subject->start_params, "labels");
	VEC_EACH(const struct label, label, subject->labels) {
		if (label_syntax_key(label->key) && label_syntax_value(label->value))
			continue;
		lint_report_finding(
			subject, LINT_RULE_LABEL_INVALID,
			lint_path_member(subject->arena, path, label->key),
			label_line(subject->arena, label),
			"\"%.64s\": \"%.64s\" is not of the syntax of Kubernetes labels; KubeRay "
			"refuses the RayCluster",
			label->key, label->value);
	}
	if (params)
		lint_report_finding(
			subject, LINT_RULE_LABEL_INVALID,
			arena_printf(subject->arena, "%s.rayStartParams.labels", subject->path),
			label_lines(subject->arena, params),
			"labels in rayStartParams (\"%.64s\") are ignored, and KubeRay 1.5 and later "
			"refuses the RayCluster: write them into the field labels of %s",
			params, subject->title);
}

/* Reports an annotation that does not parse, and its first bundle with a fractional GPU amount
 * above 1, such as 1.5; once for a cluster. */
void lint_request_invalid(struct lint_subject *subject)
{
	const struct annotation_request *annotation = subject->cluster->request;
	const char *path = lint_path_member(subject->arena, "metadata.annotations",
					    ANNOTATION_REQUEST_RESOURCES);
	if (subject->group || !annotation)
		return;
	if (annotation->problem) {
		lint_report_finding(subject, LINT_RULE_REQUEST_INVALID, path, "", "%s",
				    annotation->problem);
		return;
	}
	for (size_t r = 0; r < annotation->bundles->count; r++) {
		const struct ray_request *request = &annotation->bundles->requests[r].request;
		ARRAY_EACH(const struct bundle_entry, entry, request->bundle,
			   request->bundle_count) {
			if (strcmp(entry->name, "GPU") != 0 || entry->amount <= RESOURCE_UNIT ||
			    entry->amount % RESOURCE_UNIT == 0)
				continue;
			lint_report_finding(
				subject, LINT_RULE_REQUEST_INVALID, path,
				arena_printf(subject->arena,
					     ANNOTATION_REQUEST_RESOURCES
					     ": '[{\"GPU\": %lld}]'  # or %lld",
					     lint_whole(entry->amount),
					     lint_whole(entry->amount) - 1),
				"a bundle asks for %s GPU; Ray takes amounts above 1 only as whole "
				"numbers, so no worker serves it",
				resource_amount_text(subject->arena, entry->amount));
			return;
		}
	}
}
