/* Credentials for a Ray head: a token, TLS material, both or none. The caller owns struct gcs_auth;
 * gcs_auth_done wipes and frees it. A token must never reach a log or an error text: no function
 * here writes one. */
#ifndef GCS_GCS_AUTH_H
#define GCS_GCS_AUTH_H

#include <stddef.h>

#include "base/err.h"

#define GCS_AUTH_SECRET_KEY "auth_token" /* KubeRay: key of the Secret */
#define GCS_AUTH_TLS_CA_KEY "ca.crt"
#define GCS_AUTH_TLS_CERT_KEY "tls.crt"
#define GCS_AUTH_TLS_KEY_KEY "tls.key"
#define GCS_AUTH_MAX_TOKEN_BYTES 65536

struct gcs_auth {
	char *token;        /* NULL: none */
	struct h2_tls *tls; /* NULL: plain text */
};

#define GCS_AUTH_INIT ((struct gcs_auth){ .token = NULL, .tls = NULL })

void gcs_auth_done(struct gcs_auth *auth);

/* The token in bytes of a Secret or a file: white space at both ends is dropped, as Ray does.
 * ret_token: heap, the caller frees (memory_free). ERR_INPUT, with `where` in the text: empty, too
 * long, or with a character that is invalid in a header. */
int gcs_auth_parse_token(const char *where, const char *bytes, size_t size, char **ret_token,
			 struct err *err);

/* Sidecar mode, as Ray's own processes read it (docs/internals/ray.md). Call it periodically:
 * projected tokens and certificates rotate. *ret_auth is replaced on success only; its tls is the
 * same object when the material did not change (so gcs_client_configure keeps the connection).
 *   RAY_AUTH_MODE=token: RAY_AUTH_TOKEN, else the first line of the file RAY_AUTH_TOKEN_PATH, else,
 *     with RAY_ENABLE_K8S_TOKEN_AUTH=true, the projected service account token, else
 *     $HOME/.ray/auth_token. Not set: the same, but a missing token is not an error (Ray 2.61 makes
 *     token the default; a head without authentication ignores ours). Another value: no token.
 *   RAY_USE_TLS (1, true): RAY_TLS_SERVER_CERT, RAY_TLS_SERVER_KEY, RAY_TLS_CA_CERT.
 * ERR_FATAL: a variable or a file is missing or unreadable; the text names it. */
int gcs_auth_from_environment(struct gcs_auth *ret_auth, struct err *err);

#endif
