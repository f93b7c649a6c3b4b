/* net/https and TLS: whom it trusts, by which name, and how it proves itself. */
#include "test/support/https_client.h"

static void script_hold(struct exchange *exchange, void *context)
{
	(void)context;
	exchange_hold(exchange);
}

struct tls_fixture {
	struct pki_identity ca, other_ca, server, client;
};

static struct tls_fixture tls_new(void)
{
	struct tls_fixture tls = { .ca = pki_new("test CA", NULL, NULL) };

	tls.other_ca = pki_new("another CA", NULL, NULL);
	tls.server = pki_new("server", &tls.ca, "IP:127.0.0.1,DNS:kube.test");
	tls.client = pki_new("someone", &tls.ca, NULL);
	return tls;
}

static void tls_done(struct tls_fixture *tls)
{
	pki_done(&tls->ca);
	pki_done(&tls->other_ca);
	pki_done(&tls->server);
	pki_done(&tls->client);
}

static SSL_CTX *tls_context(const struct tls_fixture *tls, int client_verify)
{
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());

	CHECK(SSL_CTX_use_certificate(context, tls->server.certificate) == 1);
	CHECK(SSL_CTX_use_PrivateKey(context, tls->server.key) == 1);
	CHECK(X509_STORE_add_cert(SSL_CTX_get_cert_store(context), tls->ca.certificate) == 1);
	SSL_CTX_set_verify(context, client_verify, NULL);
	return context;
}

static void script_client_name(struct exchange *exchange, void *context)
{
	X509 *certificate = SSL_get1_peer_certificate(exchange->ssl);
	char body[8192] = "nobody";
	const char *name = SSL_get_servername(exchange->ssl, TLSEXT_NAMETYPE_host_name);

	(void)context;
	if (certificate)
		X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, body,
					  sizeof(body));
	X509_free(certificate);
	(void)snprintf(body + strlen(body), sizeof(body) - strlen(body), " %s %s",
		       name ? name : "-", exchange_header(exchange, "Host"));
	exchange_answer(exchange, 200, "", body);
}

static void test_tls_verifies(void **state)
{
	struct fixture *fixture = *state;
	struct tls_fixture tls = tls_new();
	struct https_tls good = { .ca_pem = tls.ca.certificate_pem };
	struct https_tls wrong = { .ca_pem = tls.other_ca.certificate_pem };
	struct https_tls insecure = { .insecure = true };
	struct https_tls broken = { .ca_pem = "-----BEGIN CERTIFICATE-----\nAAAA\n" };

	fixture->server =
		server_start_tls(script_client_name, NULL, tls_context(&tls, SSL_VERIFY_NONE));
	client_expect_error(fixture, &(struct https_call){ .tls = &good }, ERR_NONE, "");
	client_expect_error(fixture, &(struct https_call){ .tls = &wrong }, ERR_RETRY,
			    "not trusted");
	client_expect_error(fixture, NULL, ERR_RETRY, "not trusted"); /* the system's CAs */
	client_expect_error(fixture, &(struct https_call){ .tls = &insecure }, ERR_NONE, "");
	client_expect_error(fixture, &(struct https_call){ .tls = &broken }, ERR_FATAL, "CA");
	tls_done(&tls);
}

static void test_tls_server_name(void **state)
{
	struct fixture *fixture = *state;
	struct tls_fixture tls = tls_new();
	struct https_tls right = { .ca_pem = tls.ca.certificate_pem, .server_name = "kube.test" };
	struct https_tls wrong = { .ca_pem = tls.ca.certificate_pem, .server_name = "other.test" };
	struct seen seen;
	char host[128];

	fixture->server =
		server_start_tls(script_client_name, NULL, tls_context(&tls, SSL_VERIFY_NONE));
	client_run(&seen, fixture, &(struct https_call){ .tls = &right });
	(void)snprintf(host, sizeof(host), "nobody kube.test 127.0.0.1:%d", fixture->server->port);
	assert_string_equal(buf_string(&seen.data), host);
	buf_done(&seen.data);
	client_expect_error(fixture, &(struct https_call){ .tls = &wrong }, ERR_RETRY,
			    "not trusted");
	tls_done(&tls);
}

static void test_tls_client_certificate(void **state)
{
	struct fixture *fixture = *state;
	struct tls_fixture tls = tls_new();
	struct https_tls with = { .ca_pem = tls.ca.certificate_pem,
				  .certificate_pem = tls.client.certificate_pem,
				  .key_pem = tls.client.key_pem };
	struct https_tls without = { .ca_pem = tls.ca.certificate_pem };
	struct https_tls mismatch = { .ca_pem = tls.ca.certificate_pem,
				      .certificate_pem = tls.client.certificate_pem,
				      .key_pem = tls.server.key_pem };
	struct seen seen;

	fixture->server = server_start_tls(
		script_client_name, NULL,
		tls_context(&tls, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT));
	client_expect_error(fixture, &(struct https_call){ .tls = &mismatch }, ERR_FATAL,
			    "client certificate");
	client_run(&seen, fixture, &(struct https_call){ .tls = &with });
	assert_int_equal(seen.status, 200);
	assert_int_equal(strncmp(buf_string(&seen.data), "someone ", 8), 0);
	buf_done(&seen.data);
	/* Without the certificate it must not ride on the connection that has one. */
	client_expect_error(fixture, &(struct https_call){ .tls = &without }, ERR_RETRY, "");
	tls_done(&tls);
}

static void test_tls_1_1_is_refused(void **state)
{
	struct fixture *fixture = *state;
	struct tls_fixture tls = tls_new();
	struct https_tls good = { .ca_pem = tls.ca.certificate_pem };
	SSL_CTX *context = tls_context(&tls, SSL_VERIFY_NONE);

	SSL_CTX_set_security_level(context, 0);
	CHECK(SSL_CTX_set_min_proto_version(context, TLS1_VERSION) == 1);
	CHECK(SSL_CTX_set_max_proto_version(context, TLS1_1_VERSION) == 1);
	fixture->server = server_start_tls(script_client_name, NULL, context);
	client_expect_error(fixture, &(struct https_call){ .tls = &good }, ERR_RETRY, "");
	tls_done(&tls);
}

/* A port that takes connections and never speaks TLS: the connect deadline covers the handshake. */
static void test_tls_connect_deadline(void **state)
{
	struct fixture *fixture = *state;
	char url[64];

	fixture->server = server_start(script_hold, NULL);
	(void)snprintf(url, sizeof(url), "https://127.0.0.1:%d/", fixture->server->port);
	client_expect_error(fixture, &(struct https_call){ .url = url, .connect_ms = SHORT_MS },
			    ERR_TIMEOUT, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_tls_verifies),           TEST(test_tls_server_name),
		TEST(test_tls_client_certificate), TEST(test_tls_1_1_is_refused),
		TEST(test_tls_connect_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
