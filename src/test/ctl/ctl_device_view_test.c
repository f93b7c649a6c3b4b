/* The views of ctl/shared/device_view that feature/device_claims/ctl/device_watch makes of a scripted API
 * server: when it reads, its messages
 * about kinds that it cannot read, and the views that it makes. */
#include "feature/device_claims/ctl/device_watch.h"

#include <poll.h>
#include <string.h>

#include "core/model/device.h"
#include "ctl/shared/control.h"
#include "ctl/shared/device_view.h"
#include "ctl/shared/memory_budgets.h"
#include "ctl/shared/options.h"
#include "feature/device_claims/core/device_object.h"
#include "kube/kube_informer.h"
#include "test/support/feature_alone.h"
#include "test/support/kube_script.h"
#include "test/support/log_capture.h"

#define CLUSTER(name, claims)                                                                      \
	"{'metadata':{'namespace':'a','name':'" name "','resourceVersion':'1','uid':'" name        \
	"'},'spec':{'headGroupSpec':{'template':{'spec':{'containers':[{'name':'h'}]}}},"          \
	"'workerGroupSpecs':[{'groupName':'g','template':{'spec':{'containers':[{'name':'w'}]"     \
	"," claims "}}}]}}"
#define CLAIMS "'resourceClaims':[{'name':'gpus','resourceClaimTemplateName':'one'}]"
#define ONE                                                                                        \
	"{'metadata':{'namespace':'a','name':'one','resourceVersion':'1'},'spec':{'spec':"         \
	"{'devices':{'requests':[{'name':'r','exactly':{'deviceClassName':'gpu.nvidia.com'}}]}}}}"
#define TWO                                                                                        \
	"{'metadata':{'namespace':'a','name':'two','resourceVersion':'10'},'spec':{'spec':"        \
	"{'devices':{'requests':[{'name':'r','exactly':{'deviceClassName':'gpu.nvidia.com'}}]}}}}"
#define LIST_OF(items) "{'metadata':{'resourceVersion':'9'},'items':[" items "]}"

static struct kube_script script;
static struct options options;
static struct control control;
static void *watch;
static int woken, readied;

/* Of the server's threads. */
static _Atomic int list_status, discover_status, failing_slices;
static _Atomic int open_watches; /* of kinds of resource.k8s.io */
static _Atomic bool second_template, large_classes, large_templates, bad_slice, bad_template;

/* Above the limit of a view: 30 classes of 100 long selectors (24 MiB), or 8 templates of them (16 MiB
 * with what is made of them). */
#define LARGE_CLASSES 30
#define LARGE_TEMPLATES 8
#define LARGE_SELECTORS 100
#define LARGE_TEXT 9000

/* The number of the large object that a request asks for, -1: all. */
static int asked_for(const char *path)
{
	const char *name = strstr(path, "metadata.name%3Dc");

	return name ? (int)strtol(name + strlen("metadata.name%3Dc"), NULL, 10) : -1;
}

/* Objects with so many selectors between these texts; `only` one, or all (-1). */
static const char *list_large(int only, int count, const char *begin, const char *end,
			      const char *more, struct arena *arena)
{
	char *selector = arena_alloc(arena, LARGE_TEXT + 1);
	struct buf text;
	const char *made;

	memset(selector, 'x', LARGE_TEXT);
	buf_init(&text, (size_t)64 << 20);
	(void)buf_add_string(&text, "{'metadata':{'resourceVersion':'9'},'items':[");
	for (int c = only < 0 ? 0 : only; c < (only < 0 ? count : only + 1); c++) {
		(void)buf_printf(&text,
				 "%s{'metadata':{'namespace':'b','name':'c%d','resourceVersion':"
				 "'1'},'spec':{%s'selectors':[",
				 only < 0 && c > 0 ? "," : "", c, begin);
		for (int i = 0; i < LARGE_SELECTORS; i++) {
			(void)buf_add_string(&text, i > 0 ? ",{'cel':{'expression':'" :
							    "{'cel':{'expression':'");
			(void)buf_add_string(&text, selector);
			(void)buf_add_string(&text, "'}}");
		}
		(void)buf_printf(&text, "]}%s}", end);
	}
	(void)buf_printf(&text, "%s]}", only < 0 ? more : "");
	made = arena_strdup(arena, buf_string(&text));
	buf_done(&text);
	return made;
}

