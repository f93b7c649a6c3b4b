#include "feature/in_place_resize/core/resize_step.h"

#include "base/int64.h"
#include "core/model/reason.h"

int64_t resize_step_rounded(int64_t amount, bool cpu)
{
	int64_t unit = cpu ? RESOURCE_MILLI : RESOURCE_UNIT;

	return (amount + unit - 1) / unit * unit;
}

struct resize_amount resize_step_amount(const struct plan_resize *resize, bool cpu)
{
	int64_t wanted = cpu ? resize->wanted.cpu : resize->wanted.memory;
	int64_t gap = cpu ? resize->gap.cpu : resize->gap.memory;

	if (!(cpu ? resize->has_cpu_limit : resize->has_memory_limit))
		return (struct resize_amount){ -1, resize_step_rounded(wanted, cpu) };
	return (struct resize_amount){ resize_step_rounded(wanted, cpu),
				       resize_step_rounded(wanted - gap, cpu) };
}

bool resize_step_shrinks(const struct plan_resize *resize, struct plan_size *ret_size)
{
	const struct plan_size *now = &resize->now, *wanted = &resize->wanted;

	*ret_size = (struct plan_size){ int64_min(wanted->cpu, now->cpu),
					int64_min(wanted->memory, now->memory) };
	return wanted->cpu < now->cpu || wanted->memory < now->memory;
}

void resize_step_answered(struct plan_resize *resize, const struct plan_size *answer, time_ms now)
{
	if (resize->wanted.cpu < resize->now.cpu)
		resize->wanted.cpu = answer->cpu;
	if (resize->wanted.memory < resize->now.memory)
		resize->wanted.memory = answer->memory;
	if (resize->wanted.cpu != resize->asked.cpu ||
	    resize->wanted.memory != resize->asked.memory)
		return;
	resize->wanted = resize->now;
	resize->reason = REASON_RESIZE_FAILED;
	resize->status.last_failed_at = now / MS_PER_SECOND;
	resize->status.last_failed_reason = resize->message;
}
