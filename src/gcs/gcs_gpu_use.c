#include "gcs/gcs_gpu_use.h"

#include <string.h>

#include "base/memory.h"
#include "codec/text/number.h"
#include "core/model/resources.h"
#include "gcs/gcs_list.h"
#include "ray.pb-c.h"

#define GROUP_GPU "GPU_group_"
/* ray: data/_internal/cluster_autoscaler/default_autoscaling_coordinator.py; Ray Train asks through it as well. */
#define COORDINATOR "_AutoscalingCoordinatorActor"

/* ray: serve/_private/. The class of a replica is "ServeReplica:app:deployment"; with placement_group_bundles there is
 * first a placement group "SERVE_REPLICA::app#deployment#id". */
#define SERVE_REPLICA "ServeReplica:"
#define SERVE_GROUP "SERVE_REPLICA::"

struct reading {
	struct gcs_list_reading list; /* first */
	VEC(struct gpu_use_row) rows;
	VEC(struct gpu_use_job) jobs;
	VEC(struct gpu_use_deployment) deployments;
	bool libraries;
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
	if (gcs_list_id(&reading->list, "jobId", ids->job, &added.job) < 0 ||
	    gcs_list_id(&reading->list, "nodeId", ids->node, &added.node) < 0 ||
	    gcs_list_id(&reading->list, "placementGroupId", ids->group, &added.group) < 0)
		return -1;
	added.name = gcs_list_text(&reading->list, row->name, GCS_LIST_NAME_MAX_BYTES);
	VEC_PUSH(reading->list.arena, &reading->rows, added);
	return 0;
}

/* ---- rows ---- */

/* A replica without a node waits for one. */
static void add_replica(struct reading *reading, const char *name)
{
	struct gpu_use_deployment *found = VEC_FIND(&reading->deployments, name, name);

	if (found)
		found->replicas++;
	else if (reading->deployments.count < GPU_USE_DEPLOYMENTS_MAX)
		VEC_PUSH(reading->list.arena, &reading->deployments,
			 ((struct gpu_use_deployment){ name, 1 }));
}

static void note_replica(struct reading *reading, const char *class_name)
{
	if (strncmp(class_name, SERVE_REPLICA, strlen(SERVE_REPLICA)) == 0)
		add_replica(reading,
			    gcs_list_text(&reading->list, class_name + strlen(SERVE_REPLICA),
					  GCS_LIST_NAME_MAX_BYTES));
}

static void note_replica_group(struct reading *reading, const char *group)
{
	const char *app, *deployment, *end;
	char *name;

	if (strncmp(group, SERVE_GROUP, strlen(SERVE_GROUP)) != 0)
		return;
	app = group + strlen(SERVE_GROUP);
	deployment = strchr(app, '#');
	end = deployment ? strchr(deployment + 1, '#') : NULL;
	if (!end || (size_t)(end - app) > GCS_LIST_NAME_MAX_BYTES)
		return;
	name = arena_strndup(reading->list.arena, app, (size_t)(end - app));
	name[deployment - app] = ':';
	add_replica(reading, gcs_list_text(&reading->list, name, GCS_LIST_NAME_MAX_BYTES));
}

/* An actor that is starting has its node only in its address. */
static int read_actor(struct gcs_list_reading *list, const void *message)
{
	struct reading *reading = (struct reading *)list;
	const Ray__ActorTableData *actor = message;
	struct gpu_use_row row = { .kind = GPU_HOLDER_ACTOR };

	if (actor->state == RAY__ACTOR_TABLE_DATA__ACTOR_STATE__DEAD)
		return 0;
	reading->libraries |= strcmp(actor->class_name, COORDINATOR) == 0;
	for (size_t i = 0; i < actor->n_required_resources; i++)
		add_gpus(actor->required_resources[i]->key, actor->required_resources[i]->value,
			 &row.gpus);
	row.name = actor->class_name;
	row.since = gcs_list_time(actor->start_time);
	if (actor->state != RAY__ACTOR_TABLE_DATA__ACTOR_STATE__ALIVE)
		row.since = TIME_NONE;
	struct row_ids ids =
		(struct row_ids){ actor->job_id, actor->node_id, actor->placement_group_id };
	if (ids.node.len == 0 && actor->address)
		ids.node = actor->address->node_id;
	if (ids.node.len == 0)
		note_replica(reading, actor->class_name);
	return add_row(reading, &row, &ids);
}

