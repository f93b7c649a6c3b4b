#include "core/nodes/node_fit.h"

#include <stdlib.h>

#include "core/nodes/node_sample.h"
#include "core/nodes/pod_digest.h"
#include "core/nodes/pod_request.h"
#include "test/support/node_scene.h"

#define MEM "aliyun.com/gpu-mem"
#define TWO_OF_16 "cpu=64 " MEM "=32 aliyun.com/gpu-count=2"

static struct node_fit fit_of(struct node_scene *s, const struct pod *pod, bool template_only)
{
	struct node_capacities capacities;
	struct node_demand demand;
	struct node_fit fit;

	scene_capacities(s, &capacities);
	node_demand_init(&demand, &pod->spec, template_only, capacities.devices, &s->arena);
	node_fit_best(&demand, &capacities, &s->arena, &fit);
	return fit;
}

static void expect(struct node_scene *s, const struct pod *pod, enum node_fit_level level,
		   const char *node, const char *why)
{
	struct node_fit fit = fit_of(s, pod, false);

	assert_int_equal(fit.level, level);
	assert_string_equal(fit.capacity->node->name, node);
	assert_string_equal(fit.why, why);
}

/* Row C2: on 2 GPUs of 16 GiB Pods of 10 GiB fit twice, not three times. */
static void test_c2_gpu_mem_fits_one_device(void **state)
{
	struct node_scene s = { .arena = ARENA_INIT };
	struct pod *pod;

	(void)state;
	scene_node(&s, "share", TWO_OF_16, "gpushare=true");
	pod = scene_pod(&s, "wanted", "", MEM "=10");
	expect(&s, pod, NODE_FIT_NOW, "share", "");
	scene_on(&s, scene_pod(&s, "first", "share", MEM "=10"), 0);
	expect(&s, pod, NODE_FIT_NOW, "share", "");
	scene_on(&s, scene_pod(&s, "second", "share", MEM "=10"), 1);
	expect(&s, pod, NODE_FIT_LATER, "share",
	       "12 of 32 " MEM " are free, at most 6 on one of its 2 devices, 10 are needed");
	pod = scene_pod(&s, "large", "", MEM "=20");
	expect(&s, pod, NODE_FIT_NEVER, "share", "it has 16 " MEM " on each device, 20 are needed");
	arena_done(&s.arena);
}

/* Pods without a device are put where they fit best, the largest first. */
static void test_c2_forecast(void **state)
{
	struct node_scene s = { .arena = ARENA_INIT };
	struct node_capacities capacities;
	struct node_amount *amount;

	(void)state;
	scene_node(&s, "share", TWO_OF_16, "");
	scene_on(&s, scene_pod(&s, "a", "share", MEM "=9"), 0);
	scene_pod(&s, "b", "share", MEM "=6");
	scene_pod(&s, "c", "share", MEM "=8");
	scene_capacities(&s, &capacities);
	amount = node_capacity_amount(&capacities.at[0], MEM);
	assert_int_equal(amount->devices[0].used, 9 * RESOURCE_UNIT);
	assert_int_equal(amount->devices[0].forecast, 6 * RESOURCE_UNIT);
	assert_int_equal(amount->devices[1].forecast, 8 * RESOURCE_UNIT);
	assert_int_equal(amount->unplaced, 14 * RESOURCE_UNIT);
	assert_int_equal(node_amount_largest(amount), 8 * RESOURCE_UNIT);
	arena_done(&s.arena);
}

static void test_never_by_label_taint_and_size(void **state)
{
	struct node_scene s = { .arena = ARENA_INIT };
	static const struct taint taint = { "dedicated", "research", "NoSchedule", TIME_NONE };
	struct pod *pod = scene_pod(&s, "wanted", "", "cpu=1 nvidia.com/gpu=2");
	struct node *node;

	(void)state;
	scene_node(&s, "plain", "cpu=64", "");
	expect(&s, pod, NODE_FIT_NEVER, "plain", "it has no nvidia.com/gpu");
	node = scene_node(&s, "t4", "cpu=64 nvidia.com/gpu=1", "model=T4");
	expect(&s, pod, NODE_FIT_NEVER, "t4", "it has 1 nvidia.com/gpu, 2 are needed");
	node->taints = &taint;
	node->taint_count = 1;
	expect(&s, pod, NODE_FIT_NEVER, "t4",
	       "taint dedicated=research:NoSchedule is not tolerated; it has 1 nvidia.com/gpu, 2 are "
	       "needed");
	scene_node(&s, "t4-too", "cpu=64 nvidia.com/gpu=4", "model=T4");
	expect(&s, pod, NODE_FIT_NOW, "t4-too", "");
	pod->spec.node_selector = scene_labels(&s.arena, "model=A100");
	expect(&s, pod, NODE_FIT_NEVER, "t4-too", "label model is T4, the nodeSelector wants A100");
	arena_done(&s.arena);
}

