#include "gcs/gcs_auth.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/memory.h"
#include "net/h2_tls.h"
#include "net/read_file.h"

#define GCS_AUTH_MAX_PEM_BYTES ((size_t)1 << 20)
#define GCS_AUTH_SPACE " \t\n\r\f\v" /* ray: authentication_token_loader.cc, TrimWhitespace */

/* Paths of a projected token: KubeRay's own volume, then the one of every Pod (ray:
 * k8s_constants.h). */
static const char *const gcs_auth_kubernetes_tokens[] = {
	"/var/run/secrets/ray.io/serviceaccount/token",
	"/var/run/secrets/kubernetes.io/serviceaccount/token",
};

static void gcs_auth_wipe(char *secret)
{
	if (secret)
		explicit_bzero(secret, strlen(secret));
	memory_free(secret);
}

void gcs_auth_done(struct gcs_auth *auth)
{
	gcs_auth_wipe(steal(&auth->token));
	h2_tls_release(steal(&auth->tls));
}

static void gcs_auth_buf_wipe(struct buf *bytes)
{
	if (bytes->data)
		explicit_bzero(bytes->data, bytes->size);
	buf_done(bytes);
}

/* ---- the token ---- */

int gcs_auth_parse_token(const char *where, const char *bytes, size_t size, char **ret_token,
			 struct err *err)
{
	while (size > 0 && strchr(GCS_AUTH_SPACE, bytes[size - 1]) && bytes[size - 1])
		size--;
	while (size > 0 && strchr(GCS_AUTH_SPACE, *bytes) && *bytes) {
		bytes++;
		size--;
	}
	if (size == 0)
		return err_set(err, ERR_INPUT, "%s: the token is empty", where);
	if (size > GCS_AUTH_MAX_TOKEN_BYTES)
		return err_set(err, ERR_INPUT, "%s: the token is longer than %d bytes", where,
			       GCS_AUTH_MAX_TOKEN_BYTES);
	for (size_t i = 0; i < size; i++)
		if (bytes[i] < 0x21 || bytes[i] > 0x7e)
			return err_set(
				err, ERR_INPUT,
				"%s: byte %zu of the token cannot be sent in a header; a token "
				"is one line of printable ASCII without spaces",
				where, i + 1);
	*ret_token = memory_strndup(bytes, size);
	return 0;
}

/* Ray uses the first line of a file. */
static int gcs_auth_token_from_file(const char *path, char **ret_token, struct err *err)
{
	AUTO(gcs_auth_buf_wipe) struct buf bytes;
	size_t size;

	buf_init(&bytes, GCS_AUTH_MAX_TOKEN_BYTES);
	if (read_file(path, &bytes, err) < 0)
		return -1;
	const char *end = strchr(buf_string(&bytes), '\n');
	size = end ? (size_t)(end - bytes.data) : bytes.size;
	if (gcs_auth_parse_token(path, buf_string(&bytes), size, ret_token, err) < 0) {
		if (err)
			err->kind = ERR_FATAL;
		return -1;
	}
	return 0;
}

