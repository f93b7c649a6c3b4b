/* The bench of ctl_pass_test: a scripted GCS, a scripted API server, and the objects that the caches
 * of a controller would hold. Header only. */
#ifndef TEST_SUPPORT_PASS_BENCH_H
#define TEST_SUPPORT_PASS_BENCH_H
#include "ctl/pass/pass.h"

#include "codec/objects/pod_json.h"
#include "codec/text/json.h"
#include "ctl/pass/act.h"
#include "ctl/shared/options.h"
#include "test/support/gcs_bench.h"
#include "test/support/kube_script.h"

#define PATCHES_MAX 8

/* --- the API server: its thread writes, the test reads after the pass has ended --- */

static struct api {
	_Atomic int gets, lists, patches;
	int statuses[PATCHES_MAX]; /* of the patches, in order; 0: 200, -1: no answer */
	char bodies[PATCHES_MAX][2048];
	void (*on_get)(void);  /* of the cluster; NULL: nothing */
	const char *cluster;   /* replies to GET and PATCH */
	const char *pods;      /* reply to LIST */
	server_script *all;    /* answers every request; NULL: as below */
	server_script *leases; /* answers requests for Leases; NULL: as a GET of the cluster */
} api;

static void api_answer(struct exchange *exchange, void *context)
{
	char *cluster = script_text(api.cluster), *pods = script_text(api.pods);

	if (api.all) {
		api.all(exchange, context);
	} else if (api.leases && strstr(exchange->path, "/leases")) {
		api.leases(exchange, context);
	} else if (strcmp(exchange->method, "PATCH") == 0) {
		int number = atomic_fetch_add(&api.patches, 1);
		int status = number < PATCHES_MAX ? api.statuses[number] : 500;

		if (number < PATCHES_MAX)
			(void)snprintf(api.bodies[number], sizeof(api.bodies[number]), "%s",
				       exchange->body);
		if (status < 0)
			exchange_hold(exchange);
		else if (status == 0)
			exchange_answer(exchange, 200, "", cluster);
		else
			exchange_answer(exchange, status, "",
					"{\"kind\": \"Status\", \"message\": \"test failed\"}");
	} else if (strstr(exchange->path, "/pods?")) {
		api.lists++;
		exchange_answer(exchange, 200, "", pods);
	} else {
		api.gets++;
		if (api.on_get)
			api.on_get();
		exchange_answer(exchange, 200, "", cluster);
	}
	memory_free(cluster);
	memory_free(pods);
}

/* --- Ray: a head, and workers as the test sets them --- */

static Ray__NodeState__TotalResourcesEntry head_total, gpu_total[2];
static Ray__NodeState__AvailableResourcesEntry head_available, gpu_available[2];
static Ray__NodeState__TotalResourcesEntry *head_totals[] = { &head_total };
static Ray__NodeState__TotalResourcesEntry *gpu_totals[] = { &gpu_total[0], &gpu_total[1] };
static Ray__NodeState__AvailableResourcesEntry *head_availables[] = { &head_available };
static Ray__NodeState__AvailableResourcesEntry *gpu_availables[] = { &gpu_available[0],
								     &gpu_available[1] };
static Ray__NodeState nodes[2];
static Ray__NodeState *node_list[] = { &nodes[0], &nodes[1] };
static Ray__ClusterResourceState cluster_state;
static Ray__GetClusterResourceStateReply state_reply;
static Ray__ResourceRequest__ResourcesBundleEntry gpu_entry;
static Ray__ResourceRequest__ResourcesBundleEntry *gpu_bundle[] = { &gpu_entry };
static Ray__ResourceRequest gpu_request;
static Ray__ResourceRequestByCount gpu_pending;
static Ray__ResourceRequestByCount *pending[] = { &gpu_pending };

static struct {
	bool accept, fail_drain, mute_state, mute_drain, mute_kv;
	unsigned drains, reads;
	void (*before)(const char *path); /* it answers; may be NULL */
} ray;

