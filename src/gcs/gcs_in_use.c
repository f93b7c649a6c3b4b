#include "gcs/gcs_in_use.h"

#include <string.h>

#include "base/memory.h"
#include "codec/text/json.h"
#include "gcs/gcs_decode.h"
#include "gcs/gcs_list.h"
#include "gcs/gcs_message.h"
#include "ray.pb-c.h"

#define INTERNAL_NAMESPACE "_ray_internal_" /* ray: RAY_INTERNAL_NAMESPACE_PREFIX */
#define JOBS_SERVICE "/ray.rpc.InternalKVGcsService/"
#define SUBMITTED_NAMESPACE "job" /* ray: KV_NAMESPACE_JOB, dashboard/modules/job/common.py */
#define SUBMITTED_PREFIX "_ray_internal_job_info_"
#define SUBMITTED_MAX_BYTES ((size_t)1 << 20)

struct reading {
	struct gcs_list_reading list; /* first */
	const char *user;
	time_ms ended; /* 0: none */
};

/* ---- rows ---- */

static void note_use(struct reading *reading, const char *kind, const char *name, const char *id,
		     const char *state)
{
	if (reading->user)
		return;
	reading->user = arena_printf(reading->list.arena, "%s%s%s %s %s", kind,
				     name[0] != '\0' ? " " : "",
				     gcs_list_text(&reading->list, name, GCS_LIST_NAME_MAX_BYTES),
				     id, state);
}

static void note_end(struct reading *reading, uint64_t ms)
{
	time_ms ended = gcs_list_time(ms);

	if (ended > reading->ended)
		reading->ended = ended;
}

static int read_actor(struct gcs_list_reading *list, const void *message)
{
	struct reading *reading = (struct reading *)list;
	const Ray__ActorTableData *actor = message;
	const char *id;

	if (gcs_list_id(list, "actorId", actor->actor_id, &id) < 0)
		return -1;
	if (actor->state == RAY__ACTOR_TABLE_DATA__ACTOR_STATE__DEAD)
		note_end(reading, actor->end_time);
	else
		note_use(reading, "actor", actor->class_name, id, "is alive");
	return 0;
}

static int read_group(struct gcs_list_reading *list, const void *message)
{
	struct reading *reading = (struct reading *)list;
	const Ray__PlacementGroupTableData *group = message;
	const char *id;

	if (gcs_list_id(list, "placementGroupId", group->placement_group_id, &id) < 0)
		return -1;
	if (group->state != RAY__PLACEMENT_GROUP_TABLE_DATA__PLACEMENT_GROUP_STATE__REMOVED)
		note_use(reading, "placement group", group->name, id, "exists");
	return 0;
}

static int read_job(struct gcs_list_reading *list, const void *message)
{
	struct reading *reading = (struct reading *)list;
	const Ray__JobTableData *job = message;
	const char *id;

	if (gcs_list_id(list, "jobId", job->job_id, &id) < 0)
		return -1;
	if (job->config && strncmp(job->config->ray_namespace, INTERNAL_NAMESPACE,
				   strlen(INTERNAL_NAMESPACE)) == 0)
		return 0;
	if (job->is_dead)
		note_end(reading, job->end_time);
	else
		note_use(reading, "driver", gcs_list_submission(list, job), id, "is connected");
	return 0;
}

/* ---- lists ---- */

static void finish(const struct gcs_list_reading *list, struct gcs_reply *ret_reply)
{
	const struct reading *reading = (const struct reading *)list;
	struct ray_in_use *use = ARENA_NEW(list->arena, struct ray_in_use);

	use->user = reading->user ? reading->user : "";
	use->ended = reading->ended > 0 ? reading->ended : TIME_NONE;
	use->missing = list->missing;
	/* A reply of jobs has no total. */
	if (use->missing == 0 && list->received >= GCS_IN_USE_ROWS_MAX)
		use->missing = 1;
	ret_reply->in_use = use;
}

const struct gcs_list_use gcs_in_use = {
	.rows_max = GCS_IN_USE_ROWS_MAX,
	.reply_max_bytes = GCS_IN_USE_REPLY_MAX_BYTES,
	.reading_size = sizeof(struct reading),
	.read = {
		[RAY_LIST_ACTORS] = read_actor,
		[RAY_LIST_GROUPS] = read_group,
		[RAY_LIST_JOBS] = read_job,
	},
	.finish = finish,
};

/* ---- submitted jobs ---- */

