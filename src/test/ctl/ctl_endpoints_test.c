/* ctl/endpoints: the probes, with caches that a scripted API server fills and breaks, and the metrics
 * address with --metrics-secure. */
#include "ctl/endpoints.h"

#include "ctl/features.h"
#include "ctl/report/metrics.h"
#include "ctl/report/status.h"
#include "ctl/shared/leader.h"
#include "ctl/shared/options.h"
#include "kube/kube_informer.h"
#include "test/support/kube_script.h"
#include "test/support/lease_server.h"
#include "test/support/pki.h"

#define LIST(items) "{'metadata': {'resourceVersion': '9'}, 'items': [" items "]}"
#define POD(name, annotation)                                                                      \
	"{'metadata': {'namespace': 'a', 'name': '" name "', 'uid': '" name                        \
	"', 'resourceVersion':"                                                                    \
	" '5', 'labels': {'ray.io/cluster': 'demo'" annotation "}}, 'spec': {'containers': []}}"

static struct kube_script script;
static struct options options;
static struct control control;
static struct endpoints *endpoints;

static struct {
	_Atomic bool pods_refused; /* no list and no watch of Pods any more */
} api;

static struct {
	int status, wanted;
	const char *wanted_text; /* a part of the body */
	char body[512];
	bool waits;
} probe;

static const char *text_of(const char *path)
{
	if (strcmp(path, "/apis/ray.io/v1") == 0)
		return "{'resources': [{'name': 'rayclusters'}]}";
	if (strstr(path, "/rayclusters?limit"))
		return LIST("");
	if (strstr(path, "/pods?limit"))
		return LIST(POD("good", "") ", " POD("bad", ", 'ray.io/group': 'a\\u0000b'"));
	return NULL;
}

/* Of the tokens tenant, scraper and reader the user is the token. The tenant may read namespace a, the
 * scraper /metrics, the reader all. */
static const char *review(const struct exchange *exchange)
{
	static const char *const users[] = { "tenant", "scraper", "reader" };
	static char text[256];
	bool metrics = strstr(exchange->body, "\"path\": \"/metrics\"") != NULL;
	bool of_a = strstr(exchange->body, "\"namespace\": \"a\"") != NULL;

	(void)snprintf(text, sizeof(text), "{'status': {}}");
	for (size_t i = 0; i < SUPPORT_COUNT(users); i++)
		if (strstr(exchange->body, users[i]))
			(void)snprintf(text, sizeof(text),
				       "{'status': {'authenticated': true, 'user': {'username': "
				       "'%s'}, 'allowed': %s}}",
				       users[i],
				       (i == 0 && of_a) || (i == 1 && metrics) || i == 2 ? "true" :
											   "false");
	return text;
}

static void answer_review(struct exchange *exchange)
{
	char *body = script_text(review(exchange));

	exchange_answer(exchange, 201, "", body);
	memory_free(body);
}

static void answer(struct exchange *exchange, void *context)
{
	const char *text = text_of(exchange->path);
	char *body;

	if (strstr(exchange->path, "reviews")) {
		answer_review(exchange);
	} else if (strstr(exchange->path, "/leases")) {
		lease_server_answer(exchange, context);
	} else if (api.pods_refused && strstr(exchange->path, "/pods?")) {
		exchange_answer(exchange, 403, "",
				"{\"kind\": \"Status\", \"message\": \"pods is forbidden\"}");
	} else if (text) {
		body = script_text(text);
		exchange_answer(exchange, 200, "", body);
		memory_free(body);
	} else {
		if (strstr(exchange->path, "watch=true"))
			exchange_open_stream(exchange);
		exchange_hold(exchange);
	}
}

static void on_done(void *context, const struct https_response *response, const struct err *err)
{
	(void)context;
	assert_null(err);
	probe.status = response->status;
	(void)snprintf(probe.body, sizeof(probe.body), "%s", response->body);
	probe.waits = false;
}

static void ask(const char *path)
{
	char url[128];
	const struct https_call call = { .method = "GET",
					 .url = url,
					 .allow_plain = true,
					 .connect_ms = WAIT_MS,
					 .first_byte_ms = WAIT_MS,
					 .total_ms = WAIT_MS,
					 .ceiling_bytes = 1 << 20,
					 .on_done = on_done };

	probe.waits = true;
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%d%s", endpoints_probe_port(endpoints),
		       path);
	https_start(script.https, &call);
}

/* Asks again until the answer is the wanted one. */
static bool is_answered(void *context)
{
	(void)context;
	if (probe.waits)
		return false;
	if (probe.status == probe.wanted && strstr(probe.body, probe.wanted_text))
		return true;
	ask("/readyz");
	return false;
}

