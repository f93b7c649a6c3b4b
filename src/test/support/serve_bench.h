/* A server of net/serve with a handler, and bare sockets that ask it, on one loop. Header only. */
#ifndef TEST_SUPPORT_SERVE_BENCH_H
#define TEST_SUPPORT_SERVE_BENCH_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "net/https.h"
#include "net/serve.h"
#include "test/support/loop_wait.h"
#include "test/support/support.h"

#define WAIT_MS 10000
#define CONNECTIONS 16 /* of which 8 are kept free */
#define HEALTHZ "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"

struct bench {
	struct loop *loop;
	struct https *https;
	struct serve *serve;
	struct serve_request *later[4];
	size_t later_count;
	char path[64]; /* of the last request */
	int status;
	char body[256];
	size_t body_size;
	bool done;
};

__attribute__((unused)) static void handle(void *context, const char *path,
					   struct serve_request *request)
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

__attribute__((unused)) static void start_server(struct bench *bench, int64_t exchange_ms)
{
	struct serve_limits limits = SERVE_LIMITS_INIT;
	struct err err;

	limits.connections = CONNECTIONS;
	limits.waiting = 2;
	limits.exchange_ms = exchange_ms;
	limits.unread_bytes = 6 << 20;
	bench->serve = serve_new(bench->loop, "127.0.0.1:0", &limits, handle, bench, &err);
	assert_non_null(bench->serve);
}

__attribute__((unused)) static int setup(void **state)
{
	struct bench *bench = memory_alloc(sizeof(*bench));

	bench->loop = loop_new();
	bench->https = https_new(bench->loop, "test/1");
	start_server(bench, 1500);
	*state = bench;
	return 0;
}

__attribute__((unused)) static int teardown(void **state)
{
	struct bench *bench = *state;

	https_free(bench->https);
	serve_free(bench->serve);
	loop_free(bench->loop);
	memory_free(bench);
	return 0;
}

struct reader {
	int fd;
	char data[512];
	size_t size;
	bool closed;
};

__attribute__((unused)) static int connect_to(const struct bench *bench)
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

__attribute__((unused)) static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

__attribute__((unused)) static bool has_answer(void *context)
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

__attribute__((unused)) static bool is_closed(void *context)
{
	struct reader *reader = context;

	reader->size = 0;
	(void)has_answer(reader);
	return reader->closed;
}

#endif
