/* net/serve with TLS, and net/serve_certificate: asked by net/https on the same loop. */
#include "net/serve_certificate.h"

#include <openssl/ssl.h>

#include "net/sha256.h"
#include "test/support/pki.h"
#include "test/support/serve_bench.h"
#include "test/support/temp_files.h"

struct asked {
	bool done;
	int status;
	struct err err; /* ERR_NONE: answered */
	char body[256];
};

static void on_done(void *context, const struct https_response *response, const struct err *err)
{
	struct asked *asked = context;

	asked->status = response->status;
	asked->err = err ? *err : (struct err){ .kind = ERR_NONE };
	(void)snprintf(asked->body, sizeof(asked->body), "%s", response->body);
	asked->done = true;
}

static bool is_done(void *context)
{
	return ((struct asked *)context)->done;
}

/* ca NULL: the certificate is not verified; "": plain HTTP. */
static void start(struct bench *bench, const char *ca, const char *path, struct asked *asked)
{
	const struct https_tls tls = { .ca_pem = ca, .insecure = !ca };
	bool plain = ca && !*ca;
	char url[128];
	const struct https_call call = { .method = "GET",
					 .url = url,
					 .allow_plain = plain,
					 .tls = plain ? NULL : &tls,
					 .connect_ms = WAIT_MS,
					 .first_byte_ms = WAIT_MS,
					 .total_ms = WAIT_MS,
					 .ceiling_bytes = 8 << 20,
					 .on_done = on_done,
					 .context = asked };

	*asked = (struct asked){ .done = false };
	(void)snprintf(url, sizeof(url), "%s://127.0.0.1:%d%s", plain ? "http" : "https",
		       serve_port(bench->serve), path);
	https_start(bench->https, &call);
}

/* The status; 0: no answer. */
static int ask(struct bench *bench, const char *ca, const char *path, struct asked *asked)
{
	start(bench, ca, path, asked);
	assert_true(loop_wait_until(bench->loop, is_done, asked, WAIT_MS));
	return asked->err.kind ? 0 : asked->status;
}

static int use(struct bench *bench, const struct pki_identity *identity, struct err *err)
{
	return serve_tls(bench->serve, identity->certificate_pem, identity->key_pem, err);
}

static void test_self_signed(void **state)
{
	struct bench *bench = *state;
	struct serve_certificate certificate, other;
	struct asked asked;
	struct err err;

	assert_int_equal(serve_certificate_load(NULL, &certificate, &err), 0);
	assert_int_equal(serve_certificate_load("", &other, &err), 0);
	assert_false(serve_certificate_same(&certificate, &other));
	assert_true(serve_certificate_same(&certificate, &certificate));
	assert_int_equal(
		serve_tls(bench->serve, certificate.certificate_pem, certificate.key_pem, &err), 0);
	assert_int_equal(ask(bench, NULL, "/healthz", &asked), 200);
	assert_string_equal(asked.body, "ok\n");
	assert_int_equal(ask(bench, certificate.certificate_pem, "/healthz", &asked), 200);
	assert_int_equal(ask(bench, other.certificate_pem, "/healthz", &asked), 0);
	assert_int_equal(ask(bench, "", "/healthz", &asked), 0);
	serve_certificate_done(&certificate);
	serve_certificate_done(&other);
	serve_certificate_done(&certificate);
}

static void test_answers(void **state)
{
	struct bench *bench = *state;
	struct pki_identity ca = pki_new("ca", NULL, NULL);
	struct pki_identity server = pki_new("server", &ca, "IP:127.0.0.1");
	struct asked asked;
	struct err err;

	assert_int_equal(use(bench, &server, &err), 0);
	assert_int_equal(ask(bench, ca.certificate_pem, "/page", &asked), 200);
	assert_int_equal(ask(bench, ca.certificate_pem, "/source", &asked), 200);
	assert_int_equal(ask(bench, ca.certificate_pem, "/nothing", &asked), 404);
	pki_done(&server);
	pki_done(&ca);
}

static bool is_connected(void *context)
{
	SSL *ssl = context;
	int result = SSL_connect(ssl);

	return result == 1 || (SSL_get_error(ssl, result) != SSL_ERROR_WANT_READ &&
			       SSL_get_error(ssl, result) != SSL_ERROR_WANT_WRITE);
}

/* Whether the server accepts one of these cipher suites of TLS 1.2. */
static bool accepts(struct bench *bench, const char *ciphers)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	int fd = connect_to(bench);
	bool accepted;
	SSL *ssl;

	assert_true(SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION));
	SSL_CTX_set_security_level(context, 0);
	assert_true(SSL_CTX_set_cipher_list(context, ciphers));
	ssl = SSL_new(context);
	assert_true(SSL_set_fd(ssl, fd));
	assert_true(loop_wait_until(bench->loop, is_connected, ssl, WAIT_MS));
	accepted = SSL_is_init_finished(ssl);
	SSL_free(ssl);
	SSL_CTX_free(context);
	close(fd);
	return accepted;
}