static void expect_ready(int status, const char *text)
{
	probe.wanted = status;
	probe.wanted_text = text;
	ask("/readyz");
	if (!loop_wait_until(script.loop, is_answered, NULL, WAIT_MS))
		fail_msg("/readyz answers %d: %s", probe.status, probe.body);
}

static bool has_answer(void *context)
{
	(void)context;
	return !probe.waits;
}

static void ask_once(void)
{
	ask("/readyz");
	assert_true(loop_wait_until(script.loop, has_answer, NULL, WAIT_MS));
}

static bool is_stale(void *context)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	(void)context;
	return control_stale(&control, &arena)[0] != '\0';
}

static void start_informers(void)
{
	struct kube_informer_options informer = { .type = &kube_type_ray_cluster };

	control.ray_clusters = kube_informer_new(script.client, &informer);
	informer.type = &kube_type_pod;
	control.pods = kube_informer_new(script.client, &informer);
}

/* From now on no Pod can be read: the watch breaks and the list is refused. */
static void lose_pods(void)
{
	api.pods_refused = true;
	server_drop(script.server);
	assert_true(loop_wait_until(script.loop, is_stale, NULL, WAIT_MS));
}

static int setup(void **state)
{
	struct err err;

	(void)state;
	api.pods_refused = false;
	script = (struct kube_script){ .loop = NULL };
	script_start(&script, answer, &KUBE_CLIENT_OPTIONS_INIT);
	options_init(&options);
	options.metrics_bind_address = "0";
	options.health_probe_bind_address = "127.0.0.1:0";
	control =
		(struct control){ .loop = script.loop, .kube = script.client, .options = &options };
	endpoints = endpoints_new(&control, &err);
	assert_non_null(endpoints);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	endpoints_free(endpoints);
	leader_free(control.leader);
	kube_informer_free(control.ray_clusters);
	kube_informer_free(control.pods);
	script_done(&script);
	options.metrics_bind_address = options.health_probe_bind_address = "";
	options_done(&options);
	lease_server_reset();
	return 0;
}

static void test_ready_once_both_caches_are_filled(void **state)
{
	(void)state;
	expect_ready(503, "cannot read the API server's RayClusters: not asked for yet");
	api.pods_refused = true;
	start_informers();
	expect_ready(503, "pods is forbidden");
	assert_non_null(strstr(probe.body, "the API server's Pods: "));
	api.pods_refused = false;
	expect_ready(200, "ok\n");
	/* One of the Pods cannot be read, and that does not matter. */
	assert_int_equal(kube_informer_bad_count(control.pods), 1);
}

static void test_a_stale_cache_is_named(void **state)
{
	(void)state;
	start_informers();
	expect_ready(200, "ok\n");
	lose_pods();
	expect_ready(503, "pods is forbidden");
	assert_non_null(strstr(probe.body, "the API server's Pods: "));
	api.pods_refused = false;
	expect_ready(200, "ok\n");
}

static void began(void *context)
{
	(void)context;
}

static void lost(void *context, const struct err *err)
{
	(void)context;
	(void)err;
}

static bool knows_holder(void *context)
{
	(void)context;
	return strcmp(leader_holder(control.leader), "other") == 0;
}

static void test_a_standby_stays_ready(void **state)
{
	static const struct leader_callbacks callbacks = { .begin = began, .lost = lost };

	(void)state;
	lease_server_set("{'holderIdentity': 'other', 'leaseDurationSeconds': 60}");
	options.leader_elect_resource_namespace = "a";
	control.leader = leader_new(&control, script_config(&script), &callbacks);
	assert_true(loop_wait_until(script.loop, knows_holder, NULL, WAIT_MS));
	expect_ready(503, "");
	start_informers();
	expect_ready(200, "ok\n");
	lose_pods();
	ask_once();
	assert_int_equal(probe.status, 200);
}

/* ---- the metrics address with --metrics-secure ---- */

static struct secure {
	struct pki_identity ca, servers[2];
	char *directory;
} secure;

static void use_server(size_t number)
{
	temp_write(secure.directory, "tls.crt", secure.servers[number].certificate_pem);
	temp_write(secure.directory, "tls.key", secure.servers[number].key_pem);
}

static int setup_secure(void **state)
{
	struct err err;

	assert_int_equal(setup(state), 0);
	endpoints_free(endpoints);
	secure.ca = pki_new("ca", NULL, NULL);
	secure.servers[0] = pki_new("first", &secure.ca, "IP:127.0.0.1");
	secure.servers[1] = pki_new("second", NULL, "IP:127.0.0.1");
	secure.directory = temp_directory();
	use_server(0);
	options.metrics_bind_address = "127.0.0.1:0";
	options.metrics_secure = true;
	options.metrics_cert_dir = secure.directory;
	control.reviews = script.client;
	control.metrics = metrics_new(0);
	control.features = features_new(&control, features_listed);
	control.status = status_new(&control);
	endpoints = endpoints_new(&control, &err);
	assert_non_null(endpoints);
	return 0;
}

