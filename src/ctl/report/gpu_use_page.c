#include "ctl/report/list_page.h"

#include "base/memory.h"
#include "codec/objects/gpu_holders_json.h"
#include "core/report/gpu_holders.h"
#include "ctl/pass/pass.h"
#include "gcs/gcs_gpu_use.h"

#define BUDGET_BYTES ((size_t)64 << 20)

static void *begin(const void *self UNUSED, const struct pass_decision *decision,
		   struct arena *arena)
{
	struct gpu_holders *holders = ARENA_NEW(arena, struct gpu_holders);

	gpu_holders_begin(decision->plan, arena, holders);
	holders->at = decision->now;
	return holders;
}

static void write(void *own, const struct list_answer *lists, const char *problem,
		  struct arena *arena, struct json_writer *writer)
{
	struct gpu_holders *holders = own;
	const struct gpu_use *uses[RAY_LISTS];
	const char *problems[RAY_LISTS];

	holders->problem = problem;
	if (lists) {
		for (size_t i = 0; i < RAY_LISTS; i++) {
			uses[i] = lists[i].reply.gpu_use;
			problems[i] = lists[i].problem;
		}
		gpu_holders_join(holders, uses, problems, arena);
	}
	field_write_all(writer, gpu_holders_fields, holders);
}

const struct list_page_kind gpu_use_page = {
	.path = "gpu-holders",
	.name = "GpuHolders",
	.what = "the actors, tasks and placement groups that hold GPUs",
	.budget_name = "all answers about GPUs in use",
	.budget_bytes = BUDGET_BYTES,
	.use = &gcs_gpu_use,
	.begin = begin,
	.write = write,
};
