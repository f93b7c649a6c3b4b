/* ctl/watch/capacity_watch against a scripted API server: when it reads, the objects that a pass gets, and
 * that it sends no forbidden requests. */
#include "ctl/watch/capacity_watch.h"

#include <string.h>

#include "ctl/shared/options.h"
#include "kube/kube_informer.h"
#include "test/support/kube_script.h"
#include "test/support/node_scene.h"

#define GPU "nvidia.com/gpu"
#define POD_ON_N(namespace, name, labels, phase)                                                                   \
	"{'metadata':{'namespace':'" namespace "','name':'" name "','resourceVersion':'2',"                        \
					       "'labels':{" labels                                                 \
					       "}},'spec':{'nodeName':'n','containers':[{'name':'c','resources':{" \
					       "'requests':{'" GPU                                                 \
					       "':'1'}}}]},'status':{'phase':'" phase "'}}"

static struct kube_script script;
static struct options options;
static struct control control;
static struct capacity_watch *capacity_watch;
static struct node_scene scene;
static bool pods_denied, nodes_denied;

static void serve(struct exchange *exchange, void *context)
{
	char *text = NULL;
	int status = 200;

	(void)context;
	if (strstr(exchange->path, "watch=true")) {
		exchange_open_stream(exchange);
		exchange_hold(exchange);
		return;
	}
	if (strncmp(exchange->path, "/api/v1?", 8) == 0) {
		text = script_text("{'resources':[{'name':'pods'},{'name':'nodes'}]}");
	} else if (strstr(exchange->path, "/nodes")) {
		status = nodes_denied ? 403 : 200;
		text = script_text(
			"{'metadata':{'resourceVersion':'9'},'items':[{'metadata':{'name':"
			"'n','resourceVersion':'1'},'status':{'capacity':{'" GPU
			"':'4'},'allocatable':{'" GPU "':'4'}}},{'metadata':{'name':'ends',"
			"'resourceVersion':'1'},'spec':{'taints':[{'key':"
			"'ToBeDeletedByClusterAutoscaler','effect':'NoSchedule'}]},'status':"
			"{'allocatable':{'" GPU "':'4'}}}]}");
	} else {
		status = pods_denied ? 403 : 200;
		if (strstr(exchange->path, "=%21ray.io"))
			text = script_text("{'metadata':{'resourceVersion':'9'},'items':[]}");
		else
			text = script_text("{'metadata':{'resourceVersion':'9'},'items':[" POD_ON_N(
				"a", "mine", "'ray.io/cluster':'demo'",
				"Running") "," POD_ON_N("b", "secret-name",
							"'ray.io/cluster':'demo'",
							"Running") "," POD_ON_N("b", "ended", "",
										"Succeeded") "]}");
	}
	exchange_answer(exchange, status, "", text);
	memory_free(text);
}

static struct worker_group group;
static struct ray_cluster cluster;
static const struct pod *pods[1];
static struct observation view;

/* As ctl/cluster makes it: the Nodes that end are there already. */
static void look(void)
{
	static const struct node ending = { .name = "n2", .resource_version = "" };

	view = (struct observation){ .cluster = &cluster,
				     .snapshot.pods = pods,
				     .snapshot.pod_count = 1,
				     .snapshot.nodes_known = true,
				     .snapshot.nodes = &ending,
				     .snapshot.node_count = 1 };
	capacity_watch_view(capacity_watch, &scene.arena, &view);
}

static bool has_nodes(void *context)
{
	(void)context;
	look();
	return view.snapshot.node_count > 1;
}

static bool has_cached(void *context)
{
	(void)context;
	return kube_informer_synced(control.pods);
}

static bool has_asked(void *context)
{
	(void)context;
	look();
	return server_count(script.server, "/nodes") > 0;
}

static bool has_asked_again(void *context)
{
	(void)context;
	look();
	return server_count(script.server, "/nodes?limit") > 1;
}

static int setup(void **state)
{
	static const struct condition unschedulable = { "PodScheduled", "False", "Unschedulable",
							"", TIME_NONE };
	struct pod *pod;

	(void)state;
	script = (struct kube_script){ .loop = NULL };
	scene = (struct node_scene){ .arena = ARENA_INIT };
	pods_denied = nodes_denied = false;
	script_start(&script, serve, &KUBE_CLIENT_OPTIONS_INIT);
	options_init(&options);
	control =
		(struct control){ .loop = script.loop, .kube = script.client, .options = &options };
	capacity_watch = capacity_watch_new(&control);
	pod = scene_pod(&scene, "w", "", GPU "=2");
	pod->labels = scene_labels(&scene.arena, "ray.io/cluster=demo ray.io/group=g");
	pod->conditions = &unschedulable;
	pod->condition_count = 1;
	pods[0] = pod;
	group = (struct worker_group){ .name = "g" };
	cluster = (struct ray_cluster){
		.namespace_ = "a", .name = "demo", .groups = &group, .group_count = 1
	};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	capacity_watch_free(capacity_watch);
	script_done(&script);
	options_done(&options);
	arena_done(&scene.arena);
	return 0;
}

