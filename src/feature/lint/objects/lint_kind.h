/* Which objects lint checks, by kind and apiVersion, also where these are misspelt. Must not read other
 * members. Texts are in the arena. */
#ifndef FEATURE_LINT_OBJECTS_LINT_KIND_H
#define FEATURE_LINT_OBJECTS_LINT_KIND_H

#include <stdbool.h>

#include "base/arena.h"

/* A kind of ray.io with the spec of a RayCluster, or one of rayscaler.dev. */
struct lint_kind {
	const char *kind, *group;
	const char *path[4]; /* of the spec, member by member, NULL after the last */
	bool is_settings;    /* of rayscaler.dev; without a path */
	bool is_pool;        /* of them, a GPUPool, which is in no namespace */
};

/* `api_version` may be "", and have another version of the group or a group that is most likely a
 * misspelt one. NULL: lint skips the object. */
const struct lint_kind *lint_kind_find(const char *kind, const char *api_version);
bool lint_kind_is_cluster(const struct lint_kind *kind); /* the RayCluster itself */
bool lint_kind_is_of_claims(const char *api_version);    /* resource.k8s.io */
/* Why the API server refuses the version of an object of this kind, and the line to write; NULL: it
 * does not. */
const char *lint_kind_version_problem(const struct lint_kind *kind, const char *api_version,
				      struct arena *arena, const char **ret_fix);
/* Of another object: its kind is unknown in ray.io, or near one of rayscaler.dev; NULL: neither.
 * *ret_misspelt: in one letter. */
const char *lint_kind_problem(const char *kind, const char *api_version, struct arena *arena,
			      bool *ret_misspelt);

#endif