/* With neither CBC nor SHA-1, and with ephemeral keys. */
static void test_ciphers(void **state)
{
	static const char *const refused[] = {
		"ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA",
		"ECDHE-ECDSA-AES256-SHA:ECDHE-RSA-AES256-SHA",
		"ECDHE-ECDSA-AES128-SHA256:ECDHE-RSA-AES128-SHA256",
		"ECDHE-ECDSA-AES256-SHA384:ECDHE-RSA-AES256-SHA384",
		"AES128-SHA",
		"AES128-GCM-SHA256",
	};
	struct bench *bench = *state;
	struct serve_certificate certificate;
	struct err err;

	assert_int_equal(serve_certificate_load(NULL, &certificate, &err), 0);
	assert_int_equal(
		serve_tls(bench->serve, certificate.certificate_pem, certificate.key_pem, &err), 0);
	for (size_t i = 0; i < SUPPORT_COUNT(refused); i++)
		if (accepts(bench, refused[i]))
			fail_msg("%s", refused[i]);
	assert_true(accepts(bench, "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256"));
	serve_certificate_done(&certificate);
}

static bool has_later(void *context)
{
	return ((struct bench *)context)->later_count > 0;
}

/* A request that waits is answered with the certificate that its connection began with; new
 * connections have the new one at once. */
static void test_the_certificate_changes(void **state)
{
	struct bench *bench = *state;
	struct pki_identity cas[2] = { pki_new("old", NULL, NULL), pki_new("new", NULL, NULL) };
	struct pki_identity old = pki_new("server", &cas[0], "IP:127.0.0.1");
	struct pki_identity next = pki_new("server", &cas[1], "IP:127.0.0.1");
	struct asked asked, waiting;
	struct err err;

	assert_int_equal(use(bench, &old, &err), 0);
	start(bench, cas[0].certificate_pem, "/later", &waiting);
	assert_true(loop_wait_until(bench->loop, has_later, bench, WAIT_MS));
	assert_int_equal(use(bench, &next, &err), 0);
	assert_int_equal(ask(bench, cas[1].certificate_pem, "/healthz", &asked), 200);
	assert_int_equal(ask(bench, cas[0].certificate_pem, "/healthz", &asked), 0);
	/* Only two can be open at once. */
	assert_int_equal(use(bench, &old, &err), -1);
	assert_int_equal(err.kind, ERR_RETRY);
	assert_false(waiting.done);
	serve_answer_text(bench->later[0], 200, "here");
	assert_true(loop_wait_until(bench->loop, is_done, &waiting, WAIT_MS));
	assert_int_equal(waiting.err.kind, ERR_NONE);
	assert_string_equal(waiting.body, "here\n");
	assert_int_equal(ask(bench, cas[1].certificate_pem, "/healthz", &asked), 200);
	assert_int_equal(use(bench, &old, &err), 0);
	assert_int_equal(ask(bench, cas[0].certificate_pem, "/healthz", &asked), 200);
	pki_done(&old);
	pki_done(&next);
	pki_done(&cas[0]);
	pki_done(&cas[1]);
}

static void test_a_pair_that_cannot_be_used_changes_nothing(void **state)
{
	struct bench *bench = *state;
	struct pki_identity ca = pki_new("ca", NULL, NULL);
	struct pki_identity server = pki_new("server", &ca, "IP:127.0.0.1");
	struct asked asked;
	struct err err;

	assert_int_equal(use(bench, &server, &err), 0);
	assert_int_equal(serve_tls(bench->serve, "x", "y", &err), -1);
	assert_int_equal(err.kind, ERR_INPUT);
	assert_int_equal(ask(bench, ca.certificate_pem, "/healthz", &asked), 200);
	pki_done(&server);
	pki_done(&ca);
}

/* Connections that never begin the handshake are closed for new ones. */
static void test_silent_clients_lock_no_other_out(void **state)
{
	struct bench *bench = *state;
	struct serve_certificate certificate;
	int silent[CONNECTIONS];
	struct asked asked;
	struct err err;

	assert_int_equal(serve_certificate_load(NULL, &certificate, &err), 0);
	assert_int_equal(
		serve_tls(bench->serve, certificate.certificate_pem, certificate.key_pem, &err), 0);
	for (size_t i = 0; i < CONNECTIONS; i++)
		silent[i] = connect_to(bench);
	assert_int_equal(ask(bench, NULL, "/healthz", &asked), 200);
	for (size_t i = 0; i < CONNECTIONS; i++)
		close(silent[i]);
	serve_certificate_done(&certificate);
}

/* The first bytes of a client. */
static size_t make_hello(char *ret_bytes, size_t size)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	SSL *ssl = SSL_new(context);
	BIO *bio = BIO_new(BIO_s_mem());
	int written;

	SSL_set_bio(ssl, BIO_new(BIO_s_mem()), bio);
	assert_int_equal(SSL_connect(ssl), -1);
	written = BIO_read(bio, ret_bytes, (int)size);
	assert_in_range(written, 100, size - 1);
	SSL_free(ssl);
	SSL_CTX_free(context);
	return (size_t)written;
}

