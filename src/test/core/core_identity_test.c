/* Which Pods and which head a RayCluster is believed to have. */
#include "core/model/identity.h"

#include <string.h>

#include "base/memory.h"
#include "core/model/snapshot.h"
#include "test/support/support.h"

static const struct pod_owner own = { "ray.io/v1", "RayCluster", "demo", "u-1" };
static const struct pod_owner earlier = { "ray.io/v1", "RayCluster", "demo", "u-0" };
static const struct pod_owner replica_set = { "apps/v1", "ReplicaSet", "web", "u-1" };
static const struct pod_owner other_group = { "example.com/v1", "RayCluster", "demo", "u-1" };
static const struct pod_owner alpha = { "ray.io/v1alpha1", "RayCluster", "demo", "u-1" };

static const struct label head_labels[] = { { LABEL_CLUSTER, "demo" },
					    { LABEL_NODE_TYPE, "head" } };
static const struct label worker_labels[] = { { LABEL_CLUSTER, "demo" },
					      { LABEL_NODE_TYPE, "worker" } };
static const struct label other_labels[] = { { LABEL_CLUSTER, "other" },
					     { LABEL_NODE_TYPE, "worker" } };
static const struct label cleanup_labels[] = { { LABEL_CLUSTER, "demo" },
					       { LABEL_NODE_TYPE, "redis-cleanup" } };

static struct pod pod_of(const char *name, const struct label *labels,
			 const struct pod_owner *owner)
{
	return (struct pod){
		.name = name, .labels = { labels, 2 }, .owner = owner, .pod_ip = "", .phase = ""
	};
}

static struct ray_cluster cluster_of(const char *uid, const char *pod_name, const char *pod_ip)
{
	return (struct ray_cluster){
		.name = "demo", .uid = uid, .head_pod_name = pod_name, .head_pod_ip = pod_ip
	};
}

/* Its address cannot be read, so it cannot be compared. */
static void test_an_unreadable_head_is_named(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct ray_cluster cluster = cluster_of("u-1", "", "10.0.0.1");
	struct pod pod = pod_of("demo-head", head_labels, &own);
	struct identity_heads heads = { .named = NULL };
	const char *problem;

	(void)state;
	pod.unreadable = "spec.nodeName: must be a string";
	identity_heads_add(&heads, &cluster, &pod);
	assert_null(identity_head_of(&heads, &cluster, &arena, &problem));
	assert_string_equal(problem, "the head Pod demo-head cannot be read: "
				     "spec.nodeName: must be a string");
}

static void test_whose_pod(void **state)
{
	static const struct {
		const struct label *labels;
		const struct pod_owner *owner;
		bool foreign;
	} cases[] = {
		{ worker_labels, &own, false },        { head_labels, &own, false },
		{ worker_labels, &alpha, false },      { worker_labels, NULL, true },
		{ head_labels, NULL, true },           { worker_labels, &earlier, true },
		{ worker_labels, &replica_set, true }, { worker_labels, &other_group, true },
		{ other_labels, NULL, false },         { cleanup_labels, NULL, false },
	};
	const struct ray_cluster cluster = cluster_of("u-1", "", ""),
				 sparse = cluster_of("", "", "");

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct pod pod = pod_of("p", cases[i].labels, cases[i].owner);

		if (identity_is_foreign(&cluster, &pod) != cases[i].foreign)
			fail_msg("case %zu", i);
		assert_false(identity_is_foreign(&sparse, &pod));
		assert_true(identity_is_owned(&sparse, &pod));
	}
}

static void test_foreign_ones_are_moved_behind(void **state)
{
	const struct ray_cluster cluster = cluster_of("u-1", "", "");
	struct pod pods[] = {
		pod_of("d", worker_labels, NULL),     pod_of("a", worker_labels, &own),
		pod_of("c", worker_labels, &earlier), pod_of("b", head_labels, &own),
		pod_of("e", head_labels, NULL),       pod_of("f", worker_labels, &replica_set)
	};
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct snapshot snapshot = { .cluster = cluster };
	const struct pod *order[6];

	(void)state;
	for (size_t i = 0; i < 6; i++)
		order[i] = &pods[i];
	assert_int_equal(identity_divide(&cluster, order, 6, &arena), 2);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(order[i]->name[0], "abdcef"[i]);
	assert_null(identity_foreign_text(&snapshot, &arena));
	snapshot.foreign_pods = &order[2];
	snapshot.foreign_pod_count = 4;
	assert_string_equal(
		identity_foreign_text(&snapshot, &arena),
		"4 Pods with the labels of this RayCluster do not belong to it and are left out: c "
		"(controlled by a RayCluster of this name with uid u-0), d (no controller owner "
		"reference), e (no controller owner reference) and 1 more; KubeRay's operator counts "
		"Pods by label: delete them or change the labels");
}

