#include <string.h>

#include "base/nearest.h"
#include "base/text.h"
#include "core/capacity/start_params.h"
#include "core/model/ray_state.h"
#include "feature/lint/core/lint_start_option.h"
#include "feature/lint/core/lint_subject.h"

#define MEMORY_SUGGESTED (INT64_C(8) << 30)

static const struct {
	const char *param, *resource, *limit;
} numbers[] = {
	{ "num-cpus", "CPU", "cpu" },
	{ "num-gpus", "GPU", NULL },
	{ "memory", "memory", "memory" },
};

#define NUMBER_COUNT (sizeof(numbers) / sizeof(numbers[0]))

/* The value for `ray start` that the text has in another form, as "2.0"; else the container's limit; without one, a
 * value to suggest. */
static long long suggested(const struct lint_subject *subject, size_t number, const char *text)
{
	const struct quantity *quantity = NULL;
	size_t whole = strspn(text, "0123456789");
	int64_t amount;

	if (text[whole] == '.' && text[whole + 1 + strspn(text + whole + 1, "0")] == '\0' &&
	    start_params_number(arena_strndup(subject->arena, text, whole), &amount))
		return lint_whole(amount);
	if (subject->container && numbers[number].limit)
		quantity = lint_quantity(&subject->container->limits, numbers[number].limit);
	if (quantity && quantity->valid && quantity->amount > 0)
		return lint_whole(quantity->amount);
	return strcmp(numbers[number].param, "memory") == 0 ? MEMORY_SUGGESTED : 1;
}

/* The reading by `ray start` of one custom resource. own: of the field resources of the group. */
static void check_custom(struct lint_subject *subject, const struct resource *item, bool own,
			 const char *path)
{
	struct start_params_entry entry = start_params_entry(item, subject->arena);
	const char *name = resource_name_text(subject->arena, item->name);
	long long whole = lint_whole(item->amount);

	if (entry.option)
		lint_report_finding(
			subject, LINT_RULE_RAY_START_PARAM_INVALID, path,
			arena_printf(subject->arena, "%s: \"%lld\"", entry.option, whole),
			"%s among custom resources has no effect, as `ray start` ignores it there; "
			"write %s into rayStartParams of %s",
			name, entry.option, subject->title);
	else if (entry.problem)
		lint_report_finding(
			subject, LINT_RULE_RAY_START_PARAM_INVALID, path,
			strcmp(item->name, RAY_HEAD_RESOURCE) == 0 ? "" :
			own ? arena_printf(subject->arena, "%s: \"%lld\"", name, whole) :
			      arena_printf(subject->arena, "resources: \"'{\\\"%s\\\": %lld}'\"",
					   name, whole),
			"%s %s%s; `ray start` does not take it, and %s is not scaled", name,
			entry.problem,
			strcmp(item->name, RAY_HEAD_RESOURCE) == 0 ? ": remove it" : "",
			subject->title);
}

static bool is_option_in_resources(const struct lint_subject *subject, const char *name)
{
	const struct device_row *row = device_find(subject->context->devices, name);

	return text_equal_ignoring_case(name, "cpu") || text_equal_ignoring_case(name, "gpu") ||
	       text_equal_ignoring_case(name, "memory") ||
	       (row && strcmp(row->ray_resource, "GPU") == 0);
}

static void check_own_resources(struct lint_subject *subject)
{
	const char *path = lint_path_member(subject->arena, subject->path, "resources");

	for (size_t i = 0; i < subject->resources->count && i < LINT_AMOUNTS_MAX; i++) {
		const struct quantity *own = &subject->resources->at[i];

		if (own->valid && !is_option_in_resources(subject, own->name))
			check_custom(subject, &(struct resource){ own->name, own->amount }, true,
				     lint_path_member(subject->arena, path, own->name));
	}
}

/* The line with the user's own resources where only quotes are wrong. */
static const char *quoted_resources(const struct lint_subject *subject, const char *text)
{
	static const char example[] = "resources: \"'{\\\"Custom\\\": 1}'\"";
	char *plain = arena_strdup(subject->arena, text), *line, *to;
	struct resources items;

	for (char *at = plain; *at != '\0'; at++)
		*at = *at == '\'' ? '"' : *at;
	if (*plain != '{' || strchr(plain, '\\') ||
	    !start_params_resources(arena_printf(subject->arena, "'%s'", plain), subject->arena,
				    &items))
		return example;
	to = line = arena_alloc(subject->arena, 2 * strlen(plain) + 1);
	for (const char *at = plain; *at != '\0'; at++) {
		if (*at == '"')
			*to++ = '\\';
		*to++ = *at;
	}
	*to = '\0';
	return arena_printf(subject->arena, "resources: \"'%s'\"", line);
}

