/* Work of a program whose libraries are compiled with -fsanitize-coverage=trace-pc and linked with
 * WORK_COUNT_LINK (mk/rules.mk): the basic blocks that ran, however a loop is written, and of libc's copies
 * 64 bytes each. It is the same in each run and on each machine. */
#ifndef TEST_SUPPORT_WORK_COUNT_H
#define TEST_SUPPORT_WORK_COUNT_H

#include <stdint.h>

/* So far; 0 in a program that is built otherwise. */
uint64_t work_count_blocks(void);

#endif
