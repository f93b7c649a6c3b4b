/* kube/kube_informer: bad and huge objects, API versions that are removed and return, polls. */
#include "test/support/informer_script.h"

/* ---- objects ---- */

static void test_bad_object_in_a_list(void **state)
{
	const struct pod *pod;

	(void)state;
	START({ NULL, .text = LIST("10", "", BAD_POD("p1", "1") "," POD("p2", "2")) },
	      { NULL, .kind = STEP_STREAM_HOLD });
	informer_wait_seen("BAD a/p1 - 1;ADDED a/p2 - 2;synced;live;");
	assert_int_equal(kube_informer_bad_count(informer), 1);
	assert_int_equal(kube_informer_count(informer), 1);
	pod = kube_informer_get(informer, "a", "p1");
	assert_non_null(strstr(pod->unreadable, "spec.containers"));
	assert_non_null(strstr(kube_informer_bad(informer, "a", "p1"), "spec.containers"));
	assert_null(kube_informer_bad(informer, "a", "p2"));
	informer_stop();
}

static void test_bad_objects_in_a_watch(void **state)
{
	(void)state;
	START({ NULL, .text = LIST("10", "", BAD_POD("p1", "1") "," POD("p2", "2")) },
	      { NULL, .kind = STEP_STREAM_HOLD,
		.text = EVENT("MODIFIED", BAD_POD("p2", "11")) EVENT("ADDED", POD("p3", "12"))
			EVENT("MODIFIED", POD("p1", "13")) EVENT("DELETED", BAD_POD("p2", "14"))
				EVENT("ADDED", "{'metadata':{'resourceVersion':'15'}}")
					EVENT("ADDED",
					      "{'metadata':{'resourceVersion':'16','name':7}}") });
	informer_wait_seen(
		"live;BAD a/p2 2 11;ADDED a/p3 - 12;MODIFIED a/p1 1 13;DELETED a/p2 11 -;error Input;"
		"error Input;");
	assert_non_null(strstr(last_error.text, "Pod: metadata.name"));
	assert_true(kube_informer_fresh(informer)); /* the others are known all the same */
	assert_null(kube_informer_bad(informer, "a", "p1"));
	assert_int_equal(kube_informer_bad_count(informer), 0);
	assert_int_equal(kube_informer_count(informer), 2);
	informer_stop();
}

#define NUL_POD(name, rv, spec)                                                                    \
	"{'metadata':{'namespace':'a','name':'" name "','resourceVersion':'" rv                    \
	"','labels':{'ray.io/cluster':'c'}},'spec':" spec "}"

/* One tenant's object is that tenant's problem: the page and the watch continue. */
static void test_unreadable_strings_cost_their_own_object(void **state)
{
	size_t count;

	(void)state;
	START({ NULL,
		.text = LIST(
			"10", "",
			POD("p1", "1") "," NUL_POD("n1", "2", "{'nodeName':'x\\u0000y'}") "," NUL_POD(
				"n2", "3", "{'nodeName':'\\ud800'}") "," POD("p2", "4")) },
	      { NULL, .kind = STEP_STREAM_HOLD,
		.text = EVENT("MODIFIED", NUL_POD("p1", "11", "{'nodeName':'\\u0000'}"))
			EVENT("MODIFIED", POD("n1", "12")) EVENT("DELETED", POD("n2", "13"))
				EVENT("ADDED", POD("p3", "14")) });
	informer_wait_seen("ADDED a/p1 - 1;BAD a/n1 - 2;BAD a/n2 - 3;ADDED a/p2 - 4;synced;live;"
			   "BAD a/p1 1 11;MODIFIED a/n1 2 12;DELETED a/n2 3 -;ADDED a/p3 - 14;");
	/* It is there for its cluster. */
	assert_non_null(kube_informer_indexed(informer, "a/c", &count));
	assert_int_equal(count, 4);
	assert_non_null(strstr(kube_informer_bad(informer, "a", "p1"),
			       "spec.nodeName: must be a string, is unreadable: "));
	assert_true(kube_informer_fresh(informer));
	informer_stop();
}

#define RAY_CLUSTER(name, rv, members, spec)                                                       \
	"{'apiVersion':'ray.io/v1','kind':'RayCluster','metadata':{'namespace':'a','name':'" name  \
	"','uid':'u-" name "','resourceVersion':'" rv "','generation':3" members "},'spec':" spec  \
	"}"
#define NUL_GROUP "'workerGroupSpecs':[{'groupName':'g\\u0000'}]"

