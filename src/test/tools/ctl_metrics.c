/* Prints docs/METRICS.md (make docs). */
#include "test/support/metrics_markdown.h"

int main(void)
{
	metrics_print(stdout);
	return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
