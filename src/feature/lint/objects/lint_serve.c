/* Texts of YAML within a RayService and a RayJob that Ray reads: the config of Ray Serve (serveConfigV2) and the runtime
 * environment (runtimeEnvYAML): values that Ray 2.60 refuses (ray/serve/schema.py, ray/runtime_env), and names that it
 * ignores. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/nearest.h"
#include "base/text.h"
#include "codec/text/yaml.h"
#include "feature/lint/core/lint.h"
#include "feature/lint/core/lint_rule.h"
#include "feature/lint/objects/lint_check.h"
#include "feature/lint/objects/lint_found.h"

#define TEXT_BYTES_MAX ((size_t)1 << 20)
#define ELEMENTS_MAX 1000 /* of a list */
#define FINDINGS_MAX 20   /* of one text */

/* The members of the objects under this name. "" is the config. */
static const struct part {
	const char *name, *members;
} parts[] = {
	{ "", "proxy_location|http_options|grpc_options|controller_options|logging_config|"
	      "tracing_config|applications|target_capacity" },
	{ "applications", "name|route_prefix|import_path|runtime_env|host|port|deployments|"
			  "autoscaling_policy|args|logging_config|external_scaler_enabled" },
	{ "deployments",
	  "name|num_replicas|max_ongoing_requests|max_queued_requests|backpressure_config|user_config|"
	  "autoscaling_config|graceful_shutdown_wait_loop_s|graceful_shutdown_timeout_s|"
	  "health_check_period_s|health_check_timeout_s|ray_actor_options|placement_group_bundles|"
	  "placement_group_strategy|placement_group_bundle_label_selector|max_replicas_per_node|"
	  "logging_config|request_router_config|gang_scheduling_config|deployment_actors|"
	  "rolling_update_percentage|max_surge_percent" },
	{ "ray_actor_options", "runtime_env|num_cpus|num_gpus|memory|resources|accelerator_type|"
			       "label_selector|fallback_strategy|object_store_memory" },
	{ "autoscaling_config",
	  "min_replicas|initial_replicas|max_replicas|target_ongoing_requests|metrics_interval_s|"
	  "look_back_period_s|smoothing_factor|upscale_smoothing_factor|downscale_smoothing_factor|"
	  "upscaling_factor|downscaling_factor|downscale_delay_s|downscale_to_zero_delay_s|"
	  "upscale_delay_s|aggregation_function|policy" },
	{ "http_options", "host|port|root_path|request_timeout_s|keep_alive_timeout_s|ssl_keyfile|"
			  "ssl_certfile|ssl_keyfile_password|ssl_ca_certs" },
	{ "runtime_env",
	  "py_modules|py_executable|java_jars|working_dir|conda|pip|uv|container|excludes|env_vars|"
	  "_ray_release|_ray_commit|_inject_current_ray|config|worker_process_setup_hook|_nsight|nsight|"
	  "_rocprof_sys|image_uri" },
};

/* Values that the models of Ray 2.60 refuse (ray/serve/schema.py, ray/serve/config.py). */
static const struct value {
	const char *part, *names; /* of the members */
	enum { ABOVE_ZERO, AT_LEAST_ZERO, ONE_OF } test;
	const char *words;
} values[] = {
	{ "", "proxy_location", ONE_OF, "EveryNode|HeadOnly|Disabled" },
	{ "deployments", "num_replicas", ABOVE_ZERO, "auto" },
	{ "deployments",
	  "max_ongoing_requests|health_check_period_s|health_check_timeout_s|max_replicas_per_node",
	  ABOVE_ZERO, "" },
	{ "deployments", "graceful_shutdown_wait_loop_s|graceful_shutdown_timeout_s", AT_LEAST_ZERO,
	  "" },
	{ "ray_actor_options", "num_cpus|num_gpus|memory", AT_LEAST_ZERO, "" },
	{ "autoscaling_config",
	  "max_replicas|target_ongoing_requests|metrics_interval_s|look_back_period_s|smoothing_factor|"
	  "upscale_smoothing_factor|downscale_smoothing_factor|upscaling_factor|downscaling_factor",
	  ABOVE_ZERO, "" },
	{ "autoscaling_config",
	  "min_replicas|initial_replicas|downscale_delay_s|downscale_to_zero_delay_s|upscale_delay_s",
	  AT_LEAST_ZERO, "" },
};

