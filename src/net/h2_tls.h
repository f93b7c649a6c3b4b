/* TLS material for HTTP/2 clients: one OpenSSL context, shared by sessions, ALPN h2 only.
 * Reference counted: every holder calls h2_tls_release once.
 * Must not be used for Kubernetes HTTPS (libcurl has its own). */
#ifndef NET_H2_TLS_H
#define NET_H2_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct h2_tls;

/* PEM texts. cert and key are shown to the server (mutual TLS as Ray does it) and may both be
 * NULL. ca is what server certificates are checked against, with the address in their SANs.
 * Returns a first reference, or NULL with err (ERR_INPUT; names the part, never its content). */
struct h2_tls *h2_tls_new(const char *cert_pem, const char *key_pem, const char *ca_pem,
			  struct err *err);
struct h2_tls *h2_tls_reference(struct h2_tls *tls); /* returns tls; NULL is fine */
void h2_tls_release(struct h2_tls *tls);             /* NULL is fine */
/* Made from the same bytes. */
bool h2_tls_matches(const struct h2_tls *tls, const char *cert_pem, const char *key_pem,
		    const char *ca_pem);

#endif
