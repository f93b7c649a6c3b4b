#include "cli/shared/flags.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/nearest.h"

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

/* Letters are not near each other. */
static int refuse_letter(const struct flags *flags, const char *argument, struct err *err)
{
	char known[SHOWN_MAX] = "";
	size_t size = 0;

	for (size_t i = 0; i < flags->count && size < sizeof(known); i++)
		if (flags->at[i].letter)
			size += (size_t)snprintf(known + size, sizeof(known) - size, "%s%s",
						 size == 0 ? "; it has " : ", ",
						 flags->at[i].letter);
	return err_set(err, ERR_INPUT, "unknown flag %.*s%s", SHOWN_MAX, argument, known);
}

static int refuse_flag(const struct flags *flags, const char *argument, struct err *err)
{
	char name[NEAREST_BYTES_MAX + 2], hint[NEAREST_HINT_SIZE];
	struct nearest nearest;

	/* Without "=VALUE". */
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(argument, "="), argument);
	nearest = nearest_start(name);
	for (size_t i = 0; i < flags->count; i++)
		nearest_offer(&nearest, flags->at[i].name);
	if (!nearest.word && argument[1] != '-' && argument[1] != '\0')
		return refuse_letter(flags, argument, err);
	return err_set(err, ERR_INPUT, "unknown flag %.*s%s", SHOWN_MAX, argument,
		       nearest_hint(&nearest, hint));
}

/* "-namespace" is not -n with a value. */
static bool lacks_dash(const struct flag *flag, const char *argument)
{
	size_t size = strcspn(argument, "=");

	return argument[0] == '-' && argument[1] != '-' && size > 2 &&
	       strlen(flag->name) == size + 1 && strncmp(flag->name + 1, argument, size) == 0;
}

static int take_flag(struct flags *flags, int argc, char **argv, int *index, struct err *err)
{
	const char *argument = argv[*index], *value = NULL;
	const struct flag *flag = NULL;
	enum match match = MATCH_NONE;

	for (size_t i = 0; i < flags->count; i++)
		if (lacks_dash(&flags->at[i], argument))
			return refuse_flag(flags, argument, err);
	for (size_t i = 0; i < flags->count && match == MATCH_NONE; i++) {
		flag = &flags->at[i];
		match = match_flag(flag, argument, &value);
	}
	if (match == MATCH_NONE)
		return refuse_flag(flags, argument, err);
	if (!takes_value(flag)) {
		if (match == MATCH_ATTACHED)
			return err_set(err, ERR_INPUT, "%s takes no value; write it alone",
				       flag->name);
		*flag->on = true;
		return 0;
	}
	if (match == MATCH_ALONE) {
		if (*index + 1 >= argc || !argv[*index + 1])
			return err_set(err, ERR_INPUT, "%s takes a value; write it after the flag",
				       argument);
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

/* "raycluster/demo", as kubectl prints it, names demo. */
static int take_cluster(const char *argument, const char **ret_name, struct err *err)
{
	const char *name = strchr(argument, '/');
	size_t size = name ? (size_t)(name - argument) : 0;

	*ret_name = name ? name + 1 : argument;
	if (!name || (size >= strlen("raycluster") &&
		      strncasecmp(argument, "raycluster", strlen("raycluster")) == 0))
		return 0;
	return err_set(err, ERR_INPUT,
		       "\"%.*s\" is not the name of a RayCluster; set the namespace with -n %.*s",
		       SHOWN_MAX, argument, size < SHOWN_MAX ? (int)size : SHOWN_MAX, argument);
}

static int take_operand(const struct flags *flags, const char *argument, bool *taken,
			struct err *err)
{
	if (!flags->operand_name)
		return err_set(err, ERR_INPUT, "\"%.*s\" is not a flag; remove it", SHOWN_MAX,
			       argument);
	if (flags->operands) {
		flags->operands->at[flags->operands->count++] = argument;
		return 0;
	}
	if (*taken)
		return err_set(err, ERR_INPUT, "one %s is taken, %.*s is one more; remove it",
			       flags->operand_name, SHOWN_MAX, argument);
	*taken = true;
	if (strcmp(flags->operand_name, "CLUSTER") == 0)
		return take_cluster(argument, flags->operand, err);
	*flags->operand = argument;
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
