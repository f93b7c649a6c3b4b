/* Kinds of objects that are read: lists and watches (kube/kube_informer.h), decoding (kube/kube_decode.h). */
#ifndef KUBE_KUBE_TYPE_H
#define KUBE_KUBE_TYPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

struct cJSON;

/* A kind of object. The decoder gets a fresh arena and object_size zeroed bytes. */
struct kube_type {
	const char *kind;        /* "Pod" */
	const char *plural;      /* "pods" */
	const char *group;       /* "" is the core group */
	const char *versions[4]; /* the first that is served is used; ends with NULL */
	const char *install;     /* the fix when the server does not know it; "" built in */
	size_t object_size;
	/* Memory that the program keeps of one object beside it, such as the state of a cluster, as far as it
	 * is charged to the object's namespace. */
	size_t beside_bytes;
	int (*decode)(const struct cJSON *json, const char *path, struct arena *arena,
		      void *ret_object, struct err *err);
	/* Makes the struct of an object that `decode` refused because of `problem`: it is kept,
	 * indexed and reported like a good one. NULL: a bad object has no struct. -1 when no field
	 * can be read. */
	int (*decode_bad)(const struct cJSON *json, const char *problem, struct arena *arena,
			  void *ret_object);
	/* Appends the key under which kube_informer_indexed finds the object; nothing: not indexed.
	 * NULL: no index. */
	void (*index)(const void *object, struct buf *ret_key);
	/* Those come first among the objects with their key. NULL: in any order. */
	bool (*leads)(const void *object);
};

/* struct ray_cluster; v1, else v1alpha1; a bad one is `unreadable`, as a bad Pod is. */
extern const struct kube_type kube_type_ray_cluster;
extern const struct kube_type
	kube_type_pod; /* struct pod; index "namespace/cluster" by label, head Pods first */
extern const struct kube_type kube_type_node;       /* struct node */
extern const struct kube_type kube_type_event;      /* struct event */
extern const struct kube_type kube_type_autoscaler; /* struct autoscaler_object */
extern const struct kube_type kube_type_namespace;  /* struct namespace */
/* Features have further kinds in their part `kube`. */

/* Defines one: its name in kube_type_NAME, its struct, the function that decodes one, and the other members. */
#define KUBE_TYPE(name, type, decode_one, ...)                                                     \
	static int kube_decode_##name(const struct cJSON *json, const char *path,                  \
				      struct arena *arena, void *ret_object, struct err *err)      \
	{                                                                                          \
		return decode_one(json, path, arena, ret_object, err);                             \
	}                                                                                          \
	const struct kube_type kube_type_##name = { .object_size = sizeof(type),                   \
						    .decode = kube_decode_##name,                  \
						    __VA_ARGS__ };

#endif
