/* TLS of the HTTP/2 client: the material, and handshakes with an OpenSSL server in memory. */
#include <openssl/ssl.h>

#include "net/h2_tls.h"
#include "test/support/tls_material.h"

static struct tls_identity ca, other_ca, server_id, client_id, stranger;

static int make_material(void **state)
{
	(void)state;
	ca = tls_identity_new("ca", NULL, NULL);
	other_ca = tls_identity_new("other ca", NULL, NULL);
	server_id = tls_identity_new("server", "IP:127.0.0.1,IP:::1", &ca);
	client_id = tls_identity_new("client", NULL, &ca);
	stranger = tls_identity_new("stranger", "IP:127.0.0.1", &other_ca);
	return 0;
}

static int free_material(void **state)
{
	(void)state;
	tls_identity_done(&ca);
	tls_identity_done(&other_ca);
	tls_identity_done(&server_id);
	tls_identity_done(&client_id);
	tls_identity_done(&stranger);
	return 0;
}

/* ---- material ---- */

static void expect_refused(const char *cert, const char *key, const char *ca_pem, const char *why)
{
	struct err err = { .kind = ERR_NONE };

	assert_null(h2_tls_new(cert, key, ca_pem, &err));
	assert_int_equal(err.kind, ERR_INPUT);
	if (!strstr(err.text, why))
		fail_msg("no \"%s\" in: %s", why, err.text);
	assert_null(strstr(err.text, "BEGIN"));
}

static void test_bad_material(void **state)
{
	(void)state;
	expect_refused(NULL, NULL, NULL, "needs a CA");
	expect_refused(client_id.cert_pem, NULL, ca.cert_pem, "both or neither");
	expect_refused(NULL, client_id.key_pem, ca.cert_pem, "both or neither");
	expect_refused(NULL, NULL, "", "CA certificate cannot be used");
	expect_refused(NULL, NULL, "not PEM", "CA certificate cannot be used");
	expect_refused("", client_id.key_pem, ca.cert_pem, "the certificate cannot be used");
	expect_refused(client_id.cert_pem, "", ca.cert_pem, "private key cannot be used");
	expect_refused(client_id.cert_pem, server_id.key_pem, ca.cert_pem, "private key");
	expect_refused(client_id.key_pem, client_id.cert_pem, ca.cert_pem, "certificate cannot be");
}

static void test_references_and_digest(void **state)
{
	struct h2_tls *tls;
	struct err err;

	(void)state;
	tls = h2_tls_new(client_id.cert_pem, client_id.key_pem, ca.cert_pem, &err);
	assert_non_null(tls);
	assert_ptr_equal(h2_tls_reference(tls), tls);
	h2_tls_release(tls);
	assert_true(h2_tls_matches(tls, client_id.cert_pem, client_id.key_pem, ca.cert_pem));
	assert_false(h2_tls_matches(tls, client_id.cert_pem, client_id.key_pem, other_ca.cert_pem));
	assert_false(h2_tls_matches(tls, server_id.cert_pem, client_id.key_pem, ca.cert_pem));
	assert_false(h2_tls_matches(tls, NULL, NULL, ca.cert_pem));
	h2_tls_release(tls);
	h2_tls_release(NULL);
	assert_null(h2_tls_reference(NULL));
}

/* ---- handshakes ---- */

struct pair {
	struct h2_tls *tls;
	struct h2_tls_link *link;
	SSL_CTX *context;
	SSL *server;
	BIO *in, *out; /* of the server */
};

static int select_alpn(SSL *ssl, const unsigned char **ret, unsigned char *ret_size,
		       const unsigned char *offered, unsigned size, void *want)
{
	(void)ssl;
	(void)want;
	assert_int_equal(size, 3);
	*ret = offered + 1;
	*ret_size = offered[0];
	return SSL_TLSEXT_ERR_OK;
}

