/* Prints the table of docs/OPTIONS.md (make docs). */
#include "ctl/shared/options.h"

int main(void)
{
	options_print_markdown(stdout);
	return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