static void test_affinity_in_words(void **state)
{
	static const char *const values[] = { "a", "b", "c", "d", "e" };
	struct node_scene s = { .arena = ARENA_INIT };
	struct node_expression expression = { .key = "zone",
					      .operation = "In",
					      .values = { values, 5 } };
	struct node_term terms[] = { { .count = 0 }, { &expression, 1 } };
	struct pod *pod = scene_pod(&s, "wanted", "", "cpu=1");

	(void)state;
	scene_node(&s, "n", "cpu=4", "zone=x");
	pod->spec.required_node_terms = terms;
	pod->spec.required_node_term_count = 1;
	expect(&s, pod, NODE_FIT_NEVER, "n",
	       "the required node affinity has only empty terms, which match no Node");
	pod->spec.required_node_term_count = 2;
	expect(&s, pod, NODE_FIT_NEVER, "n", "label zone is x, required is In [a, b, c, d, ...]");
	expression.key = "metadata.name";
	expression.is_field = true;
	expect(&s, pod, NODE_FIT_NEVER, "n",
	       "field metadata.name is n, required is In [a, b, c, d, ...]");
	arena_done(&s.arena);
}

/* ExtendedResourceToleration adds the tolerations that a template does not have. */
static void test_a7_taint_of_the_resource(void **state)
{
	static const struct taint taint = { "nvidia.com/gpu", "present", "NoSchedule", TIME_NONE };
	struct node_scene s = { .arena = ARENA_INIT };
	struct pod *pod = scene_pod(&s, "wanted", "", "nvidia.com/gpu=1");
	struct node *node = scene_node(&s, "n", "nvidia.com/gpu=1", "");

	(void)state;
	node->taints = &taint;
	node->taint_count = 1;
	assert_int_equal(fit_of(&s, pod, true).level, NODE_FIT_NOW);
	assert_int_equal(fit_of(&s, pod, false).level, NODE_FIT_NEVER);
	arena_done(&s.arena);
}

static void test_passing_taints_do_not_count(void **state)
{
	static const struct taint passing = { "node.kubernetes.io/memory-pressure", "",
					      "NoSchedule", TIME_NONE };
	static const struct taint ending = { "node.kubernetes.io/out-of-service", "", "NoExecute",
					     TIME_NONE };
	static const struct condition not_ready = { "Ready", "Unknown", "", "", TIME_NONE };
	static const struct toleration all = { "", "Exists", "", "" };
	struct node_scene s = { .arena = ARENA_INIT };
	struct pod *pod = scene_pod(&s, "wanted", "", "nvidia.com/gpu=1");
	struct node *node = scene_node(&s, "n", "nvidia.com/gpu=1", "");

	(void)state;
	node->unschedulable = true;
	expect(&s, pod, NODE_FIT_LATER, "n", "it is cordoned");
	pod->spec.tolerations = &all;
	pod->spec.toleration_count = 1;
	assert_int_equal(fit_of(&s, pod, false).level, NODE_FIT_NOW);
	pod->spec.toleration_count = 0;
	node->unschedulable = false;
	node->taints = &passing;
	node->taint_count = 1;
	expect(&s, pod, NODE_FIT_LATER, "n",
	       "taint node.kubernetes.io/memory-pressure:NoSchedule is not tolerated");
	node->taints = &ending;
	assert_int_equal(fit_of(&s, pod, false).level, NODE_FIT_NEVER);
	node->taint_count = 0;
	node->conditions = &not_ready;
	node->condition_count = 1;
	expect(&s, pod, NODE_FIT_LATER, "n", "it is not Ready");
	/* Its devices may be added when it is ready: it does not count as a Ready Node without
	 * them. */
	node->allocatable = scene_quantities(&s.arena, "nvidia.com/gpu=0");
	expect(&s, pod, NODE_FIT_LATER, "n", "it is not Ready");
	arena_done(&s.arena);
}

