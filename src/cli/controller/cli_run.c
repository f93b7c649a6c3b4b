#include "cli/shared/commands.h"

#include <stdio.h>

#include "base/memory.h"
#include "cli/controller/supervise.h"
#include "cli/shared/device_file.h"
#include "cli/shared/help.h"
#include "ctl/controller.h"
#include "ctl/shared/options.h"
#include "net/log.h"

static void print_help(void)
{
	help_print(stdout,
		   "usage: @ run [flags], with their default or what they take\n"
		   "Scales RayClusters with enableInTreeAutoscaling: true: all, those of\n"
		   "--namespace, or as the sidecar in a head Pod one, with --cluster-name and\n"
		   "--cluster-namespace.\n");
	options_print(stdout);
}

/* One run of the worker process: returns after a signal to end or a fatal error. */
static int work(void *context)
{
	const struct options *options = context;
	struct err err;

	if (controller_run(options, &err) == 0)
		return EXIT_DONE;
	log_error("cannot run", "error", err.text, NULL);
	return err.kind == ERR_INPUT ? EXIT_USAGE : EXIT_INPUT;
}

int cli_run(int argc, char **argv)
{
	AUTO(options_done) struct options options;
	enum log_level level = LOG_INFO;
	struct err err;

	options_init(&options);
	if (options_parse(&options, argc - 1, argv + 1, &err) < 0) {
		return help_usage("run", err.text);
	}
	if (options.help) {
		print_help();
		return EXIT_DONE;
	}
	if (log_level_parse(options.log_level, &level) < 0) {
		fprintf(stderr,
			"rayscaler run: --log-level: must be one of debug, info, warning, error, is \"%s\"\n",
			options.log_level);
		return EXIT_USAGE;
	}
	if (device_file_read(options.device_table_file, &options.arena, &options.device_table,
			     &err) < 0 ||
	    price_file_read(options.price_table_file, &options.arena, &options.price_table, &err) <
		    0)
		return help_failed("run", &err);
	log_level_set(level);
	return options_sidecar(&options) ? supervise(&SUPERVISE_TIMES, work, &options) :
					   work(&options);
}