/* One read serves all passes of a minute; ctl/watch/nodes reports Nodes that end. */
static void test_one_look(void **state)
{
	(void)state;
	assert_true(loop_wait_until(script.loop, has_nodes, NULL, WAIT_MS));
	assert_false(loop_wait_until(script.loop, has_asked_again, NULL, 200));
	assert_int_equal(server_count(script.server, "/nodes?limit"), 1);
	assert_int_equal(server_count(script.server, "Failed&limit"), 1);
	assert_int_equal(view.snapshot.node_count, 2);
	assert_string_equal(view.snapshot.nodes[0].name, "n2");
	assert_string_equal(view.snapshot.nodes[1].name, "n");
	/* Not its own, which it knows better, not the ended one, and without the name. */
	assert_true(view.snapshot.other_pods_known);
	assert_int_equal(view.snapshot.other_pod_count, 1);
	assert_string_equal(view.snapshot.other_pods[0].name, "others");
	assert_string_equal(view.snapshot.other_pods[0].namespace_, "");
	assert_int_equal(view.snapshot.other_pods[0].labels.count, 0);
}

/* Pods of RayClusters that the cache has are not listed once more. */
static void test_pods_of_the_cache_are_not_listed(void **state)
{
	struct kube_informer *informer = kube_informer_new(
		script.client, &(struct kube_informer_options){ .type = &kube_type_pod,
								.label_selector = LABEL_CLUSTER });

	(void)state;
	control.pods = informer;
	assert_true(loop_wait_until(script.loop, has_cached, NULL, WAIT_MS));
	assert_true(loop_wait_until(script.loop, has_nodes, NULL, WAIT_MS));
	assert_int_equal(server_count(script.server, "labelSelector=%21ray.io%2Fcluster"), 1);
	assert_int_equal(view.snapshot.other_pod_count, 1);
	control.pods = NULL;
	kube_informer_free(informer);
}

static void test_no_look_while_all_have_nodes(void **state)
{
	struct pod placed = *pods[0];

	(void)state;
	placed.spec.node_name = "n";
	pods[0] = &placed;
	look();
	assert_int_equal(view.snapshot.node_count, 1);
	assert_false(loop_wait_until(script.loop, has_asked, NULL, 200));
	/* Without the right to read Nodes there are no further requests. */
	placed.spec.node_name = "";
	view.snapshot.nodes_known = false;
	capacity_watch_view(capacity_watch, &scene.arena, &view);
	assert_int_equal(server_count(script.server, "/nodes"), 0);
}

/* The size of its first step is that of the free Nodes. */
static void test_a_gang_looks_before_a_pod_waits(void **state)
{
	struct pod placed = *pods[0];

	(void)state;
	placed.spec.node_name = "n";
	placed.spec.pod_group = "demo";
	pods[0] = &placed;
	assert_true(loop_wait_until(script.loop, has_nodes, NULL, WAIT_MS));
	placed.spec.pod_group = "";
	look();
	assert_int_equal(view.snapshot.node_count, 1);
	group.template.spec.workload = "demo";
	look();
	assert_int_equal(view.snapshot.node_count, 2);
}

static void test_pods_of_others_may_not_be_seen(void **state)
{
	(void)state;
	pods_denied = true;
	assert_true(loop_wait_until(script.loop, has_nodes, NULL, WAIT_MS));
	assert_false(view.snapshot.other_pods_known);
	assert_int_equal(view.snapshot.other_pod_count, 0);
}

static bool has_ended(void *context)
{
	(void)context;
	look();
	return server_count(script.server, "/nodes") > 0 && kube_client_pending(script.client) == 0;
}

static void test_nodes_may_not_be_seen(void **state)
{
	(void)state;
	nodes_denied = true;
	assert_true(loop_wait_until(script.loop, has_ended, NULL, WAIT_MS));
	assert_false(loop_wait_until(script.loop, has_asked_again, NULL, 200));
	assert_int_equal(view.snapshot.node_count, 1);
	assert_int_equal(server_count(script.server, "/nodes?limit"), 1);
}

static void test_sidecar_has_none(void **state)
{
	(void)state;
	capacity_watch_view(NULL, &scene.arena, &view);
	capacity_watch_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_look, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pods_of_the_cache_are_not_listed, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_no_look_while_all_have_nodes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_gang_looks_before_a_pod_waits, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_pods_of_others_may_not_be_seen, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_nodes_may_not_be_seen, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sidecar_has_none, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
