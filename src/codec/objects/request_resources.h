/* The annotation rayscaler.dev/request-resources: JSON list of bundles, as bundles= of Ray's
 * ray.autoscaler.sdk.request_resources ([{"GPU": 1}, {"CPU": 4}]), or of {"resources": {...},
 * "label_selector": {"market": "in(spot)"}} as that call makes of bundles= with
 * bundle_label_selectors=. The decoder of a RayCluster parses it, once for each version of the object. */
#ifndef CODEC_OBJECTS_REQUEST_RESOURCES_H
#define CODEC_OBJECTS_REQUEST_RESOURCES_H

#include "base/arena.h"
#include "base/err.h"
#include "codec/schema/field.h"
#include "codec/text/json.h"
#include "core/model/ray_state.h"
#include "core/model/snapshot.h"

/* The most different bundles of one list. */
#define REQUEST_BUNDLES_MAX 1000

/* The bundles in the order of the text, equal ones as one entry with a count. ERR_INPUT: malformed,
 * with the place ("[2].GPU: must be a number, is a string"). ERR_LIMIT: too many different ones. A
 * bundle of the right form that no machine can serve (negative, NaN) is not malformed: its request
 * has a problem. Linear in the text. */
int request_resources_parse(const char *text, struct arena *arena,
			    struct ray_constraint *ret_constraint, struct err *err);

/* One bundle: {"GPU": 1}, or {"resources": {"GPU": 1}, "label_selector": {...}}; -1 with the reader's
 * error. Amounts that no machine has give the request a problem. */
int request_bundle_decode(const struct json_at *at, struct ray_request *ret_request);
/* The member `name` of `at`, {"market": "in(spot, reserved)"}, as the selector of the request;
 * missing or empty: the request is unchanged. */
int request_selector_decode(const struct json_at *at, const char *name,
			    struct ray_request *ret_request);

/* Hooks of a schedule: `bundles` as that list, a JSON value. Malformed ones are a problem of the schedule, and the
 * rest of it counts. */
int request_bundles_decode(const struct json_at *member, const struct field *field, void *object);
void request_bundles_write(struct json_writer *writer, const struct field *field,
			   const void *object);

/* The text of an error of request_resources_parse, with what to do; in the arena. */
const char *request_resources_problem(const struct err *err, struct arena *arena);

/* The annotation of a RayCluster; NULL: it has none. */
const struct annotation_request *request_resources_decode(const struct labels *annotations,
							  struct arena *arena);

#define REQUEST_BUNDLES_ROW                                                                        \
	FIELD_HOOK("bundles", .read = request_bundles_decode, .write = request_bundles_write,      \
		   .description = "As in request-resources; schedules do not add up.",             \
		   .schema = "type: array\nminItems: 1\nmaxItems: 1000\n"                          \
			     "items:\n"                                                            \
			     "  type: object\n"                                                    \
			     "  minProperties: 1\n"                                                \
			     "  x-kubernetes-preserve-unknown-fields: true")

#endif
