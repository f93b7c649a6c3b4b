/* Time and memory of one whole decision, for e2e/conformance/bench_decide.py:
 *   codec_decide_bench SNAPSHOT
 * prints one JSON line: milliseconds of CPU to read the file, to decide and to write the plan (the
 * latter two the best of RUNS), the memory that deciding takes at its peak, and the peak of the
 * process while it reads, in MiB. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "codec/objects/plan_json.h"
#include "codec/objects/snapshot_json.h"
#include "core/decide.h"
#include "test/support/bench_usage.h"

#define RUNS 5
#define FILE_BYTES_MAX ((size_t)1 << 30)

static int read_file(const char *path, struct buf *buf, struct err *err)
{
	FILE *file = fopen(path, "rb");
	char chunk[65536];
	size_t size;
	int status = 0;

	if (!file)
		return err_set(err, ERR_INPUT, "%s cannot be opened", path);
	while (!status && (size = fread(chunk, 1, sizeof(chunk), file)) > 0)
		status = buf_add(buf, chunk, size);
	if (status)
		err_set(err, ERR_INPUT, "%s is too large", path);
	(void)fclose(file);
	return status;
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

static int measure(const char *path, struct err *err)
{
	AUTO(buf_done) struct buf text, output;
	AUTO(arena_done) struct arena input = ARENA_INIT;
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	double began, read, decided = 1e300, written = 1e300, reading, before, peak;
	struct snapshot snapshot;

	buf_init(&text, FILE_BYTES_MAX);
	buf_init(&output, FILE_BYTES_MAX);
	if (read_file(path, &text, err))
		return -1;
	began = bench_usage_ms();
	if (snapshot_read(buf_string(&text), text.size, &input, &snapshot, err))
		return -1;
	read = bench_usage_ms() - began;
	reading = bench_usage_mib("VmHWM");
	bench_usage_forget_peak();
	before = peak = bench_usage_mib("VmRSS");
	for (int i = 0; i < RUNS; i++) {
		const struct plan *plan;

		arena_reset(&arena);
		buf_clear(&output);
		began = bench_usage_ms();
		plan = decide(&snapshot, &arena);
		decided = least(decided, bench_usage_ms() - began);
		peak = i ? peak : bench_usage_mib("VmHWM");
		began = bench_usage_ms();
		if (plan_write(plan, false, &output, err))
			return -1;
		written = least(written, bench_usage_ms() - began);
	}
	printf("{\"read\": %.2f, \"decide\": %.2f, \"write\": %.2f, \"decideMiB\": %.1f, "
	       "\"readMiB\": %.1f}\n",
	       read, decided, written, peak - before, reading);
	return 0;
}

int main(int argc, char **argv)
{
	struct err err = { .kind = ERR_NONE };

	if (argc != 2) {
		fprintf(stderr, "usage: codec_decide_bench SNAPSHOT\n");
		return 2;
	}
	if (measure(argv[1], &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	return 0;
}
