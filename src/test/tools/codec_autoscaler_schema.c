/* Prints the CRD of the RayClusterAutoscaler, with --fields the table of its document (make docs). */
#include "test/support/autoscaler_schema.h"

int main(int count, char **arguments)
{
	if (count > 1 && strcmp(arguments[1], "--fields") == 0)
		autoscaler_document_print(stdout);
	else
		autoscaler_crd_print(stdout);
	return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
