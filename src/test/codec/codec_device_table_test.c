/* Device tables from files: the rows that they add, and every refusal with its line and column. */

#include "codec/objects/device_table_json.h"

#include <string.h>

#include "base/buf.h"
#include "base/memory.h"
#include "codec/schema/one_document.h"
#include "codec/text/json.h"
#include "test/support/support.h"

#define HEAD "apiVersion: rayscaler.dev/v1alpha1\nkind: DeviceTable\n"

static const char good[] = HEAD
	"devices:\n"
	"- resource: example.com/npu\n"
	"  kind: NPU\n"
	"  vendor: Example\n"
	"- resource: example.com/npu-mem\n"
	"  kind: NPU\n"
	"  share: memory\n"
	"  memoryUnit: 512Mi\n"
	"  countResource: example.com/npu-count\n"
	"- resource: example.com/slice-*\n"
	"  kind: GPU\n"
	"  share: slice\n"
	"  rayResource: CARD\n"
	"- {resource: nvidia.com/gpu.shared, kind: none}\n"
	"- {resource: old.example.com/npu, kind: NPU, instead: example.com/npu}\n";

static void check_good(const struct device_table *table)
{
	const struct device_row *memory = device_find(table, "example.com/npu-mem");

	assert_int_equal(device_table_own(table).count, 5);
	assert_string_equal(device_find(table, "example.com/npu")->vendor, "Example");
	assert_string_equal(device_find(table, "example.com/npu")->ray_resource, "NPU");
	assert_int_equal(device_find(table, "example.com/npu")->share, DEVICE_WHOLE);
	assert_int_equal(memory->share, DEVICE_MEMORY);
	assert_true(memory->memory_unit_bytes == INT64_C(512) << 20);
	assert_string_equal(memory->count_resource, "example.com/npu-count");
	assert_string_equal(device_find(table, "example.com/slice-2")->ray_resource, "CARD");
	assert_null(device_find(table, "nvidia.com/gpu.shared"));
	assert_string_equal(device_find(table, "old.example.com/npu")->instead, "example.com/npu");
	assert_string_equal(device_find(table, "nvidia.com/gpu")->vendor, "NVIDIA");
}

static void rows_are_added_and_replaced(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct device_table table;
	struct strings names;
	struct err err;

	(void)state;
	if (device_table_read(good, strlen(good), &arena, &table, &err))
		fail_msg("%s", err.text);
	check_good(&table);
	names = device_ray_names(&table, &(struct strings){ .count = 0 }, &arena);
	assert_string_equal(names.at[0], "CARD");
	assert_int_equal(names.count, 8);
}

static void what_is_written_is_read_again(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done) struct cJSON *tree = NULL;
	AUTO(buf_done) struct buf buf;
	const struct json_limits limits = { 1 << 20, 20, 1000, true };
	struct device_table table, again;
	struct json_writer writer;
	struct err err;

	(void)state;
	assert_int_equal(device_table_read(good, strlen(good), &arena, &table, &err), 0);
	buf_init(&buf, 1 << 20);
	json_write_init(&writer, &buf, JSON_STYLE_PRETTY);
	device_table_write(&writer, NULL, &table);
	assert_int_equal(json_parse(buf_string(&buf), buf.size, &limits, &tree, &err), 0);
	if (device_table_decode(tree, "deviceTable", &arena, &again, &err))
		fail_msg("%s", err.text);
	check_good(&again);
}

