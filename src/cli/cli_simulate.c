#include "cli/shared/commands.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/memory.h"
#include "cli/shared/device_file.h"
#include "cli/shared/file.h"
#include "cli/shared/flags.h"
#include "cli/shared/help.h"
#include "cli/shared/parallel.h"
#include "cli/shared/table.h"
#include "cli/simulate_effect.h"
#include "cli/simulate_report.h"
#include "cli/simulate_text.h"
#include "cli/simulate_variant.h"
#include "codec/objects/cluster_set.h"
#include "codec/objects/workload_file.h"
#include "codec/schema/one_document.h"
#include "codec/text/duration.h"
#include "core/capacity/capacity.h"
#include "ctl/shared/time_zones.h"

#define OUTPUT_BYTES_MAX ((size_t)1 << 30)
/* Of a file on the page. */
#define SOURCE_BYTES_MAX ((size_t)1 << 18)

enum simulate_output { SIMULATE_TABLE, SIMULATE_JSON, SIMULATE_CSV };
static const char *const output_words[] = { "table", "json", "csv", NULL };
static const char *const by_words[] = { "variant", "job", NULL };

struct simulate_arguments {
	struct flag_values files, set, vary, baselines;
	const char *workload, *columns, *pod_start, *seed, *end, *devices, *report, *prices,
		*pools; /* NULL: not given */
	int output, by, colour;
	int argc;
	char **argv; /* with the command */
};

static const char help[] =
	"usage: @ simulate -f CLUSTER.yaml -w WORKLOAD [--vary PATH=A,B]...\n"
	"Simulates RayClusters while the work of a file arrives: GPU-hours, waiting times\n"
	"and what never ran, by settings. docs/SIMULATE.md describes files and paths.\n"
	"  -f, --file FILE      RayClusters, RayClusterAutoscalers, GPUPools, Namespaces;\n"
	"                       may be repeated\n"
	"  -w, --workload FILE  YAML or JSON lines; with --columns CSV\n"
	"  --columns LIST       submit=COLUMN,duration=COLUMN:min,gpus=COLUMN\n"
	"  --set PATH=VALUE     changes the input; may be repeated\n"
	"  --vary PATH=A,B      a row for each value, and for each combination of several\n"
	"  --baseline POLICY    a row with \"ray\" (Ray's autoscaler) or \"always-on\"; with\n"
	"                       GPUPools \"first-come\" or \"static\"\n"
	"  --node-pools FILE    the Nodes that all RayClusters share; default: no limit\n"
	"  --pod-start TIMES    of a Pod (default 20s); of several one is drawn\n"
	"  --seed NUMBER        of all draws (default 0)\n"
	"  --end DURATION       of the count; default: the last end of all rows\n"
	"  --by WORD            variant (default), or job: also waiting times by job\n"
	"  --report FILE        also write a page with charts, of at most 50 rows\n"
	"  -o, --output FORMAT  table (default), json or csv\n"
	"  --price-table FILE   adds a cost (docs/COST.md)\n" DEVICE_FILE_HELP
	"  --color WHEN         auto (default), always or never\n"
	"exit status: 0 simulated, 1 the input is wrong, 2 wrong usage\n";

/* ---- files ---- */

