/* Prints the table of docs/OPTIONS.md, so that a check can hold the two against each other. */
#include <stdio.h>

#include "ctl/options.h"

int main(void)
{
	options_print_markdown(stdout);
	return 0;
}