/* Pain 36: a Ready Node that matches has none of the resource. */
static void test_node_without_the_resource(void **state)
{
	struct node_scene s = { .arena = ARENA_INIT };
	struct pod *pod = scene_pod(&s, "wanted", "", "nvidia.com/gpu=1");
	struct node *node = scene_node(&s, "n", "cpu=4", "nvidia.com/gpu.present=true");

	(void)state;
	expect(&s, pod, NODE_FIT_ABSENT, "n",
	       "it offers no nvidia.com/gpu: its device plugin is not up, or its devices are cut "
	       "otherwise");
	node->labels.count = 0;
	expect(&s, pod, NODE_FIT_NEVER, "n", "it has no nvidia.com/gpu");
	node->capacity = scene_quantities(&s.arena, "cpu=4 nvidia.com/gpu=8");
	node->allocatable = scene_quantities(&s.arena, "cpu=4 nvidia.com/gpu=0");
	expect(&s, pod, NODE_FIT_ABSENT, "n",
	       "0 of its 8 nvidia.com/gpu are allocatable: its device plugin calls them unhealthy");
	node->capacity = node->allocatable =
		scene_quantities(&s.arena, "cpu=4 nvidia.com/mig-1g.5gb=7");
	expect(&s, pod, NODE_FIT_ABSENT, "n",
	       "it has no nvidia.com/gpu, but 7 nvidia.com/mig-1g.5gb");
	arena_done(&s.arena);
}

/* CPU, memory and the number of Pods are checked as well; a resource that a Node does not name is
 * missing. */
static void test_other_resources(void **state)
{
	struct node_scene s = { .arena = ARENA_INIT };
	struct pod *pod = scene_pod(&s, "wanted", "", "cpu=2 memory=2147483648");

	(void)state;
	scene_node(&s, "n", "cpu=4 memory=8589934592 pods=2", "");
	expect(&s, pod, NODE_FIT_NOW, "n", "");
	scene_pod(&s, "a", "n", "cpu=1 memory=7516192768");
	expect(&s, pod, NODE_FIT_LATER, "n", "1Gi of 8Gi memory are free, 2Gi are needed");
	scene_pod(&s, "b", "n", "");
	expect(&s, pod, NODE_FIT_LATER, "n",
	       "1Gi of 8Gi memory are free, 2Gi are needed; 0 of 2 pods are free, 1 are needed");
	s.pods[1].phase = s.pods[2].phase = "Succeeded";
	expect(&s, pod, NODE_FIT_NOW, "n", "");
	pod = scene_pod(&s, "other", "", "example.com/thing=1");
	expect(&s, pod, NODE_FIT_NEVER, "n", "it has no example.com/thing");
	arena_done(&s.arena);
}

/* 1 to 30 Nodes of four kinds and up to 59 Pods on them; one in eight Pods waits without a Node,
 * one in five of the others has failed. */
static void random_scene(struct node_scene *s, uint64_t *seed)
{
	static const char *const kinds[] = { "cpu=8 pods=9", "cpu=8 pods=9 nvidia.com/gpu=4",
					     "cpu=16 pods=9 " MEM "=32 aliyun.com/gpu-count=2",
					     "cpu=8 nvidia.com/mig-1g.5gb=7" };
	static const char *const wants[] = {
		"cpu=1",  "cpu=2 nvidia.com/gpu=1", "nvidia.com/gpu=3", MEM "=10",
		MEM "=5", "nvidia.com/mig-1g.5gb=2"
	};

	*s = (struct node_scene){ .arena = ARENA_INIT };
	for (size_t i = 1 + support_random_below(seed, 30); i > 0; i--)
		scene_node(s, arena_printf(&s->arena, "n%02zu", i),
			   kinds[support_random_below(seed, 4)],
			   support_random_below(seed, 2) ? "model=A" : "model=B");
	for (size_t i = support_random_below(seed, 60); i > 0; i--) {
		const char *node = s->nodes[support_random_below(seed, s->node_count)].name;
		struct pod *pod = scene_pod(s, arena_printf(&s->arena, "p%02zu", i),
					    support_random_below(seed, 8) ? node : "",
					    wants[support_random_below(seed, 6)]);

		if (*pod->spec.node_name != '\0' && support_random_below(seed, 5) == 0)
			pod->phase = "Failed";
		if (support_random_below(seed, 2))
			scene_on(s, pod, (int64_t)support_random_below(seed, 3));
		if (support_random_below(seed, 2))
			pod->labels = scene_labels(&s->arena, "ray.io/cluster=c ray.io/group=g");
	}
}

