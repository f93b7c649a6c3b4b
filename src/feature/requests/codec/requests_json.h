/* Requests of Ray's libraries as settings of a RayClusterAutoscaler. */
#ifndef FEATURE_REQUESTS_CODEC_REQUESTS_JSON_H
#define FEATURE_REQUESTS_CODEC_REQUESTS_JSON_H

#include "codec/schema/field.h"
#include "feature/requests/model/requests.h"

extern const struct field requests_spec_fields[]; /* of struct requests_spec */
extern const struct field requests_kept_fields[]; /* of struct requests_kept */

#define REQUESTS_SPEC_ROWS(T)                                                                      \
	FIELD_POINTER(T, requests, requests_spec_fields, "requests", .flags = FIELD_LINE,          \
		      .description =                                                               \
			      "How request_resources of Ray Data, Train and programs counts.")
#define REQUESTS_STATUS_ROWS(T, most)                                                              \
	FIELD_POINTER(T, parts.requests, requests_kept_fields, "requests", .flags = FIELD_ALWAYS,  \
		      .description = "The amounts of request_resources, with unusedAfterSeconds.")

#endif
