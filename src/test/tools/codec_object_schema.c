/* Prints a CRD: of the GPUPool if that is the argument, else of the RayClusterAutoscaler; with --fields
 * the table of the latter's document (make docs). */
#include <string.h>

#include "test/support/object_schema.h"

int main(int count, char **arguments)
{
	const char *argument = count > 1 ? arguments[1] : "";

	if (strcmp(argument, "--fields") == 0)
		autoscaler_document_print(stdout);
	else if (strcmp(argument, GPU_POOL_KIND) == 0)
		pool_crd_print(stdout);
	else
		autoscaler_crd_print(stdout);
	return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
