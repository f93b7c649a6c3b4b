#include "test/support/serve_bench.h"

static void write_page(void *own, struct buf *body)
{
	struct bench *bench = own;

	bench->page_is_on_loop = pthread_equal(pthread_self(), bench->loop_thread);
	for (int i = 0; i < PAGE_BYTES / 8; i++)
		(void)buf_add_string(body, "01234567");
}

static void write_large(void *own, struct buf *body)
{
	write_page(own, body);
	write_page(own, body);
}

static bool add_piece(void *own, struct buf *piece)
{
	struct bench *bench = own;

	if (bench->burns)
		burn();
	while (piece->size < SERVE_PIECE_BYTES)
		(void)buf_add_string(piece, "01234567");
	return ++bench->pieces < SOURCE_PIECES;
}

static void count_freed(void *own)
{
	((struct bench *)own)->freed++;
}

void serve_bench_answer_source(struct bench *bench, struct serve_request *request)
{
	static const struct serve_source source = { add_piece, count_freed };

	serve_answer_source(request, SERVE_TEXT, &source, bench);
}

void serve_bench_handle(void *context, const char *path, struct serve_request *request)
{
	static const struct serve_page page = { write_page, count_freed };
	static const struct serve_page large = { write_large, count_freed };
	struct bench *bench = context;

	(void)snprintf(bench->path, sizeof(bench->path), "%s", path);
	if (!strncmp(path, "/later", 6)) {
		if (path[6])
			serve_charge_to(request, path + 7);
		if (serve_may_wait(request))
			bench->later[bench->later_count++] = request;
	} else if (!strcmp(path, "/large")) {
		if (serve_may_wait(request))
			serve_answer_page(request, SERVE_TEXT, &large, bench);
	} else if (!strncmp(path, "/page", 5)) {
		if (path[5])
			serve_charge_to(request, path + 6);
		if (serve_may_wait(request))
			serve_answer_page(request, SERVE_TEXT, &page, bench);
	} else if (!strcmp(path, "/source")) {
		bench->pieces = 0;
		serve_bench_answer_source(bench, request);
	} else {
		serve_answer_text(request, strcmp(path, "/healthz") != 0 ? 404 : 200, "ok");
	}
}

void start_server(struct bench *bench, int64_t exchange_ms)
{
	struct serve_limits limits = SERVE_LIMITS_INIT;
	struct err err;

	limits.connections = CONNECTIONS;
	limits.waiting = bench->waiting ? bench->waiting : 2;
	limits.waiting_of_owner = bench->waiting_of_owner ? bench->waiting_of_owner : 2;
	limits.exchange_ms = exchange_ms;
	limits.unread = bench->unread;
	bench->serve =
		serve_new(bench->loop, "127.0.0.1:0", &limits, serve_bench_handle, bench, &err);
	assert_non_null(bench->serve);
}

int serve_bench_setup(void **state)
{
	struct bench *bench = memory_alloc(sizeof(*bench));

	bench->loop = loop_new();
	bench->loop_thread = pthread_self();
	bench->unread = budget_new("all unread answers", "read them", 6 << 20, NULL);
	bench->https = https_new(bench->loop, "test/1");
	start_server(bench, 1500);
	*state = bench;
	return 0;
}

int serve_bench_teardown(void **state)
{
	struct bench *bench = *state;

	https_free(bench->https);
	assert_true(work_stop(bench->loop, WAIT_MS));
	serve_free(bench->serve);
	assert_int_equal(budget_used(bench->unread), 0);
	budget_free(bench->unread);
	loop_free(bench->loop);
	memory_free(bench);
	return 0;
}

int connect_from(const struct bench *bench, const char *host)
{
	struct sockaddr_in from = { .sin_family = AF_INET };
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)serve_port(bench->serve)),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(inet_pton(AF_INET, host, &from.sin_addr), 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return fd;
}

int connect_to(const struct bench *bench)
{
	return connect_from(bench, "127.0.0.1");
}

void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

bool has_answer(void *context)
{
	struct reader *reader = context;
	ssize_t got = recv(reader->fd, reader->data + reader->size,
			   sizeof(reader->data) - 1 - reader->size, 0);

	if (got == 0 || (got < 0 && errno == ECONNRESET))
		reader->closed = true;
	if (got > 0)
		reader->size += (size_t)got;
	reader->data[reader->size] = '\0';
	return reader->closed || strstr(reader->data, "\r\n\r\n");
}

bool is_closed(void *context)
{
	struct reader *reader = context;

	reader->size = 0;
	(void)has_answer(reader);
	return reader->closed;
}
