#include "gcs/gcs_auth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "net/h2_tls.h"
#include "test/support/tls_material.h"

static char directory[] = "/tmp/gcs_auth_test.XXXXXX";

static const char *const variables[] = {
	"RAY_AUTH_MODE", "RAY_AUTH_TOKEN",      "RAY_AUTH_TOKEN_PATH", "RAY_ENABLE_K8S_TOKEN_AUTH",
	"RAY_USE_TLS",   "RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY",  "RAY_TLS_CA_CERT",
};

static int make_directory(void **state)
{
	(void)state;
	return mkdtemp(directory) ? 0 : -1;
}

static const char *file_path(const char *name)
{
	static char path[8][200];
	static unsigned next;
	char *slot = path[next++ % 8];

	(void)snprintf(slot, sizeof(path[0]), "%s/%s", directory, name);
	return slot;
}

static int clean_environment(void **state)
{
	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(variables); i++)
		unsetenv(variables[i]);
	unlink(file_path(".ray/auth_token"));
	return setenv("HOME", directory, 1);
}

static const char *write_file(const char *name, const char *text)
{
	const char *path = file_path(name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fputs(text, file) < 0, 0);
	fclose(file);
	return path;
}

static int remove_directory(void **state)
{
	static const char *const names[] = {
		".ray/auth_token", "token", "ca", "cert", "key", "new"
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(names); i++)
		unlink(file_path(names[i]));
	rmdir(file_path(".ray"));
	return rmdir(directory);
}

/* ---- tokens ---- */

static void expect_token(const char *bytes, size_t size, const char *wanted)
{
	struct err err = { .kind = ERR_NONE };
	char *token = NULL;

	if (!wanted) {
		assert_int_equal(gcs_auth_parse_token("Secret a/b", bytes, size, &token, &err), -1);
		assert_int_equal(err.kind, ERR_INPUT);
		assert_non_null(strstr(err.text, "Secret a/b"));
		assert_null(strstr(err.text, "hidden"));
		assert_null(token);
		return;
	}
	assert_int_equal(gcs_auth_parse_token("Secret a/b", bytes, size, &token, &err), 0);
	assert_string_equal(token, wanted);
	memory_free(token);
}

static void test_parse_token(void **state)
{
	char *large = memory_alloc(GCS_AUTH_MAX_TOKEN_BYTES + 1);

	(void)state;
	expect_token("abc", 3, "abc");
	expect_token(" \t\r\n\v\fabc \n\n", 12, "abc");
	expect_token("abcdef", 3, "abc");
	expect_token("", 0, NULL);
	expect_token(" \n ", 3, NULL);
	expect_token("hidden\nhidden", 13, NULL);
	expect_token("hidden hidden", 13, NULL);
	expect_token("hidden\0", 7, NULL);
	expect_token("hidden\x7f", 7, NULL);
	expect_token("hidden\xc3\xa4", 8, NULL);
	memset(large, 'x', GCS_AUTH_MAX_TOKEN_BYTES + 1);
	expect_token(large, GCS_AUTH_MAX_TOKEN_BYTES + 1, NULL);
	memory_free(large);
}

/* wanted NULL: no token; "!...": an error with this text. */
static void expect_environment(const char *wanted)
{
	struct gcs_auth auth = GCS_AUTH_INIT;
	struct err err = { .kind = ERR_NONE };
	int status = gcs_auth_from_environment(&auth, &err);

	if (wanted && wanted[0] == '!') {
		assert_int_equal(status, -1);
		assert_int_equal(err.kind, ERR_FATAL);
		if (!strstr(err.text, wanted + 1))
			fail_msg("no \"%s\" in: %s", wanted + 1, err.text);
		return;
	}
	if (status < 0)
		fail_msg("%s", err.text);
	if (wanted)
		assert_string_equal(auth.token, wanted);
	else
		assert_null(auth.token);
	assert_null(auth.tls);
	gcs_auth_done(&auth);
}

