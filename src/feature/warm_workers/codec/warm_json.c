#include "feature/warm_workers/codec/warm_json.h"

/* The value stays as it is, so that the file form has it. */
static int check_warm_amount(const struct json_at *member, const struct field *field, void *object)
{
	const int64_t *amount = field_value(field, object);

	if (*amount < 0 || *amount > (int64_t)field->limit)
		json_problem(member, "must be 1 to %zu, is %lld; it counts as not given",
			     field->limit, (long long)*amount);
	return 0;
}

const struct field warm_fields[] = {
	FIELD_TEXT(struct autoscaler_warm, group, "group", .read = field_group_name_decode,
		   .flags = FIELD_REQUIRED, .description = "A groupName.",
		   .schema = "minLength: 1\nmaxLength: 253"),
	FIELD_INTEGER(struct autoscaler_warm, count, "count", .check = check_warm_amount,
		      .limit = AUTOSCALER_WARM_COUNT_MAX, .description = "Replicas.",
		      .schema = "format: int32\nminimum: 1\nmaximum: 100000"),
	FIELD_INTEGER(struct autoscaler_warm, percent_of_busy, "percentOfBusy",
		      .check = check_warm_amount, .limit = AUTOSCALER_WARM_PERCENT_MAX,
		      .description = "Of the group's replicas in use, rounded up.",
		      .schema = "format: int32\nminimum: 1\nmaximum: 1000"),
	FIELD_NAMES(NULL),
};
