/* Growth of a decision with every list of a snapshot, and with every pair of lists (`make bench-growth`).
 *
 *	codec_growth_bench [--part K/N] [--only WORD]... [--jobs N] [--alone] [--lenient] [--known FILE]
 *			   [--result FILE] [TEMPLATE]
 *	codec_growth_bench --write COUNT TEXTS LIST [LIST] [TEMPLATE]    the snapshot of one product
 *
 * A product is one list or a pair, with elements that are equal, matching or distinct
 * (test/support/growth_template.h). At the largest size, COUNT elements, reading and deciding may take
 * COST_MAX times the base and MEMORY_MAX_MIB. Of a product that takes more than COST_MAX the two smaller
 * sizes are measured as well: its exponent, by the number of values in the lists, may be EXPONENT_MAX. A list that
 * does not decode at a size has a limit, and is measured at the largest size that does. A pair is not
 * measured when one of its lists alone is above its aim.
 *
 * Exit status 1: a product is above an aim and is not a row of --known, or a row of it is no longer
 * above, so that the file only shrinks. --lenient: these are printed and do not fail. --part K/N:
 * the Kth of N parts of lists and pairs. --alone: no pairs. --only WORD: lists and pairs with that text, =WORD: the one. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/map.h"
#include "base/memory.h"
#include "codec/objects/snapshot_json.h"
#include "codec/text/yaml.h"
#include "core/decide.h"
#include "test/support/bench_usage.h"
#include "test/support/golden_case.h"
#include "test/support/growth_template.h"

#define COUNT_ALONE 4000
#define COUNT_PAIR 500
#define COUNT_MIN 16
#define SIZES 3
#define RUNS 7
#define SURVEY_RUNS 4
#define RUNS_LONG 3
#define RUNS_MAX 21
#define SHORT_MS 10.0
#define LONG_MS 50.0
#define SLOW_MS 100.0
#define COST_MAX 10.0
#define BASE_MIN_MS 1.0
#define EXPONENT_MAX 1.4
/* A row of --known must go when it is below this part of its aims: measurements differ. */
#define KNOWN_PART 0.85
/* A decision reads a list when it takes longer with COUNT_ALONE elements: by this part, of one with the example. */
#define READ_PART 1.3
#define MEMORY_MAX_MIB 80.0
#define CPU_SECONDS_MAX 20
#define ADDRESSES_MAX ((rlim_t)4 << 30)
#define JOBS_MAX 64
#define ONLY_MAX 8
#define NAME_SIZE 512
#define TEXT_BYTES_MAX ((size_t)1 << 30)

enum step { STEP_READ, STEP_DECIDE, STEPS };
static const char *const step_names[] = { "read", "decide" };

struct sample {
	size_t count;  /* elements */
	double values; /* in the lists */
	double ms[STEPS], mib[STEPS];
};

struct product {
	struct growth_choice choice;
	bool is_survey;               /* only whether a decision reads the list */
	char lists[NAME_SIZE];        /* "pods[] x nodes[]" */
	struct sample samples[SIZES]; /* the largest first */
	size_t sample_count;
	int status;        /* of the process that measured it */
	char problem[256]; /* why it could not be measured; "": it was */
};

struct options {
	unsigned part, parts, jobs;
	const char *only[ONLY_MAX];
	size_t only_count;
	const char *known, *result, *template;
	bool alone;   /* no pairs, and no survey for them */
	bool lenient; /* a product above an aim does not fail */
};

/* "decide pods[] x nodes[]": above its aim, whatever the texts. */
struct known_row {
	bool measured, above; /* by KNOWN_PART */
};

struct bench {
	struct options options;
	struct growth_template template;
	double base_ms[STEPS];
	struct map known; /* rows of the file */
	bool *reads;      /* lists that a decision reads */
	struct map above; /* paths of lists that alone are above an aim */
	size_t findings, failures, measured;
};

/* ---- one product ---- */

/* Of one step: of short runs the least time, of longer ones, which are interrupted, the median of the CPU
 * time. The CPU time of a short run may be 0 on a virtual machine whose host takes the processor away. */
struct timing {
	double clock_ms[RUNS_MAX], cpu_ms[RUNS_MAX];
	unsigned count;
	double began_clock, began_cpu;
};

