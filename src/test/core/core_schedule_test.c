#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/bounded_run.h"
#include "test/support/schedule_support.h"

struct world {
	struct arena arena;
	struct schedule_type types[4];
	struct schedule_node nodes[32];
	struct schedule_demand demands[8];
	struct ray_gang gangs[8];
	struct schedule_problem problem;
};

/* A head with 4 CPU (all taken), group 1 "cpu" of 8 CPU, group 2 "gpu" of 8 CPU and 2 GPU, group 3
 * "slice" of 4 CPU and 4 GPU on 4 hosts. */
static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct arena *a = &w->arena;

	w->types[0] = type_of("headgroup", resources_of(a, "CPU", UNITS(4), NULL), 0, 1);
	w->types[1] = type_of("cpu", resources_of(a, "CPU", UNITS(8), NULL), 0, 10);
	w->types[2] = type_of("gpu", resources_of(a, "CPU", UNITS(8), "GPU", UNITS(2), NULL), 0, 5);
	w->types[3] =
		type_of("slice", resources_of(a, "CPU", UNITS(4), "GPU", UNITS(4), NULL), 0, 0);
	w->types[3].hosts = 4;
	w->nodes[0] = running_of(w->types, 0, 0, resources_of(a, "CPU", UNITS(0), NULL));
	w->problem = (struct schedule_problem){
		.types = w->types,
		.type_count = 4,
		.nodes = w->nodes,
		.node_count = 1,
		.gangs = w->gangs,
		.demands = w->demands,
		.conserve_accelerators = true,
	};
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	arena_done(&w->arena);
	free(w);
	return 0;
}

static void ask(struct world *w, struct resources resources, int64_t count)
{
	w->demands[w->problem.demand_count++] =
		(struct schedule_demand){ .request = request_of(&w->arena, resources),
					  .count = count };
}

static struct schedule_result *run(struct world *w)
{
	return schedule(&w->problem, &w->arena);
}

static void two_gpu_actors_launch_what_they_need(void **state)
{
	struct world *w = *state;
	struct schedule_result *result;

	ask(w, resources_of(&w->arena, "CPU", UNITS(1), "GPU", UNITS(1), NULL), 3);
	result = run(w);
	assert_int_equal(result->launches[2], 2);
	assert_int_equal(result->launches[1], 0);
	assert_int_equal(result->node_count, 3);
	assert_int_equal(result->nodes[1].placement_count, 1);
	assert_int_equal(result->nodes[1].placements[0].count, 2);
	assert_int_equal(result->nodes[2].placements[0].count, 1);
	assert_int_equal(result->nodes[2].launch_phase, SCHEDULE_PHASE_DEMAND);
	assert_int_equal(result->demands[0].count, 0);
}

static void cpu_demand_spares_accelerators(void **state)
{
	struct world *w = *state;
	struct schedule_result *result;

	ask(w, resources_of(&w->arena, "CPU", UNITS(8), NULL), 12);
	result = run(w);
	assert_int_equal(result->launches[1], 10);
	assert_int_equal(result->launches[2], 2);
	w->types[1].max_nodes = 0;
	result = run(w);
	assert_int_equal(result->launches[2], 5);
	assert_int_equal(result->demands[0].count, 7);
	assert_int_equal(result->demands[0].limit, SCHEDULE_LIMIT_MAX_PER_TYPE);
	assert_int_equal(result->demands[0].limit_type, 1);
}

static void launched_nodes_of_a_slice_are_capacity(void **state)
{
	struct world *w = *state;
	struct schedule_result *result;

	w->types[3].max_nodes = 8;
	w->types[2].max_nodes = 0;
	ask(w, resources_of(&w->arena, "GPU", UNITS(4), NULL), 5);
	result = run(w);
	assert_int_equal(result->launches[3], 8);
	assert_int_equal(result->demands[0].count, 0);
	w->types[3].max_nodes = 7;
	result = run(w);
	assert_int_equal(result->launches[3], 4);
	assert_int_equal(result->demands[0].count, 1);
}

