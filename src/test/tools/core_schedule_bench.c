/* Times of schedule() at the sizes of large clusters, one process per case, best of several runs.
 *   core_schedule_bench            the named sizes
 *   core_schedule_bench growth     1x, 2x, 4x, 8x in nodes, tasks and shapes; the last column is the
 *                                  time beside that of the row before, 2 is linear
 * Nodes are as a GCS reports them: each has a label and a resource of its own and a fill level of
 * its object store. States: "mixed" three quarters running with any amount free, the rest
 * starting; "empty" all starting; "full" all running with nothing free. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../schedule_support.h"

#define RUNS 7
#define GIB (INT64_C(1) << 30)

struct size {
	const char *nodes_are;
	size_t nodes, groups, shapes;
	int64_t tasks;
	bool fewest_gpus;
};

static uint64_t seed;
/* By the child for its parent: milliseconds. */
static double *took_ms;

static int64_t pick(int64_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (int64_t)(seed >> 33) % below;
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

static struct resources with_own(struct arena *arena, struct resources resources, size_t index,
				 int64_t store)
{
	resources = resources_with(
		arena, &resources,
		arena_printf(arena, "node:10.0.%zu.%zu", index / 256, index % 256), RESOURCE_UNIT);
	return resources_with(arena, &resources, "object_store_memory", store * RESOURCE_UNIT);
}

static void make_running(struct arena *arena, struct schedule_node *node, size_t index, bool full)
{
	struct resources total = node->total, available = { .at = NULL };
	struct label *labels = arena_array(arena, 3, sizeof(*labels));

	available = with_own(arena, total, index, full || pick(2) ? 8 * GIB - pick(GIB) : 8 * GIB);
	for (size_t i = 0; i < total.count; i++) {
		int64_t units = total.at[i].amount / RESOURCE_UNIT,
			left = full ? 0 : pick(units + 1);

		if (!strcmp(total.at[i].name, "memory"))
			left = full ? 0 : units / 8 * pick(9);
		available =
			resources_with(arena, &available, total.at[i].name, left * RESOURCE_UNIT);
	}
	node->running = node->joined = true;
	node->total = with_own(arena, total, index, 8 * GIB);
	node->available = available;
	labels[0] = (struct label){ "ray.io/node-id", arena_printf(arena, "%056zx", index) };
	labels[1] = (struct label){ "ray.io/node-group", "g" };
	labels[2] = node->labels.at[0];
	node->labels = (struct labels){ labels, 3 };
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

static double now_ms(void)
{
	struct timespec at;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
	return (double)at.tv_sec * 1e3 + (double)at.tv_nsec / 1e6;
}

static long peak_kib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

static void measure(const struct size *size)
{
	struct arena arena = ARENA_INIT, result = ARENA_INIT;
	struct schedule_type *types = arena_array(&arena, size->groups + 1, sizeof(*types));
	struct schedule_problem problem = { .types = types,
					    .type_count = size->groups + 1,
					    .conserve_accelerators = true,
					    .fewest_gpus = size->fewest_gpus };
	double best = 1e300;
	long before;

	seed = 42;
	types[0] = type_of("headgroup", resources_of(&arena, "CPU", UNITS(8), NULL), 0, 1);
	types[0].labels = make_type(&arena, 1).labels;
	for (size_t i = 1; i <= size->groups; i++)
		types[i] = make_type(&arena, i);
	make_nodes(&arena, &problem, size);
	make_demands(&arena, &problem, size);
	before = peak_kib();
	for (int i = 0; i < RUNS; i++) {
		double began = now_ms(), took;

		schedule(&problem, &result);
		took = now_ms() - began;
		if (took < best)
			best = took;
		arena_reset(&result);
	}
	printf("%-6s %6zu nodes %7lld tasks %5zu shapes %3zu groups %-11s %9.2f ms %7.1f MiB",
	       size->nodes_are, size->nodes, (long long)size->tasks, size->shapes, size->groups,
	       size->fewest_gpus ? "fewest-gpus" : "ray", best,
	       (double)(peak_kib() - before) / 1024);
	*took_ms = best;
}

static int run_case(struct size size)
{
	int status = 1;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		measure(&size);
		exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0 || status)
		fprintf(stderr, "the case failed\n");
	return status != 0;
}

static int run_row(struct size size)
{
	int failed = run_case(size);

	printf("\n");
	return failed;
}

/* One column doubled three times: nodes, tasks or shapes. */
static int run_series(struct size size, char column)
{
	int failed = 0;
	double before = 0;

	for (int i = 0; i < 4; i++) {
		failed |= run_case(size);
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
