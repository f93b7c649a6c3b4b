/* Shared by all unit tests: cmocka with its prerequisites, a way to see a CHECK fail, and numbers
 * that look random but are the same in every run. Header only, so that tests of base and core link
 * nothing but cmocka. */
#ifndef TEST_SUPPORT_SUPPORT_H
#define TEST_SUPPORT_SUPPORT_H

/* The order matters to cmocka.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"

static jmp_buf support_check_jump __attribute__((unused));

__attribute__((unused)) static void support_check_hook(const char *condition, const char *file,
						       int line, const char *function,
						       const char *key)
{
	(void)condition;
	(void)file;
	(void)line;
	(void)function;
	(void)key;
	longjmp(support_check_jump, 1);
}

/* Passes when the statement fails a CHECK. Memory that it allocated before that is leaked. */
#define EXPECT_CHECK(statement)                                                                    \
	do {                                                                                       \
		check_hook_set(support_check_hook);                                                \
		if (setjmp(support_check_jump) == 0) {                                             \
			statement;                                                                 \
			check_hook_set(NULL);                                                      \
			fail_msg("no CHECK failed in: %s", #statement);                            \
		}                                                                                  \
		check_hook_set(NULL);                                                              \
	} while (0)

/* xorshift64*; *state must not start at 0. */
__attribute__((unused)) static uint64_t support_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(2685821657736338717);
}

/* 0 to below - 1. */
__attribute__((unused)) static size_t support_random_below(uint64_t *state, size_t below)
{
	return (size_t)(support_random(state) % below);
}

#define SUPPORT_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