static const char *gcs_auth_variable(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

static bool gcs_auth_is_on(const char *name)
{
	const char *value = gcs_auth_variable(name);

	return strcmp(value, "1") == 0 || strcasecmp(value, "true") == 0;
}

/* Optional token files. *ret_token is NULL when none exists. */
static void gcs_auth_token_from_usual_files(char **ret_token)
{
	size_t count = sizeof(gcs_auth_kubernetes_tokens) / sizeof(gcs_auth_kubernetes_tokens[0]);
	AUTO(buf_done) struct buf path;

	buf_init(&path, 4096);
	if (gcs_auth_is_on("RAY_ENABLE_K8S_TOKEN_AUTH"))
		for (size_t i = 0; i < count; i++)
			if (gcs_auth_token_from_file(gcs_auth_kubernetes_tokens[i], ret_token,
						     NULL) == 0)
				return;
	if (buf_printf(&path, "%s/.ray/auth_token", gcs_auth_variable("HOME")) == 0)
		(void)gcs_auth_token_from_file(buf_string(&path), ret_token, NULL);
}

static int gcs_auth_token_from_environment(char **ret_token, struct err *err)
{
	const char *mode = gcs_auth_variable("RAY_AUTH_MODE");
	const char *token = gcs_auth_variable("RAY_AUTH_TOKEN");
	const char *path = gcs_auth_variable("RAY_AUTH_TOKEN_PATH");
	bool wanted = strcasecmp(mode, "token") == 0;

	*ret_token = NULL;
	if (*mode && !wanted)
		return 0;
	if (*token) {
		if (gcs_auth_parse_token("RAY_AUTH_TOKEN", token, strlen(token), ret_token, err) ==
		    0)
			return 0;
		if (err)
			err->kind = ERR_FATAL;
		return -1;
	}
	if (*path) {
		if (gcs_auth_token_from_file(path, ret_token, err) == 0)
			return 0;
		return err_prefix(err, "RAY_AUTH_TOKEN_PATH");
	}
	gcs_auth_token_from_usual_files(ret_token);
	if (!*ret_token && wanted)
		return err_set(err, ERR_FATAL,
			       "RAY_AUTH_MODE is token, but there is no token: set "
			       "RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH, or write ~/.ray/auth_token");
	return 0;
}

/* ---- TLS ---- */

static int gcs_auth_read_pem(const char *variable, struct buf *ret_pem, struct err *err)
{
	const char *path = gcs_auth_variable(variable);

	buf_init(ret_pem, GCS_AUTH_MAX_PEM_BYTES);
	if (!*path)
		return err_set(err, ERR_FATAL, "RAY_USE_TLS is set, but %s is not", variable);
	if (read_file(path, ret_pem, err) < 0)
		return err_prefix(err, "%s", variable);
	return 0;
}

/* `known` is the present material, or NULL. *ret_tls is a reference of the caller's. */
static int gcs_auth_tls_from_environment(struct h2_tls *known, struct h2_tls **ret_tls,
					 struct err *err)
{
	AUTO(buf_done) struct buf cert = { .data = NULL };
	AUTO(gcs_auth_buf_wipe) struct buf key = { .data = NULL };
	AUTO(buf_done) struct buf ca = { .data = NULL };

	*ret_tls = NULL;
	if (!gcs_auth_is_on("RAY_USE_TLS"))
		return 0;
	if (gcs_auth_read_pem("RAY_TLS_SERVER_CERT", &cert, err) < 0 ||
	    gcs_auth_read_pem("RAY_TLS_SERVER_KEY", &key, err) < 0 ||
	    gcs_auth_read_pem("RAY_TLS_CA_CERT", &ca, err) < 0)
		return -1;
	if (known && h2_tls_matches(known, buf_string(&cert), buf_string(&key), buf_string(&ca))) {
		*ret_tls = h2_tls_reference(known);
		return 0;
	}
	*ret_tls = h2_tls_new(buf_string(&cert), buf_string(&key), buf_string(&ca), err);
	if (*ret_tls)
		return 0;
	if (err)
		err->kind = ERR_FATAL;
	return err_prefix(err, "RAY_TLS_SERVER_CERT, RAY_TLS_SERVER_KEY, RAY_TLS_CA_CERT");
}

int gcs_auth_from_environment(struct gcs_auth *ret_auth, struct err *err)
{
	struct gcs_auth auth = GCS_AUTH_INIT;

	if (gcs_auth_token_from_environment(&auth.token, err) < 0)
		return -1;
	if (gcs_auth_tls_from_environment(ret_auth->tls, &auth.tls, err) < 0) {
		gcs_auth_done(&auth);
		return -1;
	}
	gcs_auth_done(ret_auth);
	*ret_auth = auth;
	return 0;
}