/* The letters are names of own head Pods; the upper-case ones are being deleted. */
static const struct {
	const char *pods, *pod_name, *pod_ip;
	const char *head;    /* NULL: none */
	const char *problem; /* a part of it; NULL: none */
} heads[] = {
	{ "", "", "", NULL, NULL },
	{ "a", "", "", "a", NULL },
	{ "a", "a", "", "a", NULL },
	{ "a", "b", "", NULL, "head Pod a is not the one that status.head.podName" },
	{ "a", "", "ip-b", NULL, "head Pod a is not the one that status.head.podIP" },
	{ "ab", "", "", NULL,
	  "two head Pods, a and b, and status.head of the RayCluster names none" },
	{ "ab", "b", "", "b", "two head Pods, b, which status.head.podName" },
	{ "ab", "b", "ip-a", "b", "two head Pods, b, which status.head.podName" },
	{ "ab", "", "ip-b", "b", "two head Pods, b, which status.head.podIP" },
	{ "aB", "", "", "a", NULL },
	{ "aB", "a", "", "a", NULL },
	{ "aB", "B", "", "B", "and a; delete" },
	{ "B", "B", "", "B", NULL },
	{ "B", "", "", "B", NULL },
	{ "AB", "B", "", "B", NULL },
	{ "", "b", "", NULL, NULL },
	{ "abc", "c", "", "c", "and a; delete" },
};

static void check_head(size_t index, bool backwards)
{
	static const char *const names[] = { "a", "b", "c", "A", "B" };
	static const char *const addresses[] = { "ip-a", "ip-b", "ip-c", "ip-A", "ip-B" };
	const struct ray_cluster cluster =
		cluster_of("u-1", heads[index].pod_name, heads[index].pod_ip);
	struct identity_heads fold = { .named = NULL };
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct pod pods[4] = { pod_of("0", head_labels, NULL) };
	size_t count = strlen(heads[index].pods);
	const struct pod *head;
	const char *problem;

	for (size_t i = 0; i < count; i++) {
		size_t name = strcspn("abcAB", (char[]){ heads[index].pods[i], 0 });

		pods[i + 1] = pod_of(names[name], head_labels, &own);
		pods[i + 1].pod_ip = addresses[name];
		pods[i + 1].deleting = name > 2;
	}
	for (size_t i = 0; i <= count; i++)
		identity_heads_add(&fold, &cluster, &pods[backwards ? count - i : i]);
	head = identity_head_of(&fold, &cluster, &arena, &problem);
	if ((!head) != (!heads[index].head) || (head && strcmp(head->name, heads[index].head) != 0))
		fail_msg("case %zu: the head is %s", index, head ? head->name : "none");
	if ((!problem) != (!heads[index].problem) ||
	    (problem && !strstr(problem, heads[index].problem)))
		fail_msg("case %zu: %s", index, problem ? problem : "no problem");
}

static void test_the_head(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		check_head(i, false);
		check_head(i, true);
	}
}

static const struct condition ready = { .type = "Ready", .status = "True" };
static const struct condition not_ready = { .type = "Ready", .status = "False" };

