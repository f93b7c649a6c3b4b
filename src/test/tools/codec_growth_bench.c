/* Growth of a decision with every list of a snapshot, and with every pair of lists (`make bench-growth`).
 *
 *	codec_growth_bench [--part K/N] [--only WORD]... [--jobs N] [--alone] [--print-pairs]
 *			   [--known FILE] [--result FILE] [TEMPLATE]
 *	codec_growth_bench --write COUNT TEXTS LIST [LIST] [TEMPLATE]    the snapshot of one product
 *	codec_growth_bench --costs FILE    those of one snapshot, as JSON
 *
 * A product is one list or a pair, with elements that are equal, matching or distinct
 * (test/support/growth_template.h). Its cost is the number of basic blocks that run (test/support/work_count.h),
 * the same on each machine. At the largest size, COUNT elements, reading and deciding may take COST_MAX times
 * BASE_BLOCKS and MEMORY_MAX_MIB. Of a product that takes more than COST_MAX two smaller sizes are measured
 * as well: its exponent, by the number of values in the lists, of all three and of the last two, may be
 * EXPONENT_MAX. Of a decision that is the exponent under Ray's packing: the search for cheaper launches begins at some
 * size and ends by its own limits, so beside that it may take SEARCH_COST_MAX times BASE_BLOCKS. A list that does not decode at a size has a limit, and is measured at the largest size that
 * does. A pair is not measured when one of its lists alone takes twice COST_MAX at the size of a pair. A decision of a costly product may
 * take at most BLOCKS_OF_UNIT_MAX for each unit that it counts itself, or else it has work that no budget ends.
 *
 * Exit status 1: a product is above an aim and is not a row of --known, or is above the numbers of its row or the
 * memory, or a row is no longer above, so that the file only shrinks. --part K/N: the Kth of N parts of lists and pairs. --alone: no
 * pairs. --print-pairs: a pair that is above is printed, and fails only above PRINTED_COST_MAX times BASE_BLOCKS under
 * Ray's packing or the memory, or if it was ended. --only WORD: lists and pairs with that text, =WORD: the one. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bounded_run.h"
#include "base/map.h"
#include "base/memory.h"
#include "codec/objects/snapshot_json.h"
#include "codec/text/yaml.h"
#include "core/decide.h"
#include "test/support/bench_usage.h"
#include "test/support/golden_case.h"
#include "test/support/growth_template.h"
#include "test/support/work_count.h"

#define COUNT_ALONE 4000
#define COUNT_PAIR 500
#define COUNT_MIN 16
#define SIZES 3
#define LONG_BLOCKS 2e8
#define COST_MAX 10.0
#define SEARCH_COST_MAX 1000.0
/* About a millisecond of work in a program that counts nothing. */
#define BASE_BLOCKS 1e6
#define EXPONENT_MAX 1.4
#define MEMORY_MAX_MIB 80.0
#define PRINTED_COST_MAX 1000.0
#define DEAR_LIST_COST (2 * COST_MAX)
#define BLOCKS_OF_UNIT_MAX 60.0
#define CPU_SECONDS_MAX 120
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
	double blocks[STEPS], mib[STEPS];
	double growing[STEPS]; /* blocks without those of the search for cheaper launches */
	double units;          /* that the decision counts itself (base/bounded_run.h) */
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
	bool print_pairs; /* those above an aim fail only where they are far above */
	bool alone;       /* no pairs, and no survey for them */
};

/* "500 700 decide pods[] x nodes[]": above its aim, whatever the texts, measured with at least 500 elements and
 * at most 700 million blocks. */
struct known_row {
	size_t count;
	double blocks_max;
	bool measured, above;
};

/* Of a pair that is only printed: under Ray's packing. */
static const struct known_row printed_row = { .blocks_max = PRINTED_COST_MAX * BASE_BLOCKS };

