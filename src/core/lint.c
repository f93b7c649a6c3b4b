#include "core/lint.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/lint_subject.h"

const char *lint_severity_name(enum lint_severity severity)
{
	static const char *const names[] = { "info", "warning", "error" };
	return names[severity];
}

const struct lint_rule *lint_rules(void)
{
	static const struct lint_rule rules[] = {
#define X(identifier, severity, name, check, what, cure) { LINT_##severity, name, what, cure },
		LINT_RULE_TABLE(X)
#undef X
	};
	return rules;
}

const char *lint_path_member(struct arena *arena, const char *path, const char *name)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	if (name[0] == '\0' || name[strspn(name, plain)] != '\0')
		return arena_printf(arena, "%s[\"%s\"]", path, name);
	return arena_printf(arena, "%s%s%s", path, path[0] != '\0' ? "." : "", name);
}

void lint_add(struct arena *arena, struct lint_findings *findings, enum lint_rule_id rule,
	      const char *path, const char *message, const char *fix)
{
	const struct lint_rule *row = &lint_rules()[rule];
	VEC_PUSH(arena, &findings->list,
		 ((struct lint_finding){ row->severity, row->name, path, message, fix }));
}

static const char *format_text(struct arena *arena, const char *format, va_list arguments)
	__attribute__((format(printf, 2, 0)));
static const char *format_text(struct arena *arena, const char *format, va_list arguments)
{
	va_list again;
	va_copy(again, arguments);
	int size = vsnprintf(NULL, 0, format, again);
	va_end(again);
	char *text = arena_alloc(arena, (size_t)size + 1);
	vsnprintf(text, (size_t)size + 1, format, arguments);
	return text;
}

void lint_say(struct lint_subject *subject, enum lint_rule_id rule, const char *path,
	      const char *fix, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	lint_add(subject->arena, subject->findings, rule, path,
		 format_text(subject->arena, format, arguments), fix);
	va_end(arguments);
}

static void run_rules(struct lint_subject *subject)
{
	static void (*const checks[])(struct lint_subject *) = {
#define X(identifier, severity, name, check, what, cure) check,
		LINT_RULE_TABLE(X)
#undef X
	};
	const struct pod_spec *pod = &subject->template->spec;
	subject->container = pod->container_count > 0 ? &pod->containers[0] : NULL;
	subject->container_path =
		arena_printf(subject->arena, "%s.template.spec.containers[0]", subject->path);
	for (size_t i = 0; i < LINT_RULE_COUNT; i++)
		if (checks[i] != NULL)
			checks[i](subject);
}

void lint_cluster(const struct ray_cluster *cluster, const struct lint_context *context,
		  struct arena *arena, struct lint_findings *findings)
{
	struct lint_subject subject = {
		.cluster = cluster,
		.context = context,
		.arena = arena,
		.findings = findings,
		.path = "spec.headGroupSpec",
		.name = HEAD_GROUP_NAME,
		.resources = &cluster->head_resources,
		.labels = &cluster->head_labels,
		.start_params = &cluster->head_start_params,
		.template = &cluster->head_template,
	};
	run_rules(&subject);
	for (size_t g = 0; g < cluster->group_count; g++) {
		const struct worker_group *group = &cluster->groups[g];
		subject.path = arena_printf(arena, "spec.workerGroupSpecs[%zu]", g);
		subject.name = group->name;
		subject.group = group;
		subject.resources = &group->resources;
		subject.labels = &group->labels;
		subject.start_params = &group->ray_start_params;
		subject.template = &group->template;
		run_rules(&subject);
	}
}
