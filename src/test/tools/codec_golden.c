/* Prints the snapshot of a golden case, for `rayscaler plan -f -` and for people:
 *   codec_golden src/test/golden/0001_scale_up_pending_actors.yaml
 *   codec_golden --all DIRECTORY     writes DIRECTORY/NAME for each case */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "test/support/golden_case.h"

static int print_case(const char *path, FILE *file)
{
	AUTO(memory_free_string) char *text = NULL;
	struct err err = { .kind = ERR_NONE };

	if (golden_yaml(path, &text, &err) == 0)
		return fputs(text, file) < 0 ? -1 : 0;
	fprintf(stderr, "%s\n", err.text);
	return -1;
}

static int print_all(const char *directory)
{
	AUTO(golden_names_free) struct golden_names names = { .at = NULL };
	struct err err = { .kind = ERR_NONE };
	char from[4096], to[4096];
	int failed = golden_names_read(golden_directory(), &names, &err);

	for (size_t i = 0; i < names.count && !failed; i++) {
		FILE *file;

		(void)snprintf(from, sizeof(from), "%s/%s", golden_directory(), names.at[i]);
		(void)snprintf(to, sizeof(to), "%s/%s", directory, names.at[i]);
		file = fopen(to, "we");
		failed = file == NULL || print_case(from, file);
		failed = (file != NULL && fclose(file) != 0) || failed;
	}
	if (failed)
		fprintf(stderr, "not all cases could be written to %s %s\n", directory, err.text);
	return failed ? -1 : 0;
}

int main(int count, char **words)
{
	if (count == 3 && strcmp(words[1], "--all") == 0)
		return print_all(words[2]) ? 1 : 0;
	if (count == 2)
		return print_case(words[1], stdout) ? 1 : 0;
	fprintf(stderr, "usage: codec_golden CASE.yaml | --all DIRECTORY\n");
	return 2;
}
