#include "cli/shared/commands.h"

#include <errno.h>
#include <fts.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/memory.h"
#include "cli/shared/device_file.h"
#include "cli/shared/file.h"
#include "cli/shared/flags.h"
#include "cli/shared/help.h"
#include "cli/shared/table.h"
#include "codec/objects/autoscaler_json.h"
#include "codec/text/text.h"
#include "ctl/shared/time_zones.h"
#include "feature/lint/cli/lint_live.h"
#include "feature/lint/cli/lint_server.h"
#include "feature/lint/core/lint_rule.h"
#include "feature/lint/objects/lint_document.h"
#include "feature/lint/objects/lint_write.h"
#include "feature/lint/objects/node_file.h"

#define OUTPUT_BYTES_MAX ((size_t)1 << 30)
/* In errors. */
#define LINT_KINDS "RayCluster, RayJob, RayService, RayCronJob or object of rayscaler.dev"
#define NO_OBJECT "the files have no " LINT_KINDS

static const char help[] =
	"usage: @ lint -f FILE... [-o text|json|sarif] [--nodes FILE] [--server]\n"
	"       @ lint --from-cluster [CLUSTER] [-n NS | -A] [-o FORMAT] [flags]\n"
	"       @ lint --rules\n"
	"Finds errors and probable mistakes in RayClusters, with the line to write.\n"
	"Checks RayJobs, RayServices, RayCronJobs and objects of rayscaler.dev too, and\n"
	"skips other objects.\n"
	"  -f, --file FILE               YAML or JSON, - is standard input; may be given\n"
	"                                again; of a directory every .yaml, .yml and\n"
	"                                .json in it and below\n"
	"  --server                      ask the API server too, by dry-run: about each\n"
	"                                object, and a Pod of the head and each group as\n"
	"                                KubeRay would make it; nothing is created\n"
	"  --from-cluster                those of the API server, or CLUSTER alone\n"
	"  -A, --all-namespaces          with --from-cluster: of all namespaces\n"
	"  --nodes FILE                  Nodes, from \"kubectl get nodes -o yaml\": groups\n"
	"                                that fit on none are reported; default: those of\n"
	"                                the cluster\n"
	"  --device-table FILE           further names of accelerators, or other meanings\n"
	"  -o, --output FORMAT           text (default), json or sarif (2.1.0)\n"
	"  --strict                      exit status 1 also for warnings and when\n"
	"                                the files have no RayCluster\n" COLOUR_HELP
	"  --rules                       all rules, with their severity\n" API_HELP
	"exit status: 0 no errors, 1 errors were found or the input cannot be read,\n"
	"2 wrong usage; warnings alone are 0 without --strict\n";

struct arguments {
	struct api_connection_flags connection;
	struct flag_values files, operands; /* operands: files too, or with from_cluster a name */
	const char *nodes, *device_table;   /* NULL: not given */
	bool from_cluster, server, all, rules, strict;
	int output, colour;
};

/* ---- the findings as text ---- */

/* The findings of a report in the form of compiler messages, so that editors and terminals find the
 * place: "FILE:LINE:COLUMN: severity: message [rule]", and below it the lines to write, if there
 * are any. A finding of an API server begins with its object and the path of the field. */

#define FIX_INDENT 4
#define RULE_WIDTH 78

/* Line by line, because a fix may have several lines. */
static void add_fix(struct buf *buf, const char *fix)
{
	while (*fix != '\0') {
		size_t size = strcspn(fix, "\n");
		AUTO(memory_free_string) char *line = memory_strndup(fix, size);

		text_add_line(buf, "%*s%s", FIX_INDENT, "", line);
		fix += size + (fix[size] == '\n');
	}
}

static void add_place(struct buf *buf, const struct lint_entry *entry)
{
	if (*entry->file == '\0') {
		text_add(buf, "%s%s%s", entry->object, *entry->finding.path != '\0' ? ": " : "",
			 entry->finding.path);
		return;
	}
	text_add_clean(buf, entry->file);
	if (entry->at.line > 0)
		buf_printf(buf, ":%u:%u", entry->at.line, entry->at.column);
}

