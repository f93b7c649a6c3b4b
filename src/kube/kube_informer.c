#include "kube/kube_informer.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/check.h"
#include "base/err.h"
#include "base/memory.h"
#include "codec/objects/foreign_object.h"
#include "codec/objects/list_stream.h"
#include "codec/text/json.h"
#include "core/model/field.h"
#include "kube/kube_informer_intern.h"
#include "kube/kube_informer_late.h"

#define KUBE_PAGE_OBJECTS 250
#define KUBE_WATCH_FAILURES_MAX 3
#define KUBE_REST_MAX_BYTES ((size_t)4 << 20) /* more than one piece of an answer has */
#define KUBE_WATCH_SHORT_MS 1000
#define KUBE_ROOM_LIST_MS 30000 /* between two lists for objects that found no room */

/* Which version of a group serves a resource (GET /apis/GROUP/VERSION). Pure decoding; the request
 * is the caller's. */

static const struct json_limits kube_discover_limits = {
	.bytes = 4 << 20,
	.depth = 64,
	.elements = 100000,
};

/* Does this APIResourceList name the resource? ERR_INPUT when the body is none. */
static int kube_discover_serves(const char *body, size_t size, const char *plural, bool *ret_serves,
				struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done) struct cJSON *json = NULL;
	struct json_reader reader = { .arena = &arena, .err = err };
	struct json_at resources;
	bool serves = false;

	if (json_parse(body, size, &kube_discover_limits, &json, err) < 0)
		return -1;
	struct json_at root = json_root(json, "", &reader);
	if (json_expect(&root, JSON_OBJECT) < 0 || json_array(&root, "resources", &resources) < 0)
		return -1;
	for (struct json_at e = json_first(&resources); e.json; json_next(&e)) {
		const char *name;

		if (json_text(&e, "name", &name) < 0)
			return -1;
		serves = serves || strcmp(name, plural) == 0;
	}
	*ret_serves = serves;
	return 0;
}

static void kube_informer_step(struct kube_informer *informer, enum kube_state state);

static bool is_given(const char *text)
{
	return text && *text;
}

static void kube_informer_set_live(struct kube_informer *informer)
{
	bool was_live = informer->live;

	informer->live = true;
	informer->problem.text[0] = '\0';
	informer->proof_ms = loop_boot_ms();
	if (!was_live && informer->options.callbacks.on_live)
		informer->options.callbacks.on_live(informer->options.callbacks.context);
}

static void kube_informer_report(struct kube_informer *informer, const struct err *err)
{
	informer->counters.errors++;
	if (informer->options.callbacks.on_error)
		informer->options.callbacks.on_error(informer->options.callbacks.context, err);
}

/* Marks the view as not live; continues with `next` after a backoff. */
static void kube_informer_fail(struct kube_informer *informer, enum kube_state next,
			       const struct err *err, int64_t retry_after_ms)
{
	int64_t wait_ms = backoff_next_ms(&informer->backoff, retry_after_ms);

	if (err->kind == ERR_DENIED && wait_ms < informer->options.denied_retry_ms)
		wait_ms = informer->options.denied_retry_ms;
	informer->live = false;
	informer->problem = *err;
	informer->state = KUBE_STATE_WAIT;
	informer->next = next;
	loop_timer_start(informer->timer, wait_ms);
	kube_informer_report(informer, err);
}

static void kube_informer_set_synced(struct kube_informer *informer)
{
	bool was_synced = informer->synced;

	informer->synced = true;
	informer->proof_ms = loop_boot_ms();
	if (!was_synced && informer->options.callbacks.on_synced)
		informer->options.callbacks.on_synced(informer->options.callbacks.context);
}

/* ---- discover ---- */

static void kube_informer_use_version(struct kube_informer *informer)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const char *version = informer->options.type->versions[informer->version];

	memory_set_string(&informer->api_version,
			  *informer->options.type->group ?
				  arena_printf(&arena, "%s/%s", informer->options.type->group,
					       version) :
				  version);
	kube_informer_step(informer,
			   is_given(informer->options.name) ? KUBE_STATE_POLL : KUBE_STATE_LIST);
}

