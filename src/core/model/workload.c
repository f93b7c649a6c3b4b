#include "core/model/workload.h"

#include <string.h>

const char *work_kind_name(enum work_kind kind)
{
	static const char *const names[WORK_KINDS] = { "task", "actor", "placement_group",
						       "request_resources" };

	return names[kind];
}
