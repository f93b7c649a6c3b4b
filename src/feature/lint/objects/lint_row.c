#include "feature/lint/objects/lint_row.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "codec/text/duration.h"
#include "codec/text/yaml.h"
#include "core/model/kubernetes.h"
#include "feature/lint/objects/lint_found.h"

/* A text within an object; a longer one counts as YAML. */
#define TEXT_BYTES_MAX ((size_t)1 << 20)
#define TEXT_ELEMENTS_MAX 100000
#define LABEL_BYTES_MAX 63

/* A fact holds if a row of it does. The last rows read the facts before them. */
static const struct {
	unsigned fact;
	struct lint_row row;
} facts[] = {
	{ AUTOSCALED, { 0, 0, SPEC, "enableInTreeAutoscaling", IS, "true", "", "" } },
	{ VERSION, { 0, 0, SPEC, "autoscalerOptions version", IS_GIVEN, "", "", "" } },
	{ V2, { 0, 0, SPEC, "autoscalerOptions version", IS, "v2", "", "" } },
	{ V2_BY_ENV, { 0, 0, HEAD, LINT_ENV, SETS, "RAY_enable_autoscaler_v2=1|true", "", "" } },
	{ FT_OPTIONS, { 0, 0, SPEC, "gcsFaultToleranceOptions", IS_GIVEN, "", "", "" } },
	{ FT, { 0, 0, SPEC, "gcsFaultToleranceOptions", IS_GIVEN, "", "", "" } },
	{ FT,
	  { 0, 0, OBJECT, "metadata annotations ray.io/ft-enabled", IS, "true|True|TRUE", "",
	    "" } },
	{ ROCKSDB, { 0, 0, SPEC, "gcsFaultToleranceOptions backend", IS, "rocksdb", "", "" } },
	{ TOKEN, { 0, 0, SPEC, "authOptions mode", IS, "token", "", "" } },
	{ K8S_TOKEN, { 0, 0, SPEC, "authOptions enableK8sTokenAuth", IS, "true", "", "" } },
	{ TLS, { 0, 0, SPEC, "tlsOptions enabled", IS, "true", "", "" } },
	{ NO_RAY_VERSION, { 0, 0, SPEC, "rayVersion", IS_MISSING, "", "", "" } },
	{ EGRESS, { 0, 0, SPEC, "networkPolicy mode", IS, "DenyAllEgress", "", "" } },
	{ INGRESS, { 0, 0, SPEC, "networkPolicy mode", IS, "DenyAllIngress", "", "" } },
	{ SHUTS_DOWN, { 0, 0, JOB, "shutdownAfterJobFinishes", IS, "true", "", "" } },
	{ SELECTS, { 0, 0, JOB, "clusterSelector", IS_GIVEN, "", "", "" } },
	{ SIDECAR, { 0, 0, JOB, "submissionMode", IS, "SidecarMode", "", "" } },
	{ SUBMITS, { 0, 0, JOB, "submitterPodTemplate", IS_GIVEN, "", "", "" } },
	{ HTTP, { 0, 0, JOB, "submissionMode", IS, "HTTPMode", "", "" } },
	{ PARKED,
	  { 0, 0, SPEC, "autoscalerOptions command 0", IS, "timeout|sleep|/bin/sleep", "", "" } },
	{ INTERACTIVE, { 0, 0, JOB, "submissionMode", IS, "InteractiveMode", "", "" } },
	{ HAS_RULES, { 0, 0, JOB, "deletionStrategy deletionRules 0", IS_GIVEN, "", "", "" } },
	{ HAS_CLUSTER, { 0, 0, JOB, "rayClusterSpec", IS_GIVEN, "", "", "" } },
	{ CLAIMED,
	  { 0, 0, SPEC, "gcsFaultToleranceOptions storage claimName", IS_NOT, "", "", "" } },
	{ COLLECTS, { 0, 0, SPEC, "historyServerOptions collectorOptions", IS_GIVEN, "", "", "" } },
	{ POLICY, { 0, 0, SPEC, "networkPolicy", IS_GIVEN, "", "", "" } },
	{ OWN_COMMAND,
	  { 0, 0, OBJECT, "metadata annotations ray.io/overwrite-container-cmd", IS, "true", "",
	    "" } },
	{ INCREMENTAL,
	  { 0, 0, SERVICE, "upgradeStrategy type", IS, "NewClusterWithIncrementalUpgrade", "",
	    "" } },
	{ AUTOSCALED,
	  { INCREMENTAL, 0, SERVICE, "rayClusterConfig enableInTreeAutoscaling", IS, "true", "",
	    "" } },
};