struct bench {
	struct options options;
	struct growth_template template;
	struct sample base; /* of the example */
	struct map known;   /* rows of the file */
	bool *reads;        /* lists that a decision reads */
	bool *dear;         /* lists that alone take as much as many pairs */
	size_t findings, failures, measured;
};

/* ---- one product ---- */

/* The costs of the snapshot in the text, once. */
static int measure_text(const struct buf *text, struct sample *sample, struct err *err)
{
	AUTO(json_done) struct cJSON *tree = NULL;
	AUTO(arena_done) struct arena input = ARENA_INIT;
	AUTO(arena_done) struct arena output = ARENA_INIT;
	AUTO(arena_done) struct arena without_search = ARENA_INIT;
	struct snapshot snapshot;
	uint64_t before;
	double rss;

	if (yaml_or_json_parse(buf_string(text), text->size, &snapshot_limits, &tree, err))
		return -1;
	before = work_count_blocks();
	if (snapshot_decode(tree, "", &input, &snapshot, err))
		return -1;
	sample->blocks[STEP_READ] = (double)(work_count_blocks() - before);
	sample->mib[STEP_READ] = (double)input.used_bytes / 1048576;
	bench_usage_forget_peak();
	rss = bench_usage_mib("VmRSS");
	sample->units = -(double)bounded_units();
	before = work_count_blocks();
	(void)decide(&snapshot, &output);
	sample->blocks[STEP_DECIDE] = (double)(work_count_blocks() - before);
	sample->units += (double)bounded_units();
	sample->mib[STEP_DECIDE] = bench_usage_mib("VmHWM") - rss;
	snapshot.settings.packing = PACKING_RAY;
	before = work_count_blocks();
	(void)decide(&snapshot, &without_search);
	sample->growing[STEP_READ] = sample->blocks[STEP_READ];
	sample->growing[STEP_DECIDE] = (double)(work_count_blocks() - before);
	return 0;
}

static int measure(const struct growth_template *template, const struct growth_choice *choice,
		   struct sample *ret_sample, struct err *err)
{
	AUTO(buf_done) struct buf text = BUF_INIT(TEXT_BYTES_MAX);
	struct sample sample = { .count = choice->count };
	size_t values;

	growth_write(template, choice, &text, &values);
	sample.values = (double)values;
	if (measure_text(&text, &sample, err))
		return -1;
	*ret_sample = sample;
	return 0;
}

/* ---- the aims ---- */

/* Of the growth from the size `small` to the largest one. */
static double exponent_from(const struct product *product, enum step step, size_t small)
{
	const struct sample *samples = product->samples;

	if (product->sample_count < SIZES || samples[0].values <= samples[small].values)
		return 0;
	return log(samples[0].growing[step] / samples[small].growing[step]) /
	       log(samples[0].values / samples[small].values);
}

/* Of all sizes and of the last doubling, the lower one: growth continues. */
static double exponent(const struct product *product, enum step step)
{
	return fmin(exponent_from(product, step, SIZES - 1), exponent_from(product, step, 1));
}

static bool is_costly(const struct sample *sample, enum step step)
{
	return sample->blocks[step] > COST_MAX * BASE_BLOCKS;
}

static bool is_above(const struct product *product, enum step step)
{
	const struct sample *largest = &product->samples[0];

	return product->status != 0 || largest->mib[step] > MEMORY_MAX_MIB ||
	       largest->blocks[step] - largest->growing[step] > SEARCH_COST_MAX * BASE_BLOCKS ||
	       (largest->growing[step] > COST_MAX * BASE_BLOCKS &&
		exponent(product, step) > EXPONENT_MAX);
}

/* Whether a product takes more than its row permits, or the memory, or was ended. A product that grew too much is measured
 * at a smaller size. */
static bool is_far_above(const struct product *product, enum step step, const struct known_row *row)
{
	const struct sample *largest = &product->samples[0];

	return product->status != 0 || largest->mib[step] > MEMORY_MAX_MIB ||
	       (row == &printed_row ? largest->growing[step] : largest->blocks[step]) >
		       row->blocks_max ||
	       largest->count < row->count;
}

