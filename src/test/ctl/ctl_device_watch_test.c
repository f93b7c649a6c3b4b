/* feature/device_claims/ctl with ctl/watch/capacity_watch against a scripted API server: Nodes without
 * nvidia.com/gpu, and that nothing is read of resource.k8s.io for other Nodes. */
#include "feature/device_claims/ctl/device_watch.h"

#include <string.h>

#include "ctl/shared/options.h"
#include "ctl/watch/capacity_watch.h"
#include "ctl/watch/inventory_watch.h"
#include "test/support/kube_script.h"

#define GPU "nvidia.com/gpu"
#define LIST_OF(items) "{'metadata':{'resourceVersion':'9'},'items':[" items "]}"
#define DEVICE(name) "{'name':'" name "','attributes':{'type':{'string':'gpu'}}}"

static struct kube_script script;
static struct options options;
static struct control control;
static const char *labels; /* of the Node */
static bool slices_denied;

static const char *answer(const char *path, int *ret_status)
{
	if (strncmp(path, "/api/v1?", 8) == 0)
		return "{'resources':[{'name':'pods'},{'name':'nodes'}]}";
	if (strstr(path, "/resourceslices")) {
		*ret_status = slices_denied ? 403 : 200;
		return LIST_OF("{'metadata':{'name':'n','resourceVersion':'1'},'spec':{'driver':"
			       "'gpu.nvidia.com','nodeName':'n','pool':{'name':'n','generation':1,"
			       "'resourceSliceCount':1},'devices':[" DEVICE("gpu-0") "," DEVICE(
				       "gpu-1") "]}}");
	}
	if (strstr(path, "/deviceclasses"))
		return LIST_OF("{'metadata':{'name':'gpu.nvidia.com','resourceVersion':'1'},'spec':"
			       "{'selectors':[],'extendedResourceName':'" GPU "'}}");
	if (strstr(path, "/resourceclaim") || strstr(path, "/pods"))
		return LIST_OF("");
	if (strstr(path, "/apis/"))
		return "{'resources':[{'name':'resourceslices'},{'name':'deviceclasses'},{'name':"
		       "'resourceclaimtemplates'},{'name':'resourceclaims'}]}";
	return NULL;
}

static void serve(struct exchange *exchange, void *context)
{
	AUTO(memory_free_string) char *text = NULL;
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const char *found = answer(exchange->path, &(int){ 200 });
	int status = 200;

	(void)context;
	if (strstr(exchange->path, "watch=true")) {
		exchange_open_stream(exchange);
		exchange_hold(exchange);
		return;
	}
	(void)answer(exchange->path, &status);
	if (!found)
		found = arena_printf(
			&arena,
			LIST_OF("{'metadata':{'name':'n','resourceVersion':'1','labels':{"
				"%s}},'status':{'capacity':{'cpu':'4'},'allocatable':{"
				"'cpu':'4'}}}"),
			labels);
	text = script_text(found);
	exchange_answer(exchange, status, "", text);
}

static int setup(void **state)
{
	static const struct feature *const table[] = { &device_claims_feature, NULL };

	(void)state;
	script = (struct kube_script){ .loop = NULL };
	labels = "'nvidia.com/gpu.present':'true'";
	slices_denied = false;
	script_start(&script, serve, &KUBE_CLIENT_OPTIONS_INIT);
	options_init(&options);
	control =
		(struct control){ .loop = script.loop, .kube = script.client, .options = &options };
	control.features = features_new(&control, table);
	control.capacity_watch = capacity_watch_new(&control);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	capacity_watch_free(control.capacity_watch);
	features_free(control.features);
	script_done(&script);
	options_done(&options);
	return 0;
}

static int64_t gpus(void)
{
	const struct inventory_list *list = capacity_watch_inventory(control.capacity_watch);
	const struct quantity *found = list && list->node_count == 1 ?
					       quantities_find(&list->nodes[0].allocatable, GPU) :
					       NULL;

	return !list ? -1 : found ? found->amount / 10000 : 0;
}

static bool has_gpus(void *context)
{
	(void)context;
	return gpus() == 2;
}

static bool has_list(void *context)
{
	(void)context;
	return gpus() >= 0;
}

static bool has_asked(void *context)
{
	(void)context;
	(void)gpus();
	return server_count(script.server, "/apis/") > 0;
}

static bool was_refused(void *context)
{
	(void)context;
	(void)gpus();
	return server_count(script.server, "/resourceslices") > 0 &&
	       server_count(script.server, "/resourceclaims") > 0;
}

/* The label promises GPUs: those of the slices are the Node's. */
static void test_a_node_has_the_devices_of_its_slices(void **state)
{
	(void)state;
	assert_true(loop_wait_until(script.loop, has_gpus, NULL, WAIT_MS));
	assert_int_equal(server_count(script.server, "/nodes?limit"), 1);
}

static void test_other_nodes_need_no_request(void **state)
{
	(void)state;
	labels = "";
	assert_true(loop_wait_until(script.loop, has_list, NULL, WAIT_MS));
	assert_false(loop_wait_until(script.loop, has_asked, NULL, 200));
	assert_int_equal(gpus(), 0);
}

static void test_slices_may_not_be_read(void **state)
{
	(void)state;
	slices_denied = true;
	assert_true(loop_wait_until(script.loop, was_refused, NULL, WAIT_MS));
	assert_false(loop_wait_until(script.loop, has_gpus, NULL, 200));
	assert_int_equal(gpus(), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_node_has_the_devices_of_its_slices),
		TEST(test_other_nodes_need_no_request),
		TEST(test_slices_may_not_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
