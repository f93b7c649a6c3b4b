/* Free devices of ResourceSlices, which of them selectors match, and for how many Pods they are
 * enough. */
#include "feature/device_claims/core/device_count.h"

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
	struct device_free *devices = make(scene);
	struct device_matches matches;
	struct device_count count;
	struct device_judge judge;

	device_judge_init(&judge, devices, &scene->arena);
	matches = device_judge_ask(&judge, ask);
	device_judge_done(&judge);
	device_count_all(devices, ask, &matches, &count);
	assert_int_equal(count.total, total);
	assert_int_equal(count.free, free);
	assert_int_equal(count.claimed, claimed);
	assert_int_equal(count.tainted, tainted);
	assert_int_equal(count.blocked, blocked);
}

static struct device_wants wants_of(struct scene *scene, const struct device_free *devices,
				    const struct claim_spec *spec)
{
	struct device_wants one = { .request_count = spec->request_count },
			    all = { .at = { NULL } };
	struct device_judge judge;

	device_judge_init(&judge, devices, &scene->arena);
	for (size_t r = 0; r < spec->request_count; r++) {
		ARRAY_EACH(const struct device_ask, ask, spec->requests[r].asks,
			   spec->requests[r].ask_count) {
			struct device_matches *matches =
				ARENA_NEW(&scene->arena, struct device_matches);
			/* Equal asks have the same matches, as in feature/device_claims/core/resolve. */
			const struct device_want *same = NULL;

			VEC_EACH(const struct device_want, other, &one.at)
				if (ask->selectors.count + other->ask->selectors.count == 0 &&
				    strcmp(other->ask->device_class, ask->device_class) == 0)
					same = other;
			*matches = device_judge_ask(&judge, ask);
			VEC_PUSH(&scene->arena, &one.at,
				 ((struct device_want){ ask, same ? same->matches : matches, r,
							ask->admin_access ? 0 : ask->count }));
		}
	}
	device_judge_done(&judge);
	device_wants_add(&all, &one, &scene->arena);
	return all;
}

/* On the Node of this name; NULL: on all. */
static int64_t fit_spec(struct scene *scene, const char *name, const struct claim_spec *spec)
{
	const struct label wanted = { "node", name };
	const struct pod_spec pod = { .node_selector = { &wanted, name != NULL } };
	struct node *nodes = arena_array(&scene->arena, scene->slices.count, sizeof(*nodes));
	struct device_free *free = make(scene);
	struct device_place place = { .free = free, .spec = &pod, .nodes = nodes };
	struct device_wants wants = wants_of(scene, free, spec);

	for (size_t i = 0; name && i < scene->slices.count; i++) {
		struct label *label = ARENA_NEW(&scene->arena, struct label);

		nodes[i].name = scene->slices.at[i].node_name;
		*label = (struct label){ "node", nodes[i].name };
		nodes[i].labels = (struct labels){ label, 1 };
		place.node_count++;
	}
	return device_count_pods(&place, &wants, 1000, &scene->arena);
}

static int64_t fit_ask(struct scene *scene, const char *name, const struct device_ask *ask)
{
	const struct device_request request = { "gpus", ask, 1 };
	const struct claim_spec spec = { &request, 1 };

	return fit_spec(scene, name, &spec);
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
	struct device_judge judge;

	(void)state;
	add_slice(&scene, "a", devices, 1);
	ask.selectors = (struct strings){ unjudged_selector, 1 };
	device_judge_init(&judge, make(&scene), &scene.arena);
	assert_string_equal(device_judge_ask(&judge, &ask).problem, "function exists");
	assert_false(device_judge_is_sure(&judge, 0));
	device_judge_done(&judge);
	check_count(&scene, &ask, 1, 1, 0, 0, 0);
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
	/* Each by itself, although a whole GPU excludes its other half. */
	assert_int_equal(fit_ask(&scene, "a", &any), 4);
	whole.count = 2;
	assert_int_equal(fit_ask(&scene, "a", &whole), 0);
}

