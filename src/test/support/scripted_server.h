/* An HTTP/1.1 server for tests that follows a script, also one that breaks the protocol. One thread
 * accepts, one thread serves each connection; the script is called for each request, in the
 * connection's thread, so values that it shares with the test must be atomic. Listens on 127.0.0.1.
 * Header only. */
#ifndef TEST_SUPPORT_SCRIPTED_SERVER_H
#define TEST_SUPPORT_SCRIPTED_SERVER_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "test/support/pki.h"

#define SERVER_CONNECTIONS_MAX 256
#define SERVER_LOG_MAX 512
#define SERVER_REQUEST_MAX 65536

struct scripted_server;

struct exchange {
	struct scripted_server *server;
	int fd;
	SSL *ssl;
	char data[SERVER_REQUEST_MAX + 1]; /* request head, NUL, body */
	size_t size;
	char method[16], path[4096];
	const char *head, *body;
	bool closed; /* the script closed or broke the connection */
};

typedef void server_script(struct exchange *exchange, void *context);

struct scripted_server {
	server_script *script;
	void *context;
	SSL_CTX *tls;
	int listener, port;
	pthread_t acceptor;
	pthread_mutex_t lock; /* of the following */
	pthread_t threads[SERVER_CONNECTIONS_MAX];
	int fds[SERVER_CONNECTIONS_MAX]; /* -1: closed */
	size_t connections;
	char *log[SERVER_LOG_MAX]; /* "GET /path" */
	size_t logged;
};

struct server_connection {
	struct scripted_server *server;
	size_t index;
	int fd;
};

static inline ssize_t exchange_read(struct exchange *exchange, void *data, size_t size)
{
	if (exchange->ssl)
		return SSL_read(exchange->ssl, data, (int)size);
	return recv(exchange->fd, data, size, 0);
}

/* A peer that has closed is not a failure of the server. */
static inline void exchange_send(struct exchange *exchange, const char *data, size_t size)
{
	while (size > 0 && !exchange->closed) {
		ssize_t sent = exchange->ssl ? SSL_write(exchange->ssl, data, (int)size) :
					       send(exchange->fd, data, size, MSG_NOSIGNAL);

		if (sent <= 0)
			exchange->closed = true;
		else {
			data += sent;
			size -= (size_t)sent;
		}
	}
}

static inline void exchange_text(struct exchange *exchange, const char *text)
{
	exchange_send(exchange, text, strlen(text));
}

/* A whole answer; headers are lines that end in \r\n, "" for none. */
static inline void exchange_answer(struct exchange *exchange, int status, const char *headers,
				   const char *body)
{
	char head[1024];

	(void)snprintf(head, sizeof(head), "HTTP/1.1 %d X\r\nContent-Length: %zu\r\n%s\r\n", status,
		       strlen(body), headers);
	exchange_text(exchange, head);
	exchange_text(exchange, body);
}

static inline void exchange_open_stream(struct exchange *exchange)
{
	exchange_text(exchange, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
}

static inline void exchange_chunk(struct exchange *exchange, const char *data, size_t size)
{
	char head[32];

	(void)snprintf(head, sizeof(head), "%zx\r\n", size);
	exchange_text(exchange, head);
	exchange_send(exchange, data, size);
	exchange_text(exchange, "\r\n");
}

static inline void exchange_line(struct exchange *exchange, const char *text)
{
	exchange_chunk(exchange, text, strlen(text));
	exchange_chunk(exchange, "\n", 1);
}

static inline void exchange_end_stream(struct exchange *exchange)
{
	exchange_text(exchange, "0\r\n\r\n");
}

/* Sends nothing until the client closes or the server stops. */
static inline void exchange_hold(struct exchange *exchange)
{
	char rest[256];

	while (!exchange->closed && exchange_read(exchange, rest, sizeof(rest)) > 0)
		;
	exchange->closed = true;
}

/* Sends no more, and reads until the client closes. */
static inline void exchange_half_close(struct exchange *exchange)
{
	(void)shutdown(exchange->fd, SHUT_WR);
	exchange_hold(exchange);
}

/* Ends the connection with RST. */
static inline void exchange_reset(struct exchange *exchange)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 0 };

	(void)setsockopt(exchange->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	exchange->closed = true;
}

/* The value of a request header in a static buffer of the thread, "" when absent. */
static inline const char *exchange_header(const struct exchange *exchange, const char *name)
{
	static _Thread_local char value[4096];
	size_t size = strlen(name);

	value[0] = '\0';
	for (const char *line = strstr(exchange->head, "\r\n"); line; line = strstr(line, "\r\n")) {
		line += 2;
		if (strncasecmp(line, name, size) == 0 && line[size] == ':') {
			const char *from = line + size + 1 + strspn(line + size + 1, " ");

			(void)snprintf(value, sizeof(value), "%.*s", (int)strcspn(from, "\r"),
				       from);
			break;
		}
	}
	return value;
}