static double clock_ms(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec * 1e3 + (double)at.tv_nsec / 1e6;
}

static void timing_begin(struct timing *timing)
{
	timing->began_clock = clock_ms();
	timing->began_cpu = bench_usage_ms();
}

static void timing_end(struct timing *timing)
{
	timing->cpu_ms[timing->count] = bench_usage_ms() - timing->began_cpu;
	timing->clock_ms[timing->count++] = clock_ms() - timing->began_clock;
}

static int compare_ms(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static double timing_ms(struct timing *timing)
{
	qsort(timing->clock_ms, timing->count, sizeof(double), compare_ms);
	qsort(timing->cpu_ms, timing->count, sizeof(double), compare_ms);
	return timing->clock_ms[0] < SHORT_MS ? timing->clock_ms[0] :
						timing->cpu_ms[timing->count / 2];
}

static int measure(const struct growth_template *template, const struct growth_choice *choice,
		   unsigned runs, struct sample *ret_sample, struct err *err)
{
	AUTO(buf_done) struct buf text = BUF_INIT(TEXT_BYTES_MAX);
	AUTO(json_done) struct cJSON *tree = NULL;
	struct sample sample = { .count = choice->count };
	struct timing timings[STEPS] = { { .count = 0 }, { .count = 0 } };
	size_t values;

	growth_write(template, choice, &text, &values);
	sample.values = (double)values;
	if (yaml_or_json_parse(buf_string(&text), text.size, &snapshot_limits, &tree, err))
		return -1;
	for (unsigned run = 0; run < runs; run++) {
		AUTO(arena_done) struct arena input = ARENA_INIT;
		AUTO(arena_done) struct arena output = ARENA_INIT;
		struct snapshot snapshot;
		double before;

		timing_begin(&timings[STEP_READ]);
		if (snapshot_decode(tree, "", &input, &snapshot, err))
			return -1;
		timing_end(&timings[STEP_READ]);
		sample.mib[STEP_READ] = (double)input.used_bytes / 1048576;
		if (run == 0)
			bench_usage_forget_peak();
		before = bench_usage_mib("VmRSS");
		timing_begin(&timings[STEP_DECIDE]);
		(void)decide(&snapshot, &output);
		timing_end(&timings[STEP_DECIDE]);
		if (run == 0)
			sample.mib[STEP_DECIDE] = bench_usage_mib("VmHWM") - before;
		if (runs > RUNS_LONG &&
		    timings[STEP_DECIDE].clock_ms[run] + timings[STEP_READ].clock_ms[run] > LONG_MS)
			runs = RUNS_LONG;
	}
	for (enum step step = 0; step < STEPS; step++)
		sample.ms[step] = timing_ms(&timings[step]);
	*ret_sample = sample;
	return 0;
}

/* ---- the aims ---- */

/* Between the smallest and the largest size. */
static double exponent(const struct product *product, enum step step)
{
	const struct sample *large = &product->samples[0], *small = &product->samples[SIZES - 1];

	if (product->sample_count < SIZES || large->values <= small->values)
		return 0;
	return log(large->ms[step] / small->ms[step]) / log(large->values / small->values);
}

/* `part`: of each aim. */
static bool is_above(const struct bench *bench, const struct product *product, enum step step,
		     double part)
{
	const struct sample *largest = &product->samples[0];

	if (product->status != 0)
		return true;
	return largest->mib[step] > part * MEMORY_MAX_MIB ||
	       (largest->ms[step] > part * COST_MAX * bench->base_ms[step] &&
		exponent(product, step) > part * EXPONENT_MAX);
}

static bool is_costly(const struct bench *bench, const struct sample *sample, enum step step)
{
	return sample->ms[step] > KNOWN_PART * COST_MAX * bench->base_ms[step];
}

/* From the largest size on. */
static void measure_sizes(const struct bench *bench, struct product *product,
			  struct growth_choice choice)
{
	struct err err;

	for (size_t i = 0; i < SIZES; i++, choice.count /= 2) {
		if (measure(&bench->template, &choice, RUNS, &product->samples[i], &err))
			return;
		product->sample_count = i + 1;
	}
}

/* The largest size, at most the one of the choice, whose quarter takes less than SLOW_MS: what grows fast is
 * seen at smaller sizes as well. */
static size_t largest_size(const struct bench *bench, struct growth_choice choice)
{
	size_t largest = choice.count;

	for (; largest / 4 >= COUNT_MIN; largest /= 2) {
		struct err err;
		struct sample sample;

		choice.count = largest / 4;
		if (!measure(&bench->template, &choice, 1, &sample, &err) &&
		    fmax(sample.ms[STEP_READ], sample.ms[STEP_DECIDE]) < SLOW_MS)
			break;
	}
	return largest;
}

/* In a process of its own. A product above an aim is measured again: other processes may have slowed it. */
static int measure_product(const struct bench *bench, struct product *product)
{
	struct growth_choice choice = product->choice;
	const struct growth_choice example = { .list_count = 0 };
	struct product second;
	struct err err = { .kind = ERR_NONE };

	if (!product->is_survey)
		choice.count = largest_size(bench, choice);
	for (; choice.count >= COUNT_MIN; choice.count /= 2) {
		err = (struct err){ .kind = ERR_NONE };
		if (!measure(&bench->template, &choice, product->is_survey ? SURVEY_RUNS : 1,
			     &product->samples[0], &err))
			break;
	}
	if (err.kind != ERR_NONE) {
		(void)snprintf(product->problem, sizeof(product->problem), "%.250s", err.text);
		return -1;
	}
	product->sample_count = 1;
	if (product->is_survey)
		return measure(&bench->template, &example, SURVEY_RUNS, &product->samples[1], &err);
	if (!is_costly(bench, &product->samples[0], STEP_READ) &&
	    !is_costly(bench, &product->samples[0], STEP_DECIDE))
		return 0;
	measure_sizes(bench, product, choice);
	if (!is_above(bench, product, STEP_READ, 1) && !is_above(bench, product, STEP_DECIDE, 1))
		return 0;
	second = *product;
	measure_sizes(bench, &second, choice);
	for (size_t i = 0; i < product->sample_count; i++)
		for (enum step step = 0; step < STEPS; step++)
			product->samples[i].ms[step] =
				fmin(product->samples[i].ms[step], second.samples[i].ms[step]);
	return 0;
}

/* ---- the judgement ---- */

static void print_product(const struct bench *bench, const struct product *product, enum step step,
			  const char *word)
{
	char sizes[64] = "", ms[96] = "";

	if (product->status != 0) {
		printf("%-6s %-6s %s: %s\n", word, step_names[step], product->lists,
		       WIFSIGNALED(product->status) ? strsignal(WTERMSIG(product->status)) :
						      "not measured");
		return;
	}
	for (size_t i = product->sample_count; i-- > 0;) {
		const struct sample *sample = &product->samples[i];

		(void)snprintf(sizes + strlen(sizes), sizeof(sizes) - strlen(sizes), " %zu",
			       sample->count);
		(void)snprintf(ms + strlen(ms), sizeof(ms) - strlen(ms), " %.1f", sample->ms[step]);
	}
	printf("%-6s %-6s %s: %s,%s elements,%s ms, %.0f x base, n^%.1f, %.0f MiB\n", word,
	       step_names[step], product->lists, growth_texts_names[product->choice.texts], sizes,
	       ms, product->samples[0].ms[step] / bench->base_ms[step], exponent(product, step),
	       product->samples[0].mib[step]);
}

static struct known_row *known_row(const struct bench *bench, const struct product *product,
				   enum step step)
{
	char row[NAME_SIZE + 16];

	(void)snprintf(row, sizeof(row), "%s %s", step_names[step], product->lists);
	return map_get(&bench->known, row);
}

static void judge_step(struct bench *bench, const struct product *product, enum step step)
{
	struct known_row *known = known_row(bench, product, step);
	bool is_pair = product->choice.list_count > 1;

	if (known) {
		known->measured = true;
		known->above = known->above || is_above(bench, product, step, KNOWN_PART);
	}
	if (!is_above(bench, product, step, 1))
		return;
	bench->findings++;
	bench->failures += !known && !bench->options.lenient;
	print_product(bench, product, step, known ? "known" : "ABOVE");
	if (!is_pair)
		map_set(&bench->above, product->lists, bench);
}

static void judge(struct bench *bench, const struct product *product)
{
	if (product->is_survey) {
		bench->reads[product->choice.lists[0]] =
			product->status != 0 ||
			product->samples[0].ms[STEP_DECIDE] >
				READ_PART * product->samples[1].ms[STEP_DECIDE];
		return;
	}
	bench->measured++;
	if (*product->problem) {
		printf("FAILED %s: %s\n", product->lists, product->problem);
		bench->failures++;
		return;
	}
	for (enum step step = 0; step < STEPS; step++)
		if (step == 0 || product->status == 0)
			judge_step(bench, product, step);
	(void)fflush(stdout);
}

/* Rows of the file that are not above their aim any more. */
static void judge_known(struct bench *bench)
{
	for (size_t i = 0; i < bench->known.count; i++) {
		const struct known_row *row = bench->known.entries[i].value;

		if (!row->measured || row->above)
			continue;
		printf("GONE   %s: remove its row\n", bench->known.entries[i].key);
		bench->failures += !bench->options.lenient;
	}
}

/* ---- processes ---- */

struct job {
	pid_t process; /* 0: none */
	int result;
	struct product product;
};

static void run_child(const struct bench *bench, struct product *product, int result)
{
	struct rlimit cpu = { CPU_SECONDS_MAX, CPU_SECONDS_MAX + 1 };
	struct rlimit addresses = { ADDRESSES_MAX, ADDRESSES_MAX };
	int status;

	(void)setrlimit(RLIMIT_CPU, &cpu);
	(void)setrlimit(RLIMIT_AS, &addresses);
	if (!freopen("/dev/null", "w", stderr))
		_exit(1);
	(void)measure_product(bench, product);
	status = write(result, product, sizeof(*product)) != (ssize_t)sizeof(*product);
	_exit(status);
}

static void start(const struct bench *bench, struct job *job, const struct product *product)
{
	int ends[2];

	if (pipe(ends)) {
		perror("pipe");
		exit(2);
	}
	job->product = *product;
	job->result = ends[0];
	job->process = fork();
	if (job->process == 0)
		run_child(bench, &job->product, ends[1]);
	(void)close(ends[1]);
}

/* Waits for one of the jobs. False: none runs. */
static bool finish(struct bench *bench, struct job *jobs)
{
	int status;
	pid_t process = wait(&status);

	if (process <= 0)
		return false;
	for (size_t i = 0; i < JOBS_MAX; i++) {
		struct job *job = &jobs[i];

		if (job->process != process)
			continue;
		if (status == 0 && read(job->result, &job->product, sizeof(job->product)) !=
					   (ssize_t)sizeof(job->product))
			status = 1 << 8;
		job->product.status = status;
		(void)close(job->result);
		job->process = 0;
		judge(bench, &job->product);
	}
	return true;
}

static void run_product(struct bench *bench, struct job *jobs, const struct product *product)
{
	for (;;) {
		for (size_t i = 0; i < bench->options.jobs; i++)
			if (jobs[i].process == 0) {
				start(bench, &jobs[i], product);
				return;
			}
		(void)finish(bench, jobs);
	}
}

/* ---- all products ---- */

static bool is_wanted(const struct bench *bench, const struct product *product)
{
	for (size_t i = 0; i < bench->options.only_count; i++) {
		const char *only = bench->options.only[i];

		if (*only == '=' ? strcmp(product->lists, only + 1) != 0 :
				   !strstr(product->lists, only))
			return false;
	}
	return true;
}

static struct product product_of(const struct bench *bench, size_t first, size_t second,
				 enum growth_texts texts)
{
	const struct growth_list *lists = bench->template.lists.at;
	bool is_pair = first != second;
	struct product product = {
		.choice = { .lists = { first, second },
			    .list_count = is_pair ? 2 : 1,
			    .texts = texts,
			    .count = is_pair ? COUNT_PAIR : COUNT_ALONE },
	};

	(void)snprintf(product.lists, sizeof(product.lists), "%s%s%s", lists[first].path,
		       is_pair ? " x " : "", is_pair ? lists[second].path : "");
	return product;
}

/* The products of these lists, one for each way in which elements differ. */
static void run_lists(struct bench *bench, struct job *jobs, size_t first, size_t second)
{
	for (enum growth_texts texts = 0; texts < GROWTH_TEXTS_COUNT; texts++) {
		struct product product = product_of(bench, first, second, texts);

		if (is_wanted(bench, &product) &&
		    !growth_is_repeated(&bench->template, &product.choice))
			run_product(bench, jobs, &product);
	}
}

static void wait_all(struct bench *bench, struct job *jobs)
{
	while (finish(bench, jobs))
		;
}

/* A list that is in no other one, as pods[]. */
static bool is_outermost(const char *path)
{
	return !strpbrk(path + strcspn(path, "[{") + 2, "[{");
}

/* Whether a product of two lists is possible: one is within the other, or a decision may read both. */
static bool is_pair(const struct bench *bench, size_t i, size_t j)
{
	const char *a = bench->template.lists.at[i].path, *b = bench->template.lists.at[j].path;

	if (map_get(&bench->above, a) || map_get(&bench->above, b))
		return false;
	return ((bench->reads[i] || is_outermost(a)) && (bench->reads[j] || is_outermost(b))) ||
	       strncmp(a, b, strlen(a)) == 0 || strncmp(a, b, strlen(b)) == 0;
}

static bool is_in_part(const struct bench *bench, size_t i, size_t j)
{
	return (7 * i + j) % bench->options.parts == bench->options.part;
}

/* Lists of rows of the file are above an aim, whatever is measured today. */
static void note_known(struct bench *bench)
{
	for (size_t i = 0; i < bench->template.lists.count; i++) {
		struct product product = product_of(bench, i, i, GROWTH_EQUAL);

		if (known_row(bench, &product, STEP_READ) ||
		    known_row(bench, &product, STEP_DECIDE))
			map_set(&bench->above, product.lists, bench);
	}
}

/* Which lists a decision reads. */
static void survey(struct bench *bench, struct job *jobs)
{
	size_t read = 0;

	for (size_t i = 0; i < bench->template.lists.count; i++) {
		struct product product = product_of(bench, i, i, GROWTH_DISTINCT);

		product.is_survey = true;
		run_product(bench, jobs, &product);
	}
	wait_all(bench, jobs);
	for (size_t i = 0; i < bench->template.lists.count; i++)
		read += bench->reads[i];
	printf("a decision reads %zu of the lists\n", read);
}

static void run_pairs(struct bench *bench, struct job *jobs)
{
	size_t count = bench->template.lists.count;

	note_known(bench);
	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count; j++)
			if (is_pair(bench, i, j) && is_in_part(bench, i, j))
				run_lists(bench, jobs, i, j);
	wait_all(bench, jobs);
}

