/* Nodes under repair as settings of a RayClusterAutoscaler, as DrainRequests of a snapshot, and as a part of a plan. */
#ifndef FEATURE_REPAIR_CODEC_REPAIR_JSON_H
#define FEATURE_REPAIR_CODEC_REPAIR_JSON_H

#include "codec/schema/field.h"
#include "feature/repair/core/repair.h"

extern const struct field repair_spec_fields[];    /* of struct repair_spec */
extern const struct field drain_request_fields[];  /* of struct drain_request, as in Kubernetes */
extern const struct field worker_failure_fields[]; /* of struct worker_failure */
extern const struct field plan_repair_fields[];    /* of struct plan_repair */
extern const struct drain_request drain_request_initial;

int drain_request_decode(const struct cJSON *json, const char *path, struct arena *arena,
			 struct drain_request *ret_request, struct err *err);
/* The JSON merge patch of its status that completes it, with its version as a precondition. */
const char *drain_request_patch_body(const struct drain_request *request, time_ms now,
				     struct arena *arena);

#define REPAIR_SPEC_ROWS(T)                                                                        \
	FIELD_POINTER(T, repair, repair_spec_fields, "repair", .flags = FIELD_LINE,                \
		      .description = "Nodes that are to be repaired: work is moved away first.")
#define REPAIR_SNAPSHOT_ROWS(T)                                                                    \
	FIELD_LIST(T, drain_requests, drain_request_count, drain_request_fields, "drainRequests",  \
		   .initial = &drain_request_initial),                                             \
		FIELD_TEXTS(T, repair_grants, "repairGrants",                                      \
			    .has = FIELD_HAS(T, repair_grants_known)),                             \
		FIELD_LIST(T, worker_failures, worker_failure_count, worker_failure_fields,        \
			   "workerFailures", .flags = FIELD_LINE)
#define REPAIR_PLAN_ROWS(T)                                                                        \
	FIELD_POINTER(T, repair, plan_repair_fields, "repair", .flags = FIELD_LINE)

#endif
