#include "codec/objects/plan_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/memory.h"
#include "test/support/support.h"

static const struct bundle_entry bundle[] = { { "CPU", 1, 10000 }, { "GPU", 0.1, 1000 } };
static const struct ray_request request = { .bundle = bundle, .bundle_count = 2 };
static const struct ray_gang gang = { .requests = &request, .request_count = 1, .details = "pg" };
static const char *const names[] = { "p1", "p2" };

static void fill_group(struct plan *plan, struct arena *arena)
{
	static const struct memory_backoff backoff = { .until = 1795168800000,
						       .seconds = 20,
						       .cause = REASON_QUOTA_GATE,
						       .message = "no quota" };
	struct plan_group *group = VEC_ADD(arena, &plan->groups);

	*group = (struct plan_group){ .name = "gpu-group",
				      .replicas = 1,
				      .target_replicas = 0,
				      .reason = REASON_SCALE_DOWN_IDLE,
				      .message = "1 worker" };
	VEC_PUSH(arena, &group->terminate,
		 ((struct plan_termination){ .pod = "w1",
					     .ray_node_id = "9f",
					     .action = TERMINATE_DRAIN,
					     .reason = REASON_IDLE,
					     .message = "hidden",
					     .deadline = TIME_NONE }));
	VEC_PUSH(arena, &plan->groups,
		 ((struct plan_group){ .name = "other", .backoff = &backoff, .message = "" }));
}

static void fill_patch(struct plan *plan, struct arena *arena)
{
	VEC_PUSH(arena, &plan->patch,
		 ((struct patch_op){ .op = "test",
				     .path = "/spec/workerGroupSpecs/0/groupName",
				     .kind = PATCH_VALUE_STRING,
				     .string = "gpu-group" }));
	VEC_PUSH(arena, &plan->patch,
		 ((struct patch_op){
			 .op = "add", .path = "/a", .kind = PATCH_VALUE_INTEGER, .integer = 2 }));
	VEC_PUSH(
		arena, &plan->patch,
		((struct patch_op){ .op = "add", .path = "/b", .kind = PATCH_VALUE_EMPTY_OBJECT }));
	VEC_PUSH(arena, &plan->patch,
		 ((struct patch_op){ .op = "add",
				     .path = "/c",
				     .kind = PATCH_VALUE_STRINGS,
				     .strings = { .at = names, .count = 2 } }));
	VEC_PUSH(arena, &plan->patch,
		 ((struct patch_op){ .op = "add", .path = "/d", .kind = PATCH_VALUE_STRINGS }));
}

static struct plan *make_plan(struct arena *arena)
{
	struct plan *plan = ARENA_NEW(arena, struct plan);
	struct plan_placement *placement = VEC_ADD(arena, &plan->placements);

	plan->cluster_namespace = "default";
	plan->cluster_name = "demo";
	plan->requeue_after_seconds = 1;
	fill_group(plan, arena);
	fill_patch(plan, arena);
	VEC_PUSH(arena, &plan->workers,
		 ((struct plan_worker){ "w1", "gpu-group", WORKER_IDLE, REASON_IDLE, "61 s" }));
	VEC_PUSH(arena, &plan->infeasible,
		 ((struct plan_demand){ .kind = DEMAND_GANG,
					.gang = &gang,
					.count = 1,
					.reason = REASON_GANG_TOO_LARGE,
					.message = "m" }));
	VEC_PUSH(arena, &plan->unserved,
		 ((struct plan_demand){ .kind = DEMAND_CONSTRAINT,
					.source = SOURCE_ANNOTATION,
					.request = &request,
					.count = 3,
					.reason = REASON_MAX_REPLICAS,
					.message = "m" }));
	VEC_PUSH(arena, &plan->conditions,
		 ((struct plan_condition){ "ScalingActive", "True", REASON_DEMAND_READ, "ok" }));
	placement->worker = "new-gpu-group-1";
	placement->group = "gpu-group";
	VEC_PUSH(arena, &placement->placed,
		 ((struct plan_placed){
			 .kind = DEMAND_REQUEST, .index = 4, .bundle = &request, .count = 2 }));
	return plan;
}

#define RESOURCES "{\"CPU\": 1, \"GPU\": 0.1}"
#define BUNDLE "{\"resourcesBundle\": " RESOURCES "}"

