/* Free devices of ResourceSlices, and how many Pods with a claim fit on a Node. */
#include "feature/device_claims/core/device_free.h"

#include <string.h>

#include "base/memory.h"
#include "test/support/support.h"

#define MANY 10000 /* slices of the largest case */

static const struct toleration tolerate_all[] = { { "", "Exists", "", "" } };
static const struct taint unhealthy[] = { { "unhealthy", "", "NoSchedule" } };
static const char *const gpu_selector[] = { "device.driver == 'gpu.nvidia.com'" };
static const char *const memory_selector[] = {
	"device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('80Gi')) >= 0"
};
static const char *const unjudged_selector[] = { "device.attributes['a'].exists(x, true)" };
static const struct device_class classes[] = {
	{ .name = "gpu", .resource_version = "", .selectors = { gpu_selector, 1 }, "" },
};

/* A cluster under construction. */
struct scene {
	struct arena arena;
	VEC(struct resource_slice) slices;
	VEC(struct resource_claim) claims;
	struct device_objects objects;
};

static void scene_done(struct scene *scene)
{
	arena_done(&scene->arena);
}

static struct device gpu(const char *name, const char *memory, struct scene *scene)
{
	struct quantity *capacity = ARENA_NEW(&scene->arena, struct quantity);

	*capacity = (struct quantity){ "gpu.nvidia.com/memory", memory, true,
				       memory[0] == '8' ? 80 : 40 };
	return (struct device){ .name = name, .node_name = "", .capacity = { capacity, 1 } };
}

/* One slice of the pool `node` with a copy of the devices. */
static struct resource_slice *add_slice(struct scene *scene, const char *node,
					const struct device *devices, size_t count)
{
	struct device *copy = arena_array(&scene->arena, count, sizeof(*copy));
	struct resource_slice *slice = VEC_ADD(&scene->arena, &scene->slices);

	if (count > 0)
		memcpy(copy, devices, count * sizeof(*copy));
	*slice = (struct resource_slice){ .name = node,
					  .driver = "gpu.nvidia.com",
					  .pool = node,
					  .generation = 1,
					  .slice_count = 1,
					  .node_name = node,
					  .devices = copy,
					  .device_count = count };
	return slice;
}

static void add_claim(struct scene *scene, const char *pool, const char *device, int64_t consumed)
{
	struct claim_result *result = ARENA_NEW(&scene->arena, struct claim_result);
	struct quantity *amount = ARENA_NEW(&scene->arena, struct quantity);

	*amount = (struct quantity){ "gpu.nvidia.com/memory", "", true, consumed };
	*result = (struct claim_result){ .request = "gpus",
					 .driver = "gpu.nvidia.com",
					 .pool = pool,
					 .device = device,
					 .consumed = { amount, consumed > 0 } };
	VEC_PUSH(&scene->arena, &scene->claims,
		 ((struct resource_claim){
			 .name = "c", .allocated = true, .results = result, .result_count = 1 }));
}

static struct device_free *make(struct scene *scene)
{
	scene->objects = (struct device_objects){ .slices_known = true,
						  .classes_known = true,
						  .claims_known = true,
						  .slices = scene->slices.at,
						  .slice_count = scene->slices.count,
						  .classes = classes,
						  .class_count = SUPPORT_COUNT(classes),
						  .claims = scene->claims.at,
						  .claim_count = scene->claims.count };
	return device_free_make(&scene->objects, &scene->arena);
}

static struct device_ask ask_of(int64_t count)
{
	return (struct device_ask){ .name = "", .device_class = "gpu", .count = count };
}

static void check_count(struct scene *scene, const struct device_ask *ask, int64_t total,
			int64_t free, int64_t claimed, int64_t tainted, int64_t blocked)
{
	struct device_count count;

	device_free_count(make(scene), ask, &scene->arena, &count);
	assert_int_equal(count.total, total);
	assert_int_equal(count.free, free);
	assert_int_equal(count.claimed, claimed);
	assert_int_equal(count.tainted, tainted);
	assert_int_equal(count.blocked, blocked);
}

