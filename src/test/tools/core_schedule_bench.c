/* Times of schedule() at the sizes of large clusters, one process per case, best of several runs
 * (of one when it takes above half a second).
 *   core_schedule_bench            the named sizes
 *   core_schedule_bench growth     1x, 2x, 4x, 8x in nodes, tasks and shapes; the last column is the
 *                                  time beside that of the row before, 2 is linear
 *   core_schedule_bench families   placement groups, tasks of their own amounts, within groups and
 *                                  with selectors, in four sizes: beside 1,000 nodes with 10,000
 *                                  tasks in 20 shapes, and the exponent by which the time grows,
 *                                  fitted over the three largest; behind @ is a hash of the plan
 * Nodes are as a GCS reports them: each has a label and a resource of its own and a fill level of
 * its object store. States: "mixed" three quarters running with any amount free, the rest
 * starting; "empty" all starting; "full" all running with nothing free. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/bench_usage.h"
#include "test/support/schedule_families.h"

#define RUNS 7
/* Of each family. */
#define SIZES 4

struct size {
	const char *nodes_are;
	size_t nodes, groups, shapes;
	int64_t tasks;
	bool fewest_gpus;
};

/* By the child for its parent: milliseconds. */
static double *took_ms;

/* Equal plans, equal number. */
static uint64_t plan_hash(const struct schedule_problem *problem)
{
	struct arena arena = ARENA_INIT;
	const struct schedule_result *result = schedule(problem, &arena);
	uint64_t hash = result->node_count;

	for (size_t i = 0; i < result->node_count; i++) {
		const struct schedule_node_result *node = &result->nodes[i];

		hash = hash * 31 + node->type * 8 + node->status;
		for (size_t j = 0; j < node->placement_count; j++)
			hash = (hash * 1000003 + node->placements[j].index) * 31 +
			       (uint64_t)node->placements[j].count;
	}
	arena_reset(&arena);
	return hash;
}

static struct schedule_type make_type(struct arena *arena, size_t index)
{
	int64_t cpus = INT64_C(4) << pick(5), gpus = index % 3 ? 0 : INT64_C(1) << pick(4);
	int64_t memory = cpus * (INT64_C(2) << pick(3)) * GIB;
	const char *name = arena_printf(arena, "group-%zu", index);
	struct resources resources = gpus ? resources_of(arena, "CPU", cpus * RESOURCE_UNIT, "GPU",
							 gpus * RESOURCE_UNIT, "memory",
							 memory * RESOURCE_UNIT, NULL) :
					    resources_of(arena, "CPU", cpus * RESOURCE_UNIT,
							 "memory", memory * RESOURCE_UNIT, NULL);
	struct schedule_type type = type_of(name, resources, 0, 1000000);
	struct label *labels = arena_array(arena, 1, sizeof(*labels));

	labels[0] = (struct label){ "zone", index % 2 ? "a" : "b" };
	type.labels = (struct labels){ labels, 1 };
	return type;
}

static void make_nodes(struct arena *arena, struct schedule_problem *problem,
		       const struct size *size)
{
	struct schedule_node *nodes = arena_array(arena, size->nodes + 1, sizeof(*nodes));
	bool full = !strcmp(size->nodes_are, "full"), empty = !strcmp(size->nodes_are, "empty");

	for (size_t i = 0; i < size->nodes; i++) {
		size_t type = i ? 1 + (i * size->groups) / size->nodes : 0;

		nodes[i] = starting_of(problem->types, type, i);
		if (full || (!empty && pick(4)))
			make_running(arena, &nodes[i], i, full);
	}
	problem->nodes = nodes;
	problem->node_count = size->nodes;
}

static void make_demands(struct arena *arena, struct schedule_problem *problem,
			 const struct size *size)
{
	struct schedule_demand *demands = arena_array(arena, size->shapes, sizeof(*demands));

	for (size_t i = 0; i < size->shapes; i++) {
		int64_t cpu = RESOURCE_UNIT * (1 + pick(4)) / (1 + pick(2));
		struct resources bundle = resources_of(arena, "CPU", cpu, NULL);

		if (i % 4 == 1)
			bundle = resources_with(arena, &bundle, "GPU", RESOURCE_UNIT);
		if (i % 3 == 1)
			bundle = resources_with(arena, &bundle, "memory",
						(1 + pick(8 * (int64_t)size->shapes)) * GIB / 8 *
							RESOURCE_UNIT / (int64_t)size->shapes);
		else
			bundle = resources_with(arena, &bundle, "memory",
						(1 + pick(64)) * GIB / 16 * RESOURCE_UNIT +
							(int64_t)i * RESOURCE_UNIT);
		demands[i] = (struct schedule_demand){
			.request = request_of(arena, bundle),
			.count = size->tasks / (int64_t)size->shapes +
				 ((int64_t)i < size->tasks % (int64_t)size->shapes),
		};
	}
	problem->demands = demands;
	problem->demand_count = size->shapes;
}

static long peak_kib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* ---- measuring ---- */

static void make_mixed(struct arena *arena, struct schedule_problem *problem,
		       const struct size *size)
{
	struct schedule_type *types = arena_array(arena, size->groups + 1, sizeof(*types));

	types[0] = type_of("headgroup", resources_of(arena, "CPU", UNITS(8), NULL), 0, 1);
	types[0].labels = make_type(arena, 1).labels;
	for (size_t i = 1; i <= size->groups; i++)
		types[i] = make_type(arena, i);
	problem->types = types;
	problem->type_count = size->groups + 1;
	make_nodes(arena, problem, size);
	make_demands(arena, problem, size);
}