/* Until the flag is set, or the client closes. */
static void await_second(struct exchange *exchange)
{
	struct pollfd closed = { exchange->fd, POLLRDHUP, 0 };

	while (!second_template && poll(&closed, 1, 1) == 0)
		;
}

static void hold_watch(struct exchange *exchange)
{
	bool counts = strstr(exchange->path, "/resource.k8s.io/") != NULL;

	exchange_open_stream(exchange);
	open_watches += counts;
	if (strstr(exchange->path, "/resourceclaimtemplates")) {
		await_second(exchange);
		if (second_template) {
			char *event = script_text("{'type':'ADDED','object':" TWO "}\n");

			exchange_chunk(exchange, event, strlen(event));
			memory_free(event);
		}
	}
	exchange_hold(exchange);
	open_watches -= counts;
}

static const char *answer_of(const char *path, int *ret_status)
{
	*ret_status = 200;
	if (strcmp(path, "/apis/ray.io/v1") == 0)
		return "{'resources':[{'name':'rayclusters'}]}";
	if (strstr(path, "/rayclusters"))
		return LIST_OF(CLUSTER("demo", CLAIMS) "," CLUSTER("plain", "'nodeSelector':{}"));
	if (strcmp(path, "/apis/resource.k8s.io/v1") == 0) {
		*ret_status = discover_status;
		return "{'resources':[{'name':'resourceslices'},{'name':'deviceclasses'},"
		       "{'name':'resourceclaimtemplates'},{'name':'resourceclaims'}]}";
	}
	*ret_status = strstr(path, "/resourceslices") && failing_slices ? 500 : list_status;
	return strstr(path, "/resourceclaimtemplates") ? LIST_OF(ONE) : LIST_OF("");
}

static void serve(struct exchange *exchange, void *context)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const char *answer;
	int status;
	char *text;

	(void)context;
	if (strstr(exchange->path, "watch=true")) {
		hold_watch(exchange);
		return;
	}
	answer = answer_of(exchange->path, &status);
	if (large_classes && strstr(exchange->path, "/deviceclasses"))
		answer = list_large(-1, LARGE_CLASSES, "", "", "", &arena);
	if (large_templates && strstr(exchange->path, "/resourceclaimtemplates"))
		answer = list_large(asked_for(exchange->path), LARGE_TEMPLATES,
				    "'spec':{'devices':{'requests':[{'name':'r','exactly':{"
				    "'deviceClassName':'gpu.nvidia.com',",
				    "}]}}}", "," ONE, &arena);
	if (bad_template && strstr(exchange->path, "/resourceclaimtemplates"))
		answer = LIST_OF("{'metadata':{'namespace':'b','name':'broken','resourceVersion':"
				 "'1'},'spec':7}," ONE);
	if (bad_slice && strstr(exchange->path, "/resourceslices"))
		answer = LIST_OF("{'metadata':{'name':'broken','resourceVersion':'1'},'spec':{"
				 "'devices':7}}");
	text = script_text(answer);
	exchange_answer(exchange, status, "", status == 200 ? text : "{}");
	memory_free(text);
}

static bool wake(void *context, const char *namespace_, const char *name)
{
	(void)context;
	assert_string_equal(namespace_, "a");
	assert_string_equal(name, "demo");
	woken++;
	return true;
}

static void ready(void *context)
{
	(void)context;
	readied++;
}

static bool clusters_synced(void *context)
{
	(void)context;
	return kube_informer_synced(control.ray_clusters);
}

