/* Whether a request is framed so that everybody on its way reads the same request (RFC 9112, 3.2, 5
 * and 6). libmicrohttpd 0.9.75 accepts most of what is refused here. Used by net/serve alone. */
#ifndef NET_SERVE_STRICT_H
#define NET_SERVE_STRICT_H

struct MHD_Connection;

/* Why the request must be answered with 400, NULL when it may be served. `version` is that of the
 * request line. A line folded into the one before it cannot be seen here: the library has joined
 * them. It is harmless, because net/serve reads one request of a connection. */
const char *serve_strict_check(struct MHD_Connection *connection, const char *version);

#endif
