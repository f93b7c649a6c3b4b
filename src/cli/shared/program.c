#include "cli/shared/program.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/nearest.h"
#include "cli/shared/help.h"

static void print_help(const struct program *program, FILE *file)
{
	help_print(file, "usage: @ COMMAND [flags]\n");
	help_print(file, program->description);
	help_print(file, "\ncommands:\n");
	for (size_t i = 0; i < program->count; i++)
		fprintf(file, "  %-9s %s\n", program->commands[i].name,
			program->commands[i].summary);
	help_print(file,
		   "\n\"@ COMMAND --help\" describes a command.\n"
		   "exit status: 0 done, 1 the input is wrong or something failed, 2 wrong usage;\n"
		   "with 1 and 2 one line on standard error has the error and the fix\n");
}

static const struct command *find_command(const struct program *program, const char *name)
{
	return ARRAY_FIND(program->commands, program->count, name, name);
}

static int refuse_command(const struct program *program, const char *name)
{
	struct nearest nearest = nearest_start(name);
	char buffer[NEAREST_HINT_SIZE];
	const char *hint = program->hint(name);

	for (size_t i = 0; i < program->count; i++)
		nearest_offer(&nearest, program->commands[i].name);
	fprintf(stderr, "%s: \"%.80s\" is not a command%s; see %s --help\n", help_program(), name,
		hint ? hint : nearest_hint(&nearest, buffer), help_program());
	return EXIT_USAGE;
}

static bool is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

int program_main(const struct program *program, int argc, char **argv)
{
	static char help_flag[] = "--help";
	const struct command *command;

	if (argc < 2) {
		print_help(program, stderr);
		return EXIT_USAGE;
	}
	if (is_help(argv[1])) {
		command = argc > 2 ? find_command(program, argv[2]) : NULL;
		if (argc > 2 && argv[2][0] != '-' && !command)
			return refuse_command(program, argv[2]);
		if (command)
			return command->function(2, (char *[]){ argv[2], help_flag, NULL });
		print_help(program, stdout);
		return EXIT_DONE;
	}
	command = find_command(program, strcmp(argv[1], "--version") == 0 ? "version" : argv[1]);
	if (command)
		return command->function(argc - 1, argv + 1);
	return refuse_command(program, argv[1]);
}