/* On the Node of this name; NULL: on all. */
static struct device_fit fit_spec(struct scene *scene, const char *name,
				  const struct claim_spec *spec)
{
	const struct label wanted = { "node", name };
	const struct pod_spec pod = { .node_selector = { &wanted, 1 } };
	const struct claim_spec *specs[] = { spec };
	struct node *nodes = arena_array(&scene->arena, scene->slices.count, sizeof(*nodes));
	struct device_pods pods = { .specs = specs, .spec_count = 1, .most = 1000 };
	struct device_free *free = make(scene), *copy = device_free_copy(free, &scene->arena);
	struct device_fit fit, again;

	for (size_t i = 0; name && i < scene->slices.count; i++) {
		struct label *label = ARENA_NEW(&scene->arena, struct label);

		nodes[i].name = scene->slices.at[i].node_name;
		*label = (struct label){ "node", nodes[i].name };
		nodes[i].labels = (struct labels){ label, 1 };
		pods.node_count++;
		pods.spec = &pod;
	}
	pods.nodes = nodes;
	device_free_fit(free, &pods, &scene->arena, &fit);
	/* Nothing is left changed. */
	device_free_fit(free, &pods, &scene->arena, &again);
	assert_int_equal(fit.pods, again.pods);
	/* In the copy they are taken. */
	pods.keep = true;
	device_free_fit(copy, &pods, &scene->arena, &again);
	assert_int_equal(fit.pods, again.pods);
	device_free_fit(copy, &pods, &scene->arena, &again);
	if (!fit.unknown && fit.pods < pods.most)
		assert_int_equal(again.pods, 0);
	return fit;
}

static int64_t fit_ask(struct scene *scene, const char *name, const struct device_ask *ask)
{
	const struct device_request request = { "gpus", ask, 1 };
	const struct claim_spec spec = { &request, 1, NULL, 0 };
	struct device_fit fit = fit_spec(scene, name, &spec);

	assert_false(fit.unknown);
	return fit.pods;
}

static void test_generations(void **state)
{
	AUTO(scene_done) struct scene scene = { .arena = ARENA_INIT };
	const struct device_ask ask = ask_of(1);
	const struct device one[] = { gpu("gpu-0", "80Gi", &scene) };
	const struct device two[] = { gpu("gpu-1", "80Gi", &scene) };

	(void)state;
	check_count(&scene, &ask, 0, 0, 0, 0, 0);
	add_slice(&scene, "a", one, 1);
	add_slice(&scene, "b", one, 1);
	check_count(&scene, &ask, 2, 2, 0, 0, 0);
	/* Half of the next generation: the pool is not used, neither the old nor the new one. */
	*add_slice(&scene, "a", one, 1) = (struct resource_slice){ .name = "a-2",
								   .driver = "gpu.nvidia.com",
								   .pool = "a",
								   .generation = 2,
								   .slice_count = 2,
								   .node_name = "a",
								   .devices = one,
								   .device_count = 1 };
	check_count(&scene, &ask, 1, 1, 0, 0, 0);
	assert_int_equal(fit_ask(&scene, "a", &ask), 0);
	*add_slice(&scene, "a", two, 1) = (struct resource_slice){ .name = "a-3",
								   .driver = "gpu.nvidia.com",
								   .pool = "a",
								   .generation = 2,
								   .slice_count = 2,
								   .node_name = "a",
								   .devices = two,
								   .device_count = 1 };
	check_count(&scene, &ask, 3, 3, 0, 0, 0);
	assert_int_equal(fit_ask(&scene, "a", &ask), 2);
	assert_int_equal(fit_ask(&scene, "b", &ask), 1);
	assert_int_equal(fit_ask(&scene, "c", &ask), 0);
}

