#include "codec/objects/list_stream.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/foreign_object.h"
#include "codec/text/json.h"

static const struct json_limits rest_limits = {
	.bytes = LIST_STREAM_REST_MAX,
	.depth = 200,
	.elements = 10000,
	.foreign = true,
};

void list_stream_init(struct list_stream *stream, size_t item_max_bytes,
		      void (*on_item)(void *context, const char *text, size_t size,
				      const char *problem),
		      void *context)
{
	*stream = (struct list_stream){ .on_item = on_item,
					.context = context,
					.item_max_bytes = item_max_bytes };
	buf_init(&stream->item, item_max_bytes);
	buf_init(&stream->rest, LIST_STREAM_REST_MAX);
}

static void end_skeleton(struct list_stream *stream)
{
	if (stream->too_large)
		object_skeleton_done(&stream->skeleton);
	stream->too_large = false;
}

void list_stream_done(struct list_stream *stream)
{
	end_skeleton(stream);
	buf_done(&stream->item);
	buf_done(&stream->rest);
}

static void add_to_item(struct list_stream *stream, const char *data, size_t size)
{
	if (stream->item.size == 0 && !stream->too_large) {
		while (size > 0 && strchr(" \t\r\n", *data) && *data)
			data++, size--;
	}
	if (!stream->too_large && buf_add(&stream->item, data, size) < 0) {
		stream->too_large = true;
		object_skeleton_init(&stream->skeleton, false);
		object_skeleton_feed(&stream->skeleton, stream->item.data, stream->item.size);
	}
	if (stream->too_large)
		object_skeleton_feed(&stream->skeleton, data, size);
}

static void add(struct list_stream *stream, const char *data, size_t size)
{
	if (size == 0)
		return;
	if (stream->in_items)
		add_to_item(stream, data, size);
	else
		(void)buf_add(&stream->rest, data, size);
}

static void end_item(struct list_stream *stream)
{
	if (stream->too_large) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		const struct buf *found = object_skeleton_end(&stream->skeleton);

		stream->on_item(stream->context, found->data, found->size,
				foreign_object_too_large(&arena, stream->item_max_bytes));
	} else if (stream->item.size > 0) {
		stream->on_item(stream->context, stream->item.data, stream->item.size, NULL);
	}
	end_skeleton(stream);
	buf_clear(&stream->item);
}

static void feed_string(struct list_stream *stream, char c)
{
	if (stream->escaped) {
		stream->escaped = false;
	} else if (c == '\\') {
		stream->escaped = true;
	} else if (c == '"') {
		stream->in_string = false;
		return;
	}
	if (stream->depth == 1 && stream->name_size < sizeof(stream->name))
		stream->name[stream->name_size++] = c;
}

static bool opens_items(const struct list_stream *stream)
{
	return stream->depth == 1 && stream->name_size == 5 &&
	       memcmp(stream->name, "items", 5) == 0;
}

/* True: the byte separates the items or ends them; the bytes before it belong to the item. */
static bool ends_item(const struct list_stream *stream, char c)
{
	return stream->in_items && stream->depth == 2 && (c == ',' || c == ']');
}

/* Handles a byte outside strings, which is not added yet. True: the bytes after it belong to
 * another part. */
static bool feed_mark(struct list_stream *stream, char c)
{
	bool moves = false;

	switch (c) {
	case '"':
		stream->in_string = true;
		if (stream->depth == 1)
			stream->name_size = 0;
		break;
	case '[':
		moves = opens_items(stream);
		stream->depth++;
		break;
	case '{':
		stream->depth++;
		break;
	case '}':
	case ']':
		stream->depth -= stream->depth > 0;
		break;
	default:
		break;
	}
	return moves;
}

size_t list_stream_feed(struct list_stream *stream, const char *data, size_t size)
{
	const char *from = data, *end = data + size;

	for (const char *at = data; at < end; at++) {
		if (stream->in_string && !stream->escaped && stream->depth != 1)
			at += object_skeleton_plain(at, (size_t)(end - at));
		if (at == end)
			break;
		if (stream->in_string) {
			feed_string(stream, *at);
		} else if (ends_item(stream, *at)) {
			add(stream, from, (size_t)(at - from));
			end_item(stream);
			stream->in_items = *at == ',';
			stream->depth -= *at == ']';
			from = *at == ',' ? at + 1 : at;
			if (!stream->held)
				continue;
			add(stream, from, (size_t)(at + 1 - from));
			return (size_t)(at + 1 - data);
		} else if (feed_mark(stream, *at)) {
			add(stream, from, (size_t)(at + 1 - from));
			stream->in_items = true;
			from = at + 1;
		}
	}
	add(stream, from, (size_t)(end - from));
	return size;
}

static int page_decode(const struct cJSON *json, struct arena *arena, struct list_page *ret_page,
		       struct err *err)
{
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root = json_root(json, "", &reader), metadata;
	struct json_at items = json_member(&root, "items");

	if (json_expect(&root, JSON_OBJECT) || json_object(&root, "metadata", &metadata) ||
	    json_text(&metadata, "resourceVersion", &ret_page->resource_version) ||
	    json_text(&metadata, "continue", &ret_page->continue_token))
		return -1;
	/* An empty Go slice may be null; without the member the object is not a list. */
	if (json_type(&items) == JSON_NULL)
		return 0;
	if (json_expect(&items, JSON_ARRAY))
		return -1;
	/* They would count as deleted. */
	return json_count(&items) == 0 ? 0 : json_fail(&items, "its name has an escape");
}

int list_stream_end(struct list_stream *stream, struct arena *arena, struct list_page *ret_page,
		    struct err *err)
{
	AUTO(json_done) struct cJSON *json = NULL;
	struct list_page page;

	if (stream->rest.overflowed)
		return err_set(err, ERR_LIMIT, "the list has more than %zu bytes beside its items",
			       LIST_STREAM_REST_MAX);
	if (stream->in_items || stream->depth > 0)
		return err_set(err, ERR_INPUT, "the list ends early");
	if (json_parse(stream->rest.data, stream->rest.size, &rest_limits, &json, err) < 0 ||
	    page_decode(json, arena, &page, err))
		return -1;
	*ret_page = page;
	return 0;
}