static const char wanted[] =
	"{\n"
	"  \"apiVersion\": \"rayscaler.dev/v1alpha1\",\n"
	"  \"kind\": \"Plan\",\n"
	"  \"cluster\": {\"namespace\": \"default\", \"name\": \"demo\"},\n"
	"  \"groups\": [\n"
	"    {\n"
	"      \"name\": \"gpu-group\",\n"
	"      \"replicas\": 1,\n"
	"      \"targetReplicas\": 0,\n"
	"      \"toLaunch\": 0,\n"
	"      \"toTerminate\": [\n"
	"        {\"pod\": \"w1\", \"rayNodeId\": \"9f\", \"action\": \"drain\", \"reason\": "
	"\"Idle\"}\n"
	"      ],\n"
	"      \"backoff\": null,\n"
	"      \"reason\": \"ScaleDownIdle\",\n"
	"      \"message\": \"1 worker\"\n"
	"    },\n"
	"    {\n"
	"      \"name\": \"other\",\n"
	"      \"replicas\": 0,\n"
	"      \"targetReplicas\": 0,\n"
	"      \"toLaunch\": 0,\n"
	"      \"toTerminate\": [],\n"
	"      \"backoff\": {\"until\": \"2026-11-20T10:00:00Z\", \"seconds\": 20, \"cause\": "
	"\"QuotaGate\", \"message\": \"no quota\"},\n"
	"      \"reason\": \"\",\n"
	"      \"message\": \"\"\n"
	"    }\n"
	"  ],\n"
	"  \"workers\": [\n"
	"    {\"pod\": \"w1\", \"group\": \"gpu-group\", \"state\": \"Idle\", "
	"\"reason\": \"Idle\", \"message\": \"61 s\"}\n"
	"  ],\n"
	"  \"infeasible\": [\n"
	"    {\"kind\": \"gang\", \"source\": \"ray\", \"request\": {\"requests\": [" BUNDLE
	"], \"details\": \"pg\"}, \"count\": 1, \"reason\": \"GangTooLarge\", \"message\": \"m\"}\n"
	"  ],\n"
	"  \"unserved\": [\n"
	"    {\"kind\": \"constraint\", \"source\": \"annotation\", \"request\": " BUNDLE
	", \"count\": 3, \"reason\": \"MaxReplicas\", \"message\": \"m\"}\n"
	"  ],\n"
	"  \"patch\": [\n"
	"    {\"op\": \"test\", \"path\": \"/spec/workerGroupSpecs/0/groupName\", \"value\": "
	"\"gpu-group\"},\n"
	"    {\"op\": \"add\", \"path\": \"/a\", \"value\": 2},\n"
	"    {\"op\": \"add\", \"path\": \"/b\", \"value\": {}},\n"
	"    {\"op\": \"add\", \"path\": \"/c\", \"value\": [\"p1\", \"p2\"]},\n"
	"    {\"op\": \"add\", \"path\": \"/d\", \"value\": []}\n"
	"  ],\n"
	"  \"conditions\": [\n"
	"    {\"type\": \"ScalingActive\", \"status\": \"True\", \"reason\": \"DemandRead\", "
	"\"message\": \"ok\"}\n"
	"  ],\n"
	"  \"requeueAfterSeconds\": 1,\n"
	"  \"memory\": {}";

static const char wanted_placements[] =
	",\n"
	"  \"placements\": [\n"
	"    {\n"
	"      \"worker\": \"new-gpu-group-1\",\n"
	"      \"group\": \"gpu-group\",\n"
	"      \"phase\": \"demand\",\n"
	"      \"requests\": [\n"
	"        {\"kind\": \"request\", \"source\": \"ray\", \"index\": 4, \"bundle\": " RESOURCES
	", \"count\": 2}\n"
	"      ]\n"
	"    }\n"
	"  ]";

static void test_plan(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf buf;
	const struct plan *plan = make_plan(&arena);
	struct err err;

	(void)state;
	buf_init(&buf, 1 << 20);
	assert_int_equal(plan_write(plan, false, &buf, &err), 0);
	assert_string_equal(buf_string(&buf), arena_printf(&arena, "%s\n}\n", wanted));
	buf_clear(&buf);
	assert_int_equal(plan_write(plan, true, &buf, &err), 0);
	assert_string_equal(buf_string(&buf),
			    arena_printf(&arena, "%s%s\n}\n", wanted, wanted_placements));
}

static void test_patch(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf buf;
	const struct plan empty = { .cluster_name = "demo" };
	struct err err;

	(void)state;
	buf_init(&buf, 1 << 20);
	assert_int_equal(plan_write_patch(make_plan(&arena), &buf, &err), 0);
	assert_string_equal(
		buf_string(&buf),
		"[{\"op\": \"test\", \"path\": \"/spec/workerGroupSpecs/0/groupName\", \"value\": "
		"\"gpu-group\"}, {\"op\": \"add\", \"path\": \"/a\", \"value\": 2}, {\"op\": "
		"\"add\", \"path\": \"/b\", \"value\": {}}, {\"op\": \"add\", \"path\": \"/c\", "
		"\"value\": [\"p1\", \"p2\"]}, {\"op\": \"add\", \"path\": \"/d\", "
		"\"value\": []}]");
	buf_clear(&buf);
	assert_int_equal(plan_write_patch(&empty, &buf, &err), 0);
	assert_string_equal(buf_string(&buf), "[]");
}

static void test_ceiling(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf buf;
	struct err err;

	(void)state;
	buf_init(&buf, 200);
	assert_int_equal(plan_write(make_plan(&arena), false, &buf, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_string_equal(err.text, "the plan has more than 200 bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plan),
		cmocka_unit_test(test_patch),
		cmocka_unit_test(test_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
