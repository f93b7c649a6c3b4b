#include "cli/commands.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cli/explain_text.h"
#include "cli/file.h"
#include "cli/flags.h"
#include "cli/help.h"
#include "cli/view.h"
#include "codec/objects/plan_json.h"
#include "codec/text/rfc3339.h"

#define OUTPUT_BYTES_MAX ((size_t)256 << 20)

static const char help[] =
	"usage: @ explain CLUSTER [-n NS] [-o text|json] [flags]\n"
	"Explains one RayCluster: the worker for each pending bundle, the reason for each\n"
	"bundle that cannot be served, the reason why each worker is kept or terminated,\n"
	"and the groups in backoff.\n"
	"The running controller provides the data of its next decision. Without one the\n"
	"answer is made from the API objects, without Ray's view.\n"
	"  -o, --output FORMAT           text (default) or json, the form of \"plan\"\n" SESSION_HELP
	"exit status: 0 it was explained, 1 it could not be, 2 wrong usage\n";

static const char *source_line(const struct view_one *one, struct arena *arena)
{
	const struct last_word *word = one->cluster->last_word;
	char when[RFC3339_SIZE];

	if (word && *word->reason == '\0')
		word = NULL;
	rfc3339_print(one->cluster->snapshot.now, when);
	if (one->cluster->from_controller && *one->cluster->where != '\0')
		return arena_printf(arena, "as its sidecar sees it (%s) at %s", one->cluster->where,
				    when);
	if (one->cluster->from_controller)
		return arena_printf(arena, "as the controller sees it (%s, version %s) at %s",
				    one->controller.where, one->controller.version, when);
	return arena_printf(arena,
			    "from the API objects at %s, without Ray's view and with default "
			    "flags: %s%s%s%s%s",
			    when, one->cluster->problem,
			    word ? "; the controller last wrote: " : "", word ? word->reason : "",
			    word ? ": " : "", word ? word->message : "");
}

static int explain(const struct api_connection_flags *flags, const char *name, bool json,
		   struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(view_one_done) struct view_one one = { .connection = NULL };
	AUTO(buf_done) struct buf output;

	buf_init(&output, OUTPUT_BYTES_MAX);
	if (view_one_open(flags, name, &arena, &one, err))
		return -1;
	if (json) {
		if (!one.cluster->from_controller)
			help_warn("explain", source_line(&one, &arena));
		if (plan_write(one.cluster->plan, true, &output, err))
			return -1;
	} else if (explain_text_write(&one.cluster->snapshot, one.cluster->plan,
				      source_line(&one, &arena), &arena, &output, err)) {
		return -1;
	}
	return file_print(&output, err);
}

int cli_explain(int argc, char **argv)
{
	struct api_connection_flags connection = { .namespace_ = NULL };
	const char *name = NULL;
	int output = OUTPUT_TEXT, status;
	const struct flag table[] = {
		{ "-o", "--output", .words = flags_outputs, .word = &output },
		SESSION_FLAGS(connection),
	};
	struct flags flags = { .at = table,
			       .count = sizeof(table) / sizeof(table[0]),
			       .operand_name = "CLUSTER",
			       .operand_required = true,
			       .operand = &name };
	struct err err;

	if (!help_begin(&flags, help, argc, argv, &status))
		return status;
	return explain(&connection, name, output == OUTPUT_JSON, &err) ?
		       help_failed("explain", &err) :
		       EXIT_DONE;
}
