/* Volumes of a Pod template: paths of a projected volume, directories in memory and in huge pages (Kubernetes 1.34,
 * pkg/apis/core/validation and pkg/volume/emptydir). */
#include <cjson/cJSON.h>
#include <stdint.h>
#include <string.h>

#include "base/list.h"
#include "codec/text/quantity.h"
#include "feature/lint/core/lint_rule.h"
#include "feature/lint/objects/lint_check.h"
#include "feature/lint/objects/lint_found.h"

#define ELEMENTS_MAX 1000
#define HUGE "HugePages"

struct check {
	struct arena *arena;
	struct lint_findings *findings;
	struct lint_found spec;
};

static const char *text_of(const struct check *check, struct lint_found object, const char *name)
{
	return lint_found_text(lint_found_follow(object, name, check->arena), check->arena);
}

/* ---- paths of a projected volume ---- */

struct paths {
	VEC(const char *) list;
};

static void add_path(const struct check *check, struct paths *paths, struct lint_found at,
		     const char *name)
{
	const char *text = text_of(check, at, name);

	if (*text == '\0' || paths->list.count >= ELEMENTS_MAX)
		return;
	VEC_EACH(const char *const, other, &paths->list)
		if (strcmp(*other, text) == 0) {
			lint_add(
				check->arena, check->findings, LINT_RULE_POD_REFUSED, at.path,
				arena_printf(check->arena,
					     "the projected volume has %.80s twice: write another "
					     "path, or remove one; the API server refuses each Pod",
					     text),
				"");
			return;
		}
	VEC_PUSH(check->arena, &paths->list, text);
}

static void check_projected(const struct check *check, struct lint_found volume)
{
	static const char *const items[] = { "configMap items", "secret items",
					     "downwardAPI items" };
	static const char *const single[] = { "clusterTrustBundle path", "podCertificate keyPath",
					      "podCertificate certificateChainPath",
					      "podCertificate credentialBundlePath" };
	struct lint_found sources = lint_found_follow(volume, "projected sources", check->arena);
	struct lint_found source = lint_found_element(sources, 0, check->arena);
	struct paths paths = { .list = { NULL, 0, 0 } };

	for (size_t s = 0; source.json && s < ELEMENTS_MAX;
	     source = lint_found_element(sources, ++s, check->arena)) {
		for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
			struct lint_found list = lint_found_follow(source, items[i], check->arena);
			struct lint_found one = lint_found_element(list, 0, check->arena);

			for (size_t j = 0; one.json && j < ELEMENTS_MAX;
			     one = lint_found_element(list, ++j, check->arena))
				add_path(check, &paths, one, "path");
		}
		for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++)
			add_path(check, &paths, source, single[i]);
	}
}

/* ---- directories in memory ---- */

static bool read_amount(const struct check *check, struct lint_found at, const char *names,
			int64_t *ret_amount)
{
	const char *problem;

	return quantity_parse(text_of(check, at, names), ret_amount, &problem) == 0;
}

/* False: a container may take the whole memory of the Node. */
static bool memory_limit(const struct check *check, int64_t *ret_limit)
{
	struct lint_found list = lint_found_follow(check->spec, "containers", check->arena);
	struct lint_found one = lint_found_element(list, 0, check->arena);
	int64_t amount;

	*ret_limit = 0;
	if (read_amount(check, check->spec, "resources limits memory", ret_limit))
		return true;
	for (size_t i = 0; one.json && i < ELEMENTS_MAX;
	     one = lint_found_element(list, ++i, check->arena)) {
		if (!read_amount(check, one, "resources limits memory", &amount) ||
		    amount > INT64_MAX - *ret_limit)
			return false;
		*ret_limit += amount;
	}
	return *ret_limit > 0;
}

static void check_memory(const struct check *check, struct lint_found directory)
{
	struct lint_found size = lint_found_follow(directory, "sizeLimit", check->arena);
	int64_t amount, limit;

	if (strcmp(text_of(check, directory, "medium"), "Memory") == 0 &&
	    read_amount(check, size, "", &amount) && memory_limit(check, &limit) && amount > limit)
		lint_add(check->arena, check->findings, LINT_RULE_SETTING_WITHOUT_EFFECT, size.path,
			 arena_printf(check->arena,
				      "sizeLimit %.32s is above the memory limit of the "
				      "containers, of which files in this volume are a part: the "
				      "kernel ends the one that fills it; lower it, or raise their "
				      "limit",
				      lint_found_text(size, check->arena)),
			 "");
}

/* Whether a container has huge pages, of a name that begins so. */
static bool has_pages(const struct check *check, const char *name)
{
	struct lint_found list = lint_found_follow(check->spec, "containers", check->arena);
	struct lint_found one = lint_found_element(list, 0, check->arena);

	for (size_t i = 0; one.json && i < ELEMENTS_MAX;
	     one = lint_found_element(list, ++i, check->arena)) {
		struct lint_found limits = lint_found_follow(one, "resources limits", check->arena);
		const struct cJSON *amount;

		cJSON_ArrayForEach(amount, limits.json)
		{
			if (amount->string && strncmp(amount->string, name, strlen(name)) == 0)
				return true;
		}
	}
	return false;
}

static void check_pages(const struct check *check, struct lint_found directory)
{
	const char *medium = text_of(check, directory, "medium");
	const char *size = medium + strlen(HUGE), *name;

	if (strncmp(medium, HUGE, strlen(HUGE)) != 0 || (*size != '\0' && *size != '-'))
		return;
	name = arena_printf(check->arena, "hugepages-%s", *size == '-' ? size + 1 : "");
	if (!has_pages(check, name))
		lint_add(check->arena, check->findings, LINT_RULE_POD_REFUSED, directory.path,
			 arena_printf(check->arena,
				      "medium %.40s needs huge pages of a container, and no Pod "
				      "starts without: add %s to its limits",
				      medium, *size == '-' ? name : "hugepages-2Mi"),
			 arena_printf(check->arena, "%s: 1Gi",
				      *size == '-' ? name : "hugepages-2Mi"));
}

void lint_volume_check(struct lint_found spec, struct arena *arena, struct lint_findings *findings)
{
	const struct check check = { arena, findings, spec };
	struct lint_found list = lint_found_follow(spec, "volumes", arena);
	struct lint_found one = lint_found_element(list, 0, arena);

	for (size_t i = 0; one.json && i < ELEMENTS_MAX;
	     one = lint_found_element(list, ++i, arena)) {
		struct lint_found directory = lint_found_follow(one, "emptyDir", arena);

		check_projected(&check, one);
		check_memory(&check, directory);
		check_pages(&check, directory);
	}
}
