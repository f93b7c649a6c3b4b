#include "feature/record/gcs/gcs_work.h"

#include <string.h>

#include "base/memory.h"
#include "codec/text/number.h"
#include "gcs/gcs_list.h"
#include "gcs/gcs_message.h"
#include "ray.pb-c.h"

#define NODE_PREFIX "node:"
#define GROUP_INFIX "_group_"

struct reading {
	struct gcs_list_reading list; /* first */
	VEC(struct ray_work_row) rows;
	VEC(struct ray_work_job) jobs;
	int64_t unreadable; /* rows with a value that is out of its limits */
};

/* ---- values ---- */

static time_ms signed_time(int64_t ms)
{
	return ms > 0 ? gcs_list_time((uint64_t)ms) : TIME_NONE;
}

/* The bytes of the name without the suffix that it has in the placement group: "GPU" of
 * "GPU_group_HEX". 0: the resource does not count: "GPU_group_0_HEX" is the same GPU again,
 * "bundle_group_HEX" a mark of Ray, "node:10.0.0.1" a place. */
static size_t plain_size(const char *name, const char *group)
{
	size_t size = strlen(name), hex = strlen(group);
	size_t suffix = strlen(GROUP_INFIX) + hex;

	if (strncmp(name, NODE_PREFIX, strlen(NODE_PREFIX)) == 0)
		return 0;
	if (hex == 0 || size <= hex || strcmp(name + size - hex, group) != 0)
		return size;
	if (size <= suffix || strncmp(name + size - suffix, GROUP_INFIX, strlen(GROUP_INFIX)) != 0)
		return strstr(name, GROUP_INFIX) ? 0 : size;
	size -= suffix;
	return size == strlen("bundle") && strncmp(name, "bundle", size) == 0 ? 0 : size;
}

/* Of the three messages with resources, whose entries have equal members. */
struct needs {
	struct reading *reading;
	const char *group; /* hex */
	VEC(struct resource) resources;
	VEC(struct label) selector;
	bool bad;
};

static void add_resource(struct needs *needs, const char *name, double value)
{
	struct arena *arena = needs->reading->list.arena;
	size_t size = plain_size(name, needs->group);
	const char *problem = NULL;
	int64_t amount = amount_from_double(value, &problem);

	if (problem || size > GCS_LIST_NAME_MAX_BYTES)
		needs->bad = true;
	else if (size > 0 && amount > 0)
		VEC_PUSH(arena, &needs->resources,
			 ((struct resource){ arena_strndup(arena, name, size), amount }));
}

static void add_label(struct needs *needs, const char *key, const char *value)
{
	struct arena *arena = needs->reading->list.arena;

	if (strlen(key) > GCS_LIST_NAME_MAX_BYTES || strlen(value) > GCS_LIST_NAME_MAX_BYTES)
		needs->bad = true;
	else
		VEC_PUSH(arena, &needs->selector,
			 ((struct label){ arena_strdup(arena, key), arena_strdup(arena, value) }));
}