static void open_pair(struct pair *pair, const struct tls_identity *server,
		      const struct tls_identity *client, const char *host, bool alpn)
{
	struct err err;

	pair->tls = h2_tls_new(client->cert_pem, client->key_pem, ca.cert_pem, &err);
	assert_non_null(pair->tls);
	pair->link = h2_tls_link_new(pair->tls, host);
	pair->context = SSL_CTX_new(TLS_server_method());
	assert_int_equal(SSL_CTX_use_certificate(pair->context, server->certificate), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(pair->context, server->key), 1);
	X509_STORE_add_cert(SSL_CTX_get_cert_store(pair->context), ca.certificate);
	SSL_CTX_set_verify(pair->context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	if (alpn)
		SSL_CTX_set_alpn_select_cb(pair->context, select_alpn, NULL);
	pair->server = SSL_new(pair->context);
	pair->in = BIO_new(BIO_s_mem());
	pair->out = BIO_new(BIO_s_mem());
	SSL_set_bio(pair->server, pair->in, pair->out);
	SSL_set_accept_state(pair->server);
}

static void close_pair(struct pair *pair)
{
	h2_tls_link_free(pair->link);
	h2_tls_release(pair->tls);
	SSL_free(pair->server);
	SSL_CTX_free(pair->context);
}

static void to_server(struct pair *pair)
{
	struct buf *output = h2_tls_link_output(pair->link);

	if (output->size)
		BIO_write(pair->in, output->data, (int)output->size);
	buf_clear(output);
}

/* The server's bytes, `piece` at a time; the result of the last handshake step. */
static int to_client(struct pair *pair, size_t piece, struct err *err)
{
	char bytes[65536];
	int size = BIO_read(pair->out, bytes, sizeof(bytes)), done = 0;

	for (size_t at = 0; size > 0 && at < (size_t)size && done == 0; at += piece) {
		size_t left = (size_t)size - at;

		h2_tls_link_feed(pair->link, bytes + at, left < piece ? left : piece);
		done = h2_tls_link_handshake(pair->link, err);
	}
	return done;
}

static int handshake(struct pair *pair, size_t piece, struct err *err)
{
	int done = h2_tls_link_handshake(pair->link, err);

	for (int round = 0; round < 10 && done == 0; round++) {
		to_server(pair);
		(void)SSL_do_handshake(pair->server);
		done = to_client(pair, piece, err);
	}
	to_server(pair);
	if (done == 1)
		(void)SSL_do_handshake(pair->server);
	return done;
}

static void test_good_handshake(void **state)
{
	static const size_t pieces[] = { 1, 7, 65536 };
	struct err err;

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(pieces); i++) {
		struct pair pair;
		char bytes[100];
		size_t size;
		int raw;

		open_pair(&pair, &server_id, &client_id, i ? "127.0.0.1" : "::1", true);
		assert_int_equal(handshake(&pair, pieces[i], &err), 1);
		assert_int_equal(h2_tls_link_write(pair.link, "hello", 5, &err), 0);
		to_server(&pair);
		assert_int_equal(SSL_read_ex(pair.server, bytes, sizeof(bytes), &size), 1);
		assert_int_equal(size, 5);
		assert_int_equal(SSL_write(pair.server, "world", 5), 5);
		raw = BIO_read(pair.out, bytes, sizeof(bytes)); /* tickets may be in front */
		while (raw > 0) {
			char text[20];
			long got;

			h2_tls_link_feed(pair.link, bytes, (size_t)raw);
			got = h2_tls_link_read(pair.link, text, sizeof(text), &err);
			assert_true(got >= 0);
			if (got > 0) {
				assert_int_equal(got, 5);
				assert_memory_equal(text, "world", 5);
			}
			raw = BIO_read(pair.out, bytes, sizeof(bytes));
		}
		assert_int_equal(SSL_shutdown(pair.server), 0);
		raw = BIO_read(pair.out, bytes, sizeof(bytes));
		h2_tls_link_feed(pair.link, bytes, (size_t)raw);
		assert_int_equal(h2_tls_link_read(pair.link, bytes, sizeof(bytes), &err), -1);
		assert_non_null(strstr(err.text, "ended the TLS connection"));
		close_pair(&pair);
	}
}

#define SIGNED_BY "; the CA of this client must have signed the head's certificate"
#define NAMED "; the certificate must have the head's address in its SANs"

/* The handshake fails, nothing was sent to the server, and the error is this one. */
static void expect_refused_server(const struct tls_identity *server, const char *text)
{
	static const char refused[] = "the server's certificate is refused: ";
	struct pair pair;
	struct err err;

	open_pair(&pair, server, &client_id, "127.0.0.1", true);
	assert_int_equal(handshake(&pair, 65536, &err), -1);
	assert_int_equal(err.kind, ERR_DENIED);
	assert_int_equal(strncmp(err.text, refused, sizeof(refused) - 1), 0);
	assert_string_equal(err.text + sizeof(refused) - 1, text);
	assert_int_equal(SSL_is_init_finished(pair.server), 0);
	close_pair(&pair);
}

