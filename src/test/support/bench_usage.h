/* CPU time and memory of a bench process. */
#ifndef TEST_SUPPORT_BENCH_USAGE_H
#define TEST_SUPPORT_BENCH_USAGE_H

/* CPU time of the process so far, in milliseconds. */
double bench_usage_ms(void);
/* "VmHWM" (peak) or "VmRSS" (now) of the process, in MiB. */
double bench_usage_mib(const char *name);
/* Returns freed memory to the system and resets the peak. */
void bench_usage_forget_peak(void);

#endif