static const char *shown_name(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* `path` NULL: not given. */
static int
read_document(const char *path, const char *wanted, size_t bytes_max, struct cluster_set *set,
	      int (*add)(struct cluster_set *set, const char *text, size_t size, struct err *err),
	      struct err *err)
{
	AUTO(buf_done) struct buf text = BUF_INIT(bytes_max);

	if (path &&
	    (file_read(path, wanted, &text, err) || add(set, buf_string(&text), text.size, err)))
		return err_prefix(err, "%s", shown_name(path));
	return 0;
}

static int read_clusters(const struct simulate_arguments *arguments, struct cluster_set *set,
			 struct err *err)
{
	for (size_t i = 0; i < arguments->files.count; i++)
		if (read_document(arguments->files.at[i], "a RayCluster",
				  CLUSTER_SET_FILE_BYTES_MAX, set, cluster_set_add, err))
			return -1;
	return 0;
}

static int read_workload(const struct simulate_arguments *arguments, struct arena *arena,
			 struct workload *ret_workload, struct err *err)
{
	AUTO(buf_done) struct buf text = BUF_INIT(WORKLOAD_BYTES_MAX);
	const char *path = arguments->workload, *ending = strrchr(path, '.');

	if (ending && strcmp(ending, ".csv") == 0 && !arguments->columns)
		return err_set(err, ERR_INPUT,
			       "%s: a CSV file needs --columns, as "
			       "submit=COLUMN,duration=COLUMN,gpus=COLUMN",
			       path);
	if (file_read(path, "a Workload (docs/SIMULATE.md)", &text, err) ||
	    workload_read(buf_string(&text), text.size, arguments->columns, arena, ret_workload,
			  err))
		return err_prefix(err, "%s", shown_name(path));
	return 0;
}

/* ---- the input of all variants ---- */

/* --set PATH=VALUE, of which a value may hold commas. */
static int apply_set(const struct simulate_arguments *arguments, struct simulate_plan *plan,
		     struct cluster_set *set, struct err *err)
{
	for (size_t i = 0; i < arguments->set.count; i++) {
		const char *text = arguments->set.at[i], *equals = strchr(text, '=');
		const char *path;

		if (!equals || equals == text)
			return err_set(err, ERR_INPUT, "--set takes PATH=VALUE, not %.80s", text);
		path = arena_strndup(plan->arena, text, (size_t)(equals - text));
		if (simulate_change(&plan->input, set, plan->arena, path, equals + 1, err))
			return err_prefix(err, "--set");
	}
	return 0;
}

static int apply_flags(const struct simulate_arguments *arguments, struct simulate_plan *plan,
		       struct cluster_set *set, struct err *err)
{
	const char *problem;

	sim_models_init(&plan->input.models);
	plan->input.models.group_starts = cluster_set_starts(set);
	if (cluster_set_process_ms(set) >= 0)
		plan->input.models.process_start_ms = cluster_set_process_ms(set);
	if (arguments->pod_start &&
	    simulate_change(&plan->input, set, plan->arena, "pod-start", arguments->pod_start, err))
		return -1;
	if (arguments->seed &&
	    simulate_change(&plan->input, set, plan->arena, "seed", arguments->seed, err))
		return -1;
	if (arguments->end && duration_parse(arguments->end, &plan->input.end_ms, &problem))
		return err_set(err, ERR_INPUT, "--end: \"%.40s\" %s", arguments->end, problem);
	return apply_set(arguments, plan, set, err);
}

/* ---- simulations ---- */

static void simulate_one(void *context, size_t index)
{
	struct simulate_plan *plan = context;
	struct simulate_variant *variant = &plan->variants.at[index];
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct sim_result *result;

	arena_done(&variant->arena);
	variant->err.kind = ERR_NONE;
	result = simulate(&variant->input, &arena, &variant->err);
	if (!result)
		return;
	simulate_row_make(result, &variant->arena, &variant->row);
	simulate_row_price(&variant->input, &variant->arena, &variant->row);
	if (plan->keep_series)
		simulate_row_keep(result, &variant->arena, &variant->row);
}

static int run_variants(struct simulate_plan *plan, struct err *err)
{
	parallel_run(plan->variants.count, simulate_one, plan, "simulating");
	VEC_EACH(const struct simulate_variant, variant, &plan->variants) {
		if (variant->err.kind == ERR_NONE)
			continue;
		*err = variant->err;
		return plan->axis_count > 0 ? err_prefix(err, "%.200s", variant->name) : -1;
	}
	return 0;
}

/* Rows are comparable only if all count GPU-hours up to the same time: the last end of all. */
static int run_all(struct simulate_plan *plan, struct err *err)
{
	int64_t first_ms = INT64_MAX, last_ms = 0;

	if (run_variants(plan, err))
		return -1;
	for (size_t i = 0; i < plan->variants.count; i++) {
		int64_t end_ms = plan->variants.at[i].row.end_ms;

		first_ms = end_ms < first_ms ? end_ms : first_ms;
		last_ms = end_ms > last_ms ? end_ms : last_ms;
	}
	if (first_ms == last_ms || plan->input.end_ms > 0)
		return 0;
	for (size_t i = 0; i < plan->variants.count; i++)
		plan->variants.at[i].input.end_ms = last_ms;
	return run_variants(plan, err);
}

/* A cost that leaves out GPU-hours would make the rows that have the most of them look best. */
static void weigh_rows(struct simulate_plan *plan)
{
	const char *unpriced = simulate_unpriced_text(plan);

	if (unpriced)
		VEC_PUSH(plan->arena, &plan->notes, unpriced);
	plan->by_cost = plan->prices && !unpriced;
	for (size_t i = 0; i < plan->variants.count; i++)
		plan->variants.at[i].row.by_cost = plan->by_cost;
}

/* The notes are no rows. */
static void print_csv(const struct simulate_plan *plan, bool by_job, struct buf *output)
{
	simulate_csv_write(plan, by_job, output);
	VEC_EACH(const char *const, note, &plan->notes)
		fprintf(stderr, "%s\n", *note);
}

static int print(const struct simulate_arguments *arguments, const struct simulate_plan *plan,
		 struct err *err)
{
	AUTO(buf_done) struct buf output = BUF_INIT(OUTPUT_BYTES_MAX);

	if (arguments->output == SIMULATE_JSON)
		simulate_json_write(plan, &output);
	else if (arguments->output == SIMULATE_CSV)
		print_csv(plan, arguments->by, &output);
	else
		simulate_text_write(plan, arguments->by, table_colours(arguments->colour), &output);
	return file_print(&output, err);
}

/* The command line as it was given, for the reader of the page. */
static const char *command_text(const struct simulate_arguments *arguments, struct arena *arena)
{
	const char *text = help_program();

	for (int i = 0; i < arguments->argc; i++)
		text = arena_printf(arena, "%s %s", text, arguments->argv[i]);
	return text;
}

static struct simulate_source read_source(const char *path, struct arena *arena)
{
	AUTO(buf_done) struct buf text = BUF_INIT(SOURCE_BYTES_MAX);
	struct err err;

	if (strcmp(path, "-") == 0)
		return (struct simulate_source){ shown_name(path), "(was read once)" };
	if (file_read(path, "text", &text, &err))
		return (struct simulate_source){ path,
						 arena_printf(arena, "(not shown: %s)", err.text) };
	return (struct simulate_source){ path, arena_strdup(arena, buf_string(&text)) };
}

static int write_report(const struct simulate_arguments *arguments,
			const struct simulate_plan *plan, struct err *err)
{
	AUTO(buf_done) struct buf page = BUF_INIT(OUTPUT_BYTES_MAX);
	size_t count = 0, most = arguments->files.count + 4;
	struct simulate_source *sources = arena_array(plan->arena, most, sizeof(*sources));
	const char *others[] = { arguments->workload, arguments->pools, arguments->prices,
				 arguments->devices };

	for (size_t i = 0; i < arguments->files.count; i++)
		sources[count++] = read_source(arguments->files.at[i], plan->arena);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i])
			sources[count++] = read_source(others[i], plan->arena);
	simulate_report_write(plan, command_text(arguments, plan->arena), sources, count, &page);
	return file_write(arguments->report, FILE_SHARED, &page, err);
}

