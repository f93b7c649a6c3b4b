#include "cli/lint_files.h"

#include <errno.h>
#include <fts.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/memory.h"
#include "cli/file.h"

struct reading {
	const struct lint_context *context;
	struct lint_report *report;
	struct buf text; /* of one file after another */
};

static void read_file(struct reading *reading, const char *path)
{
	const char *name = strcmp(path, "-") == 0 ? LINT_STANDARD_INPUT : path;
	struct err err;

	buf_clear(&reading->text);
	if (file_read(path, &reading->text, &err))
		lint_problem_add(reading->report, name, "", err.text);
	else
		lint_text_add(reading->report, name, buf_string(&reading->text), reading->text.size,
			      reading->context);
}

static bool has_ending(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot &&
	       (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0 || strcmp(dot, ".json") == 0);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* A regular file, or a link to one. */
static bool is_file(const FTSENT *entry)
{
	struct stat target;

	if (entry->fts_info == FTS_SL)
		return stat(entry->fts_accpath, &target) == 0 && S_ISREG(target.st_mode);
	return entry->fts_info == FTS_F;
}

/* False: stop reading. */
static bool take_entry(struct reading *reading, FTS *tree, FTSENT *entry)
{
	bool hidden = entry->fts_level > 0 && entry->fts_name[0] == '.';

	if (entry->fts_info == FTS_D && hidden) {
		(void)fts_set(tree, entry, FTS_SKIP);
	} else if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR ||
		   entry->fts_info == FTS_NS) {
		lint_problem_add(reading->report, entry->fts_path, "", strerror(entry->fts_errno));
	} else if (!hidden && is_file(entry) && has_ending(entry->fts_name)) {
		if (reading->report->files >= LINT_FILES_MAX) {
			lint_problem_add(reading->report, entry->fts_path, "",
					 "too many files; give fewer directories");
			return false;
		}
		read_file(reading, entry->fts_accpath);
	}
	return true;
}

static void read_directory(struct reading *reading, const char *path)
{
	AUTO(memory_free_string) char *copy = memory_strdup(path);
	char *paths[] = { copy, NULL };
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
	FTSENT *entry;

	if (!tree) {
		lint_problem_add(reading->report, path, "", strerror(errno));
		return;
	}
	while ((entry = fts_read(tree))) {
		if (!take_entry(reading, tree, entry))
			break;
	}
	fts_close(tree);
}

void lint_files_add(const struct flag_values *paths, const struct lint_context *context,
		    struct lint_report *report)
{
	struct reading reading = { .context = context, .report = report };

	buf_init(&reading.text, LINT_FILE_BYTES_MAX);
	for (size_t i = 0; i < paths->count; i++) {
		struct stat found;

		if (strcmp(paths->at[i], "-") != 0 && stat(paths->at[i], &found) == 0 &&
		    S_ISDIR(found.st_mode))
			read_directory(&reading, paths->at[i]);
		else
			read_file(&reading, paths->at[i]);
	}
	buf_done(&reading.text);
}
