#include <string.h>

#include "base/budget.h"
#include "base/memory.h"
#include "net/grpc.h"
#include "test/support/support.h"

static void frame(struct buf *out, unsigned char flag, uint32_t length, const char *text)
{
	unsigned char prefix[GRPC_PREFIX_SIZE];

	grpc_prefix_write(prefix, length);
	prefix[0] = flag;
	assert_int_equal(buf_add(out, prefix, sizeof(prefix)), 0);
	assert_int_equal(buf_add_string(out, text), 0);
}

/* Every way to cut the bytes in two and in three gives the same message. */
static void test_message_in_any_pieces(void **state)
{
	struct buf bytes;
	struct err err;

	(void)state;
	buf_init(&bytes, 1000);
	frame(&bytes, 0, 11, "hello world");
	for (size_t a = 0; a <= bytes.size; a++)
		for (size_t b = a; b <= bytes.size; b++) {
			struct grpc_reader reader;

			grpc_reader_init(&reader, 100);
			assert_int_equal(reader.prefix_size, 0);
			assert_int_equal(grpc_reader_add(&reader, bytes.data, a, &err), 0);
			assert_int_equal(grpc_reader_add(&reader, bytes.data + a, b - a, &err), 0);
			assert_int_equal(grpc_reader_is_complete(&reader), b == bytes.size);
			assert_int_equal(
				grpc_reader_add(&reader, bytes.data + b, bytes.size - b, &err), 0);
			assert_true(grpc_reader_is_complete(&reader));
			assert_string_equal(buf_string(&reader.message), "hello world");
			grpc_reader_done(&reader);
		}
	buf_done(&bytes);
}

static void expect_refusal(unsigned char flag, uint32_t length, const char *text, size_t ceiling,
			   enum err_kind kind, const char *why)
{
	struct grpc_reader reader;
	struct buf bytes;
	struct err err = { .kind = ERR_NONE };

	buf_init(&bytes, 1000);
	frame(&bytes, flag, length, text);
	grpc_reader_init(&reader, ceiling);
	assert_int_equal(grpc_reader_add(&reader, bytes.data, bytes.size, &err), -1);
	assert_int_equal(err.kind, kind);
	assert_non_null(strstr(err.text, why));
	grpc_reader_done(&reader);
	buf_done(&bytes);
}

static void test_refusals(void **state)
{
	(void)state;
	expect_refusal(0, 101, "", 100, ERR_LIMIT, "101 bytes");
	expect_refusal(0, UINT32_MAX, "x", 100, ERR_LIMIT, "4294967295 bytes");
	expect_refusal(1, 1, "x", 100, ERR_INPUT, "compressed");
	expect_refusal(0, 2, "xyz", 100, ERR_INPUT, "continues");
	expect_refusal(0, 0, "x", 100, ERR_INPUT, "continues");
}

/* A length just below the limit allocates no memory before its bytes arrive. */
static void test_announced_length_takes_no_memory(void **state)
{
	struct grpc_reader reader;
	struct err err;
	unsigned char prefix[GRPC_PREFIX_SIZE];

	(void)state;
	grpc_prefix_write(prefix, 1u << 30);
	grpc_reader_init(&reader, (size_t)1 << 30);
	assert_int_equal(grpc_reader_add(&reader, prefix, sizeof(prefix), &err), 0);
	assert_int_equal(grpc_reader_add(&reader, "x", 1, &err), 0);
	assert_true(reader.message.capacity < 65536);
	assert_false(grpc_reader_is_complete(&reader));
	grpc_reader_done(&reader);
}

static void test_empty_message(void **state)
{
	struct grpc_reader reader;
	struct err err;

	(void)state;
	grpc_reader_init(&reader, 0);
	assert_int_equal(grpc_reader_add(&reader, "\0\0\0\0", 4, &err), 0);
	assert_false(grpc_reader_is_complete(&reader));
	assert_int_equal(grpc_reader_add(&reader, "\0", 1, &err), 0);
	assert_true(grpc_reader_is_complete(&reader));
	grpc_reader_done(&reader);
}

