/* Row C3: the output of `status --gpus`; the sample in docs/COMMANDS.md is copied from here. */
#include "cli/gpus.h"

#include <stdlib.h>

#include "base/memory.h"
#include "cli/gpu_holders.h"
#include "cli/shared/commands.h"
#include "cli/shared/file.h"
#include "test/support/cli_server.h"
#include "test/support/node_scene.h"

#define MEM "aliyun.com/gpu-mem"

static void set_user(struct node_scene *s, struct pod *pod, const char *cluster, const char *group)
{
	pod->namespace_ = "ray";
	pod->labels =
		scene_labels(&s->arena, arena_printf(&s->arena, "ray.io/cluster=%s ray.io/group=%s",
						     cluster, group));
}

static void set_holders(struct gpus_answer *answer)
{
	static const struct gpu_holder holder = { .kind = GPU_HOLDER_ACTOR,
						  .name = "Trainer",
						  .job = "03000000",
						  .count = 3,
						  .gpus = 30000,
						  .since = 1 };
	static const struct gpu_worker worker = { .pod = "demo-train-worker-1",
						  .group = "train",
						  .holders = &holder,
						  .holder_count = 1 };
	static const struct cluster_holders clusters[] = {
		{ "ray",
		  "demo",
		  { .at = 11520001, .problem = "", .workers = &worker, .worker_count = 1 } },
	};

	answer->holders_asked = true;
	answer->holders_problem = "";
	answer->clusters = clusters;
	answer->cluster_count = SUPPORT_COUNT(clusters);
}

static void sample(struct node_scene *s, struct gpus_answer *ret)
{
	struct pod *pod;

	*s = (struct node_scene){ .arena = ARENA_INIT };
	scene_node(s, "gpu-1", "cpu=32 nvidia.com/gpu=4", "")->address = "10.0.0.11";
	scene_node(s, "gpu-2", "cpu=32 nvidia.com/gpu=4", "")->address = "10.0.0.12";
	s->nodes[1].unschedulable = true;
	scene_node(s, "mig-1", "cpu=32 nvidia.com/mig-1g.5gb=7", "")->address = "10.0.0.13";
	scene_node(s, "share-1", "cpu=32 " MEM "=32 aliyun.com/gpu-count=2", "gpushare=true")
		->address = "10.0.0.14";
	scene_node(s, "plain", "cpu=32", "");
	set_user(s, scene_pod(s, "demo-train-worker-1", "gpu-1", "cpu=8 nvidia.com/gpu=3"), "demo",
		 "train");
	scene_pod(s, "notebook", "mig-1", "nvidia.com/mig-1g.5gb=1");
	pod = scene_pod(s, "chat-small-worker-1", "share-1", MEM "=10");
	set_user(s, pod, "chat", "small");
	scene_on(s, pod, 0);
	pod = scene_pod(s, "chat-small-worker-2", "share-1", MEM "=10");
	set_user(s, pod, "chat", "small");
	scene_on(s, pod, 1);
	set_user(s, scene_pod(s, "chat-small-worker-3", "", MEM "=10"), "chat", "small");
	set_user(s, scene_pod(s, "demo-train-worker-2", "", "cpu=8 nvidia.com/gpu=8"), "demo",
		 "train");
	*ret = (struct gpus_answer){ .inventory_watch = NULL };
	inventory_make(&ret->inventory, s->nodes, s->node_count, s->pods, s->pod_count,
		       device_table_builtin(), &s->arena);
	set_holders(ret);
}

static void test_c3_text_is_the_sample_of_the_document(void **state)
{
	AUTO(buf_done) struct buf text;
	AUTO(buf_done) struct buf document;
	struct gpus_answer answer;
	struct node_scene s;
	struct err err;

	(void)state;
	buf_init(&text, 1 << 20);
	buf_init(&document, 1 << 20);
	sample(&s, &answer);
	gpus_text_write(&answer, false, &s.arena, &text);
	assert_int_equal(file_read("docs/COMMANDS.md", "text", &document, &err), 0);
	arena_done(&s.arena);
	if (!strstr(buf_string(&document), buf_string(&text))) {
		puts(buf_string(&text));
		fail_msg("docs/COMMANDS.md does not hold this");
	}
}

