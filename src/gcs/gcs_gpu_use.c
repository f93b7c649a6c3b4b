#include "gcs/gcs_gpu_use.h"

#include <string.h>

#include "base/budget.h"
#include "base/memory.h"
#include "base/text.h"
#include "codec/text/number.h"
#include "core/model/resources.h"
#include "gcs/gcs_call.h"
#include "gcs/gcs_message.h"
#include "gcs/gcs_wire.h"
#include "net/work.h"
#include "ray.pb-c.h"

#define JOB_SUBMISSION_KEY "job_submission_id" /* ray: dashboard/modules/job/common.py */
#define GROUP_GPU "GPU_group_"
#define TIME_MAX_MS INT64_C(253402300799999) /* the end of year 9999 */

/* Of TaskStatus, src/ray/protobuf/common.proto. */
enum { TASK_RUNNING = 8, TASK_FINISHED = 11, TASK_FAILED = 12 };

struct reading {
	struct arena *arena; /* of the result */
	struct arena entry;  /* of the row that is read */
	struct err *err;
	VEC(struct gpu_use_row) rows;
	VEC(struct gpu_use_job) jobs;
	size_t received;
	int64_t total, truncated, dropped;
};

/* ---- values ---- */

/* "GPU", and for work in a placement group "GPU_group_HEX". "GPU_group_0_HEX" is not counted: it
 * has the same GPUs again, by bundle. */
static bool is_gpu(const char *name)
{
	if (strcmp(name, "GPU") == 0)
		return true;
	return strncmp(name, GROUP_GPU, strlen(GROUP_GPU)) == 0 &&
	       !strchr(name + strlen(GROUP_GPU), '_');
}

/* An amount that is none counts as 0: this is only shown. */
static void add_gpus(const char *name, double value, int64_t *sum)
{
	const char *problem;

	if (is_gpu(name))
		*sum = resource_sum(*sum, amount_from_double(value, &problem));
}

static time_ms time_of_ms(uint64_t value)
{
	return value == 0 || value > TIME_MAX_MS ? TIME_NONE : (time_ms)value;
}

static const char *text_of(const struct reading *reading, const char *text, size_t max_bytes)
{
	return arena_strdup(reading->arena, text_cut(reading->arena, text, max_bytes));
}

static int read_id(const struct reading *reading, const char *member, ProtobufCBinaryData id,
		   const char **ret_hex)
{
	if (id.len > GCS_GPU_USE_ID_MAX_BYTES)
		return err_set(reading->err, ERR_LIMIT,
			       "row %zu: %s has %zu bytes, above the limit of %zu; the whole reply "
			       "is refused",
			       reading->received, member, id.len, GCS_GPU_USE_ID_MAX_BYTES);
	*ret_hex = gcs_message_hex(reading->arena, id);
	return 0;
}

struct row_ids {
	ProtobufCBinaryData job, node, group;
};

/* Adds the row when it uses GPUs of a node. */
static int add_row(struct reading *reading, const struct gpu_use_row *row,
		   const struct row_ids *ids)
{
	struct gpu_use_row added = *row;

	if (row->gpus <= 0 || ids->node.len == 0)
		return 0;
	if (read_id(reading, "jobId", ids->job, &added.job) < 0 ||
	    read_id(reading, "nodeId", ids->node, &added.node) < 0 ||
	    read_id(reading, "placementGroupId", ids->group, &added.group) < 0)
		return -1;
	added.name = text_of(reading, row->name, GCS_GPU_USE_NAME_MAX_BYTES);
	VEC_PUSH(reading->arena, &reading->rows, added);
	return 0;
}

static void *unpack(struct reading *reading, const ProtobufCMessageDescriptor *message,
		    const struct gcs_bytes *body)
{
	return gcs_message_unpack(message, body->at, gcs_bytes_size(body), &reading->entry,
				  reading->err);
}

/* ---- rows ---- */

/* An actor that is starting has its node only in its address. */
static int read_actor(struct reading *reading, const struct gcs_bytes *body)
{
	const Ray__ActorTableData *actor =
		unpack(reading, &ray__actor_table_data__descriptor, body);
	struct gpu_use_row row = { .kind = GPU_HOLDER_ACTOR };
	struct row_ids ids;

	if (!actor)
		return -1;
	if (actor->state == RAY__ACTOR_TABLE_DATA__ACTOR_STATE__DEAD)
		return 0;
	for (size_t i = 0; i < actor->n_required_resources; i++)
		add_gpus(actor->required_resources[i]->key, actor->required_resources[i]->value,
			 &row.gpus);
	row.name = actor->class_name;
	row.since = time_of_ms(actor->start_time);
	if (actor->state != RAY__ACTOR_TABLE_DATA__ACTOR_STATE__ALIVE)
		row.since = TIME_NONE;
	ids = (struct row_ids){ actor->job_id, actor->node_id, actor->placement_group_id };
	if (ids.node.len == 0 && actor->address)
		ids.node = actor->address->node_id;
	return add_row(reading, &row, &ids);
}