static void test_claimed_and_tainted(void **state)
{
	AUTO(scene_done) struct scene scene = { .arena = ARENA_INIT };
	struct device_ask ask = ask_of(1);
	struct device devices[] = { gpu("gpu-0", "80Gi", &scene), gpu("gpu-1", "80Gi", &scene),
				    gpu("gpu-2", "80Gi", &scene), gpu("gpu-3", "40Gi", &scene) };

	(void)state;
	devices[1].taints = unhealthy;
	devices[1].taint_count = 1;
	add_slice(&scene, "a", devices, 4);
	add_claim(&scene, "a", "gpu-0", 0);
	add_claim(&scene, "a", "gpu-9", 0);
	add_claim(&scene, "z", "gpu-2", 0);
	check_count(&scene, &ask, 4, 2, 1, 1, 0);
	assert_int_equal(fit_ask(&scene, "a", &ask), 2);
	ask.selectors = (struct strings){ memory_selector, 1 };
	check_count(&scene, &ask, 3, 1, 1, 1, 0);
	assert_int_equal(fit_ask(&scene, "a", &ask), 1);
	ask.tolerations = tolerate_all;
	ask.toleration_count = 1;
	check_count(&scene, &ask, 3, 2, 1, 0, 0);
	assert_int_equal(fit_ask(&scene, "a", &ask), 2);
	/* All of them: one is claimed. */
	ask.all = true;
	assert_int_equal(fit_ask(&scene, "a", &ask), 0);
	scene.claims.count = 0;
	assert_int_equal(fit_ask(&scene, "a", &ask), 1);
	ask.device_class = "missing";
	check_count(&scene, &ask, 0, 0, 0, 0, 0);
}

static void test_unjudged(void **state)
{
	AUTO(scene_done) struct scene scene = { .arena = ARENA_INIT };
	struct device_ask ask = ask_of(1);
	const struct device devices[] = { gpu("gpu-0", "80Gi", &scene) };
	struct device_count count;

	(void)state;
	add_slice(&scene, "a", devices, 1);
	ask.selectors = (struct strings){ unjudged_selector, 1 };
	device_free_count(make(&scene), &ask, &scene.arena, &count);
	assert_true(count.unjudged);
	assert_int_equal(count.free, 1);
	assert_int_equal(fit_ask(&scene, "a", &ask), 1);
}

/* Two GPUs of 8 memory slices each: a whole GPU, two halves and 8 parts of each, as NVIDIA's driver
 * publishes MIG. */
static void add_mig(struct scene *scene)
{
	static const struct quantity whole[] = { { "slices", "8", true, 8 } };
	static const struct quantity half[] = { { "slices", "4", true, 4 } };
	static const struct device_counters shared[] = { { "set-0", { whole, 1 } },
							 { "set-1", { whole, 1 } } };
	struct resource_slice *slice;
	VEC(struct device) devices = { .at = NULL };

	for (int i = 0; i < 2; i++) {
		for (int part = 0; part < 3; part++) {
			struct device one = gpu(arena_printf(&scene->arena, "gpu-%d-%d", i, part),
						part == 0 ? "80Gi" : "40Gi", scene);
			struct device_counters *uses =
				ARENA_NEW(&scene->arena, struct device_counters);

			*uses = (struct device_counters){ shared[i].set,
							  { part == 0 ? whole : half, 1 } };
			one.consumes = uses;
			one.consumes_count = 1;
			VEC_PUSH(&scene->arena, &devices, one);
		}
	}
	slice = add_slice(scene, "a", devices.at, devices.count);
	slice->shared = shared;
	slice->shared_count = 2;
}

static void test_counters(void **state)
{
	AUTO(scene_done) struct scene scene = { .arena = ARENA_INIT };
	struct device_ask whole = ask_of(1), any = ask_of(1);

	(void)state;
	whole.selectors = (struct strings){ memory_selector, 1 };
	add_mig(&scene);
	check_count(&scene, &whole, 2, 2, 0, 0, 0);
	assert_int_equal(fit_ask(&scene, "a", &whole), 2);
	/* A half is claimed: the whole GPU beside it cannot be allocated, the other half can. */
	add_claim(&scene, "a", "gpu-0-1", 0);
	check_count(&scene, &whole, 2, 1, 0, 0, 1);
	check_count(&scene, &any, 6, 4, 1, 0, 1);
	assert_int_equal(fit_ask(&scene, "a", &whole), 1);
	/* The other half, and a whole GPU. */
	assert_int_equal(fit_ask(&scene, "a", &any), 2);
	whole.count = 2;
	assert_int_equal(fit_ask(&scene, "a", &whole), 0);
}

