/* Requests of Ray's libraries in the objects and tables of core/model: the settings, and the rows of the tables of
 * core/model/reason.h. Plain data. */
#ifndef FEATURE_REQUESTS_MODEL_REQUESTS_H
#define FEATURE_REQUESTS_MODEL_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#define REQUESTS_SECONDS_MAX 31536000
#define REQUESTS_AHEAD_MAX 1000000

/* spec.requests of a RayClusterAutoscaler; members without `has` are not given. */
struct requests_spec {
	int64_t unused_after_seconds; /* 0: never */
	int64_t ahead_of_use;         /* accelerators */
	bool has_report, report, has_unused_after, has_ahead_of_use;
};

/* The part of the status of a RayClusterAutoscaler that outlives a restart; requests.h of the part `core`. */
struct requests_kept {
	int64_t asked;               /* accelerators, 1/10000 */
	int64_t since, unused_since; /* time_ms; TIME_NONE: none */
};

/* Rows of the table of core/model/settings.h. */
#define REQUESTS_SETTINGS(X)                                                                       \
	X(BOOLEAN, report_cluster_config, "report-cluster-config", true, 0, 1, "true|false",       \
	  "Ray gets the resources and bounds of all worker groups, which Ray Data and Train read") \
	X(INTEGER, requests_unused_after_seconds, "requests-unused-after-seconds", 0, 0,           \
	  REQUESTS_SECONDS_MAX, "seconds",                                                         \
	  "request_resources keeps no worker with accelerators that is unused this long, 0: any")  \
	X(INTEGER, requests_ahead_of_use, "requests-ahead-of-use", -1, -1, REQUESTS_AHEAD_MAX,     \
	  "accelerators",                                                                          \
	  "request_resources starts at most so many beyond those that work uses or waits for, "    \
	  "-1: all")

#define REQUESTS_TERMINATE_REASONS(X)                                                                 \
	X(REQUEST_UNUSED, "RequestUnused", TRAIT_IDLE,                                                \
	  "only request_resources asked for it, and nothing used it for requests.unusedAfterSeconds", \
	  "raise requests.unusedAfterSeconds, or keep it by minReplicas or the annotation")

#define REQUESTS_DEMAND_REASONS(X)                                                                      \
	X(REQUEST_BEYOND_USE, "RequestBeyondUse", 0,                                                    \
	  "request_resources asks for more accelerators than work uses, beyond requests.aheadOfUse",    \
	  "nothing: they start when work waits for them; raise requests.aheadOfUse to have more ready") \
	X(REQUEST_GIVEN_UP, "RequestUnused", 0,                                                         \
	  "request_resources asks again for accelerators that nothing used",                            \
	  "nothing: they start when work waits for them, or when the request grows")

#endif
