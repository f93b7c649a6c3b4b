/* The JSON types of the fields of a RayCluster or object of rayscaler.dev that its decoder reads, checked before it: each wrong one becomes a finding, and the value is changed to one that the
 * decoder accepts, so that one mistake hides no other. A number or boolean in place of a string
 * becomes its text; anything else becomes null, or an empty element. Only for trees that are parsed
 * for lint. */
#ifndef FEATURE_LINT_OBJECTS_LINT_SHAPE_H
#define FEATURE_LINT_OBJECTS_LINT_SHAPE_H

#include "base/arena.h"
#include "codec/schema/field.h"
#include "codec/text/json.h"
#include "feature/lint/core/lint.h"

struct cJSON;

/* `object` has the fields of the table and is an object of the kind ("RayCluster"); no member is added
 * or removed. Findings are of the rules wrong-type, unknown-field and ray-start-param-not-string and
 * live in the arena. */
void lint_shape_check(struct cJSON *object, const struct field *fields, const char *kind,
		      struct arena *arena, struct lint_findings *findings);
/* The same of one value whose type alone is known; elements of lists of objects are not checked. */
void lint_shape_value(const struct json_at *at, enum field_kind kind, const char *object_kind,
		      struct lint_findings *findings);
/* True for a further finding on a value of the wrong type, because rules saw its replacement, or on a key that is there
 * twice. The first
 * `shape_count` findings are those of lint_shape_check. */
bool lint_shape_hides(const struct lint_findings *findings, size_t shape_count, size_t i);

#endif
