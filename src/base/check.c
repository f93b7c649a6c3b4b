#include "base/check.h"

#include <stdlib.h>
#include <string.h>

#define KEY_SIZE 256

static check_hook *installed_hook;
static _Thread_local char key_in_work[KEY_SIZE]; /* passes are decided on several threads */
static _Thread_local const void *case_in_work;

void check_hook_set(check_hook *hook)
{
	installed_hook = hook;
}

void check_key_set(const char *key)
{
	size_t size = strnlen(key, KEY_SIZE - 1);

	memmove(key_in_work, key, size);
	key_in_work[size] = '\0';
}

void check_snapshot_set(const void *snapshot)
{
	case_in_work = snapshot;
}

const void *check_snapshot(void)
{
	return case_in_work;
}

_Noreturn void check_failed(const char *condition, const char *file, int line, const char *function)
{
	check_hook *hook = installed_hook;

	installed_hook = NULL; /* a failure within the hook must end, not recurse */
	if (hook)
		hook(condition, file, line, function, key_in_work);
	abort();
}