static int teardown_secure(void **state)
{
	endpoints_free(steal(&endpoints));
	status_free(control.status);
	features_free(control.features);
	metrics_free(control.metrics);
	temp_done(secure.directory);
	pki_done(&secure.servers[0]);
	pki_done(&secure.servers[1]);
	pki_done(&secure.ca);
	options.metrics_cert_dir = "";
	options.metrics_secure = false;
	return teardown(state);
}

static void on_secure_done(void *context, const struct https_response *response,
			   const struct err *err)
{
	probe.status = 0;
	probe.body[0] = '\0';
	if (!err)
		on_done(context, response, err);
	probe.waits = false;
}

/* header: "Authorization: Bearer x", NULL: none. 0: no answer. */
static int get(const char *path, const char *ca, const char *header)
{
	const struct https_tls tls = { .ca_pem = ca };
	char url[128];
	const struct https_call call = { .method = "GET",
					 .url = url,
					 .headers = &header,
					 .header_count = header ? 1 : 0,
					 .tls = &tls,
					 .connect_ms = WAIT_MS,
					 .first_byte_ms = WAIT_MS,
					 .total_ms = WAIT_MS,
					 .ceiling_bytes = 1 << 20,
					 .on_done = on_secure_done };

	probe.waits = true;
	(void)snprintf(url, sizeof(url), "https://127.0.0.1:%d%s",
		       endpoints_metrics_port(endpoints), path);
	https_start(script.https, &call);
	assert_true(loop_wait_until(script.loop, has_answer, NULL, WAIT_MS));
	return probe.status;
}

static void expect_page(const char *path, const char *header, int status, const char *text)
{
	if (get(path, secure.ca.certificate_pem, header) != status || !strstr(probe.body, text))
		fail_msg("%s of %s: %d %s", path, header ? header : "nobody", probe.status,
			 probe.body);
}

#define TENANT "Authorization: Bearer tenant"
#define SCRAPER "Authorization: Bearer scraper"
#define READER "Authorization: Bearer reader"

static void test_pages_ask_who_is_there(void **state)
{
	static const char *const pages[] = { "/metrics",      "/status",          "/status/a/demo",
					     "/snapshot/a/x", "/gpu-holders/a/x", "/work/a/x" };

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(pages); i++) {
		expect_page(pages[i], NULL, 401, "needs a bearer token");
		expect_page(pages[i], "Authorization: Bearer forged", 401, "does not accept");
	}
	expect_page("/metrics", SCRAPER, 200, "rayscaler_");
	expect_page("/metrics", TENANT, 403, "tenant may not read this");
	expect_page("/status/a/demo", TENANT, 503, "not complete yet");
	expect_page("/snapshot/a/demo", "Rayscaler-Authorization: Bearer tenant", 503, "");
	expect_page("/status/b/demo", TENANT, 403, "in namespace b");
	expect_page("/work/b/demo", TENANT, 403, "in namespace b");
	expect_page("/status/b/demo", READER, 503, "");
	expect_page("/status", TENANT, 200, "\"clusters\": []");
	expect_page("/status", READER, 200, "\"clusters\": []");
	expect_page("/nothing", NULL, 404, "here are /metrics");
	/* Probes stay open, and plain. */
	ask_once();
	assert_int_equal(probe.status, 503);
}

static bool has_second_certificate(void *context)
{
	(void)context;
	return get("/status", secure.servers[1].certificate_pem, TENANT) == 200;
}

static void test_the_certificate_is_read_again(void **state)
{
	(void)state;
	assert_int_equal(get("/status", secure.ca.certificate_pem, TENANT), 200);
	assert_false(has_second_certificate(NULL));
	use_server(1);
	for (int waited_ms = 0; !has_second_certificate(NULL); waited_ms += 100) {
		assert_true(waited_ms < WAIT_MS);
		virtual_clock_sleep(100);
	}
	assert_int_equal(get("/status", secure.ca.certificate_pem, TENANT), 0);
}

static void test_a_bad_directory_is_named(void **state)
{
	struct err err;

	(void)state;
	temp_remove(secure.directory, "tls.key");
	assert_null(endpoints_new(&control, &err));
	assert_int_equal(err.kind, ERR_INPUT);
	assert_non_null(strstr(err.text, "--metrics-cert-dir: cannot open "));
}

#define TEST_SECURE(name) cmocka_unit_test_setup_teardown(name, setup_secure, teardown_secure)
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_ready_once_both_caches_are_filled),
		TEST(test_a_stale_cache_is_named),
		TEST(test_a_standby_stays_ready),
		TEST_SECURE(test_pages_ask_who_is_there),
		TEST_SECURE(test_the_certificate_is_read_again),
		TEST_SECURE(test_a_bad_directory_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