/* ---- values ---- */

/* One object that is checked. */
struct check {
	const char *kind;
	const struct cJSON *object;   /* with metadata and spec */
	const struct lint_rows *rows; /* NULL: only facts are found */
	struct arena *arena;
	struct lint_findings *findings;
	unsigned facts;
};

/* The variable of a list like env; *path becomes its path. */
static bool sets(const struct check *check, struct lint_found *list, const char *variable)
{
	size_t size = strcspn(variable, "="), index = 0;
	const struct cJSON *one;

	cJSON_ArrayForEach(one, list->json)
	{
		const struct cJSON *name = cJSON_GetObjectItemCaseSensitive(one, "name");
		const struct cJSON *value = cJSON_GetObjectItemCaseSensitive(one, "value");

		if (cJSON_IsString(name) && strlen(name->valuestring) == size &&
		    memcmp(name->valuestring, variable, size) == 0 &&
		    (variable[size] == '\0' ||
		     text_is_word(lint_found_text((struct lint_found){ value, "" }, check->arena),
				  variable + size + 1))) {
			list->path = arena_printf(check->arena, "%s[%zu]", list->path, index);
			return true;
		}
		index++;
	}
	return false;
}

/* "NAME", or "NAME OTHER=WORD|WORD": only if the list has the other one. */
static bool lacks(const struct check *check, struct lint_found list, const char *words)
{
	const char *other = strchr(words, ' ');
	size_t size = other ? (size_t)(other - words) : strlen(words);

	return (!other || sets(check, &list, other + 1)) &&
	       !sets(check, &list, arena_strndup(check->arena, words, size));
}

enum text { TEXT_IS_NO_YAML, TEXT_IS_MAP, TEXT_IS_OTHER };

static enum text kind_of(const char *text)
{
	static const struct json_limits limits = { .bytes = TEXT_BYTES_MAX,
						   .depth = 100,
						   .elements = TEXT_ELEMENTS_MAX };
	struct cJSON *tree = NULL;
	enum text kind;
	struct err err;

	if (*text == '\0' || strlen(text) > limits.bytes)
		return TEXT_IS_MAP;
	if (yaml_parse(text, strlen(text), &limits, &tree, &err))
		return TEXT_IS_NO_YAML;
	kind = cJSON_IsObject(tree) || cJSON_IsNull(tree) ? TEXT_IS_MAP : TEXT_IS_OTHER;
	json_free(tree);
	return kind;
}

/* The names without "/" that Go's time.LoadLocation knows and people write. */
static bool is_zone(const char *text)
{
	static const char *const words[] = { "UTC",     "Local",   "GMT",      "EST",   "MST",
					     "HST",     "CET",     "EET",      "WET",   "MET",
					     "EST5EDT", "CST6CDT", "PRC",      "Japan", "PST8PDT",
					     "MST7MDT", "ROK",     "Singapore" };

	return strchr(text, '/') || text_is_among(text, words, sizeof(words) / sizeof(words[0]));
}

/* As KubeRay's validateInitializingTimeout: Go has no days. */
static bool is_timeout(const char *text)
{
	const char *problem;
	int64_t ms;

	if (text[strspn(text, "0123456789")] == '\0')
		return strtol(text, NULL, 10) > 0;
	return !strchr(text, 'd') && duration_parse(text, &ms, &problem) == 0 && ms > 0;
}

static bool is_label(const char *text)
{
	size_t size = strlen(text);

	return size <= LABEL_BYTES_MAX &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == size && *text != '-' &&
	       text[size - 1] != '-';
}

