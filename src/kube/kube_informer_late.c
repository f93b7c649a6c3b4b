#include "kube/kube_informer_late.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/foreign_object.h"
#include "codec/objects/watch_json.h"
#include "codec/text/json.h"
#include "kube/kube_path.h"

bool kube_version_is_older(const char *version, const char *than)
{
	size_t size = strlen(version), than_size = strlen(than);

	if (!size || strspn(version, "0123456789") != size ||
	    strspn(than, "0123456789") != than_size)
		return false;
	return size != than_size ? size < than_size : strcmp(version, than) < 0;
}

static void kube_late_next(struct kube_informer *informer);

static void kube_late_failed(struct kube_informer *informer, int64_t retry_after_ms)
{
	struct kube_late *late = &informer->late;

	informer->counters.errors++;
	loop_timer_start(late->timer, backoff_next_ms(&late->backoff, retry_after_ms));
}

/* The object was read, or the answer does not have it. */
static void kube_late_ended(struct kube_informer *informer)
{
	struct kube_late *late = &informer->late;
	AUTO(memory_free_string) char *key = steal(&late->key);

	list_stream_done(&late->page);
	if (!late->found)
		kube_store_remove_key(&informer->store, key); /* deleted meanwhile */
	if (kube_store_unread(&informer->store, key)) {
		kube_late_failed(informer, 0); /* the answer has another object */
		return;
	}
	late->backoff.failures = 0;
	kube_late_next(informer);
}

/* Stores it, unless the watch has delivered the object since then. */
static void kube_late_put(struct kube_informer *informer, struct kube_decoded *decoded)
{
	struct kube_late *late = &informer->late;
	const char *version;
	struct err err;

	if (!kube_store_unread(&informer->store, late->key))
		return;
	if (kube_store_put_decoded(&informer->store, decoded->json, decoded, &err) < 0)
		return;
	version = kube_store_version(&informer->store, decoded->json);
	if (version && (!late->version || kube_version_is_older(late->version, version)))
		memory_set_string(&late->version, version);
}

static void kube_late_decoded(void *context, struct kube_decoded *decoded)
{
	struct kube_informer *informer = context;

	informer->late.decode = NULL;
	kube_late_put(informer, decoded);
	if (!informer->late.call)
		kube_late_ended(informer);
}

/* Also one that has become small is decoded beside the loop. */
static void kube_late_on_item(void *context, const char *text, size_t size, const char *problem)
{
	struct kube_informer *informer = context;
	struct kube_late *late = &informer->late;

	if (late->found)
		return;
	late->found = true;
	if (problem) { /* the text is its skeleton */
		struct kube_decoded bad = { .json = foreign_object_skeleton(text, size, false),
					    .problem = problem };

		kube_late_put(informer, &bad);
		json_free(bad.json);
		return;
	}
	late->decode = kube_decode_start(kube_client_decoder(informer->client),
					 informer->options.type, text, size, false,
					 kube_late_decoded, informer);
}

static int kube_late_on_chunk(void *context, const char *data, size_t size)
{
	struct kube_informer *informer = context;

	(void)list_stream_feed(&informer->late.page, data, size);
	return 0;
}

static void kube_late_answered(void *context, const struct kube_answer *answer,
			       const struct err *err)
{
	struct kube_informer *informer = context;
	struct kube_late *late = &informer->late;

	late->call = NULL;
	if (err && !late->found) {
		memory_free(steal(&late->key));
		list_stream_done(&late->page);
		kube_late_failed(informer, answer->retry_after_ms);
	} else if (!late->decode) {
		kube_late_ended(informer);
	}
}

static char *kube_late_path(const struct kube_informer *informer, const char *key,
			    struct arena *arena)
{
	const char *slash = strchr(key, '/');
	const char *namespace_ = slash ? arena_strndup(arena, key, (size_t)(slash - key)) : NULL;
	const char *name = slash ? slash + 1 : key;
	char *path = kube_path(arena, informer->api_version, namespace_,
			       informer->options.type->plural, NULL, NULL);

	if (informer->options.label_selector && *informer->options.label_selector)
		path = kube_path_query(arena, path, "labelSelector",
				       informer->options.label_selector);
	return kube_path_query(arena, path, "fieldSelector",
			       arena_printf(arena, "metadata.name=%s", name));
}

static void kube_late_next(struct kube_informer *informer)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct kube_late *late = &informer->late;
	const char *key = kube_store_next_unread(&informer->store);

	if (!key || late->key)
		return;
	late->key = memory_strdup(key);
	late->found = false;
	list_stream_init(&late->page, FOREIGN_OBJECT_MAX_BYTES, kube_late_on_item, informer);
	/* In turn with the calls of clusters, which these must not delay. */
	struct kube_request request = { .verb = KUBE_GET,
					.path = kube_late_path(informer, key, &arena),
					.flow = key,
					.on_chunk = kube_late_on_chunk };
	late->call = kube_client_request(informer->client, &request, kube_late_answered, informer);
}

static void kube_late_on_timer(void *context)
{
	kube_late_next(context);
}

void kube_late_init(struct kube_informer *informer)
{
	informer->late.backoff = KUBE_BACKOFF;
	informer->late.timer = loop_timer_new(informer->loop, kube_late_on_timer, informer);
}

void kube_late_start(struct kube_informer *informer)
{
	kube_late_next(informer);
}

void kube_late_stop(struct kube_informer *informer)
{
	struct kube_late *late = &informer->late;

	loop_timer_stop(late->timer);
	kube_decode_cancel(steal(&late->decode));
	kube_client_cancel(steal(&late->call));
	if (late->key)
		list_stream_done(&late->page);
	memory_free(steal(&late->key));
	memory_free(steal(&late->version)); /* the list is not older */
}

void kube_late_done(struct kube_informer *informer)
{
	kube_late_stop(informer);
	loop_timer_free(informer->late.timer);
}

bool kube_late_knows(struct kube_informer *informer, const struct watch_event *event)
{
	const char *version;

	if (!informer->late.version ||
	    !kube_version_is_older(event->resource_version, informer->late.version))
		return false;
	version = kube_store_version(&informer->store, event->object);
	return version && kube_version_is_older(event->resource_version, version);
}
