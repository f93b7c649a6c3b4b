/* net/memory_limit: what a cgroup says. */
#include "net/memory_limit.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "test/support/support.h"

static const struct given {
	const char *cgroup, *file, *text; /* a second file may be given */
	const char *other_file, *other_text;
	size_t bytes;
} givens[] = {
	/* A container with a cgroup namespace, and one without. */
	{ "0::/\n", "sys/fs/cgroup/memory.max", "268435456\n", NULL, NULL, 268435456 },
	{ "0::/kubepods/pod1/c1\n", "sys/fs/cgroup/memory.max", "268435456\n", NULL, NULL,
	  268435456 },
	/* The least of the cgroup and those above it. */
	{ "0::/a/b\n", "sys/fs/cgroup/a/memory.max", "1000\n", "sys/fs/cgroup/a/b/memory.max",
	  "2000\n", 1000 },
	{ "0::/a/b\n", "sys/fs/cgroup/a/memory.max", "max\n", "sys/fs/cgroup/a/b/memory.max",
	  "2000\n", 2000 },
	{ "0::/a\n", "sys/fs/cgroup/a/memory.max", "max\n", NULL, NULL, 0 },
	{ "12:pids:/a\n4:cpu,memory:/a\n0::/\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes",
	  "3000\n", NULL, NULL, 3000 },
	{ "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n",
	  NULL, NULL, 0 },
	{ "", NULL, NULL, NULL, NULL, 0 },
	{ "garbage\n:\n0:\n", NULL, NULL, NULL, NULL, 0 },
};

static void write_file(struct arena *arena, const char *root, const char *path, const char *text)
{
	char *full = arena_printf(arena, "%s/%s", root, path);
	FILE *file;

	for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		(void)mkdir(full, 0700);
		*slash = '/';
	}
	file = fopen(full, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int remove_one(const char *path, const struct stat *status UNUSED, int type UNUSED,
		      struct FTW *walk UNUSED)
{
	return remove(path);
}

static void test_limits(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(givens) / sizeof(givens[0]); i++) {
		const struct given *given = &givens[i];
		char root[] = "/tmp/memory_limit.XXXXXX";
		struct memory_limit limit;

		assert_non_null(mkdtemp(root));
		write_file(&arena, root, "proc/self/cgroup", given->cgroup);
		if (given->file)
			write_file(&arena, root, given->file, given->text);
		if (given->other_file)
			write_file(&arena, root, given->other_file, given->other_text);
		limit = memory_limit_read(root, &arena);
		assert_int_equal(limit.bytes, given->bytes);
		assert_int_equal(nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
		assert_int_equal(*limit.source != '\0', given->bytes > 0);
	}
}

static void test_the_limit_of_data(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct rlimit old, less;
	struct memory_limit limit;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_DATA, &old), 0);
	less = old;
	less.rlim_cur = (rlim_t)1 << 40;
	assert_int_equal(setrlimit(RLIMIT_DATA, &less), 0);
	limit = memory_limit_read("/nowhere", &arena);
	assert_int_equal(setrlimit(RLIMIT_DATA, &old), 0);
	assert_int_equal(limit.bytes, (size_t)1 << 40);
	assert_string_equal(limit.source, "RLIMIT_DATA");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_the_limit_of_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
