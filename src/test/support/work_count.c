#include "test/support/work_count.h"

#include <stddef.h>

#define BYTES_OF_COPY 64

/* NOLINTBEGIN(bugprone-reserved-identifier): names of the compiler and the linker */
/* Called by the compiler at the start of each basic block. */
void __sanitizer_cov_trace_pc(void);

void *__real_memcpy(void *to, const void *from, size_t size);
void *__real_memmove(void *to, const void *from, size_t size);
void *__real_memset(void *to, int byte, size_t size);
void *__wrap_memcpy(void *to, const void *from, size_t size);
void *__wrap_memmove(void *to, const void *from, size_t size);
void *__wrap_memset(void *to, int byte, size_t size);

static uint64_t count;

uint64_t work_count_blocks(void)
{
	return count;
}

void __sanitizer_cov_trace_pc(void)
{
	count++;
}

void *__wrap_memcpy(void *to, const void *from, size_t size)
{
	count += size / BYTES_OF_COPY;
	return __real_memcpy(to, from, size);
}

void *__wrap_memmove(void *to, const void *from, size_t size)
{
	count += size / BYTES_OF_COPY;
	return __real_memmove(to, from, size);
}

void *__wrap_memset(void *to, int byte, size_t size)
{
	count += size / BYTES_OF_COPY;
	return __real_memset(to, byte, size);
}
/* NOLINTEND(bugprone-reserved-identifier) */
