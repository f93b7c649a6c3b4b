/* The lists of a GCS for a recording; the first byte selects the list. Laws: what is read is within
 * the limits and the budget, a refusal has a text, and the rows can be written as JSON and read
 * back. */
#include "gcs_list_fuzz.h"

#include <string.h>

#include "codec/text/json_write.h"
#include "feature/record/gcs/gcs_work.h"
#include "feature/record/objects/ray_work_json.h"

static void check_rows(const struct ray_work *work)
{
	REQUIRE(work->row_count <= GCS_WORK_ROWS_MAX);
	REQUIRE(work->job_count <= GCS_WORK_ROWS_MAX);
	REQUIRE(work->missing >= 0 && work->dropped >= 0);
	for (size_t i = 0; i < work->row_count; i++) {
		const struct ray_work_row *row = &work->rows[i];

		REQUIRE(row->kind < WORK_REQUEST_RESOURCES);
		REQUIRE(row->strategy < PLACEMENT_STRATEGIES);
		REQUIRE(row->bundle_count <= GCS_WORK_BUNDLES_MAX);
		for (size_t k = 0; k < row->bundle_count; k++)
			REQUIRE(row->bundles[k].resources.count > 0 &&
				row->bundles[k].resources.at[0].amount > 0);
	}
}

static void check_json(const struct ray_work *work, struct arena *arena)
{
	struct ray_work_page page = { .at = 0,
				      .problem = "",
				      .rows = work->rows,
				      .row_count = work->row_count,
				      .jobs = work->jobs,
				      .job_count = work->job_count };
	AUTO(buf_done) struct buf text;
	struct ray_work_page again;
	struct json_writer writer;
	struct err err;

	buf_init(&text, RAY_WORK_BYTES_MAX);
	json_write_init(&writer, &text, JSON_STYLE_LINE);
	field_write_object(&writer, NULL, ray_work_fields, &page);
	REQUIRE(!text.overflowed);
	REQUIRE(ray_work_read(text.data, text.size, arena, &again, &err) == 0);
	REQUIRE(again.row_count + (size_t)again.unusable == work->row_count);
	REQUIRE(again.job_count == work->job_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct list_fuzz fuzz;
	enum ray_list list;

	if (size == 0)
		return 0;
	list = (enum ray_list)(data[0] % RAY_LISTS);
	list_fuzz_read(&fuzz, &gcs_work, list, data + 1, size - 1);
	if (fuzz.read_small)
		REQUIRE(fuzz.reply_small.work->row_count == fuzz.reply.work->row_count);
	if (fuzz.read) {
		check_rows(fuzz.reply.work);
		check_json(fuzz.reply.work, &fuzz.arena);
	}
	list_fuzz_done(&fuzz);
	return 0;
}
