#include "feature/lint/core/lint_subject.h"

#include <stdarg.h>
#include <string.h>

struct lint_finding *lint_report_finding(struct lint_subject *subject, enum lint_rule_id rule,
					 const char *path, const char *fix, const char *format, ...)
{
	struct lint_finding *finding =
		lint_add(subject->arena, subject->findings, rule, path, "", fix);
	va_list arguments;
	va_start(arguments, format);
	finding->message = arena_vprintf(subject->arena, format, arguments);
	va_end(arguments);
	return finding;
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
	struct quantity *at =
		arena_array(subject->arena, limits + requests + pod->gpu_shares.count, sizeof(*at));
	for (size_t i = 0; i < limits; i++)
		if (lint_device(subject, &container->limits.at[i]))
			at[count++] = container->limits.at[i];
	for (size_t i = 0; i < requests; i++)
		if (lint_device(subject, &container->requests.at[i]) &&
		    !lint_quantity(&container->limits, container->requests.at[i].name))
			at[count++] = container->requests.at[i];
	for (size_t i = 0; i < pod->gpu_shares.count; i++)
		at[count++] = pod->gpu_shares.at[i];
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

bool lint_is_nvidia(const struct device_row *row)
{
	static const char *const vendors[] = { "NVIDIA", "HAMi", "Alibaba gpushare", "Volcano" };
	for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++)
		if (row && strcmp(row->vendor, vendors[i]) == 0)
			return true;
	return false;
}