static bool holds(const struct check *check, const struct lint_row *row, struct lint_found *at)
{
	const char *text = lint_found_text(*at, check->arena);
	double number = cJSON_IsNumber(at->json) ? at->json->valuedouble : 0;

	switch (row->test) {
	case IS_GIVEN:
		return lint_found_is_given(*at);
	case IS_MISSING:
		return !lint_found_is_given(*at) || (cJSON_IsString(at->json) && *text == '\0');
	case IS:
		return lint_found_is_given(*at) && text_is_word(text, row->value);
	case IS_NOT:
		return lint_found_is_given(*at) && !text_is_word(text, row->value);
	case IS_NEGATIVE:
		return number < 0;
	case IS_POSITIVE:
		return number > 0;
	case IS_NOT_POSITIVE:
		return cJSON_IsNumber(at->json) && number <= 0;
	case IS_ABOVE:
		return number > strtod(row->value, NULL);
	case IS_PARTED:
		return number > 1 && number != floor(number);
	case SETS_ANY:
	case SETS:
		return sets(check, at, row->value);
	case CONTAINS:
		return strstr(text, row->value);
	case IS_NO_YAML:
		return cJSON_IsString(at->json) && kind_of(text) == TEXT_IS_NO_YAML;
	case IS_NO_MAP:
		return cJSON_IsString(at->json) && kind_of(text) == TEXT_IS_OTHER;
	case LACKS:
		return lacks(check, *at, row->value);
	case IS_NO_TIMEOUT:
		return *text != '\0' && !is_timeout(text);
	case IS_NO_LABEL:
		return *text != '\0' && !is_label(text);
	case IS_NO_ROOTED:
		return *text != '\0' && !strchr("/$", *text);
	case IS_NO_ZONE:
		return cJSON_IsString(at->json) && *text != '\0' && !is_zone(text);
	}
	return false;
}

/* ---- rows ---- */

static bool is_below(const char *version, long major, long minor)
{
	char *end;
	long first = strtol(version, &end, 10);
	long second = *end == '.' ? strtol(end + 1, NULL, 10) : 0;

	return first < major || (first == major && second < minor);
}

/* The version of the head's image "rayproject/ray:2.60.0-py312"; "": it names none. */
static const char *version_of_image(const struct check *check)
{
	struct lint_found image = lint_found_follow(
		(struct lint_found){ check->object, "" },
		"spec headGroupSpec template spec containers 0 image", check->arena);
	const char *tag = strstr(lint_found_text(image, check->arena), "/ray:");

	return tag ? arena_strndup(check->arena, tag + 5, strspn(tag + 5, "0123456789.")) : "";
}

/* One version is suggested everywhere: that of the head's image, where it is late enough. */
static const char *fix_of(const struct check *check, const struct lint_row *row)
{
	static const char name[] = "rayVersion: ";
	const char *image = version_of_image(check);
	long major, minor;
	char *rest;

	if (strncmp(row->fix, name, strlen(name)) != 0 || *image == '\0')
		return row->fix;
	major = strtol(row->fix + strlen(name), &rest, 10);
	minor = *rest == '.' ? strtol(rest + 1, NULL, 10) : 0;
	if (is_below(image, major, minor))
		return row->fix;
	return arena_printf(check->arena, "%s%s", name, image);
}

static void report(const struct check *check, const struct lint_row *row, const char *variable,
		   const char *path)
{
	const struct lint_rows *rows = check->rows;
	struct lint_finding *finding = lint_add(
		check->arena, check->findings, rows->rule, path,
		arena_printf(check->arena, "%s%s%s%s%s", variable, *variable != '\0' ? " " : "",
			     row->why, rows->refuses ? "; KubeRay 1.7 refuses the " : "",
			     rows->refuses ? check->kind : ""),
		fix_of(check, row));

	if (rows->is_info)
		finding->severity = LINT_INFO;
}

/* NULL json: the kind has no such part. */
static struct lint_found start_of(const struct check *check, enum lint_start start)
{
	static const char *const paths[] = { "",
					     "spec",
					     "spec headGroupSpec",
					     "spec workerGroupSpecs",
					     "spec workerGroupSpecs",
					     "spec",
					     "spec" };
	bool cron = strcmp(check->kind, "RayCronJob") == 0;
	struct lint_found root = { check->object, "" };

	if ((start == JOB && !cron && strcmp(check->kind, "RayJob") != 0) ||
	    (start == SERVICE && strcmp(check->kind, "RayService") != 0))
		return (struct lint_found){ NULL, "" };
	return lint_found_follow(root, start == JOB && cron ? "spec jobTemplate" : paths[start],
				 check->arena);
}

static bool test_at(const struct check *check, const struct lint_row *row, struct lint_found from,
		    struct lint_found *ret_at)
{
	*ret_at = lint_found_follow(from, row->path, check->arena);
	return from.json && holds(check, row, ret_at);
}

