#include "feature/record/objects/ray_work_json.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/request_resources.h"
#include "codec/objects/workload_item.h"
#include "core/model/pod_starts.h"

FIELD_WORDS(work_kind, enum work_kind)
FIELD_WORDS(placement_strategy, enum placement_strategy)
FIELD_WORDS(ray_list, enum ray_list)

static const struct field row_fields[] = {
	FIELD_WORD(struct ray_work_row, kind, enum work_kind, work_kind_word, "kind",
		   .flags = FIELD_ALWAYS | FIELD_REQUIRED, .limit = WORK_REQUEST_RESOURCES),
	FIELD_NAME(struct ray_work_row, id, "id"),
	FIELD_NAME(struct ray_work_row, job, "job"),
	FIELD_NAME(struct ray_work_row, group, "placementGroup"),
	FIELD_NAME(struct ray_work_row, node, "node"),
	FIELD_TIME(struct ray_work_row, submitted, "submitted"),
	FIELD_TIME(struct ray_work_row, started, "started"),
	FIELD_TIME(struct ray_work_row, ended, "ended"),
	FIELD_BOOLEAN(struct ray_work_row, over, "over"),
	FIELD_WORD(struct ray_work_row, strategy, enum placement_strategy, placement_strategy_word,
		   "strategy", .limit = PLACEMENT_STRATEGIES),
	FIELD_LIST(struct ray_work_row, bundles, bundle_count, work_bundle_fields, "bundles",
		   .limit = WORKLOAD_BUNDLES_MAX),
	FIELD_END,
};

static const struct field job_fields[] = {
	FIELD_NAME(struct ray_work_job, id, "id", .flags = FIELD_ALWAYS),
	FIELD_NAME(struct ray_work_job, name, "submissionId"),
	FIELD_TIME(struct ray_work_job, ended, "ended"),
	FIELD_END,
};

static const struct field start_fields[] = {
	FIELD_NAME(struct ray_work_start, uid, "uid", .flags = FIELD_REQUIRED),
	FIELD_NAME(struct ray_work_start, group, "group", .flags = FIELD_REQUIRED),
	FIELD_TIME(struct ray_work_start, ready, "ready"),
	FIELD_INTEGER(struct ray_work_start, ms, "milliseconds"),
	FIELD_END,
};

static const struct field source_fields[] = {
	FIELD_WORD(struct ray_work_source, list, enum ray_list, ray_list_word, "list",
		   .flags = FIELD_ALWAYS | FIELD_REQUIRED, .limit = RAY_LISTS),
	FIELD_SHOWN(struct ray_work_source, problem, "problem"),
	FIELD_INTEGER(struct ray_work_source, missing, "missing", .most = INT64_MAX),
	FIELD_INTEGER(struct ray_work_source, dropped, "dropped", .most = INT64_MAX),
	FIELD_END,
};

/* ---- rows ---- */

/* As codec/objects/workload_item accepts them. */
static bool is_usable(const struct json_at *at, const struct work_bundle *bundle)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct err err;
	struct json_reader reader = { .arena = &scratch, .err = &err };
	struct json_at own = *at;
	struct ray_request request = { .bundle = NULL };
	bool any = false;

	own.reader = &reader;
	for (size_t i = 0; i < bundle->resources.count; i++) {
		any = any || bundle->resources.at[i].amount > 0;
		if (!ray_work_resource_is_usable(bundle->resources.at[i].name))
			return false;
	}
	return any && (bundle->selector.count == 0 ||
		       request_selector_decode(&own, "labelSelector", &request) == 0);
}

static bool is_usable_row(const struct json_at *at, const struct ray_work_row *row)
{
	struct json_at bundles = json_member(at, "bundles");
	size_t i = 0;

	if (row->bundle_count == 0)
		return row->kind != WORK_PLACEMENT_GROUP;
	if (row->kind != WORK_PLACEMENT_GROUP && row->bundle_count > 1)
		return false;
	for (struct json_at e = json_first(&bundles); e.json; json_next(&e))
		if (!is_usable(&e, &row->bundles[i++]))
			return false;
	return true;
}

static int rows_decode(const struct json_at *member, const struct field *field UNUSED, void *object)
{
	struct ray_work_page *page = object;
	VEC(struct ray_work_row) rows = { .at = NULL };

	if (json_optional(member, JSON_ARRAY))
		return -1;
	VEC_RESERVE(member->reader->arena, &rows, json_count(member));
	for (struct json_at e = json_first(member); e.json; json_next(&e)) {
		struct ray_work_row row = { .kind = WORK_TASK };

		if (json_expect(&e, JSON_OBJECT) || field_decode_all(&e, row_fields, &row))
			return -1;
		if (is_usable_row(&e, &row))
			VEC_PUSH(member->reader->arena, &rows, row);
		else
			page->unusable++;
	}
	page->rows = rows.at;
	page->row_count = rows.count;
	return 0;
}

const struct field ray_work_fields[] = {
	FIELD_TIME(struct ray_work_page, at, "at", .flags = FIELD_ALWAYS),
	FIELD_SHOWN(struct ray_work_page, problem, "problem"),
	FIELD_LIST(struct ray_work_page, sources, source_count, source_fields, "lists",
		   .flags = FIELD_LINE),
	FIELD_LIST(struct ray_work_page, jobs, job_count, job_fields, "jobs",
		   .flags = FIELD_ALWAYS | FIELD_LINE),
	FIELD_LIST(struct ray_work_page, starts, start_count, start_fields, "podStarts",
		   .flags = FIELD_LINE, .limit = POD_STARTS_MAX),
	FIELD_LIST(struct ray_work_page, rows, row_count, row_fields, "work",
		   .flags = FIELD_ALWAYS | FIELD_LINE, .read = rows_decode),
	FIELD_END,
};

int ray_work_read(const char *text, size_t size, struct arena *arena, struct ray_work_page *ret,
		  struct err *err)
{
	static const struct json_limits limits = { .bytes = RAY_WORK_BYTES_MAX,
						   .depth = 16,
						   .elements = 4000000 };
	AUTO(json_done) struct cJSON *json = NULL;
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root;

	*ret = (struct ray_work_page){ .problem = "" };
	if (json_parse(text, size, &limits, &json, err))
		return -1;
	root = json_root(json, "", &reader);
	if (json_expect(&root, JSON_OBJECT) || field_decode_all(&root, ray_work_fields, ret))
		return -1;
	if (reader.problems.count > 0)
		return err_set(err, ERR_INPUT, "%s", reader.problems.at[0]);
	return ret->at != TIME_NONE ? 0 : err_set(err, ERR_INPUT, "at: is missing");
}
