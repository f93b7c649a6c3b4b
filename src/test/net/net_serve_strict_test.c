/* Answers of net/serve to requests that are not framed beyond doubt, and of bytes behind a request. */
#include "test/support/serve_bench.h"

static bool is_closed_after_all(void *context)
{
	struct reader *reader = context;

	(void)has_answer(reader);
	return reader->closed;
}

static void expect_one_answer(struct bench *bench, const char *request, const char *status)
{
	struct reader reader = { .fd = connect_to(bench) };

	bench->path[0] = '\0';
	say(reader.fd, request);
	assert_true(loop_wait_until(bench->loop, is_closed_after_all, &reader, WAIT_MS));
	assert_memory_equal(reader.data, status, strlen(status));
	assert_null(strstr(reader.data + 1, "HTTP/1.1 2"));
	assert_null(strstr(reader.data + 1, "HTTP/1.1 4"));
	assert_true(!strcmp(bench->path, "/healthz") == !strcmp(status, "HTTP/1.1 200"));
	close(reader.fd);
}

#define GET_HEADER "GET /healthz HTTP/1.1\r\n"

static void test_framing_must_be_beyond_doubt(void **state)
{
	static const char *const bad[] = {
		GET_HEADER "\r\n",
		GET_HEADER "Host: x\r\nHost: y\r\n\r\n",
		"GET /healthz HTTP/1.0\r\nHost: x\r\nhost: x\r\n\r\n",
		GET_HEADER "Host: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
			   "0\r\n\r\n",
		GET_HEADER "Host: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n",
		GET_HEADER "Host: x\r\nContent-Length: 3\r\nContent-Length: 0\r\n\r\n123",
		GET_HEADER "Host: x\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
		GET_HEADER "Host: x\r\nContent-Length : 3\r\n\r\n123",
		GET_HEADER "Host: x\r\nTransfer-Encoding: identity\r\n\r\n",
		GET_HEADER "Host: x\r\nTransfer-Encoding: chunked, chunked\r\n\r\n",
		GET_HEADER "Host: x\r\nTransfer-Encoding: gzip\r\n"
			   "Transfer-Encoding: chunked\r\n\r\n",
		GET_HEADER " Host: x\r\nHost: x\r\n\r\n",
		GET_HEADER "Host: x\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n",
		GET_HEADER "Host: x\r\nRayscaler-Authorization: Bearer a\r\n"
			   "rayscaler-authorization: Bearer a\r\n\r\n",
		"GET /healthz HTTP/1.7\r\nHost: x\r\n\r\n",
		"POST /healthz HTTP/1.1\r\n\r\n",
	};

	for (size_t i = 0; i < SUPPORT_COUNT(bad); i++)
		expect_one_answer(*state, bad[i], "HTTP/1.1 400");
}

/* Bytes behind a request are not another one, for any length that a proxy has taken for its body: a
 * header field folded over two lines, which the library garbles, does not let a second request
 * in. */
static void test_one_request_of_a_connection(void **state)
{
	static const char *const good[] = {
		"GET /healthz HTTP/1.0\r\n\r\n",
		HEALTHZ,
		HEALTHZ HEALTHZ,
		GET_HEADER "Host: x\r\nContent-Length: 3\r\n\r\n123" HEALTHZ,
		GET_HEADER "Host: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" HEALTHZ,
		GET_HEADER "Host: x\r\nTransfer-Encoding:\r\n chunked\r\n\r\n"
			   "2d\r\n" HEALTHZ "\r\n0\r\n\r\n",
	};

	for (size_t i = 0; i < SUPPORT_COUNT(good); i++)
		expect_one_answer(*state, good[i], "HTTP/1.1 200");
}

static void test_a_path_with_a_nul_byte(void **state)
{
	expect_one_answer(*state, "GET /healthz%00 HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 400");
	expect_one_answer(*state, "GET /healthz%00x HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 400");
	expect_one_answer(*state, "GET /%68ealthz HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, serve_bench_setup, serve_bench_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_framing_must_be_beyond_doubt),
		TEST(test_one_request_of_a_connection),
		TEST(test_a_path_with_a_nul_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