/* A decision with loops or copies beside its counter: its budget would not end them. */
static bool is_uncounted(const struct sample *sample)
{
	return is_costly(sample, STEP_DECIDE) &&
	       sample->blocks[STEP_DECIDE] > BLOCKS_OF_UNIT_MAX * sample->units;
}

/* The largest size, at most the one of the choice, whose quarter takes less than LONG_BLOCKS: what grows fast is
 * seen at smaller sizes as well. */
static size_t largest_size(const struct bench *bench, struct growth_choice choice)
{
	size_t largest = choice.count;

	for (; largest / 4 >= COUNT_MIN; largest /= 2) {
		struct err err;
		struct sample sample;

		choice.count = largest / 4;
		if (!measure(&bench->template, &choice, &sample, &err) &&
		    fmax(sample.growing[STEP_READ], sample.growing[STEP_DECIDE]) < LONG_BLOCKS)
			break;
	}
	return largest;
}

/* In a process of its own, from the largest size on. */
static int measure_product(const struct bench *bench, struct product *product)
{
	struct growth_choice choice = product->choice;
	struct sample *samples = product->samples;
	struct err err;

	if (!product->is_survey)
		choice.count = largest_size(bench, choice);
	while (measure(&bench->template, &choice, &samples[0], &err)) {
		(void)snprintf(product->problem, sizeof(product->problem), "%.250s", err.text);
		if ((choice.count /= 2) < COUNT_MIN)
			return -1;
	}
	*product->problem = '\0';
	product->sample_count = 1;
	if (product->is_survey ||
	    (!is_costly(&samples[0], STEP_READ) && !is_costly(&samples[0], STEP_DECIDE)))
		return 0;
	for (; product->sample_count < SIZES; product->sample_count++) {
		choice.count /= 2;
		if (measure(&bench->template, &choice, &samples[product->sample_count], &err))
			return 0;
	}
	return 0;
}

/* ---- the judgement ---- */

static void print_product(const struct product *product, enum step step, const char *word)
{
	char sizes[64] = "", blocks[96] = "";

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
		(void)snprintf(blocks + strlen(blocks), sizeof(blocks) - strlen(blocks), " %.0f",
			       sample->growing[step] / 1000);
	}
	printf("%-6s %-6s %s: %s,%s elements,%s thousand blocks, %.0f x base in all, n^%.2f, %.0f MiB\n",
	       word, step_names[step], product->lists, growth_texts_names[product->choice.texts],
	       sizes, blocks, product->samples[0].blocks[step] / BASE_BLOCKS,
	       exponent(product, step), product->samples[0].mib[step]);
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
	bool is_printed = known || (is_pair && bench->options.print_pairs);
	bool fails = !is_printed || is_far_above(product, step, known ? known : &printed_row);

	if (known) {
		known->measured = true;
		known->above = known->above || is_above(product, step);
	}
	if (!is_above(product, step))
		return;
	bench->findings++;
	bench->failures += fails;
	print_product(product, step, !known ? "ABOVE" : fails ? "WORSE" : "known");
}