static void run_all(struct bench *bench)
{
	struct job jobs[JOBS_MAX] = { { .process = 0 } };

	for (size_t i = 0; i < bench->template.lists.count; i++)
		if (is_in_part(bench, i, i))
			run_lists(bench, jobs, i, i);
	wait_all(bench, jobs);
	if (bench->options.alone)
		return;
	survey(bench, jobs);
	run_pairs(bench, jobs);
}

static int measure_base(struct bench *bench, struct arena *arena, struct err *err)
{
	struct growth_choice none = { .list_count = 0 };
	struct sample sample;

	if (measure(&bench->template, &none, RUNS_MAX, &sample, err))
		return -1;
	for (enum step step = 0; step < STEPS; step++)
		bench->base_ms[step] = fmax(sample.ms[step], BASE_MIN_MS);
	bench->reads = arena_array(arena, bench->template.lists.count, sizeof(bool));
	printf("%zu lists; the example takes %.2f ms to read and %.2f ms to decide, base %.1f and %.1f ms\n",
	       bench->template.lists.count, sample.ms[STEP_READ], sample.ms[STEP_DECIDE],
	       bench->base_ms[STEP_READ], bench->base_ms[STEP_DECIDE]);
	return 0;
}

static int read_known(struct bench *bench, struct arena *arena, struct err *err)
{
	AUTO(memory_free_string) char *text = NULL;
	char *line, *rest;

	if (!bench->options.known)
		return 0;
	if (golden_text(bench->options.known, &text, err))
		return -1;
	for (rest = text; (line = strsep(&rest, "\n"));)
		if (*line != '\0' && *line != '#')
			map_set(&bench->known, line, ARENA_NEW(arena, struct known_row));
	return 0;
}

