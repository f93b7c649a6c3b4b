#include "cli/shared/commands.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli/shared/file.h"
#include "cli/shared/flags.h"
#include "cli/shared/help.h"
#include "cli/shared/view.h"
#include "codec/objects/snapshot_json.h"
#include "codec/text/yaml_write.h"

static const char help[] =
	"usage: @ snapshot CLUSTER [-n NS] [-o FILE] [flags]\n"
	"Writes the Snapshot of one RayCluster: all inputs of its next decision,\n"
	"for \"@ plan -f FILE\" and for bug reports. Values of environment\n"
	"variables, commands of containers, foreign annotations and fields named like a\n"
	"password, token, secret or key are omitted. The running controller provides it;\n"
	"without one it is made from the API objects, without Ray's state, events and\n"
	"memory.\n"
	"  -o, --output FILE             default: standard output, also as -; a name that\n"
	"                                ends with .yaml or .yml is written as YAML\n"
	"  -o, --output json|yaml        this form on standard output\n" SESSION_HELP
	"exit status: 0 it was written, 1 it could not be, 2 wrong usage\n";

static bool is_file(const char *path)
{
	static const char *const others[] = { "-", "json", "yaml", "yml" };

	return path && !text_is_among(path, others, sizeof(others) / sizeof(others[0]));
}

static bool is_yaml(const char *path)
{
	const char *ending = path ? strrchr(path, '.') : NULL;

	return path && (strcmp(path, "yaml") == 0 || strcmp(path, "yml") == 0 ||
			(ending && (strcmp(ending, ".yaml") == 0 || strcmp(ending, ".yml") == 0)));
}

static int take_snapshot(const struct api_connection_flags *flags, const char *name,
			 const char *path, struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(view_one_done) struct view_one one = { .connection = NULL };
	AUTO(buf_done) struct buf text = BUF_INIT(SNAPSHOT_BYTES_MAX);
	AUTO(buf_done) struct buf yaml = BUF_INIT(SNAPSHOT_BYTES_MAX);
	const struct buf *output = &text;

	if (view_one_open(flags, name, VIEW_SNAPSHOT, &arena, &one, err))
		return -1;
	if (one.cluster->answer) {
		buf_add_string(&text, one.cluster->answer);
	} else {
		help_warn("snapshot",
			  arena_printf(&arena,
				       "made from the API objects, without Ray's state, events and "
				       "the controller's flags: %s",
				       one.cluster->problem));
		if (snapshot_write(&one.cluster->snapshot, &text, err))
			return -1;
	}
	if (is_yaml(path)) {
		if (yaml_write(buf_string(&text), text.size, &yaml, err))
			return -1;
		output = &yaml;
	}
	return is_file(path) ? file_write(path, FILE_PRIVATE, output, err) :
			       file_print(output, err);
}

int cli_snapshot(int argc, char **argv)
{
	struct api_connection_flags connection = { .namespace_ = NULL };
	const char *name = NULL, *path = NULL;
	const struct flag table[] = {
		{ "-o", "--output", .value = &path },
		SESSION_FLAGS(connection),
	};
	struct flags flags = FLAGS_CLUSTER(table, name, true);
	struct err err;
	int status;

	if (!help_begin(&flags, help, argc, argv, &status))
		return status;
	return take_snapshot(&connection, name, path, &err) ? help_failed("snapshot", &err) :
							      EXIT_DONE;
}
