/* The names of a field table, for errors about a member that it does not have. */
#ifndef CODEC_SCHEMA_FIELD_NAMES_H
#define CODEC_SCHEMA_FIELD_NAMES_H

#include "base/nearest.h"
#include "core/model/field.h"

/* "a, b, c", of at most about 300 bytes; ends with ", ..." when names were left out. */
const char *field_names_text(const struct field *fields, struct arena *arena);
void field_names_offer(struct nearest *nearest, const struct field *fields);
/* "; did you mean a?", or "; it has a, b, c" when none is near. */
const char *field_names_hint(const struct field *fields, const char *name, struct arena *arena);

#endif