static const struct ray_cluster *cluster_of(const char *name)
{
	const struct ray_cluster *cluster = kube_informer_get(informer, "a", name);

	assert_non_null(cluster);
	return cluster;
}

/* The object is kept with its names, the reason, and whether it is managed. */
static void test_an_unreadable_ray_cluster_is_kept(void **state)
{
	static const struct step steps[] = {
		{ NULL, .text = "{'resources':[{'name':'rayclusters'}]}" },
		{ NULL,
		  .text = LIST(
			  "10", "",
			  RAY_CLUSTER("c1", "1", "", "{'enableInTreeAutoscaling':true," NUL_GROUP "}") "," RAY_CLUSTER(
				  "c2", "2", "",
				  "{" NUL_GROUP
				  "}") "," RAY_CLUSTER("c3", "3",
						       ",'annotations':{'rayscaler.dev/managed':'false'}",
						       "{'enableInTreeAutoscaling':true," NUL_GROUP
						       "}") "," RAY_CLUSTER("c4", "4", "",
									    "{'x':01}")) },
		{ NULL, .kind = STEP_STREAM_HOLD },
	};
	const struct kube_informer_options options = {
		.type = &kube_type_ray_cluster, .callbacks = { .on_live = informer_on_live }
	};
	const struct ray_cluster *cluster;

	(void)state;
	informer_start_with(steps, SUPPORT_COUNT(steps), &options);
	informer_wait_seen("live;");
	assert_int_equal(kube_informer_bad_count(informer), 4);
	cluster = cluster_of("c1");
	assert_string_equal(cluster->uid, "u-c1");
	assert_string_equal(cluster->api_version, "ray.io/v1");
	assert_int_equal(cluster->generation, 3);
	assert_true(cluster->enable_in_tree_autoscaling);
	assert_non_null(strstr(cluster->unreadable, "spec.workerGroupSpecs[0].groupName: "));
	assert_false(cluster_of("c2")->enable_in_tree_autoscaling);
	assert_string_equal(labels_value(&cluster_of("c3")->annotations, ANNOTATION_MANAGED),
			    "false");
	assert_true(
		cluster_of("c4")->enable_in_tree_autoscaling); /* nothing is known of its spec */
	informer_stop();
}

/* A field that is not read does not matter. */
static void test_unreadable_strings_that_are_not_read(void **state)
{
	(void)state;
	START({ NULL,
		.text = LIST("10", "",
			     NUL_POD("p1", "1",
				     "{'subdomain':'\\u0000','a\\u0000b':[{'x':'\\ud800'}]}")) },
	      { NULL, .kind = STEP_STREAM_HOLD,
		.text = EVENT("MODIFIED",
			      "{'metadata':{'namespace':'a','name':'p1','resourceVersion':'11',"
			      "'annotations':{'note':'a\\u0000b','x\\udc00':'y'},"
			      "'managedFields':[{'manager':'\\u0000'}]}}") });
	informer_wait_seen("ADDED a/p1 - 1;synced;live;MODIFIED a/p1 1 11;");
	assert_int_equal(kube_informer_bad_count(informer), 0);
	informer_stop();
}

/* Not JSON, or deeper than we read: the object is known by its metadata, wherever they are. */
static void test_objects_that_do_not_parse(void **state)
{
	(void)state;
	START({ NULL, .text = LIST("10", "",
				   "{'spec':{'x':01},'metadata':{'namespace':'a','name':'n1',"
				   "'resourceVersion':'1'}}," POD("p1", "2") ",{'spec':[1}") },
	      { NULL, .text = LIST("10", "",
				   "{'spec':{'x':01},'metadata':{'namespace':'a','name':'n1',"
				   "'resourceVersion':'1'}}," POD("p1", "2")) },
	      { NULL, .kind = STEP_STREAM_HOLD,
		.text = EVENT("ADDED", "{'spec':{'x':01},'metadata':{'namespace':'a','name':'n2',"
				       "'resourceVersion':'11'}}")
			EVENT("ADDED", POD("p2", "12")) });
	informer_wait_seen(
		"error Input;"); /* brackets that do not match: where the item ends is not known */
	informer_wait_seen("live;BAD a/n2 - 11;ADDED a/p2 - 12;");
	assert_non_null(strstr(kube_informer_bad(informer, "a", "n1"), "must not begin with 0"));
	assert_non_null(kube_informer_get(informer, "a", "p1"));
	informer_stop();
}

static const char *only_indexed(const char *key)
{
	size_t count;
	const void *const *objects = kube_informer_indexed(informer, key, &count);

	return count == 1 ? ((const struct pod *)objects[0])->name : "";
}