struct check {
	struct arena *arena;
	struct lint_findings *findings;
	size_t most;         /* findings */
	const char *path;    /* of the text */
	const char *refused; /* who refuses it */
};

static void add(const struct check *check, enum lint_rule_id rule, const char *message)
{
	if (check->findings->list.count < check->most)
		lint_add(check->arena, check->findings, rule, check->path, message, "");
}

static void refuse(const struct check *check, const char *where, const char *why)
{
	add(check, LINT_RULE_FIELD_INVALID,
	    arena_printf(check->arena, "%.120s: %s; %s", where, why, check->refused));
}

/* "import_path" of "importPath". */
static const char *snake_case(const char *name, struct arena *arena)
{
	char *snake = arena_alloc(arena, 2 * strlen(name) + 1), *to = snake;

	for (; *name != '\0'; name++) {
		if (*name >= 'A' && *name <= 'Z' && to > snake)
			*to++ = '_';
		*to++ = *name >= 'A' && *name <= 'Z' ? (char)(*name - 'A' + 'a') : *name;
	}
	*to = '\0';
	return snake;
}

/* The part that has such a member, such as applications; NULL: none. */
static const struct part *place_of(const char *name)
{
	for (size_t i = 1; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (text_is_word(name, parts[i].members))
			return &parts[i];
	return NULL;
}

static void report_unknown(const struct check *check, const char *where, const char *name,
			   const struct part *part)
{
	const char *snake = snake_case(name, check->arena);
	struct nearest nearest = nearest_start(snake);
	const struct part *other = place_of(snake);
	char hint[NEAREST_HINT_SIZE];
	const char *cure = ": correct the name, or remove it";

	for (const char *word = part->members; *word != '\0';
	     word += strcspn(word, "|"), word += *word == '|')
		nearest_offer(&nearest, arena_strndup(check->arena, word, strcspn(word, "|")));
	if (nearest.word)
		cure = nearest_hint(&nearest, hint);
	else if (other)
		cure = arena_printf(check->arena, ": write it into %s", other->name);
	add(check, LINT_RULE_SETTING_WITHOUT_EFFECT,
	    arena_printf(check->arena,
			 "%.120s is not a setting that Ray 2.60 knows, and has no effect%s",
			 lint_path_member(check->arena, where, name), cure));
}

static const char *text_of(const struct cJSON *object, const char *name)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));

	return text ? text : "";
}

static const struct cJSON *number_of(const struct cJSON *object, const char *name)
{
	const struct cJSON *number = cJSON_GetObjectItemCaseSensitive(object, name);

	return cJSON_IsNumber(number) ? number : NULL;
}

/* ---- values ---- */

static void check_uri(const struct check *check, const char *where, const struct cJSON *value)
{
	const char *text = cJSON_GetStringValue(value);

	if (text && !strstr(text, "://") && !strpbrk(text, "${"))
		refuse(check, where,
		       "it must be a URI such as https://HOST/FILE.zip, not a path of your machine");
}

/* "a, b or c" of "a|b|c". */
static const char *choice_of(const char *words, struct arena *arena)
{
	const char *all = arena_strndup(arena, words, strcspn(words, "|"));

	for (words += strlen(all); *words == '|'; words += 1 + strcspn(words + 1, "|"))
		all = arena_printf(arena, "%s%s%.*s", all, strchr(words + 1, '|') ? ", " : " or ",
				   (int)strcspn(words + 1, "|"), words + 1);
	return all;
}

/* Numbers may be in quotes. */
static bool is_number(const struct cJSON *json, double *ret_number)
{
	const char *text = cJSON_GetStringValue(json);
	char *end = NULL;

	*ret_number = text ? strtod(text, &end) : json->valuedouble;
	return text ? *text != '\0' && *end == '\0' : cJSON_IsNumber(json);
}

