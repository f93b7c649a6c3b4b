#include "feature/cost/codec/metering_json.h"

#define GROUPS_READ_MAX 1000 /* ours are fewer */
/* Rows that are always written, with their description. */
#define ROW(kind, T, m, n, text) FIELD_##kind(T, m, n, .flags = FIELD_ALWAYS, .description = (text))
#define METERING struct autoscaler_metering
#define METERED struct autoscaler_metering_group
#define SECONDS(state, name, text) ROW(INTEGER, METERED, gpu_seconds[METERING_##state], name, text)

static const struct field metered_fields[] = {
	FIELD_TEXT(METERED, name, "name", .flags = FIELD_ALWAYS | FIELD_REQUIRED,
		   .description = "The group; headgroup: the head."),
	SECONDS(USED, "usedGPUSeconds", "In use."),
	SECONDS(IDLE, "idleGPUSeconds", "In Ray, unused."),
	SECONDS(REQUESTED, "requestedGPUSeconds", "Kept unused by request_resources."),
	SECONDS(STARTING, "startingGPUSeconds", "On a Node, not in Ray."),
	SECONDS(TERMINATING, "terminatingGPUSeconds", "Draining, dead or deleted."),
	ROW(INTEGER, METERED, cost_micros, "costMicros",
	    "Of all states, in millionths of the currency."),
	ROW(INTEGER, METERED, requested_micros, "requestedCostMicros",
	    "Of requestedGPUSeconds, in millionths of the currency."),
	FIELD_END,
};

const struct field metering_fields[] = {
	ROW(TEXT, METERING, cluster_uid, "rayClusterUID", "UID of the RayCluster that is counted."),
	ROW(TIME, METERING, since, "since", "When counting began."),
	ROW(TIME, METERING, until, "until", "Time until which the sums count."),
	ROW(TEXT, METERING, currency, "currency", "Of the price table; empty without one."),
	ROW(TEXT, METERING, gpus, "gpus", "GPUs on Nodes at `until`."),
	ROW(INTEGER, METERING, cost_per_hour_micros, "costPerHourMicros",
	    "Of these for one hour, in millionths of the currency."),
	ROW(INTEGER, METERING, today_gpu_seconds, "todayGPUSeconds", "Of the UTC day of `until`."),
	ROW(INTEGER, METERING, today_cost_micros, "todayCostMicros", "Of the UTC day of `until`."),
	FIELD_LIST(METERING, groups, group_count, metered_fields, "groups", .flags = FIELD_ALWAYS,
		   .limit = GROUPS_READ_MAX,
		   .description = "Groups with GPUs, also removed ones; at most 101."),
	FIELD_END,
};
