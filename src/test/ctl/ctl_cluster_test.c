/* ctl/cluster against a scripted API server that wants to be left alone. Its RayCluster has no head Pod
 * and too few replicas, so that every pass is one patch. */
#include "ctl/cluster.h"

#include <time.h>

#include "ctl/queue/work_queue.h"
#include "ctl/report/event_recorder.h"
#include "ctl/report/metrics.h"
#include "ctl/shared/control.h"
#include "ctl/shared/options.h"
#include "ctl/watch/autoscaler_objects.h"
#include "ctl/watch/events.h"
#include "kube/kube_informer.h"
#include "net/work.h"
#include "test/support/control_wait.h"
#include "test/support/kube_script.h"
#include "test/support/log_capture.h"

#define PATCHES_MAX 16
#define REST_S 3
#define ROUNDING_MS 5

#define OBJECT(replicas) OBJECT_OF("cpu", replicas)
#define OBJECT_OF(group, replicas)                                                                 \
	"{'apiVersion': 'ray.io/v1', 'kind': 'RayCluster', 'metadata': {'name': 'demo',"           \
	" 'namespace': 'a', 'uid': 'u', 'resourceVersion': '5', 'generation': 1}, 'spec':"         \
	" {'enableInTreeAutoscaling': true, 'headGroupSpec': {'rayStartParams': {}, 'template':"   \
	" {'spec': {'containers': [{'name': 'ray-head'}]}}}, 'workerGroupSpecs': [{'groupName':"   \
	" '" group "', 'replicas': " replicas                                                      \
	", 'minReplicas': 2, 'maxReplicas': 5, 'rayStartParams':"                                  \
	" {}, 'template': {'spec': {'containers': [{'name': 'ray-worker', 'resources':"            \
	" {'limits': {'cpu': '1'}}}]}}}]}}"
#define AUTOSCALER                                                                                 \
	"{'apiVersion': 'rayscaler.dev/v1alpha1', 'kind': 'RayClusterAutoscaler', 'metadata':"     \
	" {'name': 'demo', 'namespace': 'a', 'resourceVersion': '6', 'generation': 1}, 'status':"  \
	" {'undecidedIntervalSeconds': 3}}"
#define WINDOW_ENDS_MS 4000
#define PAUSED_WITH_WINDOW(minute_and_hour, duration)                                              \
	"{'apiVersion': 'rayscaler.dev/v1alpha1', 'kind': 'RayClusterAutoscaler', 'metadata':"     \
	" {'name': 'demo', 'namespace': 'a', 'resourceVersion': '6', 'generation': 1}, 'spec':"    \
	" {'paused': true, 'schedules': [{'name': 'office', 'start': '" minute_and_hour            \
	" * * *', 'duration': '" duration "', 'groups': [{'name': 'cpu', 'minReplicas': 2}]}]}}"
#define LIST(items) "{'metadata': {'resourceVersion': '9'}, 'items': [" items "]}"

static struct kube_script script;
static struct options options;
static struct control control;
static struct cluster_map clusters;
static struct cluster *cluster;

static struct {
	_Atomic int patches;
	_Atomic int64_t at_ms[PATCHES_MAX];
	const char *headers; /* of the first answer; the others have none */
	int status;
	const char *list; /* of RayClusters */
	const char *autoscalers;
	char event[4096]; /* the last that was sent */
	_Atomic int events;
	const char *pods;       /* the list of Pods; NULL: none */
	const char *one;        /* the list with one object, once */
	_Atomic bool gives_one; /* or asks to come later */
} api;

/* NULL: a watch, or what waits for ever. */
static const char *list_text(const char *path)
{
	if (strstr(path, "=metadata.name"))
		return api.one;
	if (strcmp(path, "/apis/ray.io/v1") == 0)
		return "{'resources': [{'name': 'rayclusters'}]}";
	if (strcmp(path, "/apis/rayscaler.dev/v1alpha1") == 0)
		return "{'resources': [{'name': 'rayclusterautoscalers'}]}";
	if (strstr(path, "/rayclusterautoscalers?limit"))
		return api.autoscalers;
	if (strstr(path, "/rayclusters?limit"))
		return api.list;
	if (strstr(path, "/pods?limit"))
		return api.pods ? api.pods : LIST("");
	return NULL;
}