/* Uses the first version of the type that is served: after a 404 the next one is tried. */
static void kube_informer_discovered(void *context, const struct kube_answer *answer,
				     const struct err *err)
{
	struct kube_informer *informer = context;
	struct err problem = { .kind = ERR_NONE };
	bool serves = false;

	informer->call = NULL;
	if (err && err->kind != ERR_NOT_FOUND) {
		kube_informer_fail(informer, KUBE_STATE_DISCOVER, err, answer->retry_after_ms);
		return;
	}
	if (!err && kube_discover_serves(answer->body, answer->body_size,
					 informer->options.type->plural, &serves, &problem) < 0) {
		err_prefix(&problem, "the API server's list of resources of %s",
			   informer->options.type->group);
		kube_informer_fail(informer, KUBE_STATE_DISCOVER, &problem, 0);
		return;
	}
	if (serves) {
		kube_informer_use_version(informer);
		return;
	}
	if (informer->options.type->versions[++informer->version]) {
		kube_informer_step(informer, KUBE_STATE_DISCOVER);
		return;
	}
	informer->version = 0;
	err_set(&problem, ERR_NOT_FOUND, "the API server does not know %s.%s (%s): %s",
		informer->options.type->plural, informer->options.type->group,
		informer->options.type->kind, informer->options.type->install);
	kube_informer_fail(informer, KUBE_STATE_DISCOVER, &problem, 0);
}

static void kube_informer_discover(struct kube_informer *informer)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct kube_type *type = informer->options.type;

	if (!*type->group) {
		kube_informer_use_version(informer); /* built in: no discovery */
		return;
	}
	informer->call = kube_client_send(informer->client, KUBE_GET,
					  arena_printf(&arena, "/apis/%s/%s", type->group,
						       type->versions[informer->version]),
					  NULL, 0, kube_informer_discovered, informer);
}

/* After a 404 for the whole resource: its CRD may have been deleted or serve another version. */
static enum kube_state kube_informer_after_missing(struct kube_informer *informer)
{
	informer->version = 0;
	return KUBE_STATE_DISCOVER;
}

/* ---- list ---- */

static char *kube_informer_collection(const struct kube_informer *informer, struct arena *arena)
{
	char *path = kube_path(arena, informer->api_version, informer->options.namespace_,
			       informer->options.type->plural, informer->options.name, NULL);

	if (is_given(informer->options.label_selector))
		path = kube_path_query(arena, path, "labelSelector",
				       informer->options.label_selector);
	if (is_given(informer->options.field_selector))
		path = kube_path_query(arena, path, "fieldSelector",
				       informer->options.field_selector);
	return path;
}

/* Stores one listed object. -1 with ERR_INPUT when it has no name. */
static int kube_informer_take(struct kube_informer *informer, const char *text, size_t size,
			      const char *problem, struct err *err)
{
	AUTO(json_done) struct cJSON *json = NULL;
	struct err unreadable;

	foreign_object_parse(text, size, false, &json, &unreadable);
	if (!problem && unreadable.kind != ERR_NONE)
		problem = unreadable.text;
	return kube_store_put(&informer->store, json, problem, err);
}

static void kube_informer_item_decoded(void *context, struct kube_decoded *decoded);

static void kube_informer_on_item(void *context, const char *text, size_t size, const char *problem)
{
	struct kube_informer *informer = context;
	struct err err;

	if (size > KUBE_DECODE_INLINE_BYTES && informer->options.large_later) {
		AUTO(json_done) struct cJSON *json = foreign_object_skeleton(text, size, false);

		if (kube_store_put_unread(&informer->store, json, &err) < 0)
			kube_informer_report(informer, &err);
	} else if (size > KUBE_DECODE_INLINE_BYTES) {
		informer->page.held = true;
		informer->decode = kube_decode_start(kube_client_decoder(informer->client),
						     informer->options.type, text, size, false,
						     kube_informer_item_decoded, informer);
	} else if (kube_informer_take(informer, text, size, problem, &err) < 0)
		kube_informer_report(informer, &err); /* without a name: it is skipped */
}

/* 1: an object is decoded, and the rest waits for it. */
static int kube_informer_feed(struct kube_informer *informer, const char *data, size_t size)
{
	size_t taken = list_stream_feed(&informer->page, data, size);

	if (!informer->page.held)
		return 0;
	return buf_add(&informer->rest, data + taken, size - taken) < 0 ? -1 : 1;
}

static int kube_informer_on_chunk(void *context, const char *data, size_t size)
{
	return kube_informer_feed(context, data, size);
}

static void kube_informer_forget_decode(struct kube_informer *informer)
{
	kube_decode_cancel(steal(&informer->decode));
	buf_clear(&informer->rest);
	informer->ended = false;
}