static void on_call(struct h2_server *server, struct h2_stream *stream)
{
	Ray__DrainNodeReply drain = RAY__DRAIN_NODE_REPLY__INIT;

	(void)server;
	if (ray.before)
		ray.before(stream->path);
	if (strstr(stream->path, "/DrainNode")) {
		ray.drains++;
		drain.is_accepted = ray.accept;
		drain.rejection_reason_message = (char *)(ray.accept ? "" : "no longer idle");
		bench.gcs.reply = &drain.base;
		bench.gcs.mute = ray.mute_drain;
		if (ray.fail_drain)
			bench.gcs.fault = (struct h2_answer){ .grpc_status = GRPC_UNAVAILABLE,
							      .grpc_message = "busy" };
	} else {
		bench.gcs.reply = &state_reply.base;
		ray.reads += strstr(stream->path, "GetClusterResourceState") != NULL;
		bench.gcs.mute = (ray.mute_state && strstr(stream->path, "State")) ||
				 (ray.mute_kv && strstr(stream->path, "KV"));
		bench.gcs.fault = (struct h2_answer){ 0 };
	}
	handle(server, stream);
}

static void set_head(void)
{
	ray__node_state__init(&nodes[0]);
	ray__node_state__total_resources_entry__init(&head_total);
	ray__node_state__available_resources_entry__init(&head_available);
	head_total.key = head_available.key = (char *)"node:__internal_head__";
	head_total.value = head_available.value = 1;
	nodes[0].node_id = (ProtobufCBinaryData){ 2, (uint8_t *)"hd" };
	nodes[0].instance_id = (char *)"demo-head";
	nodes[0].ray_node_type_name = (char *)"headgroup";
	nodes[0].status = RAY__NODE_STATUS__RUNNING;
	nodes[0].total_resources = head_totals;
	nodes[0].n_total_resources = 1;
	nodes[0].available_resources = head_availables;
	nodes[0].n_available_resources = 1;
}

static void set_idle_worker(void)
{
	static const char *const names[] = { "CPU", "GPU" };

	ray__node_state__init(&nodes[1]);
	for (size_t i = 0; i < 2; i++) {
		ray__node_state__total_resources_entry__init(&gpu_total[i]);
		ray__node_state__available_resources_entry__init(&gpu_available[i]);
		gpu_total[i].key = gpu_available[i].key = (char *)names[i];
		gpu_total[i].value = gpu_available[i].value = 1;
	}
	nodes[1].node_id = (ProtobufCBinaryData){ 2, (uint8_t *)"wk" };
	nodes[1].instance_id = (char *)"demo-worker";
	nodes[1].ray_node_type_name = (char *)"gpu";
	nodes[1].status = RAY__NODE_STATUS__IDLE;
	nodes[1].idle_duration_ms = 61000;
	nodes[1].total_resources = gpu_totals;
	nodes[1].n_total_resources = 2;
	nodes[1].available_resources = gpu_availables;
	nodes[1].n_available_resources = 2;
	cluster_state.n_node_states = 2;
}

__attribute__((unused)) static void set_pending_gpus(int64_t count)
{
	ray__resource_request__resources_bundle_entry__init(&gpu_entry);
	ray__resource_request__init(&gpu_request);
	ray__resource_request_by_count__init(&gpu_pending);
	gpu_entry.key = (char *)"GPU";
	gpu_entry.value = 1;
	gpu_request.resources_bundle = gpu_bundle;
	gpu_request.n_resources_bundle = 1;
	gpu_pending.request = &gpu_request;
	gpu_pending.count = count;
	cluster_state.pending_resource_requests = pending;
	cluster_state.n_pending_resource_requests = 1;
}

/* --- the API objects of the caches; ' means " --- */

#define GROUP(replicas)                                                                            \
	"{'groupName': 'gpu', 'replicas': " replicas ", 'minReplicas': 0, 'maxReplicas': 5,"       \
	" 'rayStartParams': {}, 'template': {'spec': {'containers': [{'name': 'ray-worker',"       \
	" 'resources': {'limits': {'cpu': '1', 'nvidia.com/gpu': '1'}}}]}}}"