static void check_resources(struct lint_subject *subject, const char *path)
{
	const char *custom = labels_value(subject->start_params, "resources");
	struct resources items;

	if (!custom)
		return;
	path = lint_path_member(subject->arena, path, "resources");
	if (!start_params_resources(custom, subject->arena, &items)) {
		lint_report_finding(
			subject, LINT_RULE_RAY_START_PARAM_INVALID, path,
			quoted_resources(subject, custom),
			"resources \"%.64s\" is not an object of numbers within quotes "
			"of its own; `ray start` does not take it, and %s is not scaled",
			custom, subject->title);
		return;
	}
	for (size_t i = 0; i < items.count && i < LINT_AMOUNTS_MAX; i++)
		check_custom(subject, &items.at[i], false, path);
}

/* OBJECT_STORE_MINIMUM_MEMORY_BYTES */
#define STORE_LEAST (INT64_C(75) << 20)

static const char *const head_only[] = { "head", "port", "redis-shard-ports", "include-dashboard",
					 "system-config" };
#define HEAD_ONLY_COUNT (sizeof(head_only) / sizeof(head_only[0]))

/* `ray start` compares only the size of the object store with the memory of its container (services.py,
 * determine_plasma_store_config). */
static void check_memory(struct lint_subject *subject, const char *path)
{
	const char *store = labels_value(subject->start_params, "object-store-memory");
	const char *memory = labels_value(subject->start_params, "memory");
	const struct quantity *limit =
		subject->container ? lint_quantity(&subject->container->limits, "memory") : NULL;
	int64_t amount;

	if (!limit || !limit->valid)
		return;
	if (store && !labels_value(subject->start_params, "plasma-directory") &&
	    start_params_number(store, &amount) && amount > limit->amount)
		lint_start_option_report(
			subject, path, "object-store-memory",
			arena_printf(subject->arena,
				     "%.40s is above the memory limit of the container, "
				     "%.40s: lower it, or remove it",
				     store, limit->text));
	if (memory && start_params_number(memory, &amount) && amount > limit->amount)
		lint_report_finding(
			subject, LINT_RULE_RAY_START_PARAM_INVALID,
			lint_path_member(subject->arena, path, "memory"),
			arena_printf(subject->arena, "memory: \"%lld\"", lint_whole(limit->amount)),
			"memory %.40s is above the memory limit of the container, %.40s, "
			"so Ray starts more work in %s than fits, and the kernel ends it; "
			"lower it",
			memory, limit->text, subject->title)
			->severity = LINT_WARNING;
}

static void check_options(struct lint_subject *subject, const char *path)
{
	const char *directory = labels_value(subject->start_params, "temp-dir");
	const char *store = labels_value(subject->start_params, "object-store-memory");
	int64_t bytes;

	lint_start_options_check(subject, path);
	check_memory(subject, path);
	if (store && (store[strspn(store, "0123456789")] != '\0' ||
		      !start_params_number(store, &bytes) || bytes < STORE_LEAST * RESOURCE_UNIT))
		lint_start_option_report(
			subject, path, "object-store-memory",
			arena_printf(subject->arena,
				     "\"%.40s\" must be bytes, %lld or more, as 2147483648", store,
				     (long long)STORE_LEAST));
	if (directory && *directory != '/')
		lint_start_option_report(subject, path, "temp-dir", "must be an absolute path");
	for (size_t i = 0; i < (subject->group ? HEAD_ONLY_COUNT : 0); i++)
		if (labels_value(subject->start_params, head_only[i]))
			lint_start_option_report(
				subject, path, head_only[i],
				"is of the head alone: write it into headGroupSpec, or remove it");
	if (subject->group && labels_value(subject->start_params, "address"))
		lint_report_finding(
			subject, LINT_RULE_RAY_START_PARAM_INVALID,
			lint_path_member(subject->arena, path, "address"), "",
			"address replaces the address of the head that KubeRay writes, so "
			"workers of %s join another Ray cluster or none: remove it",
			subject->title);
}

void lint_ray_start_param_invalid(struct lint_subject *subject)
{
	const char *path = lint_path_member(subject->arena, subject->path, "rayStartParams");
	int64_t amount;

	for (size_t i = 0; i < NUMBER_COUNT; i++) {
		const char *text = labels_value(subject->start_params, numbers[i].param);
		if (!text || start_params_number(text, &amount))
			continue;
		lint_report_finding(subject, LINT_RULE_RAY_START_PARAM_INVALID,
				    lint_path_member(subject->arena, path, numbers[i].param),
				    arena_printf(subject->arena, "%s: \"%lld\"", numbers[i].param,
						 suggested(subject, i, text)),
				    "%s \"%.64s\" is not a whole number%s; `ray start` does not "
				    "take it, and %s is not scaled",
				    numbers[i].param, text,
				    strcmp(numbers[i].param, "memory") == 0 ? " of bytes" : "",
				    subject->title);
	}
	check_options(subject, path);
	check_resources(subject, path);
	check_own_resources(subject);
}