static bool count_turn(void *context)
{
	(*(int *)context)++;
	return false;
}

/* The loop waits for their clients: before, it turned 30,000 times a second. */
static void test_handshakes_that_stop_cost_nothing(void **state)
{
	struct bench *bench = *state;
	struct serve_certificate certificate;
	char hello[1024];
	size_t size = make_hello(hello, sizeof(hello)), sizes[] = { 1, size / 2, size };
	int fds[SUPPORT_COUNT(sizes)], turns = 0;
	struct asked asked;
	struct err err;

	assert_int_equal(serve_certificate_load(NULL, &certificate, &err), 0);
	assert_int_equal(
		serve_tls(bench->serve, certificate.certificate_pem, certificate.key_pem, &err), 0);
	for (size_t i = 0; i < SUPPORT_COUNT(sizes); i++) {
		fds[i] = connect_to(bench);
		assert_int_equal(send(fds[i], hello, sizes[i], MSG_NOSIGNAL), sizes[i]);
	}
	assert_false(loop_wait_until(bench->loop, count_turn, &turns, 500));
	assert_in_range(turns, 1, 100);
	assert_int_equal(ask(bench, NULL, "/page", &asked), 200);
	for (size_t i = 0; i < SUPPORT_COUNT(sizes); i++)
		close(fds[i]);
	serve_certificate_done(&certificate);
}

static void test_tls_1_1_is_refused(void **state)
{
	struct bench *bench = *state;
	/* The header of a record, and a hello of TLS 1.1 without extensions. */
	static const char hello[] = "\x16\x03\x02\x00\x2d\x01\x00\x00\x29\x03\x02"
				    "0123456789abcdef0123456789abcdef"
				    "\x00\x00\x02\x00\x2f\x01\x00";
	struct reader reader = { .fd = connect_to(bench) };
	struct serve_certificate certificate;
	struct err err;

	assert_int_equal(serve_certificate_load(NULL, &certificate, &err), 0);
	assert_int_equal(
		serve_tls(bench->serve, certificate.certificate_pem, certificate.key_pem, &err), 0);
	close(reader.fd);
	reader.fd = connect_to(bench);
	assert_int_equal(send(reader.fd, hello, sizeof(hello) - 1, MSG_NOSIGNAL),
			 sizeof(hello) - 1);
	assert_true(loop_wait_until(bench->loop, is_closed, &reader, WAIT_MS));
	close(reader.fd);
	serve_certificate_done(&certificate);
}

/* ---- files ---- */

static void expect_refused(const char *directory, const char *text)
{
	struct serve_certificate certificate;
	struct err err;

	assert_int_equal(serve_certificate_load(directory, &certificate, &err), -1);
	assert_int_equal(err.kind, ERR_INPUT);
	if (!strstr(err.text, text))
		fail_msg("\"%s\" is not in \"%s\"", text, err.text);
	assert_null(certificate.key_pem);
}

static void test_files(void **state)
{
	struct pki_identity one = pki_new("one", NULL, NULL), two = pki_new("two", NULL, NULL);
	char *directory = temp_directory(), *large = memory_alloc((300 << 10) + 1);
	struct serve_certificate certificate;
	struct err err;

	(void)state;
	expect_refused(directory, "tls.crt: No such file");
	temp_write(directory, "tls.crt", one.certificate_pem);
	expect_refused(directory, "tls.key: No such file");
	temp_write(directory, "tls.key", two.key_pem);
	expect_refused(directory, "tls.key is not the key of tls.crt; replace both");
	temp_write(directory, "tls.key", "no key");
	expect_refused(directory, "tls.key: has no private key in PEM form");
	temp_write(directory, "tls.key", one.key_pem);
	temp_write(directory, "tls.crt", "");
	expect_refused(directory, "tls.crt: has no certificate in PEM form");
	memset(large, 'x', 300 << 10);
	temp_write(directory, "tls.crt", large);
	expect_refused(directory, "tls.crt is too large");
	temp_write(directory, "tls.crt", one.certificate_pem);
	assert_int_equal(serve_certificate_load(directory, &certificate, &err), 0);
	assert_string_equal(certificate.key_pem, one.key_pem);
	serve_certificate_done(&certificate);
	memory_free(large);
	temp_done(directory);
	pki_done(&one);
	pki_done(&two);
}

static void test_digest(void **state)
{
	char digits[SHA256_TEXT_SIZE];

	(void)state;
	sha256_text("abc", digits); /* FIPS 180-2, B.1 */
	assert_string_equal(digits,
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, serve_bench_setup, serve_bench_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_self_signed),
		TEST(test_ciphers),
		TEST(test_answers),
		TEST(test_the_certificate_changes),
		TEST(test_a_pair_that_cannot_be_used_changes_nothing),
		TEST(test_silent_clients_lock_no_other_out),
		TEST(test_handshakes_that_stop_cost_nothing),
		TEST(test_tls_1_1_is_refused),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_digest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
