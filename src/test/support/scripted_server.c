#include "test/support/scripted_server.h"

static ssize_t exchange_read(struct exchange *exchange, void *data, size_t size)
{
	if (exchange->ssl)
		return SSL_read(exchange->ssl, data, (int)size);
	return recv(exchange->fd, data, size, 0);
}

void exchange_send(struct exchange *exchange, const char *data, size_t size)
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

void exchange_text(struct exchange *exchange, const char *text)
{
	exchange_send(exchange, text, strlen(text));
}

void exchange_answer(struct exchange *exchange, int status, const char *headers, const char *body)
{
	char head[1024];

	(void)snprintf(head, sizeof(head), "HTTP/1.1 %d X\r\nContent-Length: %zu\r\n%s\r\n", status,
		       strlen(body), headers);
	exchange_text(exchange, head);
	exchange_text(exchange, body);
}

void exchange_open_stream(struct exchange *exchange)
{
	exchange_text(exchange, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
}

void exchange_chunk(struct exchange *exchange, const char *data, size_t size)
{
	char head[32];

	(void)snprintf(head, sizeof(head), "%zx\r\n", size);
	exchange_text(exchange, head);
	exchange_send(exchange, data, size);
	exchange_text(exchange, "\r\n");
}

void exchange_end_stream(struct exchange *exchange)
{
	exchange_text(exchange, "0\r\n\r\n");
}

void exchange_hold(struct exchange *exchange)
{
	char rest[256];

	while (!exchange->closed && exchange_read(exchange, rest, sizeof(rest)) > 0)
		;
	exchange->closed = true;
}

void exchange_half_close(struct exchange *exchange)
{
	(void)shutdown(exchange->fd, SHUT_WR);
	exchange_hold(exchange);
}

void exchange_reset(struct exchange *exchange)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 0 };

	(void)setsockopt(exchange->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	exchange->closed = true;
}

const char *exchange_header(const struct exchange *exchange, const char *name)
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

/* Adds what arrives next to the data; false when the connection ended. */
static bool exchange_receive(struct exchange *exchange)
{
	ssize_t got = exchange_read(exchange, exchange->data + exchange->size,
				    SERVER_REQUEST_MAX - exchange->size);

	if (got <= 0)
		return false;
	exchange->size += (size_t)got;
	exchange->data[exchange->size] = '\0';
	return true;
}

/* Reads one request; false when the connection ended. */
static bool exchange_next(struct exchange *exchange)
{
	char *end = NULL;
	size_t wanted;

	exchange->size = 0;
	exchange->data[0] = '\0';
	while (!(end = strstr(exchange->data, "\r\n\r\n")))
		if (!exchange_receive(exchange))
			return false;
	exchange->head = exchange->data;
	exchange->body = end + 4;
	if (sscanf(exchange->head, "%15s %4095s", exchange->method, exchange->path) != 2)
		return false;
	wanted = strtoul(exchange_header(exchange, "Content-Length"), NULL, 10);
	while (exchange->size - (size_t)(exchange->body - exchange->data) < wanted)
		if (!exchange_receive(exchange))
			return false;
	return true;
}

static void server_note(struct scripted_server *server, const struct exchange *exchange)
{
	size_t size = strlen(exchange->method) + strlen(exchange->path) + 2;
	char *line = memory_alloc(size);

	(void)snprintf(line, size, "%s %s", exchange->method, exchange->path);
	pthread_mutex_lock(&server->lock);
	CHECK(server->logged < SERVER_LOG_MAX);
	server->log[server->logged++] = line;
	pthread_mutex_unlock(&server->lock);
}

static void *server_serve(void *argument)
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

static void *server_accept(void *argument)
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

struct scripted_server *server_start_tls(server_script *script, void *context, SSL_CTX *tls)
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

struct scripted_server *server_start(server_script *script, void *context)
{
	return server_start_tls(script, context, NULL);
}

void server_drop(struct scripted_server *server)
{
	pthread_mutex_lock(&server->lock);
	for (size_t i = 0; i < server->connections; i++) {
		if (server->fds[i] >= 0)
			(void)shutdown(server->fds[i], SHUT_RDWR);
	}
	pthread_mutex_unlock(&server->lock);
}

void server_stop(struct scripted_server *server)
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

size_t server_count(struct scripted_server *server, const char *text)
{
	size_t count = 0;

	pthread_mutex_lock(&server->lock);
	for (size_t i = 0; i < server->logged; i++)
		count += strstr(server->log[i], text) ? 1 : 0;
	pthread_mutex_unlock(&server->lock);
	return count;
}

size_t server_connections(struct scripted_server *server)
{
	size_t count;

	pthread_mutex_lock(&server->lock);
	count = server->connections;
	pthread_mutex_unlock(&server->lock);
	return count;
}