static const struct {
	const char *text, *error;
} bad[] = {
	{ "", "there is no document" },
	{ HEAD, "devices: is missing, must be an array" },
	{ "kind: DeviceTable\ndevices: []\n", "apiVersion: is missing; write " },
	{ "apiVersion: rayscaler.dev/v1alpha1\nkind: Pod\ndevices: []\n",
	  "line 2, column 1: kind: must be DeviceTable, is \"Pod\"" },
	{ "apiVersion: rayscaler.dev/v1alpha1\nkind: PriceTable\ncurrency: EUR\n",
	  "must be DeviceTable, is \"PriceTable\"; give a PriceTable with --price-table" },
	{ HEAD "device: []\n", "line 3, column 1: device: is not a member of a DeviceTable; did "
			       "you mean devices?" },
	{ HEAD "devices:\n- resource: example.com/npu\n  kind: NPU\n  shares: whole\n",
	  "line 6, column 3: devices[0].shares: is not a member of a device" },
	{ HEAD "devices:\n- resource: example.com/npu\n  kind: npu\n",
	  "line 5, column 3: devices[0].kind: must be one of none, GPU, Neuron, TPU, HPU, NPU, is "
	  "\"npu\"" },
	{ HEAD "devices:\n- resource: example.com/npu\n",
	  "devices[0].kind: is missing, must be a string" },
	{ HEAD "devices:\n- kind: NPU\n", "devices[0].resource: is missing, must be a string" },
	{ HEAD "devices:\n- resource: example.com/npu\n  kind: 7\n",
	  "line 5, column 3: devices[0].kind: must be a string, is a number" },
	{ HEAD "devices:\n- {resource: example.com/npu, kind: NPU, share: half}\n",
	  "line 4, column 42: devices[0].share: must be one of whole, slice, turn, memory, "
	  "qualifier, is \"half\"" },
	{ HEAD "devices:\n- {resource: cpu, kind: NPU}\n",
	  "line 4, column 4: devices[0].resource: must be a name of Kubernetes with a domain" },
	{ HEAD "devices:\n- {resource: '*', kind: NPU}\n", "must be a name of Kubernetes" },
	{ HEAD "devices:\n- {resource: 'a/b*c', kind: NPU}\n", "must be a name of Kubernetes" },
	{ HEAD "devices:\n- {resource: '', kind: NPU}\n", "must be a name of Kubernetes" },
	{ HEAD "devices:\n- {resource: a.b/c, kind: NPU}\n- {resource: a.b/c, kind: GPU}\n",
	  "line 5, column 4: devices[1].resource: a.b/c is in the list twice" },
	{ HEAD "devices:\n- {resource: a.b/c, kind: NPU, kind: GPU}\n",
	  "line 4, column 32: this member is there twice" },
	{ HEAD "devices:\n- {resource: a.b/c, kind: GPU, share: memory}\n",
	  "line 4, column 3: devices[0]: memoryUnit is required" },
	{ HEAD "devices:\n- {resource: a.b/c, kind: GPU, memoryUnit: 1Gi}\n",
	  "line 4, column 32: devices[0].memoryUnit: is for share memory or qualifier" },
	{ HEAD "devices:\n- {resource: a.b/c, kind: GPU, share: memory, memoryUnit: 1Gib}\n",
	  "devices[0].memoryUnit: \"1Gib\" is not a quantity" },
	{ HEAD "devices:\n- {resource: a.b/c, kind: GPU, share: memory, memoryUnit: '0'}\n",
	  "devices[0].memoryUnit: must be 1 to 1Ti bytes" },
	{ HEAD "devices:\n- {resource: a.b/c, kind: GPU, share: memory, memoryUnit: 2Ti}\n",
	  "devices[0].memoryUnit: must be 1 to 1Ti bytes" },
	{ HEAD "devices:\n- {resource: a.b/c, kind: GPU, countResource: a.b/d}\n",
	  "devices[0].countResource: is for share memory, not for whole" },
	{ HEAD "devices:\n- {resource: a.b/c, kind: GPU, instead: gpu}\n",
	  "devices[0].instead: must be a name of Kubernetes" },
	{ HEAD "devices:\n- {resource: a.b/c, kind: GPU, rayResource: CPU}\n",
	  "devices[0].rayResource: CPU is not an accelerator of Ray" },
	{ HEAD "devices:\n- {resource: a.b/c, kind: none, rayResource: GPU}\n",
	  "devices[0].rayResource: is for devices" },
	{ HEAD "devices: []\n---\n" HEAD "devices: []\n", "there is a second document" },
	{ HEAD "devices: [\n", "line 4, column 1" },
	{ "[1]", "top level: must be a DeviceTable, is an array; begin it with " },
};

static void what_is_wrong_is_refused_with_its_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct device_table table;
		struct err err = { .kind = ERR_NONE };

		if (device_table_read(bad[i].text, strlen(bad[i].text), &arena, &table, &err) == 0)
			fail_msg("not refused: %s", bad[i].text);
		if (!strstr(err.text, bad[i].error))
			fail_msg("\"%s\" does not have \"%s\"", err.text, bad[i].error);
	}
}

static void many(struct buf *buf, size_t count)
{
	buf_add_string(buf, HEAD "devices:\n");
	for (size_t i = 0; i < count; i++)
		buf_printf(buf, "- {resource: a.b/c%zu, kind: GPU}\n", i);
}

static void the_size_of_a_table_is_bounded(void **state)
{
	static const size_t counts[] = { DEVICE_TABLE_ROWS_MAX, DEVICE_TABLE_ROWS_MAX + 1 };
	struct err err = { .kind = ERR_NONE };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		AUTO(buf_done) struct buf buf;
		struct device_table table;

		buf_init(&buf, ONE_DOCUMENT_BYTES_MAX * 2);
		many(&buf, counts[i]);
		assert_int_equal(device_table_read(buf_string(&buf), buf.size, &arena, &table,
						   &err),
				 i == 0 ? 0 : -1);
	}
	assert_string_equal(err.text,
			    "line 3, column 1: devices: has 1001 elements, more than 1000");
}

static void a_bomb_is_refused(void **state)
{
	static const char text[] = HEAD "devices:\n- resource: &a [x,x,x,x,x,x,x,x,x,x]\n"
					"  kind: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
					"  share: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
					"  vendor: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
					"  instead: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n";
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct device_table table;
	struct err err = { .kind = ERR_NONE };

	(void)state;
	assert_int_equal(device_table_read(text, strlen(text), &arena, &table, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_added_and_replaced),
		cmocka_unit_test(what_is_written_is_read_again),
		cmocka_unit_test(what_is_wrong_is_refused_with_its_place),
		cmocka_unit_test(the_size_of_a_table_is_bounded),
		cmocka_unit_test(a_bomb_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
