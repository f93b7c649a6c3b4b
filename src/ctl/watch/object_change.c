#include "ctl/watch/object_change.h"

#include <string.h>

#include "core/model/kubernetes.h"

bool object_change_same_text(const char *a, const char *b)
{
	return !a == !b && (!a || !strcmp(a, b));
}

bool object_change_decides(const struct ray_cluster *old, const struct ray_cluster *new_object)
{
	static const char *const annotations[] = { ANNOTATION_REQUEST_RESOURCES,
						   ANNOTATION_MANAGED };

	if (!old || old->generation != new_object->generation ||
	    old->deleting != new_object->deleting || old->unreadable || new_object->unreadable)
		return true;
	for (size_t i = 0; i < sizeof(annotations) / sizeof(annotations[0]); i++) {
		if (!object_change_same_text(labels_value(&old->annotations, annotations[i]),
					     labels_value(&new_object->annotations,
							  annotations[i])))
			return true;
	}
	return false;
}
