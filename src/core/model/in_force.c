#include "core/model/in_force.h"

int64_t in_force_start_timeout_ms(const struct snapshot *snapshot)
{
	return snapshot->settings.start_timeout_seconds * MS_PER_SECOND;
}

int64_t in_force_node_timeout_ms(const struct snapshot *snapshot)
{
	return snapshot->settings.node_provision_timeout_seconds * MS_PER_SECOND;
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
