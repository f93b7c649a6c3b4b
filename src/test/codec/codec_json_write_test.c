#include "codec/text/json_write.h"

#include <math.h>

#include "base/memory.h"
#include "test/support/support.h"

static void write_sample(struct json_writer *writer)
{
	json_write_object(writer, NULL);
	json_write_text(writer, "name", "a");
	json_write_object_line(writer, "cluster");
	json_write_integer(writer, "n", -1);
	json_write_array(writer, "list");
	json_write_boolean(writer, NULL, true);
	json_write_null(writer, NULL);
	json_write_array_end(writer);
	json_write_object_end(writer);
	json_write_array(writer, "empty");
	json_write_array_end(writer);
	json_write_object(writer, "none");
	json_write_object_end(writer);
	json_write_array(writer, "rows");
	json_write_object_line(writer, NULL);
	json_write_amount(writer, "amount", 15000);
	json_write_object_end(writer);
	json_write_object_line(writer, NULL);
	json_write_raw(writer, "raw", "[1]");
	json_write_object_end(writer);
	json_write_array_end(writer);
	json_write_object_end(writer);
}

static void test_pretty(void **state)
{
	AUTO(buf_done) struct buf buf;
	struct json_writer writer;

	(void)state;
	buf_init(&buf, 1 << 20);
	json_write_init(&writer, &buf, JSON_STYLE_PRETTY);
	write_sample(&writer);
	assert_string_equal(buf_string(&buf),
			    "{\n"
			    "  \"name\": \"a\",\n"
			    "  \"cluster\": {\"n\": -1, \"list\": [true, null]},\n"
			    "  \"empty\": [],\n"
			    "  \"none\": {},\n"
			    "  \"rows\": [\n"
			    "    {\"amount\": 1.5},\n"
			    "    {\"raw\": [1]}\n"
			    "  ]\n"
			    "}");
}

static void test_line(void **state)
{
	AUTO(buf_done) struct buf buf;
	struct json_writer writer;

	(void)state;
	buf_init(&buf, 1 << 20);
	json_write_init(&writer, &buf, JSON_STYLE_LINE);
	write_sample(&writer);
	assert_string_equal(buf_string(&buf),
			    "{\"name\": \"a\", \"cluster\": {\"n\": -1, \"list\": [true, null]}, "
			    "\"empty\": [], \"none\": {}, \"rows\": [{\"amount\": 1.5}, "
			    "{\"raw\": [1]}]}");
}

static void test_values(void **state)
{
	AUTO(buf_done) struct buf buf;
	struct json_writer writer;

	(void)state;
	buf_init(&buf, 1 << 20);
	json_write_init(&writer, &buf, JSON_STYLE_LINE);
	json_write_array(&writer, NULL);
	json_write_text(&writer, NULL, "\"\\/\b\f\n\r\t\x01\x7F\xC3\xA9\xFF\xE2\x82");
	json_write_double(&writer, NULL, 0.1);
	json_write_double(&writer, NULL, NAN);
	json_write_double(&writer, NULL, -INFINITY);
	json_write_double(&writer, NULL, 1e300);
	json_write_time(&writer, NULL, 1);
	json_write_time(&writer, NULL, TIME_NONE);
	json_write_integer(&writer, NULL, INT64_MIN);
	json_write_array_end(&writer);
	assert_string_equal(buf_string(&buf),
			    "[\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u007f\xC3\xA9\xEF\xBF\xBD"
			    "\xEF\xBF\xBD\xEF\xBF\xBD\", 0.1, \"NaN\", \"-Infinity\", 1e+300, "
			    "\"1970-01-01T00:00:00.001Z\", null, -9223372036854775808]");
}

/* Characters that would hide or reverse the text beside them on a terminal. */
static void test_invisible_characters_are_escaped(void **state)
{
	AUTO(buf_done) struct buf buf;
	struct json_writer writer;

	(void)state;
	buf_init(&buf, 1 << 20);
	json_write_init(&writer, &buf, JSON_STYLE_LINE);
	json_write_text(&writer, NULL, "a\xE2\x80\xAE\xE2\x80\xA8\xC2\x9B\xF3\xA0\x81\x81\xC3\xA9");
	assert_string_equal(buf_string(&buf), "\"a\\u202e\\u2028\\u009b\\udb40\\udc41\xC3\xA9\"");
}

static void test_ceiling_and_misuse(void **state)
{
	AUTO(buf_done) struct buf buf;
	struct json_writer writer;

	(void)state;
	buf_init(&buf, 10);
	json_write_init(&writer, &buf, JSON_STYLE_PRETTY);
	write_sample(&writer);
	assert_true(buf.overflowed);
	json_write_init(&writer, &buf, JSON_STYLE_PRETTY);
	EXPECT_CHECK(json_write_object_end(&writer));
	json_write_init(&writer, &buf, JSON_STYLE_PRETTY);
	EXPECT_CHECK(for (int i = 0; i < JSON_WRITE_DEPTH_MAX; i++)
			     json_write_array(&writer, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pretty),
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_invisible_characters_are_escaped),
		cmocka_unit_test(test_ceiling_and_misuse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
