/* Checks that the framing of a request is unambiguous, so that all proxies read the same request
 * (RFC 9112, 3.2, 5 and 6). libmicrohttpd 0.9.75 accepts most of the refused requests. Used by
 * net/serve alone. */
#ifndef NET_SERVE_STRICT_H
#define NET_SERVE_STRICT_H

struct MHD_Connection;

/* Why the request must be answered with 400, NULL when it may be served. `version` is that of the
 * request line. A folded header line cannot be detected here, because the library has joined it
 * with the one before it. It is harmless: net/serve reads one request of a connection. */
const char *serve_strict_check(struct MHD_Connection *connection, const char *version);

#endif
