/* The bytes that a client of the HTTP server sends, in two pieces of which the first byte gives the
 * size; the client closes when it receives no more bytes. Laws: the received bytes are nothing or
 * HTTP; the next client gets its answer. */
#include "fuzz.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/memory.h"
#include "net/loop.h"
#include "net/serve.h"

#define QUIET_TURNS 20 /* of the loop; the server is on the same one, so it has sent all */
#define ANSWER_START "HTTP/1."

struct client {
	const char *data;
	size_t size, sent, first;
	char start[sizeof(ANSWER_START)]; /* of the received bytes */
	size_t received;
	int socket, quiet;
};

static struct loop *loop;
static struct serve *serve;
static struct serve_request *waiting;
static struct client client;

static void handle(void *context, const char *path, struct serve_request *request)
{
	(void)context;
	if (strncmp(path, "/l", 2) == 0 && !waiting && serve_may_wait(request)) {
		waiting = request;
	} else {
		serve_answer_text(request, *path == '/' ? 200 : 404, "ok");
	}
}

/* False: the server will read no more. */
static bool send_some(void)
{
	size_t end = client.sent < client.first ? client.first : client.size;
	ssize_t size = send(client.socket, client.data + client.sent, end - client.sent,
			    MSG_NOSIGNAL | MSG_DONTWAIT);

	if (size < 0)
		return errno == EAGAIN;
	client.sent += (size_t)size;
	client.quiet = 0;
	return true;
}

/* False: the server has ended the connection. */
static bool receive_some(void)
{
	char bytes[4096];
	ssize_t size = recv(client.socket, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (size <= 0)
		return size < 0 && errno == EAGAIN;
	client.quiet = 0;
	for (ssize_t i = 0; i < size && client.received < sizeof(client.start) - 1; i++)
		client.start[client.received++] = bytes[i];
	return true;
}

/* False: everything was sent. */
static bool take_turn(void)
{
	/* Not loop_run: an iteration of it waits for a millisecond. */
	(void)uv_run(loop_uv(loop), UV_RUN_NOWAIT);
	client.quiet++;
	if (waiting)
		serve_answer_text(steal(&waiting), 200, "later");
	if (client.sent < client.size && !send_some())
		client.sent = client.size;
	return receive_some() && client.quiet < QUIET_TURNS;
}

/* libFuzzer's own alarm interrupts a connect that waits; the connection is still made. */
static bool finish_connect(int file)
{
	struct pollfd ready = { .fd = file, .events = POLLOUT };
	int problem = 0;
	socklen_t size = sizeof(problem);

	while (poll(&ready, 1, -1) < 0 && errno == EINTR)
		;
	return getsockopt(file, SOL_SOCKET, SO_ERROR, &problem, &size) == 0 && problem == 0;
}

/* From many addresses, so that ports do not run out while old connections are remembered. */
static int connect_client(void)
{
	static uint32_t number;
	struct sockaddr_in from = { .sin_family = AF_INET }, to = { .sin_family = AF_INET };
	int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	from.sin_addr.s_addr = htonl(0x7f000001 + number++ % 200);
	to.sin_addr.s_addr = htonl(0x7f000001);
	to.sin_port = htons((uint16_t)serve_port(serve));
	REQUIRE(file >= 0 && bind(file, (struct sockaddr *)&from, sizeof(from)) == 0);
	REQUIRE(connect(file, (struct sockaddr *)&to, sizeof(to)) == 0 ||
		(errno == EINTR && finish_connect(file)));
	return file;
}

static void exchange(const char *data, size_t size, size_t first)
{
	client = (struct client){ .data = data, .size = size, .first = first };
	client.socket = connect_client();
	while (take_turn())
		;
	(void)close(client.socket);
	REQUIRE(memcmp(client.start, ANSWER_START, client.received) == 0);
}

static void start(void)
{
	static const struct serve_limits limits = SERVE_LIMITS_INIT;
	struct err err;

	loop = loop_new();
	serve = serve_new(loop, "127.0.0.1:0", &limits, handle, NULL, &err);
	REQUIRE(serve);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char get[] = "GET /healthz HTTP/1.0\r\n\r\n";

	if (!serve)
		start();
	if (size == 0)
		return 0;
	exchange((const char *)data + 1, size - 1, (size_t)data[0] % size);
	exchange(get, sizeof(get) - 1, 0);
	REQUIRE(client.received == sizeof(ANSWER_START) - 1);
	return 0;
}