static int kube_informer_page(struct kube_informer *informer, struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct list_page page;

	if (list_stream_end(&informer->page, &arena, &page, err) < 0)
		return err_prefix(err, "list of %s", informer->options.type->plural);
	if (!*page.resource_version)
		return err_set(err, ERR_INPUT, "list of %s: metadata.resourceVersion is missing",
			       informer->options.type->plural);
	memory_set_string(&informer->continue_token, page.continue_token);
	memory_set_string(&informer->resource_version, page.resource_version);
	return 0;
}

static void kube_informer_list_failed(struct kube_informer *informer, const struct err *err,
				      int64_t retry_after_ms)
{
	enum kube_state next = KUBE_STATE_LIST;

	if (err->kind != ERR_TIMEOUT) /* else the same page, of fewer objects */
		memory_set_string(&informer->continue_token, "");
	else if (informer->page_objects > 1)
		informer->page_objects /= 2;
	if (err->kind == ERR_NOT_FOUND)
		next = kube_informer_after_missing(informer);
	kube_informer_fail(informer, next, err, retry_after_ms);
}

static void kube_informer_listed(void *context, const struct kube_answer *answer,
				 const struct err *err)
{
	struct kube_informer *informer = context;
	struct err problem = { .kind = ERR_NONE };

	informer->call = NULL;
	if (err) {
		kube_informer_forget_decode(informer);
		kube_informer_list_failed(informer, err, answer->retry_after_ms);
	} else if (informer->decode) {
		informer->ended = true;
	} else if (kube_informer_page(informer, &problem) < 0) {
		kube_informer_list_failed(informer, &problem, 0);
	} else if (*informer->continue_token) {
		kube_informer_step(informer, KUBE_STATE_LIST);
	} else {
		list_stream_done(&informer->page);
		kube_informer_step(informer, KUBE_STATE_SWEEP);
	}
}

static void kube_informer_sweep(struct kube_informer *informer)
{
	if (!kube_store_sweep(&informer->store)) {
		informer->next = KUBE_STATE_SWEEP;
		loop_timer_start(informer->timer, 0);
		return;
	}
	informer->page_objects = informer->page_objects * 2 < KUBE_PAGE_OBJECTS ?
					 informer->page_objects * 2 :
					 KUBE_PAGE_OBJECTS;
	informer->counters.lists++;
	informer->listed_ms = loop_monotonic_ms(informer->loop);
	informer->watch_failures = 0;
	kube_informer_set_synced(informer);
	kube_late_start(informer);
	kube_informer_step(informer, KUBE_STATE_WATCH);
}

static void kube_informer_item_decoded(void *context, struct kube_decoded *decoded)
{
	static const struct kube_answer whole = { .body = "" };
	struct kube_informer *informer = context;
	AUTO(buf_done) struct buf rest = informer->rest;
	struct err err;

	buf_init(&informer->rest, KUBE_REST_MAX_BYTES);
	informer->decode = NULL;
	informer->page.held = false;
	if (kube_store_put_decoded(&informer->store, decoded->json, decoded, &err) < 0)
		kube_informer_report(informer, &err);
	if (kube_informer_feed(informer, rest.data, rest.size) != 0)
		return;
	if (informer->call)
		kube_client_resume(informer->call);
	else if (informer->ended)
		kube_informer_listed(informer, &whole, NULL);
}

static void kube_informer_list(struct kube_informer *informer)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	char *path = kube_informer_collection(informer, &arena);

	path = kube_path_query(&arena, path, "limit",
			       arena_printf(&arena, "%d", informer->page_objects));
	if (*informer->continue_token)
		path = kube_path_query(&arena, path, "continue", informer->continue_token);
	else {
		kube_late_stop(informer);
		kube_store_mark(&informer->store);
	}
	informer->ended = false;
	list_stream_done(&informer->page);
	list_stream_init(&informer->page, FOREIGN_OBJECT_MAX_BYTES, kube_informer_on_item,
			 informer);
	struct kube_request request = (struct kube_request){ .verb = KUBE_GET,
							     .path = path,
							     .on_chunk = kube_informer_on_chunk };
	informer->call =
		kube_client_request(informer->client, &request, kube_informer_listed, informer);
}

/* ---- watch ---- */

static void kube_informer_on_open(void *context)
{
	struct kube_informer *informer = context;

	informer->counters.watches++;
	informer->opened_ms = loop_monotonic_ms(informer->loop);
	kube_informer_set_live(informer);
}