/* The record of a submitted Ray job, JSON: "" when it has ended, else "Ray job ID is PENDING". */
static int read_record(const char *id, const void *value, size_t size, struct arena *arena,
		       const char **ret_user, struct err *err)
{
	static const struct json_limits limits = {
		.bytes = SUBMITTED_MAX_BYTES, .depth = 100, .elements = 100000, .foreign = true
	};
	static const char *const ended[] = { "STOPPED", "SUCCEEDED", "FAILED" };
	AUTO(json_done) struct cJSON *json = NULL;
	struct json_reader reader = { .arena = arena, .err = err };
	const char *status;

	if (json_parse(value, size, &limits, &json, err) < 0)
		return err_prefix(err, "Ray job %.200s", id);
	struct json_at root = json_root(json, "", &reader);
	if (json_expect(&root, JSON_OBJECT) || json_text(&root, "status", &status))
		return err_prefix(err, "Ray job %.200s", id);
	*ret_user = "";
	for (size_t i = 0; i < sizeof(ended) / sizeof(ended[0]); i++)
		if (strcmp(status, ended[i]) == 0)
			return 0;
	*ret_user = arena_printf(arena, "Ray job %.200s is %.40s", id, status);
	return 0;
}

/* A job that was deleted in between has no value. */
static int read_values(const Ray__InternalKVMultiGetReply *reply, struct arena *arena,
		       struct ray_in_use *use, struct err *err)
{
	for (size_t i = 0; i < reply->n_results; i++) {
		const Ray__MapFieldEntry *entry = reply->results[i];
		const char *key =
			arena_strndup(arena, (const char *)entry->key.data, entry->key.len);
		const char *id = key + (strncmp(key, SUBMITTED_PREFIX, strlen(SUBMITTED_PREFIX)) ?
						0 :
						strlen(SUBMITTED_PREFIX));
		const char *user;

		if (read_record(id, entry->value.data, entry->value.len, arena, &user, err) < 0)
			return -1;
		if (use->user[0] == '\0')
			use->user = user;
	}
	return 0;
}

static int decode_values(const void *message, size_t size, struct arena *arena,
			 struct gcs_reply *ret_reply, struct err *err)
{
	AUTO(arena_done) struct arena scratch = { .budget = arena->budget };
	struct ray_in_use *use = ARENA_NEW(arena, struct ray_in_use);
	const Ray__InternalKVMultiGetReply *reply = gcs_message_unpack(
		&ray__internal_kvmulti_get_reply__descriptor, message, size, &scratch, err);

	*use = (struct ray_in_use){ .user = "", .ended = TIME_NONE };
	ret_reply->in_use = use;
	return reply && gcs_status_check(reply->status, err) == 0 ?
		       read_values(reply, arena, use, err) :
		       -1;
}

static void keys_read(struct gcs_call *call, const void *message, size_t size)
{
	AUTO(arena_done) struct arena scratch = { .budget = call->arena->budget };
	Ray__InternalKVMultiGetRequest request = RAY__INTERNAL_KVMULTI_GET_REQUEST__INIT;
	struct ray_in_use *use = ARENA_NEW(call->arena, struct ray_in_use);
	struct err err;

	*use = (struct ray_in_use){ .user = "", .ended = TIME_NONE };
	const Ray__InternalKVKeysReply *reply = gcs_message_unpack(
		&ray__internal_kvkeys_reply__descriptor, message, size, &scratch, &err);
	if (!reply || gcs_status_check(reply->status, &err) < 0) {
		gcs_call_fail(call, &err);
		return;
	}
	use->missing = reply->n_results > GCS_IN_USE_ROWS_MAX;
	if (reply->n_results == 0 || use->missing) {
		gcs_call_end(call, &(struct gcs_reply){ .in_use = use, .rejection = "" }, NULL);
		return;
	}
	request.keys = reply->results;
	request.n_keys = reply->n_results;
	request.namespace_ = gcs_message_bytes(SUBMITTED_NAMESPACE);
	call->path = JOBS_SERVICE "InternalKVMultiGet";
	call->read = gcs_decode;
	call->decode = decode_values;
	call->reply_ceiling_bytes = GCS_MESSAGE_MEMORY_CEILING_BYTES;
	gcs_call_send_message(call, &request.base);
}

struct gcs_call *gcs_in_use_get_submitted(struct gcs_client *client, int64_t timeout_ms,
					  struct arena *arena, gcs_done *done, void *context)
{
	Ray__InternalKVKeysRequest request = RAY__INTERNAL_KVKEYS_REQUEST__INIT;
	struct gcs_call *call = gcs_call_new(client, timeout_ms, JOBS_SERVICE "InternalKVKeys",
					     keys_read, done, context);

	call->arena = arena;
	call->reply_ceiling_bytes = GCS_SMALL_REPLY_BYTES; /* read on the loop */
	request.prefix = gcs_message_bytes(SUBMITTED_PREFIX);
	request.namespace_ = gcs_message_bytes(SUBMITTED_NAMESPACE);
	gcs_call_send_message(call, &request.base);
	return call;
}