static const char *problem_of(const struct value *value, const char *name, const struct cJSON *json,
			      struct arena *arena)
{
	const char *text = cJSON_GetStringValue(json);
	double number;

	if (cJSON_IsNull(json) ||
	    (text && (strpbrk(text, "${") || (*text != '\0' && text_is_word(text, value->words)))))
		return NULL;
	if (value->test == ONE_OF)
		return arena_printf(arena, "must be one of %s", choice_of(value->words, arena));
	if (!is_number(json, &number))
		return arena_printf(arena, "must be a %snumber%s%s",
				    strcmp(name, "num_replicas") == 0 ? "whole " : "",
				    *value->words != '\0' ? " or " : "", value->words);
	if (value->test == ABOVE_ZERO && number <= 0)
		return "must be above 0: raise it, or remove it";
	return number < 0 ? "must be at least 0: raise it, or remove it" : NULL;
}

static void check_values(const struct check *check, const char *where, const struct cJSON *object,
			 const struct part *part)
{
	const struct cJSON *one;

	cJSON_ArrayForEach(one, object)
	{
		const char *name = one->string ? one->string : "";

		for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
			const char *problem =
				strcmp(values[i].part, part->name) == 0 &&
						text_is_word(name, values[i].names) ?
					problem_of(&values[i], name, one, check->arena) :
					NULL;

			if (problem)
				refuse(check, *where != '\0' ? where : "the config",
				       arena_printf(check->arena, "%s %s", name, problem));
		}
	}
}

/* Members of which Ray takes one: ray/runtime_env/runtime_env.py. */
static void check_packages(const struct check *check, const char *where, const struct cJSON *object)
{
	static const char *const managers[] = { "pip", "uv", "conda" };
	static const char *const lists[] = { "py_modules", "excludes" };
	const char *first = NULL;

	for (size_t i = 0; i < sizeof(managers) / sizeof(managers[0]); i++) {
		const struct cJSON *one = cJSON_GetObjectItemCaseSensitive(object, managers[i]);

		if (!one || cJSON_IsNull(one))
			continue;
		if (first)
			refuse(check, lint_path_member(check->arena, where, managers[i]),
			       arena_printf(check->arena,
					    "%s and %s exclude each other: remove one of them",
					    first, managers[i]));
		first = managers[i];
	}
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		const struct cJSON *list = cJSON_GetObjectItemCaseSensitive(object, lists[i]);

		if (list && !cJSON_IsArray(list) && !cJSON_IsNull(list))
			refuse(check, lint_path_member(check->arena, where, lists[i]),
			       arena_printf(check->arena,
					    "it must be a list: write %s: [\"%.80s\"]", lists[i],
					    text_of(object, lists[i])));
	}
}

/* Ray takes an archive of another machine only by its name: ray/_common/runtime_env_package.py. */
static void check_archive(const struct check *check, const char *where, const struct cJSON *value)
{
	static const char *const endings[] = {
		".zip", ".jar", ".whl", ".tar.gz", ".tgz", ".tar.xz"
	};
	const char *text = cJSON_GetStringValue(value), *end = text ? strchr(text, '?') : NULL;
	size_t size = text ? (end ? (size_t)(end - text) : strlen(text)) : 0;

	if (!text || !strstr(text, "://") || strncmp(text, "file://", 7) == 0 ||
	    strpbrk(text, "${"))
		return;
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		size_t length = strlen(endings[i]);

		if (size > length && strncmp(text + size - length, endings[i], length) == 0)
			return;
	}
	refuse(check, where,
	       "it must name an archive such as https://HOST/FILE.zip; of GitHub: "
	       "https://github.com/USER/REPOSITORY/archive/refs/heads/BRANCH.zip");
}

static void check_location(const struct check *check, const char *where, const struct cJSON *value,
			   bool remote)
{
	if (remote)
		check_uri(check, where, value);
	check_archive(check, where, value);
}