#define CLUSTER(replicas)                                                                          \
	"{'apiVersion': 'ray.io/v1', 'kind': 'RayCluster', 'metadata': {'name': 'demo',"           \
	" 'namespace': 'a', 'generation': 1}, 'spec': {'enableInTreeAutoscaling': true,"           \
	" 'headGroupSpec': {'rayStartParams': {}, 'template': {'spec': {'containers':"             \
	" [{'name': 'ray-head', 'resources': {'limits': {'cpu': '1'}}}]}}},"                       \
	" 'workerGroupSpecs': [" GROUP(replicas) "]}}"
#define POD(name, type, group, status)                                                             \
	"{'metadata': {'name': '" name "', 'namespace': 'a', 'labels': {'ray.io/cluster': "        \
	"'demo', 'ray.io/node-type': '" type "', 'ray.io/group': '" group "'}},"                   \
	" 'spec': {'containers': [{'name': 'ray-worker'}]}, 'status': " status "}"
#define RUNNING_SINCE(time)                                                                        \
	"{'phase': 'Running', 'podIP': '127.0.0.1', 'containerStatuses': [{'name':"                \
	" 'ray-worker', 'state': {'running': {'startedAt': '" time "'}}}]}"
#define RUNNING RUNNING_SINCE("2026-01-01T00:00:00Z")
/* Its start timeout has not passed at any time of the tests' clock. */
#define JUST_STARTED RUNNING_SINCE("2200-01-01T00:00:00Z")
#define HEAD_POD POD("demo-head", "head", "headgroup", RUNNING)
#define RESTARTED_HEAD_POD                                                                         \
	POD("demo-head", "head", "headgroup", RUNNING_SINCE("2026-01-02T00:00:00Z"))
#define WORKER_POD POD("demo-worker", "worker", "gpu", RUNNING)
#define PENDING_POD POD("demo-worker", "worker", "gpu", "{'phase': 'Pending'}")
#define LIST(pods) "{'kind': 'PodList', 'metadata': {'resourceVersion': '9'}, 'items': [" pods "]}"

static struct kube_script script;
static struct options options;
static struct control control;

static struct {
	struct arena arena; /* of the result of current() */
	const char *cluster, *pods, *stale;
	struct pass *pass;
	int decisions, endings, views;
	void (*on_decided)(void); /* NULL: nothing */
	void (*on_view)(void);    /* likewise */
	bool kv;                  /* the pass reads the requests of autoscaler v1 */
	bool ray_reached, undecided;
	enum pass_cost cost;  /* of the last pass, for the next one */
	int64_t quick_ms;     /* 0: as usual */
	int64_t undecided_ms; /* of the last decision */
	char active[1024];    /* the message of ScalingActive */
	const char *ray_note;
	struct poll_reading reading;
	char memory[4096];
	bool patched;
	struct err err;
} seen;

static void view(void *context, struct arena *arena, struct pass_view *ret_view)
{
	char *cluster = script_text(seen.cluster), *pods = script_text(seen.pods);
	struct ray_cluster *object = ARENA_NEW(arena, struct ray_cluster);
	const struct pod **list = NULL;
	struct err err;

	(void)context;
	seen.views++;
	if (seen.on_view)
		seen.on_view();
	if (act_decode_cluster(cluster, strlen(cluster), arena, object, &err) < 0 ||
	    act_decode_pods(pods, strlen(pods), arena, &list, &ret_view->pod_count, &err) < 0)
		fail_msg("%s", err.text);
	ret_view->cluster = object;
	ret_view->pods = list;
	ret_view->stale = seen.stale;
	memory_free(cluster);
	memory_free(pods);
}

static const struct ray_cluster *current(void *context)
{
	char *cluster = script_text(seen.cluster);
	struct ray_cluster *object;
	struct err err;

	(void)context;
	arena_reset(&seen.arena);
	object = ARENA_NEW(&seen.arena, struct ray_cluster);
	if (act_decode_cluster(cluster, strlen(cluster), &seen.arena, object, &err) < 0)
		fail_msg("%s", err.text);
	memory_free(cluster);
	return object;
}

