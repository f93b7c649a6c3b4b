#include "feature/pools/ctl/pool_writer.h"

#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/memory.h"
#include "codec/objects/autoscaler_json.h"
#include "codec/objects/event_json.h"
#include "codec/schema/document_head.h"
#include "ctl/report/overload.h"
#include "ctl/shared/leader.h"
#include "feature/pools/codec/gpu_pool_json.h"
#include "kube/kube_client.h"
#include "kube/kube_path.h"
#include "net/log.h"
#include "net/loop.h"

#define PLURAL "gpupools"
#define MESSAGE "cannot write the status of the GPUPool"
#define HELD "the GPUPool grants nothing: every RayCluster that draws from it waits"

struct entry {
	const char *name;
	struct pool_writer *writer;
	char *wanted; /* the status to write; NULL: none */
	/* Of the texts without the time: that was wanted last, is being written, was written. */
	uint64_t hash, sent, written;
	struct kube_call *call;
	struct loop_timer *timer;
	int64_t not_before_ms;
	struct kube_call *event;                /* in flight */
	uint64_t said[GPU_POOL_CONDITIONS_MAX]; /* of each condition that had its Event; 0: free */
	bool says;                              /* `said` is set */
	int64_t event_not_before_ms;
	struct log_repeat trouble, held;
};

struct pool_writer {
	const struct control *control;
	const struct pool_objects *objects;
	struct map entries; /* name to struct entry */
};

struct pool_writer *pool_writer_new(const struct control *control,
				    const struct pool_objects *objects)
{
	struct pool_writer *writer = memory_alloc(sizeof(*writer));

	writer->control = control;
	writer->objects = objects;
	return writer;
}

static void entry_done(void *value)
{
	struct entry *entry = value;

	kube_client_cancel(entry->call);
	kube_client_cancel(entry->event);
	loop_timer_free(entry->timer);
	log_repeat_done(&entry->trouble);
	log_repeat_done(&entry->held);
	memory_free(entry->wanted);
}

void pool_writer_free(struct pool_writer *writer)
{
	if (!writer)
		return;
	map_drop_all(&writer->entries, entry_done);
	memory_free(writer);
}

static void write_soon(struct entry *entry)
{
	int64_t now_ms = loop_monotonic_ms(entry->writer->control->loop);

	if (!entry->call)
		loop_timer_start(entry->timer,
				 entry->not_before_ms > now_ms ? entry->not_before_ms - now_ms : 0);
}

static void written(void *context, const struct kube_answer *answer, const struct err *err)
{
	struct entry *entry = context;
	int64_t after_ms = POOL_WRITER_INTERVAL_MS;

	entry->call = NULL;
	if (err && err->kind != ERR_CONFLICT) {
		after_ms = overload_retry_ms(err, answer->retry_after_ms);
		log_repeat_error(&entry->trouble, MESSAGE, entry->name, err->text);
	} else if (!err) {
		log_repeat_end(&entry->trouble, MESSAGE, entry->name);
	}
	entry->not_before_ms = loop_monotonic_ms(entry->writer->control->loop) + after_ms;
	entry->written = err ? 0 : entry->sent;
	if (entry->hash == entry->written)
		memory_free(steal(&entry->wanted));
	if (entry->wanted)
		write_soon(entry);
}

static void send(void *context)
{
	struct entry *entry = context;
	const struct pool_writer *writer = entry->writer;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const char *version = pool_objects_version(writer->objects, entry->name);
	const char *path, *body;

	if (entry->call || !entry->wanted || !version ||
	    !leader_is_leading(writer->control->leader))
		return;
	path = kube_path_managed(&scratch, kube_path(&scratch, OWN_GROUP_VERSION, NULL, PLURAL,
						     entry->name, "status"));
	body = autoscaler_status_body(entry->wanted, version, &scratch);
	entry->call = kube_client_request(writer->control->kube,
					  &(struct kube_request){ .verb = KUBE_MERGE_PATCH,
								  .path = path,
								  .body = body,
								  .body_size = strlen(body) },
					  written, entry);
	entry->sent = entry->hash;
}

static struct entry *entry_of(struct pool_writer *writer, const char *name)
{
	struct entry *entry = map_make(&writer->entries, name, sizeof(*entry));

	if (entry->writer)
		return entry;
	entry->writer = writer;
	entry->timer = loop_timer_new(writer->control->loop, send, entry);
	return entry;
}

static void forget_deleted(struct pool_writer *writer)
{
	for (size_t i = writer->entries.count; i-- > 0;) {
		const char *name = writer->entries.entries[i].key;

		if (!pool_objects_version(writer->objects, name))
			map_drop(&writer->entries, name, entry_done);
	}
}

/* A status that differs in its time alone is not written. */
static void want(struct entry *entry, const struct gpu_pool_status *status)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct gpu_pool_status without_time = *status;

	without_time.updated = TIME_NONE;
	entry->hash = hash_text(gpu_pool_status_text(&without_time, &scratch));
	if (entry->hash == entry->written && !entry->call) {
		memory_free(steal(&entry->wanted));
		return;
	}
	memory_set_string(&entry->wanted, gpu_pool_status_text(status, &scratch));
	write_soon(entry);
}

