/* A program that includes this has clocks that jump: libc's clock_gettime plus an offset of the
 * test. libuv's own clock (CLOCK_MONOTONIC) runs on as it is, so timers do not fire by it: the
 * process sees the same as after it was stopped, or the machine slept or was given another time,
 * before any timer has fired. Header only. */
#ifndef TEST_SUPPORT_CLOCK_JUMP_H
#define TEST_SUPPORT_CLOCK_JUMP_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic int64_t jump_wall_s, jump_boot_s;

int clock_gettime(clockid_t id, struct timespec *ret)
{
	long result = syscall(SYS_clock_gettime, id, ret);

	if (id == CLOCK_REALTIME)
		ret->tv_sec += jump_wall_s;
	else if (id == CLOCK_BOOTTIME)
		ret->tv_sec += jump_boot_s;
	return (int)result;
}

static inline void jump_reset(void)
{
	jump_wall_s = 0;
	jump_boot_s = 0;
}

#endif
