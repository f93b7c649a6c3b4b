/* The command lint run in this process on files of a directory of its own, and two RayClusters for it.
 * For cli_lint_test.c alone. */
#ifndef TEST_SUPPORT_LINT_RUN_H
#define TEST_SUPPORT_LINT_RUN_H

#include "base/arena.h"
#include "cli/shared/commands.h"
#include "test/support/cli_server.h"

static char *directory;

#define GOOD                                                                                         \
	"kind: RayCluster\napiVersion: ray.io/v1\nmetadata: {name: good}\nspec:\n  headGroupSpec:\n" \
	"    rayStartParams: {num-cpus: '0'}\n"                                                      \
	"    template: {spec: {containers: [{name: head, image: r}]}}\n"
#define BAD                                                                                        \
	"{apiVersion: v1, kind: Service}\n---\n" GOOD "  workerGroupSpecs:\n"                      \
	"  - groupName: w\n    minReplicas: 3\n    maxReplicas: 2\n"                               \
	"    rayStartParams: {num-cpus: 4}\n"                                                      \
	"    template: {spec: {containers: [{name: w, image: r}]}}\n"

static int start_files(void **state)
{
	(void)state;
	directory = temp_directory();
	return 0;
}

static int end_files(void **state)
{
	(void)state;
	temp_done(directory);
	return 0;
}

/* lint with up to four words, of which "%" becomes the directory. */
static void lint(const char *a, const char *b, const char *c, const char *d)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const char *given[] = { a, b, c, d }, *words[6] = { "lint" };
	size_t count = 1;

	for (size_t i = 0; i < 4 && given[i]; i++)
		words[count++] = given[i][0] != '%' ?
					 given[i] :
					 arena_printf(&arena, "%s%s", directory, given[i] + 1);
	cli_run_words(cli_lint, words, &result);
}

/* The output with the directory's name as "%". */
static const char *output(struct arena *arena)
{
	const char *text = result.output, *found;
	const char *all = "";

	while ((found = strstr(text, directory))) {
		all = arena_printf(arena, "%s%.*s%%", all, (int)(found - text), text);
		text = found + strlen(directory);
	}
	return arena_printf(arena, "%s%s", all, text);
}

#endif
