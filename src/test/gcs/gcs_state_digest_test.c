/* gcs_state_digest of gcs/gcs_state: which replies are taken for the same. */
#include "gcs/gcs_state.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/memory.h"
#include "gcs/gcs_message.h"
#include "ray.pb-c.h"
#include "test/support/support.h"

#define NODES 3

static struct {
	Ray__NodeState__TotalResourcesEntry cpu, gpu, *totals[NODES][2];
	Ray__NodeState__AvailableResourcesEntry free_cpu, *free[NODES][1];
	char *activity[1];
	Ray__NodeState nodes[NODES], *list[NODES];
	Ray__ResourceRequestByCount pending, *pendings[1];
	Ray__ResourceRequest request;
	Ray__ClusterResourceState state;
	Ray__GetClusterResourceStateReply reply;
} made;

static void set_node(size_t i)
{
	static char names[NODES][16];
	Ray__NodeState *node = &made.nodes[i];

	(void)snprintf(names[i], sizeof(names[i]), "pod-%zu", i);
	ray__node_state__init(node);
	made.totals[i][0] = &made.cpu;
	made.totals[i][1] = &made.gpu;
	made.free[i][0] = &made.free_cpu;
	node->node_id = (ProtobufCBinaryData){ 4, (uint8_t *)names[i] + 1 };
	node->instance_id = names[i];
	node->ray_node_type_name = (char *)"gpu";
	node->status = RAY__NODE_STATUS__RUNNING;
	node->total_resources = made.totals[i];
	node->n_total_resources = 2;
	node->available_resources = made.free[i];
	node->n_available_resources = 1;
	made.list[i] = node;
}

/* node_state_version, as in src/test/data/gcs: Ray sends it, and it is not in our ray.proto. */
static void set_node_version(Ray__NodeState *node)
{
	static uint8_t version[] = { 49 };
	static ProtobufCMessageUnknownField field = { .tag = 7,
						      .wire_type = PROTOBUF_C_WIRE_TYPE_VARINT,
						      .len = sizeof(version),
						      .data = version };

	node->base.unknown_fields = &field;
	node->base.n_unknown_fields = 1;
}

static int setup(void **state)
{
	(void)state;
	memset(&made, 0, sizeof(made));
	ray__node_state__total_resources_entry__init(&made.cpu);
	ray__node_state__total_resources_entry__init(&made.gpu);
	ray__node_state__available_resources_entry__init(&made.free_cpu);
	made.cpu.key = made.free_cpu.key = (char *)"CPU";
	made.cpu.value = made.free_cpu.value = 4;
	made.gpu.key = (char *)"GPU";
	made.gpu.value = 1;
	for (size_t i = 0; i < NODES; i++)
		set_node(i);
	ray__resource_request__init(&made.request);
	ray__resource_request_by_count__init(&made.pending);
	made.pending.request = &made.request;
	made.pending.count = 1;
	made.pendings[0] = &made.pending;
	ray__cluster_resource_state__init(&made.state);
	made.state.cluster_resource_state_version = 7;
	made.state.node_states = made.list;
	made.state.n_node_states = NODES;
	made.state.cluster_session_name = (char *)"session_1";
	ray__get_cluster_resource_state_reply__init(&made.reply);
	made.reply.cluster_resource_state = &made.state;
	return 0;
}

static void pack(struct buf *ret_bytes)
{
	buf_init(ret_bytes, 1 << 20);
	assert_int_equal(gcs_message_pack(&made.reply.base, ret_bytes), 0);
}

static uint64_t digest(void)
{
	AUTO(buf_done) struct buf bytes;

	pack(&bytes);
	return gcs_state_digest(bytes.data, bytes.size);
}

static void what_grows_by_itself_does_not_matter(void **state)
{
	uint64_t before;

	(void)state;
	made.nodes[1].status = RAY__NODE_STATUS__IDLE;
	made.nodes[1].idle_duration_ms = 100;
	before = digest();
	made.state.cluster_resource_state_version = INT64_C(1) << 40;
	made.state.last_seen_autoscaler_state_version = 12;
	set_node_version(&made.nodes[1]);
	made.nodes[1].idle_duration_ms = INT64_C(1) << 30;
	assert_true(digest() == before);
}