static bool is_of_kind(const struct lint_entry *entry, const char *kind)
{
	size_t size = strlen(kind);

	return strncmp(entry->object, kind, size) == 0 && entry->object[size] == ' ';
}

/* Of rayscaler.dev in a file, which often has many. */
static bool is_settings(const struct lint_entry *entry)
{
	bool is = is_of_kind(entry, AUTOSCALER_KIND);

	for (size_t i = 0; lint_features[i]; i++)
		is |= lint_features[i]->kind && is_of_kind(entry, lint_features[i]->kind);
	return is && *entry->file != '\0';
}

static void lint_text_write(const struct lint_report *report, bool colours, struct buf *buf)
{
	static const enum table_colour severities[] = {
		[LINT_ERROR] = TABLE_BAD, [LINT_WARNING] = TABLE_BUSY, [LINT_INFO] = TABLE_FAINT
	};

	VEC_EACH(const struct lint_entry, entry, &report->list) {
		add_place(buf, entry);
		buf_add_string(buf, ": ");
		table_add_text(buf, severities[entry->finding.severity],
			       lint_severity_name(entry->finding.severity), colours);
		buf_add_string(buf, ": ");
		if (is_settings(entry))
			text_add(buf, "%s: ", entry->object);
		text_add_line(buf, "%s [%s]", entry->finding.message, entry->finding.rule);
		add_fix(buf, entry->finding.fix);
	}
}

/* All rules: name, severity, problem, fix. */
static void lint_text_write_rules(struct buf *buf)
{
	const struct lint_rule *rules = lint_rules();

	for (size_t i = 0; i < LINT_RULE_COUNT; i++) {
		buf_printf(buf, "%s (%s)\n", rules[i].name, lint_severity_name(rules[i].severity));
		buf_printf(buf, "%*s", FIX_INDENT, "");
		text_add_wrapped(buf, rules[i].what, FIX_INDENT, FIX_INDENT, RULE_WIDTH);
		buf_printf(buf, "\n%*s", FIX_INDENT, "");
		text_add_wrapped(buf, rules[i].cure, FIX_INDENT, FIX_INDENT, RULE_WIDTH);
		buf_add_char(buf, '\n');
	}
}

/* ---- output ---- */

static int write_report(const struct arguments *arguments, const struct lint_report *report,
			struct err *err)
{
	AUTO(buf_done) struct buf output = BUF_INIT(OUTPUT_BYTES_MAX);

	if (arguments->output == OUTPUT_TEXT)
		lint_text_write(report, table_colours(arguments->colour), &output);
	else if (arguments->output == OUTPUT_JSON ?
			 lint_json_write(report, &output, err) :
			 lint_sarif_write(report, RAYSCALER_VERSION, &output, err))
		return -1;
	return file_print(&output, err);
}

/* "3 files, 2 RayClusters: 1 error, 0 warnings, 4 infos". Output for programs has no summary, unless
 * the report is incomplete. */
static void print_summary(const struct arguments *arguments, const struct lint_report *report)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	if (arguments->output != OUTPUT_TEXT && report->dropped == 0)
		return;
	fprintf(stderr, "%s lint: ", help_program());
	if (!arguments->from_cluster)
		fprintf(stderr, "%s, ", lint_count_text(&arena, report->files, "file"));
	fprintf(stderr, "%s: %s, %s, %s", lint_count_text(&arena, report->objects, "RayCluster"),
		lint_count_text(&arena, report->counts[LINT_ERROR], "error"),
		lint_count_text(&arena, report->counts[LINT_WARNING], "warning"),
		lint_count_text(&arena, report->counts[LINT_INFO], "info"));
	if (report->dropped > 0)
		fprintf(stderr, "; %zu of them are not shown", report->dropped);
	fputc('\n', stderr);
}

static int print_rules(void)
{
	AUTO(buf_done) struct buf output = BUF_INIT(OUTPUT_BYTES_MAX);
	struct err err;

	lint_text_write_rules(&output);
	return file_print(&output, &err) ? help_failed("lint", &err) : EXIT_DONE;
}

/* ---- files ---- */