/* Of claims that no file has: their devices are not counted. */
static void note_claims(struct simulate_plan *plan)
{
	const struct sim_input *input = &plan->variants.at[0].input;

	ARRAY_EACH(const struct sim_cluster, cluster, input->clusters, input->cluster_count)
		for (size_t g = 0; g < cluster->cluster->group_count; g++) {
			struct capacity capacity;
			const char *problem;

			capacity_of_group(cluster->cluster, g, cluster->settings, input->devices,
					  plan->arena, &capacity);
			problem = capacity.claims ? capacity.claims->problem : NULL;
			if (problem)
				VEC_PUSH(plan->arena, &plan->notes,
					 arena_printf(plan->arena,
						      "RayCluster %s: %.*s; give its file by -f",
						      cluster->name, (int)strcspn(problem, ";"),
						      problem));
		}
}

static int run(const struct simulate_arguments *arguments, struct simulate_plan *plan,
	       struct cluster_set *set, struct err *err)
{
	struct workload *workload = ARENA_NEW(plan->arena, struct workload);

	if (read_clusters(arguments, set, err) ||
	    read_document(arguments->pools, "NodePools (docs/SIMULATE.md)", ONE_DOCUMENT_BYTES_MAX,
			  set, cluster_set_add_pools, err) ||
	    read_document(arguments->prices, "a PriceTable (docs/COST.md)", ONE_DOCUMENT_BYTES_MAX,
			  set, cluster_set_add_prices, err) ||
	    apply_flags(arguments, plan, set, err) ||
	    cluster_set_decode_prices(set, plan->arena, &plan->prices, err) ||
	    simulate_axes_parse(plan, &arguments->vary, err) ||
	    device_file_read(arguments->devices, plan->arena, &plan->input.devices, err) ||
	    simulate_variants_make(plan, &arguments->baselines, err) ||
	    read_workload(arguments, plan->arena, workload, err))
		return -1;
	if (cluster_set_process_ms(set) >= 0 &&
	    plan->input.models.process_start_ms == cluster_set_process_ms(set))
		VEC_PUSH(plan->arena, &plan->notes,
			 arena_printf(plan->arena, "process-start is %.2f s, as recorded",
				      (double)cluster_set_process_ms(set) / MS_PER_SECOND));
	if (workload->left_out)
		VEC_PUSH(plan->arena, &plan->notes,
			 arena_printf(plan->arena, "%s: %s", shown_name(arguments->workload),
				      workload->left_out));
	for (size_t i = 0; i < plan->variants.count; i++)
		plan->variants.at[i].input.workload = workload;
	note_claims(plan);
	plan->keep_series = arguments->report != NULL;
	if (arguments->report && plan->variants.count > SIMULATE_REPORT_ROWS_MAX)
		return err_set(err, ERR_INPUT, "--report shows at most %d rows, not %zu",
			       SIMULATE_REPORT_ROWS_MAX, plan->variants.count);
	if (run_all(plan, err))
		return -1;
	weigh_rows(plan);
	simulate_effect_note(plan, &arguments->set);
	if (print(arguments, plan, err))
		return -1;
	return arguments->report ? write_report(arguments, plan, err) : 0;
}