/* Names are input from outside: they must not control the terminal. */
static void test_names_are_made_safe(void **state)
{
	AUTO(buf_done) struct buf text;
	struct gpus_answer answer = { .unreadable = 2 };
	struct node_scene s = { .arena = ARENA_INIT };

	(void)state;
	buf_init(&text, 1 << 20);
	scene_node(&s, "n\033[2J", "nvidia.com/gpu=1 evil\033/gpu=1", "");
	scene_pod(&s, "p\007", "n\033[2J", "nvidia.com/gpu=1");
	inventory_make(&answer.inventory, s.nodes, s.node_count, s.pods, s.pod_count,
		       device_table_builtin(), &s.arena);
	gpus_text_write(&answer, false, &s.arena, &text);
	assert_null(strchr(buf_string(&text), '\033'));
	assert_null(strchr(buf_string(&text), '\007'));
	assert_non_null(strstr(buf_string(&text), "2 objects cannot be decoded"));
	arena_done(&s.arena);
}

static void test_a_sign_of_a_sick_node_is_a_note(void **state)
{
	static const struct condition sick = { .type = "SysLogsXIDError",
					       .status = "True",
					       .reason = "",
					       .message = "Xid 79",
					       .last_transition = INT64_C(1795168800000) };
	AUTO(buf_done) struct buf text;
	AUTO(buf_done) struct buf json;
	struct gpus_answer answer = { .unreadable = 0 };
	struct node_scene s = { .arena = ARENA_INIT };
	struct node *node;
	struct err err;

	(void)state;
	buf_init(&text, 1 << 20);
	buf_init(&json, 1 << 20);
	node = scene_node(&s, "gpu-1", "nvidia.com/gpu=1", "");
	node->conditions = &sick;
	node->condition_count = 1;
	inventory_make(&answer.inventory, s.nodes, s.node_count, s.pods, s.pod_count,
		       device_table_builtin(), &s.arena);
	gpus_text_write(&answer, false, &s.arena, &text);
	assert_non_null(
		strstr(buf_string(&text), "condition SysLogsXIDError: Xid 79 since 2026-11-20T"));
	assert_int_equal(gpus_json_write(&answer, &json, &err), 0);
	assert_non_null(strstr(buf_string(&json), "\"sign\": \"condition SysLogsXIDError: Xid 79"));
	arena_done(&s.arena);
}

