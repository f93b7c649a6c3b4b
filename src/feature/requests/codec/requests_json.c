#include "feature/requests/codec/requests_json.h"

#define SPEC struct requests_spec
#define KEPT struct requests_kept

const struct field requests_spec_fields[] = {
	FIELD_BOOLEAN(SPEC, report, "reportClusterConfig", .has = FIELD_HAS(SPEC, has_report),
		      .description = "False: Ray gets no resources and bounds of worker groups."),
	FIELD_INTEGER(SPEC, unused_after_seconds, "unusedAfterSeconds",
		      .has = FIELD_HAS(SPEC, has_unused_after), .check = field_check_not_negative,
		      .description = "A request keeps no worker with accelerators that is unused "
				     "for so long, 0: any.",
		      .schema = "format: int32\nminimum: 0\nmaximum: 31536000"),
	FIELD_INTEGER(SPEC, ahead_of_use, "aheadOfUse", .has = FIELD_HAS(SPEC, has_ahead_of_use),
		      .check = field_check_not_negative,
		      .description = "A request starts at most so many accelerators beyond those "
				     "that work uses or waits for.",
		      .schema = "format: int32\nminimum: 0\nmaximum: 1000000"),
	FIELD_NAMES(NULL),
};

const struct field requests_kept_fields[] = {
	FIELD_AMOUNT(KEPT, asked, "asked", .flags = FIELD_ALWAYS | FIELD_QUOTED,
		     .description = "The most accelerators that it asked for."),
	FIELD_TIME(KEPT, since, "since", .description = "When that last grew."),
	FIELD_TIME(KEPT, unused_since, "unusedSince",
		   .description = "When workers were first unused: since then it starts none."),
	FIELD_END,
};