static void test_token_sources(void **state)
{
	(void)state;
	expect_environment(NULL);
	setenv("RAY_AUTH_MODE", "token", 1);
	expect_environment("!RAY_AUTH_MODE is token, but there is no token");
	setenv("RAY_ENABLE_K8S_TOKEN_AUTH", "true", 1);
	assert_int_equal(mkdir(file_path(".ray"), 0700), 0);
	write_file(".ray/auth_token", " from-home \nsecond line\n");
	if (access("/var/run/secrets/kubernetes.io/serviceaccount/token", F_OK) != 0)
		expect_environment("from-home");
	setenv("RAY_AUTH_TOKEN_PATH", write_file("token", "from-file\n"), 1);
	expect_environment("from-file");
	setenv("RAY_AUTH_TOKEN", " from-variable ", 1);
	expect_environment("from-variable");
	setenv("RAY_AUTH_MODE", "TOKEN", 1);
	expect_environment("from-variable");
	setenv("RAY_AUTH_MODE", "disabled", 1);
	expect_environment(NULL);
	/* Ray 2.61 makes token the default: without a mode a token that is there is used. */
	unsetenv("RAY_AUTH_MODE");
	expect_environment("from-variable");
	setenv("RAY_AUTH_TOKEN", "", 1);
	expect_environment("from-file");
	setenv("RAY_AUTH_TOKEN_PATH", file_path("missing"), 1);
	expect_environment("!RAY_AUTH_TOKEN_PATH: cannot open");
	write_file("token", "\n \n");
	setenv("RAY_AUTH_TOKEN_PATH", file_path("token"), 1);
	expect_environment("!the token is empty");
	setenv("RAY_AUTH_TOKEN_PATH", directory, 1);
	expect_environment("!cannot read");
	setenv("RAY_AUTH_TOKEN", "two words", 1);
	expect_environment("!RAY_AUTH_TOKEN: byte 4");
}

/* A projected token is another one after an hour. */
static void test_token_rotates(void **state)
{
	struct gcs_auth auth = GCS_AUTH_INIT;
	struct err err;

	(void)state;
	setenv("RAY_AUTH_TOKEN_PATH", write_file("token", "first"), 1);
	assert_int_equal(gcs_auth_from_environment(&auth, &err), 0);
	assert_string_equal(auth.token, "first");
	write_file("token", "second");
	assert_int_equal(gcs_auth_from_environment(&auth, &err), 0);
	assert_string_equal(auth.token, "second");
	write_file("token", "");
	assert_int_equal(gcs_auth_from_environment(&auth, &err), -1);
	assert_string_equal(auth.token, "second"); /* the valid part is kept */
	gcs_auth_done(&auth);
	assert_null(auth.token);
}

/* ---- TLS ---- */

static void test_tls(void **state)
{
	struct tls_identity ca = tls_identity_new("ca", NULL, NULL);
	struct tls_identity own = tls_identity_new("own", NULL, &ca);
	struct tls_identity next = tls_identity_new("next", NULL, &ca);
	struct gcs_auth auth = GCS_AUTH_INIT;
	struct h2_tls *first;
	struct err err;

	(void)state;
	setenv("RAY_USE_TLS", "0", 1);
	expect_environment(NULL);
	setenv("RAY_USE_TLS", "1", 1);
	expect_environment("!RAY_USE_TLS is set, but RAY_TLS_SERVER_CERT is not");
	setenv("RAY_TLS_SERVER_CERT", write_file("cert", own.cert_pem), 1);
	setenv("RAY_TLS_SERVER_KEY", write_file("key", own.key_pem), 1);
	setenv("RAY_TLS_CA_CERT", file_path("ca"), 1);
	expect_environment("!RAY_TLS_CA_CERT: cannot open");
	write_file("ca", "nonsense");
	expect_environment("!CA certificate cannot be used");
	write_file("ca", ca.cert_pem);
	assert_int_equal(gcs_auth_from_environment(&auth, &err), 0);
	first = auth.tls;
	assert_non_null(first);
	setenv("RAY_USE_TLS", "true", 1);
	assert_int_equal(gcs_auth_from_environment(&auth, &err), 0);
	assert_ptr_equal(auth.tls, first); /* the same bytes: the connection is kept */
	write_file("cert", next.cert_pem);
	assert_int_equal(gcs_auth_from_environment(&auth, &err),
			 -1); /* halfway through a rotation */
	assert_ptr_equal(auth.tls, first);
	write_file("key", next.key_pem);
	h2_tls_reference(first);
	assert_int_equal(gcs_auth_from_environment(&auth, &err), 0);
	assert_ptr_not_equal(auth.tls, first);
	h2_tls_release(first);
	gcs_auth_done(&auth);
	tls_identity_done(&ca);
	tls_identity_done(&own);
	tls_identity_done(&next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_parse_token, clean_environment),
		cmocka_unit_test_setup(test_token_sources, clean_environment),
		cmocka_unit_test_setup(test_token_rotates, clean_environment),
		cmocka_unit_test_setup(test_tls, clean_environment),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
