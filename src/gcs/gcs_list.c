#include "gcs/gcs_list.h"

#include <string.h>

#include "base/budget.h"
#include "gcs/gcs_message.h"
#include "gcs/gcs_wire.h"
#include "net/work.h"
#include "ray.pb-c.h"

#define JOB_SUBMISSION_KEY "job_submission_id" /* ray: dashboard/modules/job/common.py */
#define MISSING_MAX INT64_C(1000000000000)     /* sums of several are valid */
#define TIME_MAX_MS INT64_C(253402300799999)   /* the end of year 9999 */

static const struct list_kind {
	const ProtobufCMessageDescriptor *reply, *row;
} lists[] = {
	[RAY_LIST_ACTORS] = { &ray__get_all_actor_info_reply__descriptor,
			      &ray__actor_table_data__descriptor },
	[RAY_LIST_TASKS] = { &ray__get_task_events_reply__descriptor,
			     &ray__task_events__descriptor },
	[RAY_LIST_GROUPS] = { &ray__get_all_placement_group_reply__descriptor,
			      &ray__placement_group_table_data__descriptor },
	[RAY_LIST_JOBS] = { &ray__get_all_job_info_reply__descriptor,
			    &ray__job_table_data__descriptor },
};

/* ---- values ---- */

time_ms gcs_list_time(uint64_t ms)
{
	return ms == 0 || ms > TIME_MAX_MS ? TIME_NONE : (time_ms)ms;
}

const char *gcs_list_text(const struct gcs_list_reading *reading, const char *text,
			  size_t max_bytes)
{
	return arena_strdup(reading->arena, arena_cut(reading->arena, text, max_bytes));
}

int gcs_list_id(const struct gcs_list_reading *reading, const char *member, ProtobufCBinaryData id,
		const char **ret_hex)
{
	if (id.len > GCS_LIST_ID_MAX_BYTES)
		return err_set(reading->err, ERR_LIMIT,
			       "row %zu: %s has %zu bytes, above the limit of %zu; the whole reply "
			       "is refused",
			       reading->received, member, id.len, GCS_LIST_ID_MAX_BYTES);
	*ret_hex = gcs_message_hex(reading->arena, id);
	return 0;
}

const char *gcs_list_submission(const struct gcs_list_reading *reading,
				const Ray__JobTableData *job)
{
	if (!job->config)
		return "";
	for (size_t i = 0; i < job->config->n_metadata; i++)
		if (strcmp(job->config->metadata[i]->key, JOB_SUBMISSION_KEY) == 0)
			return gcs_list_text(reading, job->config->metadata[i]->value,
					     GCS_LIST_NAME_MAX_BYTES);
	return "";
}

/* A message in `entry`. */
static const void *unpack(struct gcs_list_reading *reading,
			  const ProtobufCMessageDescriptor *message, const struct gcs_bytes *body)
{
	return gcs_message_unpack(message, body->at, gcs_bytes_size(body), &reading->entry,
				  reading->err);
}

/* ---- replies ---- */

static int read_status(struct gcs_list_reading *reading, const struct gcs_bytes *body)
{
	const Ray__GcsStatus *status = unpack(reading, &ray__gcs_status__descriptor, body);

	return status ? gcs_status_check(status, reading->err) : -1;
}

static int read_row(struct gcs_list_reading *reading, enum ray_list list,
		    const struct work_job *job, const struct gcs_bytes *body)
{
	const void *row;

	if (reading->received++ >= reading->use->rows_max)
		return err_set(reading->err, ERR_LIMIT,
			       "more than the %zu rows that were asked for; the whole reply is "
			       "refused",
			       reading->use->rows_max);
	if (job && work_is_cancelled(job))
		return err_set(reading->err, ERR_RETRY, "the reply is not needed any more");
	row = unpack(reading, lists[list].row, body);
	if (!row || reading->use->read[list](reading, row) < 0)
		return -1;
	if (reading->arena->over_budget || reading->entry.over_budget)
		return budget_refuse(reading->arena->budget, 0, reading->err);
	arena_reset(&reading->entry);
	return 0;
}

/* All four replies have the same numbers: 1 status, 2 rows, 3 total; those of tasks 4 and 7. */
static int read_field(struct gcs_list_reading *reading, enum ray_list list,
		      const struct work_job *job, const struct gcs_field *field)
{
	int64_t value = (int64_t)field->value;

	switch (field->number) {
	case 1:
		return read_status(reading, &field->body);
	case 2:
		return read_row(reading, list, job, &field->body);
	case 3:
		reading->total = value;
		return 0;
	case 4:
		reading->dropped = value > 0 ? value : 0;
		return 0;
	case 7:
		reading->truncated = value > 0 ? value : 0;
		return 0;
	default:
		return 0;
	}
}

static int64_t missing_rows(const struct gcs_list_reading *reading)
{
	int64_t missing = reading->total > (int64_t)reading->received ?
				  reading->total - (int64_t)reading->received :
				  reading->truncated;

	return missing < MISSING_MAX ? missing : MISSING_MAX;
}

static int read_reply(struct gcs_list_reading *reading, enum ray_list list, const void *data,
		      size_t size, const struct work_job *job)
{
	struct gcs_bytes bytes = gcs_bytes_of(data, size);
	struct gcs_field field;

	while (gcs_wire_next_known(&bytes, lists[list].reply, &field))
		if (read_field(reading, list, job, &field) < 0)
			return -1;
	return bytes.bad ? gcs_message_refuse(lists[list].reply, size, reading->err) : 0;
}

int gcs_list_decode(const struct gcs_list_use *use, enum ray_list list, const void *data,
		    size_t size, const struct work_job *job, struct arena *arena,
		    struct gcs_reply *ret_reply, struct err *err)
{
	struct gcs_list_reading *reading = arena_alloc(arena, use->reading_size);

	*reading = (struct gcs_list_reading){
		.use = use, .arena = arena, .entry = { .budget = arena->budget }, .err = err
	};
	int status = read_reply(reading, list, data, size, job);
	if (status == 0) {
		reading->missing = missing_rows(reading);
		use->finish(reading, ret_reply);
	}
	arena_done(&reading->entry);
	return status;
}