static void kube_informer_on_event(void *context, const struct watch_event *event)
{
	struct kube_informer *informer = context;
	struct err problem = { .kind = ERR_NONE };

	/* Skips an older event: otherwise a deleted Pod would exist again and be counted. */
	if (kube_version_is_older(event->resource_version, informer->resource_version))
		return;
	if (event->type == WATCH_BOOKMARK)
		informer->counters.bookmarks++;
	else if (kube_late_knows(informer, event))
		; /* an event from before its present version */
	else if (event->type == WATCH_DELETED)
		(void)kube_store_remove(&informer->store, event->object, event->problem, &problem);
	else if (event->decoded)
		(void)kube_store_put_decoded(&informer->store, event->object, event->decoded,
					     &problem);
	else
		(void)kube_store_put(&informer->store, event->object, event->problem, &problem);
	if (event->type != WATCH_BOOKMARK)
		informer->counters.events++;
	if (problem.kind != ERR_NONE)
		kube_informer_report(informer, &problem);
	if (*event->resource_version)
		memory_set_string(&informer->resource_version, event->resource_version);
	informer->progress = true;
	informer->backoff.failures = 0;
	informer->watch_failures = 0;
	informer->proof_ms = loop_boot_ms();
}

/* Objects that were refused for want of memory do not change when there is room again, so no event
 * names them: they are listed. */
static bool kube_informer_gained_room(const struct kube_informer *informer)
{
	return loop_monotonic_ms(informer->loop) - informer->listed_ms >= KUBE_ROOM_LIST_MS &&
	       kube_store_has_room(&informer->store);
}

static void kube_informer_line_decoded(void *context, struct kube_decoded *decoded)
{
	struct kube_informer *informer = context;

	informer->decode = NULL;
	kube_watch_decoded(informer->watch, decoded);
}

static void kube_informer_on_large(void *context, const char *text, size_t size)
{
	struct kube_informer *informer = context;

	informer->decode = kube_decode_start(kube_client_decoder(informer->client),
					     informer->options.type, text, size, true,
					     kube_informer_line_decoded, informer);
}

/* An event that is decoded meanwhile is forgotten: it is newer than the version to watch from, so the server
 * sends it again. */
static void kube_informer_on_end(void *context, const struct kube_answer *answer,
				 const struct err *err)
{
	struct kube_informer *informer = context;
	int64_t lasted_ms = loop_monotonic_ms(informer->loop) - informer->opened_ms;
	enum kube_state next = KUBE_STATE_WATCH;
	struct err problem;

	informer->watch = NULL;
	kube_informer_forget_decode(informer);
	if (!err && (informer->progress || lasted_ms >= KUBE_WATCH_SHORT_MS)) {
		informer->backoff.failures = 0;
		informer->watch_failures = 0;
		informer->proof_ms = loop_boot_ms();
		kube_informer_step(informer, kube_informer_gained_room(informer) ?
						     KUBE_STATE_LIST :
						     KUBE_STATE_WATCH);
		return;
	}
	if (!err) {
		err_set(&problem, ERR_RETRY, "watch of %s: the server ended it at once",
			informer->options.type->plural);
		err = &problem;
	}
	if (!informer->progress && ++informer->watch_failures >= KUBE_WATCH_FAILURES_MAX)
		next = KUBE_STATE_LIST;
	if (err->kind == ERR_GONE || err->kind == ERR_LIMIT || err->kind == ERR_INPUT)
		next = KUBE_STATE_LIST;
	if (err->kind == ERR_NOT_FOUND)
		next = kube_informer_after_missing(informer);
	kube_informer_fail(informer, next, err, answer->retry_after_ms);
}

static void kube_informer_watch(struct kube_informer *informer)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct kube_watch_callbacks callbacks = {
		.on_open = kube_informer_on_open,
		.on_event = kube_informer_on_event,
		.on_large = kube_informer_on_large,
		.on_end = kube_informer_on_end,
		.context = informer,
	};

	informer->progress = false;
	informer->opened_ms = loop_monotonic_ms(informer->loop);
	informer->watch = kube_watch_start(informer->client,
					   kube_informer_collection(informer, &arena),
					   informer->resource_version, &callbacks);
}

/* ---- poll ---- */

static int kube_informer_take_polled(struct kube_informer *informer,
				     const struct kube_answer *answer, struct err *err)
{
	if (kube_informer_take(informer, answer->body, answer->body_size, NULL, err) < 0)
		return err_prefix(err, "%s %s/%s", informer->options.type->kind,
				  informer->options.namespace_, informer->options.name);
	return 0;
}