static void answer(struct exchange *exchange, void *context)
{
	const char *text;
	char *body;

	(void)context;
	if (strcmp(exchange->method, "GET") != 0 && strstr(exchange->path, "/rayscaler.dev/")) {
		exchange_answer(exchange, 200, "", "{}");
		return;
	}
	if (strcmp(exchange->method, "PATCH") == 0) {
		int number = atomic_fetch_add(&api.patches, 1);

		if (number < PATCHES_MAX)
			api.at_ms[number] = loop_boot_ms();
		exchange_answer(exchange, api.status, number == 0 ? api.headers : "",
				"{\"kind\": \"Status\", \"message\": \"later\"}");
		return;
	}
	if (strcmp(exchange->method, "POST") == 0) {
		(void)snprintf(api.event, sizeof(api.event), "%s", exchange->body);
		api.events++;
		exchange_answer(exchange, 201, "", "{}");
		return;
	}
	if (strstr(exchange->path, "=metadata.name") && !api.gives_one) {
		exchange_answer(exchange, 503, "", "{}");
		return;
	}
	text = list_text(exchange->path);
	if (!text && strstr(exchange->path, "watch=true"))
		exchange_open_stream(exchange);
	if (!text) {
		exchange_hold(exchange);
		return;
	}
	body = script_text(text);
	exchange_answer(exchange, 200, "", body);
	memory_free(body);
}

static int start(const char *list, const char *autoscalers)
{
	struct kube_informer_options informer = { .type = &kube_type_ray_cluster,
						  .large_later = true };

	api.list = list;
	api.autoscalers = autoscalers;
	api.patches = api.events = 0;
	api.headers = "";
	script = (struct kube_script){ .loop = NULL };
	script_start(&script, answer, &KUBE_CLIENT_OPTIONS_INIT);
	options_init(&options);
	options.scan_interval_seconds = 1;
	control =
		(struct control){ .loop = script.loop, .kube = script.client, .options = &options };
	control.queue = work_queue_new(script.loop);
	control.ray_clusters = kube_informer_new(script.client, &informer);
	informer.type = &kube_type_pod;
	control.pods = kube_informer_new(script.client, &informer);
	control.events = events_new(&control);
	control.recorder = event_recorder_new(&control);
	assert_true(loop_wait_until(script.loop, control_is_synced, &control, WAIT_MS));
	return 0;
}

static int setup(void **state)
{
	(void)state;
	return start(LIST(OBJECT("0")), "");
}

static bool autoscaler_is_known(void *context)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	(void)context;
	return autoscaler_objects_known(control.autoscalers) &&
	       autoscaler_objects_get(control.autoscalers, "a", "demo", &arena);
}

static int start_with_autoscalers(const char *list)
{
	(void)start(LIST(OBJECT("0")), list);
	control.autoscalers = autoscaler_objects_new(&control);
	assert_true(loop_wait_until(script.loop, autoscaler_is_known, NULL, WAIT_MS));
	return 0;
}

static int setup_restarted(void **state)
{
	(void)state;
	return start_with_autoscalers(LIST(AUTOSCALER));
}

/* A window that began in an earlier minute, and ends soon. The cluster is not scaled, so its passes
 * are a minute apart. */
static int setup_window(void **state)
{
	static char list[sizeof(LIST(PAUSED_WITH_WINDOW("", ""))) + 100];
	struct timespec at;
	struct civil_time civil;
	time_ms now, begin;

	(void)state;
	assert_int_equal(clock_gettime(CLOCK_REALTIME, &at), 0);
	now = at.tv_sec * MS_PER_SECOND;
	begin = (now / 60000 - 1) * 60000;
	time_to_civil(begin, &civil);
	(void)snprintf(list, sizeof(list), LIST(PAUSED_WITH_WINDOW("%d %d", "%lldms")),
		       civil.minute, civil.hour, (long long)(now + WINDOW_ENDS_MS - begin));
	return start_with_autoscalers(list);
}

static int setup_unreadable(void **state)
{
	(void)state;
	return start(LIST(OBJECT_OF("c\\u0000pu", "0")), "");
}

/* The object with 64 KiB behind it. */
static const char *large(const char *object)
{
	static char list[128 << 10];
	size_t size = strlen(object) - 1;

	(void)snprintf(list, sizeof(list), LIST("%.*s, 'status': {'note': '%0*d'}}"), (int)size,
		       object, 64 << 10, 0);
	return list;
}

static int setup_unread_cluster(void **state)
{
	(void)state;
	api.one = large(OBJECT("0"));
	return start(api.one, "");
}

static int setup_unread_pod(void **state)
{
	(void)state;
	api.pods = api.one =
		large("{'metadata': {'name': 'p', 'namespace': 'a', 'resourceVersion': '7', "
		      "'labels': {'ray.io/cluster': 'demo'}}}");
	return start(LIST(OBJECT("0")), "");
}

static int teardown(void **state)
{
	(void)state;
	api.pods = api.one = NULL;
	api.gives_one = false;
	cluster_map_done(&clusters);
	assert_true(work_stop(script.loop, WAIT_MS)); /* decisions read what the caches hold */
	autoscaler_objects_free(control.autoscalers);
	metrics_free(control.metrics);
	work_queue_free(control.queue);
	event_recorder_free(control.recorder);
	events_free(control.events);
	kube_informer_free(control.ray_clusters);
	kube_informer_free(control.pods);
	script_done(&script);
	options_done(&options);
	return 0;
}

