/* kube/kube_client against a server that keeps it waiting, changes its certificate, forgets its
 * connections, or has a name that is not resolved. */
#include "kube/kube_client.h"

#include <dlfcn.h>
#include <netdb.h>
#include <poll.h>

#include "test/support/kube_script.h"

#define PATH "/api/v1/namespaces/a/pods/p"
#define NAME "kube.test"
#define LIMIT_MS 1500 /* of a call that is meant to end by its deadline */
#define LOOK_MS 5

static struct {
	struct pki_identity ca[2], shown[2];
	_Atomic int signer;     /* index of the CA and certificate in use */
	_Atomic bool silent;    /* the server does not continue the handshake */
	_Atomic int handshakes; /* that have begun */
	_Atomic int age;        /* connections of an earlier one are answered no more */
	_Atomic int names, name_fails;
	_Atomic bool name_hangs;
	bool leads;
	char *directory;
	struct loop *loop;
	struct https *https;
	struct scripted_server *server;
	struct kube_config *config;
	struct kube_client *client;
} net;

struct result {
	int done, status;
	struct err err;
};

/* Waits on another thread than the loop's. */
static void look_again(void)
{
	(void)poll(NULL, 0, LOOK_MS);
}

/* ---- the name server: in front of libc's, for this program ---- */

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
		struct addrinfo **ret)
{
	int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

	*(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
	if (name && strcmp(name, NAME) == 0) {
		net.names++;
		while (net.name_hangs)
			look_again();
		if (net.name_fails > 0) {
			net.name_fails--;
			return EAI_AGAIN;
		}
		name = "127.0.0.1";
	}
	return real(name, service, hints, ret);
}

/* ---- the server ---- */

static int on_handshake(SSL *ssl, void *context)
{
	const struct pki_identity *shown = &net.shown[net.signer];

	(void)context;
	net.handshakes++;
	while (net.silent)
		look_again();
	return SSL_use_certificate(ssl, shown->certificate) == 1 &&
	       SSL_use_PrivateKey(ssl, shown->key) == 1;
}

static void answer(struct exchange *exchange, void *context)
{
	static _Thread_local int born = -1;

	(void)context;
	if (born < 0)
		born = net.age;
	if (born < net.age)
		exchange_hold(exchange);
	else
		exchange_answer(exchange, 200, "", "{}");
}

static bool may_write(void *context)
{
	(void)context;
	return net.leads;
}

static void start(const char *host, const struct kube_client_options *options)
{
	SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
	char text[1024];
	char *path;
	struct err err;

	SSL_CTX_set_cert_cb(tls, on_handshake, NULL);
	net.loop = loop_new();
	net.https = https_new(net.loop, "rayscaler/test");
	net.server = server_start_tls(answer, NULL, tls);
	(void)snprintf(text, sizeof(text),
		       "current-context: x\n"
		       "clusters: [{name: c, cluster: {server: 'https://%s:%d',"
		       " certificate-authority: ca.pem}}]\n"
		       "users: [{name: u, user: {token: t}}]\n"
		       "contexts: [{name: x, context: {cluster: c, user: u}}]\n",
		       host, net.server->port);
	temp_write(net.directory, "config", text);
	path = temp_path(net.directory, "config");
	net.config = kube_config_load(&(struct kube_config_options){ .kubeconfig = path }, &err);
	CHECK(net.config);
	memory_free(path);
	net.client = kube_client_new(net.loop, net.https, net.config, options);
}

static int setup(void **state)
{
	(void)state;
	memset((void *)&net, 0, sizeof(net));
	net.leads = true;
	for (size_t i = 0; i < 2; i++) {
		net.ca[i] = pki_new(i ? "new CA" : "CA", NULL, NULL);
		net.shown[i] = pki_new("server", &net.ca[i], "IP:127.0.0.1,DNS:" NAME);
	}
	net.directory = temp_directory();
	temp_write(net.directory, "ca.pem", net.ca[0].certificate_pem);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	net.silent = net.name_hangs = false;
	kube_client_free(net.client);
	https_free(net.https);
	loop_free(net.loop);
	server_stop(net.server);
	kube_config_free(net.config);
	temp_done(net.directory);
	for (size_t i = 0; i < 2; i++) {
		pki_done(&net.ca[i]);
		pki_done(&net.shown[i]);
	}
	return 0;
}

/* ---- calls ---- */

static void on_done(void *context, const struct kube_answer *answered, const struct err *err)
{
	struct result *result = context;

	result->done++;
	result->status = answered->status;
	if (err)
		result->err = *err;
}

static void ask(struct result *result, enum kube_verb verb, int64_t until_ms)
{
	*result = (struct result){ .done = 0 };
	(void)kube_client_request(net.client,
				  &(struct kube_request){ .verb = verb,
							  .path = PATH,
							  .body = "{}",
							  .body_size = verb == KUBE_GET ? 0 : 2,
							  .until_ms = until_ms,
							  .flow = "a/p" },
				  on_done, result);
}

static bool is_done(void *context)
{
	return ((const struct result *)context)->done > 0;
}

static void finish(struct result *result)
{
	assert_true(loop_wait_until(net.loop, is_done, result, WAIT_MS));
	assert_int_equal(result->done, 1);
}

static void expect(struct result *result, enum err_kind kind, const char *text)
{
	finish(result);
	assert_string_equal(err_kind_name(result->err.kind), err_kind_name(kind));
	if (!strstr(result->err.text, text))
		fail_msg("\"%s\" is not in \"%s\"", text, result->err.text);
}

static void get(int status)
{
	struct result result;

	ask(&result, KUBE_GET, 0);
	finish(&result);
	if (result.status != status)
		fail_msg("%d: %s", result.status, result.err.text);
}

static bool shakes_hands(void *context)
{
	(void)context;
	return net.handshakes > 0;
}

static bool name_is_asked(void *context)
{
	(void)context;
	return net.names > 0;
}

static bool is_past(void *context)
{
	return loop_boot_ms() > *(const int64_t *)context;
}

static struct kube_client_options usual(void)
{
	struct kube_client_options options = KUBE_CLIENT_OPTIONS_INIT;