/* ---- Events ---- */

static void event_sent(void *context, const struct kube_answer *answer UNUSED,
		       const struct err *err)
{
	struct entry *entry = context;

	entry->event = NULL;
	if (err)
		log_debug("Event was not taken", "object", entry->name, "error", err->text, NULL);
}

static void send_event(struct entry *entry, const struct gpu_pool *pool,
		       const struct condition *condition)
{
	const struct control *control = entry->writer->control;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	AUTO(buf_done) struct buf body;
	time_ms now = loop_wall(control->loop);
	const struct event_object about = { OWN_GROUP_VERSION, "GPUPool", "",
					    pool->name,        pool->uid, pool->resource_version };
	bool good = strcmp(condition->type, "Ready") == 0 && strcmp(condition->status, "True") == 0;
	const struct event_text event = { .name = event_name(&scratch, pool->name, (uint64_t)now),
					  .reason = condition->reason,
					  .message = condition->message,
					  .instance = "",
					  .warning = !good,
					  .count = 1,
					  .first = now,
					  .last = now };

	buf_init(&body, EVENT_BODY_MAX);
	event_write_new(&body, &about, &event);
	entry->event_not_before_ms = loop_monotonic_ms(control->loop) + POOL_WRITER_EVENT_MS;
	entry->event = kube_client_request(
		control->kube,
		&(struct kube_request){
			.verb = KUBE_CREATE,
			.path = kube_path(&scratch, "v1", "default", "events", NULL, NULL),
			.body = buf_string(&body),
			.body_size = body.size },
		event_sent, entry);
}

static uint64_t mark_of(const struct condition *condition)
{
	return hash_add(hash_add(hash_text(condition->type), condition->status), condition->reason);
}

static bool is_said(const struct entry *entry, uint64_t mark)
{
	for (size_t i = 0; i < GPU_POOL_CONDITIONS_MAX; i++)
		if (entry->said[i] == mark)
			return true;
	return false;
}

/* Of these conditions those that had their Event, and this one. */
static void keep_said(struct entry *entry, const struct gpu_pool_status *status,
		      const struct condition *sent)
{
	uint64_t said[GPU_POOL_CONDITIONS_MAX] = { 0 };

	for (size_t i = 0; i < status->conditions.count && i < GPU_POOL_CONDITIONS_MAX; i++) {
		const struct condition *own = &status->conditions.at[i];

		if (own == sent || is_said(entry, mark_of(own)))
			said[i] = mark_of(own);
	}
	memcpy(entry->said, said, sizeof(said));
}

/* Those of the object had theirs from an earlier process. */
static void begin_said(struct entry *entry, const struct gpu_pool_status *status)
{
	size_t count = status ? status->conditions.count : 0;

	for (size_t i = 0; i < count && i < GPU_POOL_CONDITIONS_MAX; i++)
		entry->said[i] = mark_of(&status->conditions.at[i]);
	entry->says = true;
}

/* One Event at a time: of the first condition that is new. */
static void say_change(struct entry *entry, const struct gpu_pool *pool,
		       const struct gpu_pool_status *status)
{
	const struct condition *sent = NULL;

	if (entry->event ||
	    loop_monotonic_ms(entry->writer->control->loop) < entry->event_not_before_ms ||
	    !leader_is_leading(entry->writer->control->leader))
		return;
	if (!entry->says)
		begin_said(entry, pool->status);
	ARRAY_EACH(const struct condition, own, status->conditions.at, status->conditions.count)
		if (!sent && !is_said(entry, mark_of(own)))
			sent = own;
	if (sent)
		send_event(entry, pool, sent);
	keep_said(entry, status, sent);
}

/* Its clusters say only that they wait. */
static void note_held(struct entry *entry, const struct gpu_pool_status *status)
{
	const struct condition *ready =
		condition_find(status->conditions.at, status->conditions.count, "Ready");

	if (ready &&
	    (strcmp(ready->reason, "NotShared") == 0 || strcmp(ready->reason, "NoGPUs") == 0))
		log_repeat_error(&entry->held, HELD, entry->name, ready->message);
	else
		log_repeat_end(&entry->held, HELD, entry->name);
}

void pool_writer_allocated(struct pool_writer *writer, const struct gpu_pool_status *statuses,
			   const struct pool_allocation *allocation)
{
	forget_deleted(writer);
	for (size_t p = 0; p < allocation->input->pool_count; p++) {
		const char *name = allocation->input->pools[p]->name;

		if (!gpu_pool_is_of_flags(name) && pool_objects_version(writer->objects, name)) {
			want(entry_of(writer, name), &statuses[p]);
			note_held(entry_of(writer, name), &statuses[p]);
			if (!allocation->input->settling)
				say_change(entry_of(writer, name), allocation->input->pools[p],
					   &statuses[p]);
		}
	}
}