static int setup(void **state)
{
	static const struct kube_informer_options clusters = { .type = &kube_type_ray_cluster };

	(void)state;
	script = (struct kube_script){ .loop = NULL };
	list_status = discover_status = 200;
	failing_slices = open_watches = 0;
	second_template = large_classes = large_templates = bad_slice = bad_template = false;
	woken = readied = 0;
	script_start(&script, serve, &KUBE_CLIENT_OPTIONS_INIT);
	options_init(&options);
	control = (struct control){ .loop = script.loop,
				    .kube = script.client,
				    .options = &options,
				    .wake = wake,
				    .ready = ready };
	control.ray_clusters = kube_informer_new(script.client, &clusters);
	watch = alone_begin(&device_claims_feature, &control);
	control.devices = device_claims_feature.devices(watch);
	assert_true(loop_wait_until(script.loop, clusters_synced, NULL, WAIT_MS));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	alone_end();
	kube_informer_free(control.ray_clusters);
	second_template = true; /* ends the thread that waits for it */
	script_done(&script);
	options_done(&options);
	return 0;
}

static void changed(const char *name, bool deleted)
{
	device_claims_feature.ray_cluster_changed(watch, "a", name, deleted);
}

static bool has_view(void *context)
{
	(void)context;
	return *control.devices != NULL;
}

static void await_view(void)
{
	assert_true(loop_wait_until(script.loop, has_view, NULL, WAIT_MS));
}

static bool all_watched(void *context)
{
	return open_watches == *(const int *)context;
}

static void await_watches(int count)
{
	if (!loop_wait_until(script.loop, all_watched, &count, WAIT_MS))
		fail_msg("%d watches, not %d", (int)open_watches, count);
}

static bool has_read(void *context)
{
	(void)context;
	return server_count(script.server, "resource.k8s.io") > 0;
}

static void test_nothing_is_read_without_claims(void **state)
{
	(void)state;
	changed("plain", false);
	changed("plain", true);
	changed("unknown", false);
	assert_false(loop_wait_until(script.loop, has_read, NULL, 200));
	assert_true(device_claims_feature.known(watch));
	assert_null(*control.devices);
	assert_ptr_equal(device_view_table(&control), options.device_table);
	assert_int_equal(device_view_number(&control), 0);
}

static const struct claimed_request *request_of(const char *template_)
{
	const struct claimed_index *claims = device_view_table(&control)->claims;
	size_t count;

	return claims ? claimed_find(claims, "a", template_, true, &count) : NULL;
}

static void test_watches_while_a_cluster_claims(void **state)
{
	(void)state;
	changed("demo", false);
	assert_false(device_claims_feature.known(watch));
	await_view();
	assert_true(device_claims_feature.known(watch));
	assert_true(woken == 1 && readied == 1);
	assert_int_equal(request_of("one")->promise.amount, RESOURCE_UNIT);
	await_watches(4);
	/* A change of the RayCluster, or one more without claims, is not a reason to read again. */
	changed("demo", false);
	changed("plain", false);
	assert_int_equal(server_count(script.server, "&limit="), 0);
	assert_int_equal(server_count(script.server, "/resourceslices?limit="), 1);
	assert_int_equal(server_count(script.server, "/deviceclasses?limit="), 1);
	assert_int_equal(server_count(script.server, "/resourceclaimtemplates?limit="), 1);
	assert_int_equal(server_count(script.server, "/resourceclaims?limit="), 1);
	changed("plain", true);
	await_watches(4);
	changed("demo", true);
	assert_null(*control.devices);
	assert_true(device_claims_feature.known(watch));
	await_watches(0);
	/* And again. */
	changed("demo", false);
	await_view();
	await_watches(4);
}

static bool has_second(void *context)
{
	(void)context;
	return request_of("two") != NULL;
}

/* A pass that holds the old view is not disturbed. */
static void test_a_change_makes_a_new_view(void **state)
{
	struct device_view *old;
	uint64_t number;
	size_t count;

	(void)state;
	changed("demo", false);
	await_view();
	old = device_view_hold(&control);
	number = device_view_number(&control);
	assert_null(request_of("two"));
	second_template = true;
	assert_true(loop_wait_until(script.loop, has_second, NULL, WAIT_MS));
	assert_true(device_view_number(&control) > number);
	assert_true(woken == 2 && readied == 1);
	assert_null(claimed_find(old->table->claims, "a", "two", true, &count));
	assert_non_null(claimed_find(old->table->claims, "a", "one", true, &count));
	device_view_drop(old);
}