/* The files that `lint` reads: files as given, "-" for standard input, and of directories every
 * file in them and below with a name that ends in .yaml, .yml or .json, by name. Empty files and
 * names that begin with "." are skipped there, and links to directories are not followed. Blocking. */

#define LINT_FILES_MAX 100000
/* The name of standard input in findings. */
#define LINT_STANDARD_INPUT "<stdin>"

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
	if (file_read(path, "a " LINT_KINDS, &reading->text, &err))
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

/* A regular file that is not empty, or a link to one. */
static bool is_file(const FTSENT *entry)
{
	struct stat found;

	return (entry->fts_info == FTS_SL || entry->fts_info == FTS_F) &&
	       stat(entry->fts_accpath, &found) == 0 && S_ISREG(found.st_mode) && found.st_size > 0;
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
	size_t before = reading->report->files;
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
	if (reading->report->files == before)
		lint_problem_add(
			reading->report, path, "",
			"the directory has no .yaml, .yml or .json file that is not empty; "
			"name one that has");
}

/* Adds the findings of each; a file that cannot be read is a finding. */
static void lint_files_add(const struct flag_values *paths, const struct lint_context *context,
			   struct lint_report *report)
{
	struct reading reading = { .context = context,
				   .report = report,
				   .text = BUF_INIT(LINT_FILE_BYTES_MAX) };

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

/* ---- input ---- */

static int read_nodes(const struct arguments *arguments, struct arena *arena,
		      struct lint_context *context, struct err *err)
{
	AUTO(buf_done) struct buf text = BUF_INIT(NODE_FILE_BYTES_MAX);

	if (!arguments->nodes)
		return 0;
	if (file_read(arguments->nodes, "Nodes, as \"kubectl get nodes -o yaml\" writes them",
		      &text, err) ||
	    node_file_read(buf_string(&text), text.size, arena, &context->nodes,
			   &context->node_count, err))
		return err_prefix(err, "%s", arguments->nodes);
	context->nodes_known = true;
	return 0;
}

static int read_live(const struct arguments *arguments, const struct lint_context *context,
		     struct lint_report *report, struct err *err)
{
	struct lint_live live = { .flags = &arguments->connection,
				  .all_namespaces = arguments->all,
				  .name = arguments->operands.count > 0 ?
						  arguments->operands.at[0] :
						  NULL,
				  .context = context };