/* Reads one request; false when the connection ended. */
static inline bool exchange_next(struct exchange *exchange)
{
	char *end = NULL;
	size_t wanted;

	exchange->size = 0;
	exchange->data[0] = '\0';
	while (!(end = strstr(exchange->data, "\r\n\r\n"))) {
		ssize_t got = exchange_read(exchange, exchange->data + exchange->size,
					    SERVER_REQUEST_MAX - exchange->size);

		if (got <= 0)
			return false;
		exchange->size += (size_t)got;
		exchange->data[exchange->size] = '\0';
	}
	exchange->head = exchange->data;
	exchange->body = end + 4;
	if (sscanf(exchange->head, "%15s %4095s", exchange->method, exchange->path) != 2)
		return false;
	wanted = strtoul(exchange_header(exchange, "Content-Length"), NULL, 10);
	while (exchange->size - (size_t)(exchange->body - exchange->data) < wanted) {
		ssize_t got = exchange_read(exchange, exchange->data + exchange->size,
					    SERVER_REQUEST_MAX - exchange->size);

		if (got <= 0)
			return false;
		exchange->size += (size_t)got;
		exchange->data[exchange->size] = '\0';
	}
	return true;
}

static inline void server_note(struct scripted_server *server, const struct exchange *exchange)
{
	size_t size = strlen(exchange->method) + strlen(exchange->path) + 2;
	char *line = memory_alloc(size);

	(void)snprintf(line, size, "%s %s", exchange->method, exchange->path);
	pthread_mutex_lock(&server->lock);
	CHECK(server->logged < SERVER_LOG_MAX);
	server->log[server->logged++] = line;
	pthread_mutex_unlock(&server->lock);
}

static inline void *server_serve(void *argument)
{
	struct server_connection *connection = argument;
	struct scripted_server *server = connection->server;
	struct exchange *exchange = memory_alloc(sizeof(*exchange));

	exchange->server = server;
	exchange->fd = connection->fd;
	if (server->tls) {
		exchange->ssl = SSL_new(server->tls);
		SSL_set_fd(exchange->ssl, connection->fd);
		if (SSL_accept(exchange->ssl) != 1)
			exchange->closed = true;
	}
	while (!exchange->closed && exchange_next(exchange)) {
		server_note(server, exchange);
		server->script(exchange, server->context);
	}
	SSL_free(exchange->ssl);
	pthread_mutex_lock(&server->lock);
	close(connection->fd);
	server->fds[connection->index] = -1;
	pthread_mutex_unlock(&server->lock);
	memory_free(exchange);
	memory_free(connection);
	return NULL;
}

static inline void *server_accept(void *argument)
{
	struct scripted_server *server = argument;
	int fd;

	while ((fd = accept(server->listener, NULL, NULL)) >= 0) {
		struct server_connection *connection = memory_alloc(sizeof(*connection));
		int one = 1;

		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		pthread_mutex_lock(&server->lock);
		CHECK(server->connections < SERVER_CONNECTIONS_MAX);
		*connection = (struct server_connection){ server, server->connections, fd };
		server->fds[server->connections] = fd;
		CHECK(pthread_create(&server->threads[server->connections++], NULL, server_serve,
				     connection) == 0);
		pthread_mutex_unlock(&server->lock);
	}
	return NULL;
}

/* tls NULL: plain. The server owns the context. */
static inline struct scripted_server *server_start_tls(server_script *script, void *context,
						       SSL_CTX *tls)
{
	struct scripted_server *server = memory_alloc(sizeof(*server));
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);

	server->script = script;
	server->context = context;
	server->tls = tls;
	CHECK(pthread_mutex_init(&server->lock, NULL) == 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(bind(server->listener, (struct sockaddr *)&address, size) == 0);
	CHECK(getsockname(server->listener, (struct sockaddr *)&address, &size) == 0);
	server->port = ntohs(address.sin_port);
	CHECK(listen(server->listener, 64) == 0);
	CHECK(pthread_create(&server->acceptor, NULL, server_accept, server) == 0);
	return server;
}

static inline struct scripted_server *server_start(server_script *script, void *context)
{
	return server_start_tls(script, context, NULL);
}

/* Closes all connections that are open, as a server does that ends. */
static inline void server_drop(struct scripted_server *server)
{
	pthread_mutex_lock(&server->lock);
	for (size_t i = 0; i < server->connections; i++) {
		if (server->fds[i] >= 0)
			(void)shutdown(server->fds[i], SHUT_RDWR);
	}
	pthread_mutex_unlock(&server->lock);
}

static inline void server_stop(struct scripted_server *server)
{
	(void)shutdown(server->listener, SHUT_RDWR);
	pthread_join(server->acceptor, NULL);
	close(server->listener);
	server_drop(server);
	for (size_t i = 0; i < server->connections; i++)
		pthread_join(server->threads[i], NULL);
	for (size_t i = 0; i < server->logged; i++)
		memory_free(server->log[i]);
	SSL_CTX_free(server->tls);
	pthread_mutex_destroy(&server->lock);
	memory_free(server);
}

/* How many requests were received whose "METHOD /path" holds the text. */
static inline size_t server_count(struct scripted_server *server, const char *text)
{
	size_t count = 0;

	pthread_mutex_lock(&server->lock);
	for (size_t i = 0; i < server->logged; i++)
		count += strstr(server->log[i], text) ? 1 : 0;
	pthread_mutex_unlock(&server->lock);
	return count;
}

static inline size_t server_connections(struct scripted_server *server)
{
	size_t count;

	pthread_mutex_lock(&server->lock);
	count = server->connections;
	pthread_mutex_unlock(&server->lock);
	return count;
}

#endif
