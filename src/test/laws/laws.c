/* Laws of decide() on random snapshots:
 *   laws --seed N --count N [--jobs N] [--out DIR] [--result FILE]
 *   laws --selftest DIR [--result FILE]
 *
 * Seeds N to N + count - 1 are made into snapshots, decided, and checked (laws_check.h, laws_case.h). A
 * snapshot that breaks a law is shrunk and left in DIR as a golden case. Exit status 1 when a law
 * broke. One snapshot again: --seed ITS --count 1. --result appends a line of e2e/summary.sh, in which
 * each law is a test. The self-test plants faults (laws_selftest.h). */
#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "laws_case.h"
#include "laws_selftest.h"
#include "laws_shrink.h"

#define JOBS_MAX 64
/* Of one process; a fault that shows everywhere need not be shrunk everywhere. */
#define FAILURES_MAX 8

static const char *const LAWS[] = { "reads",     "bounds", "safety", "requests", "places",
				    "counts",    "gangs",  "bytes",  "order",    "second",
				    "patched",   "fewest", "price",  "needed",   "identity",
				    "schedules", "stays",  "keeps",  "pools",    "repair",
				    "unused",    "queues", "halves", "ending",   "drains" };

#define LAW_COUNT (sizeof(LAWS) / sizeof(LAWS[0]))

struct options {
	uint64_t seed;
	long long count, jobs;
	const char *out, *result, *selftest;
};

/* The result that a child process writes to its parent. */
struct outcome {
	struct laws_counts counts;
	int64_t failures;
	int64_t broken[LAW_COUNT];
};

static void tell(const struct options *options, struct cJSON *snapshot, uint64_t seed,
		 struct laws_verdict *verdict)
{
	AUTO(memory_free_string) char *path = NULL;

	fprintf(stderr, "seed %llu breaks the law %s: %s\n", (unsigned long long)seed, verdict->law,
		verdict->detail);
	snapshot = laws_shrink(snapshot, seed, verdict);
	if (laws_shrink_save(snapshot, seed, verdict, options->out, &path))
		fprintf(stderr, "%s: %s\n", options->out, strerror(errno));
	else
		fprintf(stderr, "seed %llu, shrunk: %s\n%s\n", (unsigned long long)seed,
			verdict->detail, path);
	cJSON_Delete(snapshot);
}

static void note_broken(struct outcome *outcome, const char *law)
{
	outcome->failures++;
	for (size_t i = 0; i < LAW_COUNT; i++)
		outcome->broken[i] += strcmp(LAWS[i], law) == 0;
}

/* Every jobs-th seed from `first` on. */
static void check_seeds(const struct options *options, int first, struct outcome *outcome)
{
	for (long long i = first; i < options->count && outcome->failures < FAILURES_MAX;
	     i += options->jobs) {
		uint64_t seed = options->seed + (uint64_t)i;
		struct cJSON *snapshot = laws_case_make(seed);
		struct laws_verdict verdict = { .law = NULL };

		if (!snapshot) {
			fprintf(stderr, "seed %llu makes no JSON\n", (unsigned long long)seed);
			note_broken(outcome, "reads");
			continue;
		}
		laws_case_check(snapshot, seed, &outcome->counts, &verdict);
		if (!verdict.law) {
			cJSON_Delete(snapshot);
			continue;
		}
		note_broken(outcome, verdict.law);
		tell(options, snapshot, seed, &verdict);
	}
}

static void add_outcome(struct outcome *sum, const struct outcome *one)
{
	const int64_t *from = (const int64_t *)one;
	int64_t *to = (int64_t *)sum;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
}

static int run_jobs(const struct options *options, struct outcome *sum)
{
	int lines[2], status = 0, jobs = (int)options->jobs;
	struct outcome one;

	if (pipe(lines))
		return -1;
	fflush(NULL); /* a child that exits normally flushes inherited buffers */
	for (int i = 0; i < jobs; i++) {
		pid_t child = fork();

		if (child < 0)
			return -1;
		if (child == 0) {
			struct outcome own = { .failures = 0 };

			check_seeds(options, i, &own);
			/* Not _exit: counters of coverage are written at the end of a process. */
			exit(write(lines[1], &own, sizeof(own)) != sizeof(own));
		}
	}
	close(lines[1]);
	for (int i = 0; i < jobs; i++)
		if (read(lines[0], &one, sizeof(one)) == sizeof(one))
			add_outcome(sum, &one);
		else
			status = -1;
	for (int i = 0, ended; i < jobs; i++)
		if (wait(&ended) < 0 || ended != 0)
			status = -1;
	return status;
}

