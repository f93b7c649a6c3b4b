#include <string.h>

#include "core/capacity/start_params.h"
#include "core/lint/lint_subject.h"

#define MEMORY_SUGGESTED (INT64_C(8) << 30)

static const struct {
	const char *param, *resource, *limit;
} numbers[] = {
	{ "num-cpus", "CPU", "cpu" },
	{ "num-gpus", "GPU", NULL },
	{ "memory", "memory", "memory" },
};

#define NUMBER_COUNT (sizeof(numbers) / sizeof(numbers[0]))

/* The container's limit as a value for `ray start`; without one, a value to suggest. */
static long long container_has(const struct lint_subject *subject, size_t number)
{
	const struct quantity *quantity = NULL;
	if (subject->container != NULL && numbers[number].limit != NULL)
		quantity = lint_quantity(&subject->container->limits, numbers[number].limit);
	if (quantity != NULL && quantity->valid && quantity->amount > 0)
		return lint_whole(quantity->amount);
	return strcmp(numbers[number].param, "memory") == 0 ? MEMORY_SUGGESTED : 1;
}

void lint_ray_start_param_invalid(struct lint_subject *subject)
{
	const char *path = lint_path_member(subject->arena, subject->path, "rayStartParams");
	const char *custom = labels_value(subject->start_params, "resources");
	struct resources ignored;
	int64_t amount;
	for (size_t i = 0; i < NUMBER_COUNT; i++) {
		const char *text = labels_value(subject->start_params, numbers[i].param);
		if (text == NULL || start_params_number(text, &amount))
			continue;
		lint_say(subject, LINT_RULE_RAY_START_PARAM_INVALID,
			 lint_path_member(subject->arena, path, numbers[i].param),
			 arena_printf(subject->arena, "%s: \"%lld\"", numbers[i].param,
				      container_has(subject, i)),
			 "%s \"%.64s\" is not a whole number%s; `ray start` does not "
			 "take it, and %s is not scaled",
			 numbers[i].param, text,
			 strcmp(numbers[i].param, "memory") == 0 ? " of bytes" : "",
			 subject->title);
	}
	if (custom != NULL && !start_params_resources(custom, subject->arena, &ignored))
		lint_say(subject, LINT_RULE_RAY_START_PARAM_INVALID,
			 lint_path_member(subject->arena, path, "resources"),
			 "resources: \"'{\\\"Custom\\\": 1}'\"",
			 "resources \"%.64s\" is not an object of numbers within quotes "
			 "of its own; `ray start` does not take it, and %s is not scaled",
			 custom, subject->title);
}

void lint_ray_start_param_and_resources(struct lint_subject *subject)
{
	static const char *const params[] = { "num-cpus", "num-gpus", "memory", "resources" };
	if (subject->resources->count == 0)
		return;
	for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++) {
		const char *text = labels_value(subject->start_params, params[i]);
		if (text == NULL || text[0] == '\0')
			continue;
		lint_say(subject, LINT_RULE_RAY_START_PARAM_AND_RESOURCES,
			 arena_printf(subject->arena, "%s.rayStartParams.%s", subject->path,
				      params[i]),
			 "rayStartParams: {}",
			 "%s has both resources and %s of rayStartParams; KubeRay refuses the "
			 "RayCluster: keep what resources says",
			 subject->title, params[i]);
		return;
	}
}