static void parts_of_a_gpu_are_not_split_on_new_nodes(void **state)
{
	struct world *w = *state;
	struct schedule_result *result;

	ask(w, resources_of(&w->arena, "GPU", UNITS(0.6), NULL), 3);
	result = run(w);
	assert_int_equal(result->launches[2], 2);
	w->nodes[1] = running_of(w->types, 2, 1,
				 resources_of(&w->arena, "CPU", UNITS(8), "GPU", UNITS(1.2), NULL));
	w->problem.node_count = 2;
	w->demands[0].count = 2;
	result = run(w); /* the sum of a living worker counts, as in Ray */
	assert_int_equal(result->launches[2], 0);
}

static void gangs_are_all_or_nothing(void **state)
{
	struct world *w = *state;
	struct ray_request *bundle =
		request_of(&w->arena, resources_of(&w->arena, "GPU", UNITS(1), NULL));
	struct schedule_result *result;

	w->gangs[0] = gang_of(&w->arena, bundle, 6, 'S', "_PG_a");
	w->gangs[1] = gang_of(&w->arena, bundle, 5, 'S', "_PG_b");
	w->gangs[2] = gang_of(&w->arena, bundle, 2, 'P', "_PG_c");
	w->gangs[3] = gang_of(&w->arena, bundle, 3, 'P', "_PG_d");
	w->gangs[4] = (struct ray_gang){ .details = "" };
	w->problem.gang_count = 5;
	result = run(w);
	assert_int_equal(result->gangs[0].count, 1);
	assert_int_equal(result->gangs[1].count, 0);
	assert_int_equal(result->gangs[2].count, 1); /* five times one GPU is left */
	assert_int_equal(result->gangs[3].count, 1);
	assert_int_equal(result->gangs[4].count, 0);
	assert_int_equal(result->launches[2], 5);
	assert_false(schedule_gang_possible(&w->problem, &w->gangs[0], &w->arena));
	assert_true(schedule_gang_possible(&w->problem, &w->gangs[2], &w->arena));
	assert_false(schedule_gang_possible(&w->problem, &w->gangs[3], &w->arena));
}

static void limits_are_named(void **state)
{
	struct world *w = *state;
	struct schedule_result *result;

	ask(w, resources_of(&w->arena, "GPU", UNITS(2), NULL), 4);
	w->problem.has_gpu_budget = true;
	w->problem.gpu_budget = UNITS(5);
	result = run(w);
	assert_int_equal(result->launches[2], 2);
	assert_int_equal(result->demands[0].count, 2);
	assert_int_equal(result->demands[0].limit, SCHEDULE_LIMIT_GPU_BUDGET);
	w->types[2].launch_held = true;
	result = run(w);
	assert_int_equal(result->launches[2], 0);
	assert_int_equal(result->demands[0].limit, SCHEDULE_LIMIT_HELD);
	w->types[2].launch_held = false;
	w->problem.has_gpu_budget = false;
	w->problem.has_max_nodes = true;
	w->problem.max_nodes = 4;
	result = run(w);
	assert_int_equal(result->launches[2], 3);
	assert_int_equal(result->demands[0].limit, SCHEDULE_LIMIT_MAX_NODES);
	w->demands[0].request =
		request_of(&w->arena, resources_of(&w->arena, "TPU", UNITS(1), NULL));
	result = run(w);
	assert_int_equal(result->demands[0].limit, SCHEDULE_LIMIT_NONE);
	assert_true(result->demands[0].limit_type == SCHEDULE_NO_INDEX);
}

