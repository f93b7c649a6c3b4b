/* net/serve, asked by net/https on the same loop and by bare sockets. */
#include <limits.h>
#include <poll.h>

#include "test/support/serve_bench.h"

static void on_done(void *context, const struct https_response *response, const struct err *err)
{
	struct bench *bench = context;

	assert_null(err);
	bench->status = response->status;
	(void)snprintf(bench->body, sizeof(bench->body), "%s", response->body);
	bench->body_size = response->body_size;
	bench->done = true;
}

static bool is_done(void *context)
{
	return ((struct bench *)context)->done;
}

static void start(struct bench *bench, const char *method, const char *path)
{
	char url[128];
	struct https_call call = { .method = method,
				   .url = url,
				   .allow_plain = true,
				   .connect_ms = WAIT_MS,
				   .first_byte_ms = WAIT_MS,
				   .total_ms = WAIT_MS,
				   .ceiling_bytes = 8 << 20,
				   .on_done = on_done,
				   .context = bench };

	if (!strcmp(method, "POST")) {
		call.body = "data";
		call.body_size = 4;
	}
	bench->done = false;
	bench->path[0] = '\0';
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%d%s", serve_port(bench->serve), path);
	https_start(bench->https, &call);
}

static int ask(struct bench *bench, const char *method, const char *path)
{
	start(bench, method, path);
	assert_true(loop_wait_until(bench->loop, is_done, bench, WAIT_MS));
	return bench->status;
}

static void test_get(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(ask(bench, "GET", "/healthz?verbose"), 200);
	assert_string_equal(bench->body, "ok\n");
	assert_string_equal(bench->path, "/healthz");
	assert_int_equal(ask(bench, "GET", "/nothing"), 404);
}

static void test_nothing_but_reading(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(ask(bench, "POST", "/healthz"), 405);
	assert_string_equal(bench->path, "");
	assert_int_equal(ask(bench, "DELETE", "/healthz"), 405);
	assert_int_equal(ask(bench, "GET", "/healthz"), 200);
}

/* ---- late answers ---- */

static bool has_later(void *context)
{
	return ((struct bench *)context)->later_count > 0;
}

static void test_later(void **state)
{
	struct bench *bench = *state;

	start(bench, "GET", "/later");
	assert_true(loop_wait_until(bench->loop, has_later, bench, WAIT_MS));
	assert_false(loop_wait_until(bench->loop, is_done, bench, 50));
	serve_answer_text(bench->later[0], 200, "here");
	assert_true(loop_wait_until(bench->loop, is_done, bench, WAIT_MS));
	assert_int_equal(bench->status, 200);
	assert_string_equal(bench->body, "here\n");
	assert_int_equal(ask(bench, "GET", "/healthz"), 200);
}

