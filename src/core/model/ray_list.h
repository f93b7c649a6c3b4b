/* The lists of work of a GCS, one request each (gcs/gcs_list.h). */
#ifndef CORE_MODEL_RAY_LIST_H
#define CORE_MODEL_RAY_LIST_H

enum ray_list {
	RAY_LIST_ACTORS,
	RAY_LIST_TASKS,
	RAY_LIST_GROUPS, /* placement groups */
	RAY_LIST_JOBS,
	RAY_LISTS
};

/* "actors", "tasks", "placement groups", "jobs" */
const char *ray_list_name(enum ray_list list);

#endif