static void idle_nodes_go_down_to_the_minimum(void **state)
{
	struct world *w = *state;
	struct schedule_result *result;

	for (size_t i = 1; i <= 3; i++) {
		w->nodes[i] = running_of(w->types, 1, i, w->types[1].resources);
		w->nodes[i].idle_ms = 60000 + (int64_t)i;
	}
	w->nodes[1].idle_ms = 60000;
	w->problem.node_count = 4;
	w->types[1].min_nodes = 2;
	result = run(w);
	assert_int_equal(result->nodes[1].status, SCHEDULE_KEEP);
	assert_int_equal(result->nodes[2].status, SCHEDULE_KEEP);
	assert_int_equal(result->nodes[3].status, SCHEDULE_TERMINATE);
	assert_int_equal(result->nodes[3].cause, SCHEDULE_CAUSE_IDLE);
	w->types[1].min_nodes = 0;
	ask(w, resources_of(&w->arena, "CPU", UNITS(8), NULL), 1);
	result = run(w); /* the first of equal nodes takes it */
	assert_int_equal(result->nodes[1].placement_count, 1);
	assert_int_equal(result->nodes[2].status, SCHEDULE_TERMINATE);
	assert_int_equal(result->nodes[3].status, SCHEDULE_TERMINATE);
}

static void a_replica_goes_as_a_whole(void **state)
{
	struct world *w = *state;
	struct schedule_result *result;

	w->types[3].max_nodes = 8;
	for (size_t i = 1; i <= 8; i++) {
		w->nodes[i] = running_of(w->types, 3, i, w->types[3].resources);
		w->nodes[i].idle_ms = 70000;
		w->nodes[i].replica = (i - 1) / 4;
	}
	w->nodes[2].idle_ms = 0;
	w->problem.node_count = 9;
	result = run(w);
	for (size_t i = 1; i <= 8; i++)
		assert_int_equal(result->nodes[i].status,
				 i <= 4 ? SCHEDULE_KEEP : SCHEDULE_TERMINATE);
	w->types[3].min_nodes = 8;
	result = run(w);
	for (size_t i = 1; i <= 8; i++)
		assert_int_equal(result->nodes[i].status, SCHEDULE_KEEP);
}

static void constraints_count_totals_and_protect(void **state)
{
	struct world *w = *state;
	struct schedule_demand bundles[1] = { {
		.request = request_of(&w->arena, resources_of(&w->arena, "GPU", UNITS(2), NULL)),
		.count = 7,
	} };
	struct schedule_constraint constraint = { .demands = bundles, .count = 1 };
	struct schedule_result *result;

	w->nodes[1] = running_of(w->types, 2, 1,
				 resources_of(&w->arena, "CPU", UNITS(8), "GPU", UNITS(0), NULL));
	w->nodes[2] = running_of(w->types, 1, 2, w->types[1].resources);
	w->nodes[1].idle_ms = w->nodes[2].idle_ms = 99000;
	w->problem.node_count = 3;
	w->problem.constraints = &constraint;
	w->problem.constraint_count = 1;
	result = run(w);
	assert_int_equal(result->launches[2], 4);
	assert_int_equal(result->constraints[0][0].count, 2);
	assert_int_equal(result->nodes[1].status, SCHEDULE_KEEP);
	assert_int_equal(result->nodes[2].status, SCHEDULE_TERMINATE);
	constraint.atomic = true;
	result = run(w);
	assert_int_equal(result->launches[2], 0);
	assert_int_equal(result->constraints[0][0].count, 7);
	assert_int_equal(result->nodes[1].status, SCHEDULE_TERMINATE);
}

