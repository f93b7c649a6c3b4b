/* The time to read a workload of COUNT items in each form of file: codec_workload_bench [COUNT].
 * The best of RUNS counts; the texts are made first. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/memory.h"
#include "codec/objects/workload_file.h"
#include "codec/text/number.h"
#include "test/support/bench_usage.h"

#define RUNS 3

static const char columns[] = "submit=creation_time,duration=minutes:min,gpus=num_gpu,"
			      "gpus=gpu_milli:milli,memory=mem_mib:MiB,job=user";

/* Item i has one of a few shapes and one of 200 jobs. */
static void write_item(struct buf *text, const char *format, int64_t i)
{
	static const char yaml[] = "- submit: %" PRId64 "s\n  duration: %" PRId64
				   "m\n  resources: {GPU: 0.%" PRId64 ", memory: %" PRId64
				   "}\n  job: job-%" PRId64 "\n";
	static const char lines[] = "{\"submit\": \"%" PRId64 "s\", \"duration\": \"%" PRId64
				    "m\", \"resources\": {\"GPU\": 0.%" PRId64
				    ", \"memory\": %" PRId64 "}, \"job\": \"job-%" PRId64 "\"}\n";
	int64_t minutes = 1 + i % 600, part = 1 + i % 9, memory = 1024 * (1 + i % 4);

	if (strcmp(format, "YAML") == 0)
		buf_printf(text, yaml, i * 6, minutes, part, memory, i % 200);
	else if (strcmp(format, "JSON lines") == 0)
		buf_printf(text, lines, i * 6, minutes, part, memory, i % 200);
	else
		buf_printf(text,
			   "%" PRId64 ",%" PRId64 ",1,%" PRId64 ",%" PRId64 ",job-%" PRId64 "\n",
			   i * 6, minutes, part * 100, memory, i % 200);
}

static int measure(const char *format, const char *head, const char *csv_columns, int64_t count)
{
	AUTO(buf_done) struct buf text;
	double best_ms = 0;

	buf_init(&text, WORKLOAD_BYTES_MAX);
	buf_add_string(&text, head);
	for (int64_t i = 0; i < count; i++)
		write_item(&text, format, i);
	for (int run = 0; run < RUNS; run++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		double start = bench_usage_ms(), ms;
		struct workload workload;
		struct err err;

		if (workload_read(buf_string(&text), text.size, csv_columns, &arena, &workload,
				  &err)) {
			fprintf(stderr, "%s: %s\n", format, err.text);
			return -1;
		}
		ms = bench_usage_ms() - start;
		if (run == 0 || ms < best_ms)
			best_ms = ms;
	}
	printf("%-12s %8" PRId64 " items %7.1f MiB %8.0f ms %6.2f us per item\n", format, count,
	       (double)text.size / (1 << 20), best_ms, best_ms * 1e3 / (double)count);
	return 0;
}

int main(int argc, char **argv)
{
	int64_t count = 100000;

	if (argc > 1 && (number_parse_integer(argv[1], &count) || count < 1)) {
		fprintf(stderr, "usage: codec_workload_bench [COUNT]\n");
		return 2;
	}
	if (measure("YAML", "apiVersion: rayscaler.dev/v1alpha1\nkind: Workload\nitems:\n", NULL,
		    count) ||
	    measure("JSON lines", "", NULL, count) ||
	    measure("CSV", "creation_time,minutes,num_gpu,gpu_milli,mem_mib,user\n", columns,
		    count))
		return 1;
	return 0;
}