/* Removal moves the last object of an index key into the gap; a new label moves to another key. */
static void test_index_follows(void **state)
{
	(void)state;
	START({ NULL,
		.text = LIST("10", "", POD("p1", "1") "," POD("p2", "2") "," POD("p3", "3")) },
	      { NULL, .kind = STEP_STREAM_HOLD,
		.text = EVENT("DELETED", POD("p1", "11")) EVENT("DELETED", POD("p3", "12"))
			EVENT("ADDED", POD("p4", "14")) EVENT(
				"MODIFIED",
				"{'metadata':{'namespace':'a','name':'p4','resourceVersion':'15',"
				"'labels':{'ray.io/cluster':'d'}}}") });
	informer_wait_seen("DELETED a/p3 3 -;ADDED a/p4 - 14;MODIFIED a/p4 14 15;");
	assert_string_equal(only_indexed("a/c"), "p2");
	assert_string_equal(only_indexed("a/d"), "p4");
	informer_stop();
}

/* Nothing is kept, each version is reported; the server filters by fields. */
static void test_passing_informer(void **state)
{
	const struct kube_informer_options options = { .type = &kube_type_pod,
						       .field_selector = "spec.nodeName=,a!=b",
						       .passing = true,
						       .callbacks = informer_callbacks };
	static const struct step steps[] = {
		{ "GET /api/v1/pods?fieldSelector=spec.nodeName%3D%2Ca%21%3Db&limit=250",
		  .text = LIST("10", "", POD("p1", "1") "," BAD_POD("p2", "2")) },
		{ "fieldSelector=spec.nodeName%3D%2Ca%21%3Db&watch=true", .kind = STEP_STREAM_HOLD,
		  .text = EVENT("MODIFIED", POD("p1", "11")) EVENT("DELETED", POD("p1", "12")) }
	};

	(void)state;
	informer_start_with(steps, SUPPORT_COUNT(steps), &options);
	informer_wait_seen(
		"ADDED a/p1 - 1;BAD a/p2 - 2;synced;live;ADDED a/p1 - 11;DELETED a/p1 12 -;");
	assert_int_equal(kube_informer_count(informer), 0);
	assert_int_equal(kube_informer_bad_count(informer), 0);
	assert_null(kube_informer_get(informer, "a", "p1"));
	informer_stop();
}

/* An optional resource that is denied is requested again late, after another failure soon. */
static void test_denied_is_asked_for_seldom(void **state)
{
	const struct kube_informer_options options = { .type = &kube_type_pod,
						       .denied_retry_ms = 2500,
						       .callbacks = informer_callbacks };
	static const struct step steps[] = { { NULL, .status = 500 },
					     { NULL, .status = 403 },
					     { NULL, .text = LIST("10", "", POD("p1", "1")) },
					     { NULL, .kind = STEP_STREAM_HOLD } };
	int64_t denied_ms;

	(void)state;
	informer_start_with(steps, SUPPORT_COUNT(steps), &options);
	informer_wait_seen("error Retry;error Denied;");
	denied_ms = loop_monotonic_ms(informer_script.loop);
	informer_wait_seen("ADDED a/p1 - 1;synced;live;");
	assert_true(loop_monotonic_ms(informer_script.loop) - denied_ms >= 2490);
	informer_stop();
}

static void test_one_mebibyte_in_single_bytes(void **state)
{
	size_t filler = (1 << 20) - 200;
	char *text = memory_alloc(filler + 1024);
	struct step steps[] = {
		{ NULL, .text = LIST("10", "", "") },
		{ WATCH_FROM("10"), .kind = STEP_STREAM_BYTES, .text = text },
	};
	const struct pod *pod;

	(void)state;
	(void)snprintf(text, 1024,
		       "{'type':'ADDED','object':{'metadata':{'namespace':'a',"
		       "'name':'p1','resourceVersion':'11','annotations':{'x':'");
	memset(text + strlen(text), 'y', filler);
	(void)snprintf(text + strlen(text), 256, "'}}}}\n" EVENT("ADDED", POD("p2", "12")));
	informer_start(steps, SUPPORT_COUNT(steps));
	informer_wait_seen("live;ADDED a/p1 - 11;ADDED a/p2 - 12;");
	pod = kube_informer_get(informer, "a", "p1");
	assert_non_null(pod);
	assert_int_equal(strlen(labels_value(&pod->annotations, "x")), filler);
	informer_stop();
	memory_free(text);
}