static void test_head(void **state)
{
	struct bench *bench = *state;
	struct reader reader = { .fd = connect_to(bench) };

	say(reader.fd, "HEAD /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	assert_true(loop_wait_until(bench->loop, has_answer, &reader, WAIT_MS));
	assert_non_null(strstr(reader.data, "200 OK"));
	assert_non_null(strstr(reader.data, "Content-Length: 3\r\n"));
	assert_true(!strcmp(strstr(reader.data, "\r\n\r\n"), "\r\n\r\n"));
	close(reader.fd);
}

static bool has_two_later(void *context)
{
	return ((struct bench *)context)->later_count == 2;
}

/* The one that hung up is answered like the others; a third does not wait; the end of the server
 * ends the second. */
static void test_waiting_is_bounded_and_may_be_given_up(void **state)
{
	struct bench *bench = *state;
	struct reader readers[3];

	for (size_t i = 0; i < 3; i++) {
		readers[i] = (struct reader){ .fd = connect_to(bench) };
		say(readers[i].fd, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
		if (i == 1)
			assert_true(loop_wait_until(bench->loop, has_two_later, bench, WAIT_MS));
	}
	assert_true(loop_wait_until(bench->loop, has_answer, &readers[2], WAIT_MS));
	assert_non_null(strstr(readers[2].data, " 503 "));
	close(readers[0].fd);
	serve_answer_text(bench->later[0], 200, "here");
	assert_int_equal(ask(bench, "GET", "/healthz"), 200);
	close(readers[1].fd);
	close(readers[2].fd);
}

/* ---- slow clients ---- */

static void test_half_a_request_delays_no_other(void **state)
{
	struct bench *bench = *state;
	struct reader half = { .fd = connect_to(bench) };

	say(half.fd, "GET /hea");
	assert_int_equal(ask(bench, "GET", "/healthz"), 200);
	say(half.fd, "lthz HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_true(loop_wait_until(bench->loop, has_answer, &half, WAIT_MS));
	assert_non_null(strstr(half.data, "200 OK"));
	close(half.fd);
}

struct drip {
	struct reader reader;
	int64_t next_ms;
	struct loop *loop;
};

/* A byte every 50 ms is not silence. */
static bool drips_until_closed(void *context)
{
	struct drip *drip = context;

	if (loop_monotonic_ms(drip->loop) >= drip->next_ms) {
		(void)send(drip->reader.fd, "a", 1, MSG_NOSIGNAL);
		drip->next_ms = loop_monotonic_ms(drip->loop) + 50;
	}
	return is_closed(&drip->reader);
}

static void test_an_exchange_has_a_deadline(void **state)
{
	struct bench *bench = *state;
	struct drip drip = { .loop = bench->loop, .reader = { .fd = connect_to(bench) } };

	say(drip.reader.fd, "GET /healthz HTTP/1.1\r\nX: ");
	assert_true(loop_wait_until(bench->loop, drips_until_closed, &drip, WAIT_MS));
	close(drip.reader.fd);
}

static bool is_freed(void *context)
{
	return ((struct bench *)context)->freed > 0;
}

/* Unread answers stay within their limit; a request above the limit gets 503. */
static void test_unread_answers_are_bounded(void **state)
{
	struct bench *bench = *state;
	struct reader lazy = { .fd = connect_to(bench) };
	int small = 4096;

	assert_int_equal(setsockopt(lazy.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	say(lazy.fd, "GET /page HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_true(loop_wait_until(bench->loop, is_freed, bench, WAIT_MS)); /* it is written */
	assert_int_equal(ask(bench, "GET", "/page"), 503);
	assert_string_equal(
		bench->body,
		"no memory for this answer: 4.0 MiB of the 6 MiB of memory for all unread "
		"answers are in use, 4.0 MiB by the unread answers of 127.0.0.1; read "
		"them\n");
	close(lazy.fd);
	assert_int_equal(ask(bench, "GET", "/healthz"), 200);
	assert_int_equal(ask(bench, "GET", "/page"), 200);
}

/* A page that has no room in an empty budget either: to ask again would not help. */
static void test_a_page_that_is_too_large(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(ask(bench, "GET", "/large"), 503);
	assert_string_equal(bench->body,
			    "this answer is too large: 8 MiB at once, more than the unread answers "
			    "of 127.0.0.1 may have of the 6 MiB of memory for all unread answers; "
			    "read them\n");
	assert_int_equal(ask(bench, "GET", "/page"), 200);
}

static int ask_lazily(struct bench *bench, const char *path)
{
	int fd = connect_to(bench), small = 4096;
	char text[64];

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	(void)snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
	say(fd, text);
	return fd;
}

static void test_a_page_is_written_on_a_thread(void **state)
{
	struct bench *bench = *state;

	bench->page_is_on_loop = true;
	assert_int_equal(ask(bench, "GET", "/page"), 200);
	assert_int_equal(bench->body_size, PAGE_BYTES);
	assert_false(bench->page_is_on_loop);
	assert_int_equal(bench->freed, 1);
}

static bool has_unread(void *context)
{
	const struct bench *bench = context;

	return budget_used(bench->unread) >= PAGE_BYTES;
}

/* Readers about one owner that do not read: answers about another one go on. */
static void test_one_owner_leaves_memory_to_others(void **state)
{
	struct bench *bench = *state;
	int lazy[8];

	for (size_t i = 0; i < SUPPORT_COUNT(lazy); i++)
		lazy[i] = ask_lazily(bench, "/page/a");
	/* There is memory for one answer: one of theirs has it before an answer is read. */
	assert_true(loop_wait_until(bench->loop, has_unread, bench, WAIT_MS));
	/* As soon as all of them are answered, on other threads. */
	for (int asked = 0; ask(bench, "GET", "/page/a") != 503 ||
			    !strstr(bench->body, "by the unread answers of a; read them");
	     asked++) {
		assert_true(asked < 1000);
		(void)poll(NULL, 0, 10);
	}
	assert_int_equal(ask(bench, "GET", "/source"), 200);
	for (size_t i = 0; i < SUPPORT_COUNT(lazy); i++)
		close(lazy[i]);
	bench->freed = 0;
	assert_int_equal(ask(bench, "GET", "/page/b"), 200);
	assert_int_equal(bench->body_size, PAGE_BYTES);
}

/* The server has one piece of a body that is written while it is read. */
static void test_a_source_is_read_in_pieces(void **state)
{
	struct bench *bench = *state;
	int lazy;

	assert_int_equal(ask(bench, "GET", "/source"), 200);
	assert_int_equal(bench->body_size, SOURCE_PIECES * SERVE_PIECE_BYTES);
	assert_int_equal(bench->pieces, SOURCE_PIECES);
	bench->freed = 0;
	lazy = ask_lazily(bench, "/source");
	assert_false(loop_wait_until(bench->loop, is_freed, bench, 300));
	assert_in_range(bench->pieces, 1, SOURCE_PIECES / 8);
	assert_in_range(budget_used(bench->unread), 1, 3 * SERVE_PIECE_BYTES);
	close(lazy);
	assert_true(loop_wait_until(bench->loop, is_freed, bench, WAIT_MS));
}

/* Pieces for several clients that are ready at once are written in several turns. */
static void test_sources_take_turns(void **state)
{
	struct bench *bench = *state;
	int lazy[6];

	serve_free(bench->serve);
	start_server(bench, 10 * WAIT_MS);
	bench->burns = true;
	for (size_t i = 0; i < SUPPORT_COUNT(lazy); i++) {
		lazy[i] = connect_to(bench);
		say(lazy[i], "GET /source HTTP/1.1\r\nHost: x\r\n\r\n");
	}
	assert_int_equal(ask(bench, "GET", "/healthz"), 200);
	(void)loop_wait_until(bench->loop, is_freed, bench, 300);
	assert_in_range(bench->pieces, 2, INT_MAX);
	assert_in_range(loop_longest_turn_cpu_us(bench->loop), BURN_US, 4 * BURN_US);
	for (size_t i = 0; i < SUPPORT_COUNT(lazy); i++)
		close(lazy[i]);
	bench->burns = false;
	assert_true(loop_wait_until(bench->loop, is_freed, bench, WAIT_MS));
}

static bool has_six_later(void *context)
{
	return ((struct bench *)context)->later_count == 6;
}

/* The same of requests that are answered together. */
static void test_sources_answered_together_take_turns(void **state)
{
	struct bench *bench = *state;
	int lazy[6];

	serve_free(bench->serve);
	bench->waiting = bench->waiting_of_owner = 6;
	start_server(bench, 10 * WAIT_MS);
	bench->burns = true;
	for (size_t i = 0; i < SUPPORT_COUNT(lazy); i++) {
		lazy[i] = connect_to(bench);
		say(lazy[i], "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
	}
	assert_true(loop_wait_until(bench->loop, has_six_later, bench, WAIT_MS));
	for (size_t i = 0; i < SUPPORT_COUNT(lazy); i++)
		serve_bench_answer_source(bench, bench->later[i]);
	assert_int_equal(bench->pieces, 0);
	for (size_t i = 0; i < SUPPORT_COUNT(lazy); i++)
		close(lazy[i]);
	bench->burns = false;
	assert_true(loop_wait_until(bench->loop, is_freed, bench, WAIT_MS));
}

/* Its time for an exchange is over. */
static void test_a_client_that_does_not_read_is_closed(void **state)
{
	struct bench *bench = *state;
	int lazy = ask_lazily(bench, "/source");

	assert_true(loop_wait_until(bench->loop, is_freed, bench, WAIT_MS));
	assert_in_range(bench->pieces, 1, SOURCE_PIECES / 8);
	close(lazy);
}

/* A client with many connections loses its own. */
static void test_many_connections_of_one_client_close_none_of_another(void **state)
{
	struct bench *bench = *state;
	struct reader other, many[3 * CONNECTIONS];

	serve_free(bench->serve);
	start_server(bench, 10 * WAIT_MS);
	other = (struct reader){ .fd = connect_from(bench, "127.0.0.2") };
	say(other.fd, "GET /hea");
	for (size_t i = 0; i < SUPPORT_COUNT(many); i++) {
		many[i] = (struct reader){ .fd = connect_to(bench) };
		say(many[i].fd, "GET /hea");
	}
	assert_int_equal(ask(bench, "GET", "/healthz"), 200);
	assert_true(is_closed(&many[0]));
	say(other.fd, "lthz HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_true(loop_wait_until(bench->loop, has_answer, &other, WAIT_MS));
	assert_non_null(strstr(other.data, "200 OK"));
	for (size_t i = 0; i < SUPPORT_COUNT(many); i++)
		close(many[i].fd);
	close(other.fd);
}

static bool has_one_later_more(void *context)
{
	return ((struct bench *)context)->later_count == 3;
}

/* As that of a client, but for those that wait for a page about a namespace. */
static void test_waiting_for_one_owner_is_bounded(void **state)
{
	static const char *const paths[] = { "/later/a", "/later/a", "/later/b", "/later" };
	struct bench *bench = *state;
	struct reader readers[4];
	char text[64];

	bench->waiting = 3;
	bench->waiting_of_owner = 1;
	serve_free(bench->serve);
	start_server(bench, 1500);
	for (size_t i = 0; i < 4; i++) {
		readers[i] = (struct reader){ .fd = connect_to(bench) };
		(void)snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", paths[i]);
		say(readers[i].fd, text);
		if (i == 0)
			assert_true(loop_wait_until(bench->loop, has_later, bench, WAIT_MS));
	}
	assert_true(loop_wait_until(bench->loop, has_answer, &readers[1], WAIT_MS));
	assert_non_null(strstr(readers[1].data, " 503 "));
	assert_true(loop_wait_until(bench->loop, has_one_later_more, bench, WAIT_MS));
	for (size_t i = 0; i < 4; i++)
		close(readers[i].fd);
}

/* Of the two places one client has one. */
static void test_waiting_of_one_client_is_bounded(void **state)
{
	struct bench *bench = *state;
	struct reader readers[3];

	bench->waiting_of_owner = 1;
	serve_free(bench->serve);
	start_server(bench, 1500);
	for (size_t i = 0; i < 3; i++) {
		readers[i] = (struct reader){ .fd = connect_from(bench, i < 2 ? "127.0.0.1" :
										"127.0.0.2") };
		say(readers[i].fd, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
		if (i == 0)
			assert_true(loop_wait_until(bench->loop, has_later, bench, WAIT_MS));
	}
	assert_true(loop_wait_until(bench->loop, has_answer, &readers[1], WAIT_MS));
	assert_non_null(strstr(readers[1].data, " 503 "));
	assert_true(loop_wait_until(bench->loop, has_two_later, bench, WAIT_MS));
	for (size_t i = 0; i < 3; i++)
		close(readers[i].fd);
}

static void test_header_without_end_is_refused(void **state)
{
	struct bench *bench = *state;
	struct reader reader = { .fd = connect_to(bench) };
	char filler[20000];

	memset(filler, 'a', sizeof(filler));
	say(reader.fd, "GET /");
	assert_int_equal(send(reader.fd, filler, sizeof(filler), 0), sizeof(filler));
	assert_true(loop_wait_until(bench->loop, has_answer, &reader, WAIT_MS));
	assert_true(reader.closed || strstr(reader.data, "HTTP/1.1 4"));
	close(reader.fd);
}

/* More slow clients than connections: the oldest of them are closed. */
static void test_slow_clients_lock_no_other_out(void **state)
{
	struct bench *bench = *state;
	struct reader slow[3 * CONNECTIONS];
	const size_t count = sizeof(slow) / sizeof(slow[0]);

	serve_free(bench->serve);
	start_server(bench, 10 * WAIT_MS);
	for (size_t i = 0; i < count; i++) {
		slow[i] = (struct reader){ .fd = connect_to(bench) };
		say(slow[i].fd, "GET /hea");
	}
	assert_int_equal(ask(bench, "GET", "/healthz"), 200);
	assert_true(is_closed(&slow[0]));
	assert_false(is_closed(&slow[count - 1]));
	for (size_t i = 0; i < count; i++)
		close(slow[i].fd);
	assert_int_equal(ask(bench, "GET", "/healthz"), 200);
}

/* The same while the loop runs, in bursts: the listening socket must return each time. The queue of
 * the listening socket is empty before the next burst, else connect() blocks the loop's thread. */
static void test_bursts_of_slow_clients_lock_no_other_out(void **state)
{
	struct bench *bench = *state;
	struct reader slow[12 * CONNECTIONS];
	const size_t count = sizeof(slow) / sizeof(slow[0]);

	serve_free(bench->serve);
	start_server(bench, 10 * WAIT_MS);
	for (size_t i = 0; i < count; i++) {
		slow[i] = (struct reader){ .fd = connect_to(bench) };
		(void)send(slow[i].fd, "GET /hea", 8, MSG_NOSIGNAL);
		if (i % 24 == 23)
			assert_true(loop_wait_until(bench->loop, is_closed, &slow[i - CONNECTIONS],
						    WAIT_MS));
	}
	assert_int_equal(ask(bench, "GET", "/healthz"), 200);
	for (size_t i = 0; i < count; i++)
		close(slow[i].fd);
}

/* The probe of a program whose loop is blocked: the connection is established, no answer
 * arrives. */
static void test_a_loop_that_hangs_does_not_answer(void **state)
{
	struct bench *bench = *state;
	struct reader probe = { .fd = connect_to(bench) };
	struct timeval wait = { .tv_usec = 100000 };
	fd_set readable;

	say(probe.fd, HEALTHZ);
	FD_ZERO(&readable);
	FD_SET(probe.fd, &readable);
	assert_int_equal(select(probe.fd + 1, &readable, NULL, NULL, &wait), 0);
	assert_true(loop_wait_until(bench->loop, has_answer, &probe, WAIT_MS));
	assert_non_null(strstr(probe.data, "200 OK"));
	close(probe.fd);
}

/* ---- addresses ---- */

static void expect_refused(struct bench *bench, const char *address, enum err_kind kind,
			   const char *text)
{
	struct serve_limits limits = SERVE_LIMITS_INIT;
	struct err err;

	assert_null(serve_new(bench->loop, address, &limits, serve_bench_handle, bench, &err));
	assert_string_equal(err_kind_name(err.kind), err_kind_name(kind));
	if (!strstr(err.text, text))
		fail_msg("\"%s\" is not in \"%s\"", text, err.text);
}

static void test_addresses(void **state)
{
	static const char *const bad[] = { "",         "8080",    "127.0.0.1",  "localhost:1",
					   "::1:8080", ":http",   "127.0.0.1:", ":99999x",
					   ":65536",   "[::1:80", "1.2.3:x:y",  "256.1.1.1:80",
					   ":-1",      ": 80",    ":000080" };
	struct serve_limits limits = SERVE_LIMITS_INIT;
	struct bench *bench = *state;
	struct serve *any;
	struct err err;
	char taken[64];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		expect_refused(bench, bad[i], ERR_INPUT, "is not an address to listen on");
	(void)snprintf(taken, sizeof(taken), "127.0.0.1:%d", serve_port(bench->serve));
	expect_refused(bench, taken, ERR_FATAL, "Address already in use; choose another address");
	any = serve_new(bench->loop, ":0", &limits, serve_bench_handle, bench, &err);
	assert_non_null(any);
	assert_true(serve_port(any) > 0);
	serve_free(any);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, serve_bench_setup, serve_bench_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_get),
		TEST(test_head),
		TEST(test_nothing_but_reading),
		TEST(test_later),
		TEST(test_waiting_is_bounded_and_may_be_given_up),
		TEST(test_half_a_request_delays_no_other),
		TEST(test_an_exchange_has_a_deadline),
		TEST(test_unread_answers_are_bounded),
		TEST(test_a_page_that_is_too_large),
		TEST(test_a_page_is_written_on_a_thread),
		TEST(test_one_owner_leaves_memory_to_others),
		TEST(test_a_source_is_read_in_pieces),
		TEST(test_sources_take_turns),
		TEST(test_sources_answered_together_take_turns),
		TEST(test_a_client_that_does_not_read_is_closed),
		TEST(test_many_connections_of_one_client_close_none_of_another),
		TEST(test_waiting_of_one_client_is_bounded),
		TEST(test_waiting_for_one_owner_is_bounded),
		TEST(test_header_without_end_is_refused),
		TEST(test_slow_clients_lock_no_other_out),
		TEST(test_bursts_of_slow_clients_lock_no_other_out),
		TEST(test_a_loop_that_hangs_does_not_answer),
		TEST(test_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