static void kube_informer_polled(void *context, const struct kube_answer *answer,
				 const struct err *err)
{
	struct kube_informer *informer = context;
	struct err problem = { .kind = ERR_NONE };
	/* A missing object gives a Status with its name, a missing kind plain text, then discovery. */
	bool absent = err && err->kind == ERR_NOT_FOUND;

	informer->call = NULL;
	if (err && !absent) {
		kube_informer_fail(informer, KUBE_STATE_POLL, err, answer->retry_after_ms);
		return;
	}
	if (!absent && kube_informer_take_polled(informer, answer, &problem) < 0) {
		kube_informer_fail(informer, KUBE_STATE_POLL, &problem, 0);
		return;
	}
	if (absent) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;

		kube_store_remove_key(&informer->store,
				      arena_printf(&arena, "%s/%s", informer->options.namespace_,
						   informer->options.name));
		informer->version = 0;
	}
	informer->backoff.failures = 0;
	informer->counters.polls++;
	informer->state = KUBE_STATE_WAIT;
	informer->next = absent ? KUBE_STATE_DISCOVER : KUBE_STATE_POLL;
	loop_timer_start(informer->timer, informer->options.poll_ms);
	kube_informer_set_synced(informer);
	kube_informer_set_live(informer);
}

static void kube_informer_poll(struct kube_informer *informer)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	informer->call = kube_client_send(informer->client, KUBE_GET,
					  kube_informer_collection(informer, &arena), NULL, 0,
					  kube_informer_polled, informer);
}

/* ---- all ---- */

static void kube_informer_step(struct kube_informer *informer, enum kube_state state)
{
	static void (*const steps[])(struct kube_informer * informer) = {
		[KUBE_STATE_DISCOVER] = kube_informer_discover,
		[KUBE_STATE_LIST] = kube_informer_list,
		[KUBE_STATE_SWEEP] = kube_informer_sweep,
		[KUBE_STATE_WATCH] = kube_informer_watch,
		[KUBE_STATE_POLL] = kube_informer_poll,
	};

	CHECK(state != KUBE_STATE_WAIT);
	informer->state = state;
	steps[state](informer);
}

static void kube_informer_on_timer(void *context)
{
	struct kube_informer *informer = context;

	kube_informer_step(informer, informer->next);
}

static const struct field kube_informer_texts[] = {
	FIELD_TEXT(struct kube_informer_options, namespace_, "namespace"),
	FIELD_TEXT(struct kube_informer_options, label_selector, "labelSelector"),
	FIELD_TEXT(struct kube_informer_options, field_selector, "fieldSelector"),
	FIELD_TEXT(struct kube_informer_options, name, "name"),
	FIELD_END,
};

struct kube_informer *kube_informer_new(struct kube_client *client,
					const struct kube_informer_options *options)
{
	struct kube_informer *informer = memory_alloc(sizeof(*informer));

	informer->client = client;
	informer->loop = kube_client_loop(client);
	informer->options = *options;
	field_own(kube_informer_texts, &informer->options, &informer->arena);
	CHECK(!is_given(options->name) || (is_given(options->namespace_) && options->poll_ms > 0));
	CHECK(!options->large_later || (!options->passing && !is_given(options->field_selector)));
	kube_store_init(&informer->store, kube_client_loop(client), options->type,
			&informer->options.callbacks);
	informer->store.passing = options->passing;
	informer->store.budgets = kube_client_objects(client);
	informer->continue_token = memory_strdup("");
	buf_init(&informer->rest, KUBE_REST_MAX_BYTES);
	informer->page_objects = KUBE_PAGE_OBJECTS;
	informer->backoff = KUBE_BACKOFF;
	informer->timer = loop_timer_new(informer->loop, kube_informer_on_timer, informer);
	kube_late_init(informer);
	informer->state = KUBE_STATE_WAIT;
	informer->next = KUBE_STATE_DISCOVER;
	loop_timer_start(informer->timer, 0);
	return informer;
}

void kube_informer_free(struct kube_informer *informer)
{
	if (!informer)
		return;
	kube_informer_forget_decode(informer);
	kube_late_done(informer);
	buf_done(&informer->rest);
	kube_client_cancel(informer->call);
	kube_watch_cancel(informer->watch);
	loop_timer_free(informer->timer);
	list_stream_done(&informer->page);
	kube_store_done(&informer->store);
	arena_done(&informer->arena);
	memory_free(informer->api_version);
	memory_free(informer->resource_version);
	memory_free(informer->continue_token);
	memory_free(informer);
}