static void test_no_accelerators(void **state)
{
	AUTO(buf_done) struct buf text;
	struct gpus_answer answer = { .unreadable = 0 };
	struct node_scene s = { .arena = ARENA_INIT };
	struct err err;

	(void)state;
	buf_init(&text, 1 << 20);
	scene_node(&s, "n", "cpu=1", "");
	inventory_make(&answer.inventory, s.nodes, s.node_count, s.pods, s.pod_count,
		       device_table_builtin(), &s.arena);
	gpus_text_write(&answer, false, &s.arena, &text);
	assert_string_equal(buf_string(&text), "no accelerators on 1 Node\n");
	buf_done(&text);
	buf_init(&text, 64);
	assert_int_equal(gpus_json_write(&answer, &text, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	arena_done(&s.arena);
}

#define KINDS                                                                                      \
	{                                                                                          \
		"GET /api/v1?", 0, "{'resources':[{'name':'pods'},{'name':'nodes'}]}"              \
	}
#define PODS                                                                                       \
	"/api/v1/pods?fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed&limit=250"
#define ONE_NODE                                                                                   \
	"{'metadata':{'name':'n','resourceVersion':'1'},'status':{'capacity':{'nvidia.com/gpu':"   \
	"'4'},'allocatable':{'nvidia.com/gpu':'4'}}}"

/* Pages are followed, objects that cannot be decoded are counted, and -o yaml equals json. */
static void test_lists_of_the_api_server(void **state)
{
	static const struct route routes[] = {
		{ "GET /api/v1/nodes", 0,
		  LIST(ONE_NODE ",{'metadata':{'name':'bad','labels':1}}") },
		{ "GET " PODS "&continue=more", 0,
		  LIST("{'metadata':{'namespace':'ray','name':'w','resourceVersion':'3'},'spec':{"
		       "'nodeName':'n','containers':[{'name':'c','resources':{'requests':{"
		       "'nvidia.com/gpu':'1'}}}]},'status':{'phase':'Pending'}}") },
		{ "GET /api/v1/pods", 0,
		  "{'metadata':{'resourceVersion':'9','continue':'more'},'items':[{'metadata':{"
		  "'namespace':'ray','name':'v','resourceVersion':'2'},'spec':{'nodeName':'n',"
		  "'containers':[{'name':'c','resources':{'limits':{'nvidia.com/gpu':'2'}}}]},"
		  "'status':{'phase':'Running'}}]}" },
		KINDS,
		{ NULL, 0, NULL },
	};

	(void)state;
	cli_server_start(routes);
	CLI_RUN(&result, cli_status, "status", "--gpus");
	assert_string_equal(result.errors, "");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "n     -          3/4");
	EXPECT(result.output, "1 object cannot be decoded and not counted");
	CLI_RUN(&result, cli_status, "status", "--gpus", "-o", "yaml");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "kind: GpuInventory");
	EXPECT(result.output, "unreadable: 1");
	cli_server_stop();
}

#define DRA "/apis/resource.k8s.io/v1"
#define DRA_KINDS                                                                                  \
	{                                                                                          \
		"GET " DRA, 0,                                                                     \
			"{'resources':[{'name':'resourceslices'},{'name':'deviceclasses'},"        \
			"{'name':'resourceclaims'}]}"                                              \
	}
#define BARE_NODE                                                                                  \
	"{'metadata':{'name':'n','resourceVersion':'1'},'status':{'capacity':{'cpu':'4'},"         \
	"'allocatable':{'cpu':'4'}}}"
#define DEVICE(name, taints)                                                                       \
	"{'name':'" name "','attributes':{'type':{'string':'gpu'},'productName':{'string':'H100'"  \
	"}}" taints "}"
#define SLICE                                                                                          \
	"{'metadata':{'name':'n','resourceVersion':'1'},'spec':{'driver':'gpu.nvidia.com',"            \
	"'nodeName':'n','pool':{'name':'n','generation':1,'resourceSliceCount':1},'devices':[" DEVICE( \
		"gpu-0",                                                                               \
		"") "," DEVICE("gpu-1",                                                                \
			       "") "," DEVICE("gpu-2",                                                 \
					      ",'taints':[{'key':'xid','effect':'NoSchedule'}]") "]}}"
#define CLASS                                                                                      \
	"{'metadata':{'name':'gpu.nvidia.com','resourceVersion':'1'},'spec':{'selectors':[{'cel':" \
	"{'expression':'device.driver == \\\"gpu.nvidia.com\\\"'}}],'extendedResourceName':"       \
	"'nvidia.com/gpu'}}"
#define CLAIM                                                                                      \
	"{'metadata':{'namespace':'ray','name':'c','resourceVersion':'1'},'spec':{},'status':{"    \
	"'allocation':{'devices':{'results':[{'request':'gpu','driver':'gpu.nvidia.com','pool':"   \
	"'n','device':'gpu-0'}]}},'reservedFor':[{'resource':'pods','name':'w','uid':'1'}]}}"

/* A Node without nvidia.com/gpu: its devices are those of ResourceSlices, and the Pod that claims one
 * is its user. */