/* When the task began to run; TIME_NONE when it does not run. */
static time_ms running_since(const Ray__TaskStateUpdate *update)
{
	time_ms since = TIME_NONE;

	for (size_t i = 0; i < update->n_state_ts_ns; i++) {
		const Ray__TaskStateUpdate__StateTsNsEntry *entry = update->state_ts_ns[i];

		if (entry->key == GCS_TASK_FINISHED || entry->key == GCS_TASK_FAILED)
			return TIME_NONE;
		if (entry->key == GCS_TASK_RUNNING && entry->value > 0)
			since = gcs_list_time((uint64_t)entry->value / 1000000);
	}
	return since;
}

static int read_task(struct gcs_list_reading *list, const void *message)
{
	struct reading *reading = (struct reading *)list;
	const Ray__TaskEvents *events = message;
	const Ray__TaskInfoEntry *info = events->task_info;
	struct gpu_use_row row = { .kind = GPU_HOLDER_TASK };

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

static int read_group(struct gcs_list_reading *list, const void *message)
{
	struct reading *reading = (struct reading *)list;
	const Ray__PlacementGroupTableData *group = message;

	if (group->state == RAY__PLACEMENT_GROUP_TABLE_DATA__PLACEMENT_GROUP_STATE__REMOVED)
		return 0;
	if (group->state == RAY__PLACEMENT_GROUP_TABLE_DATA__PLACEMENT_GROUP_STATE__PENDING ||
	    group->state == RAY__PLACEMENT_GROUP_TABLE_DATA__PLACEMENT_GROUP_STATE__RESCHEDULING)
		note_replica_group(reading, group->name);
	for (size_t i = 0; i < group->n_bundles; i++) {
		const Ray__Bundle *bundle = group->bundles[i];
		struct gpu_use_row row = { .kind = GPU_HOLDER_GROUP, .name = group->name };
		int64_t placed = group->placement_group_final_bundle_placement_timestamp_ms;

		for (size_t k = 0; k < bundle->n_unit_resources; k++)
			add_gpus(bundle->unit_resources[k]->key, bundle->unit_resources[k]->value,
				 &row.gpus);
		row.since = placed > 0 ? gcs_list_time((uint64_t)placed) : TIME_NONE;
		if (add_row(reading, &row,
			    &(struct row_ids){ group->creator_job_id, bundle->node_id,
					       group->placement_group_id }) < 0)
			return -1;
		if (reading->rows.count > GCS_GPU_USE_ROWS_MAX)
			return err_set(list->err, ERR_LIMIT,
				       "more than %d bundles with GPUs; the whole reply is refused",
				       GCS_GPU_USE_ROWS_MAX);
	}
	return 0;
}

static int read_job(struct gcs_list_reading *list, const void *message)
{
	struct reading *reading = (struct reading *)list;
	const Ray__JobTableData *job = message;
	struct gpu_use_job read = { .submission = "" };

	if (gcs_list_id(list, "jobId", job->job_id, &read.id) < 0)
		return -1;
	read.submission = gcs_list_submission(list, job);
	read.entrypoint = gcs_list_text(list, job->entrypoint, GCS_GPU_USE_ENTRYPOINT_MAX_BYTES);
	VEC_PUSH(reading->list.arena, &reading->jobs, read);
	return 0;
}

/* ---- lists ---- */

static void finish(const struct gcs_list_reading *list, struct gcs_reply *ret_reply)
{
	const struct reading *reading = (const struct reading *)list;
	struct gpu_use *use = ARENA_NEW(list->arena, struct gpu_use);

	*use = (struct gpu_use){
		.rows = reading->rows.at,
		.row_count = reading->rows.count,
		.jobs = reading->jobs.at,
		.job_count = reading->jobs.count,
		.missing = list->missing,
		.dropped = list->dropped,
		.deployments = reading->deployments.at,
		.deployment_count = reading->deployments.count,
		.libraries = reading->libraries,
	};
	ret_reply->gpu_use = use;
}

const struct gcs_list_use gcs_gpu_use = {
	.rows_max = GCS_GPU_USE_ROWS_MAX,
	.reply_max_bytes = GCS_GPU_USE_REPLY_MAX_BYTES,
	.running = true,
	.reading_size = sizeof(struct reading),
	.read = {
		[RAY_LIST_ACTORS] = read_actor,
		[RAY_LIST_TASKS] = read_task,
		[RAY_LIST_GROUPS] = read_group,
		[RAY_LIST_JOBS] = read_job,
	},
	.finish = finish,
};