static void assert_same_capacities(const struct node_capacities *a, const struct node_capacities *b)
{
	assert_int_equal(a->count, b->count);
	for (size_t r = 0; r < a->count; r++) {
		for (size_t i = 0; i < a->at[r].count; i++) {
			const struct node_amount *x = &a->at[r].at[i], *y = &b->at[r].at[i];

			assert_string_equal(x->resource, y->resource);
			assert_int_equal(x->used, y->used);
			assert_int_equal(node_amount_largest(x), node_amount_largest(y));
			for (size_t d = 0; d < x->device_count; d++) {
				assert_int_equal(x->devices[d].used, y->devices[d].used);
				assert_int_equal(x->devices[d].forecast, y->devices[d].forecast);
			}
		}
	}
}

/* The digest of the Pods uses the same capacity as the Pods, in any order. */
static void test_digest_takes_the_same_room(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct node_scene s;
		struct node_capacities whole, digested;
		struct pod_digest digest;
		const struct pod *pods;
		size_t count;

		random_scene(&s, &seed);
		scene_capacities(&s, &whole);
		pod_digest_init(&digest, device_table_builtin(), 1000);
		for (size_t i = s.pod_count; i > 0; i--)
			pod_digest_add(&digest, &s.pods[i - 1]);
		pods = pod_digest_finish(&digest, &count);
		assert_false(digest.overflowed);
		assert_int_equal(digest.seen, s.pod_count);
		node_capacities_init(&digested, s.nodes, s.node_count, device_table_builtin(),
				     &s.arena);
		for (size_t i = 0; i < count; i++)
			node_capacities_count(&digested, &pods[i], 1);
		node_capacities_settle(&digested);
		assert_same_capacities(&whole, &digested);
		pod_digest_done(&digest);
		arena_done(&s.arena);
	}
}

/* Counted Pod by Pod, and less those that end, the amounts are those of the Pods that stay. */
static void test_pods_leave_what_was_there(void **state)
{
	uint64_t seed = 17;

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct node_scene s;
		struct node_capacities changed, rest;
		size_t all;

		random_scene(&s, &seed);
		scene_capacities(&s, &changed);
		all = s.pod_count;
		s.pod_count /= 2;
		for (size_t i = s.pod_count; i < all; i++)
			node_capacities_count(&changed, &s.pods[i], -1);
		node_capacities_settle(&changed);
		scene_capacities(&s, &rest);
		assert_same_capacities(&rest, &changed);
		arena_done(&s.arena);
	}
}

/* A sum above the largest amount is bounded, and exact once the Pod that was too large has ended. */
static void test_sums_are_exact_above_the_largest_amount(void **state)
{
	struct node_scene s = { .arena = ARENA_INIT };
	struct node_capacities capacities;
	struct node_amount *gpus;

	(void)state;
	scene_node(&s, "n", "cpu=8 nvidia.com/gpu=4", "");
	scene_pod(&s, "a", "n", "nvidia.com/gpu=1");
	scene_capacities(&s, &capacities);
	gpus = node_capacity_amount(&capacities.at[0], "nvidia.com/gpu");
	for (int sign = 1; sign >= -1; sign -= 2) {
		for (int i = 0; i < 2; i++)
			node_capacity_change(
				&capacities.at[0],
				&(struct resources){
					&(struct resource){ "nvidia.com/gpu", RESOURCE_AMOUNT_MAX },
					1 },
				sign, &s.arena);
		assert_int_equal(gpus->used, sign > 0 ? RESOURCE_AMOUNT_MAX : RESOURCE_UNIT);
	}
	arena_done(&s.arena);
}

static void test_digest_has_a_ceiling(void **state)
{
	struct node_scene s = { .arena = ARENA_INIT };
	struct pod_digest digest;
	size_t count;

	(void)state;
	pod_digest_init(&digest, device_table_builtin(), 2);
	scene_pod(&s, "a", "n", "nvidia.com/gpu=1");
	scene_pod(&s, "b", "n", "nvidia.com/gpu=1");
	scene_pod(&s, "c", "n", "cpu=1");
	for (size_t i = 0; i < 3; i++)
		pod_digest_add(&digest, &s.pods[i]);
	assert_false(digest.overflowed);
	pod_digest_finish(&digest, &count);
	assert_true(digest.overflowed);
	assert_int_equal(count, 2);
	pod_digest_done(&digest);
	arena_done(&s.arena);
}