/* Units of work for `count` lists, each with a name of its own, all of which 30 nodes have. */
static int64_t work_of_names(struct world *w, size_t count)
{
	struct arena *a = &w->arena;
	struct schedule_constraint *constraints = arena_array(a, count, sizeof(*constraints));
	int64_t before;

	w->types[1].resources = resources_of(a, "CPU", UNITS(1000), NULL);
	for (size_t i = 0; i < count; i++) {
		const char *name = arena_printf(a, "tool-%zu", i);
		struct resources bundle = resources_of(a, "CPU", UNITS(1), name, UNITS(1), NULL);

		w->types[1].resources =
			resources_with(a, &w->types[1].resources, name, UNITS(1000));
		constraints[i].demands =
			ARENA_PUT(a, (struct schedule_demand){ .request = request_of(a, bundle),
							       .count = 1 });
		constraints[i].count = 1;
	}
	for (size_t i = 1; i <= 30; i++)
		w->nodes[i] = running_of(w->types, 1, i, w->types[1].resources);
	w->problem.node_count = 31;
	w->problem.constraints = constraints;
	w->problem.constraint_count = count;
	before = bounded_units();
	(void)run(w);
	return bounded_units() - before;
}

static void a_list_reads_only_its_own_names_of_a_node(void **state)
{
	/* 9.9 million if each list reads all of them. */
	assert_true(work_of_names(*state, 200) < 2000000);
}

static void a_maximum_takes_launches_back_before_workers(void **state)
{
	struct world *w = *state;
	struct schedule_result *result;

	w->types[3].min_nodes = w->types[3].max_nodes = 8;
	w->nodes[1] = running_of(w->types, 1, 1, w->types[1].resources);
	w->problem.node_count = 2;
	w->problem.has_max_nodes = true;
	w->problem.max_nodes = 9;
	w->problem.terminate_over_max = true;
	result = run(w);
	assert_int_equal(result->launches[3], 4); /* one of ten is too many: a whole replica */
	assert_int_equal(result->node_count, 6);
	assert_int_equal(result->nodes[1].status, SCHEDULE_KEEP);
}

static void a_huge_count_costs_nothing(void **state)
{
	struct world *w = *state;
	struct schedule_result *result;

	w->types[1].max_nodes = INT64_C(2147483647) * 1000;
	ask(w, resources_of(&w->arena, "CPU", UNITS(1), NULL), INT64_MAX);
	ask(w, resources_of(&w->arena, NULL), INT64_MAX);
	result = run(w);
	assert_int_equal(result->launches[1], SCHEDULE_NEW_NODES_MAX);
	assert_int_equal(result->demands[0].limit, SCHEDULE_LIMIT_MAX_NODES);
	assert_int_equal(result->demands[1].count, 0);
}

static void fits_empty_minds_labels_and_parts(void **state)
{
	struct world *w = *state;
	struct arena *a = &w->arena;
	struct ray_request *request = request_of(a, resources_of(a, "GPU", UNITS(0.6), NULL));
	const char *zones[] = { "b", "a" };
	struct label_constraint in = { "zone", LABEL_OPERATOR_IN, { zones, 2 } };
	struct label_selector selector = { &in, 1 };
	struct label zone = { "zone", "a" };
	struct labels labels = { &zone, 1 }, none = { NULL, 0 };
	struct resources gpu = resources_of(a, "GPU", UNITS(1), NULL);

	assert_true(schedule_fits_empty(request, &gpu, &none));
	assert_false(schedule_fits_empty(request, &w->types[1].resources, &none));
	request->selectors = &selector;
	request->selector_count = 1;
	assert_false(schedule_fits_empty(request, &gpu, &none));
	assert_true(schedule_fits_empty(request, &gpu, &labels));
	in.operation = LABEL_OPERATOR_NOT_IN;
	assert_true(schedule_fits_empty(request, &gpu, &none));
	in.operation = 7;
	assert_false(schedule_fits_empty(request, &gpu, &labels));
	request->selector_count = 0;
	request->problem = "GPU is NaN";
	assert_false(schedule_fits_empty(request, &gpu, &none));
}

/* Two starting workers end in the same state, one of them with a bundle that has a selector. The larger
 * task is placed on the other, the smaller one then on this one and not on the running worker. */
