#include "net/serve_listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"

#define SERVE_BACKLOG 64
#define SERVE_HOST_MAX 64
#define SERVE_PORT_DIGITS_MAX 5

static int bad_address(const char *address, struct err *err)
{
	return err_set(err, ERR_INPUT,
		       "\"%s\" is not an address to listen on; \":8080\", "
		       "\"127.0.0.1:8080\" and \"[::1]:8080\" are",
		       address);
}

/* getaddrinfo reads 65537 as 1. */
static bool is_port(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits > 0 && digits <= SERVE_PORT_DIGITS_MAX && text[digits] == '\0' &&
	       strtol(text, NULL, 10) <= UINT16_MAX;
}

static int split_address(const char *address, char *host, const char **ret_port, struct err *err)
{
	const char *colon = strrchr(address, ':');
	const char *start = address;

	if (!colon || !is_port(colon + 1))
		return bad_address(address, err);
	size_t size = (size_t)(colon - address);
	if (size >= 2 && start[0] == '[' && start[size - 1] == ']') {
		start++;
		size -= 2;
	} else if (memchr(start, ':', size)) {
		return bad_address(address, err);
	}
	if (size >= SERVE_HOST_MAX)
		return bad_address(address, err);
	memcpy(host, start, size);
	host[size] = '\0';
	*ret_port = colon + 1;
	return 0;
}

static int bind_one(const struct addrinfo *found)
{
	int on = 1, off = 0;
	int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	CHECK(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0);
	if (found->ai_family == AF_INET6)
		CHECK(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0);
	if (bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, SERVE_BACKLOG) == 0)
		return fd;
	int failure = errno;
	close(fd);
	errno = failure;
	return -1;
}

/* The listening socket, or -1 with errno; errno 0: the host is not an address of this family. */
static int listen_on(const char *host, const char *port, int family)
{
	struct addrinfo hints = { .ai_family = family,
				  .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV };
	struct addrinfo *found = NULL;

	if (getaddrinfo(host[0] ? host : NULL, port, &hints, &found) != 0) {
		errno = 0;
		return -1;
	}
	int fd = bind_one(found);
	freeaddrinfo(found);
	return fd;
}

/* For ":port" IPv6 is tried first, because its socket accepts IPv4 as well; a machine without IPv6
 * uses IPv4. */
int serve_listen(const char *address, struct err *err)
{
	char host[SERVE_HOST_MAX];
	const char *port = "";

	if (split_address(address, host, &port, err) < 0)
		return -1;
	int fd = listen_on(host, port, AF_INET6);
	int failure = errno;
	if (fd < 0 && failure != EADDRINUSE) {
		fd = listen_on(host, port, AF_INET);
		failure = errno ? errno : failure;
	}
	if (fd < 0 && failure == 0)
		return bad_address(address, err);
	if (fd < 0)
		return err_set(err, ERR_FATAL, "cannot listen on %s: %s; choose another address",
			       address, strerror(failure));
	return fd;
}

int serve_listen_port(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in ipv4;
		struct sockaddr_in6 ipv6;
	} name;
	socklen_t size = sizeof(name);

	memset(&name, 0, sizeof(name));
	CHECK(getsockname(fd, &name.any, &size) == 0);
	return ntohs(name.any.sa_family == AF_INET6 ? name.ipv6.sin6_port : name.ipv4.sin_port);
}