static void test_server_of_another_ca(void **state)
{
	/* As after a cluster of the same name was made again. */
	struct tls_identity earlier_ca = tls_identity_new("ca", NULL, NULL);
	struct tls_identity earlier = tls_identity_new("server", "IP:127.0.0.1", &earlier_ca);
	struct tls_identity own = tls_identity_new("server", "IP:127.0.0.1", NULL);

	(void)state;
	expect_refused_server(&stranger, "unable to get local issuer certificate" SIGNED_BY);
	expect_refused_server(&earlier, "certificate signature failure" SIGNED_BY);
	expect_refused_server(&own, "self-signed certificate" SIGNED_BY);
	tls_identity_done(&own);
	tls_identity_done(&earlier);
	tls_identity_done(&earlier_ca);
}

static void test_server_out_of_its_time(void **state)
{
	struct tls_identity expired =
		tls_identity_between("server", "IP:127.0.0.1", &ca, -7200, -60);
	struct tls_identity early = tls_identity_between("server", "IP:127.0.0.1", &ca, 3600, 7200);

	(void)state;
	expect_refused_server(&expired, "certificate has expired; renew it, and recreate the head "
					"Pod, because Ray reads it once");
	expect_refused_server(&early,
			      "certificate is not yet valid; check the clocks of the machines");
	tls_identity_done(&early);
	tls_identity_done(&expired);
}

/* The head of another cluster, whose certificate the same CA has signed. */
static void test_server_of_another_name(void **state)
{
	static const char *const names[] = { "IP:127.0.0.2", "DNS:127.0.0.1",
					     "DNS:demo-head-svc.default.svc", NULL };

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(names); i++) {
		struct tls_identity other = tls_identity_new("127.0.0.1", names[i], &ca);

		expect_refused_server(&other, "IP address mismatch" NAMED);
		tls_identity_done(&other);
	}
}

static void test_server_without_http2(void **state)
{
	struct pair pair;
	struct err err;

	(void)state;
	open_pair(&pair, &server_id, &client_id, "127.0.0.1", false);
	assert_int_equal(handshake(&pair, 65536, &err), -1);
	assert_non_null(strstr(err.text, "ALPN"));
	close_pair(&pair);
}

/* In TLS 1.3 the server's refusal arrives after our handshake is done. */
static void test_refused_client(void **state)
{
	struct pair pair;
	char bytes[4096];
	struct err err;
	int size;

	(void)state;
	open_pair(&pair, &server_id, &stranger, "127.0.0.1", true);
	assert_int_equal(handshake(&pair, 65536, &err), 1);
	size = BIO_read(pair.out, bytes, sizeof(bytes));
	assert_true(size > 0);
	h2_tls_link_feed(pair.link, bytes, (size_t)size);
	assert_int_equal(h2_tls_link_read(pair.link, bytes, sizeof(bytes), &err), -1);
	assert_int_equal(err.kind, ERR_DENIED);
	assert_non_null(strstr(err.text, "refuses our certificate"));
	close_pair(&pair);
}

static void test_garbage(void **state)
{
	uint64_t seed = 11;
	struct err err;

	(void)state;
	for (int i = 0; i < 200; i++) {
		struct pair pair;
		char bytes[400];
		size_t size = 1 + support_random_below(&seed, sizeof(bytes) - 1);

		open_pair(&pair, &server_id, &client_id, "127.0.0.1", true);
		assert_int_equal(h2_tls_link_handshake(pair.link, &err), 0);
		for (size_t b = 0; b < size; b++)
			bytes[b] = (char)support_random(&seed);
		if (i % 2)
			memcpy(bytes, "\x16\x03\x03\0\x50", size < 5 ? size : 5);
		h2_tls_link_feed(pair.link, bytes, size);
		assert_true(h2_tls_link_handshake(pair.link, &err) <= 0);
		close_pair(&pair);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_material),
		cmocka_unit_test(test_references_and_digest),
		cmocka_unit_test(test_good_handshake),
		cmocka_unit_test(test_server_of_another_ca),
		cmocka_unit_test(test_server_out_of_its_time),
		cmocka_unit_test(test_server_of_another_name),
		cmocka_unit_test(test_server_without_http2),
		cmocka_unit_test(test_refused_client),
		cmocka_unit_test(test_garbage),
	};

	return cmocka_run_group_tests(tests, make_material, free_material);
}