/* The row for each element of the list before the first "*" of its path, of which there may be several. */
static void check_elements(const struct check *check, const struct lint_row *row,
			   struct lint_found from);

static void check_from(const struct check *check, const struct lint_row *row,
		       struct lint_found from)
{
	struct lint_row one = *row;
	struct lint_found at;

	if (strchr(row->path, '*')) {
		check_elements(check, row, from);
		return;
	}

	if (row->test != SETS_ANY) {
		if (test_at(check, row, from, &at))
			report(check, row, "", at.path);
		return;
	}
	for (const char *name = row->value; *name != '\0';
	     name += strlen(one.value) + (name[strlen(one.value)] == '|')) {
		one.value = arena_strndup(check->arena, name, strcspn(name, "|"));
		if (test_at(check, &one, from, &at))
			report(check, row, one.value, at.path);
	}
}

static void check_elements(const struct check *check, const struct lint_row *row,
			   struct lint_found from)
{
	const char *star = strchr(row->path, '*');
	struct lint_found list = lint_found_follow(
		from, arena_strndup(check->arena, row->path, (size_t)(star - row->path)),
		check->arena);
	const struct cJSON *json;
	struct lint_row one = *row;
	size_t i = 0;

	one.path = star + 1 + (star[1] == ' ');
	if (!cJSON_IsArray(list.json))
		return;
	cJSON_ArrayForEach(json, list.json)
	{
		const char *path = arena_printf(check->arena, "%s[%zu]", list.path, i++);

		check_from(check, &one, (struct lint_found){ json, path });
	}
}

/* The row where its condition holds. */
static void check_start(const struct check *check, const struct lint_row *row,
			struct lint_found from)
{
	const char *end = strstr(row->path, " ? ");
	struct lint_row one = *row;

	if (end) {
		size_t names = strcspn(row->path, "=");
		struct lint_found at = lint_found_follow(
			from, arena_strndup(check->arena, row->path, names), check->arena);
		const char *word = arena_strndup(check->arena, row->path + names + 1,
						 (size_t)(end - row->path) - names - 1);

		if (strcmp(lint_found_text(at, check->arena), word) != 0)
			return;
		one.path = end + 3;
	}
	check_from(check, &one, from);
}

static void check_row(const struct check *check, const struct lint_row *row)
{
	struct lint_found from = start_of(check, row->start);
	const struct cJSON *group;
	size_t i = 0;

	if ((check->facts & row->on) != row->on || (check->facts & row->off))
		return;
	if (row->start == ALL)
		check_start(check, row, start_of(check, HEAD));
	if (row->start != GROUPS && row->start != ALL) {
		check_start(check, row, from);
		return;
	}
	if (!cJSON_IsArray(from.json))
		return;
	cJSON_ArrayForEach(group, from.json)
	{
		const char *path = arena_printf(check->arena, "%s[%zu]", from.path, i++);

		check_start(check, row, (struct lint_found){ group, path });
	}
}

unsigned lint_row_facts(const char *kind, const struct cJSON *object, struct arena *arena)
{
	struct check check = { .kind = kind, .object = object, .arena = arena };
	struct lint_found version =
		lint_found_follow((struct lint_found){ object, "" }, "spec rayVersion", arena);
	const char *text = lint_found_text(version, arena);
	struct lint_found at;

	if (strcmp(kind, "RayCluster") != 0)
		check.facts = strcmp(kind, "RayService") == 0 ? OF_SERVICE : OF_JOB;
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		if ((check.facts & facts[i].row.on) == facts[i].row.on &&
		    test_at(&check, &facts[i].row, start_of(&check, facts[i].row.start), &at))
			check.facts |= facts[i].fact;
	if (*text != '\0') {
		check.facts |= is_below(text, 2, 52) ? RAY_BELOW_2_52 : 0;
		check.facts |= is_below(text, 2, 55) ? RAY_BELOW_2_55 : 0;
		check.facts |= is_below(text, 2, 56) ? RAY_BELOW_2_56 : 0;
	}
	return check.facts;
}

void lint_row_check(const struct lint_rows *rows, const char *kind, const struct cJSON *object,
		    unsigned known, struct arena *arena, struct lint_findings *findings)
{
	const struct check check = { kind, object, rows, arena, findings, known };

	for (size_t i = 0; i < rows->count; i++)
		check_row(&check, &rows->at[i]);
}
