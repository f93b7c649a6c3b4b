/* Paths of the Kubernetes API, built from names and split for messages. Pure. Every argument is
 * percent-encoded, so that a name can never leave its segment. */
#ifndef KUBE_KUBE_PATH_H
#define KUBE_KUBE_PATH_H

#include "base/arena.h"

#define KUBE_RAY_GROUP "ray.io"

/* "/api/v1/namespaces/NS/pods/NAME". api_version: "v1", "ray.io/v1"; NULL or "" for namespace_
 * (all, or not namespaced), name (the collection) and subresource ("status"). Lives in the arena.
 */
char *kube_path(struct arena *arena, const char *api_version, const char *namespace_,
		const char *plural, const char *name, const char *subresource);

/* The path, or a URL without a query, with one more segment. */
char *kube_path_append(struct arena *arena, const char *path, const char *segment);

/* The path with one more query parameter, the value percent-encoded. */
char *kube_path_query(struct arena *arena, const char *path, const char *key, const char *value);
/* The path of a write, with our field manager. */
char *kube_path_managed(struct arena *arena, const char *path);

/* The parts of such a path; "" for what is not there. */
struct kube_path_parts {
	const char *group; /* "" is the core group */
	const char *version, *namespace_, *plural, *name, *subresource;
};
void kube_path_split(struct arena *arena, const char *path, struct kube_path_parts *ret_parts);

#endif
