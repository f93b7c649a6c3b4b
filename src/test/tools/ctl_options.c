/* Prints the table of docs/OPTIONS.md, or with --values the flags of the chart (make docs). */
#include <string.h>

#include "ctl/shared/options.h"

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--values") == 0)
		options_print_values(stdout);
	else
		options_print_markdown(stdout);
	return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
