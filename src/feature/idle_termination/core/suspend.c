#include "feature/idle_termination/core/suspend.h"

#define SUSPEND_PATH "/spec/suspend"
#define ANNOTATIONS_PATH "/metadata/annotations"
/* ANNOTATION_SUSPENDED as a JSON Pointer: ~1 is a slash. */
#define ANNOTATION_PATH ANNOTATIONS_PATH "/rayscaler.dev~1suspended-by-idle-termination"

static struct patch_op *add_op(struct arena *arena, struct plan *plan, const char *op,
			       const char *path, enum patch_value_kind kind)
{
	struct patch_op *item = VEC_ADD(arena, &plan->patch);

	*item = (struct patch_op){ .op = op, .path = path, .kind = kind, .string = "" };
	return item;
}

static void text_op(struct arena *arena, struct plan *plan, const char *op, const char *path,
		    const char *text)
{
	add_op(arena, plan, op, path, PATCH_VALUE_STRING)->string = text;
}

static void boolean_op(struct arena *arena, struct plan *plan, const char *op, bool value)
{
	add_op(arena, plan, op, SUSPEND_PATH, PATCH_VALUE_BOOLEAN)->integer = value;
}

void suspend_patch(const struct ray_cluster *cluster, time_ms now, struct arena *arena,
		   struct plan *plan)
{
	/* A sparse file has no version; an API server always sets one. */
	if (cluster->resource_version && cluster->resource_version[0] != '\0')
		text_op(arena, plan, "test", "/metadata/resourceVersion",
			cluster->resource_version);
	else
		text_op(arena, plan, "test", "/metadata/name", cluster->name);
	if (cluster->annotations.count == 0)
		add_op(arena, plan, "add", ANNOTATIONS_PATH, PATCH_VALUE_EMPTY_OBJECT);
	text_op(arena, plan, "add", ANNOTATION_PATH, time_text(arena, now));
	boolean_op(arena, plan, "add", true);
}

void suspend_patch_resume(const struct ray_cluster *cluster, struct arena *arena, struct plan *plan)
{
	text_op(arena, plan, "test", ANNOTATION_PATH, ray_cluster_suspended_at(cluster));
	boolean_op(arena, plan, "test", true);
	boolean_op(arena, plan, "replace", false);
	add_op(arena, plan, "remove", ANNOTATION_PATH, PATCH_VALUE_NONE);
}

void suspend_patch_forget(const struct ray_cluster *cluster, struct arena *arena, struct plan *plan)
{
	const char *text = labels_value(&cluster->annotations, ANNOTATION_SUSPENDED);

	if (!text)
		return;
	text_op(arena, plan, "test", ANNOTATION_PATH, text);
	add_op(arena, plan, "remove", ANNOTATION_PATH, PATCH_VALUE_NONE);
}
