/* rayscaler devices, and --device-table of the commands that have it. The example is the document's. */

#include "cli/shared/commands.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "test/support/cli_run.h"
#include "test/support/golden_case.h"
#include "test/support/support.h"
#include "test/support/temp_files.h"

#define DOCUMENT "docs/DEVICES.md"
#define DOCUMENT_SIZE 65536

static struct cli_result result;
static char document[DOCUMENT_SIZE];
static char *directory, *path;

static void read_document(void)
{
	FILE *file = fopen(DOCUMENT, "r");

	assert_non_null(file);
	document[fread(document, 1, sizeof(document) - 1, file)] = '\0';
	fclose(file);
}

/* The text of the first block after `start` that begins with `fence`. */
static char *block(char *start, const char *fence)
{
	char *from = strstr(start, fence), *to;

	assert_non_null(from);
	from += strlen(fence);
	to = strstr(from, "```");
	assert_non_null(to);
	return memory_strndup(from, (size_t)(to - from));
}

static int setup(void **state)
{
	(void)state;
	read_document();
	directory = temp_directory();
	path = temp_path(directory, "table.yaml");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	memory_free(path);
	temp_done(directory);
	return 0;
}

static void the_built_in_table_is_shown(void **state)
{
	(void)state;
	CLI_RUN(&result, cli_devices, "devices");
	assert_int_equal(result.status, EXIT_DONE);
	assert_string_equal(result.errors, "");
	assert_non_null(
		strstr(result.output, "\nnvidia.com/gpu.shared              GPU     turn "));
	assert_non_null(strstr(result.output, "obsolete: use nvidia.com/gpu\n"));
	CLI_RUN(&result, cli_devices, "devices", "-o", "json");
	assert_int_equal(result.status, EXIT_DONE);
	assert_non_null(strstr(
		result.output,
		"{\"resource\": \"nvidia.com/mig-*\", \"kind\": \"GPU\", \"share\": \"slice\", "
		"\"memoryUnitBytes\": 0, \"countResource\": \"\", \"instead\": \"\", \"told\": "
		"\"GPU\", \"rayResource\": \"GPU\", \"vendor\": \"NVIDIA\", \"builtIn\": true}"));
}

/* The file of the document gives the lines of the document. */
static void the_documented_example_is_as_documented(void **state)
{
	char *table = block(document, "```yaml\n");
	char *lines = block(strstr(document, "these lines differ"), "```\n");
	size_t count = 0;

	(void)state;
	temp_write(directory, "table.yaml", table);
	CLI_RUN(&result, cli_devices, "devices", "--device-table", path);
	assert_string_equal(result.errors, "");
	assert_int_equal(result.status, EXIT_DONE);
	for (char *rest = lines, *line; (line = strsep(&rest, "\n")) && *line != '\0'; count++)
		if (!strstr(result.output, line))
			fail_msg("%s does not hold what is shown:\n%s", DOCUMENT, result.output);
	assert_int_equal(count, 4);
	assert_null(strstr(result.output, "Microsoft"));
	CLI_RUN(&result, cli_devices, "devices", "--device-table", path, "-ojson");
	assert_non_null(strstr(result.output, "\"example.com/npu\", \"kind\": \"NPU\""));
	assert_non_null(strstr(result.output, "\"vendor\": \"Example\", \"builtIn\": false}"));
	memory_free(table);
	memory_free(lines);
}

static void a_wrong_file_is_named_with_its_place(void **state)
{
	(void)state;
	temp_write(directory, "table.yaml",
		   "apiVersion: rayscaler.dev/v1alpha1\nkind: DeviceTable\ndevices:\n"
		   "- resource: example.com/npu\n  kind: npu\n");
	CLI_RUN(&result, cli_devices, "devices", "--device-table", path);
	assert_int_equal(result.status, EXIT_INPUT);
	assert_string_equal(result.output, "");
	assert_non_null(strstr(result.errors, path));
	assert_non_null(strstr(result.errors, "table.yaml: line 5, column 3: devices[0].kind: "));
	CLI_RUN(&result, cli_run, "run", "--device-table", path);
	assert_int_equal(result.status, EXIT_INPUT);
	assert_non_null(strstr(result.errors, "table.yaml: line 5, column 3: devices[0].kind: "));
	CLI_RUN(&result, cli_devices, "devices", "--device-table", "/nowhere/table.yaml");
	assert_int_equal(result.status, EXIT_INPUT);
	assert_non_null(strstr(result.errors, "/nowhere/table.yaml: "));
}

static void wrong_usage_is_refused(void **state)
{
	(void)state;
	CLI_RUN(&result, cli_devices, "devices", "-o", "yaml");
	assert_int_equal(result.status, EXIT_USAGE);
	assert_non_null(strstr(result.errors, "-o takes text or json, not yaml"));
	CLI_RUN(&result, cli_devices, "devices", "more");
	assert_int_equal(result.status, EXIT_USAGE);
	CLI_RUN(&result, cli_status, "status", "--device-table", path);
	assert_int_equal(result.status, EXIT_USAGE);
	assert_non_null(strstr(result.errors, "--device-table is valid only with --gpus"));
}

/* A golden case whose group is spared because of its deviceTable: another table gives another
 * plan. */
static void plan_takes_another_table(void **state)
{
	static const char other[] = "apiVersion: rayscaler.dev/v1alpha1\nkind: DeviceTable\n"
				    "devices: []\n";
	char *snapshot_path = temp_path(directory, "snapshot.yaml"), *snapshot;
	struct err err;

	(void)state;
	assert_int_equal(golden_yaml(GOLDEN_DIRECTORY "/0600_device_table_row_is_spared.yaml",
				     &snapshot, &err),
			 0);
	temp_write(directory, "snapshot.yaml", snapshot);
	temp_write(directory, "table.yaml", other);
	CLI_RUN(&result, cli_plan, "plan", "-f", snapshot_path);
	assert_non_null(strstr(result.output, "\ncards             0         0 "));
	CLI_RUN(&result, cli_plan, "plan", "-f", snapshot_path, "--device-table", path);
	assert_string_equal(result.errors, "");
	assert_non_null(strstr(result.output, "\ncards             0         1 "));
	memory_free(snapshot_path);
	memory_free(snapshot);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_built_in_table_is_shown),
		cmocka_unit_test(the_documented_example_is_as_documented),
		cmocka_unit_test(a_wrong_file_is_named_with_its_place),
		cmocka_unit_test(wrong_usage_is_refused),
		cmocka_unit_test(plan_takes_another_table),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
