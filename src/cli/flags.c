#include "cli/flags.h"

#include <stdio.h>
#include <string.h>

#define SHOWN_MAX 80

const char *const flags_outputs[] = { "text", "json", NULL };

enum match { MATCH_NONE, MATCH_ATTACHED /* the value is part of the argument */, MATCH_ALONE };

static bool takes_value(const struct flag *flag)
{
	return flag->value || flag->values || flag->words;
}

/* *ret_value: the value that is part of the argument. */
static enum match match_flag(const struct flag *flag, const char *argument, const char **ret_value)
{
	size_t size = strlen(flag->name);

	if (strcmp(argument, flag->name) == 0 ||
	    (flag->letter && strcmp(argument, flag->letter) == 0))
		return MATCH_ALONE;
	if (strncmp(argument, flag->name, size) == 0 && argument[size] == '=') {
		*ret_value = argument + size + 1;
		return MATCH_ATTACHED;
	}
	if (takes_value(flag) && flag->letter && strncmp(argument, flag->letter, 2) == 0) {
		*ret_value = argument + 2;
		return MATCH_ATTACHED;
	}
	return MATCH_NONE;
}

/* "-o takes table, json or yaml, not xml" */
static int take_word(const struct flag *flag, const char *value, struct err *err)
{
	char known[SHOWN_MAX] = "";
	size_t size = 0;

	for (int i = 0; flag->words[i]; i++) {
		const char *separator = i == 0 ? "" : flag->words[i + 1] ? ", " : " or ";

		if (strcmp(flag->words[i], value) == 0) {
			*flag->word = i;
			return 0;
		}
		size += (size_t)snprintf(known + size, sizeof(known) - size, "%s%s", separator,
					 flag->words[i]);
	}
	return err_set(err, ERR_INPUT, "%s takes %s, not %.*s",
		       flag->letter ? flag->letter : flag->name, known, SHOWN_MAX, value);
}

static int take_flag(struct flags *flags, int argc, char **argv, int *index, struct err *err)
{
	const char *argument = argv[*index], *value = NULL;
	const struct flag *flag = NULL;
	enum match match = MATCH_NONE;

	for (size_t i = 0; i < flags->count && match == MATCH_NONE; i++) {
		flag = &flags->at[i];
		match = match_flag(flag, argument, &value);
	}
	if (match == MATCH_NONE)
		return err_set(err, ERR_INPUT, "unknown flag %.*s", SHOWN_MAX, argument);
	if (!takes_value(flag)) {
		if (match == MATCH_ATTACHED)
			return err_set(err, ERR_INPUT, "%s takes no value", flag->name);
		*flag->on = true;
		return 0;
	}
	if (match == MATCH_ALONE) {
		if (*index + 1 >= argc || !argv[*index + 1])
			return err_set(err, ERR_INPUT, "a value is missing after %s", argument);
		value = argv[++*index];
	}
	if (flag->words)
		return take_word(flag, value, err);
	if (flag->values)
		flag->values->at[flag->values->count++] = value;
	else
		*flag->value = value;
	return 0;
}

static int take_operand(const struct flags *flags, const char *argument, bool *taken,
			struct err *err)
{
	if (!flags->operand_name)
		return err_set(err, ERR_INPUT, "unknown argument %.*s", SHOWN_MAX, argument);
	if (flags->operands) {
		flags->operands->at[flags->operands->count++] = argument;
		return 0;
	}
	if (*taken)
		return err_set(err, ERR_INPUT, "one %s is taken, %.*s is one more",
			       flags->operand_name, SHOWN_MAX, argument);
	*flags->operand = argument;
	*taken = true;
	return 0;
}

int flags_parse(struct flags *flags, int argc, char **argv, struct err *err)
{
	bool only_operands = false, taken = false;

	for (int i = 1; i < argc; i++) {
		const char *argument = argv[i];

		if (only_operands || argument[0] != '-' || argument[1] == '\0') {
			if (take_operand(flags, argument, &taken, err))
				return -1;
		} else if (strcmp(argument, "--") == 0) {
			only_operands = true;
		} else if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
			flags->help = true;
			return 0;
		} else if (take_flag(flags, argc, argv, &i, err)) {
			return -1;
		}
	}
	if (flags->operand_required && !*flags->operand)
		return err_set(err, ERR_INPUT, "%s is required: the name of a RayCluster",
			       flags->operand_name);
	return 0;
}