static void check_environment(const struct check *check, const char *where,
			      const struct cJSON *object, bool remote)
{
	const struct cJSON *variables = cJSON_GetObjectItemCaseSensitive(object, "env_vars");
	const struct cJSON *modules = cJSON_GetObjectItemCaseSensitive(object, "py_modules");
	const struct cJSON *one;

	cJSON_ArrayForEach(one, variables)
	{
		if (!cJSON_IsString(one))
			refuse(check,
			       lint_path_member(check->arena,
						lint_path_member(check->arena, where, "env_vars"),
						one->string ? one->string : ""),
			       "the value of a variable must be a string: put it into quotes");
	}
	check_packages(check, where, object);
	check_location(check, lint_path_member(check->arena, where, "working_dir"),
		       cJSON_GetObjectItemCaseSensitive(object, "working_dir"), remote);
	if (!cJSON_IsArray(modules))
		return;
	cJSON_ArrayForEach(one, modules)
	{
		check_location(check, lint_path_member(check->arena, where, "py_modules"), one,
			       remote);
	}
}

static void check_deployment(const struct check *check, const char *where,
			     const struct cJSON *object)
{
	if (*text_of(object, "name") == '\0')
		refuse(check, where, "name is required: add that of the deployment");
	if (number_of(object, "num_replicas") &&
	    cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(object, "autoscaling_config")))
		refuse(check, where,
		       "num_replicas and autoscaling_config exclude each other: remove one of them");
}

static void check_replicas(const struct check *check, const char *where, const struct cJSON *object)
{
	const struct cJSON *least = number_of(object, "min_replicas");
	const struct cJSON *most = number_of(object, "max_replicas");

	if (least && most && least->valuedouble > most->valuedouble)
		refuse(check, where, "min_replicas is above max_replicas: lower it");
}

static void check_options(const struct check *check, const char *where, const struct cJSON *object)
{
	const struct cJSON *gpus = number_of(object, "num_gpus");

	if (gpus && gpus->valuedouble > 1 && gpus->valuedouble != floor(gpus->valuedouble))
		refuse(check, where, "num_gpus above 1 must be a whole number");
}

static bool is_import_path(const char *text)
{
	const char *end = strrchr(text, ':');

	end = end ? end : strrchr(text, '.');
	return end && end > text && end[1] != '\0' && strchr(text, ':') == strrchr(text, ':') &&
	       !strchr(text, '/');
}

static void check_application(const struct check *check, const char *where,
			      const struct cJSON *list, const struct cJSON *object)
{
	const char *path = text_of(object, "import_path"), *route = text_of(object, "route_prefix");
	const struct cJSON *before = list->child;

	if (*path == '\0')
		refuse(check, where, "import_path is required: add it, as module:application");
	else if (!is_import_path(path) && !strpbrk(path, "${"))
		refuse(check, where,
		       arena_printf(check->arena,
				    "import_path \"%.80s\" must be like module:application", path));
	if (*route != '\0' && *route != '/' && !strpbrk(route, "${"))
		refuse(check, where,
		       arena_printf(check->arena,
				    "route_prefix \"%.80s\" must begin with /: write "
				    "/%.80s",
				    route, route));
	for (size_t i = 0; before != object && i < ELEMENTS_MAX; before = before->next, i++) {
		if (*text_of(object, "name") != '\0' &&
		    strcmp(text_of(object, "name"), text_of(before, "name")) == 0)
			refuse(check, where,
			       "an earlier application has this name: rename one of them");
		if (*route != '\0' && strcmp(route, text_of(before, "route_prefix")) == 0)
			refuse(check, where,
			       "an earlier application has this route_prefix: write another one");
	}
}

/* ---- the walk ---- */

static const struct part *part_of(const char *name)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strcmp(parts[i].name, name) == 0)
			return &parts[i];
	return NULL;
}

static void check_object(const struct check *check, const char *where, const struct cJSON *object,
			 const struct part *part);