static void summarize(struct bench *bench)
{
	struct rusage usage;
	FILE *file;

	(void)getrusage(RUSAGE_CHILDREN, &usage);
	printf("%zu products, %zu above an aim, %zu failures; %ld s of CPU\n", bench->measured,
	       bench->findings, bench->failures,
	       (long)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec));
	if (!bench->options.result)
		return;
	file = fopen(bench->options.result, "a");
	if (!file) {
		perror(bench->options.result);
		exit(2);
	}
	fprintf(file, "growth:products %zu %zu 0\n", bench->measured - bench->failures,
		bench->failures);
	(void)fclose(file);
}

/* ---- the command line ---- */

static int usage(void)
{
	fprintf(stderr, "usage: codec_growth_bench [--part K/N] [--only WORD]... [--jobs N] "
			"[--alone] [--lenient] [--known FILE] [--result FILE] [TEMPLATE]\n"
			"       codec_growth_bench --write COUNT TEXTS LIST [LIST]\n");
	return 2;
}

/* The index of a list; exits when there is none. */
static size_t find_list(const struct growth_template *template, const char *path)
{
	for (size_t i = 0; i < template->lists.count; i++)
		if (strcmp(template->lists.at[i].path, path) == 0)
			return i;
	fprintf(stderr, "no list %s\n", path);
	exit(2);
}

