#include "core/model/ray_list.h"

const char *ray_list_name(enum ray_list list)
{
	static const char *const names[] = {
		[RAY_LIST_ACTORS] = "actors",
		[RAY_LIST_TASKS] = "tasks",
		[RAY_LIST_GROUPS] = "placement groups",
		[RAY_LIST_JOBS] = "jobs",
	};

	return names[list];
}
