/* kube/kube_client with client certificates that are replaced under it, and with connections of which
 * one half is closed. */
#include "kube/kube_client.h"

#include "test/support/kube_script.h"

#define PATH "/api/v1/namespaces/a/pods/p"
#define LOOK_AGAIN_MS 1100 /* files are checked once a second */

static struct {
	struct pki_identity ca, server, client[2];
	char *directory;
	struct loop *loop;
	struct https *https;
	struct scripted_server *host;
	struct kube_config *config;
	struct kube_client *kube;
	_Atomic bool half_close; /* after the next request, instead of an answer */
	_Atomic bool then_close; /* its half after the next answer */
} net;

struct result {
	int done, status;
	char body[64];
	struct err err;
};

/* The name in the client's certificate. */
static void answer(struct exchange *exchange, void *context)
{
	X509 *certificate = SSL_get1_peer_certificate(exchange->ssl);
	char name[64] = "nobody";

	(void)context;
	if (certificate)
		X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name,
					  sizeof(name));
	X509_free(certificate);
	if (net.half_close) {
		net.half_close = false;
		exchange_half_close(exchange);
		return;
	}
	exchange_answer(exchange, 200, "", name);
	if (net.then_close) {
		net.then_close = false;
		exchange_half_close(exchange);
	}
}

static SSL_CTX *server_tls(void)
{
	SSL_CTX *tls = SSL_CTX_new(TLS_server_method());

	CHECK(SSL_CTX_use_certificate(tls, net.server.certificate) == 1);
	CHECK(SSL_CTX_use_PrivateKey(tls, net.server.key) == 1);
	CHECK(X509_STORE_add_cert(SSL_CTX_get_cert_store(tls), net.ca.certificate) == 1);
	CHECK(SSL_CTX_set_session_id_context(tls, (const unsigned char *)"t", 1) == 1);
	SSL_CTX_set_verify(tls, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	return tls;
}

static int setup(void **state)
{
	struct kube_client_options options = KUBE_CLIENT_OPTIONS_INIT;
	char text[1024], *path;
	struct err err;

	(void)state;
	memset((void *)&net, 0, sizeof(net));
	net.ca = pki_new("CA", NULL, NULL);
	net.server = pki_new("server", &net.ca, "IP:127.0.0.1");
	net.client[0] = pki_new("old", &net.ca, NULL);
	net.client[1] = pki_new("new", &net.ca, NULL);
	net.directory = temp_directory();
	temp_write(net.directory, "ca.pem", net.ca.certificate_pem);
	temp_write(net.directory, "crt.pem", net.client[0].certificate_pem);
	temp_write(net.directory, "key.pem", net.client[0].key_pem);
	net.loop = loop_new();
	net.https = https_new(net.loop, "rayscaler/test");
	net.host = server_start_tls(answer, NULL, server_tls());
	(void)snprintf(text, sizeof(text),
		       "current-context: x\n"
		       "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:%d',"
		       " certificate-authority: ca.pem}}]\n"
		       "users: [{name: u, user: {client-certificate: crt.pem,"
		       " client-key: key.pem}}]\n"
		       "contexts: [{name: x, context: {cluster: c, user: u}}]\n",
		       net.host->port);
	temp_write(net.directory, "config", text);
	path = temp_path(net.directory, "config");
	net.config = kube_config_load(&(struct kube_config_options){ .kubeconfig = path }, &err);
	CHECK(net.config);
	memory_free(path);
	net.kube = kube_client_new(net.loop, net.https, net.config, &options);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	kube_client_free(net.kube);
	https_free(net.https);
	loop_free(net.loop);
	server_stop(net.host);
	kube_config_free(net.config);
	temp_done(net.directory);
	pki_done(&net.ca);
	pki_done(&net.server);
	pki_done(&net.client[0]);
	pki_done(&net.client[1]);
	return 0;
}

static void on_done(void *context, const struct kube_answer *answered, const struct err *err)
{
	struct result *result = context;

	result->done++;
	result->status = answered->status;
	(void)snprintf(result->body, sizeof(result->body), "%s", answered->body);
	if (err)
		result->err = *err;
}

static bool is_done(void *context)
{
	return ((const struct result *)context)->done > 0;
}

static bool is_past(void *context)
{
	return loop_boot_ms() > *(const int64_t *)context;
}

static struct result ask(void)
{
	struct result result = { .done = 0 };

	(void)kube_client_send(net.kube, KUBE_GET, PATH, NULL, 0, on_done, &result);
	assert_true(loop_wait_until(net.loop, is_done, &result, WAIT_MS));
	return result;
}

static void expect_name(const char *name)
{
	struct result result = ask();

	if (result.status != 200)
		fail_msg("%d: %s", result.status, result.err.text);
	assert_string_equal(result.body, name);
}

static void replace(const char *name, const char *pem)
{
	int64_t seen_ms;

	temp_write(net.directory, name, pem);
	seen_ms = loop_boot_ms() + LOOK_AGAIN_MS;
	assert_true(loop_wait_until(net.loop, is_past, &seen_ms, WAIT_MS));
}

/* Certificate and key are two files, so between two writes they do not match: the error is
 * reported, and the next write ends it. */
static void test_a_client_certificate_is_replaced(void **state)
{
	struct result result;

	(void)state;
	expect_name("old");
	replace("crt.pem", net.client[1].certificate_pem);
	result = ask();
	assert_int_equal(result.status, 0);
	assert_non_null(strstr(result.err.text, "the client certificate, its key or the CA"));
	replace("key.pem", net.client[1].key_pem);
	/* Not over the connection that was made with the old one, which is still up. */
	expect_name("new");
}

/* The server sends no more, and keeps its half open: no answer can arrive, so the call ends. */
static void test_a_half_closed_connection_ends_the_call(void **state)
{
	int64_t began_ms = loop_boot_ms();
	struct result result;

	(void)state;
	net.half_close = true;
	result = ask();
	assert_int_equal(result.err.kind, ERR_RETRY);
	assert_true(loop_boot_ms() - began_ms < KUBE_CLIENT_OPTIONS_INIT.timeout_ms / 2);
	expect_name("old");
	assert_int_equal(server_connections(net.host), 2);
}

static void test_a_half_closed_idle_connection_is_not_used(void **state)
{
	(void)state;
	net.then_close = true;
	expect_name("old");
	expect_name("old");
	assert_int_equal(server_connections(net.host), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_client_certificate_is_replaced),
		TEST(test_a_half_closed_connection_ends_the_call),
		TEST(test_a_half_closed_idle_connection_is_not_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
