#include "feature/idle_termination/core/suspend.h"

#include "core/decide/patch.h"

#define ANNOTATIONS_PATH "/metadata/annotations"
/* ANNOTATION_SUSPENDED as a JSON Pointer: ~1 is a slash. */
#define ANNOTATION_PATH ANNOTATIONS_PATH "/rayscaler.dev~1suspended-by-idle-termination"

static void text_op(struct arena *arena, struct plan *plan, const char *op, const char *path,
		    const char *text)
{
	patch_add(plan, arena,
		  (struct patch_op){
			  .op = op, .path = path, .kind = PATCH_VALUE_STRING, .string = text });
}

static void boolean_op(struct arena *arena, struct plan *plan, const char *op, bool value)
{
	patch_add(plan, arena,
		  (struct patch_op){ .op = op,
				     .path = RAY_SUSPEND_PATH,
				     .kind = PATCH_VALUE_BOOLEAN,
				     .integer = value });
}

static void remove_op(struct arena *arena, struct plan *plan)
{
	patch_add(plan, arena,
		  (struct patch_op){
			  .op = "remove", .path = ANNOTATION_PATH, .kind = PATCH_VALUE_NONE });
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
		patch_add(plan, arena,
			  (struct patch_op){ .op = "add",
					     .path = ANNOTATIONS_PATH,
					     .kind = PATCH_VALUE_EMPTY_OBJECT });
	text_op(arena, plan, "add", ANNOTATION_PATH, time_text(arena, now));
	boolean_op(arena, plan, "add", true);
}

void suspend_patch_resume(const struct ray_cluster *cluster, struct arena *arena, struct plan *plan)
{
	text_op(arena, plan, "test", ANNOTATION_PATH, ray_cluster_suspended_at(cluster));
	boolean_op(arena, plan, "test", true);
	boolean_op(arena, plan, "replace", false);
	remove_op(arena, plan);
}

void suspend_patch_forget(const struct ray_cluster *cluster, struct arena *arena, struct plan *plan)
{
	const char *text = labels_value(&cluster->annotations, ANNOTATION_SUSPENDED);

	if (!text)
		return;
	text_op(arena, plan, "test", ANNOTATION_PATH, text);
	remove_op(arena, plan);
}