/* Of active-passive heads; `ready` are the names of those that are Ready. */
static const struct {
	const char *pods, *ready, *pod_name, *pod_ip;
	const char *head;    /* NULL: none */
	const char *problem; /* a part of it; NULL: none */
} pairs[] = {
	{ "", "", "a", "", NULL, NULL },
	{ "ab", "a", "a", "", "a", NULL },
	{ "ab", "b", "b", "", "b", NULL },
	{ "ab", "b", "", "ip-b", "b", NULL },
	{ "ab", "a", "b", "", "b", "b is not Ready and a is Ready" },
	{ "ab", "", "a", "", "a", "a is not Ready, so" },
	{ "ab", "ab", "a", "", "a", "of the active-passive heads a and b both are Ready" },
	{ "ab", "a", "c", "", NULL, "head Pod a is not the one that status.head.podName" },
	{ "ab", "a", "", "", NULL, "status.head of the RayCluster names none" },
	{ "a", "a", "a", "", "a", NULL },
	{ "a", "", "a", "", "a", "a is not Ready, so" },
	{ "a", "a", "", "", "a", NULL },
	{ "a", "", "", "", "a", "a is not Ready, so" },
	{ "a", "a", "b", "", NULL, "head Pod a is not the one that status.head.podName" },
	{ "bA", "b", "b", "", "b", NULL },
	{ "bA", "bA", "b", "", "b", "both are Ready" },
	{ "bA", "A", "A", "", "A", "A is being deleted, so" },
	{ "bA", "bA", "A", "", "A", "A is being deleted and b is Ready" },
	{ "abA", "a", "a", "", "a", NULL },
	{ "abc", "a", "a", "", "a", "there are 3 head Pods, among them a and b" },
	{ "abAB", "aB", "a", "", "a", "both are Ready" },
};

static void check_pair(size_t index, bool backwards)
{
	static const char *const names[] = { "a", "b", "c", "A", "B" };
	static const char *const addresses[] = { "ip-a", "ip-b", "ip-c", "ip-A", "ip-B" };
	struct ray_cluster cluster = cluster_of("u-1", pairs[index].pod_name, pairs[index].pod_ip);
	struct identity_heads fold = { .named = NULL };
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	/* The foreign one is Ready too. */
	struct pod pods[5] = { pod_of("0", head_labels, NULL) };
	size_t count = strlen(pairs[index].pods);
	const struct pod *head;
	const char *problem;

	cluster.active_passive_head = backwards;
	cluster.active_passive_options = !backwards;
	pods[0].phase = "Running";
	pods[0].conditions = &ready;
	pods[0].condition_count = 1;
	for (size_t i = 0; i < count; i++) {
		char letter = pairs[index].pods[i];
		size_t name = strcspn("abcAB", (char[]){ letter, 0 });

		pods[i + 1] = pod_of(names[name], head_labels, &own);
		pods[i + 1].pod_ip = addresses[name];
		pods[i + 1].deleting = name > 2;
		pods[i + 1].phase = "Running";
		pods[i + 1].conditions = strchr(pairs[index].ready, letter) ? &ready : &not_ready;
		pods[i + 1].condition_count = 1;
	}
	for (size_t i = 0; i <= count; i++)
		identity_heads_add(&fold, &cluster, &pods[backwards ? count - i : i]);
	head = identity_head_of(&fold, &cluster, &arena, &problem);
	if ((!head) != (!pairs[index].head) || (head && strcmp(head->name, pairs[index].head) != 0))
		fail_msg("pair %zu: the head is %s", index, head ? head->name : "none");
	if ((!problem) != (!pairs[index].problem) ||
	    (problem && !strstr(problem, pairs[index].problem)))
		fail_msg("pair %zu: %s", index, problem ? problem : "no problem");
}

static void test_the_active_one_of_two(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		check_pair(i, false);
		check_pair(i, true);
	}
}

/* A condition of an earlier phase, and that of a Pod that cannot be read. */
static void test_ready_needs_a_running_pod(void **state)
{
	static const char *const phases[] = { "", "Pending", "Running", "Failed", "Running" };

	(void)state;
	for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct ray_cluster cluster = cluster_of("u-1", "a", "");
		struct pod pod = pod_of("a", head_labels, &own);
		struct identity_heads fold = { .named = NULL };
		const char *problem;

		cluster.active_passive_head = true;
		pod.phase = phases[i];
		pod.conditions = i == 4 ? NULL : &ready;
		pod.condition_count = i != 4;
		identity_heads_add(&fold, &cluster, &pod);
		assert_ptr_equal(identity_head_of(&fold, &cluster, &arena, &problem), &pod);
		if ((!problem) != (i == 2))
			fail_msg("case %zu: %s", i, problem ? problem : "no problem");
	}
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_whose_pod),
		TEST(test_an_unreadable_head_is_named),
		TEST(test_foreign_ones_are_moved_behind),
		TEST(test_the_head),
		TEST(test_the_active_one_of_two),
		TEST(test_ready_needs_a_running_pod),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
