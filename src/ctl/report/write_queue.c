#include "ctl/report/write_queue.h"

#include <string.h>

#include "base/int64.h"
#include "base/memory.h"
#include "net/loop.h"

#define RECHECK_MS 200 /* of what waits for the cache */

static int64_t now_ms(const struct write_queue *queue)
{
	return loop_monotonic_ms(queue->control->loop);
}

static void start_timer(struct write_queue *queue, int64_t at_ms)
{
	int64_t now = now_ms(queue);

	at_ms = int64_max(at_ms, queue->overload.all_not_before_ms);
	if (at_ms >= queue->timer_ms)
		return;
	queue->timer_ms = at_ms;
	loop_timer_start(queue->timer, int64_max(at_ms - now, 0));
}

/* ---- ends of writes ---- */

static void note_failed(struct write_item *item, const struct err *err, int64_t retry_after_ms)
{
	struct write_queue *queue = item->queue;
	const struct write_kind *kind = queue->kind;
	int64_t now = now_ms(queue);

	if (err->kind == ERR_DENIED) {
		if (!queue->denied)
			log_warning(kind->denied ? kind->denied : kind->message, "object",
				    item->key, "error", err->text, kind->fix ? "fix" : NULL,
				    kind->fix, NULL);
		queue->denied = true;
	} else if (err->kind != ERR_CONFLICT && err->kind != ERR_NOT_FOUND) {
		(void)log_repeat_error(&item->trouble, kind->message, item->key, err->text);
	}
	/* After a conflict the version stays: a newer one is on its way. */
	if (err->kind != ERR_CONFLICT)
		memory_set_string(&item->version, NULL);
	if (retry_after_ms > 0)
		overload_refused(&queue->overload, item->namespace_, now, retry_after_ms);
	item->not_before_ms = now + overload_retry_ms(err, retry_after_ms);
}

static void note_carried_out(struct write_item *item)
{
	struct write_queue *queue = item->queue;

	log_repeat_end(&item->trouble, queue->kind->message, item->key);
	if (queue->denied)
		log_info(queue->kind->allowed, "object", item->key, NULL);
	queue->denied = false;
	write_item_drop_sent(item);
}

static void answered(void *context, const struct kube_answer *answer, const struct err *err)
{
	struct write_item *item = context;

	item->call = NULL;
	item->queue->under_way--;
	if (err)
		note_failed(item, err, answer->retry_after_ms);
	else
		note_carried_out(item);
	if (item->queue->kind->ended)
		item->queue->kind->ended(item, answer, err);
	if (err)
		item->sent = 0;
	write_item_queue(item);
	start_timer(item->queue, 0); /* others may have waited for the end of a call */
}

/* ---- the queue ---- */

static void send(struct write_item *item, const struct kube_request *request)
{
	struct write_queue *queue = item->queue;
	int64_t now = now_ms(queue);

	(void)token_bucket_take(&queue->budget, 1, now);
	queue->under_way++;
	item->sent = item->mark;
	item->sent_ms = now;
	item->not_before_ms = now + queue->kind->interval_ms;
	item->call = kube_client_request(queue->control->kube, request, answered, item);
}

/* False: the item waits for a later time. */
static bool serve(struct write_item *item)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct kube_request request = { .flow = item->flow };
	int64_t now = now_ms(item->queue);

	if (item->call) /* its end queues it */
		return true;
	if (item->not_before_ms > now)
		return false;
	switch (item->queue->kind->next(item, &request, &scratch)) {
	case WRITE_NOTHING:
		break;
	case WRITE_LATER:
		item->not_before_ms = int64_max(item->not_before_ms, now + RECHECK_MS);
		return false;
	case WRITE_NOW:
		request.body_size = strlen(request.body);
		send(item, &request);
		break;
	}
	return true;
}

/* Once through the queue: those that still wait are last in it. */
static void sweep(void *context)
{
	struct write_queue *queue = context;
	int64_t now = now_ms(queue), next = INT64_MAX;

	queue->timer_ms = INT64_MAX;
	if (now < queue->overload.all_not_before_ms) {
		start_timer(queue, 0);
		return;
	}
	for (size_t left = queue->waiting.count; left > 0; left--) {
		struct write_item *item =
			LIST_MEMBER(queue->waiting.first, struct write_item, waits);

		if (!item ||
		    queue->under_way >= queue->under_way_max) /* the next answer starts it */
			return;
		if (!token_bucket_has(&queue->budget, 1, now)) {
			next = now + token_bucket_wait_ms(&queue->budget);
			break;
		}
		list_remove(&item->waits);
		if (!serve(item)) {
			list_add(&queue->waiting, &item->waits);
			next = int64_min(next, item->not_before_ms);
		}
	}
	if (next < INT64_MAX)
		start_timer(queue, next);
}

void write_queue_init(struct write_queue *queue, const struct control *control,
		      const struct write_kind *kind, int64_t per_second, int64_t burst,
		      size_t under_way_max)
{
	queue->kind = kind;
	queue->control = control;
	queue->timer = loop_timer_new(control->loop, sweep, queue);
	queue->timer_ms = INT64_MAX;
	token_bucket_init(&queue->budget, per_second, burst, loop_monotonic_ms(control->loop));
	queue->under_way_max = under_way_max;
	queue->overload = (struct overload)OVERLOAD_INIT;
}

void write_queue_done(struct write_queue *queue)
{
	loop_timer_free(queue->timer);
}

/* ---- items ---- */

void write_item_init(struct write_item *item, struct write_queue *queue, void *owner,
		     const char *namespace_, const char *key, const char *flow)
{
	item->queue = queue;
	item->owner = owner;
	item->namespace_ = namespace_;
	item->key = key;
	item->flow = flow;
	item->sent_ms = item->not_before_ms = INT64_MIN / 2;
}

void write_item_done(struct write_item *item)
{
	list_remove(&item->waits);
	if (item->call) {
		kube_client_cancel(item->call);
		item->queue->under_way--;
		start_timer(item->queue, 0); /* its place is free */
	}
	log_repeat_done(&item->trouble);
	memory_free(item->text);
	memory_free(item->version);
}

void write_item_queue(struct write_item *item)
{
	if (!item->waits.list)
		list_add(&item->queue->waiting, &item->waits);
	start_timer(item->queue, item->not_before_ms);
}

void write_item_drop_sent(struct write_item *item)
{
	if (item->mark == item->sent)
		memory_set_string(&item->text, NULL);
}

void write_item_want(struct write_item *item, const char *text, uint64_t mark)
{
	memory_set_string(&item->text, text);
	item->mark = text ? mark : 0;
	if (text)
		write_item_queue(item);
}

void write_item_base(struct write_item *item, const char *version)
{
	memory_set_string(&item->version, version);
}

bool write_item_is_shown(const struct write_item *item, const char *version)
{
	return !item->version || strcmp(item->version, version) != 0 ||
	       now_ms(item->queue) - item->sent_ms >= WRITE_QUEUE_CACHE_MS;
}
