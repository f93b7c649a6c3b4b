/* The lists of a GCS that show who uses GPUs; the first byte selects the list. Laws: what is read is
 * within the limits and the budget, a refusal has a text, and the rows, joined with two workers, can
 * be written as JSON and read back. */
#include "gcs_list_fuzz.h"

#include <string.h>

#include "codec/objects/gpu_holders_json.h"
#include "codec/text/json_write.h"
#include "core/report/gpu_holders.h"
#include "gcs/gcs_gpu_use.h"

static void check_rows(const struct gpu_use *use)
{
	REQUIRE(use->row_count <= GCS_GPU_USE_ROWS_MAX);
	REQUIRE(use->job_count <= GCS_GPU_USE_ROWS_MAX);
	REQUIRE(use->missing >= 0 && use->dropped >= 0);
	for (size_t i = 0; i < use->row_count; i++) {
		const struct gpu_use_row *row = &use->rows[i];

		REQUIRE(row->gpus > 0 && row->node[0] != '\0' && row->kind != GPU_HOLDER_NONE);
		REQUIRE(strlen(row->name) <= GCS_LIST_NAME_MAX_BYTES);
		REQUIRE(row->since == TIME_NONE || row->since > 0);
	}
	for (size_t i = 0; i < use->job_count; i++)
		REQUIRE(strlen(use->jobs[i].entrypoint) <= GCS_GPU_USE_ENTRYPOINT_MAX_BYTES);
}

static void check_json(const struct gpu_holders *holders, struct arena *arena)
{
	AUTO(buf_done) struct buf text;
	struct gpu_holders again;
	struct json_writer writer;
	struct err err;

	buf_init(&text, (size_t)64 << 20);
	json_write_init(&writer, &text, JSON_STYLE_LINE);
	field_write_object(&writer, NULL, gpu_holders_fields, holders);
	REQUIRE(!text.overflowed);
	REQUIRE(gpu_holders_read(text.data, text.size, arena, &again, &err) == 0);
	REQUIRE(again.worker_count == holders->worker_count);
	for (size_t i = 0; i < again.worker_count; i++)
		REQUIRE(again.workers[i].holder_count == holders->workers[i].holder_count &&
			again.workers[i].unnamed == holders->workers[i].unnamed);
}

/* The list is each of the lists, so that rows of one kind meet those of others. */
static void check_join(const struct gpu_use *use, enum ray_list list, struct arena *arena)
{
	struct gpu_worker workers[] = {
		{ .pod = "w2", .group = "g", .node = "01", .gpus = 80000, .in_use = 80000 },
		{ .pod = "w1",
		  .group = "g",
		  .node = use->row_count > 0 ? use->rows[0].node : "",
		  .gpus = 80000,
		  .in_use = 40000 },
	};
	struct gpu_holders holders = { .problem = "", .workers = workers, .worker_count = 2 };
	const struct gpu_use *lists[RAY_LISTS] = { NULL };
	const char *const problems[RAY_LISTS] = { "a", "b", "c", "d" };

	lists[list] = use;
	lists[RAY_LIST_GROUPS] = use;
	gpu_holders_join(&holders, lists, problems, arena);
	for (size_t i = 0; i < holders.worker_count; i++) {
		const struct gpu_worker *worker = &holders.workers[i];

		REQUIRE(worker->holder_count <= GPU_HOLDERS_MAX);
		REQUIRE(worker->unnamed >= 0 && worker->unnamed <= worker->in_use);
		for (size_t k = 0; k < worker->holder_count; k++)
			REQUIRE(worker->holders[k].count > 0 && worker->holders[k].gpus > 0);
	}
	check_json(&holders, arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct list_fuzz fuzz;
	enum ray_list list;

	if (size == 0)
		return 0;
	list = (enum ray_list)(data[0] % RAY_LISTS);
	list_fuzz_read(&fuzz, &gcs_gpu_use, list, data + 1, size - 1);
	if (fuzz.read_small)
		REQUIRE(fuzz.reply_small.gpu_use->row_count == fuzz.reply.gpu_use->row_count);
	if (fuzz.read) {
		check_rows(fuzz.reply.gpu_use);
		check_join(fuzz.reply.gpu_use, list, &fuzz.arena);
	}
	list_fuzz_done(&fuzz);
	return 0;
}
