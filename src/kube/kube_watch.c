#include "kube/kube_watch.h"

#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/memory.h"
#include "codec/objects/foreign_object.h"
#include "codec/objects/object_skeleton.h"
#include "codec/text/json.h"
#include "kube/kube_decode.h"
#include "kube/kube_path.h"

#define KUBE_WATCH_LINE_KEPT_BYTES ((size_t)64 << 10)
#define KUBE_WATCH_REST_MAX_BYTES ((size_t)4 << 20) /* more than one piece has */

/* A user may cancel inside a callback: while `inside`, the struct is only marked and freed
 * later. */
struct kube_watch {
	struct kube_watch_callbacks callbacks;
	struct kube_call *call;
	struct loop_timer *line_timer; /* a whole line is due */
	int64_t line_ms;
	struct buf line;
	struct object_skeleton skeleton; /* of a line that is too large */
	bool too_large;
	struct arena arena; /* of one event */
	struct err stop;    /* why we ended the stream ourselves */
	int64_t retry_after_ms;
	bool inside, cancelled;
	bool held;       /* until kube_watch_decoded */
	struct buf rest; /* of the piece with the line that is decoded */
};

static void kube_watch_end_skeleton(struct kube_watch *watch)
{
	if (watch->too_large)
		object_skeleton_done(&watch->skeleton);
	watch->too_large = false;
}

static void kube_watch_free(struct kube_watch *watch)
{
	kube_watch_end_skeleton(watch);
	loop_timer_free(watch->line_timer);
	buf_done(&watch->line);
	buf_done(&watch->rest);
	arena_done(&watch->arena);
	memory_free(watch);
}

/* Ends a callback section; false when the watch was freed. */
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

/* `problem`: NULL, or why `json` has only the object's skeleton. */
static int kube_watch_event(struct kube_watch *watch, const struct cJSON *json, const char *problem,
			    struct kube_decoded *decoded)
{
	struct watch_event event;

	if (watch_decode(json, &watch->arena, &event, &watch->stop) < 0)
		return err_prefix(&watch->stop, "watch: a line of the server cannot be read");
	if (event.type == WATCH_ERROR)
		return kube_watch_status(watch, &event.status);
	event.problem = problem;
	event.decoded = decoded;
	watch->callbacks.on_event(watch->callbacks.context, &event);
	return watch->cancelled ? -1 : 0;
}

/* One whole line without its end, or the skeleton of one that is too large. */
static int kube_watch_line(struct kube_watch *watch, const char *text, size_t size)
{
	AUTO(json_done) struct cJSON *json = NULL;
	const char *reason = NULL;
	struct err problem;

	if (size == 0 && !watch->too_large)
		return 0; /* an empty line proves a live connection, not a live server */
	loop_timer_start(watch->line_timer, watch->line_ms);
	if (size > KUBE_DECODE_INLINE_BYTES && !watch->too_large && watch->callbacks.on_large) {
		watch->held = true;
		watch->callbacks.on_large(watch->callbacks.context, text, size);
		return 0;
	}
	arena_reset(&watch->arena);
	foreign_object_parse(text, size, true, &json, &problem);
	if (watch->too_large)
		reason = foreign_object_too_large(&watch->arena, KUBE_WATCH_LINE_MAX_BYTES);
	else if (problem.kind != ERR_NONE)
		reason = problem.text;
	return kube_watch_event(watch, json, reason, NULL);
}

static int kube_watch_end_line(struct kube_watch *watch)
{
	const struct buf *line = watch->too_large ? object_skeleton_end(&watch->skeleton) :
						    &watch->line;
	int result = kube_watch_line(watch, line->data, line->size);

	kube_watch_end_skeleton(watch);
	return result;
}

/* A part of a line that does not fit into one piece. */
static void kube_watch_gather(struct kube_watch *watch, const char *data, size_t size)
{
	if (!watch->too_large && buf_add(&watch->line, data, size) < 0) {
		watch->too_large = true;
		object_skeleton_init(&watch->skeleton, true);
		object_skeleton_feed(&watch->skeleton, watch->line.data, watch->line.size);
		buf_clear(&watch->line);
	}
	if (watch->too_large)
		object_skeleton_feed(&watch->skeleton, data, size);
}

/* A large line is rare: its memory is freed at once. */
static void kube_watch_clear_line(struct kube_watch *watch)
{
	buf_clear(&watch->line);
	if (watch->line.capacity <= KUBE_WATCH_LINE_KEPT_BYTES)
		return;
	buf_done(&watch->line);
	buf_init(&watch->line, KUBE_WATCH_LINE_MAX_BYTES);
}

static int kube_watch_feed(struct kube_watch *watch, const char *data, size_t size)
{
	while (size > 0) {
		const char *end = memchr(data, '\n', size);
		size_t part = end ? (size_t)(end - data) : size;
		int result = 0;

		if (end && watch->line.size == 0 && !watch->too_large &&
		    part <= KUBE_WATCH_LINE_MAX_BYTES) {
			result = kube_watch_line(watch, data, part);
		} else {
			kube_watch_gather(watch, data, part);
			if (end)
				result = kube_watch_end_line(watch);
		}
		if (result < 0)
			return -1;
		if (!end)
			return 0;
		kube_watch_clear_line(watch);
		data += part + 1;
		size -= part + 1;
		if (watch->held)
			return buf_add(&watch->rest, data, size);
	}
	return 0;
}

static int kube_watch_on_chunk(void *context, const char *data, size_t size)
{
	struct kube_watch *watch = context;

	watch->inside = true;
	int result = kube_watch_feed(watch, data, size);
	if (!kube_watch_leave(watch))
		return -1;
	return result == 0 && watch->held ? 1 : result;
}

/* Ends the stream because of a line. */
static void kube_watch_stop(struct kube_watch *watch)
{
	struct kube_answer answer = { .body = "", .retry_after_ms = watch->retry_after_ms };

	kube_client_cancel(steal(&watch->call));
	watch->inside = true;
	watch->callbacks.on_end(watch->callbacks.context, &answer, &watch->stop);
	kube_watch_free(watch);
}

void kube_watch_decoded(struct kube_watch *watch, struct kube_decoded *decoded)
{
	AUTO(buf_done) struct buf rest = watch->rest;
	int result;

	buf_init(&watch->rest, KUBE_WATCH_REST_MAX_BYTES);
	watch->held = false;
	arena_reset(&watch->arena);
	watch->inside = true;
	result = kube_watch_event(watch, decoded->json, decoded->problem, decoded);
	if (result == 0)
		result = kube_watch_feed(watch, rest.data, rest.size);
	if (!kube_watch_leave(watch))
		return;
	if (result < 0)
		kube_watch_stop(watch);
	else if (!watch->held)
		kube_client_resume(watch->call);
}

static void kube_watch_on_line_late(void *context)
{
	struct kube_watch *watch = context;

	if (watch->held) {
		loop_timer_start(watch->line_timer, watch->line_ms);
		return;
	}
	watch->retry_after_ms = 0;
	err_set(&watch->stop, ERR_TIMEOUT, "watch: no complete line was received for %lld ms",
		(long long)watch->line_ms);
	kube_watch_stop(watch);
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
	} else if (!err && (watch->line.size > 0 || watch->too_large)) {
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
	buf_init(&watch->rest, KUBE_WATCH_REST_MAX_BYTES);
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
