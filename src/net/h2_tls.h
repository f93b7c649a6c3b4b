/* TLS material for HTTP/2 clients: one OpenSSL context, shared by sessions, ALPN h2 only.
 * Reference counted: every holder calls h2_tls_release once.
 * Must not be used for Kubernetes HTTPS (libcurl has its own). */
#ifndef NET_H2_TLS_H
#define NET_H2_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

struct h2_tls;
struct h2_tls_link;

/* PEM texts. cert and key are shown to the server (mutual TLS as Ray does it) and may both be
 * NULL. ca is what server certificates are checked against, with the address in their SANs.
 * Returns a first reference, or NULL with err (ERR_INPUT; names the part, never its content). */
struct h2_tls *h2_tls_new(const char *cert_pem, const char *key_pem, const char *ca_pem,
			  struct err *err);
struct h2_tls *h2_tls_reference(struct h2_tls *tls); /* returns tls; NULL is fine */
void h2_tls_release(struct h2_tls *tls);             /* NULL is fine */
/* True when it was made from the same bytes. */
bool h2_tls_matches(const struct h2_tls *tls, const char *cert_pem, const char *key_pem,
		    const char *ca_pem);

/* One connection's TLS, without its socket: bytes are passed in and out by these calls. host:
 * the numeric address that the server's certificate must contain. Keeps no buffers between the
 * calls. */
struct h2_tls_link *h2_tls_link_new(struct h2_tls *tls, const char *host);
void h2_tls_link_free(struct h2_tls_link *link); /* NULL is fine */

/* Passes bytes that were read from the socket: the calls below consume them, and return 0 when they
 * need more. They must not be moved until then. */
void h2_tls_link_feed(struct h2_tls_link *link, const void *data, size_t size);
/* 1 done, 0 needs more bytes, -1 failed: ERR_DENIED for a certificate that one side refuses, else
 * ERR_RETRY (not TLS, closed). */
int h2_tls_link_handshake(struct h2_tls_link *link, struct err *err);
/* Decrypted bytes: above 0 the count, 0 needs more bytes, -1 failed or closed by the server. */
long h2_tls_link_read(struct h2_tls_link *link, void *ret_data, size_t size, struct err *err);
int h2_tls_link_write(struct h2_tls_link *link, const void *data, size_t size, struct err *err);
/* The bytes to write to the socket; the caller removes them (buf_steal or buf_clear). */
struct buf *h2_tls_link_output(struct h2_tls_link *link);

#endif
