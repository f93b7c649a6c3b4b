/* The listening socket of net/serve. The caller owns the descriptor. */
#ifndef NET_SERVE_LISTEN_H
#define NET_SERVE_LISTEN_H

#include "base/err.h"

/* "host:port", ":port" (every address of the machine, IPv6 and IPv4) or "[address]:port"; the
 * host is an address, not a name, so that no resolver is needed; port 0 selects a free one. The
 * descriptor, or -1: ERR_INPUT for an address of another form, ERR_FATAL when it cannot be
 * bound. */
int serve_listen(const char *address, struct err *err);

/* The port that a listening socket has. */
int serve_listen_port(int fd);

#endif
