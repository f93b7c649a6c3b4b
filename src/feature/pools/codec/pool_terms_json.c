#include "feature/pools/codec/pool_terms_json.h"

#include "codec/schema/field.h"
#include "codec/text/json_write.h"
#include "core/model/plan.h"
#include "core/model/pool.h"

#define TERMS_MAX 100000 /* of each list */

#define GRANT struct pool_grant
#define RELEASE struct pool_release
#define TERMS struct pool_terms

static const struct pool_grant grant_initial = {
	.group = "", .repair_pool = "", .reason = REASON_WAITS_FOR_POOL, .message = ""
};
static const struct pool_release release_initial = { .pod = "",
						     .deadline = TIME_NONE,
						     .message = "" };

/* A reason that a pool does not give would be told as one that it does. */
static int grant_reason_check(const struct json_at *member UNUSED, const struct field *field UNUSED,
			      void *object)
{
	struct pool_grant *grant = object;

	if (!reason_has(grant->reason, TRAIT_POOL) && grant->reason != REASON_MAX_GPUS)
		grant->reason = REASON_WAITS_FOR_POOL;
	return 0;
}

static const struct field grant_fields[] = {
	FIELD_NAME(GRANT, group, "group", .flags = FIELD_REQUIRED),
	FIELD_INTEGER(GRANT, replicas, "replicas", .flags = FIELD_ALWAYS,
		      .most = POOL_REPLICAS_MAX),
	FIELD_BOOLEAN(GRANT, collects, "collects"),
	FIELD_TEXT(GRANT, repair_pool, "repairPool"),
	FIELD_INTEGER(GRANT, repair_nodes, "repairNodes"),
	FIELD_REASON(GRANT, reason, REASONS_OF_DEMAND, "reason", .check = grant_reason_check),
	FIELD_TEXT(GRANT, message, "message"),
	FIELD_END,
};

static const struct field release_fields[] = {
	FIELD_NAME(RELEASE, pod, "pod", .flags = FIELD_REQUIRED),
	FIELD_TIME(RELEASE, deadline, "deadline"),
	FIELD_TEXT(RELEASE, message, "message"),
	FIELD_END,
};

const struct field pool_terms_fields[] = {
	FIELD_LIST(TERMS, grants, grant_count, grant_fields, "grants", .flags = FIELD_LINE,
		   .initial = &grant_initial, .limit = TERMS_MAX, .strict = "a grant"),
	FIELD_LIST(TERMS, releases, release_count, release_fields, "releases", .flags = FIELD_LINE,
		   .initial = &release_initial, .limit = TERMS_MAX, .strict = "a release"),
	FIELD_AMOUNT(TERMS, most, "most", .flags = FIELD_QUOTED),
	FIELD_END,
};

/* ---- asks ---- */

static void write_part(struct json_writer *writer, const struct plan *plan,
		       const struct pool_ask_part *part)
{
	json_write_object(writer, NULL);
	json_write_text(writer, "group", plan->groups.at[part->group].name);
	json_write_integer(writer, "replicas", part->replicas);
	json_write_object_end(writer);
}

void pool_asks_write(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct plan *plan = object;

	if (plan->asks.count == 0)
		return;
	json_write_array(writer, field->name);
	VEC_EACH(const struct pool_ask, ask, &plan->asks) {
		json_write_object_line(writer, NULL);
		json_write_array(writer, "parts");
		VEC_EACH(const struct pool_ask_part, part, &ask->parts)
			write_part(writer, plan, part);
		json_write_array_end(writer);
		json_write_integer(writer, "count", ask->count);
		json_write_boolean(writer, "gang", ask->gang);
		if (ask->requested)
			json_write_boolean(writer, "requested", true);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}
