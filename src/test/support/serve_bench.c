#include "test/support/serve_bench.h"

void serve_bench_handle(void *context, const char *path, struct serve_request *request)
{
	struct bench *bench = context;
	AUTO(buf_done) struct buf body;

	(void)snprintf(bench->path, sizeof(bench->path), "%s", path);
	buf_init(&body, 8 << 20);
	if (!strcmp(path, "/later")) {
		if (serve_may_wait(request))
			bench->later[bench->later_count++] = request;
	} else if (!strcmp(path, "/large")) {
		body.ceiling_bytes = 10;
		(void)buf_add_string(&body, "more than ten bytes");
		serve_answer(request, 200, SERVE_TEXT, &body);
	} else if (!strcmp(path, "/megabytes")) {
		for (int i = 0; i < 1 << 20; i++)
			(void)buf_add_string(&body, "0123");
		serve_answer(request, 200, SERVE_TEXT, &body);
	} else {
		serve_answer_text(request, strcmp(path, "/healthz") != 0 ? 404 : 200, "ok");
	}
}

void start_server(struct bench *bench, int64_t exchange_ms)
{
	struct serve_limits limits = SERVE_LIMITS_INIT;
	struct err err;

	limits.connections = CONNECTIONS;
	limits.waiting = 2;
	limits.exchange_ms = exchange_ms;
	limits.unread_bytes = 6 << 20;
	bench->serve =
		serve_new(bench->loop, "127.0.0.1:0", &limits, serve_bench_handle, bench, &err);
	assert_non_null(bench->serve);
}

int serve_bench_setup(void **state)
{
	struct bench *bench = memory_alloc(sizeof(*bench));

	bench->loop = loop_new();
	bench->https = https_new(bench->loop, "test/1");
	start_server(bench, 1500);
	*state = bench;
	return 0;
}

int serve_bench_teardown(void **state)
{
	struct bench *bench = *state;

	https_free(bench->https);
	serve_free(bench->serve);
	loop_free(bench->loop);
	memory_free(bench);
	return 0;
}

int connect_to(const struct bench *bench)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)serve_port(bench->serve)),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return fd;
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