static void decided(void *context, const struct pass_decision *decision)
{
	(void)context;
	seen.decisions++;
	seen.ray_reached = decision->ray_state != NULL;
	seen.undecided_ms = decision->undecided_ms;
	if (seen.on_decided)
		seen.on_decided();
	(void)snprintf(seen.active, sizeof(seen.active), "%s",
		       decision->plan->conditions.at[0].message);
}

static void ended(void *context, const struct pass_result *result)
{
	(void)context;
	seen.endings++;
	seen.patched = result->patched_body != NULL;
	seen.undecided = result->undecided;
	seen.cost = result->cost;
	seen.reading = result->reading;
	if (result->err)
		seen.err = *result->err;
	if (result->memory_json)
		(void)snprintf(seen.memory, sizeof(seen.memory), "%s", result->memory_json);
	pass_free(seen.pass);
	seen.pass = NULL;
}

static int setup(void **state)
{
	struct gcs_config gcs;

	(void)state;
	memset(&bench, 0, sizeof(bench));
	memset(&seen, 0, sizeof(seen));
	memset(&ray, 0, sizeof(ray));
	memset((void *)&api, 0, sizeof(api));
	script = (struct kube_script){ .loop = NULL };
	script_start(&script, api_answer, &KUBE_CLIENT_OPTIONS_INIT);
	bench.loop = script.loop;
	bench.gcs.server.handler = on_call;
	bench.gcs.server.context = &bench.gcs;
	memset(bench.gcs.cluster_id, 0xa7, sizeof(bench.gcs.cluster_id));
	buf_init(&bench.gcs.body, 16u << 20);
	h2_server_start(&bench.gcs.server, bench.loop, 0);
	gcs = config();
	bench.client = gcs_client_new(bench.loop, &gcs);

	ray__cluster_resource_state__init(&cluster_state);
	ray__get_cluster_resource_state_reply__init(&state_reply);
	state_reply.cluster_resource_state = &cluster_state;
	cluster_state.node_states = node_list;
	cluster_state.n_node_states = 1;
	set_head();
	ray.accept = true;

	options_init(&options);
	options.gcs_timeout_seconds = 1;
	control =
		(struct control){ .loop = script.loop, .kube = script.client, .options = &options };
	api.cluster = seen.cluster = CLUSTER("0");
	api.pods = seen.pods = LIST(HEAD_POD);
	seen.stale = "";
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pass_free(seen.pass);
	arena_done(&seen.arena);
	gcs_client_free(bench.client);
	h2_server_stop(&bench.gcs.server);
	buf_done(&bench.gcs.body);
	script_done(&script);
	options_done(&options);
	return 0;
}

__attribute__((unused)) static void start_pass(const char *memory)
{
	static const struct pass_callbacks callbacks = {
		.view = view, .current = current, .decided = decided, .done = ended
	};
	char *text = memory ? script_text(memory) : NULL;
	struct pass_config pass = { .control = &control,
				    .namespace_ = "a",
				    .name = "demo",
				    .api_version = "ray.io/v1",
				    .gcs = bench.client,
				    .memory_json = text,
				    .read_kv_requests = seen.kv,
				    .ray_note = seen.ray_note,
				    .cost = seen.cost,
				    .undecided_ms = 8000,
				    .quick_ms = seen.quick_ms ? seen.quick_ms : PASS_QUICK_MS };

	seen.pass = pass_new(&pass, &callbacks);
	memory_free(text);
}

static bool has_ended(void *context)
{
	(void)context;
	return seen.endings > 0;
}

__attribute__((unused)) static void run_pass(const char *memory)
{
	start_pass(memory);
	assert_true(loop_wait_until(script.loop, has_ended, NULL, WAIT_MS));
	assert_int_equal(seen.endings, 1);
}

__attribute__((unused)) static void idle_worker(void)
{
	seen.cluster = api.cluster = CLUSTER("1");
	seen.pods = api.pods = LIST(HEAD_POD "," WORKER_POD);
	set_idle_worker();
}

#endif
