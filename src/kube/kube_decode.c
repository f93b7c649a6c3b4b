#include "kube/kube_decode.h"

#include "base/memory.h"
#include "codec/objects/foreign_object.h"
#include "codec/objects/watch_json.h"
#include "codec/text/json.h"
#include "kube/kube_type.h"
#include "net/work.h"

struct kube_decode {
	struct list_item item;
	struct kube_decoder *decoder;
	const struct kube_type *type;
	char *text;
	size_t size;
	bool watch;
	void (*done)(void *context, struct kube_decoded *decoded);
	void *context;
	struct work_job *job; /* NULL: it waits */
	struct kube_decoded decoded;
	struct err err;
};

/* ---- on a thread of the pool ---- */

static int kube_decode_object(struct kube_decode *decode, const struct cJSON *json)
{
	struct kube_decoded *decoded = &decode->decoded;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct json_reader reader = { .arena = &scratch, .err = &decode->err };
	struct json_at root = json_root(json, "", &reader), metadata;
	const char *version = "";

	decoded->object = arena_alloc(&decoded->arena, decode->type->object_size);
	if (decode->type->decode(json, "", &decoded->arena, decoded->object, &decode->err) < 0 ||
	    json_object(&root, "metadata", &metadata) < 0 ||
	    json_text(&metadata, "resourceVersion", &version) < 0)
		return -1;
	decoded->resource_version = arena_strdup(&decoded->arena, version);
	return 0;
}

static int kube_decode_tree(struct kube_decode *decode, const struct cJSON *json)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct watch_event event = { .object = json };

	if (decode->watch && watch_decode(json, &scratch, &event, &decode->err) < 0)
		return -1;
	if (kube_decode_object(decode, event.object) < 0)
		return -1;
	if (arena_trim(&decode->decoded.arena))
		return 0;
	arena_done(&decode->decoded.arena); /* the heap has moved it (base/arena.h) */
	return kube_decode_object(decode, event.object);
}

static void kube_decode_run(void *context, const struct work_job *job UNUSED)
{
	struct kube_decode *decode = context;
	AUTO(json_done) struct cJSON *json = NULL;

	decode->decoded.json = foreign_object_skeleton(decode->text, decode->size, decode->watch);
	foreign_object_parse(decode->text, decode->size, decode->watch, &json, &decode->err);
	memory_free(steal(&decode->text));
	if (decode->err.kind == ERR_NONE && kube_decode_tree(decode, json) == 0)
		return;
	arena_done(&decode->decoded.arena);
	decode->decoded.object = NULL;
	decode->decoded.problem = decode->err.text;
	if (json) { /* it has names that the skeleton leaves out */
		json_free(decode->decoded.json);
		decode->decoded.json = steal(&json);
	}
}

/* ---- on the loop ---- */

static void kube_decode_free(struct kube_decode *decode)
{
	json_free(decode->decoded.json);
	arena_done(&decode->decoded.arena);
	memory_free(decode->text);
	memory_free(decode);
}

static void kube_decode_drop(void *context)
{
	kube_decode_free(context);
}

static void kube_decode_begin(struct kube_decoder *decoder);

static void kube_decode_done(void *context)
{
	struct kube_decode *decode = context;

	list_remove(&decode->item);
	kube_decode_begin(decode->decoder);
	decode->done(decode->context, &decode->decoded);
	kube_decode_free(decode);
}

/* A quick job, as an object has at most FOREIGN_OBJECT_MAX_BYTES and only one is decoded at once. */
static void kube_decode_begin(struct kube_decoder *decoder)
{
	static const struct work_functions functions = { .run = kube_decode_run,
							 .done = kube_decode_done,
							 .drop = kube_decode_drop };
	struct kube_decode *first = LIST_MEMBER(decoder->waiting.first, struct kube_decode, item);

	if (first && !first->job)
		first->job = work_start(decoder->loop, &functions, first);
}

struct kube_decode *kube_decode_start(struct kube_decoder *decoder, const struct kube_type *type,
				      const char *text, size_t size, bool watch,
				      void (*done)(void *context, struct kube_decoded *decoded),
				      void *context)
{
	struct kube_decode *decode = memory_alloc(sizeof(*decode));

	*decode = (struct kube_decode){ .decoder = decoder,
					.type = type,
					.text = memory_strndup(text, size),
					.size = size,
					.watch = watch,
					.done = done,
					.context = context };
	list_add(&decoder->waiting, &decode->item);
	kube_decode_begin(decoder);
	return decode;
}

/* The next one begins although this one may still run for a moment. */
void kube_decode_cancel(struct kube_decode *decode)
{
	struct kube_decoder *decoder;

	if (!decode)
		return;
	decoder = decode->decoder;
	list_remove(&decode->item);
	if (decode->job)
		work_cancel(decode->job);
	else
		kube_decode_free(decode);
	kube_decode_begin(decoder);
}