static bool read_options(int argc, char **argv, struct options *options)
{
	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--seed") == 0)
			options->seed = strtoull(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--count") == 0)
			options->count = strtoll(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--jobs") == 0)
			options->jobs = strtoll(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--out") == 0)
			options->out = argv[i + 1];
		else if (strcmp(argv[i], "--result") == 0)
			options->result = argv[i + 1];
		else if (strcmp(argv[i], "--selftest") == 0)
			options->selftest = argv[i + 1];
		else
			return false;
	}
	return argc % 2 == 1 && options->count > 0 && options->jobs > 0 &&
	       options->jobs <= JOBS_MAX;
}

static int add_result(const struct options *options, const char *name, int passed, int failed)
{
	FILE *file;

	if (!options->result)
		return 0;
	file = fopen(options->result, "ae");
	if (!file) {
		perror(options->result);
		return -1;
	}
	fprintf(file, "%s %d %d 0\n", name, passed, failed);
	return fclose(file);
}

static void print_outcome(const struct outcome *outcome, int status)
{
	const struct laws_counts *counts = &outcome->counts;

	printf("laws: %lld snapshots, %lld decisions, %lld plans launch, %lld let go, "
	       "%lld workers with placements\n",
	       (long long)counts->cases, (long long)counts->decisions, (long long)counts->launches,
	       (long long)counts->terminations, (long long)counts->placements);
	printf("laws: %lld second decisions; launch again: %lld because a place was freed, "
	       "%lld for hosts that a replica lost, %lld by Ray's own order\n",
	       (long long)counts->second, (long long)counts->freed, (long long)counts->repaired,
	       (long long)counts->greedy);
	printf("laws: open: %lld second launches that Ray's order does not explain; fewest-gpus "
	       "launches again %lld times\n",
	       (long long)counts->unexplained, (long long)counts->fewest);
	printf("laws: open: in %lld packings a launch is needed only with some orders of ties\n",
	       (long long)counts->ties);
	printf("laws: %lld plans stay, %lld of them for ever, %lld change at their next change\n",
	       (long long)counts->stays.stay, (long long)counts->stays.for_ever,
	       (long long)counts->stays.change);
	printf("laws: %lld packings are cut short\n", (long long)counts->cut);
	printf("laws: in %lld snapshots GPUs of pools are asked for\n", (long long)counts->asked);
	printf("laws: in %lld snapshots a placement group waits beside workers that are idle for too "
	       "long\n",
	       (long long)counts->waiting);
	printf("laws: in %lld snapshots a Node is emptied for its repair\n",
	       (long long)counts->emptied);
	printf("laws: in %lld snapshots a worker ends that only requests kept\n",
	       (long long)counts->unused);
	printf("laws: in %lld snapshots a Pod waits for a queue, in %lld a part of a placement group "
	       "has waited for too long, in %lld Pods end, in %lld Pods that end are replaced\n",
	       (long long)counts->queued, (long long)counts->halves, (long long)counts->ending,
	       (long long)counts->drains);
	printf("laws: %lld snapshots break a law%s\n", (long long)outcome->failures,
	       status ? "; a process ended badly" : "");
}

static int run_selftest(const struct options *options)
{
	int count, failures = laws_selftest(options->selftest, &count);

	return add_result(options, "laws:selftest", count - failures, failures) || failures;
}

int main(int argc, char **argv)
{
	struct options options = { .seed = 1, .count = 1000, .jobs = 1, .out = "." };
	struct outcome sum = { .failures = 0 };
	int status, failed = 0;

	if (!read_options(argc, argv, &options)) {
		fprintf(stderr, "usage: laws --seed N --count N [--jobs N] [--out DIR] "
				"[--result FILE] | --selftest DIR\n");
		return 2;
	}
	if (options.selftest)
		return run_selftest(&options);
	printf("laws: %lld random snapshots from seed %llu\n", options.count,
	       (unsigned long long)options.seed);
	fflush(stdout);
	status = run_jobs(&options, &sum);
	print_outcome(&sum, status);
	for (size_t i = 0; i < LAW_COUNT; i++)
		failed += sum.broken[i] > 0;
	failed += status && !failed;
	status |= add_result(&options, "laws:random", (int)LAW_COUNT - failed, failed);
	return status || sum.failures;
}