static double best_of(const struct schedule_problem *problem, int runs, long *ret_kib)
{
	struct arena result = ARENA_INIT;
	double best = 1e300;
	long before = peak_kib();

	for (int i = 0; i < runs && (!i || best < 500); i++) {
		double began = bench_usage_ms(), took;

		schedule(problem, &result);
		took = bench_usage_ms() - began;
		if (took < best)
			best = took;
		arena_reset(&result);
	}
	*ret_kib = peak_kib() - before;
	return best;
}

static void measure(const struct size *size, const struct family *family)
{
	struct arena arena = ARENA_INIT;
	struct schedule_problem problem = { .conserve_accelerators = true,
					    .cheapest = size->fewest_gpus };
	long kib;

	seed = 42;
	if (family)
		family->make(&arena, &problem, size->nodes, (size_t)size->tasks);
	else
		make_mixed(&arena, &problem, size);
	*took_ms = best_of(&problem, RUNS, &kib);
	if (family)
		printf("%-21s %6zu nodes %5lld units %-11s %9.2f ms %7.1f MiB @%08x", family->name,
		       size->nodes, (long long)size->tasks,
		       size->fewest_gpus ? "fewest-gpus" : "ray", *took_ms, (double)kib / 1024,
		       (unsigned)plan_hash(&problem));
	else
		printf("%-6s %6zu nodes %7lld tasks %5zu shapes %3zu groups %-11s %9.2f ms %7.1f MiB",
		       size->nodes_are, size->nodes, (long long)size->tasks, size->shapes,
		       size->groups, size->fewest_gpus ? "fewest-gpus" : "ray", *took_ms,
		       (double)kib / 1024);
}

static int run_case(struct size size, const struct family *family)
{
	int status = 1;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		measure(&size, family);
		exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0 || status)
		fprintf(stderr, "the case failed\n");
	return status != 0;
}

static int run_row(struct size size)
{
	int failed = run_case(size, NULL);

	printf("\n");
	return failed;
}

/* One column doubled three times: nodes, tasks or shapes. */
static int run_series(struct size size, char column)
{
	int failed = 0;
	double before = 0;

	for (int i = 0; i < 4; i++) {
		failed |= run_case(size, NULL);
		if (before > 0)
			printf("  x %.2f", *took_ms / before);
		printf("\n");
		before = *took_ms;
		size.nodes *= column == 'n' ? 2 : 1;
		size.tasks *= column == 't' ? 2 : 1;
		size.shapes *= column == 's' ? 2 : 1;
	}
	return failed;
}

static int run_growth(void)
{
	return run_series((struct size){ "mixed", 1250, 20, 50, 25000, false }, 'n') |
	       run_series((struct size){ "mixed", 5000, 20, 50, 12500, false }, 't') |
	       run_series((struct size){ "mixed", 5000, 20, 25, 50000, false }, 's');
}

/* The slope of the line of least squares through the logarithms of the times; each size is twice
 * the one before. */
static double exponent_of(const double *ms, size_t count)
{
	double mean = (double)(count - 1) / 2, sum = 0, squares = 0;

	for (size_t i = 0; i < count; i++) {
		sum += ((double)i - mean) * log2(ms[i]);
		squares += ((double)i - mean) * ((double)i - mean);
	}
	return sum / squares;
}

/* The largest size last; each is twice the one before. */
static int run_family(const struct family *family, double base)
{
	double ms[SIZES];
	int failed = 0;

	for (size_t i = 0; i < SIZES; i++) {
		size_t part = (size_t)1 << (SIZES - 1 - i);
		struct size size = { .nodes = family->nodes / (family->same_nodes ? 1 : part),
				     .tasks = (int64_t)(family->units / part),
				     .fewest_gpus = family->fewest_gpus };

		failed |= run_case(size, family);
		ms[i] = *took_ms;
		printf(" %7.1f x base", ms[i] / base);
		if (i + 1 == SIZES)
			printf("  n^%.2f", exponent_of(ms + 1, SIZES - 1));
		if (i + 1 == SIZES && (family->aim || family->growth > 0))
			printf("  aim %d, n^%.1f", family->aim, family->growth);
		printf("\n");
	}
	return failed;
}

static int run_families(const char *only)
{
	int failed = run_case((struct size){ "mixed", 1000, 8, 20, 10000, false }, NULL);
	double base = *took_ms;

	printf("  base\n");
	for (size_t i = 0; i < sizeof(FAMILIES) / sizeof(*FAMILIES); i++)
		if (!only || strstr(FAMILIES[i].name, only))
			failed |= run_family(&FAMILIES[i], base);
	return failed;
}

int main(int argc, char **argv)
{
	static const char *const STATES[] = { "mixed", "empty", "full" };
	int failed = 0;

	took_ms = mmap(NULL, sizeof(*took_ms), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (took_ms == MAP_FAILED)
		return 1;
	if (argc > 1 && !strcmp(argv[1], "growth"))
		return run_growth();
	if (argc > 1 && !strcmp(argv[1], "families"))
		return run_families(argc > 2 ? argv[2] : NULL);
	for (size_t i = 0; i < 3; i++) {
		failed |= run_row((struct size){ STATES[i], 1337, 8, 1, 13315, false });
		failed |= run_row((struct size){ STATES[i], 1337, 8, 20, 13315, false });
		failed |= run_row((struct size){ STATES[i], 1337, 8, 500, 13315, false });
		failed |= run_row((struct size){ STATES[i], 10000, 20, 200, 100000, false });
	}
	failed |= run_row((struct size){ "mixed", 1337, 8, 20, 13315, true });
	failed |= run_row((struct size){ "mixed", 10000, 20, 200, 100000, true });
	return failed;
}