/* The sample gives the same result as all Nodes. */
static void test_sample_has_the_best_node(void **state)
{
	static const struct condition unschedulable = { "PodScheduled", "False", "Unschedulable",
							"", TIME_NONE };
	static const char *const wants[] = { "nvidia.com/gpu=2", MEM "=12", "nvidia.com/gpu=9" };
	uint64_t seed = 11;

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct node_scene s;
		struct node_capacities capacities;
		const struct node_capacity **sample = NULL;
		struct worker_group group = { .name = "g" };
		struct ray_cluster cluster = { .groups = &group, .group_count = 1 };
		struct node_demand demand;
		struct node_fit best, of_sample = { .why = "" };
		struct pod *wanted;
		const struct pod *pods[1];
		size_t count;

		random_scene(&s, &seed);
		scene_capacities(&s, &capacities);
		wanted = scene_pod(&s, "w", "", wants[round % 3]);
		wanted->labels = scene_labels(&s.arena, "ray.io/cluster=c ray.io/group=g");
		wanted->spec.node_selector = scene_labels(&s.arena, "model=A");
		wanted->conditions = &unschedulable;
		wanted->condition_count = 1;
		pods[0] = wanted;
		count = node_sample(&capacities, &cluster, pods, 1, &s.arena, &sample);
		assert_in_range(count, 1, NODE_SAMPLE_NODES_MAX);
		node_demand_init(&demand, &wanted->spec, false, capacities.devices, &s.arena);
		node_fit_best(&demand, &capacities, &s.arena, &best);
		for (size_t i = 0; i < count; i++) {
			struct node_fit fit;

			node_fit_check(&demand, sample[i], &s.arena, &fit);
			if (fit.level > of_sample.level ||
			    (fit.level == of_sample.level && fit.cost < of_sample.cost))
				of_sample = fit;
			assert_true(i == 0 || sample[i] > sample[i - 1]);
		}
		assert_ptr_equal(of_sample.capacity, best.capacity);
		assert_string_equal(of_sample.why, best.why);
		arena_done(&s.arena);
	}
}

/* A step of a gang of kube-scheduler may need more free Nodes than a message does. */
static void test_sample_of_a_gang_has_the_free_nodes(void **state)
{
	struct node_scene s = { .arena = ARENA_INIT };
	struct node_capacities capacities;
	const struct node_capacity **sample = NULL;
	struct worker_group group = { .name = "g", .max_replicas = 5, .num_of_hosts = 4 };
	struct ray_cluster cluster = { .groups = &group, .group_count = 1 };
	const struct pod *pods[1];

	(void)state;
	for (int i = 0; i < 30; i++)
		scene_node(&s, arena_printf(&s.arena, "n-%02d", i), "nvidia.com/gpu=8", "");
	scene_capacities(&s, &capacities);
	pods[0] = scene_pod(&s, "w", "", "nvidia.com/gpu=1");
	group.template.spec = pods[0]->spec;
	assert_int_equal(node_sample(&capacities, &cluster, pods, 1, &s.arena, &sample),
			 NODE_SAMPLE_NODES_MAX);
	group.template.spec.pod_group = "demo";
	assert_int_equal(node_sample(&capacities, &cluster, pods, 1, &s.arena, &sample), 20);
	group.max_replicas = INT32_MAX;
	assert_int_equal(node_sample(&capacities, &cluster, pods, 1, &s.arena, &sample), 30);
	arena_done(&s.arena);
}

static void test_amounts_in_words(void **state)
{
	struct arena arena = ARENA_INIT;

	(void)state;
	assert_string_equal(pod_request_text(&arena, "cpu", 5000), "0.5");
	assert_string_equal(pod_request_text(&arena, "memory", 512 * RESOURCE_UNIT), "512");
	assert_string_equal(pod_request_text(&arena, "memory", INT64_C(1610612736) * RESOURCE_UNIT),
			    "1.5Gi");
	assert_string_equal(pod_request_text(&arena, "hugepages-2Mi", 2097152 * RESOURCE_UNIT),
			    "2Mi");
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_c2_gpu_mem_fits_one_device),
		cmocka_unit_test(test_c2_forecast),
		cmocka_unit_test(test_never_by_label_taint_and_size),
		cmocka_unit_test(test_affinity_in_words),
		cmocka_unit_test(test_a7_taint_of_the_resource),
		cmocka_unit_test(test_passing_taints_do_not_count),
		cmocka_unit_test(test_node_without_the_resource),
		cmocka_unit_test(test_other_resources),
		cmocka_unit_test(test_digest_takes_the_same_room),
		cmocka_unit_test(test_pods_leave_what_was_there),
		cmocka_unit_test(test_sums_are_exact_above_the_largest_amount),
		cmocka_unit_test(test_digest_has_a_ceiling),
		cmocka_unit_test(test_sample_has_the_best_node),
		cmocka_unit_test(test_sample_of_a_gang_has_the_free_nodes),
		cmocka_unit_test(test_amounts_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