static void judge(struct bench *bench, const struct product *product)
{
	if (product->is_survey) {
		bench->reads[product->choice.lists[0]] =
			product->status != 0 ||
			product->samples[0].blocks[STEP_DECIDE] >
				bench->base.blocks[STEP_DECIDE] + (double)product->samples[0].count;
		bench->dear[product->choice.lists[0]] = product->status != 0 ||
							product->samples[0].growing[STEP_DECIDE] >
								DEAR_LIST_COST * BASE_BLOCKS;
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
	if (product->status == 0 && is_uncounted(&product->samples[0])) {
		printf("UNCOUNTED %s: %s, %.0f thousand blocks for %.0f thousand counted units\n",
		       product->lists, growth_texts_names[product->choice.texts],
		       product->samples[0].blocks[STEP_DECIDE] / 1000,
		       product->samples[0].units / 1000);
		bench->failures += product->choice.list_count == 1 || !bench->options.print_pairs;
	}
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
		bench->failures++;
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

	if (bench->dear[i] || bench->dear[j])
		return false;
	return ((bench->reads[i] || is_outermost(a)) && (bench->reads[j] || is_outermost(b))) ||
	       strncmp(a, b, strlen(a)) == 0 || strncmp(a, b, strlen(b)) == 0;
}

static bool is_in_part(const struct bench *bench, size_t i, size_t j)
{
	return (7 * i + j) % bench->options.parts == bench->options.part;
}

/* Whether a pair that is wanted may have the list. */
static bool may_be_wanted(const struct bench *bench, const char *path)
{
	for (size_t i = 0; i < bench->options.only_count; i++)
		if (*bench->options.only[i] == '=' && !strstr(bench->options.only[i], path))
			return false;
	return true;
}

/* Which lists a decision reads. */
static void survey(struct bench *bench, struct job *jobs)
{
	size_t read = 0;

	for (size_t i = 0; i < bench->template.lists.count; i++) {
		struct product product = product_of(bench, i, i, GROWTH_DISTINCT);

		if (!may_be_wanted(bench, product.lists))
			continue;
		product.is_survey = true;
		product.choice.count = COUNT_PAIR;
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

	if (measure(&bench->template, &none, &bench->base, err))
		return -1;
	bench->reads = arena_array(arena, bench->template.lists.count, sizeof(bool));
	bench->dear = arena_array(arena, bench->template.lists.count, sizeof(bool));
	printf("%zu lists; the example takes %.0f thousand blocks to read and %.0f to decide\n",
	       bench->template.lists.count, bench->base.blocks[STEP_READ] / 1000,
	       bench->base.blocks[STEP_DECIDE] / 1000);
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
	for (rest = text; (line = strsep(&rest, "\n"));) {
		struct known_row *row;

		if (*line == '\0' || *line == '#')
			continue;
		row = ARENA_NEW(arena, struct known_row);
		row->count = strtoul(line, &line, 10);
		row->blocks_max = strtod(line, &line) * BASE_BLOCKS;
		if (row->blocks_max <= 0 || *line != ' ')
			return err_set(err, ERR_INPUT, "%s: expected ELEMENTS MILLION-BLOCKS: %s",
				       bench->options.known, line);
		map_set(&bench->known, line + 1, row);
	}
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
			"[--alone] [--print-pairs] [--known FILE] [--result FILE] [TEMPLATE]\n"
			"       codec_growth_bench --write COUNT TEXTS LIST [LIST]\n"
			"       codec_growth_bench --costs FILE\n");
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

/* Costs of one snapshot, for e2e/conformance/bench_decide.py. */
static int print_costs(const char *path)
{
	AUTO(memory_free_string) char *file = NULL;
	struct sample sample = { .count = 1 };
	struct err err;

	if (golden_text(path, &file, &err) ||
	    measure_text(&(struct buf){ .data = file, .size = strlen(file) }, &sample, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	printf("{\"read\": %.0f, \"decide\": %.0f, \"units\": %.0f, \"readMiB\": %.1f, \"decideMiB\": %.1f}\n",
	       sample.blocks[STEP_READ], sample.blocks[STEP_DECIDE], sample.units,
	       sample.mib[STEP_READ], sample.mib[STEP_DECIDE]);
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
		if (strcmp(word, "--alone") == 0 || strcmp(word, "--print-pairs") == 0) {
			*(word[2] == 'a' ? &options->alone : &options->print_pairs) = true;
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
		.known = MAP_INIT
	};
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(memory_free_string) char *text = NULL;
	bool writes = count > 1 && strcmp(words[1], "--write") == 0;
	struct err err = { .kind = ERR_NONE };

	if (count == 3 && strcmp(words[1], "--costs") == 0)
		return print_costs(words[2]);
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
	return bench.failures > 0 ? 1 : 0;
}
