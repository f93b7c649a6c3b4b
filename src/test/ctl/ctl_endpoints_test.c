/* ctl/endpoints: the probes, with caches that a scripted API server fills and breaks. */
#include "ctl/endpoints.h"

#include "ctl/shared/leader.h"
#include "ctl/shared/options.h"
#include "kube/kube_informer.h"
#include "test/support/kube_script.h"
#include "test/support/lease_server.h"

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

static void answer(struct exchange *exchange, void *context)
{
	const char *text = text_of(exchange->path);
	char *body;

	if (strstr(exchange->path, "/leases")) {
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_ready_once_both_caches_are_filled),
		TEST(test_a_stale_cache_is_named),
		TEST(test_a_standby_stays_ready),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
