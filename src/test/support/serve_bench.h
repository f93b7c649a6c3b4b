/* A server of net/serve with a handler, and bare sockets that ask it, on one loop. */
#ifndef TEST_SUPPORT_SERVE_BENCH_H
#define TEST_SUPPORT_SERVE_BENCH_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/memory.h"
#include "net/https.h"
#include "net/serve.h"
#include "net/work.h"
#include "test/support/loop_wait.h"
#include "test/support/support.h"

#define WAIT_MS 10000
#define CONNECTIONS 16 /* of which 8 are kept free */
#define SOURCE_PIECES 64
#define PAGE_BYTES ((4 << 20) - 64) /* more than a socket keeps */
#define HEALTHZ "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"

struct bench {
	struct loop *loop;
	struct https *https;
	struct serve *serve;
	struct serve_request *later[6];
	size_t later_count;
	char path[64]; /* of the last request */
	int status;
	char body[256];
	size_t body_size;
	bool done;
	struct budget *unread;
	unsigned waiting, waiting_of_owner; /* of the next server; 0: 2 */
	pthread_t loop_thread;
	bool page_is_on_loop; /* /page, and /page/OWNER */
	int pieces;           /* of /source: 4 MiB */
	bool burns;           /* each of them */
	int freed;            /* pages and sources */
};

void serve_bench_handle(void *context, const char *path, struct serve_request *request);

/* As /source does. */
void serve_bench_answer_source(struct bench *bench, struct serve_request *request);

void start_server(struct bench *bench, int64_t exchange_ms);

int serve_bench_setup(void **state);

int serve_bench_teardown(void **state);

struct reader {
	int fd;
	char data[512];
	size_t size;
	bool closed;
};

/* From this address of the machine: another client. */
int connect_from(const struct bench *bench, const char *host);
int connect_to(const struct bench *bench);

void say(int fd, const char *text);

bool has_answer(void *context);

bool is_closed(void *context);

#endif
