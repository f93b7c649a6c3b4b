#include "core/report/overridden.h"

#include <string.h>

#include "core/decide/limits.h"

/* By idle_source; the name of the group in brackets. */
static const struct {
	const char *before, *after;
} idle_paths[] = {
	[IDLE_OF_FLAG] = { "idle-timeout-seconds", NULL },
	[IDLE_OF_OBJECT] = { "idleTimeoutSeconds", NULL },
	[IDLE_OF_CLUSTER] = { "autoscalerOptions.idleTimeoutSeconds", NULL },
	[IDLE_OF_OBJECT_GROUP] = { "groups[", "].idleTimeoutSeconds" },
	[IDLE_OF_GROUP] = { "workerGroupSpecs[", "].idleTimeoutSeconds" },
};
static const char *const idle_roots[] = {
	[IDLE_OF_FLAG] = "settings",           [IDLE_OF_OBJECT] = "autoscaler.spec",
	[IDLE_OF_CLUSTER] = "rayCluster.spec", [IDLE_OF_OBJECT_GROUP] = "autoscaler.spec",
	[IDLE_OF_GROUP] = "rayCluster.spec",
};

static const char *idle_path(enum idle_source source, const char *group, struct arena *arena)
{
	const char *after = idle_paths[source].after;

	return arena_printf(arena, "%s%s%s", idle_paths[source].before, after ? group : "",
			    after ? after : "");
}

/* The timeout of this group, if `path` sets one for it that another setting overrides. *ret_sets:
 * `path` sets one. */
static const char *idle_winner(const struct snapshot *snapshot, const struct worker_group *group,
			       const char *path, bool *ret_sets, struct arena *arena)
{
	struct idle_timeout timeout = limits_idle_timeout(snapshot, group);

	for (size_t i = 0; i < sizeof(idle_paths) / sizeof(idle_paths[0]); i++) {
		if (strcmp(idle_path((enum idle_source)i, group->name, arena), path) != 0)
			continue;
		*ret_sets = true;
		if (timeout.source > (enum idle_source)i)
			return arena_printf(arena, "%s.%s is %lld and wins",
					    idle_roots[timeout.source],
					    idle_path(timeout.source, group->name, arena),
					    (long long)timeout.seconds);
	}
	return NULL;
}

const char *overridden_by(const struct snapshot *snapshot, const char *path, struct arena *arena,
			  bool *ret_counts)
{
	const char *mode = snapshot->cluster.upscaling_mode, *winner = NULL;

	*ret_counts = false;
	if (strcmp(path, "upscalingMode") == 0) {
		*ret_counts = mode[0] == '\0';
		return *ret_counts ?
			       NULL :
			       arena_printf(arena,
					    "rayCluster.spec.autoscalerOptions.upscalingMode is "
					    "%.40s and wins",
					    mode);
	}
	for (size_t g = 0; g < snapshot->cluster.group_count; g++) {
		bool sets = false;
		const char *other =
			idle_winner(snapshot, &snapshot->cluster.groups[g], path, &sets, arena);

		if (sets && !other) {
			*ret_counts = true;
			return NULL;
		}
		winner = winner ? winner : other;
	}
	return winner;
}
