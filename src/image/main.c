/* The program of the image: the controller, the sidecar and the parked container. Only commands that a Pod
 * starts are linked, so that a process that holds Secrets has no reader of YAML, CSV, recordings and workloads. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "cli/controller/panic.h"
#include "cli/shared/commands.h"
#include "cli/shared/help.h"
#include "cli/shared/program.h"
#include "core/model/autoscaler_container.h"

/* KubeRay's command line in the image: /bin/bash and ray of the image are this program, so that
 * `autoscalerOptions.image` alone replaces Ray's autoscaler, with every version of KubeRay: `bash -c [--] "ray
 * kuberay-autoscaler --cluster-name NAME --cluster-namespace NAMESPACE"`, also with -lc, or the words of the script,
 * runs the sidecar, or `park` with RAYSCALER_MODE=park. Any other command is wrong usage. */

/* ray kuberay-autoscaler --cluster-name NAME --cluster-namespace NAMESPACE */
#define WORD_COUNT 6

static bool is_program(const char *word, const char *name)
{
	const char *slash = strrchr(word, '/');

	return strcmp(slash ? slash + 1 : word, name) == 0;
}

static bool kuberay_command_is(const char *argv0)
{
	return is_program(argv0, "bash") || is_program(argv0, "ray");
}

/* The command string of a shell; NULL: none. */
static char *script_of(int argc, char **argv)
{
	int at = 2;

	if (argc < 3 || (strcmp(argv[1], "-c") != 0 && strcmp(argv[1], "-lc") != 0 &&
			 strcmp(argv[1], "-cl") != 0))
		return NULL;
	at += strcmp(argv[2], "--") == 0 ? 1 : 0;
	return at + 1 == argc ? argv[at] : NULL;
}

/* Splits in place; the number of words, at most one more than there is room for. */
static int split(char *script, char *words[WORD_COUNT])
{
	int count = 0;

	for (char *word; (word = strsep(&script, " ")) != NULL;) {
		if (*word == '\0')
			continue;
		if (count == WORD_COUNT)
			return count + 1;
		words[count++] = word;
	}
	return count;
}

static bool is_kuberays(int count, char *const *words)
{
	return count == WORD_COUNT && is_program(words[0], "ray") &&
	       strcmp(words[1], KUBERAY_AUTOSCALER_COMMAND) == 0 &&
	       strcmp(words[2], "--cluster-name") == 0 &&
	       strcmp(words[4], "--cluster-namespace") == 0;
}

static int kuberay_command(int argc, char **argv)
{
	static char run[] = "run", park[] = AUTOSCALER_MODE_PARK;
	const char *mode = getenv(AUTOSCALER_MODE_VARIABLE);
	char *script = script_of(argc, argv), *split_words[WORD_COUNT];
	bool is_shell = is_program(argv[0], "bash");
	char *const *words = is_shell ? split_words : argv;
	int count = argc;

	if (is_shell)
		count = script ? split(script, split_words) : 0;
	if (!is_kuberays(count, words)) {
		fputs("rayscaler: this image has no shell and no Ray: its bash and ray only start "
		      "`ray " KUBERAY_AUTOSCALER_COMMAND " --cluster-name NAME "
		      "--cluster-namespace NAMESPACE`; use an image of Ray for other commands\n",
		      stderr);
		return EXIT_USAGE;
	}
	if (!mode || *mode == '\0' || strcmp(mode, "sidecar") == 0)
		return cli_run(WORD_COUNT - 1,
			       (char *[]){ run, words[2], words[3], words[4], words[5], NULL });
	if (strcmp(mode, AUTOSCALER_MODE_PARK) == 0)
		return cli_park(1, (char *[]){ park, NULL });
	fputs("rayscaler: " AUTOSCALER_MODE_VARIABLE " must be park or sidecar\n", stderr);
	return EXIT_USAGE;
}

/* ---- the program ---- */

static const struct command commands[] = {
#define X(name, summary) { #name, cli_##name, summary },
	CONTROLLER_TABLE(X)
#undef X
};

/* The commands of the program on people's machines. */
static const char *hint(const char *word)
{
	static const char *const tools[] = {
#define X(name, summary) #name,
		TOOL_TABLE(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
		if (strcmp(word, tools[i]) == 0)
			return " of the image, which has the controller alone: run it on your machine "
			       "(docs/INSTALL.md)";
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct program program = {
		.description =
			"Scales the GPU and CPU worker groups of RayClusters on Kubernetes by Ray's\n"
			"demand. This is the program of the image: the commands that show decisions\n"
			"are in the one for your machine (docs/INSTALL.md).\n",
		.commands = commands,
		.count = sizeof(commands) / sizeof(commands[0]),
		.hint = hint,
	};

	check_hook_set(panic_print);
	help_set_program(argv[0]);
	if (argc > 0 && kuberay_command_is(argv[0]))
		return kuberay_command(argc, argv);
	return program_main(&program, argc, argv);
}
