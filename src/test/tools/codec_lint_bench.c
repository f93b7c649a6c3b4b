/* The cost of lint for many files, compared with reading them alone:
 *   codec_lint_bench COUNT FILE...
 * The texts are read first, then each step processes COUNT of them, the given ones again and again;
 * the best of RUNS counts. Prints CPU time, files per second, the ratio to reading alone, and the
 * memory that the step takes at its peak. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/memory.h"
#include "codec/text/number.h"
#include "codec/text/yaml.h"
#include "feature/lint/objects/lint_document.h"
#include "test/support/bench_usage.h"

#define RUNS 5
#define FILE_BYTES_MAX ((size_t)16 << 20)

struct texts {
	struct buf *at;
	size_t count, wanted;
};

static int read_file(const char *path, struct buf *buf)
{
	FILE *file = fopen(path, "rb");
	char chunk[65536];
	size_t size;

	buf_init(buf, FILE_BYTES_MAX);
	while (file && (size = fread(chunk, 1, sizeof(chunk), file)) > 0)
		buf_add(buf, chunk, size);
	if (file)
		(void)fclose(file);
	if (file && !buf->overflowed)
		return 0;
	fprintf(stderr, "%s: cannot be read\n", path);
	return -1;
}

/* ---- the steps ---- */

static size_t parse(const struct texts *texts, bool with_positions)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	size_t documents = 0;

	for (size_t i = 0; i < texts->wanted; i++) {
		const struct buf *text = &texts->at[i % texts->count];
		struct yaml_stream *stream =
			yaml_stream_new(buf_string(text), text->size, &lint_limits);
		struct positions positions = { .arena = &arena };
		struct cJSON *tree = NULL;

		while (yaml_stream_next(stream, with_positions ? &positions : NULL, &tree, NULL) >
		       0) {
			documents++;
			json_done(&tree);
		}
		yaml_stream_free(stream);
		arena_reset(&arena);
	}
	return documents;
}

static size_t parse_only(const struct texts *texts)
{
	return parse(texts, false);
}

static size_t parse_places(const struct texts *texts)
{
	return parse(texts, true);
}

static size_t lint(const struct texts *texts)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct settings settings;
	const struct lint_context context = { .devices = device_table_builtin(),
					      .settings = &settings };
	struct lint_report report;

	settings_init(&settings);
	lint_report_init(&report, &arena);
	for (size_t i = 0; i < texts->wanted; i++) {
		const struct buf *text = &texts->at[i % texts->count];

		lint_text_add(&report, "file.yaml", buf_string(text), text->size, &context);
	}
	lint_report_finish(&report, &context);
	return report.list.count;
}

static void measure(const char *name, size_t step(const struct texts *), const struct texts *texts,
		    const char *what, double *base_ms)
{
	double best_ms = 0, before, peak;
	size_t result = 0;

	bench_usage_forget_peak();
	before = bench_usage_mib("VmRSS");
	for (int i = 0; i < RUNS; i++) {
		double start = bench_usage_ms(), ms;

		result = step(texts);
		ms = bench_usage_ms() - start;
		if (i == 0 || ms < best_ms)
			best_ms = ms;
	}
	peak = bench_usage_mib("VmHWM") - before;
	if (*base_ms <= 0)
		*base_ms = best_ms;
	printf("%-28s %9.1f ms %9.0f files/s %6.2f x %6.1f MiB   %zu %s\n", name, best_ms,
	       (double)texts->wanted / best_ms * 1e3, best_ms / *base_ms, peak > 0 ? peak : 0,
	       result, what);
}

int main(int argc, char **argv)
{
	struct texts texts = { .at = NULL };
	int64_t wanted = 0;
	size_t bytes = 0;
	double base_ms = 0;

	if (argc < 3 || number_parse_integer(argv[1], &wanted) || wanted < 1) {
		fprintf(stderr, "usage: codec_lint_bench COUNT FILE...\n");
		return 2;
	}
	texts.wanted = (size_t)wanted;
	texts.count = (size_t)argc - 2;
	texts.at = memory_array(texts.count, sizeof(*texts.at));
	for (size_t i = 0; i < texts.count; i++) {
		if (read_file(argv[i + 2], &texts.at[i]))
			return 1;
	}
	for (size_t i = 0; i < texts.wanted; i++)
		bytes += texts.at[i % texts.count].size;
	printf("%zu files, %.2f MiB\n", texts.wanted, (double)bytes / (1 << 20));
	measure("read alone", parse_only, &texts, "documents", &base_ms);
	measure("read, with line and column", parse_places, &texts, "documents", &base_ms);
	measure("lint", lint, &texts, "findings", &base_ms);
	for (size_t i = 0; i < texts.count; i++)
		buf_done(&texts.at[i]);
	memory_free(texts.at);
	return 0;
}
