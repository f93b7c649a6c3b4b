#include "core/model/in_force.h"

#include <string.h>

#include "base/int64.h"

/* A greater number is as good as no limit, and cannot overflow. */
#define LAUNCH_MAX 31536000

static void set(const struct autoscaler_launch *given, struct in_force_launch *launch)
{
	if (given->has_start)
		launch->start_ms = int64_min(given->start_seconds, LAUNCH_MAX) * MS_PER_SECOND;
	if (given->has_node)
		launch->node_ms = int64_min(given->node_seconds, LAUNCH_MAX) * MS_PER_SECOND;
	if (given->has_hold)
		launch->hold_ms = int64_min(given->hold_seconds, LAUNCH_MAX) * MS_PER_SECOND;
	if (given->has_most_starting)
		launch->most_starting = int64_min(given->most_starting, LAUNCH_MAX);
}

struct in_force_launch in_force_launch(const struct snapshot *snapshot, const char *group)
{
	const struct settings *settings = &snapshot->settings;
	const struct autoscaler_object *object = snapshot->autoscaler;
	struct in_force_launch launch = {
		.start_ms = settings->start_timeout_seconds * MS_PER_SECOND,
		.node_ms = settings->node_provision_timeout_seconds * MS_PER_SECOND,
		.hold_ms = settings->gang_hold_seconds * MS_PER_SECOND,
		.most_starting = settings->max_starting_workers,
	};

	if (!object)
		return launch;
	set(&object->launch, &launch);
	if (!group)
		return launch;
	for (size_t i = 0; i < object->group_count; i++)
		if (strcmp(object->groups[i].name, group) == 0)
			set(&object->groups[i].launch, &launch);
	return launch;
}

int64_t in_force_raylet_gone_ms(const struct snapshot *snapshot)
{
	return snapshot->settings.raylet_gone_seconds * MS_PER_SECOND;
}

int64_t in_force_unregistered_ms(const struct snapshot *snapshot)
{
	return snapshot->settings.unregistered_seconds * MS_PER_SECOND;
}

int64_t in_force_backoff_max_seconds(const struct snapshot *snapshot)
{
	return snapshot->settings.backoff_max_seconds;
}

int64_t in_force_backoff_seconds(const struct snapshot *snapshot, int64_t last)
{
	int64_t most = in_force_backoff_max_seconds(snapshot);
	int64_t next = last > 0 ? last : snapshot->settings.backoff_initial_seconds;

	if (last > 0 && last < most)
		next = last * 2;
	return next < most ? next : most;
}

bool in_force_stops_busy(const struct snapshot *snapshot)
{
	return snapshot->settings.enforce_max == ENFORCE_MAX_NOW;
}
