/* Prints the snapshot of a golden case, for `rayscaler plan -f -` and for people:
 *   codec_golden src/test/golden/0001_scale_up_pending_actors.yaml
 *   codec_golden --all DIRECTORY     writes DIRECTORY/NAME for each case
 *   codec_golden --rules             prints the rules by subject (make rules) */
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "codec/text/json.h"
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
		failed = !file || print_case(from, file);
		failed = (file && fclose(file) != 0) || failed;
	}
	if (failed)
		fprintf(stderr, "not all cases could be written to %s %s\n", directory, err.text);
	return failed ? -1 : 0;
}

/* ---- rules ---- */

#define SUBJECTS_MAX 200
#define SUBJECT_BYTES 80
#define COLUMNS 100

/* From case `number` on, up to the next entry. */
struct subject {
	char number[5], name[SUBJECT_BYTES];
};

static size_t read_subjects(struct subject *subjects)
{
	FILE *file = fopen(GOLDEN_DIRECTORY "/subjects.txt", "re");
	size_t count = 0;

	while (file && count < SUBJECTS_MAX &&
	       fscanf(file, "%4s %79[^\n]\n", subjects[count].number, subjects[count].name) == 2)
		count++;
	if (file)
		fclose(file);
	return count;
}

static const char *subject_of(const struct subject *subjects, size_t count, const char *name)
{
	const char *found = "";

	for (size_t i = 0; i < count && strncmp(subjects[i].number, name, 4) <= 0; i++)
		found = subjects[i].name;
	return found;
}

/* "* 0001: rule", wrapped. */
static int print_rule(const char *name)
{
	AUTO(json_done) struct cJSON *tree = NULL;
	struct err err = { .kind = ERR_NONE };
	const char *rule, *word;
	char path[4096];
	size_t column;

	(void)snprintf(path, sizeof(path), GOLDEN_DIRECTORY "/%s", name);
	if (golden_read(path, &tree, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return -1;
	}
	rule = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(tree, "rule"));
	column = (size_t)printf("* %.4s:", name);
	for (word = rule; *word != '\0'; word += strspn(word, " ")) {
		size_t size = strcspn(word, " ");

		if (column + 1 + size > COLUMNS)
			column = (size_t)printf("\n ") - 1;
		column += (size_t)printf(" %.*s", (int)size, word);
		word += size;
	}
	putchar('\n');
	return 0;
}

static bool is_repeated(const struct subject *subjects, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (strcmp(subjects[i].name, subjects[index].name) == 0)
			return true;
	}
	return false;
}

/* Each subject at its first entry, with its cases by number. */
static int print_rules(void)
{
	static struct subject subjects[SUBJECTS_MAX];
	AUTO(golden_names_free) struct golden_names names = { .at = NULL };
	size_t count = read_subjects(subjects);
	struct err err = { .kind = ERR_NONE };

	if (golden_names_read(GOLDEN_DIRECTORY, &names, &err))
		return -1;
	printf("# Rules of the decision\n\n"
	       "The rules of all golden cases, by subject; made by `make rules`. A\n"
	       "number is that of a file `src/test/golden/NNNN_*.yaml`, which shows the rule.\n"
	       "docs/DECISIONS.md explains how they belong together.\n");
	for (size_t i = 0; i < count; i++) {
		if (is_repeated(subjects, i))
			continue;
		printf("\n## %s\n\n", subjects[i].name);
		for (size_t k = 0; k < names.count; k++) {
			if (strcmp(subject_of(subjects, count, names.at[k]), subjects[i].name) ==
				    0 &&
			    print_rule(names.at[k]))
				return -1;
		}
	}
	return 0;
}

int main(int count, char **words)
{
	if (count == 3 && strcmp(words[1], "--all") == 0)
		return print_all(words[2]) ? 1 : 0;
	if (count == 2 && strcmp(words[1], "--rules") == 0)
		return print_rules() ? 1 : 0;
	if (count == 2)
		return print_case(words[1], stdout) ? 1 : 0;
	fprintf(stderr, "usage: codec_golden CASE.yaml | --all DIRECTORY | --rules\n");
	return 2;
}
