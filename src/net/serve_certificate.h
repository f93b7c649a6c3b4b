/* The certificate and key of a server: the files tls.crt and tls.key of a directory, as a Secret of
 * type kubernetes.io/tls is mounted, or a self-signed certificate that lives in memory alone. The
 * caller owns it. Reads two small files, so it blocks for the disk only. */
#ifndef NET_SERVE_CERTIFICATE_H
#define NET_SERVE_CERTIFICATE_H

#include <stdbool.h>

#include "base/err.h"

#define SERVE_CERTIFICATE_FILE "tls.crt"
#define SERVE_KEY_FILE "tls.key"

struct serve_certificate {
	char *certificate_pem, *key_pem;
};

/* directory NULL or "": self-signed, a new key each time. ERR_INPUT names the file and the fix: it
 * cannot be read, is larger than 256 KiB or no PEM, or the key is that of another certificate. */
int serve_certificate_load(const char *directory, struct serve_certificate *ret_certificate,
			   struct err *err);
bool serve_certificate_same(const struct serve_certificate *a, const struct serve_certificate *b);
/* Clears the key in memory. Fine for one that is all zero. */
void serve_certificate_done(struct serve_certificate *certificate);

#endif