/* Something changes all the time: no patch is sent sooner for it. */
static bool has_patched(void *context)
{
	cluster_wake(cluster);
	return api.patches >= *(const int *)context;
}

static void patch(int count)
{
	clusters = clusters_new();
	cluster = cluster_make(&clusters, &control, "a", "demo");
	assert_true(loop_wait_until(script.loop, has_patched, &count, WAIT_MS));
}

static void test_retry_after_is_obeyed(void **state)
{
	(void)state;
	api.status = 429;
	api.headers = "Retry-After: 3\r\n";
	patch(2);
	assert_true(api.at_ms[1] - api.at_ms[0] >= REST_S * 1000 - ROUNDING_MS);
}

/* 0.5 s, 1 s, 2 s, each less up to a half: the fourth patch is sent after 1.75 s or later. */
static void test_a_server_that_fails_is_asked_less_often(void **state)
{
	(void)state;
	api.status = 500;
	patch(4);
	assert_true(api.at_ms[1] - api.at_ms[0] >= 250 - ROUNDING_MS);
	assert_true(api.at_ms[2] - api.at_ms[1] >= 500 - ROUNDING_MS);
	assert_true(api.at_ms[3] - api.at_ms[2] >= 1000 - ROUNDING_MS);
}

/* The process before this one could not decide in its time: the cluster waits as it did there, whatever
 * changes meanwhile. */
static void test_an_expensive_decision_waits_after_a_restart(void **state)
{
	int64_t begin_ms = loop_boot_ms();

	(void)state;
	api.status = 200;
	patch(1);
	assert_true(api.at_ms[0] - begin_ms >= REST_S * 1000 - ROUNDING_MS);
}

static bool has_event(void *context)
{
	(void)context;
	return api.events > 0;
}

/* Its user reads why in an Event on it; nothing is changed. */
static void test_an_unreadable_cluster_is_reported(void **state)
{
	(void)state;
	clusters = clusters_new();
	cluster = cluster_make(&clusters, &control, "a", "demo");
	assert_true(loop_wait_until(script.loop, has_event, NULL, WAIT_MS));
	assert_non_null(strstr(api.event, "\"reason\": \"RayClusterUnreadable\""));
	assert_non_null(strstr(api.event, "\"uid\": \"u\""));
	assert_non_null(strstr(api.event, "The RayCluster is not scaled: "
					  "spec.workerGroupSpecs[0].groupName: must be a string"));
	assert_int_equal(api.patches, 0);
}

static bool has_patched_or_event(void *context)
{
	(void)context;
	return api.patches > 0 || api.events > 0;
}

/* Its large RayCluster, or one of its Pods, is known by its name alone: nothing is decided and reported
 * before it is read. */
static void test_a_cluster_waits_for_its_large_objects(void **state)
{
	int one = 1;

	(void)state;
	api.status = 200;
	clusters = clusters_new();
	cluster = cluster_make(&clusters, &control, "a", "demo");
	CAPTURE_LOG(assert_false(loop_wait_until(script.loop, has_patched_or_event, NULL, 5000)));
	assert_non_null(strstr(output, "\"not decided on until its large objects are read\","
				       "\"cluster\":\"a/demo\""));
	api.gives_one = true;
	assert_true(loop_wait_until(script.loop, has_patched, &one, WAIT_MS));
}

static bool has_decided(void *context)
{
	return control_decisions(&control) >= *(const unsigned *)context;
}

static void test_a_window_that_ends_is_decided_on_at_once(void **state)
{
	unsigned first = 1, second = 2;

	(void)state;
	control.metrics = metrics_new(0);
	clusters = clusters_new();
	cluster = cluster_make(&clusters, &control, "a", "demo");
	assert_true(loop_wait_until(script.loop, has_decided, &first, WAIT_MS));
	assert_true(loop_wait_until(script.loop, has_decided, &second, WAIT_MS));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_retry_after_is_obeyed),
		TEST(test_a_server_that_fails_is_asked_less_often),
		cmocka_unit_test_setup_teardown(test_an_expensive_decision_waits_after_a_restart,
						setup_restarted, teardown),
		cmocka_unit_test_setup_teardown(test_a_window_that_ends_is_decided_on_at_once,
						setup_window, teardown),
		cmocka_unit_test_setup_teardown(test_an_unreadable_cluster_is_reported,
						setup_unreadable, teardown),
		cmocka_unit_test_setup_teardown(test_a_cluster_waits_for_its_large_objects,
						setup_unread_cluster, teardown),
		cmocka_unit_test_setup_teardown(test_a_cluster_waits_for_its_large_objects,
						setup_unread_pod, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
