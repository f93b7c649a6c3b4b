/* The lists of a GCS: actors, tasks, placement groups and jobs. One request each, of a limited number
 * of rows: a GCS has no pages. The users, as gcs_gpu_use, read the rows.
 * Internal to gcs and to the parts `gcs` of features. */
#ifndef GCS_GCS_LIST_H
#define GCS_GCS_LIST_H

#include "base/arena.h"
#include "base/err.h"
#include "base/time.h"
#include "core/model/ray_list.h"
#include "gcs/gcs_call.h"

#define GCS_LIST_ID_MAX_BYTES ((size_t)64)
#define GCS_LIST_NAME_MAX_BYTES ((size_t)200) /* longer names are cut */

/* Of TaskStatus, src/ray/protobuf/common.proto. */
enum gcs_task_status {
	GCS_TASK_PENDING_ARGS = 1,
	GCS_TASK_PENDING_NODE = 2,
	GCS_TASK_RUNNING = 8,
	GCS_TASK_FINISHED = 11,
	GCS_TASK_FAILED = 12,
};

/* One reply while it is read: the first member of the user's own struct. */
struct gcs_list_reading {
	const struct gcs_list_use *use;
	struct arena *arena; /* of the result */
	struct arena entry;  /* of the row that is read */
	struct err *err;
	size_t received;
	int64_t total, truncated;
	int64_t missing; /* rows that the GCS has and did not send; known at the end */
	int64_t dropped; /* tasks that the GCS forgot */
};

/* Reads one row: Ray__ActorTableData, Ray__TaskEvents, Ray__PlacementGroupTableData or
 * Ray__JobTableData, by its list. It is freed after the call. */
typedef int gcs_list_row(struct gcs_list_reading *reading, const void *message);

/* How one user reads the lists. */
struct gcs_list_use {
	size_t rows_max; /* that are requested; a reply with more is refused */
	size_t reply_max_bytes;
	bool running;        /* of tasks only those that run */
	size_t reading_size; /* of the user's own struct, which begins with zeros */
	gcs_list_row *read[RAY_LISTS];
	/* Sets the user's member of the reply from all rows. */
	void (*finish)(const struct gcs_list_reading *reading, struct gcs_reply *ret_reply);
};

/* Reads a reply: the status, the counts and each row. ERR_INPUT: not this reply. ERR_LIMIT,
 * ERR_RETRY: above a limit or the arena's budget; the job was cancelled. job may be NULL. Pure; any
 * thread. */
int gcs_list_decode(const struct gcs_list_use *use, enum ray_list list, const void *data,
		    size_t size, const struct work_job *job, struct arena *arena,
		    struct gcs_reply *ret_reply, struct err *err);

/* For rows: text and ids in `arena`. */
const char *gcs_list_text(const struct gcs_list_reading *reading, const char *text,
			  size_t max_bytes);
int gcs_list_id(const struct gcs_list_reading *reading, const char *member, ProtobufCBinaryData id,
		const char **ret_hex);
/* TIME_NONE for 0 and for times that none can be. */
time_ms gcs_list_time(uint64_t ms);
/* The id of the Ray job (`raysubmit_...`) in the arena; "": it was not submitted as one. */
const char *gcs_list_submission(const struct gcs_list_reading *reading,
				const Ray__JobTableData *job);

#endif
