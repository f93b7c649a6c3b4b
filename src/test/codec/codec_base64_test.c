#include "codec/text/base64.h"

#include <string.h>

#include "base/memory.h"
#include "test/support/support.h"

static void test_known(void **state)
{
	static const struct {
		const char *text, *bytes;
	} table[] = {
		{ "", "" },
		{ "Zg==", "f" },
		{ "Zm8=", "fo" },
		{ "Zm9v", "foo" },
		{ "Zm9vYg==", "foob" },
		{ "Zm9vYmE=", "fooba" },
		{ "Zm9vYmFy", "foobar" },
		{ "Zg", "f" },
		{ "Zm9\nv\r\n", "foo" },
		{ "_-8", "\xFF\xEF" },
		{ "/+8=", "\xFF\xEF" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		char *bytes;
		size_t size;

		assert_int_equal(base64_decode(table[i].text, &arena, &bytes, &size), 0);
		assert_int_equal(size, strlen(table[i].bytes));
		assert_memory_equal(bytes, table[i].bytes, size + 1);
	}
}

static void test_bad(void **state)
{
	static const char *const bad[] = { "A", "Zm9vY", "Zm9 v", "Zg=a", "Zm9v!", "\xC3\xA9" };

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(bad); i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		char *bytes;
		size_t size;

		if (base64_decode(bad[i], &arena, &bytes, &size) == 0)
			fail_msg("accepted: %s", bad[i]);
	}
}

static void test_round_trip(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	uint64_t seed = 5;

	(void)state;
	for (size_t size = 0; size < 200; size++) {
		char in[200], *out;
		size_t out_size;

		for (size_t i = 0; i < size; i++)
			in[i] = (char)support_random(&seed);
		assert_int_equal(
			base64_decode(base64_encode(in, size, &arena), &arena, &out, &out_size), 0);
		assert_int_equal(out_size, size);
		assert_memory_equal(in, out, size);
	}
	assert_string_equal(base64_encode("foob", 4, &arena), "Zm9vYg==");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
