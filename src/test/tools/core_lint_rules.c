/* Prints the rules of docs/LINT.md (make docs). */
#include "test/support/lint_markdown.h"

int main(void)
{
	lint_markdown_print(stdout);
	return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
