/* Which objects lint checks, by kind and apiVersion, also where these are misspelt. Must not read other
 * members. Texts are in the arena. */
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "base/nearest.h"
#include "codec/objects/autoscaler_json.h"
#include "codec/schema/document_head.h"
#include "feature/lint/objects/lint_check.h"
#include "feature/lint/objects/lint_report.h"

#define GROUP "ray.io"
#define OWN_GROUP "rayscaler.dev"
#define GROUP_ERRORS_MAX 2

static const struct lint_kind kinds[] = {
	{ "RayCluster", GROUP, .path = { "spec" } },
	{ "RayJob", GROUP, .path = { "spec", "rayClusterSpec" } },
	{ "RayService", GROUP, .path = { "spec", "rayClusterConfig" } },
	{ "RayCronJob", GROUP, .path = { "spec", "jobTemplate", "rayClusterSpec" } },
	{ AUTOSCALER_KIND, OWN_GROUP, .is_settings = true },
};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

static bool is_group(const char *api_version, const char *group)
{
	size_t size = strlen(group);

	return strncmp(api_version, group, size) == 0 && api_version[size] == '/';
}

/* The group of a definition has a dot: "v1" or "rayio/v1" is none, and "ray.oi/v1" is near, "kuberay.io/v1" another
 * one of Ray. */
static bool may_be_group(const char *api_version, const char *group)
{
	char name[NEAREST_BYTES_MAX];
	size_t size = strcspn(api_version, "/");

	if (*api_version == '\0' || is_group(api_version, group))
		return true;
	if (size >= sizeof(name))
		return false;
	memcpy(name, api_version, size);
	name[size] = '\0';
	return !strchr(name, '.') || nearest_distance(name, group) <= GROUP_ERRORS_MAX ||
	       (strcmp(group, GROUP) == 0 && strstr(name, "ray"));
}

bool lint_kind_find(const char *kind, const char *api_version, struct lint_kind *ret_kind)
{
	const struct lint_kind *found = ARRAY_FIND(kinds, KIND_COUNT, kind, kind);

	*ret_kind = found ? *found : (struct lint_kind){ .kind = NULL };
	for (size_t i = 0; lint_features[i]; i++)
		if (lint_features[i]->kind && strcmp(lint_features[i]->kind, kind) == 0)
			*ret_kind = (struct lint_kind){ .kind = lint_features[i]->kind,
							.group = OWN_GROUP,
							.is_settings = true,
							.of = lint_features[i],
							.feature = i };
	return ret_kind->kind && may_be_group(api_version, ret_kind->group);
}

bool lint_kind_is_cluster(const struct lint_kind *kind)
{
	return strcmp(kind->kind, kinds[0].kind) == 0;
}

const char *lint_kind_version_problem(const struct lint_kind *kind, const char *api_version,
				      struct arena *arena, const char **ret_fix)
{
	const char *right = kind->is_settings ? OWN_GROUP_VERSION : GROUP "/v1";

	if (strcmp(api_version, right) == 0 ||
	    (!kind->is_settings && strcmp(api_version, GROUP "/v1alpha1") == 0))
		return NULL;
	*ret_fix = arena_printf(arena, "apiVersion: %s", right);
	if (*api_version == '\0')
		return "the object has no apiVersion; kubectl refuses it: add it";
	return arena_printf(arena,
			    "apiVersion \"%.80s\" has no %s; the API server refuses the object",
			    api_version, kind->kind);
}

const char *lint_kind_problem(const char *kind, const char *api_version, struct arena *arena,
			      bool *ret_misspelt)
{
	struct nearest nearest = nearest_start(kind);
	char hint[NEAREST_HINT_SIZE];

	for (size_t i = 0; i < KIND_COUNT; i++)
		if (is_group(api_version, kinds[i].group))
			nearest_offer(&nearest, kinds[i].kind);
	for (size_t i = 0; lint_features[i] && is_group(api_version, OWN_GROUP); i++)
		if (lint_features[i]->kind)
			nearest_offer(&nearest, lint_features[i]->kind);
	/* Files of rayscaler.dev have further kinds, as Workload. */
	if (!nearest.word && !is_group(api_version, GROUP))
		return NULL;
	if (*kind == '\0') {
		*ret_misspelt = true;
		return "the object has no kind; kubectl refuses it: add it, such as kind: RayCluster";
	}
	*ret_misspelt = nearest.word && nearest.distance <= 1;
	return arena_printf(arena, "kind \"%.64s\" of %.*s is unknown, so it is skipped%s", kind,
			    (int)strcspn(api_version, "/"), api_version,
			    nearest_hint(&nearest, hint));
}
