#include "test/support/bench_usage.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double bench_usage_ms(void)
{
	struct timespec at;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
	return (double)at.tv_sec * 1e3 + (double)at.tv_nsec / 1e6;
}

double bench_usage_mib(const char *name)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[256];
	double kib = 0;

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			kib = strtod(line + strlen(name) + 1, NULL);
	if (file)
		(void)fclose(file);
	return kib / 1024;
}

void bench_usage_forget_peak(void)
{
	FILE *file = fopen("/proc/self/clear_refs", "w");

	malloc_trim(0);
	if (file) {
		fputs("5", file);
		(void)fclose(file);
	}
}
