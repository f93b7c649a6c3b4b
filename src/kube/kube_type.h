/* Defines a kind of objects that is watched (kube/kube_informer.h). */
#ifndef KUBE_KUBE_TYPE_H
#define KUBE_KUBE_TYPE_H

#include "kube/kube_informer.h"

/* A kind: its name in kube_type_NAME, its struct, the function that decodes one, and the other members. */
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
