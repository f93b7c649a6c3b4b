/* The rules in docs/LINT.md, behind LINT_MARKDOWN_START, made from feature/lint/core/lint_rule.h: for the tool that
 * writes them and the test that compares. */
#ifndef TEST_SUPPORT_LINT_MARKDOWN_H
#define TEST_SUPPORT_LINT_MARKDOWN_H

#include <stdio.h>

#include "feature/lint/core/lint_rule.h"

#define LINT_MARKDOWN_START                                                                        \
	"<!-- rules: made from src/feature/lint/core/lint_rule.h by make docs -->\n"

static void lint_markdown_print(FILE *file)
{
	fputs("| rule | severity | what is wrong | what to do |\n| --- | --- | --- | --- |\n",
	      file);
	for (size_t i = 0; i < LINT_RULE_COUNT; i++)
		fprintf(file, "| `%s` | %s | %s | %s |\n", lint_rules()[i].name,
			lint_severity_name(lint_rules()[i].severity), lint_rules()[i].what,
			lint_rules()[i].cure);
	fputs("\nThe controller does not have:", file);
	for (size_t i = 0, count = 0; i < LINT_RULE_COUNT; i++)
		if (!lint_rules()[i].in_controller)
			fprintf(file, "%s `%s`", count++ > 0 ? "," : "", lint_rules()[i].name);
	fputs(".\n", file);
}

#endif
