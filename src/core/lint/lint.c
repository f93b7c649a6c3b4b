#include "core/lint/lint.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/lint/lint_subject.h"

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

/* In quotes, as JSON has them. */
static const char *quoted(struct arena *arena, const char *name)
{
	char *text = arena_alloc(arena, 2 * strlen(name) + 1), *to = text;
	for (; *name != '\0'; name++) {
		if (*name == '"' || *name == '\\')
			*to++ = '\\';
		*to++ = *name;
	}
	*to = '\0';
	return text;
}

const char *lint_path_member(struct arena *arena, const char *path, const char *name)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	if (name[0] == '\0' || name[strspn(name, plain)] != '\0')
		return arena_printf(arena, "%s[\"%s\"]", path, quoted(arena, name));
	return arena_printf(arena, "%s%s%s", path, path[0] != '\0' ? "." : "", name);
}

const char *lint_member_name(const char *path)
{
	const char *found = path, *dot = strrchr(path, '.');
	for (const char *at = path; (at = strstr(at, "[\"")) != NULL; at++)
		found = at;
	return found > path || !dot ? found : dot + 1;
}

const char *lint_shown_path(const char *path)
{
	return strncmp(path, "spec.", 5) == 0 ? path + 5 : path;
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

void lint_say_as(struct lint_subject *subject, enum lint_severity severity, enum lint_rule_id rule,
		 const char *path, const char *fix, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	lint_add(subject->arena, subject->findings, rule, path,
		 format_text(subject->arena, format, arguments), fix);
	va_end(arguments);
	subject->findings->list.at[subject->findings->list.count - 1].severity = severity;
}

size_t lint_amount_count(const struct quantities *quantities)
{
	return quantities->count < LINT_AMOUNTS_MAX ? quantities->count : LINT_AMOUNTS_MAX;
}

const struct quantity *lint_quantity(const struct quantities *quantities, const char *name)
{
	for (size_t i = 0; i < lint_amount_count(quantities); i++)
		if (strcmp(quantities->at[i].name, name) == 0)
			return &quantities->at[i];
	return NULL;
}

const struct device_row *lint_device(const struct lint_subject *subject,
				     const struct quantity *quantity)
{
	const struct device_row *row;
	if (!quantity->valid || quantity->amount == 0)
		return NULL;
	row = device_find(subject->context->devices, quantity->name);
	return row && row->share != DEVICE_QUALIFIER ? row : NULL;
}

struct quantities lint_devices(const struct lint_subject *subject, const struct pod_spec *pod)
{
	const struct container *container = pod->container_count > 0 ? &pod->containers[0] : NULL;
	if (!container)
		return (struct quantities){ NULL, 0 };
	size_t limits = lint_amount_count(&container->limits), count = 0;
	size_t requests = lint_amount_count(&container->requests);
	struct quantity *at = arena_array(subject->arena, limits + requests, sizeof(*at));
	for (size_t i = 0; i < limits; i++)
		if (lint_device(subject, &container->limits.at[i]))
			at[count++] = container->limits.at[i];
	for (size_t i = 0; i < requests; i++)
		if (lint_device(subject, &container->requests.at[i]) &&
		    !lint_quantity(&container->limits, container->requests.at[i].name))
			at[count++] = container->requests.at[i];
	return (struct quantities){ at, count };
}

long long lint_whole(int64_t amount)
{
	int64_t whole = amount / RESOURCE_UNIT + (amount % RESOURCE_UNIT != 0 ? 1 : 0);
	return whole > 0 ? whole : 1;
}

/* Every line of a text, two columns further right. */
static const char *indented(struct arena *arena, const char *text)
{
	size_t lines = 1;
	for (const char *at = text; *at != '\0'; at++)
		lines += *at == '\n' ? 1 : 0;
	char *result = arena_alloc(arena, strlen(text) + 2 * lines + 1), *to = result;
	for (bool starts = true; *text != '\0'; text++) {
		if (starts) {
			*to++ = ' ';
			*to++ = ' ';
		}
		starts = *text == '\n';
		*to++ = *text;
	}
	*to = '\0';
	return result;
}

const char *lint_place(struct lint_subject *subject, const char *path, const char *name,
		       bool is_there, const char **fix)
{
	if (is_there)
		return lint_path_member(subject->arena, path, name);
	*fix = arena_printf(subject->arena, "%s:\n%s", name, indented(subject->arena, *fix));
	return path;
}

static void run_rules(struct lint_subject *subject)
{
	static void (*const checks[])(struct lint_subject *) = {
#define X(identifier, severity, name, check, what, cure) check,
		LINT_RULE_TABLE(X)
#undef X
	};
	subject->pod = &subject->template->spec;
	subject->container = subject->pod->container_count > 0 ? &subject->pod->containers[0] :
								 NULL;
	subject->container_path =
		arena_printf(subject->arena, "%s.template.spec.containers[0]", subject->path);
	for (size_t i = 0; i < LINT_RULE_COUNT; i++)
		if (checks[i])
			checks[i](subject);
}

bool lint_is_nvidia(const struct device_row *row)
{
	static const char *const vendors[] = { "NVIDIA", "HAMi", "Alibaba gpushare", "Volcano" };
	for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++)
		if (row && strcmp(row->vendor, vendors[i]) == 0)
			return true;
	return false;
}

static bool has_nvidia(const struct lint_subject *subject, const struct pod_spec *pod)
{
	struct quantities devices = lint_devices(subject, pod);
	for (size_t i = 0; i < devices.count; i++)
		if (lint_is_nvidia(lint_device(subject, &devices.at[i])))
			return true;
	return false;
}

static void find_nvidia(struct lint_subject *subject)
{
	const struct ray_cluster *cluster = subject->cluster;
	bool has = has_nvidia(subject, &cluster->head_template.spec);
	for (size_t g = 0; g < cluster->group_count && !has; g++)
		has = has_nvidia(subject, &cluster->groups[g].template.spec);
	subject->cluster_has_nvidia = has;
}

static void lint_head(struct lint_subject *subject)
{
	const struct ray_cluster *cluster = subject->cluster;
	subject->path = "spec.headGroupSpec";
	subject->title = "the head";
	subject->resources = &cluster->head_resources;
	subject->labels = &cluster->head_labels;
	subject->start_params = &cluster->head_start_params;
	subject->template = &cluster->head_template;
	capacity_of_head(cluster, subject->context->settings, subject->context->devices,
			 subject->arena, &subject->capacity);
	run_rules(subject);
}

static void lint_group(struct lint_subject *subject, size_t index)
{
	const struct worker_group *group = &subject->cluster->groups[index];
	subject->path = arena_printf(subject->arena, "spec.workerGroupSpecs[%zu]", index);
	subject->title = arena_printf(subject->arena, "group %s", group->name);
	subject->group = group;
	subject->resources = &group->resources;
	subject->labels = &group->labels;
	subject->start_params = &group->ray_start_params;
	subject->template = &group->template;
	capacity_of_group(subject->cluster, index, subject->context->settings,
			  subject->context->devices, subject->arena, &subject->capacity);
	run_rules(subject);
}

void lint_cluster(const struct ray_cluster *cluster, const struct lint_context *context,
		  struct arena *arena, struct lint_findings *findings)
{
	struct lint_subject subject = {
		.cluster = cluster,
		.context = context,
		.arena = arena,
		.findings = findings,
	};
	find_nvidia(&subject);
	lint_head(&subject);
	for (size_t g = 0; g < cluster->group_count; g++)
		lint_group(&subject, g);
}
