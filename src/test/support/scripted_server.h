/* An HTTP/1.1 server for tests that follows a script, also one that breaks the protocol. One thread
 * accepts, one thread serves each connection; the script is called for each request, in the
 * connection's thread, so values that it shares with the test must be atomic. Listens on 127.0.0.1. */
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

/* A peer that has closed is not a failure of the server. */
void exchange_send(struct exchange *exchange, const char *data, size_t size);

void exchange_text(struct exchange *exchange, const char *text);

/* A whole answer; headers are lines that end in \r\n, "" for none. */
void exchange_answer(struct exchange *exchange, int status, const char *headers, const char *body);

void exchange_open_stream(struct exchange *exchange);

void exchange_chunk(struct exchange *exchange, const char *data, size_t size);

void exchange_end_stream(struct exchange *exchange);

/* Sends nothing until the client closes or the server stops. */
void exchange_hold(struct exchange *exchange);

/* Sends no more, and reads until the client closes. */
void exchange_half_close(struct exchange *exchange);

/* Ends the connection with RST. */
void exchange_reset(struct exchange *exchange);

/* The value of a request header in a static buffer of the thread, "" when absent. */
const char *exchange_header(const struct exchange *exchange, const char *name);

/* tls NULL: plain. The server owns the context. */
struct scripted_server *server_start_tls(server_script *script, void *context, SSL_CTX *tls);

struct scripted_server *server_start(server_script *script, void *context);

/* Closes all connections that are open, as a server does that ends. */
void server_drop(struct scripted_server *server);

void server_stop(struct scripted_server *server);

/* How many requests were received whose "METHOD /path" holds the text. */
size_t server_count(struct scripted_server *server, const char *text);

size_t server_connections(struct scripted_server *server);

#endif