/* A Pod of about 3 MiB with its metadata at the end, appended to `text`. */
static void add_large_pod(struct buf *text, const char *name, const char *version)
{
	(void)buf_add_string(text, "{'kind':'Pod','spec':{'containers':[{'name':'");
	for (size_t i = 0; i < 3 << 20; i += 8)
		(void)buf_add_string(text, "\\u003c{[");
	(void)buf_printf(text,
			 "','metadata':{'name':'no'}}]},'metadata':{'annotations':{'name':'no'},"
			 "'namespace':'a','name':'%s','resourceVersion':'%s','labels':"
			 "{'ray.io/cluster':'c','ray.io/group':'g'},'deletionTimestamp':"
			 "'2026-11-20T10:00:00Z'}}",
			 name, version);
}

/* Only the object above the limit is lost; it is known by its metadata, and the list and the watch
 * continue. */
static void test_object_too_large(void **state)
{
	AUTO(buf_done) struct buf list, line;
	struct step steps[] = {
		{ LIST_PAGE },
		{ WATCH_FROM("10"), .kind = STEP_STREAM_HOLD },
	};
	const struct pod *pod;
	size_t count;

	(void)state;
	buf_init(&list, 16 << 20);
	buf_init(&line, 16 << 20);
	(void)buf_add_string(&list, "{'items':[" POD("p1", "1") ",");
	add_large_pod(&list, "n1", "2");
	(void)buf_add_string(&list, "," POD("p2", "3") "],'metadata':{'resourceVersion':'10'}}");
	(void)buf_add_string(&line, "{'type':'ADDED','object':");
	add_large_pod(&line, "n2", "11");
	(void)buf_add_string(&line,
			     "}\n" EVENT("ADDED", POD("p3", "12")) "{'type':'DELETED','object':");
	add_large_pod(&line, "n1", "13");
	(void)buf_add_string(&line, "}\n" EVENT("DELETED", POD("p3", "14")));
	steps[0].text = buf_string(&list);
	steps[1].text = buf_string(&line);
	informer_start(steps, SUPPORT_COUNT(steps));
	informer_wait_seen("ADDED a/p1 - 1;BAD a/n1 - 2;ADDED a/p2 - 3;synced;live;BAD a/n2 - 11;"
			   "ADDED a/p3 - 12;DELETED a/n1 2 -;DELETED a/p3 12 -;");
	assert_non_null(strstr(kube_informer_bad(informer, "a", "n2"), "more than 2097152 bytes"));
	pod = kube_informer_get(informer, "a", "n2");
	assert_non_null(pod->unreadable);
	assert_true(pod->deleting);
	assert_string_equal(labels_value(&pod->labels, "ray.io/group"), "g");
	assert_non_null(kube_informer_indexed(informer, "a/c", &count));
	assert_int_equal(count, 3);
	assert_int_equal(kube_informer_counters(informer).errors, 0);
	informer_stop();
}

/* ---- discovery and polls ---- */

#define SERVED "{'resources':[{'name':'rayjobs'},{'name':'rayclusters'}]}"
#define CLUSTER(rv, version)                                                                       \
	"{'apiVersion':'ray.io/" version                                                           \
	"','metadata':{'namespace':'a','name':'c','resourceVersion':'" rv "'},'spec':{}}"

static void test_older_version_is_found(void **state)
{
	static const struct step steps[] = {
		{ "GET /apis/ray.io/v1", .text = "{'resources':[{'name':'rayjobs'}]}" },
		{ "GET /apis/ray.io/v1alpha1", .text = SERVED },
		{ "GET /apis/ray.io/v1alpha1/namespaces/a/rayclusters?limit",
		  .text = LIST("10", "", CLUSTER("1", "v1alpha1")) },
		{ "GET /apis/ray.io/v1alpha1/namespaces/a/rayclusters?watch",
		  .kind = STEP_STREAM_HOLD },
	};
	const struct kube_informer_options options = { .type = &kube_type_ray_cluster,
						       .namespace_ = "a",
						       .callbacks = informer_callbacks };

	(void)state;
	script_steps(&informer_script, steps, SUPPORT_COUNT(steps));
	informer = kube_informer_new(informer_script.client, &options);
	informer_wait_seen("ADDED a/c");
	informer_wait_seen("synced;live;");
	assert_string_equal(kube_informer_api_version(informer), "ray.io/v1alpha1");
	informer_stop();
}

static void start_clusters(const struct step *steps, size_t count)
{
	const struct kube_informer_options options = { .type = &kube_type_ray_cluster,
						       .callbacks = informer_callbacks };

	informer_start_with(steps, count, &options);
}