#define ADD_NEEDS(needs, message, list)                                                            \
	do {                                                                                       \
		for (size_t i = 0; i < (message)->n_##list; i++)                                   \
			add_resource((needs), (message)->list[i]->key, (message)->list[i]->value); \
		for (size_t i = 0; i < (message)->n_label_selector; i++)                           \
			add_label((needs), (message)->label_selector[i]->key,                      \
				  (message)->label_selector[i]->value);                            \
	} while (0)

static struct work_bundle bundle_of(const struct needs *needs)
{
	return (struct work_bundle){
		.resources = resources_sort(needs->resources.at, needs->resources.count),
		.selector = labels_sort(needs->selector.at, needs->selector.count),
	};
}

/* Adds the row of a task or an actor. */
static void add_single(struct ray_work_row *row, const struct needs *needs)
{
	struct reading *reading = needs->reading;
	struct work_bundle *bundle;

	if (needs->bad) {
		reading->unreadable++;
		return;
	}
	if (needs->resources.count > 0) {
		bundle = ARENA_NEW(reading->list.arena, struct work_bundle);
		*bundle = bundle_of(needs);
		row->bundles = bundle;
		row->bundle_count = 1;
	}
	VEC_PUSH(reading->list.arena, &reading->rows, *row);
}

/* ---- rows ---- */

static int read_actor(struct gcs_list_reading *list, const void *message)
{
	struct reading *reading = (struct reading *)list;
	const Ray__ActorTableData *actor = message;
	struct ray_work_row row = { .kind = WORK_ACTOR, .submitted = TIME_NONE };
	struct needs needs = { .reading = reading };

	if (gcs_list_id(list, "actorId", actor->actor_id, &row.id) < 0 ||
	    gcs_list_id(list, "nodeId", actor->node_id, &row.node) < 0 ||
	    gcs_list_id(list, "jobId", actor->job_id, &row.job) < 0 ||
	    gcs_list_id(list, "placementGroupId", actor->placement_group_id, &row.group) < 0)
		return -1;
	row.over = actor->state == RAY__ACTOR_TABLE_DATA__ACTOR_STATE__DEAD;
	row.started = gcs_list_time(actor->start_time);
	row.ended = row.over ? gcs_list_time(actor->end_time) : TIME_NONE;
	needs.group = row.group;
	ADD_NEEDS(&needs, actor, required_resources);
	add_single(&row, &needs);
	return 0;
}

static void read_times(const Ray__TaskStateUpdate *update, struct ray_work_row *row)
{
	time_ms waiting = TIME_NONE;

	for (size_t i = 0; i < update->n_state_ts_ns; i++) {
		const Ray__TaskStateUpdate__StateTsNsEntry *entry = update->state_ts_ns[i];
		time_ms time = signed_time(entry->value / 1000000);

		if (entry->key == GCS_TASK_PENDING_ARGS)
			waiting = time;
		else if (entry->key == GCS_TASK_PENDING_NODE)
			row->submitted = time;
		else if (entry->key == GCS_TASK_RUNNING)
			row->started = time;
		else if (entry->key == GCS_TASK_FINISHED || entry->key == GCS_TASK_FAILED)
			row->ended = time;
	}
	row->over = row->ended != TIME_NONE;
	if (row->submitted == TIME_NONE)
		row->submitted = waiting;
}

/* The creation of an actor: when it was ready to be placed, which the actor's own row lacks. */
static int read_creation(struct reading *reading, const Ray__TaskInfoEntry *info,
			 const struct ray_work_row *task)
{
	struct ray_work_row row = { .kind = WORK_ACTOR,
				    .job = task->job,
				    .group = "",
				    .node = "",
				    .submitted = task->submitted,
				    .started = TIME_NONE,
				    .ended = TIME_NONE };

	if (gcs_list_id(&reading->list, "actorId", info->actor_id, &row.id) < 0)
		return -1;
	if (row.submitted != TIME_NONE)
		VEC_PUSH(reading->list.arena, &reading->rows, row);
	return 0;
}

static int read_task(struct gcs_list_reading *list, const void *message)
{
	struct reading *reading = (struct reading *)list;
	const Ray__TaskEvents *events = message;
	const Ray__TaskInfoEntry *info = events->task_info;
	struct ray_work_row row = {
		.kind = WORK_TASK, .submitted = TIME_NONE, .started = TIME_NONE, .ended = TIME_NONE
	};
	struct needs needs = { .reading = reading };

	if (!info || !events->state_updates ||
	    (info->type != RAY__TASK_TYPE__NORMAL_TASK &&
	     info->type != RAY__TASK_TYPE__ACTOR_CREATION_TASK))
		return 0;
	read_times(events->state_updates, &row);
	if (gcs_list_id(list, "jobId", events->job_id, &row.job) < 0)
		return -1;
	if (info->type == RAY__TASK_TYPE__ACTOR_CREATION_TASK)
		return read_creation(reading, info, &row);
	if (gcs_list_id(list, "taskId", events->task_id, &row.id) < 0 ||
	    gcs_list_id(list, "nodeId", events->state_updates->node_id, &row.node) < 0 ||
	    gcs_list_id(list, "placementGroupId", info->placement_group_id, &row.group) < 0)
		return -1;
	if (events->attempt_number > 0)
		row.id = arena_printf(list->arena, "%s.%d", row.id, events->attempt_number);
	needs.group = row.group;
	ADD_NEEDS(&needs, info, required_resources);
	add_single(&row, &needs);
	return 0;
}

static int read_group(struct gcs_list_reading *list, const void *message)
{
	struct reading *reading = (struct reading *)list;
	const Ray__PlacementGroupTableData *group = message;
	struct ray_work_row row = {
		.kind = WORK_PLACEMENT_GROUP, .group = "", .node = "", .ended = TIME_NONE
	};
	struct work_bundle *bundles;

	if (gcs_list_id(list, "placementGroupId", group->placement_group_id, &row.id) < 0 ||
	    gcs_list_id(list, "jobId", group->creator_job_id, &row.job) < 0)
		return -1;
	row.over = group->state == RAY__PLACEMENT_GROUP_TABLE_DATA__PLACEMENT_GROUP_STATE__REMOVED;
	row.submitted = signed_time(group->placement_group_creation_timestamp_ms);
	row.started = signed_time(group->placement_group_final_bundle_placement_timestamp_ms);
	if (group->n_bundles == 0 || group->n_bundles > GCS_WORK_BUNDLES_MAX ||
	    (unsigned)group->strategy >= PLACEMENT_STRATEGIES) {
		reading->unreadable++;
		return 0;
	}
	bundles = arena_array(list->arena, group->n_bundles, sizeof(*bundles));
	for (size_t b = 0; b < group->n_bundles; b++) {
		struct needs needs = { .reading = reading, .group = "" };

		ADD_NEEDS(&needs, group->bundles[b], unit_resources);
		bundles[b] = bundle_of(&needs);
		if (needs.bad || needs.resources.count == 0) {
			reading->unreadable++;
			return 0;
		}
	}
	row.strategy = (enum placement_strategy)group->strategy;
	row.bundles = bundles;
	row.bundle_count = group->n_bundles;
	VEC_PUSH(list->arena, &reading->rows, row);
	return 0;
}

static int read_job(struct gcs_list_reading *list, const void *message)
{
	struct reading *reading = (struct reading *)list;
	const Ray__JobTableData *job = message;
	struct ray_work_job read;

	if (gcs_list_id(list, "jobId", job->job_id, &read.id) < 0)
		return -1;
	read.name = gcs_list_submission(list, job);
	read.ended = gcs_list_time(job->end_time);
	VEC_PUSH(list->arena, &reading->jobs, read);
	return 0;
}

/* ---- lists ---- */

static void finish(const struct gcs_list_reading *list, struct gcs_reply *ret_reply)
{
	const struct reading *reading = (const struct reading *)list;
	struct ray_work *work = ARENA_NEW(list->arena, struct ray_work);

	*work = (struct ray_work){
		.rows = reading->rows.at,
		.row_count = reading->rows.count,
		.jobs = reading->jobs.at,
		.job_count = reading->jobs.count,
		.missing = list->missing + reading->unreadable,
		.dropped = list->dropped,
	};
	ret_reply->work = work;
}

const struct gcs_list_use gcs_work = {
	.rows_max = GCS_WORK_ROWS_MAX,
	.reply_max_bytes = GCS_WORK_REPLY_MAX_BYTES,
	.reading_size = sizeof(struct reading),
	.read = {
		[RAY_LIST_ACTORS] = read_actor,
		[RAY_LIST_TASKS] = read_task,
		[RAY_LIST_GROUPS] = read_group,
		[RAY_LIST_JOBS] = read_job,
	},
	.finish = finish,
};
