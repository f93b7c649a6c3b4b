#include "test/support/pass_bench.h"

struct api api;

static void answer_write(struct exchange *exchange, const char *cluster)
{
	int number = atomic_fetch_add(&api.patches, 1);
	int status = number < PATCHES_MAX ? api.statuses[number] : 500;

	api.verb = exchange->method[0] == 'P' ? "PATCH" : "DELETE";
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
}

static void api_answer(struct exchange *exchange, void *context)
{
	char *cluster = script_text(api.cluster), *pods = script_text(api.pods);

	if (api.all) {
		api.all(exchange, context);
	} else if (api.leases && strstr(exchange->path, "/leases")) {
		api.leases(exchange, context);
	} else if (strcmp(exchange->method, "PATCH") == 0 ||
		   strcmp(exchange->method, "DELETE") == 0) {
		answer_write(exchange, cluster);
	} else if (strstr(exchange->path, "/pods?")) {
		char *page = script_text(api.on_list ? api.on_list(exchange->path) : NULL);

		api.lists++;
		exchange_answer(exchange, 200, "", api.on_list ? page : pods);
		memory_free(page);
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
Ray__NodeState ray_nodes[3];
static Ray__NodeState *node_list[] = { &ray_nodes[0], &ray_nodes[1], &ray_nodes[2] };
Ray__ClusterResourceState cluster_state;
static Ray__GetClusterResourceStateReply state_reply;
static Ray__ResourceRequest__ResourcesBundleEntry gpu_entry;
static Ray__ResourceRequest__ResourcesBundleEntry *gpu_bundle[] = { &gpu_entry };
static Ray__ResourceRequest gpu_request;
static Ray__ResourceRequestByCount gpu_pending;
static Ray__ResourceRequestByCount *pending[] = { &gpu_pending };

struct fake_ray ray;

void on_call(struct h2_server *server, struct h2_stream *stream)
{
	Ray__DrainNodeReply drain = RAY__DRAIN_NODE_REPLY__INIT;

	(void)server;
	if (ray.before)
		ray.before(stream->path);
	if (strstr(stream->path, "/DrainNode")) {
		ray.drains++;
		drain.is_accepted = ray.accept;
		drain.rejection_reason_message = (char *)(ray.accept ? "" : "no longer idle");
		gcs_bench.gcs.reply = &drain.base;
		gcs_bench.gcs.mute = ray.mute_drain;
		if (ray.fail_drain)
			gcs_bench.gcs.fault = (struct h2_answer){ .grpc_status = GRPC_UNAVAILABLE,
								  .grpc_message = "busy" };
	} else if (ray.lists && !strstr(stream->path, "State") &&
		   !strstr(stream->path, "GetClusterId")) {
		gcs_bench.gcs.reply = ray.lists(stream->path);
		gcs_bench.gcs.fault = (struct h2_answer){ 0 };
		if (!gcs_bench.gcs.reply)
			gcs_bench.gcs.fault = (struct h2_answer){ .grpc_status = GRPC_UNAVAILABLE,
								  .grpc_message = "busy" };
	} else {
		gcs_bench.gcs.reply = &state_reply.base;
		ray.reads += strstr(stream->path, "GetClusterResourceState") != NULL;
		gcs_bench.gcs.mute = (ray.mute_state && strstr(stream->path, "State")) ||
				     (ray.mute_kv && strstr(stream->path, "KV"));
		gcs_bench.gcs.fault = (struct h2_answer){ 0 };
	}
	fake_gcs_handle(server, stream);
}

static void set_head(void)
{
	ray__node_state__init(&ray_nodes[0]);
	ray__node_state__total_resources_entry__init(&head_total);
	ray__node_state__available_resources_entry__init(&head_available);
	head_total.key = head_available.key = (char *)"node:__internal_head__";
	head_total.value = head_available.value = 1;
	ray_nodes[0].node_id = (ProtobufCBinaryData){ 2, (uint8_t *)"hd" };
	ray_nodes[0].instance_id = (char *)"demo-head";
	ray_nodes[0].ray_node_type_name = (char *)"headgroup";
	ray_nodes[0].status = RAY__NODE_STATUS__RUNNING;
	ray_nodes[0].total_resources = head_totals;
	ray_nodes[0].n_total_resources = 1;
	ray_nodes[0].available_resources = head_availables;
	ray_nodes[0].n_available_resources = 1;
}

void set_idle_worker(void)
{
	static const char *const names[] = { "CPU", "GPU" };

	ray__node_state__init(&ray_nodes[1]);
	for (size_t i = 0; i < 2; i++) {
		ray__node_state__total_resources_entry__init(&gpu_total[i]);
		ray__node_state__available_resources_entry__init(&gpu_available[i]);
		gpu_total[i].key = gpu_available[i].key = (char *)names[i];
		gpu_total[i].value = gpu_available[i].value = 1;
	}
	ray_nodes[1].node_id = (ProtobufCBinaryData){ 2, (uint8_t *)"wk" };
	ray_nodes[1].instance_id = (char *)"demo-worker";
	ray_nodes[1].ray_node_type_name = (char *)"gpu";
	ray_nodes[1].status = RAY__NODE_STATUS__IDLE;
	ray_nodes[1].idle_duration_ms = 61000;
	ray_nodes[1].total_resources = gpu_totals;
	ray_nodes[1].n_total_resources = 2;
	ray_nodes[1].available_resources = gpu_availables;
	ray_nodes[1].n_available_resources = 2;
	cluster_state.n_node_states = 2;
}

void set_second_worker(void)
{
	ray_nodes[2] = ray_nodes[1];
	ray_nodes[2].node_id = (ProtobufCBinaryData){ 2, (uint8_t *)"w2" };
	ray_nodes[2].instance_id = (char *)"demo-second";
	cluster_state.n_node_states = 3;
}

void set_pending_gpus(int64_t count)
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

struct kube_script script;
struct options options;
struct control control;

struct pass_seen seen;

static void cache_release(void *memory)
{
	arena_done(memory);
	memory_free(memory);
}

/* As an informer does with an object of which a new version arrives: only a job may still read it. */
static void replace_cache(void)
{
	if (seen.cache)
		work_retire(script.loop, cache_release, seen.cache);
	seen.cache = NULL;
}

const struct pod **pass_bench_pods(const char *list, struct arena *arena, size_t *ret_count)
{
	static const struct json_limits limits = { .bytes = 1 << 20,
						   .depth = 64,
						   .elements = 100000 };
	AUTO(json_done) struct cJSON *tree = NULL;
	struct json_reader reader = { .arena = arena };
	const struct pod **pods;
	struct json_at root, items;
	struct err err;

	if (json_parse(list, strlen(list), &limits, &tree, &err) < 0)
		fail_msg("%s", err.text);
	root = json_root(tree, "", &reader);
	items = json_member(&root, "items");
	*ret_count = 0;
	pods = arena_array(arena, json_count(&items), sizeof(struct pod *));
	for (struct json_at e = json_first(&items); e.json; json_next(&e)) {
		struct pod *pod = ARENA_NEW(arena, struct pod);

		if (pod_decode(e.json, "", arena, pod, &err) < 0)
			fail_msg("%s", err.text);
		pods[(*ret_count)++] = pod;
	}
	return pods;
}

void pass_bench_view(void *context, struct arena *arena, struct observation *ret_view)
{
	char *cluster = script_text(seen.cluster), *pods = script_text(seen.pods);
	struct ray_cluster *object;
	struct err err;

	(void)context;
	replace_cache();
	arena = seen.cache = memory_alloc(sizeof(*seen.cache));
	object = ARENA_NEW(arena, struct ray_cluster);
	seen.views++;
	if (seen.on_view)
		seen.on_view();
	if (act_decode_cluster(cluster, strlen(cluster), arena, object, &err) < 0)
		fail_msg("%s", err.text);
	ret_view->cluster = object;
	ret_view->snapshot.pods = pass_bench_pods(pods, arena, &ret_view->snapshot.pod_count);
	ret_view->bytes = arena->used_bytes;
	ret_view->snapshot.nodes = seen.node;
	ret_view->snapshot.node_count = seen.node != NULL;
	ret_view->snapshot.view_problem = seen.stale;
	memory_free(cluster);
	memory_free(pods);
}

const struct ray_cluster *pass_bench_current(void *context)
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

void pass_bench_decided(void *context, const struct pass_decision *decision)
{
	(void)context;
	seen.decisions++;
	seen.decision = *decision;
	seen.ray_reached = decision->ray_state != NULL;
	seen.undecided_ms = decision->undecided_ms;
	seen.digest = decision->digest;
	if (seen.on_decided)
		seen.on_decided();
	(void)snprintf(seen.active, sizeof(seen.active), "%s",
		       decision->plan->conditions.at[0].message);
}

static void write_memory(const struct memory_state *memory)
{
	AUTO(buf_done) struct buf text;
	struct json_writer writer;

	buf_init(&text, sizeof(seen.memory) - 1);
	json_write_init(&writer, &text, JSON_STYLE_LINE);
	memory_write(&writer, NULL, memory);
	assert_false(text.overflowed);
	memcpy(seen.memory, buf_string(&text), text.size + 1);
}

void pass_bench_ended(void *context, const struct pass_result *result)
{
	(void)context;
	replace_cache();
	seen.endings++;
	seen.patched = result->patched;
	seen.generation = result->patched && result->object ? result->object->generation : 0;
	seen.undecided = result->undecided;
	seen.cpu_factor = result->cpu_factor;
	seen.cost = result->cost;
	seen.reading = result->reading;
	if (result->err)
		seen.err = *result->err;
	if (result->memory)
		write_memory(result->memory);
	pass_free(seen.pass);
	seen.pass = NULL;
}

int pass_bench_setup(void **state)
{
	(void)state;
	memset(&seen, 0, sizeof(seen));
	memset(&ray, 0, sizeof(ray));
	memset((void *)&api, 0, sizeof(api));
	script = (struct kube_script){ .loop = NULL };
	script_start(&script, api_answer, &KUBE_CLIENT_OPTIONS_INIT);
	gcs_bench_open_on(script.loop, on_call);

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

int pass_bench_teardown(void **state)
{
	(void)state;
	pass_free(seen.pass);
	replace_cache();
	arena_done(&seen.arena);
	gcs_bench_close_on();
	script_done(&script);
	options_done(&options);
	return 0;
}

void start_pass(const char *memory)
{
	static const struct pass_callbacks callbacks = { .view = pass_bench_view,
							 .current = pass_bench_current,
							 .decided = pass_bench_decided,
							 .done = pass_bench_ended };
	static const struct json_limits limits = { .bytes = 1 << 20, .depth = 8, .elements = 1000 };
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done) struct cJSON *json = NULL;
	char *text = script_text(memory ? memory : "{}");
	struct memory_state last;
	struct err err;

	if (json_parse(text, strlen(text), &limits, &json, &err))
		fail_msg("%s", err.text);
	memory_decode(json, &arena, &last);
	struct pass_config pass = { .control = &control,
				    .namespace_ = "a",
				    .name = "demo",
				    .api_version = "ray.io/v1",
				    .gcs = gcs_bench.client,
				    .memory = memory ? &last : NULL,
				    .read_work = seen.read_work,
				    .read_kv_requests = seen.kv,
				    .ray_note = seen.ray_note,
				    .cost = seen.cost,
				    .cpu_factor = seen.cpu_factor,
				    .undecided_ms = 8000,
				    .small_ms = seen.small_ms,
				    .quick_ms = seen.quick_ms ? seen.quick_ms : PASS_QUICK_MS };

	seen.pass = pass_new(&pass, &callbacks);
	memory_free(text);
}

bool pass_has_ended(void *context)
{
	(void)context;
	return seen.endings > 0;
}

void run_pass(const char *memory)
{
	start_pass(memory);
	assert_true(loop_wait_until(script.loop, pass_has_ended, NULL, WAIT_MS));
	assert_int_equal(seen.endings, 1);
}

void pass_bench_idle_worker(void)
{
	seen.cluster = api.cluster = CLUSTER("1");
	seen.pods = api.pods = LIST(HEAD_POD "," WORKER_POD);
	set_idle_worker();
}
