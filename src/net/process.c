#include "net/process.h"

#include <dirent.h>
#include <malloc.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory.h"

#define MMAP_THRESHOLD_BYTES (256 << 10)
#define TRIM_THRESHOLD_BYTES (1 << 20)

static int64_t microseconds(struct timeval time)
{
	return (int64_t)time.tv_sec * 1000000 + time.tv_usec;
}

static int64_t resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	long long all = 0, resident = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%lld %lld", &all, &resident) != 2)
		resident = 0;
	(void)fclose(file);
	return (int64_t)resident * sysconf(_SC_PAGESIZE);
}

static int64_t open_fds(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int64_t count = 0;

	if (!directory)
		return -1;
	for (const struct dirent *entry; (entry = readdir(directory));)
		count += entry->d_name[0] != '.';
	(void)closedir(directory);
	return count - 1; /* its own */
}

int64_t process_cpu_us(void)
{
	struct rusage usage = { 0 };

	(void)getrusage(RUSAGE_SELF, &usage);
	return microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
}

void process_read(struct process_figures *ret_figures)
{
	struct rlimit limit = { 0 };

	ret_figures->cpu_seconds = (double)process_cpu_us() / 1e6;
	ret_figures->resident_bytes = resident_bytes();
	ret_figures->open_fds = open_fds();
	ret_figures->max_fds = -1;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		ret_figures->max_fds = (int64_t)limit.rlim_cur;
}

static void *take(size_t bytes, const char *file UNUSED, int line UNUSED)
{
	return memory_try_alloc(bytes);
}

static void *resize(void *old, size_t bytes, const char *file UNUSED, int line UNUSED)
{
	return memory_try_resize(old, bytes);
}

static void give(void *memory, const char *file UNUSED, int line UNUSED)
{
	memory_free(memory);
}

void process_share_heap(void)
{
	(void)CRYPTO_set_mem_functions(take, resize, give);
	(void)mallopt(M_ARENA_MAX, 1);
	/* The blocks of a large tree that a job frees are joined at once. glibc would keep them apart and join all
	 * of them in the next large allocation, which may be the loop's (18 ms after 75,000 containers). */
	(void)mallopt(M_MXFAST, 0);
	/* A large reply and its decoded data return to the system when they are freed; glibc would
	 * raise these with the first large block that is freed, up to 32 MiB. */
	(void)mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES);
	(void)mallopt(M_TRIM_THRESHOLD, TRIM_THRESHOLD_BYTES);
}

static int64_t files_limit(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur <= INT32_MAX ?
		       (int64_t)limit.rlim_cur :
		       INT32_MAX;
}

static int64_t files_reserved(void)
{
	int64_t half = files_limit() / 2;

	return half < PROCESS_FILES_RESERVED ? half : PROCESS_FILES_RESERVED;
}

bool process_file_is_reserved(int fd)
{
	return fd >= files_limit() - files_reserved();
}

int process_refuse_file(bool reserved, struct err *err)
{
	if (!reserved)
		return err_set(err, ERR_RETRY,
			       PROCESS_TOO_MANY_FILES ": the limit of this process is %lld; raise "
						      "it (LimitNOFILE, ulimit -n)",
			       (long long)files_limit());
	return err_set(err, ERR_RETRY,
		       PROCESS_TOO_MANY_FILES ": the limit of this process is %lld, of which %lld "
					      "are kept for the API server, the Lease and probes; "
					      "raise it (LimitNOFILE, ulimit -n)",
		       (long long)files_limit(), (long long)files_reserved());
}

void process_raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

void process_trim_heap(void)
{
	(void)malloc_trim(0);
}
