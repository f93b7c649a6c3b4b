#include "kube/kube_watch.h"

#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/memory.h"
#include "codec/foreign_object.h"
#include "codec/json.h"
#include "kube/kube_path.h"

/* A user may cancel inside a callback: while `inside`, the struct stays and is only marked. */
struct kube_watch {
	struct kube_watch_callbacks callbacks;
	struct kube_call *call;
	struct loop_timer *line_timer; /* a whole line is due */
	int64_t line_ms;
	struct buf line;
	struct arena arena; /* of one event */
	struct err stop;    /* why we ended the stream ourselves */
	int64_t retry_after_ms;
	bool inside, cancelled;
};

static void kube_watch_free(struct kube_watch *watch)
{
	loop_timer_free(watch->line_timer);
	buf_done(&watch->line);
	arena_done(&watch->arena);
	memory_free(watch);
}

/* Ends a callback section; false when the watch is gone. */
static bool kube_watch_leave(struct kube_watch *watch)
{
	watch->inside = false;
	if (!watch->cancelled)
		return true;
	kube_watch_free(watch);
	return false;
}

static void kube_watch_on_open(void *context)
{
	struct kube_watch *watch = context;

	loop_timer_start(watch->line_timer, watch->line_ms);
	watch->inside = true;
	watch->callbacks.on_open(watch->callbacks.context);
	(void)kube_watch_leave(watch);
}

static int kube_watch_status(struct kube_watch *watch, const struct api_status *status)
{
	enum err_kind kind = api_status_kind(status->code);

	watch->retry_after_ms = status->retry_after_seconds * MS_PER_SECOND;
	return err_set(&watch->stop, kind, "watch: the server ended it: %lld %s: %.400s",
		       (long long)status->code, status->reason, status->message);
}

/* One whole line without its end. */
static int kube_watch_line(struct kube_watch *watch, const char *text, size_t size)
{
	AUTO(json_done) struct cJSON *json = NULL;
	struct watch_event event;
	struct err problem;

	if (size == 0)
		return 0; /* somebody keeps the connection alive: no news of the server */
	loop_timer_start(watch->line_timer, watch->line_ms);
	arena_reset(&watch->arena);
	foreign_object_parse(text, size, true, &json, &problem);
	if (watch_decode(json, &watch->arena, &event, &watch->stop) < 0)
		return err_prefix(&watch->stop, "watch: a line of the server cannot be read");
	if (event.type == WATCH_ERROR)
		return kube_watch_status(watch, &event.status);
	event.problem = problem.kind == ERR_NONE ? NULL : problem.text;
	watch->callbacks.on_event(watch->callbacks.context, &event);
	return watch->cancelled ? -1 : 0;
}

static int kube_watch_feed(struct kube_watch *watch, const char *data, size_t size)
{
	while (size > 0) {
		const char *end = memchr(data, '\n', size);
		size_t part = end ? (size_t)(end - data) : size;
		int result = 0;

		if (watch->line.size + part > KUBE_WATCH_LINE_MAX_BYTES)
			return err_set(&watch->stop, ERR_LIMIT,
				       "watch: a line is larger than %zu bytes",
				       KUBE_WATCH_LINE_MAX_BYTES);
		if (end && watch->line.size == 0) {
			result = kube_watch_line(watch, data, part);
		} else {
			(void)buf_add(&watch->line, data, part);
			if (end)
				result = kube_watch_line(watch, watch->line.data, watch->line.size);
		}
		if (result < 0)
			return -1;
		if (!end)
			return 0;
		buf_clear(&watch->line);
		data += part + 1;
		size -= part + 1;
	}
	return 0;
}

static int kube_watch_on_chunk(void *context, const char *data, size_t size)
{
	struct kube_watch *watch = context;
	int result;

	watch->inside = true;
	result = kube_watch_feed(watch, data, size);
	return kube_watch_leave(watch) ? result : -1;
}

static void kube_watch_on_line_late(void *context)
{
	struct kube_watch *watch = context;
	struct kube_answer answer = { .body = "" };

	kube_client_cancel(steal(&watch->call));
	err_set(&watch->stop, ERR_TIMEOUT, "watch: no whole line came for %lld ms",
		(long long)watch->line_ms);
	watch->inside = true;
	watch->callbacks.on_end(watch->callbacks.context, &answer, &watch->stop);
	kube_watch_free(watch);
}

static void kube_watch_on_done(void *context, const struct kube_answer *answer,
			       const struct err *err)
{
	struct kube_watch *watch = context;
	struct kube_answer own = *answer;

	watch->inside = true;
	if (watch->stop.kind != ERR_NONE) {
		err = &watch->stop;
		own.retry_after_ms = watch->retry_after_ms;
	} else if (!err && watch->line.size > 0) {
		err_set(&watch->stop, ERR_RETRY, "watch: the stream ended within a line");
		err = &watch->stop;
	}
	watch->callbacks.on_end(watch->callbacks.context, &own, err);
	kube_watch_free(watch);
}

struct kube_watch *kube_watch_start(struct kube_client *client, const char *path,
				    const char *resource_version,
				    const struct kube_watch_callbacks *callbacks)
{
	struct kube_watch *watch = memory_alloc(sizeof(*watch));
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct kube_stream stream = {
		.on_open = kube_watch_on_open,
		.on_chunk = kube_watch_on_chunk,
		.done = kube_watch_on_done,
		.context = watch,
		.stall_ms = callbacks->stall_ms > 0 ? callbacks->stall_ms : KUBE_WATCH_STALL_MS,
	};

	watch->callbacks = *callbacks;
	watch->arena = ARENA_INIT;
	watch->line_ms = stream.stall_ms + stream.stall_ms / 10;
	watch->line_timer =
		loop_timer_new(kube_client_loop(client), kube_watch_on_line_late, watch);
	buf_init(&watch->line, KUBE_WATCH_LINE_MAX_BYTES);
	path = kube_path_query(&arena, path, "watch", "true");
	path = kube_path_query(&arena, path, "allowWatchBookmarks", "true");
	path = kube_path_query(&arena, path, "timeoutSeconds",
			       arena_printf(&arena, "%d", KUBE_WATCH_SECONDS));
	path = kube_path_query(&arena, path, "resourceVersion", resource_version);
	watch->call = kube_client_stream(client, path, &stream);
	return watch;
}

void kube_watch_cancel(struct kube_watch *watch)
{
	if (!watch || watch->cancelled)
		return;
	kube_client_cancel(watch->call);
	if (watch->inside)
		watch->cancelled = true;
	else
		kube_watch_free(watch);
}