	if (lint_live_read(&live, report, err))
		return -1;
	if (*live.none != '\0')
		help_warn("lint", live.none);
	if (*live.node_problem != '\0') {
		AUTO(arena_done) struct arena arena = ARENA_INIT;

		help_warn(
			"lint",
			arena_printf(&arena,
				     "Nodes cannot be read, so groups that fit on no Node are not "
				     "reported: %s",
				     live.node_problem));
	}
	return 0;
}

static const struct time_zone *time_zones(void *zones, const struct autoscaler_object *object,
					  struct arena *arena, size_t *ret_count)
{
	return time_zones_of(zones, object, (time_ms)time(NULL) * MS_PER_SECOND, arena, ret_count);
}

static int lint(const struct arguments *arguments, struct time_zones *zones,
		struct lint_report *report, struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct settings settings;
	struct lint_context context = { .settings = &settings, .time_zones = time_zones };

	settings_init(&settings);
	context.zones = zones;
	if (device_file_read(arguments->device_table, &arena, &context.devices, err) ||
	    read_nodes(arguments, &arena, &context, err))
		return -1;
	if (!arguments->from_cluster) {
		lint_files_add(&arguments->files, &context, report);
		lint_files_add(&arguments->operands, &context, report);
		if (arguments->server && lint_server_ask(&arguments->connection, report, err))
			return -1;
	} else if (read_live(arguments, &context, report, err)) {
		return -1;
	}
	lint_report_finish(report, &context);
	return write_report(arguments, report, err);
}

/* ---- arguments ---- */

static int check_arguments(struct arguments *arguments, struct err *err)
{
	size_t standard_inputs = arguments->nodes && strcmp(arguments->nodes, "-") == 0;

	if (arguments->rules)
		return 0;
	if (arguments->from_cluster ? arguments->files.count > 0 :
				      arguments->files.count + arguments->operands.count == 0)
		return err_set(err, ERR_INPUT, "-f FILE or --from-cluster is required%s",
			       arguments->from_cluster ? ", not both" : "");
	if (arguments->from_cluster && arguments->operands.count > (arguments->all ? 0 : 1))
		return err_set(
			err, ERR_INPUT,
			"--from-cluster takes one CLUSTER, and none with -A; leave out \"%.80s\"",
			arguments->operands.at[arguments->all ? 0 : 1]);
	if (!arguments->from_cluster &&
	    (arguments->all || (arguments->connection.namespace_ && !arguments->server)))
		return err_set(err, ERR_INPUT,
			       "%s valid only with --from-cluster%s; add it, or remove it",
			       arguments->all ? "-A is" : "-n is",
			       arguments->all ? "" : " or --server");
	if (arguments->from_cluster && arguments->server)
		return err_set(
			err, ERR_INPUT,
			"--server is for files; run \"kubectl get raycluster NAME -o yaml | rayscaler lint "
			"--server -f -\"");
	if (arguments->all && arguments->connection.namespace_)
		return err_set(err, ERR_INPUT, "-A cannot be combined with -n; leave one out");
	for (size_t i = 0; i < arguments->files.count; i++)
		standard_inputs += strcmp(arguments->files.at[i], "-") == 0;
	for (size_t i = 0; i < arguments->operands.count; i++)
		standard_inputs += strcmp(arguments->operands.at[i], "-") == 0;
	if (standard_inputs > 1)
		return err_set(err, ERR_INPUT, "standard input (-) can be read once only");
	return 0;
}

static bool has_warnings(const struct arguments *arguments, const struct lint_report *report)
{
	return report->counts[LINT_WARNING] > 0 ||
	       (report->objects + report->autoscalers == 0 && !arguments->from_cluster);
}

static int run(struct arguments *arguments)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct time_zones *zones = time_zones_new();
	struct lint_report report;
	struct err err;
	int failed;

	lint_report_init(&report, &arena);
	report.asks = arguments->server;
	failed = lint(arguments, zones, &report, &err);
	time_zones_free(zones);
	if (failed)
		return help_failed("lint", &err);
	print_summary(arguments, &report);
	if (report.objects + report.autoscalers == 0 && !arguments->from_cluster)
		help_warn("lint", report.instead ?
					  arena_printf(&arena, NO_OBJECT "; %s", report.instead) :
					  NO_OBJECT "; name files that have one");
	return report.counts[LINT_ERROR] > 0 ||
			       (arguments->strict && has_warnings(arguments, &report)) ?
		       EXIT_INPUT :
		       EXIT_DONE;
}

int cli_lint(int argc, char **argv)
{
	static const char *const outputs[] = { "text", "json", "sarif", NULL };
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct arguments arguments = {
		.files.at = arena_array(&arena, (size_t)argc, sizeof(char *)),
		.operands.at = arena_array(&arena, (size_t)argc, sizeof(char *)),
	};
	const struct flag table[] = {
		{ "-f", "--file", .values = &arguments.files },
		{ "-o", "--output", .words = outputs, .word = &arguments.output },
		{ NULL, "--nodes", .value = &arguments.nodes },
		{ NULL, "--device-table", .value = &arguments.device_table },
		{ NULL, "--from-cluster", .on = &arguments.from_cluster },
		{ NULL, "--server", .on = &arguments.server },
		{ NULL, "--rules", .on = &arguments.rules },
		COLOUR_FLAG(arguments.colour),
		{ NULL, "--strict", .on = &arguments.strict },
		{ "-A", "--all-namespaces", .on = &arguments.all },
		API_FLAGS(arguments.connection),
	};
	struct flags flags = FLAGS(table, .operand_name = "FILE", .operands = &arguments.operands);
	struct err err;
	int status;

	if (!help_begin(&flags, help, argc, argv, &status))
		return status;
	if (check_arguments(&arguments, &err))
		return help_usage("lint", err.text);
	return arguments.rules ? print_rules() : run(&arguments);
}