static void test_first_available(void **state)
{
	AUTO(scene_done) struct scene scene = { .arena = ARENA_INIT };
	struct device_ask asks[] = { ask_of(1), ask_of(2) };
	const struct device_request requests[] = { { "gpus", asks, 2 } };
	const struct claim_spec spec = { requests, 1, NULL, 0 };
	const struct device devices[] = { gpu("gpu-0", "80Gi", &scene),
					  gpu("gpu-1", "40Gi", &scene),
					  gpu("gpu-2", "40Gi", &scene) };

	(void)state;
	asks[0].name = "large";
	asks[0].selectors = (struct strings){ memory_selector, 1 };
	asks[1].name = "small";
	add_slice(&scene, "a", devices, 3);
	/* The large one; then two small ones. */
	assert_int_equal(fit_spec(&scene, "a", &spec).pods, 2);
	add_claim(&scene, "a", "gpu-0", 0);
	assert_int_equal(fit_spec(&scene, "a", &spec).pods, 1);
	add_claim(&scene, "a", "gpu-1", 0);
	assert_int_equal(fit_spec(&scene, "a", &spec).pods, 0);
}

static void test_shared_capacity(void **state)
{
	AUTO(scene_done) struct scene scene = { .arena = ARENA_INIT };
	const struct quantity asked[] = { { "gpu.nvidia.com/memory", "30", true, 30 } };
	const struct quantity other[] = { { "gpu.nvidia.com/other", "1", true, 1 } };
	struct device_ask ask = ask_of(1);
	struct device devices[] = { gpu("gpu-0", "80Gi", &scene) };

	(void)state;
	devices[0].allow_multiple = true;
	add_slice(&scene, "a", devices, 1);
	assert_int_equal(fit_ask(&scene, "a", &ask), 1); /* all of it */
	ask.capacity = (struct quantities){ asked, 1 };
	assert_int_equal(fit_ask(&scene, "a", &ask), 2);
	ask.count = 2;
	assert_int_equal(fit_ask(&scene, "a", &ask), 1);
	ask.count = 1;
	add_claim(&scene, "a", "gpu-0", 40);
	assert_int_equal(fit_ask(&scene, "a", &ask), 1);
	add_claim(&scene, "a", "gpu-0", 20);
	check_count(&scene, &ask, 1, 0, 0, 0, 1);
	assert_int_equal(fit_ask(&scene, "a", &ask), 0);
	scene.claims.count = 0;
	ask.capacity = (struct quantities){ other, 1 };
	assert_int_equal(fit_ask(&scene, "a", &ask), 0);
}

static void test_match_attribute(void **state)
{
	static const char *const both[] = { "gpus", "more/x" };
	static const struct device_attribute roots[] = {
		{ "resource.kubernetes.io/pcieRoot", ATTRIBUTE_STRING, "0", 0 },
		{ "resource.kubernetes.io/pcieRoot", ATTRIBUTE_STRING, "1", 0 },
	};
	AUTO(scene_done) struct scene scene = { .arena = ARENA_INIT };
	struct device_ask two = ask_of(2), one = ask_of(1);
	const struct device_request requests[] = { { "gpus", &two, 1 }, { "more", &one, 1 } };
	struct device_constraint constraint = { { NULL, 0 }, "resource.kubernetes.io/pcieRoot" };
	struct claim_spec spec = { requests, 1, &constraint, 1 };
	struct device devices[6];

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		devices[i] = gpu(arena_printf(&scene.arena, "gpu-%zu", i), "80Gi", &scene);
		devices[i].attributes = &roots[i % 2];
		devices[i].attribute_count = i < 5; /* the last one has none */
	}
	add_slice(&scene, "a", devices, 6);
	/* Roots 0: three devices, 1: two. */
	assert_int_equal(fit_spec(&scene, "a", &spec).pods, 2);
	spec.request_count = 2;
	assert_int_equal(fit_spec(&scene, "a", &spec).pods, 1);
	one.count = 2;
	assert_int_equal(fit_spec(&scene, "a", &spec).pods, 0);
	constraint.requests = (struct strings){ both, 1 };
	assert_int_equal(fit_spec(&scene, "a", &spec).pods, 1);
	one.name = "x";
	constraint.requests = (struct strings){ both, 2 };
	assert_int_equal(fit_spec(&scene, "a", &spec).pods, 0);
}

