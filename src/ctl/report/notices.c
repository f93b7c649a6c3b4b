#include "ctl/report/notices.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/token_bucket.h"
#include "codec/objects/event_write.h"
#include "ctl/pass/pass.h"
#include "ctl/report/metrics.h"
#include "ctl/report/notice_book.h"
#include "ctl/report/overload.h"
#include "ctl/shared/options.h"
#include "kube/kube_client.h"
#include "kube/kube_path.h"
#include "net/log.h"
#include "net/loop.h"

#define DENIED_MS 300000
#define INSTANCE_SIZE 64
/* Names of Events: the milliseconds of their first time, and a number. */
#define NUMBER_BITS 20

/* State of one RayCluster. */
struct file {
	char *key;
	char *uid;         /* of the RayCluster that the book is about */
	uint64_t id_start; /* the names of the book's Events begin here */
	struct notice_book *book;
	int64_t not_before_ms; /* no right to send, or no quota left, in its namespace */
	int64_t retry_ms;      /* Retry-After of the API server */
	/* Fields of the RayCluster that an Event needs. */
	char *api_version, *namespace_, *name, *resource_version;
};

struct sending {
	struct notices *notices;
	struct sending *next;
	struct kube_call *call;
	char *key, *uid;
	uint64_t id;
	enum notice_reason reason;
	bool create;
};

struct notices {
	const struct control *control;
	struct map files; /* "namespace/name" to struct file */
	struct sending *under_way;
	size_t under_way_count;
	struct token_bucket rate;
	struct overload overload;
	bool denied; /* the refusal was logged */
	char instance[INSTANCE_SIZE];
};

struct notices *notices_new(const struct control *control)
{
	struct notices *notices;
	const char *pod = getenv("POD_NAME");

	if (options_sidecar(control->options))
		return NULL;
	notices = memory_alloc(sizeof(*notices));
	notices->control = control;
	token_bucket_init(&notices->rate, NOTICES_RATE, NOTICES_BURST,
			  loop_monotonic_ms(control->loop));
	notices->overload = (struct overload)OVERLOAD_INIT;
	if (pod && pod[0])
		(void)snprintf(notices->instance, sizeof(notices->instance), "%s", pod);
	else if (gethostname(notices->instance, sizeof(notices->instance) - 1) != 0)
		notices->instance[0] = '\0';
	return notices;
}

static void file_free(struct file *file)
{
	if (!file)
		return;
	notice_book_free(file->book);
	memory_free(file->key);
	memory_free(file->uid);
	memory_free(file->api_version);
	memory_free(file->namespace_);
	memory_free(file->name);
	memory_free(file->resource_version);
	memory_free(file);
}

static void sending_free(struct sending *sending)
{
	memory_free(sending->key);
	memory_free(sending->uid);
	memory_free(sending);
}

void notices_free(struct notices *notices)
{
	if (!notices)
		return;
	while (notices->under_way) {
		struct sending *sending = notices->under_way;

		notices->under_way = sending->next;
		kube_client_cancel(sending->call);
		sending_free(sending);
	}
	for (size_t i = 0; i < notices->files.count; i++)
		file_free(notices->files.entries[i].value);
	map_done(&notices->files);
	memory_free(notices);
}

/* --- answers --- */

/* Pauses its own cluster only: a full quota of one namespace, or a Role that is missing there, does
 * not stop the Events of others. */
static void note_denied(struct notices *notices, struct file *file, const struct err *err)
{
	if (file)
		file->not_before_ms = loop_monotonic_ms(notices->control->loop) + DENIED_MS;
	if (notices->denied)
		return;
	notices->denied = true;
	log_warning("Events are not sent, kubectl describe will not show what was decided", "error",
		    err->text, NULL);
}

/* Logs that Events are allowed again; only for a file that was denied. */
static void note_allowed(struct notices *notices, struct file *file)
{
	if (!file || file->not_before_ms == INT64_MIN)
		return;
	file->not_before_ms = INT64_MIN;
	if (notices->denied)
		log_info("Events can be sent now", "cluster", file->key, NULL);
	notices->denied = false;
}

static enum notice_answer judge(struct notices *notices, const struct sending *sending,
				struct file *file, const struct err *err)
{
	if (!err) {
		note_allowed(notices, file);
		metrics_count(notices->control->metrics, METRICS_EVENTS_SENT,
			      notice_reason_word(sending->reason), "");
		return NOTICE_SENT;
	}
	log_debug("Event was not taken", "cluster", sending->key, "reason",
		  notice_reason_word(sending->reason), "error", err->text, NULL);
	switch (err->kind) {
	case ERR_DENIED:
		/* A namespace that is being deleted accepts no new object: not a missing right. */
		if (strstr(err->text, "being terminated"))
			return NOTICE_LOST;
		note_denied(notices, file, err);
		return NOTICE_FAILED;
	case ERR_NOT_FOUND:
		return sending->create ? NOTICE_LOST : NOTICE_GONE;
	case ERR_RETRY:
	case ERR_TIMEOUT:
		return NOTICE_FAILED;
	default:
		return NOTICE_LOST;
	}
}

static void note_retry_after(struct notices *notices, struct file *file, int64_t retry_after_ms)
{
	int64_t now_ms = loop_monotonic_ms(notices->control->loop);

	if (!file || retry_after_ms <= 0)
		return;
	file->retry_ms = now_ms + retry_after_ms;
	overload_refused(&notices->overload, file->namespace_, now_ms, retry_after_ms);
}