static uint64_t digest_of_file(const char *path)
{
	char bytes[4096];
	FILE *file = fopen(path, "rb");
	size_t size = file ? fread(bytes, 1, sizeof(bytes), file) : 0;

	if (size == 0)
		fail_msg("cannot read %s; run the tests at the top of the repository", path);
	fclose(file);
	return gcs_state_digest(bytes, size);
}

/* Two replies of a real head of Ray 2.60.0 that rested, 7 s apart. */
static void a_real_head_at_rest_says_nothing_new(void **state)
{
	(void)state;
	assert_true(digest_of_file("src/test/data/gcs/rest_before.bin") ==
		    digest_of_file("src/test/data/gcs/rest_after.bin"));
	assert_true(digest_of_file("src/test/data/gcs/rest_before.bin") !=
		    digest_of_file("src/test/data/gcs/head.bin"));
}

static void order_does_not_matter(void **state)
{
	uint64_t before = digest();

	(void)state;
	made.totals[2][0] = &made.gpu;
	made.totals[2][1] = &made.cpu;
	made.list[0] = &made.nodes[2];
	made.list[2] = &made.nodes[0];
	assert_true(digest() == before);
}

/* Each of these is another state of the cluster. */
static void all_else_matters(void **state)
{
	uint64_t seen[16];
	size_t count = 0;

	(void)state;
	seen[count++] = digest();
	made.nodes[1].status = RAY__NODE_STATUS__IDLE;
	seen[count++] = digest();
	made.nodes[2].status = RAY__NODE_STATUS__IDLE;
	seen[count++] = digest();
	made.free_cpu.value = 3;
	seen[count++] = digest();
	made.free_cpu.key = (char *)"GPU";
	seen[count++] = digest();
	made.nodes[0].n_available_resources = 0;
	seen[count++] = digest();
	made.state.n_node_states = 2;
	seen[count++] = digest();
	made.state.pending_resource_requests = made.pendings;
	made.state.n_pending_resource_requests = 1;
	seen[count++] = digest();
	made.pending.count = 2;
	seen[count++] = digest();
	made.activity[0] = (char *)"Busy workers on node.";
	made.nodes[0].node_activity = made.activity;
	made.nodes[0].n_node_activity = 1;
	seen[count++] = digest();
	made.state.cluster_session_name = (char *)"session_2";
	seen[count++] = digest();
	made.state.n_node_states = 0;
	seen[count++] = digest();
	made.reply.cluster_resource_state = NULL;
	seen[count++] = digest();
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			if (seen[i] == seen[j])
				fail_msg("%zu and %zu have one digest", j, i);
}

/* The same values at different nodes give different digests. */
static void what_belongs_to_which_node_matters(void **state)
{
	uint64_t before;

	(void)state;
	made.nodes[0].status = RAY__NODE_STATUS__IDLE;
	before = digest();
	made.nodes[0].status = RAY__NODE_STATUS__RUNNING;
	made.nodes[1].status = RAY__NODE_STATUS__IDLE;
	assert_true(digest() != before);
}

/* Cut anywhere, or with any byte turned over: read within its bounds, and another digest but for
 * bytes of the numbers that are left out. */
static void broken_bytes(void **state)
{
	AUTO(buf_done) struct buf bytes;
	uint64_t whole;
	size_t same = 0;

	(void)state;
	pack(&bytes);
	whole = gcs_state_digest(bytes.data, bytes.size);
	for (size_t size = 0; size < bytes.size; size++) {
		unsigned char *cut = memory_alloc(size);

		memcpy(cut, bytes.data, size);
		assert_true(gcs_state_digest(cut, size) != whole);
		memory_free(cut);
	}
	for (size_t i = 0; i < bytes.size; i++) {
		bytes.data[i] ^= 0x7f;
		same += gcs_state_digest(bytes.data, bytes.size) == whole;
		bytes.data[i] ^= 0x7f;
	}
	assert_int_equal(same, 1); /* the version */
	(void)gcs_state_digest(NULL, 0);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_grows_by_itself_does_not_matter),
		TEST(a_real_head_at_rest_says_nothing_new),
		TEST(order_does_not_matter),
		TEST(all_else_matters),
		TEST(what_belongs_to_which_node_matters),
		TEST(broken_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
