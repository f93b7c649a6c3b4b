/* codec/objects/list_stream and codec/objects/object_skeleton: items of a list, for any pieces. */
#include "codec/objects/list_stream.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/foreign_object.h"
#include "test/support/codec_support.h"

static struct buf seen;

static void on_item(void *context, const char *text, size_t size, const char *problem)
{
	(void)context;
	(void)buf_add(&seen, text, size);
	(void)buf_add_string(&seen, problem ? "!\n" : "\n");
}

/* The items on a line each, those that are not whole with "!", then metadata; "-" for no list. */
static const char *items_of(const char *text, size_t piece, size_t item_max)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(list_stream_done) struct list_stream stream;
	struct list_page page;
	struct err err;
	size_t size = strlen(text);

	buf_done(&seen);
	buf_init(&seen, 1 << 20);
	list_stream_init(&stream, item_max, on_item, NULL);
	for (size_t at = 0; at < size; at += piece)
		list_stream_feed(&stream, text + at, size - at < piece ? size - at : piece);
	if (list_stream_end(&stream, &arena, &page, &err) < 0)
		(void)buf_add_string(&seen, "-");
	else
		(void)buf_printf(&seen, "%s|%s", page.resource_version, page.continue_token);
	return buf_string(&seen);
}

static void test_items(void **state)
{
	static const struct {
		const char *text, *items;
	} table[] = {
		{ "{\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"c\"},\"items\":[]}",
		  "7|c" },
		{ "{\"items\":null,\"metadata\":{\"resourceVersion\":\"7\"}}", "7|" },
		{ " { \"items\" : [ {\"a\":1} , {\"b\":[{}]} ] ,\"metadata\":{\"resourceVersion\":\"7\"}}",
		  "{\"a\":1} \n{\"b\":[{}]} \n7|" },
		{ "{\"x\":{\"items\":[1]},\"y\":\"items\",\"z\":[2],\"items\":[3]}", "3\n|" },
		{ "{\"items\":[{\"a\":\"],\\\\\\\"}{[\"},\"x,y\",null,[1,2]]}",
		  "{\"a\":\"],\\\\\\\"}{[\"}\n\"x,y\"\nnull\n[1,2]\n|" },
		{ "{\"items\":[{\"a\":\"\\u0000\\ud800\"},{\"b\":01}]}",
		  "{\"a\":\"\\u0000\\ud800\"}\n{\"b\":01}\n|" },
		{ "{\"items\":[{}],\"itemsx\":[4],\"item\":[5]}", "{}\n|" },
		{ "{\"items\":[{}", "-" },
		{ "{\"items\":[{}]", "{}\n-" },
		{ "{\"items\":{}}", "-" },
		{ "{\"metadata\":{}}", "-" },
		{ "", "-" },
		{ "[[1]]", "-" },
		{ "{}}}}", "-" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		for (size_t piece = 1; piece <= strlen(table[i].text) + 1; piece++)
			assert_string_equal(items_of(table[i].text, piece, 1000), table[i].items);
	}
}

#define FILLER "\"f\":\"0123456789{[\\\"\",\"g\":[[{\"metadata\":{\"name\":\"no\"}}]],"

/* The names of an item that is too large are found before and after its large part. */
static void test_too_large(void **state)
{
	static const char text[] =
		"{\"items\":[{\"a\":1},{" FILLER "\"metadata\":{\"annotations\":{\"name\":\"no\"},"
		"\"name\" : \"n\\u0041\",\"labels\":{\"x\":{\"y\":[]},\"ray.io/cluster\":\"c\"},"
		"\"ownerReferences\":[{\"uid\": \"u, }\"},{}],\"generation\":7 , \"uid\":null},"
		"\"status\":{\"uid\":\"no\"}},{\"b\":2}],\"metadata\":{\"resourceVersion\":\"7\"}}";
	static const char items[] =
		"{\"a\":1}\n{\"metadata\":{\"name\":\"n\\u0041\",\"labels\":{\"ray.io/cluster\":\"c\"},"
		"\"ownerReferences\":[{\"uid\":\"u, }\"},{}],\"generation\":7,\"uid\":null}}!\n"
		"{\"b\":2}\n7|";

	(void)state;
	for (size_t piece = 1; piece <= sizeof(text); piece++)
		assert_string_equal(items_of(text, piece, 20), items);
	/* The bytes that are kept are bounded, also of one value of the names. */
	for (size_t i = 0; i < 3; i++) {
		AUTO(buf_done) struct buf large;

		buf_init(&large, 1 << 20);
		(void)buf_add_string(&large, "{\"items\":[{\"metadata\":{\"uid\":\"");
		for (size_t at = 0; at < 100000; at++)
			(void)buf_add_char(&large, "a\\["[i]);
		(void)buf_add_string(&large, "\",\"name\":\"n\"}}]}");
		assert_string_equal(items_of(buf_string(&large), 777, 5000),
				    "{\"metadata\":{\"name\":\"n\"}}!\n|");
	}
}

static const char *skeleton_of(struct object_skeleton *skeleton, const char *text, bool watch)
{
	object_skeleton_init(skeleton, watch);
	object_skeleton_feed(skeleton, text, strlen(text));
	return buf_string(object_skeleton_end(skeleton));
}

static void test_skeleton(void **state)
{
	static const struct {
		const char *text, *found;
		bool watch;
	} table[] = {
		{ "", "{}", false },
		{ "[]", "{}", false },
		{ "7", "{}", false },
		{ "{}", "{}", false },
		{ "{}{\"kind\":\"no\"}", "{}", false },
		{ "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"n",
		  "{\"kind\":\"Pod\",\"metadata\":{}}", false },
		{ "{\"metadata\":[{\"name\":\"n\"}],\"kind\":{\"a\":1}}", "{\"kind\":{\"a\":1}}",
		  false },
		{ "{\"metadata\":{\"labels\":7,\"name\":\"n\"}}", "{\"metadata\":{\"name\":\"n\"}}",
		  false },
		{ "{\"type\":\"ADDED\",\"object\":{\"x\":[\"}\"],\"metadata\":{\"name\":\"n\"}}}",
		  "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"n\"}}}", true },
		{ "{\"kind\":[[[[[[[[1]]]]]]]],\"apiVersion\":[[[[[[[[[1]]]]]]]]],"
		  "\"metadata\":{\"uid\":{\"a\":[[[[[[[[[1]]]]]]]]]},\"name\":\"n\"}}",
		  "{\"kind\":[[[[[[[[1]]]]]]]],\"metadata\":{\"name\":\"n\"}}", false },
		{ "{\"metadata\":{\"name\":\"a\",\"name\":\"b\"}}",
		  "{\"metadata\":{\"name\":\"a\",\"name\":\"b\"}}", false },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		struct object_skeleton skeleton;

		assert_string_equal(skeleton_of(&skeleton, table[i].text, table[i].watch),
				    table[i].found);
		object_skeleton_done(&skeleton);
	}
}

/* There is a tree of any text. */
static void test_foreign_object(void **state)
{
	static const struct {
		const char *text, *problem, *name;
	} table[] = {
		{ "{\"metadata\":{\"name\":\"n\"},\"x\":\"\\u0000\"}", "", "n" },
		{ "{\"x\":1.,\"metadata\":{\"name\":\"n\"}}", "a digit is missing", "n" },
		{ "{\"metadata\":{\"name\":n},\"x\":1.}", "a value is expected", "" },
		{ "", "the text is empty", "" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		AUTO(json_done) struct cJSON *json = NULL;
		struct json_reader reader = { .arena = &arena };
		struct json_at root, metadata;
		const char *name;
		struct err problem;

		foreign_object_parse(table[i].text, strlen(table[i].text), false, &json, &problem);
		assert_int_equal(problem.kind != ERR_NONE, *table[i].problem != '\0');
		assert_non_null(strstr(problem.text, table[i].problem));
		root = json_root(json, "", &reader);
		assert_int_equal(json_object(&root, "metadata", &metadata), 0);
		assert_int_equal(json_text(&metadata, "name", &name), 0);
		assert_string_equal(name, table[i].name);
	}
}

static int done(void **state)
{
	(void)state;
	buf_done(&seen);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_items),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_skeleton),
		cmocka_unit_test(test_foreign_object),
	};

	return cmocka_run_group_tests(tests, NULL, done);
}