static void answered(void *context, const struct kube_answer *answer, const struct err *err)
{
	struct sending *sending = context, **link;
	struct notices *notices = sending->notices;
	struct file *file = map_get(&notices->files, sending->key);
	enum notice_answer what = judge(notices, sending, file, err);

	note_retry_after(notices, file, answer->retry_after_ms);
	for (link = &notices->under_way; *link != sending; link = &(*link)->next)
		;
	*link = sending->next;
	notices->under_way_count--;
	if (file && !strcmp(file->uid, sending->uid))
		notice_book_answered(file->book, sending->id, what,
				     loop_monotonic_ms(notices->control->loop));
	sending_free(sending);
}

/* --- sending --- */

static bool may_send(struct notices *notices, const struct file *file, int64_t now_ms)
{
	return token_bucket_has(&notices->rate, 1, now_ms) && now_ms >= file->not_before_ms &&
	       now_ms >= file->retry_ms && now_ms >= notices->overload.all_not_before_ms &&
	       notices->under_way_count < NOTICES_UNDER_WAY &&
	       kube_client_pending(notices->control->kube) < NOTICES_QUEUE_MAX;
}

static void send(struct notices *notices, const struct file *file, const struct notice_order *order)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	AUTO(buf_done) struct buf body;
	const struct ray_cluster cluster = { .api_version = file->api_version,
					     .namespace_ = file->namespace_,
					     .name = file->name,
					     .uid = file->uid,
					     .resource_version = file->resource_version };
	const struct event_text event = {
		.name = event_name(&scratch, file->name, file->id_start + order->id),
		.reason = notice_reason_word(order->reason),
		.message = order->message,
		.instance = notices->instance,
		.warning = notice_is_warning(order->reason),
		.count = order->count,
		.first = order->first,
		.last = order->last,
	};
	struct sending *sending = memory_alloc(sizeof(*sending));
	const char *path = kube_path(&scratch, "v1", file->namespace_, "events",
				     order->create ? NULL : event.name, NULL);

	buf_init(&body, EVENT_BODY_MAX);
	if (order->create)
		event_write_new(&body, &cluster, &event);
	else
		event_write_repeat(&body, &event);
	*sending = (struct sending){ .notices = notices,
				     .next = notices->under_way,
				     .key = memory_strdup(file->key),
				     .uid = memory_strdup(file->uid),
				     .id = order->id,
				     .reason = order->reason,
				     .create = order->create };
	notices->under_way = sending;
	notices->under_way_count++;
	(void)token_bucket_take(&notices->rate, 1, loop_monotonic_ms(notices->control->loop));
	sending->call = kube_client_request(
		notices->control->kube,
		&(struct kube_request){ .verb = order->create ? KUBE_CREATE : KUBE_MERGE_PATCH,
					.path = path,
					.body = buf_string(&body),
					.body_size = body.size,
					.flow = file->key },
		answered, sending);
}

static void send_due(struct notices *notices, const struct file *file)
{
	int64_t now_ms = loop_monotonic_ms(notices->control->loop);
	struct notice_order order;

	while (may_send(notices, file, now_ms) && notice_book_next(file->book, now_ms, &order))
		send(notices, file, &order);
}

/* --- input --- */

static void replace(char **text, const char *now)
{
	if (*text && !strcmp(*text, now))
		return;
	memory_free(*text);
	*text = memory_strdup(now);
}

/* The file of the RayCluster; replaced when another RayCluster has the same name. */
static struct file *file_of(struct notices *notices, const char *key,
			    const struct ray_cluster *cluster)
{
	struct file *file = map_get(&notices->files, key);
	int64_t now_ms = loop_monotonic_ms(notices->control->loop);

	if (file && strcmp(file->uid, cluster->uid) != 0) {
		file_free(map_remove(&notices->files, key));
		file = NULL;
	}
	if (!file) {
		file = memory_alloc(sizeof(*file));
		file->key = memory_strdup(key);
		file->book = notice_book_new(now_ms);
		file->not_before_ms = file->retry_ms = INT64_MIN;
		file->id_start = (uint64_t)loop_wall(notices->control->loop) << NUMBER_BITS;
		map_set(&notices->files, key, file);
	}
	replace(&file->uid, cluster->uid);
	replace(&file->api_version, cluster->api_version);
	replace(&file->namespace_, cluster->namespace_);
	replace(&file->name, cluster->name);
	replace(&file->resource_version, cluster->resource_version);
	return file;
}

void notices_decided(void *listener, const struct pass_decision *decision)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct notices *notices = listener;
	const struct ray_cluster *cluster = &decision->snapshot->cluster;
	const char *key = arena_printf(&scratch, "%s/%s", cluster->namespace_, cluster->name);
	struct notice_list list;
	struct file *file;

	if (!notices)
		return;
	notice_make(decision->snapshot, decision->plan, &scratch, &list);
	if (list.at.count == 0 && !map_get(&notices->files, key))
		return;
	file = file_of(notices, key, cluster);
	notice_book_decided(file->book, &list, loop_monotonic_ms(notices->control->loop),
			    decision->now);
	send_due(notices, file);
}

void notices_patched(void *listener, const char *namespace_, const char *name)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct notices *notices = listener;
	const char *key = arena_printf(&scratch, "%s/%s", namespace_, name);
	struct file *file = notices ? map_get(&notices->files, key) : NULL;

	if (!file)
		return;
	notice_book_accepted(file->book, loop_monotonic_ms(notices->control->loop),
			     loop_wall(notices->control->loop));
	send_due(notices, file);
}

void notices_forget(void *listener, const char *namespace_, const char *name)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct notices *notices = listener;

	if (notices)
		file_free(map_remove(&notices->files,
				     arena_printf(&scratch, "%s/%s", namespace_, name)));
}