static void check_member(const struct check *check, const char *where, const struct cJSON *value,
			 const struct part *part)
{
	const struct cJSON *one;
	size_t i = 0;

	if (!cJSON_IsArray(value)) {
		if (strcmp(part->name, "applications") == 0 && !cJSON_IsNull(value))
			refuse(check, where,
			       "it must be a list of applications: begin each with \"- \"");
		else if (cJSON_IsObject(value))
			check_object(check, where, value, part);
		return;
	}
	cJSON_ArrayForEach(one, value)
	{
		const char *path = arena_printf(check->arena, "%s[%zu]", where, i);

		if (i++ >= ELEMENTS_MAX)
			return;
		if (strcmp(part->name, "applications") == 0 && cJSON_IsObject(one))
			check_application(check, path, value, one);
		if (cJSON_IsObject(one))
			check_object(check, path, one, part);
	}
}

static void check_object(const struct check *check, const char *where, const struct cJSON *object,
			 const struct part *part)
{
	const struct cJSON *member;

	check_values(check, where, object, part);
	if (strcmp(part->name, "deployments") == 0)
		check_deployment(check, where, object);
	else if (strcmp(part->name, "autoscaling_config") == 0)
		check_replicas(check, where, object);
	else if (strcmp(part->name, "ray_actor_options") == 0)
		check_options(check, where, object);
	else if (strcmp(part->name, "runtime_env") == 0)
		check_environment(check, where, object, true);
	cJSON_ArrayForEach(member, object)
	{
		const char *name = member->string ? member->string : "";
		const struct part *own = part_of(name);

		if (!text_is_word(name, part->members))
			report_unknown(check, where, name, part);
		else if (own)
			check_member(check, lint_path_member(check->arena, where, name), member,
				     own);
	}
}

static struct cJSON *parse(const char *text)
{
	static const struct json_limits limits = { .bytes = TEXT_BYTES_MAX,
						   .depth = 100,
						   .elements = 100000 };
	struct cJSON *tree = NULL;
	struct err err;

	if (*text == '\0' || strlen(text) > limits.bytes ||
	    yaml_parse(text, strlen(text), &limits, &tree, &err))
		return NULL;
	return tree;
}

static void check_serve(struct check *check, struct lint_found at)
{
	AUTO(json_done) struct cJSON *tree = parse(lint_found_text(at, check->arena));
	const struct cJSON *list = cJSON_GetObjectItemCaseSensitive(tree, "applications");

	if (!cJSON_IsObject(tree))
		return;
	check->refused = "Ray Serve refuses the config";
	if (!list || (cJSON_IsArray(list) && !list->child))
		add(check, LINT_RULE_SETTING_WITHOUT_EFFECT,
		    "serveConfigV2 has no applications, so nothing is served: add one with import_path");
	check_object(check, "", tree, &parts[0]);
}

static void check_job(struct check *check, struct lint_found at)
{
	AUTO(json_done) struct cJSON *tree = parse(lint_found_text(at, check->arena));
	const struct part *part = part_of("runtime_env");
	const struct cJSON *member;

	if (!cJSON_IsObject(tree))
		return;
	check->refused = "Ray refuses the runtime environment";
	check_environment(check, "", tree, false);
	cJSON_ArrayForEach(member,
			   tree) if (member->string && !text_is_word(member->string, part->members))
		report_unknown(check, "", member->string, part);
}

void lint_serve_check(const char *kind, const struct cJSON *object, struct arena *arena,
		      struct lint_findings *findings)
{
	struct lint_found root = { object, "" };
	bool serves = strcmp(kind, "RayService") == 0, cron = strcmp(kind, "RayCronJob") == 0;
	const char *place = serves ? "spec serveConfigV2" :
			    cron   ? "spec jobTemplate runtimeEnvYAML" :
				     "spec runtimeEnvYAML";
	struct lint_found at = lint_found_follow(root, place, arena);
	struct check check = { arena, findings, findings->list.count + FINDINGS_MAX, at.path, "" };

	if (!cJSON_IsString(at.json))
		return;
	if (serves)
		check_serve(&check, at);
	else
		check_job(&check, at);
}