static int write_one(const struct growth_template *template, int count, char **words)
{
	AUTO(buf_done) struct buf text = BUF_INIT(TEXT_BYTES_MAX);
	struct growth_choice choice = { .list_count = 0 };
	size_t values;

	if (count < 2 || count > 2 + GROWTH_CHOSEN_MAX)
		return usage();
	choice.count = strtoul(words[0], NULL, 10);
	while (strcmp(words[1], growth_texts_names[choice.texts]) != 0)
		if (++choice.texts == GROWTH_TEXTS_COUNT)
			return usage();
	for (int i = 2; i < count; i++)
		choice.lists[choice.list_count++] = find_list(template, words[i]);
	growth_write(template, &choice, &text, &values);
	puts(buf_string(&text));
	return 0;
}

static int read_options(int count, char **words, struct options *options)
{
	for (int i = 1; i < count; i++) {
		const char *word = words[i], *value = i + 1 < count ? words[i + 1] : NULL;

		if (strncmp(word, "--", 2) != 0) {
			options->template = word;
			continue;
		}
		if (strcmp(word, "--lenient") == 0 || strcmp(word, "--alone") == 0) {
			*(word[2] == 'l' ? &options->lenient : &options->alone) = true;
			continue;
		}
		if (!value)
			return -1;
		i++;
		if (strcmp(word, "--known") == 0)
			options->known = value;
		else if (strcmp(word, "--result") == 0)
			options->result = value;
		else if (strcmp(word, "--jobs") == 0)
			options->jobs = (unsigned)strtoul(value, NULL, 10);
		else if (strcmp(word, "--only") == 0 && options->only_count < ONLY_MAX)
			options->only[options->only_count++] = value;
		else if (strcmp(word, "--part") != 0 ||
			 sscanf(value, "%u/%u", &options->part, &options->parts) != 2)
			return -1;
	}
	options->part--;
	return options->jobs >= 1 && options->jobs <= JOBS_MAX && options->part < options->parts ?
		       0 :
		       -1;
}

int main(int count, char **words)
{
	struct bench bench = {
		.options = { .part = 1, .parts = 1, .jobs = 1, .template = GROWTH_FILE },
		.known = MAP_INIT,
		.above = MAP_INIT
	};
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(memory_free_string) char *text = NULL;
	bool writes = count > 1 && strcmp(words[1], "--write") == 0;
	struct err err = { .kind = ERR_NONE };

	if (!writes && read_options(count, words, &bench.options))
		return usage();
	if (golden_text(bench.options.template, &text, &err) ||
	    growth_read(text, strlen(text), &arena, &bench.template, &err) ||
	    read_known(&bench, &arena, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 2;
	}
	if (writes)
		return write_one(&bench.template, count - 2, words + 2);
	if (measure_base(&bench, &arena, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 2;
	}
	run_all(&bench);
	judge_known(&bench);
	summarize(&bench);
	map_done(&bench.known);
	map_done(&bench.above);
	return bench.failures > 0 ? 1 : 0;
}