/* A template of another namespace that cannot be decoded. */
static void test_a_bad_template_hides_no_other(void **state)
{
	(void)state;
	bad_template = true;
	changed("demo", false);
	await_view();
	assert_non_null(request_of("one"));
}

static void check_line(const char *text)
{
	if (!strstr(output, text))
		fail_msg("no \"%s\" in: %s", text, output);
}

/* Each is said once, and nothing is known. */
static void check_refused(void)
{
	const struct device_objects *objects;

	CAPTURE_LOG({
		changed("demo", false);
		await_view();
	});
	objects = (*control.devices)->objects;
	assert_false(objects->slices_known || objects->classes_known || objects->templates_known ||
		     objects->claims_known);
	assert_true(device_claims_feature.known(watch));
	assert_true(woken == 1 && readied == 1);
}

static void test_without_the_right(void **state)
{
	static const char *const kinds[] = { "resourceslices", "deviceclasses",
					     "resourceclaimtemplates", "resourceclaims" };

	(void)state;
	list_status = 403;
	check_refused();
	for (size_t i = 0; i < SUPPORT_COUNT(kinds); i++) {
		char text[100];

		(void)snprintf(text, sizeof(text),
			       " cannot be read: grant list and watch of %s of resource.k8s.io "
			       "(chart value deviceClaims",
			       kinds[i]);
		check_line(text);
	}
	check_line("the devices that worker groups claim are not counted");
	check_line("allocationMode All counts 0");
}

static void test_without_the_api(void **state)
{
	(void)state;
	discover_status = 404;
	check_refused();
	check_line("ResourceSlices are not served by the API server");
	check_line("DeviceClasses are not served");
	check_line("ResourceClaimTemplates are not served");
	check_line("ResourceClaims are not served");
	check_line("Kubernetes 1.34 and later serve resource.k8s.io/v1");
	assert_null(strstr(output, "grant"));
	assert_int_equal(server_count(script.server, "/resourceclaims?"), 0);
}

/* The others are used, so that one broken kind does not stop all decisions. */
static void test_a_kind_that_fails(void **state)
{
	(void)state;
	options.kube_api_timeout_seconds = 1;
	failing_slices = true;
	changed("demo", false);
	await_view();
	assert_false((*control.devices)->objects->slices_known);
	assert_true((*control.devices)->objects->templates_known);
	assert_non_null(request_of("one"));
	assert_int_equal(readied, 1);
}

static void test_a_kind_above_the_limit_of_a_view(void **state)
{
	(void)state;
	large_classes = true;
	CAPTURE_LOG({
		changed("demo", false);
		await_view();
	});
	assert_false((*control.devices)->objects->classes_known);
	assert_int_equal((*control.devices)->objects->class_count, 0);
	check_line("too many or too large objects");
	check_line("DeviceClasses");
}

static bool is_refused(void *context)
{
	size_t count;
	const struct claimed_request *request =
		claimed_find(device_view_table(&control)->claims, "b", "c7", true, &count);

	return request && strstr(request->problem, context);
}

/* The templates of one namespace take nothing from those of another, whose objects have the reason. */
static void test_a_namespace_above_the_limit_of_a_view(void **state)
{
	static char unread[] = "is not read yet", refused[] = "of namespace b take ";

	(void)state;
	large_templates = true;
	CAPTURE_LOG({
		changed("demo", false);
		await_view();
		assert_int_equal(request_of("one")->promise.amount, RESOURCE_UNIT);
		assert_true(is_refused(unread));
		/* Clusters of that namespace that claim wait, others do not. */
		assert_true(name_set_contains(&(*control.devices)->unread, "b"));
		assert_false(device_claims_feature.unread(watch, "a", "demo"));
		assert_true(loop_wait_until(script.loop, is_refused, refused, WAIT_MS));
	});
	assert_false(name_set_contains(&(*control.devices)->unread, "b"));
	assert_true((*control.devices)->objects->templates_known);
	assert_int_equal(request_of("one")->promise.amount, RESOURCE_UNIT);
	assert_true(is_refused((char[]){ "delete those that no Pod uses" }));
	check_line("claims are not read");
	check_line("\"namespace\":\"b\"");
	assert_in_range((*control.devices)->arena.used_bytes, 0, 1 << 20);
}

