/* The CRDs, and the fields in the document of the RayClusterAutoscaler, are made from the field tables. */
#include "test/support/object_schema.h"

#include <stdlib.h>

#include "test/support/support.h"

static void check(const char *file, const char *start, void (*print)(FILE *file))
{
	char *made = NULL, *found = NULL;
	size_t size, capacity = 0;
	FILE *stream = open_memstream(&made, &size), *source = fopen(file, "re");

	if (!source)
		fail_msg("no %s: run the tests from the top of the repository", file);
	print(stream);
	fclose(stream);
	assert_true(getdelim(&found, &capacity, '\0', source) > 0);
	fclose(source);
	if (!strstr(found, start))
		fail_msg("%s has no line %s", file, start);
	if (strcmp(strstr(found, start) + strlen(start), made) != 0)
		fail_msg("%s differs from the field table of its decoder: make docs", file);
	free(made);
	free(found);
}

static void test_the_crds(void **state)
{
	(void)state;
	check(AUTOSCALER_CRD_FILE, "", autoscaler_crd_print);
	check(POOL_CRD_FILE, "", pool_crd_print);
}

static void test_the_document(void **state)
{
	(void)state;
	check(AUTOSCALER_DOCUMENT, AUTOSCALER_DOCUMENT_START, autoscaler_document_print);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_crds),
		cmocka_unit_test(test_the_document),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
