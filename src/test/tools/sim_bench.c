/* Time and memory of simulations, and how they grow with tasks and with workers.
 *   sim_bench [TASKS WORKERS]
 * One row: one week of tasks on workers of 8 GPUs; the load follows the hours of the day, and half
 * of the GPUs are used on average. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/support/sim_case.h"

#define WEEK_MS (INT64_C(7) * 86400 * 1000)
#define GPU RESOURCE_UNIT

static uint64_t next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(2685821657736338717);
}

static double uniform(uint64_t *state)
{
	return (double)(next(state) >> 11) / (double)(UINT64_C(1) << 53);
}

/* Busy by day: three times as much work in the 12 hours of the day as in those of the night. */
static int64_t random_time(uint64_t *state)
{
	int64_t day = (int64_t)(next(state) % 7), half = uniform(state) < 0.75 ? 1 : 0;

	return (day * 24 + half * 12) * 3600000 + (int64_t)(next(state) % (12 * 3600000));
}

static int compare_items(const void *left, const void *right)
{
	const struct work_item *a = left, *b = right;

	return (a->submit_ms > b->submit_ms) - (a->submit_ms < b->submit_ms);
}

/* Tasks of 0.5 to 8 GPUs, 1.6 on average, whose lengths differ by a factor of 16. */
static void add_tasks(struct sim_case *c, size_t tasks, size_t workers)
{
	static const int64_t gpus[] = { GPU / 2, GPU, GPU, GPU, 2 * GPU, GPU, 4 * GPU, 8 * GPU };
	const struct ray_request *shapes[8];
	uint64_t state = 42;
	double mean_ms = 0.5 * (double)workers * 8 * (double)WEEK_MS / (double)tasks / 2.3125;

	for (size_t i = 0; i < 8; i++)
		shapes[i] = sim_case_bundles(c, GPU, gpus[i], 1);
	VEC_RESERVE(&c->arena, &c->items, tasks);
	for (size_t i = 0; i < tasks; i++)
		sim_case_add(c, random_time(&state),
			     1 + (int64_t)(mean_ms * (0.125 + 1.75 * uniform(&state))), 1,
			     shapes[next(&state) % 8], 1);
	qsort(c->items.at, c->items.count, sizeof(*c->items.at), compare_items);
}

static void measure(size_t tasks, size_t workers, enum sim_policy policy)
{
	struct timespec start, end;
	struct sim_case c;
	struct worker_group group;
	const struct sim_result *result;
	struct rusage usage;

	sim_case_init(&c);
	group = sim_case_group(&c, "gpu", 64, 8, (int64_t)workers);
	sim_case_cluster(&c, "bench", &group, 1);
	add_tasks(&c, tasks, workers);
	c.input.policy = policy;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	result = sim_case_run(&c);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	if (!result) {
		fprintf(stderr, "sim_bench: %s\n", c.err.text);
		exit(1);
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("%8zu %8zu %-10s %8.2f %6ld %10lld %9lld %9lld %9.1f\n", tasks, workers,
	       sim_policy_name(policy),
	       (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9,
	       usage.ru_maxrss / 1024, (long long)result->decisions, (long long)result->finished,
	       (long long)result->groups[0].workers_added,
	       (double)result->groups[0].provisioned / 1e4 / 3.6e6);
	fflush(stdout);
	sim_case_done(&c);
}

/* In a process of its own, for its peak memory. */
static void row(size_t tasks, size_t workers, enum sim_policy policy)
{
	pid_t child = fork();
	int status = 1;

	if (child == 0) {
		measure(tasks, workers, policy);
		exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
		exit(1);
}

int main(int argc, char **argv)
{
	if (argc == 3) {
		measure(strtoul(argv[1], NULL, 10), strtoul(argv[2], NULL, 10),
			SIM_POLICY_RAYSCALER);
		return 0;
	}
	printf("%8s %8s %-10s %8s %6s %10s %9s %9s %9s\n", "tasks", "workers", "policy", "CPU s",
	       "MiB", "decisions", "finished", "launches", "GPU h");
	fflush(stdout);
	for (size_t tasks = 12500; tasks <= 100000; tasks *= 2)
		row(tasks, 125, SIM_POLICY_RAYSCALER);
	for (size_t workers = 31; workers <= 250; workers *= 2)
		row(50000, workers, SIM_POLICY_RAYSCALER);
	row(100000, 125, SIM_POLICY_RAY_AUTOSCALER);
	row(100000, 125, SIM_POLICY_ALWAYS_ON);
	return 0;
}