static void test_devices_of_slices(void **state)
{
	static const struct route routes[] = {
		{ "GET /api/v1/nodes", 0, LIST(BARE_NODE) },
		{ "GET /api/v1/pods", 0,
		  LIST("{'metadata':{'namespace':'ray','name':'w','resourceVersion':'3'},'spec':{"
		       "'nodeName':'n','containers':[{'name':'c'}],'resourceClaims':[{'name':'g',"
		       "'resourceClaimTemplateName':'t'}]},'status':{'phase':'Running'}}") },
		KINDS,
		{ "GET " DRA "/resourceslices", 0, LIST(SLICE) },
		{ "GET " DRA "/deviceclasses", 0, LIST(CLASS) },
		{ "GET " DRA "/resourceclaims", 0, LIST(CLAIM) },
		DRA_KINDS,
		{ NULL, 0, NULL },
	};

	(void)state;
	cli_server_start(routes);
	CLI_RUN(&result, cli_status, "status", "--gpus");
	assert_string_equal(result.errors, "");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "n     -          1/2              -         1 not allocatable");
	EXPECT(result.output, "n     nvidia.com/gpu    -          1  ray        w");
	EXPECT(result.output,
	       "DRIVER          TYPE  PRODUCT  TOTAL  FREE  CLAIMED  TAINTED  BLOCKED");
	EXPECT(result.output,
	       "gpu.nvidia.com  gpu   H100         3     1        1        1        0");
	CLI_RUN(&result, cli_status, "status", "--gpus", "-o", "json");
	EXPECT(result.output, "\"devices\"");
	EXPECT(result.output, "\"tainted\": 1");
	cli_server_stop();
}

/* Without the right to read claims no device may be called free in silence. */
static void test_claims_may_not_be_read(void **state)
{
	static const struct route routes[] = {
		{ "GET /api/v1/nodes", 0, LIST(BARE_NODE) },
		{ "GET /api/v1/pods", 0, LIST("") },
		KINDS,
		{ "GET " DRA "/resourceslices", 0, LIST(SLICE) },
		{ "GET " DRA "/deviceclasses", 0, LIST(CLASS) },
		{ "GET " DRA "/resourceclaims", 403, "{'kind':'Status','reason':'Forbidden'}" },
		DRA_KINDS,
		{ NULL, 0, NULL },
	};

	(void)state;
	cli_server_start(routes);
	CLI_RUN(&result, cli_status, "status", "--gpus");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "CLAIMED is unknown: ");
	cli_server_stop();
}

/* A partial answer would look like free GPUs. */
static void test_a_right_is_missing(void **state)
{
	static const struct route routes[] = {
		{ "GET /api/v1/nodes", 0, LIST(ONE_NODE) },
		{ "GET /api/v1/pods", 403, "{'kind':'Status','reason':'Forbidden'}" },
		KINDS,
		{ NULL, 0, NULL },
	};

	(void)state;
	cli_server_start(routes);
	CLI_RUN(&result, cli_status, "status", "--gpus");
	assert_int_equal(result.status, 1);
	assert_string_equal(result.output, "");
	EXPECT(result.errors, "the Pods of all namespaces are needed to count GPUs in use");
	cli_server_stop();
}

static void test_wrong_usage(void **state)
{
	(void)state;
	CLI_RUN(&result, cli_status, "status", "--gpus", "demo");
	assert_int_equal(result.status, 2);
	CLI_RUN(&result, cli_status, "status", "--gpus", "-A");
	assert_int_equal(result.status, 2);
	CLI_RUN(&result, cli_status, "status", "--gpus", "-n", "ray");
	assert_int_equal(result.status, 2);
	EXPECT(result.errors, "--gpus shows all Nodes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_c3_text_is_the_sample_of_the_document),
		cmocka_unit_test(test_names_are_made_safe),
		cmocka_unit_test(test_a_sign_of_a_sick_node_is_a_note),
		cmocka_unit_test(test_no_accelerators),
		cmocka_unit_test(test_lists_of_the_api_server),
		cmocka_unit_test(test_devices_of_slices),
		cmocka_unit_test(test_claims_may_not_be_read),
		cmocka_unit_test(test_a_right_is_missing),
		cmocka_unit_test(test_wrong_usage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