static void placed_selectors_count_on_every_member_of_a_class(void **state)
{
	struct world *w = *state;
	struct arena *a = &w->arena;
	struct resources most = resources_of(a, "CPU", UNITS(7), NULL);
	struct ray_request *selecting = request_of(a, most);
	const char *zones[] = { "a" };
	struct label_constraint in = { "zone", LABEL_OPERATOR_IN, { zones, 1 } };
	struct label_selector selector = { &in, 1 };
	struct label zone = { "zone", "a" };
	struct schedule_result *result;

	selecting->selectors = &selector;
	selecting->selector_count = 1;
	w->types[1].labels = (struct labels){ &zone, 1 };
	w->types[1].resources =
		resources_of(a, "CPU", UNITS(8), "disk", UNITS(8), "net", UNITS(8), NULL);
	w->nodes[1] = starting_of(w->types, 1, 1);
	w->nodes[2] = starting_of(w->types, 1, 2);
	w->nodes[3] =
		running_of(w->types, 1, 3,
			   resources_of(a, "CPU", UNITS(0.1), "a", UNITS(1), "b", UNITS(1), NULL));
	w->nodes[3].total = resources_of(a, "CPU", UNITS(8), "a", UNITS(1), "b", UNITS(1), NULL);
	w->problem.node_count = 4;
	w->gangs[0] = gang_of(a, selecting, 1, 0, "selecting");
	w->gangs[1] = gang_of(a, request_of(a, most), 1, 0, "any");
	w->gangs[2] = gang_of(a, request_of(a, resources_of(a, "a", UNITS(1), "b", UNITS(1), NULL)),
			      1, 0, "ab");
	w->problem.gang_count = 3;
	ask(w, resources_of(a, "CPU", UNITS(1), "disk", UNITS(8), "net", UNITS(8), NULL), 1);
	ask(w, resources_of(a, "CPU", UNITS(0.1), NULL), 1);
	result = run(w);
	assert_int_equal(result->nodes[1].placement_count, 2);
	assert_int_equal(result->nodes[1].placements[1].index, 1);
	assert_int_equal(result->nodes[2].placement_count, 2);
	assert_int_equal(result->nodes[2].placements[1].index, 0);
	assert_int_equal(result->nodes[3].placement_count, 1);
}

/* The workers of two groups are alike but for the priority. */
static void of_workers_that_are_alike_the_better_group_is_first(void **state)
{
	struct world *w = *state;

	w->types[2].resources = w->types[1].resources;
	w->types[2].gpu_amount = 0;
	w->types[2].priority = 1;
	w->nodes[1] = starting_of(w->types, 1, 1);
	w->nodes[2] = starting_of(w->types, 2, 2);
	w->problem.node_count = 3;
	for (size_t i = 0; i < 2; i++)
		w->gangs[i] = gang_of(&w->arena,
				      request_of(&w->arena,
						 resources_of(&w->arena, "CPU", UNITS(5), NULL)),
				      1, 0, "gang");
	w->problem.gang_count = 1;
	assert_true(run(w)->nodes[2].needed);
	w->problem.gang_count = 2;
	assert_int_equal(run(w)->nodes[2].placements[0].index, 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(two_gpu_actors_launch_what_they_need),
		CASE(cpu_demand_spares_accelerators),
		CASE(launched_nodes_of_a_slice_are_capacity),
		CASE(parts_of_a_gpu_are_not_split_on_new_nodes),
		CASE(gangs_are_all_or_nothing),
		CASE(limits_are_named),
		CASE(idle_nodes_go_down_to_the_minimum),
		CASE(a_replica_goes_as_a_whole),
		CASE(constraints_count_totals_and_protect),
		CASE(a_list_reads_only_its_own_names_of_a_node),
		CASE(a_maximum_takes_launches_back_before_workers),
		CASE(a_huge_count_costs_nothing),
		CASE(fits_empty_minds_labels_and_parts),
		CASE(placed_selectors_count_on_every_member_of_a_class),
		CASE(of_workers_that_are_alike_the_better_group_is_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