/* No combination has one root: the search ends at its limit, and says so. */
static void test_search_is_bounded(void **state)
{
	AUTO(scene_done) struct scene scene = { .arena = ARENA_INIT };
	struct device_ask ask = ask_of(9);
	const struct device_request request = { "gpus", &ask, 1 };
	const struct device_constraint constraint = { { NULL, 0 }, "d/root" };
	const struct claim_spec spec = { &request, 1, &constraint, 1 };
	struct device_attribute roots[64];
	struct device devices[64];

	(void)state;
	for (size_t i = 0; i < 64; i++) {
		roots[i] =
			(struct device_attribute){ "d/root", ATTRIBUTE_INT, "", (int64_t)(i / 32) };
		devices[i] = gpu(arena_printf(&scene.arena, "gpu-%zu", i), "80Gi", &scene);
		devices[i].attributes = &roots[i];
		devices[i].attribute_count = 1;
	}
	add_slice(&scene, "a", devices, 64);
	assert_int_equal(fit_spec(&scene, "a", &spec).pods, 6);
	ask.count = 33;
	assert_true(fit_spec(&scene, "a", &spec).unknown);
	ask.count = INT64_MAX;
	assert_int_equal(fit_spec(&scene, "a", &spec).pods, 0);
	assert_false(fit_spec(&scene, "a", &spec).unknown);
}

/* Searches of one decision share a limit; one that it ends counts as fitting. */
static void test_searches_share_a_limit(void **state)
{
	AUTO(scene_done) struct scene scene = { .arena = ARENA_INIT };
	struct device_ask ask = ask_of(1);
	const struct device_request request = { "gpus", &ask, 1 };
	const struct claim_spec spec = { &request, 1, NULL, 0 };
	const struct claim_spec *specs[] = { &spec };
	const struct device_pods pods = { .specs = specs, .spec_count = 1, .most = 1 };
	struct device devices[100];
	struct device_free *free;
	struct device_fit fit = { .unknown = false };
	size_t searches = 0;

	(void)state;
	for (size_t i = 0; i < 100; i++)
		devices[i] = gpu(arena_printf(&scene.arena, "gpu-%zu", i), "40Gi", &scene);
	ask.selectors = (struct strings){ memory_selector, 1 };
	add_slice(&scene, "a", devices, 100);
	for (free = make(&scene); !fit.unknown && searches < DEVICE_STEPS_MAX; searches++) {
		device_free_fit(free, &pods, &scene.arena, &fit);
		assert_int_equal(fit.pods, 0);
	}
	assert_int_equal(searches, DEVICE_STEPS_MAX / 100 + 1);
}

/* 10,000 slices of 10 devices with 10 counters each: 10^6 counters. */
static void test_many_slices(void **state)
{
	AUTO(scene_done) struct scene scene = { .arena = ARENA_INIT };
	struct quantity counters[10];
	const struct device_counters set = { "set", { counters, 10 } };
	const struct device_counters sets[10] = { set, set, set, set, set, set, set, set, set, set };
	const struct device_ask ask = ask_of(1);
	struct device devices[10];

	(void)state;
	for (size_t i = 0; i < 10; i++) {
		counters[i] = (struct quantity){ arena_printf(&scene.arena, "counter-%zu", i), "",
						 true, 10 };
		devices[i] = gpu(arena_printf(&scene.arena, "gpu-%zu", i), "80Gi", &scene);
		devices[i].consumes = &set;
		devices[i].consumes_count = 1;
	}
	for (size_t i = 0; i < MANY; i++) {
		struct resource_slice *slice =
			add_slice(&scene, arena_printf(&scene.arena, "node-%zu", i), devices, 10);

		slice->shared = sets;
		slice->shared_count = 10;
	}
	add_claim(&scene, "node-77", "gpu-3", 0);
	size_t before = scene.arena.used_bytes;

	check_count(&scene, &ask, 10 * MANY, 10 * MANY - 10, 1, 0, 9);
	/* 32 bytes a counter, 16 a use, and the arrays that grew. */
	assert_true(scene.arena.used_bytes - before < 200 << 20);
	assert_int_equal(fit_ask(&scene, NULL, &ask), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_generations),
		cmocka_unit_test(test_claimed_and_tainted),
		cmocka_unit_test(test_unjudged),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_first_available),
		cmocka_unit_test(test_shared_capacity),
		cmocka_unit_test(test_match_attribute),
		cmocka_unit_test(test_search_is_bounded),
		cmocka_unit_test(test_many_slices),
		cmocka_unit_test(test_searches_share_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
