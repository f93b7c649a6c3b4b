#include "feature/pools/ctl/pool_writer.h"

#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/memory.h"
#include "codec/objects/autoscaler_json.h"
#include "codec/objects/event_json.h"
#include "codec/schema/document_head.h"
#include "ctl/report/write_queue.h"
#include "ctl/shared/leader.h"
#include "feature/pools/codec/gpu_pool_json.h"
#include "kube/kube_client.h"
#include "kube/kube_path.h"
#include "net/log.h"
#include "net/loop.h"

#define PLURAL "gpupools"
#define WRITES_PER_SECOND 10
#define UNDER_WAY_MAX 10
#define MESSAGE "cannot write the status of the GPUPool"
#define HELD "the GPUPool grants nothing: every RayCluster that draws from it waits"

struct entry {
	const char *name;
	struct pool_writer *writer;
	struct write_item status;
	struct kube_call *event;                /* in flight */
	uint64_t said[GPU_POOL_CONDITIONS_MAX]; /* of each condition that had its Event; 0: free */
	bool says;                              /* `said` is set */
	int64_t event_not_before_ms;
	struct log_repeat held;
};

struct pool_writer {
	const struct control *control;
	const struct pool_objects *objects;
	struct write_queue queue;
	struct map entries; /* name to struct entry */
};

static enum write_next next_write(struct write_item *item, struct kube_request *request,
				  struct arena *arena)
{
	const struct entry *entry = item->owner;
	const struct pool_writer *writer = entry->writer;
	const char *version = pool_objects_version(writer->objects, entry->name);

	if (!item->text || !version || !leader_is_leading(writer->control->leader))
		return WRITE_NOTHING;
	if (!write_item_is_shown(item, version))
		return WRITE_LATER;
	write_item_base(item, version);
	request->verb = KUBE_MERGE_PATCH;
	request->path = kube_path_managed(arena, kube_path(arena, OWN_GROUP_VERSION, NULL, PLURAL,
							   entry->name, "status"));
	request->body = autoscaler_status_body(item->text, version, arena);
	return WRITE_NOW;
}

static const struct write_kind kind = {
	.message = MESSAGE,
	.allowed = "statuses of GPUPools can be written now",
	.interval_ms = POOL_WRITER_INTERVAL_MS,
	.next = next_write,
};

struct pool_writer *pool_writer_new(const struct control *control,
				    const struct pool_objects *objects)
{
	struct pool_writer *writer = memory_alloc(sizeof(*writer));

	writer->control = control;
	writer->objects = objects;
	write_queue_init(&writer->queue, control, &kind, WRITES_PER_SECOND, WRITES_PER_SECOND,
			 UNDER_WAY_MAX);
	return writer;
}

static void entry_done(void *value)
{
	struct entry *entry = value;

	write_item_done(&entry->status);
	kube_client_cancel(entry->event);
	log_repeat_done(&entry->held);
}

void pool_writer_free(struct pool_writer *writer)
{
	if (!writer)
		return;
	map_drop_all(&writer->entries, entry_done);
	write_queue_done(&writer->queue);
	memory_free(writer);
}

static struct entry *entry_of(struct pool_writer *writer, const char *name)
{
	struct entry *entry = map_make(&writer->entries, name, sizeof(*entry));

	if (entry->writer)
		return entry;
	entry->writer = writer;
	write_item_init(&entry->status, &writer->queue, entry, "", entry->name, NULL);
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
	uint64_t hash;

	without_time.updated = TIME_NONE;
	hash = hash_text(gpu_pool_status_text(&without_time, &scratch));
	write_item_want(&entry->status,
			hash == entry->status.sent && !entry->status.call ?
				NULL :
				gpu_pool_status_text(status, &scratch),
			hash);
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

	if (ready && status->stopped)
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
