/* The flags of one command, parsed by a table: "-n NAME", "-nNAME", "--namespace NAME" and
 * "--namespace=NAME"; a switch has no value, some values are one of a few words. Flags and operands may come in any order, as with
 * kubectl; "--" ends the flags. --help and -h are always accepted. `run` has its own
 * (ctl/shared/options), because its flags are settings of decisions as well. */
#ifndef CLI_SHARED_FLAGS_H
#define CLI_SHARED_FLAGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Collects the values of a flag or operand that may be repeated, in order. */
struct flag_values {
	const char **at; /* of the caller, with room for argc values; they point into argv */
	size_t count;
};

struct flag {
	const char *letter;         /* "-n"; NULL: none */
	const char *name;           /* "--namespace" */
	const char **value;         /* takes a value, and this is set to it (it points into argv) */
	bool *on;                   /* else: a switch, and this is set */
	struct flag_values *values; /* instead of `value`: takes one, and may be given again */
	const char *const *words;   /* instead: takes one of these, NULL behind the last */
	int *word;                  /* with words: set to its index */
};

/* The words of -o, for most commands. */
enum output { OUTPUT_TEXT, OUTPUT_JSON };
extern const char *const flags_outputs[];

struct flags {
	const struct flag *at;
	size_t count;
	const char *operand_name; /* "CLUSTER"; NULL: no operand is taken */
	bool operand_required;
	const char **operand;         /* unchanged when it is not given */
	struct flag_values *operands; /* instead of `operand`: any number of them */
	bool help;                    /* --help was given: the rest was not parsed */
};

/* The flags of an array. */
#define FLAGS(table, ...)                                                                          \
	{                                                                                          \
		.at = (table), .count = sizeof(table) / sizeof((table)[0]), __VA_ARGS__            \
	}
/* With one operand, or none. */
#define FLAGS_CLUSTER(table, name, required)                                                       \
	FLAGS(table, .operand_name = "CLUSTER", .operand = &(name), .operand_required = (required))

/* argv[0] is the command. ERR_INPUT names the argument. */
int flags_parse(struct flags *flags, int argc, char **argv, struct err *err);

#endif