/* When the task began to run; TIME_NONE when it does not run. */
static time_ms running_since(const Ray__TaskStateUpdate *update)
{
	time_ms since = TIME_NONE;

	for (size_t i = 0; i < update->n_state_ts_ns; i++) {
		const Ray__TaskStateUpdate__StateTsNsEntry *entry = update->state_ts_ns[i];

		if (entry->key == TASK_FINISHED || entry->key == TASK_FAILED)
			return TIME_NONE;
		if (entry->key == TASK_RUNNING && entry->value > 0)
			since = time_of_ms((uint64_t)entry->value / 1000000);
	}
	return since;
}

static int read_task(struct reading *reading, const struct gcs_bytes *body)
{
	const Ray__TaskEvents *events = unpack(reading, &ray__task_events__descriptor, body);
	struct gpu_use_row row = { .kind = GPU_HOLDER_TASK };
	const Ray__TaskInfoEntry *info;

	if (!events)
		return -1;
	info = events->task_info;
	if (!info || !events->state_updates || info->type != RAY__TASK_TYPE__NORMAL_TASK)
		return 0;
	row.since = running_since(events->state_updates);
	if (row.since == TIME_NONE)
		return 0;
	for (size_t i = 0; i < info->n_required_resources; i++)
		add_gpus(info->required_resources[i]->key, info->required_resources[i]->value,
			 &row.gpus);
	row.name = info->func_or_class_name;
	return add_row(reading, &row,
		       &(struct row_ids){ events->job_id, events->state_updates->node_id,
					  info->placement_group_id });
}

static int read_group(struct reading *reading, const struct gcs_bytes *body)
{
	const Ray__PlacementGroupTableData *group =
		unpack(reading, &ray__placement_group_table_data__descriptor, body);

	if (!group)
		return -1;
	if (group->state == RAY__PLACEMENT_GROUP_TABLE_DATA__PLACEMENT_GROUP_STATE__REMOVED)
		return 0;
	for (size_t i = 0; i < group->n_bundles; i++) {
		const Ray__Bundle *bundle = group->bundles[i];
		struct gpu_use_row row = { .kind = GPU_HOLDER_GROUP, .name = group->name };
		int64_t placed = group->placement_group_final_bundle_placement_timestamp_ms;

		for (size_t k = 0; k < bundle->n_unit_resources; k++)
			add_gpus(bundle->unit_resources[k]->key, bundle->unit_resources[k]->value,
				 &row.gpus);
		row.since = placed > 0 ? time_of_ms((uint64_t)placed) : TIME_NONE;
		if (add_row(reading, &row,
			    &(struct row_ids){ group->creator_job_id, bundle->node_id,
					       group->placement_group_id }) < 0)
			return -1;
		if (reading->rows.count > GCS_GPU_USE_ROWS_MAX)
			return err_set(reading->err, ERR_LIMIT,
				       "more than %d bundles with GPUs; the whole reply is refused",
				       GCS_GPU_USE_ROWS_MAX);
	}
	return 0;
}

static int read_job(struct reading *reading, const struct gcs_bytes *body)
{
	const Ray__JobTableData *job = unpack(reading, &ray__job_table_data__descriptor, body);
	struct gpu_use_job read = { .submission = "" };

	if (!job || read_id(reading, "jobId", job->job_id, &read.id) < 0)
		return -1;
	for (size_t i = 0; job->config && i < job->config->n_metadata; i++)
		if (strcmp(job->config->metadata[i]->key, JOB_SUBMISSION_KEY) == 0)
			read.submission = text_of(reading, job->config->metadata[i]->value,
						  GCS_GPU_USE_NAME_MAX_BYTES);
	read.entrypoint = text_of(reading, job->entrypoint, GCS_GPU_USE_ENTRYPOINT_MAX_BYTES);
	VEC_PUSH(reading->arena, &reading->jobs, read);
	return 0;
}

/* ---- replies ---- */

static const struct list_kind {
	const char *path;
	const ProtobufCMessageDescriptor *reply;
	int (*read)(struct reading *reading, const struct gcs_bytes *body);
} lists[] = {
	[GPU_USE_ACTORS] = { "/ray.rpc.ActorInfoGcsService/GetAllActorInfo",
			     &ray__get_all_actor_info_reply__descriptor, read_actor },
	[GPU_USE_TASKS] = { "/ray.rpc.TaskInfoGcsService/GetTaskEvents",
			    &ray__get_task_events_reply__descriptor, read_task },
	[GPU_USE_GROUPS] = { "/ray.rpc.PlacementGroupInfoGcsService/GetAllPlacementGroup",
			     &ray__get_all_placement_group_reply__descriptor, read_group },
	[GPU_USE_JOBS] = { "/ray.rpc.JobInfoGcsService/GetAllJobInfo",
			   &ray__get_all_job_info_reply__descriptor, read_job },
};

static int read_status(struct reading *reading, const struct gcs_bytes *body)
{
	const Ray__GcsStatus *status = unpack(reading, &ray__gcs_status__descriptor, body);

	return status ? gcs_status_check(status, reading->err) : -1;
}

