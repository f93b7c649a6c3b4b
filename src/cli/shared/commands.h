/* The commands of the program: one function each, in src/cli/cli_<name>.c.
 * main.c holds the table; nothing but it looks a command up. */
#ifndef CLI_SHARED_COMMANDS_H
#define CLI_SHARED_COMMANDS_H

enum exit_status {
	EXIT_DONE = 0,     /* the command succeeded */
	EXIT_INPUT = 1,    /* the input is wrong or something failed; one line on standard error */
	EXIT_USAGE = 2,    /* wrong usage */
	EXIT_UNSCALED = 3, /* status, explain: it was shown, and nothing scales now */
};

struct command {
	const char *name;
	/* argv[0] is the command's name; returns the exit status of the program */
	int (*function)(int argc, char **argv);
	const char *summary; /* one line for --help */
};

int cli_run(int argc, char **argv);
int cli_plan(int argc, char **argv);
int cli_park(int argc, char **argv);
int cli_version(int argc, char **argv);
int cli_status(int argc, char **argv);
int cli_explain(int argc, char **argv);
int cli_snapshot(int argc, char **argv);
int cli_request(int argc, char **argv);
int cli_resume(int argc, char **argv);
int cli_adopt(int argc, char **argv);
int cli_release(int argc, char **argv);
int cli_lint(int argc, char **argv);
int cli_record(int argc, char **argv);
int cli_simulate(int argc, char **argv);
int cli_devices(int argc, char **argv);

#endif