static void test_message_text(void **state)
{
	static const char *const cases[][2] = {
		{ "plain", "plain" },
		{ "100%25 %E2%82%AC", "100% \xe2\x82\xac" },
		{ "%4", "%4" },
		{ "%", "%" },
		{ "%zz%41%4g", "%zzA%4g" },
		{ "%%41", "%A" },
		{ "%c3%a4", "\xc3\xa4" },
	};
	struct buf text;

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
		buf_init(&text, 100);
		grpc_message_decode(cases[i][0], strlen(cases[i][0]), &text);
		assert_string_equal(buf_string(&text), cases[i][1]);
		buf_done(&text);
	}
	buf_init(&text, 3);
	grpc_message_decode("%41%41%41%41", 12, &text);
	assert_string_equal(buf_string(&text), "AAA");
	buf_done(&text);
}

static void test_status(void **state)
{
	(void)state;
	assert_int_equal(grpc_status_parse("0", 1), 0);
	assert_int_equal(grpc_status_parse("16", 2), 16);
	assert_int_equal(grpc_status_parse("9999", 4), 9999);
	assert_int_equal(grpc_status_parse("", 0), -1);
	assert_int_equal(grpc_status_parse("99999", 5), -1);
	assert_int_equal(grpc_status_parse("-1", 2), -1);
	assert_int_equal(grpc_status_parse("1x", 2), -1);
	assert_string_equal(grpc_status_name(14), "UNAVAILABLE");
	assert_string_equal(grpc_status_name(99), "unknown status");
	assert_int_equal(grpc_status_kind(GRPC_UNAVAILABLE), ERR_RETRY);
	assert_int_equal(grpc_status_kind(GRPC_UNAUTHENTICATED), ERR_DENIED);
	assert_int_equal(grpc_status_kind(GRPC_UNIMPLEMENTED), ERR_NOT_FOUND);
	assert_int_equal(grpc_status_kind(99), ERR_RETRY);
}

/* Eight heads that announce 60 MiB and stall take no more than the budget for all; small replies of
 * other clusters pass all the time; their memory is free again when their calls end. */
static void test_heads_that_stall_share_a_budget(void **state)
{
	enum { HEADS = 8, PIECE = 64 << 10, SMALL = 20000 };
	struct budget all = { .name = "all", .limit_bytes = (size_t)128 << 20 };
	struct budget budgets[HEADS], small_budget = { .parent = &all };
	struct grpc_reader readers[HEADS];
	unsigned char prefix[GRPC_PREFIX_SIZE];
	char *piece = memory_alloc(PIECE);
	size_t open = HEADS, held = 0;
	struct err err;

	(void)state;
	for (size_t i = 0; i < HEADS; i++) {
		budgets[i] = (struct budget){ .name = "one",
					      .limit_bytes = (size_t)80 << 20,
					      .parent = &all };
		grpc_reader_init(&readers[i], (size_t)64 << 20);
		readers[i].message.budget = &budgets[i];
		grpc_prefix_write(prefix, 60 << 20);
		assert_int_equal(grpc_reader_add(&readers[i], prefix, sizeof(prefix), &err), 0);
	}
	for (size_t round = 0; open > 0 && round < 2000; round++) {
		struct grpc_reader small;

		open = 0;
		for (size_t i = 0; i < HEADS; i++)
			open += grpc_reader_add(&readers[i], piece, PIECE, &err) == 0;
		grpc_reader_init(&small, (size_t)64 << 20);
		small.message.budget = &small_budget;
		grpc_prefix_write(prefix, SMALL);
		assert_int_equal(grpc_reader_add(&small, prefix, sizeof(prefix), &err), 0);
		assert_int_equal(grpc_reader_add(&small, piece, SMALL, &err), 0);
		assert_true(grpc_reader_is_complete(&small));
		grpc_reader_done(&small);
	}
	assert_int_equal(open, 0);
	for (size_t i = 0; i < HEADS; i++) {
		assert_int_equal(grpc_reader_add(&readers[i], piece, PIECE, &err), -1);
		held += readers[i].message.capacity;
	}
	assert_int_equal(err.kind, ERR_MEMORY);
	assert_non_null(strstr(err.text, "of the reply's 62914560 bytes: "));
	assert_non_null(strstr(err.text, "MiB of memory for all are in use"));
	assert_int_equal(held, all.used_bytes);
	assert_true(held <= all.limit_bytes);
	for (size_t i = 0; i < HEADS; i++)
		grpc_reader_done(&readers[i]);
	assert_int_equal(all.used_bytes, 0);
	memory_free(piece);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_message_in_any_pieces),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_announced_length_takes_no_memory),
		cmocka_unit_test(test_empty_message),
		cmocka_unit_test(test_message_text),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_heads_that_stall_share_a_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