	options.timeout_ms = LIMIT_MS;
	options.may_write = may_write;
	return options;
}

static struct kube_client_options patient(void)
{
	struct kube_client_options options = usual();

	options.timeout_ms = WAIT_MS;
	return options;
}

/* ---- a write is asked again when it would leave ---- */

static void test_the_lead_is_lost_while_it_connects(void **state)
{
	struct kube_client_options options = patient();
	struct result patch, read;

	(void)state;
	start("127.0.0.1", &options);
	net.silent = true;
	ask(&patch, KUBE_JSON_PATCH, 0);
	ask(&read, KUBE_GET, 0);
	assert_true(loop_wait_until(net.loop, shakes_hands, NULL, WAIT_MS));
	net.leads = false;
	net.silent = false;
	expect(&patch, ERR_RETRY, "not sent, this replica does not lead");
	finish(&read);
	assert_int_equal(read.status, 200);
	assert_int_equal(server_count(net.server, "PATCH"), 0);
}

static void test_a_plan_grows_old_while_it_connects(void **state)
{
	struct kube_client_options options = patient();
	int64_t until_ms = loop_boot_ms() + LIMIT_MS;
	struct result patch, later;

	(void)state;
	start("127.0.0.1", &options);
	net.silent = true;
	ask(&patch, KUBE_JSON_PATCH, until_ms);
	assert_true(loop_wait_until(net.loop, shakes_hands, NULL, WAIT_MS));
	assert_true(loop_wait_until(net.loop, is_past, &until_ms, WAIT_MS));
	net.silent = false;
	expect(&patch, ERR_RETRY, "not sent, the state that it was decided on is too old");
	assert_int_equal(server_count(net.server, "PATCH"), 0);
	ask(&later, KUBE_JSON_PATCH, loop_boot_ms() + WAIT_MS);
	finish(&later);
	assert_int_equal(later.status, 200);
}

/* --kube-api-qps and --kube-api-burst hold it back for longer than it is good for. */
static void test_a_plan_grows_old_in_the_queue(void **state)
{
	struct kube_client_options options = patient();
	struct result first, patch;

	(void)state;
	options.qps = options.burst = 1;
	start("127.0.0.1", &options);
	ask(&first, KUBE_GET, 0);
	ask(&patch, KUBE_JSON_PATCH, loop_boot_ms() + 300);
	expect(&patch, ERR_RETRY, "not sent, the state that it was decided on is too old");
	finish(&first);
	assert_int_equal(first.status, 200);
	assert_int_equal(server_count(net.server, "PATCH"), 0);
	assert_int_equal(kube_client_pending(net.client), 0);
}

/* ---- names ---- */

static void test_a_name_that_is_not_found(void **state)
{
	struct kube_client_options options = patient();
	struct result result;

	(void)state;
	start(NAME, &options);
	net.name_fails = 1;
	ask(&result, KUBE_GET, 0);
	expect(&result, ERR_RETRY, NAME);
	assert_non_null(strstr(result.err.text, "resolve"));
	get(200);
}

/* The loop runs, the deadline holds, and freeing the client meanwhile does not wait. */
static void test_a_name_server_that_does_not_answer(void **state)
{
	struct kube_client_options options = usual();
	struct result result, left;
	int64_t began_ms = loop_boot_ms();

	(void)state;
	start(NAME, &options);
	net.name_hangs = true;
	ask(&result, KUBE_GET, 0);
	assert_true(loop_wait_until(net.loop, name_is_asked, NULL, WAIT_MS));
	assert_int_equal(result.done, 0);
	expect(&result, ERR_TIMEOUT, NAME);
	assert_true(loop_boot_ms() - began_ms < WAIT_MS);
	ask(&left, KUBE_GET, 0);
	kube_client_free(net.client);
	https_free(net.https);
	net.https = https_new(net.loop, "rayscaler/test");
	net.client = kube_client_new(net.loop, net.https, net.config, &options);
	net.name_hangs = false;
	get(200);
}

/* ---- TLS ---- */

/* The authority is replaced under a running client: first the server, then the file. */
static void test_the_authority_changes(void **state)
{
	struct kube_client_options options = patient();
	struct result result;
	int64_t read_again_ms;

	(void)state;
	start("127.0.0.1", &options);
	get(200);
	net.signer = 1;
	get(200); /* a connection that is up is trusted as before */
	server_drop(net.server);
	ask(&result, KUBE_GET, 0);
	expect(&result, ERR_RETRY, "the server's certificate is not trusted");
	temp_write(net.directory, "ca.pem", net.ca[1].certificate_pem);
	read_again_ms = loop_boot_ms() + 1100; /* files are checked once a second */
	assert_true(loop_wait_until(net.loop, is_past, &read_again_ms, WAIT_MS));
	get(200);
	net.signer = 0;
	server_drop(net.server);
	ask(&result, KUBE_GET, 0);
	expect(&result, ERR_RETRY, "the server's certificate is not trusted");
}

/* ---- connections without answers ---- */

/* The network has forgotten them without a word: one deadline passes, not one for each. */
static void test_idle_connections_that_are_dead(void **state)
{
	struct kube_client_options options = usual();
	struct result results[4];
	int64_t later_ms;

	(void)state;
	start("127.0.0.1", &options);
	for (size_t i = 0; i < SUPPORT_COUNT(results); i++)
		ask(&results[i], KUBE_GET, 0);
	for (size_t i = 0; i < SUPPORT_COUNT(results); i++) {
		finish(&results[i]);
		assert_int_equal(results[i].status, 200);
	}
	assert_int_equal(server_connections(net.server), SUPPORT_COUNT(results));
	net.age++;
	ask(&results[0], KUBE_GET, 0);
	expect(&results[0], ERR_TIMEOUT, "127.0.0.1");
	get(200);
	later_ms = loop_boot_ms() + 3000;
	assert_true(loop_wait_until(net.loop, is_past, &later_ms, WAIT_MS));
	get(200);
	get(200);
	assert_true(server_connections(net.server) <= SUPPORT_COUNT(results) + 2);
}

/* The server closes an idle connection just when it is used again: asked again at once. */
static void test_an_idle_connection_that_was_closed(void **state)
{
	struct kube_client_options options = patient();

	(void)state;
	start("127.0.0.1", &options);
	for (int i = 0; i < 3; i++) {
		get(200);
		server_drop(net.server);
	}
	assert_int_equal(server_connections(net.server), 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_lead_is_lost_while_it_connects),
		TEST(test_a_plan_grows_old_while_it_connects),
		TEST(test_a_plan_grows_old_in_the_queue),
		TEST(test_a_name_that_is_not_found),
		TEST(test_a_name_server_that_does_not_answer),
		TEST(test_the_authority_changes),
		TEST(test_idle_connections_that_are_dead),
		TEST(test_an_idle_connection_that_was_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