static int run_command(const struct simulate_arguments *arguments)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct cluster_set *set = cluster_set_new();
	struct simulate_plan plan = { .arena = &arena, .set = set, .time_zones = time_zones_new() };
	struct err err;
	int failed = run(arguments, &plan, set, &err);

	for (size_t i = 0; i < plan.variants.count; i++)
		arena_done(&plan.variants.at[i].arena);
	cluster_set_free(set);
	time_zones_free(plan.time_zones);
	return failed ? help_failed("simulate", &err) : EXIT_DONE;
}

int cli_simulate(int argc, char **argv)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	size_t room = (size_t)argc;
	struct simulate_arguments arguments = {
		.argc = argc,
		.argv = argv,
		.files.at = arena_array(&arena, room, sizeof(char *)),
		.set.at = arena_array(&arena, room, sizeof(char *)),
		.vary.at = arena_array(&arena, room, sizeof(char *)),
		.baselines.at = arena_array(&arena, room, sizeof(char *)),
	};
	const struct flag table[] = {
		{ "-f", "--file", .values = &arguments.files },
		{ "-w", "--workload", .value = &arguments.workload },
		{ NULL, "--columns", .value = &arguments.columns },
		{ NULL, "--set", .values = &arguments.set },
		{ NULL, "--vary", .values = &arguments.vary },
		{ NULL, "--baseline", .values = &arguments.baselines },
		{ NULL, "--node-pools", .value = &arguments.pools },
		{ NULL, "--pod-start", .value = &arguments.pod_start },
		{ NULL, "--seed", .value = &arguments.seed },
		{ NULL, "--end", .value = &arguments.end },
		{ NULL, "--by", .words = by_words, .word = &arguments.by },
		{ NULL, "--price-table", .value = &arguments.prices },
		{ NULL, "--report", .value = &arguments.report },
		{ "-o", "--output", .words = output_words, .word = &arguments.output },
		{ NULL, "--device-table", .value = &arguments.devices },
		COLOUR_FLAG(arguments.colour),
	};
	struct flags flags = FLAGS(table);
	int status;

	if (!help_begin(&flags, help, argc, argv, &status))
		return status;
	if (arguments.files.count == 0)
		return help_usage("simulate", "-f FILE with a RayCluster is required");
	if (!arguments.workload)
		return help_usage("simulate", "-w FILE with a workload is required");
	return run_command(&arguments);
}