/* All of a view is charged, until its last holder drops it. */
static void test_a_view_is_charged(void **state)
{
	struct memory_budgets budgets;
	struct device_view *held;

	(void)state;
	memory_budgets_init(&budgets, &options, (size_t)256 << 20);
	budgets.root->measure = NULL; /* without the heap of this test */
	control.memory = &budgets;
	large_templates = true;
	CAPTURE_LOG({
		changed("demo", false);
		await_view();
	});
	held = device_view_hold(&control);
	assert_in_range(budget_used(budgets.root), held->arena.used_bytes, (size_t)4 << 20);
	changed("demo", true);
	assert_true(budget_used(budgets.root) > 0);
	device_view_drop(held);
	assert_int_equal(budget_used(budgets.root), 0);
	control.memory = NULL;
	memory_budgets_done(&budgets);
}

/* While a pass holds an older view, which has a reference of the budget, the next one waits. */
static void test_an_older_view_delays_the_next(void **state)
{
	struct memory_budgets budgets;
	struct budget *older;
	uint64_t number;

	(void)state;
	memory_budgets_init(&budgets, &options, (size_t)256 << 20);
	budgets.root->measure = NULL;
	control.memory = &budgets;
	changed("demo", false);
	await_view();
	number = device_view_number(&control);
	older = budget_reference(budgets.views);
	second_template = true;
	assert_false(loop_wait_until(script.loop, has_second, NULL, 500));
	assert_int_equal(device_view_number(&control), number);
	budget_free(older);
	assert_true(loop_wait_until(script.loop, has_second, NULL, WAIT_MS));
	changed("demo", true);
	control.memory = NULL;
	memory_budgets_done(&budgets);
}

static void test_a_slice_that_cannot_be_read(void **state)
{
	(void)state;
	bad_slice = true;
	CAPTURE_LOG({
		changed("demo", false);
		await_view();
	});
	check_line("ResourceSlices cannot be read");
	check_line("broken");
	check_line("spec.devices");
}

static void test_a_sidecar_reads_its_namespace(void **state)
{
	(void)state;
	options.cluster_name = "demo";
	options.cluster_namespace = "a";
	changed("demo", false);
	await_view();
	assert_int_equal(server_count(script.server, "/v1/resourceslices?limit="), 1);
	assert_int_equal(server_count(script.server, "/v1/deviceclasses?limit="), 1);
	assert_int_equal(server_count(script.server, "/namespaces/a/resourceclaimtemplates?limit="),
			 1);
	assert_int_equal(server_count(script.server, "/namespaces/a/resourceclaims?limit="), 1);
}

#define TEST_OF(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_OF(test_nothing_is_read_without_claims),
		TEST_OF(test_watches_while_a_cluster_claims),
		TEST_OF(test_a_change_makes_a_new_view),
		TEST_OF(test_without_the_right),
		TEST_OF(test_without_the_api),
		TEST_OF(test_a_kind_that_fails),
		TEST_OF(test_a_kind_above_the_limit_of_a_view),
		TEST_OF(test_a_namespace_above_the_limit_of_a_view),
		TEST_OF(test_a_view_is_charged),
		TEST_OF(test_an_older_view_delays_the_next),
		TEST_OF(test_a_slice_that_cannot_be_read),
		TEST_OF(test_a_bad_template_hides_no_other),
		TEST_OF(test_a_sidecar_reads_its_namespace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