static void test_first_available(void **state)
{
	AUTO(scene_done) struct scene scene = { .arena = ARENA_INIT };
	struct device_ask asks[] = { ask_of(1), ask_of(2) };
	const struct device_request requests[] = { { "gpus", asks, 2 } };
	const struct claim_spec spec = { requests, 1 };
	const struct device devices[] = { gpu("gpu-0", "80Gi", &scene),
					  gpu("gpu-1", "40Gi", &scene),
					  gpu("gpu-2", "40Gi", &scene) };

	(void)state;
	asks[0].name = "large";
	asks[0].selectors = (struct strings){ memory_selector, 1 };
	asks[1].name = "small";
	add_slice(&scene, "a", devices, 3);
	/* The large one, and two small ones. */
	assert_int_equal(fit_spec(&scene, "a", &spec), 2);
	add_claim(&scene, "a", "gpu-0", 0);
	assert_int_equal(fit_spec(&scene, "a", &spec), 1);
	add_claim(&scene, "a", "gpu-1", 0);
	assert_int_equal(fit_spec(&scene, "a", &spec), 0);
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

/* Names without a domain are of the device's driver, in requests and in results. */
static void test_names_of_capacity(void **state)
{
	AUTO(scene_done) struct scene scene = { .arena = ARENA_INIT };
	const struct quantity plain[] = { { "memory", "30", true, 30 } };
	const struct quantity foreign[] = { { "other.example/memory", "30", true, 30 } };
	const struct quantity initial[] = { { "gpu.nvidia.com/memory", "20", true, 20 } };
	struct device_ask ask = ask_of(1);
	struct device devices[] = { gpu("gpu-0", "80Gi", &scene) };

	(void)state;
	devices[0].allow_multiple = true;
	devices[0].defaults = (struct quantities){ initial, 1 };
	add_slice(&scene, "a", devices, 1);
	assert_int_equal(fit_ask(&scene, "a", &ask), 4);
	ask.capacity = (struct quantities){ plain, 1 };
	assert_int_equal(fit_ask(&scene, "a", &ask), 2);
	add_claim(&scene, "a", "gpu-0", 21);
	((struct quantity *)scene.claims.at[0].results[0].consumed.at)->name = "memory";
	assert_int_equal(fit_ask(&scene, "a", &ask), 1);
	ask.capacity = (struct quantities){ foreign, 1 };
	assert_int_equal(fit_ask(&scene, "a", &ask), 0);
}

/* Requests for the same devices are counted together, others alone: never fewer than fit. */
static void test_requests_of_one_pod(void **state)
{
	AUTO(scene_done) struct scene scene = { .arena = ARENA_INIT };
	struct device_ask two = ask_of(2), one = ask_of(1), admin = ask_of(7);
	const struct device_request requests[] = { { "gpus", &two, 1 },
						   { "more", &one, 1 },
						   { "watch", &admin, 1 } };
	const struct device devices[] = { gpu("gpu-0", "80Gi", &scene),
					  gpu("gpu-1", "40Gi", &scene),
					  gpu("gpu-2", "40Gi", &scene),
					  gpu("gpu-3", "40Gi", &scene) };
	const struct claim_spec spec = { requests, 3 };

	(void)state;
	admin.admin_access = true;
	add_slice(&scene, "a", devices, 4);
	add_slice(&scene, "b", devices, 2);
	assert_int_equal(fit_spec(&scene, NULL, &spec), 1);
	two.count = 1;
	assert_int_equal(fit_spec(&scene, NULL, &spec), 3);
	one.device_class = "missing";
	assert_int_equal(fit_spec(&scene, NULL, &spec), 0);
}

/* Devices of no single Node are free for each Node, and once in all. */
static void test_devices_of_no_single_node(void **state)
{
	AUTO(scene_done) struct scene scene = { .arena = ARENA_INIT };
	struct device_ask ask = ask_of(1);
	const struct device devices[] = { gpu("gpu-0", "80Gi", &scene),
					  gpu("gpu-1", "40Gi", &scene),
					  gpu("gpu-2", "40Gi", &scene) };
	struct resource_slice *slice;

	(void)state;
	slice = add_slice(&scene, "loose", devices, 3);
	slice->node_name = "";
	slice->all_nodes = true;
	assert_int_equal(fit_ask(&scene, NULL, &ask), 3);
	add_slice(&scene, "a", devices, 1);
	add_slice(&scene, "b", devices, 1);
	assert_int_equal(fit_ask(&scene, NULL, &ask), 5);
	ask.count = 4;
	assert_int_equal(fit_ask(&scene, NULL, &ask), 1);
}

/* A text is judged once, and above the steps of its namespace all of its devices match. */
static void test_steps(void **state)
{
	AUTO(scene_done) struct scene scene = { .arena = ARENA_INIT };
	struct device_ask ask = ask_of(1);
	struct device devices[100];
	struct device_matches matches;
	struct device_judge judge;
	size_t before, first;

	(void)state;
	for (size_t i = 0; i < 100; i++)
		devices[i] = gpu(arena_printf(&scene.arena, "gpu-%zu", i), "40Gi", &scene);
	add_slice(&scene, "a", devices, 100);
	device_judge_init(&judge, make(&scene), &scene.arena);
	before = judge.steps_left;
	(void)device_judge_ask(&judge, &ask);
	first = before - judge.steps_left;
	assert_in_range(first, 100, 5000);
	before = judge.steps_left;
	(void)device_judge_ask(&judge, &ask);
	assert_int_equal(before - judge.steps_left, 100); /* the set alone */
	ask.selectors = (struct strings){ memory_selector, 1 };
	for (judge.steps_left = 0; judge.steps_left < 3000; judge.steps_left += 500) {
		size_t steps = judge.steps_left;

		matches = device_judge_ask(&judge, &ask);
		assert_in_range(judge.steps_left, 0, steps);
		if (matches.set.bits)
			break;
		assert_true(device_matches_has(&matches, 7));
		judge.steps_left = steps;
	}
	assert_non_null(matches.set.bits);
	assert_false(device_matches_has(&matches, 7));
	device_judge_done(&judge);
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
	/* 72 bytes a device, an index, and a set: counters are not kept. */
	assert_true(scene.arena.used_bytes - before < 10 << 20);
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
		cmocka_unit_test(test_names_of_capacity),
		cmocka_unit_test(test_requests_of_one_pod),
		cmocka_unit_test(test_devices_of_no_single_node),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_many_slices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
