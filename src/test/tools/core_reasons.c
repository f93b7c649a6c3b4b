/* Prints docs/REASONS.md (make docs). */
#include "test/support/reasons_markdown.h"

int main(void)
{
	reasons_print(stdout);
	return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