/* Options of `ray start` of Ray 2.60. */
static const char *const options[] = { "address",
				       "autoscaling-config",
				       "block",
				       "cgroup-path",
				       "dashboard-agent-grpc-port",
				       "dashboard-agent-listen-port",
				       "dashboard-host",
				       "dashboard-port",
				       "disable-usage-stats",
				       "enable-object-reconstruction",
				       "enable-resource-isolation",
				       "head",
				       "include-dashboard",
				       "include-log-monitor",
				       "labels",
				       "labels-file",
				       "log-color",
				       "log-style",
				       "max-worker-port",
				       "memory",
				       "metrics-export-port",
				       "min-worker-port",
				       "no-monitor",
				       "no-redirect-output",
				       "node-ip-address",
				       "node-manager-port",
				       "node-name",
				       "num-cpus",
				       "num-gpus",
				       "object-manager-port",
				       "object-spilling-directory",
				       "object-store-memory",
				       "plasma-directory",
				       "port",
				       "proxy-server-url",
				       "ray-client-server-port",
				       "ray-debugger-external",
				       "redis-password",
				       "redis-shard-ports",
				       "redis-username",
				       "resources",
				       "runtime-env-agent-port",
				       "system-config",
				       "system-reserved-cpu",
				       "system-reserved-memory",
				       "temp-dir",
				       "tracing-startup-hook",
				       "verbose",
				       "worker-port-list" };

/* The resource of Ray that a user most likely declares by this name; NULL: none. */
static const char *ray_resource_of(const struct lint_subject *subject, const char *name)
{
	static const char *const cpus[] = { "cpu", "cpus" }, *const gpus[] = { "gpu", "gpus" };
	const struct device_row *row = device_find(subject->context->devices, name);
	for (size_t i = 0; i < 2; i++) {
		if (text_equal_ignoring_case(name, cpus[i]))
			return "CPU";
		if (text_equal_ignoring_case(name, gpus[i]))
			return "GPU";
	}
	return row && row->ray_resource[0] != '\0' ? row->ray_resource : NULL;
}

/* The line that declares an amount to Ray. */
static const char *declaration(struct arena *arena, const char *resource, const char *amount)
{
	if (strcmp(resource, "CPU") == 0 || strcmp(resource, "GPU") == 0)
		return arena_printf(arena, "num-%s: \"%.20s\"",
				    strcmp(resource, "CPU") == 0 ? "cpus" : "gpus", amount);
	return arena_printf(arena, "resources: \"'{\\\"%s\\\": %.20s}'\"", resource, amount);
}

static void check_option(struct lint_subject *subject, const struct label *param, const char *path)
{
	const char *resource;
	struct nearest nearest = nearest_start(param->key);
	char hint[NEAREST_HINT_SIZE];
	bool misspelt;
	if (text_is_among(param->key, options, sizeof(options) / sizeof(options[0])))
		return;
	resource = ray_resource_of(subject, param->key);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		nearest_offer(&nearest, options[i]);
	misspelt = nearest.word && (nearest.distance <= 1 || param->key[0] == '-');
	if (resource)
		lint_report_finding(
			subject, LINT_RULE_RAY_START_PARAM_UNKNOWN, path,
			declaration(subject->arena, resource, param->value),
			"%.64s is not a parameter of `ray start`, which fails; declare %s of %s "
			"as below",
			param->key, resource, subject->title)
			->severity = LINT_ERROR;
	else
		lint_report_finding(
			subject, LINT_RULE_RAY_START_PARAM_UNKNOWN, path, "",
			"%.64s is not a parameter of `ray start` of Ray 2.60, which fails on "
			"unknown ones%s",
			param->key,
			nearest.word ? nearest_hint(&nearest, hint) :
				       "; correct the name, or remove the line")
			->severity = misspelt ? LINT_ERROR : LINT_WARNING;
}

void lint_ray_start_param_unknown(struct lint_subject *subject)
{
	const char *path = lint_path_member(subject->arena, subject->path, "rayStartParams");
	for (size_t i = 0; i < subject->start_params->count && i < LINT_AMOUNTS_MAX; i++) {
		const struct label *param = &subject->start_params->at[i];
		check_option(subject, param, lint_path_member(subject->arena, path, param->key));
	}
}

void lint_ray_start_param_and_resources(struct lint_subject *subject)
{
	static const char *const params[] = { "num-cpus", "num-gpus", "memory", "resources" };
	if (subject->resources->count == 0)
		return;
	for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++) {
		const char *text = labels_value(subject->start_params, params[i]);
		if (!text || text[0] == '\0')
			continue;
		lint_report_finding(
			subject, LINT_RULE_RAY_START_PARAM_AND_RESOURCES,
			arena_printf(subject->arena, "%s.rayStartParams.%s", subject->path,
				     params[i]),
			"rayStartParams: {}",
			"%s has both resources and %s of rayStartParams; KubeRay refuses the "
			"RayCluster: keep what resources says",
			subject->title, params[i]);
		return;
	}
}
