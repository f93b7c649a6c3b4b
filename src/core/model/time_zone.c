#include "core/model/time_zone.h"

#define ZONE struct time_zone
#define CHANGE struct time_zone_change

static const struct field change_fields[] = {
	FIELD_TIME(CHANGE, at, "at", .flags = FIELD_ALWAYS),
	FIELD_INTEGER(CHANGE, offset_seconds, "offsetSeconds", .flags = FIELD_ALWAYS),
	FIELD_END,
};

const struct field time_zone_fields[] = {
	FIELD_TEXT(ZONE, name, "name", .flags = FIELD_ALWAYS),
	FIELD_TEXT(ZONE, problem, "problem", .flags = FIELD_NULLABLE),
	FIELD_INTEGER(ZONE, offset_seconds, "offsetSeconds", .flags = FIELD_ALWAYS),
	FIELD_LIST(ZONE, changes, change_count, change_fields, "changes", .flags = FIELD_LINE,
		   .limit = TIME_ZONE_CHANGES_MAX),
	FIELD_END,
};