static void test_definition_comes(void **state)
{
	static const struct step steps[] = {
		{ "GET /apis/ray.io/v1", .status = 404 },
		{ "GET /apis/ray.io/v1alpha1", .status = 404 },
		{ "GET /apis/ray.io/v1", .text = "[]" },
		{ "GET /apis/ray.io/v1", .text = SERVED },
		{ "/ray.io/v1/rayclusters?limit", .text = LIST("20", "", "") },
		{ "/ray.io/v1/rayclusters?watch", .kind = STEP_STREAM_HOLD },
	};

	(void)state;
	start_clusters(steps, SUPPORT_COUNT(steps));
	informer_wait_seen("error NotFound;");
	assert_non_null(strstr(kube_informer_problem(informer),
			       "does not know rayclusters.ray.io (RayCluster): install KubeRay"));
	informer_wait_seen("error Input;synced;live;");
	assert_string_equal(kube_informer_api_version(informer), "ray.io/v1");
	informer_stop();
}

/* A CRD that is removed, or no longer serves our version, is looked for again. */
static void test_definition_goes(void **state)
{
	static const struct step steps[] = {
		{ "GET /apis/ray.io/v1", .text = SERVED },
		{ "/ray.io/v1/rayclusters?limit", .status = 404 },
		{ "GET /apis/ray.io/v1", .status = 404 },
		{ "GET /apis/ray.io/v1alpha1", .text = SERVED },
		{ "/ray.io/v1alpha1/rayclusters?limit", .text = LIST("10", "", "") },
		{ "/ray.io/v1alpha1/rayclusters?watch", .status = 404 },
		{ "GET /apis/ray.io/v1", .text = SERVED },
		{ "/ray.io/v1/rayclusters?limit", .text = LIST("20", "", "") },
		{ "/ray.io/v1/rayclusters?watch", .kind = STEP_STREAM_HOLD },
	};

	(void)state;
	start_clusters(steps, SUPPORT_COUNT(steps));
	informer_wait_seen("error NotFound;synced;error NotFound;live;");
	assert_string_equal(kube_informer_api_version(informer), "ray.io/v1");
	informer_stop();
}

static void test_poll(void **state)
{
	static const struct step steps[] = {
		{ "GET /apis/ray.io/v1", .text = SERVED },
		{ "/namespaces/a/rayclusters/c", .text = CLUSTER("1", "v1") },
		{ "/namespaces/a/rayclusters/c", .text = CLUSTER("1", "v1") },
		{ "/namespaces/a/rayclusters/c", .text = CLUSTER("2", "v1") },
		{ "/namespaces/a/rayclusters/c", .status = 500 },
		{ "/namespaces/a/rayclusters/c", .text = "{'metadata':7}" },
		{ "/namespaces/a/rayclusters/c", .text = CLUSTER("3", "v1") },
		{ "/namespaces/a/rayclusters/c", .status = 404 },
		{ "GET /apis/ray.io/v1", .text = SERVED },
		{ "/namespaces/a/rayclusters/c", .text = CLUSTER("4", "v1") },
	};
	const struct kube_informer_options options = { .type = &kube_type_ray_cluster,
						       .namespace_ = "a",
						       .name = "c",
						       .poll_ms = 20,
						       .callbacks = informer_callbacks };

	(void)state;
	informer_start_with(steps, SUPPORT_COUNT(steps), &options);
	informer_wait_seen("ADDED a/c");
	informer_wait_seen("synced;live;MODIFIED a/c");
	informer_wait_seen("error Retry;error Input;MODIFIED a/c");
	informer_wait_seen("live;DELETED a/c");
	assert_int_equal(kube_informer_count(informer), 0);
	assert_true(kube_informer_fresh(informer)); /* known to be absent */
	informer_wait_seen("ADDED a/c");
	assert_non_null(kube_informer_get(informer, "a", "c"));
	informer_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bad_object_in_a_list),
		TEST(test_bad_objects_in_a_watch),
		TEST(test_unreadable_strings_cost_their_own_object),
		TEST(test_an_unreadable_ray_cluster_is_kept),
		TEST(test_unreadable_strings_that_are_not_read),
		TEST(test_objects_that_do_not_parse),
		TEST(test_index_follows),
		TEST(test_passing_informer),
		TEST(test_denied_is_asked_for_seldom),
		TEST(test_one_mebibyte_in_single_bytes),
		TEST(test_object_too_large),
		TEST(test_older_version_is_found),
		TEST(test_definition_comes),
		TEST(test_definition_goes),
		TEST(test_poll),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