static int read_row(struct reading *reading, const struct list_kind *list,
		    const struct work_job *job, const struct gcs_bytes *body)
{
	if (reading->received++ >= GCS_GPU_USE_ROWS_MAX)
		return err_set(reading->err, ERR_LIMIT,
			       "more than the %d rows that were asked for; the whole reply is "
			       "refused",
			       GCS_GPU_USE_ROWS_MAX);
	if (job && work_is_cancelled(job))
		return err_set(reading->err, ERR_RETRY, "the reply is not needed any more");
	if (list->read(reading, body) < 0)
		return -1;
	if (reading->arena->over_budget || reading->entry.over_budget)
		return budget_refuse(reading->arena->budget, 0, reading->err);
	arena_reset(&reading->entry);
	return 0;
}

/* All four replies have the same numbers: 1 status, 2 rows, 3 total; those of tasks 4 and 7. */
static int read_field(struct reading *reading, const struct list_kind *list,
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

static void reading_done(struct reading *reading)
{
	arena_done(&reading->entry);
}

int gcs_gpu_use_decode(enum gpu_use_list list, const void *data, size_t size,
		       const struct work_job *job, struct arena *arena, struct gpu_use *ret_use,
		       struct err *err)
{
	AUTO(reading_done) struct reading reading = { .arena = arena, .err = err };
	struct gcs_bytes bytes = gcs_bytes_of(data, size);
	struct gcs_field field;

	reading.entry.budget = arena->budget;
	while (gcs_wire_next_known(&bytes, lists[list].reply, &field))
		if (read_field(&reading, &lists[list], job, &field) < 0)
			return -1;
	if (bytes.bad)
		return gcs_message_refuse(lists[list].reply, size, err);
	*ret_use = (struct gpu_use){
		.rows = reading.rows.at,
		.row_count = reading.rows.count,
		.jobs = reading.jobs.at,
		.job_count = reading.jobs.count,
		.missing = reading.truncated,
		.dropped = reading.dropped,
	};
	if (reading.total > (int64_t)reading.received)
		ret_use->missing = reading.total - (int64_t)reading.received;
	return 0;
}

/* ---- requests ---- */

/* Running tasks: those in none of the states before, and not ended. */
static void ask_tasks(struct gcs_call *call)
{
	static const char *const others[] = { "NIL",
					      "PENDING_ARGS_AVAIL",
					      "PENDING_NODE_ASSIGNMENT",
					      "SUBMITTED_TO_WORKER",
					      "FINISHED",
					      "FAILED" };
	enum { OTHERS = sizeof(others) / sizeof(others[0]) };
	Ray__GetTaskEventsRequest request = RAY__GET_TASK_EVENTS_REQUEST__INIT;
	Ray__GetTaskEventsRequest__Filters filters = RAY__GET_TASK_EVENTS_REQUEST__FILTERS__INIT;
	Ray__GetTaskEventsRequest__Filters__StateFilter states[OTHERS], *list[OTHERS];

	for (size_t i = 0; i < OTHERS; i++) {
		ray__get_task_events_request__filters__state_filter__init(&states[i]);
		states[i].predicate = RAY__FILTER_PREDICATE__NOT_EQUAL;
		states[i].state = (char *)others[i];
		list[i] = &states[i];
	}
	filters.exclude_driver = true;
	filters.state_filters = list;
	filters.n_state_filters = OTHERS;
	request.limit = GCS_GPU_USE_ROWS_MAX;
	request.filters = &filters;
	gcs_call_send_message(call, &request.base);
}

struct gcs_call *gcs_client_get_gpu_use(struct gcs_client *client, int64_t timeout_ms,
					enum gpu_use_list list, struct arena *arena, gcs_done *done,
					void *context)
{
	struct gcs_call *call =
		gcs_call_new(client, timeout_ms, lists[list].path, gcs_decode, done, context);
	Ray__GetAllActorInfoRequest actors = RAY__GET_ALL_ACTOR_INFO_REQUEST__INIT;
	Ray__GetAllPlacementGroupRequest groups = RAY__GET_ALL_PLACEMENT_GROUP_REQUEST__INIT;
	Ray__GetAllJobInfoRequest jobs = RAY__GET_ALL_JOB_INFO_REQUEST__INIT;

	call->arena = arena;
	call->gpu_use = (int)list;
	call->reply_ceiling_bytes = GCS_GPU_USE_REPLY_MAX_BYTES;
	actors.limit = groups.limit = jobs.limit = GCS_GPU_USE_ROWS_MAX;
	jobs.skip_submission_job_info_field = true;
	jobs.skip_is_running_tasks_field = true; /* else the GCS calls every driver */
	if (list == GPU_USE_ACTORS)
		gcs_call_send_message(call, &actors.base);
	else if (list == GPU_USE_TASKS)
		ask_tasks(call);
	else if (list == GPU_USE_GROUPS)
		gcs_call_send_message(call, &groups.base);
	else
		gcs_call_send_message(call, &jobs.base);
	return call;
}
