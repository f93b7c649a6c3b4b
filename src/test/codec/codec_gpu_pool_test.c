/* feature/pools/codec/gpu_pool_json: members, problems and status of a GPUPool, and random changes of its
 * JSON. */
#include "feature/pools/codec/gpu_pool_json.h"

#include <stdlib.h>

#include "base/buf.h"
#include "codec/objects/namespace_json.h"
#include "feature/pools/codec/kueue_owner_json.h"
#include "test/support/codec_support.h"
#include "test/support/json_mutate.h"

static const char whole[] =
	"metadata: {name: a100, uid: u1, resourceVersion: '12', generation: 3}\n"
	"spec:\n"
	"  groups: {acceleratorType: A100, resourceName: nvidia.com/gpu, nodeSelector: {pool: a}}\n"
	"  gpus: 64.5\n"
	"  queues:\n"
	"  - name: research\n"
	"    namespaceSelector:\n"
	"      matchLabels: {team: research, site: x}\n"
	"      matchExpressions:\n"
	"      - {key: stage, operator: In, values: [dev, test]}\n"
	"      - {key: old, operator: DoesNotExist}\n"
	"    guaranteed: 16\n"
	"    maximum: 48\n"
	"    lendable: 0\n"
	"    weight: 2\n"
	"    priority: -3\n"
	"    busy: {afterSeconds: 600}\n"
	"  - {name: serving, namespaceSelector: {}, guaranteed: 0.25, busy: Never}\n"
	"  reclaim: {idleAfterSeconds: 7, busy: {afterSeconds: 30}}\n"
	"  reserveAfterSeconds: 0\n"
	"status:\n"
	"  observedGeneration: 2\n"
	"  summary: {gpus: 52 of 64.5, queues: 'research 28/16, (others) 0/0'}\n"
	"  gpus: {total: '64.5', held: '52', waiting: '8'}\n"
	"  queues:\n"
	"  - {name: research, held: '28', busy: '27', idle: '1', borrowed: '12', guaranteed: '16',"
	" waiting: '8', waitingUnits: 1, share: '0.0938', belowGuaranteeSince: '2026-01-01T00:00:00Z'}\n"
	"  - {name: '', held: '0', busy: '0', idle: '0', borrowed: '0', guaranteed: '0', waiting: '0',"
	" waitingUnits: 0, share: '0'}\n"
	"  waiting:\n"
	"  - {cluster: r/demo, groups: gpu-group*8, gpus: '8', count: 1, since: '2026-01-01T00:00:01Z'}\n"
	"  reservedFor: 'r/demo: gpu-group*8'\n"
	"  conditions:\n"
	"  - {type: Ready, status: 'True', reason: R, message: m, lastTransitionTime: '2026-01-01T00:00:00Z'}\n"
	"  lastUpdateTime: '2026-01-01T00:00:02Z'\n";

static int read_text(const char *text, struct arena *arena, struct gpu_pool *pool, struct err *err)
{
	AUTO(json_done) struct cJSON *tree = codec_tree(text);

	return gpu_pool_decode(tree, "", arena, pool, err);
}

static struct gpu_pool read_pool(const char *text, struct arena *arena)
{
	struct gpu_pool pool;
	struct err err;

	if (read_text(text, arena, &pool, &err))
		fail_msg("%s", err.text);
	return pool;
}

#define GPUS(n) ((int64_t)((n)*RESOURCE_UNIT))

static void test_all_members(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct gpu_pool pool = read_pool(whole, &arena);
	const struct gpu_pool_queue *queue = &pool.queues[0];

	(void)state;
	assert_int_equal(pool.problems.count, 0);
	assert_string_equal(pool.name, "a100");
	assert_string_equal(pool.uid, "u1");
	assert_string_equal(pool.resource_version, "12");
	assert_int_equal(pool.generation, 3);
	assert_string_equal(pool.groups.accelerator_type, "A100");
	assert_string_equal(pool.groups.resource_name, "nvidia.com/gpu");
	assert_string_equal(labels_value(&pool.groups.node_selector, "pool"), "a");
	assert_true(pool.has_gpus && pool.gpus == GPUS(64.5));
	assert_int_equal(pool.queue_count, 2);
	assert_string_equal(queue->name, "research");
	assert_string_equal(labels_value(&queue->namespaces.match_labels, "team"), "research");
	assert_int_equal(queue->namespaces.expression_count, 2);
	assert_string_equal(queue->namespaces.expressions[0].operation, "In");
	assert_string_equal(queue->namespaces.expressions[0].values.at[1], "test");
	assert_string_equal(queue->namespaces.expressions[1].key, "old");
	assert_true(queue->guaranteed == GPUS(16) && queue->has_maximum &&
		    queue->maximum == GPUS(48) && queue->has_lendable && queue->lendable == 0);
	assert_true(queue->weight == 2 && queue->priority == -3 && queue->has_busy &&
		    queue->busy_after_seconds == 600);
	queue++;
	assert_true(queue->guaranteed == GPUS(0.25) && !queue->has_maximum && !queue->has_lendable);
	assert_true(queue->weight == 1 && queue->priority == 0 && queue->has_busy &&
		    queue->busy_after_seconds == GPU_POOL_NEVER);
	assert_true(pool.idle_after_seconds == 7 && pool.busy_after_seconds == 30 &&
		    pool.reserve_after_seconds == 0);
}

static void test_what_is_not_given(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct gpu_pool pool = read_pool(
		"{metadata: {name: a}, spec: {queues: [{name: q, namespaceSelector: {}}]}}",
		&arena);

	(void)state;
	assert_int_equal(pool.problems.count, 0);
	assert_true(!pool.has_gpus && !pool.status && !pool.queues[0].has_busy);
	assert_string_equal(pool.groups.accelerator_type, "");
	assert_string_equal(pool.groups.resource_name, "");
	assert_int_equal(pool.idle_after_seconds, GPU_POOL_IDLE_AFTER_SECONDS_DEFAULT);
	assert_int_equal(pool.busy_after_seconds, GPU_POOL_NEVER);
	assert_int_equal(pool.reserve_after_seconds, GPU_POOL_RESERVE_AFTER_SECONDS_DEFAULT);
	assert_int_equal(pool.reserve_at_most_seconds, GPU_POOL_RESERVE_AT_MOST_SECONDS_DEFAULT);
	assert_int_equal(pool.queues[0].weight, 1);
}

static void test_reservations(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct gpu_pool pool = read_pool("{metadata: {name: a}, spec: {reserveAfterSeconds: "
					       "Never, reserve: {atMostSeconds: 60}}}",
					       &arena);

	(void)state;
	assert_int_equal(pool.problems.count, 0);
	assert_int_equal(pool.reserve_after_seconds, GPU_POOL_NEVER);
	assert_int_equal(pool.reserve_at_most_seconds, 60);
}

/* ---- problems ---- */

static void check_problem(const char *spec, const char *wanted)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct gpu_pool pool =
		read_pool(arena_printf(&arena, "{metadata: {name: a}, spec: %s}", spec), &arena);

	if (pool.problems.count != 1 || strncmp(pool.problems.at[0], wanted, strlen(wanted)) != 0)
		fail_msg("%s\n  gives  %zu: %s\n  not    %s", spec, pool.problems.count,
			 pool.problems.count > 0 ? pool.problems.at[0] : "", wanted);
}

static void check_queue(const char *members, const char *wanted)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	check_problem(arena_printf(&arena, "{queues: [{name: q, namespaceSelector: {}, %s}]}",
				   members),
		      arena_printf(&arena, "spec.queues[0]%s", wanted));
}

static void check_expression(const char *members, const char *wanted)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	check_problem(
		arena_printf(&arena,
			     "{queues: [{name: q, namespaceSelector: {matchExpressions: [{%s}]}}]}",
			     members),
		arena_printf(&arena, "spec.queues[0].namespaceSelector.matchExpressions[0]: %s",
			     wanted));
}

static void test_problems(void **state)
{
	(void)state;
	check_problem("{groups: {}}",
		      "spec.groups: is empty; set acceleratorType, resourceName or");
	check_problem("{groups: {acceleratorType: ''}}", "spec.groups: is empty");
	check_problem("{gpus: -1}", "spec.gpus: must be 0 to 1000000 GPUs");
	check_problem("{gpus: 1000000.5}", "spec.gpus: must be 0 to 1000000 GPUs");
	check_problem("{gpus: 1e300}", "spec.gpus: must be 0 to 1000000 GPUs");
	check_problem("{reserveAfterSeconds: -1}",
		      "spec.reserveAfterSeconds: must be Never or 0 to 2592000 s");
	check_problem("{reserveAfterSeconds: 1.5}", "spec.reserveAfterSeconds: must be Never or");
	check_problem("{reserveAfterSeconds: Sometimes}", "spec.reserveAfterSeconds: must be");
	check_problem("{reserve: {atMostSeconds: 0}}",
		      "spec.reserve.atMostSeconds: must be 1 to 2592000, is 0");
	check_problem("{reclaim: {idleAfterSeconds: 2592001}}",
		      "spec.reclaim.idleAfterSeconds: must be 0 to 2592000, is 2592001");
	for (const char *const *busy =
		     (const char *const[]){ "Sometimes", "''", "5", "true", "[]", "{}",
					    "{afterSeconds: 0}", "{afterSeconds: 2592001}", NULL };
	     *busy; busy++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		const char *member = arena_printf(&arena, "{reclaim: {busy: %s}}", *busy);

		check_problem(member, "spec.reclaim.busy: must be Never or {afterSeconds: N} with "
				      "1 to 2592000 s; it counts as Never");
		check_queue(arena_printf(&arena, "busy: %s", *busy), ".busy: must be Never or");
	}
	check_problem("{queues: [{name: q}]}",
		      "spec.queues[0].namespaceSelector: is required: labels of the team's "
		      "namespaces; {} selects all namespaces");
	check_problem("{queues: [{namespaceSelector: {}}]}",
		      "spec.queues[0].name: must have 1 to 63 of a-z, 0-9 and -, as research-1; is "
		      "\"\"");
	check_problem("{queues: [{name: Q, namespaceSelector: {}}]}",
		      "spec.queues[0].name: must have 1 to 63 of");
	check_problem("{queues: [{name: q-, namespaceSelector: {}}]}",
		      "spec.queues[0].name: must have 1 to 63 of");
	check_problem("{queues: [{name: q, namespaceSelector: {}}, {name: r, namespaceSelector: "
		      "{}}, {name: q, namespaceSelector: {}}]}",
		      "spec.queues[2].name: q is the name of an earlier queue; rename one");
	check_queue("weight: 0", ".weight: must be 1 to 1000000, is 0");
	check_queue("weight: 1000001", ".weight: must be 1 to 1000000, is 1000001");
	check_queue("priority: 1000001", ".priority: must be -1000000 to 1000000, is 1000001");
	check_queue("guaranteed: -0.5", ".guaranteed: must be 0 to 1000000 GPUs");
	check_queue("guaranteed: 2, maximum: 1.5",
		    ": guaranteed is 2, above maximum, which is 1.5; raise maximum or lower "
		    "guaranteed");
	check_queue("guaranteed: 2, lendable: 3",
		    ": lendable is 3, above guaranteed, which is 2; lower lendable or remove it");
	check_expression("operator: Exists", "has no key; name a label of namespaces");
	check_expression("key: a, operator: Gt, values: [a]",
			 "operator must be In, NotIn, Exists or DoesNotExist, is \"Gt\"");
	check_expression("key: a", "operator must be In, NotIn, Exists or DoesNotExist, is \"\"");
	check_expression("key: a, operator: NotIn", "NotIn needs values: add them");
	check_expression("key: a, operator: Exists, values: [a]",
			 "Exists takes no values; remove them");
}

/* A list of `count` elements. */
static const char *list_of(struct arena *arena, const char *format, size_t count)
{
	const char *list = "";

	for (size_t i = 0; i < count; i++) {
		char element[100];

		(void)snprintf(element, sizeof(element), "q%zu", i);
		list = arena_printf(arena, "%s%s{%s%s}", list, i > 0 ? ", " : "", format, element);
	}
	return list;
}

static int decode_text(const char *text, struct arena *arena, struct err *err)
{
	struct gpu_pool pool;

	return read_text(text, arena, &pool, err);
}

static void test_limits(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const char *format = "namespaceSelector: {}, name: ";
	const char *most = list_of(&arena, format, GPU_POOL_QUEUES_MAX);
	const char *more = list_of(&arena, format, GPU_POOL_QUEUES_MAX + 1);
	const struct codec_bad bad[] = {
		{ "[]", "top level: must be an object, is an array" },
		{ "{spec: {}}", "metadata.name: is missing, must be a string" },
		{ "{metadata: {name: a}, spec: {gpus: many}}",
		  "spec.gpus: must be a number, is a string" },
		{ "{metadata: {name: a}, spec: {queues: {}}}",
		  "spec.queues: must be an array, is an object" },
		{ "{metadata: {name: a}, spec: {reclaim: {busy: {afterSeconds: x}}}}",
		  "spec.reclaim.busy.afterSeconds: must be " },
		{ arena_printf(&arena, "{metadata: {name: a}, spec: {queues: [%s]}}", more),
		  "spec.queues: has 201 elements, more than 200" },
		{ arena_printf(&arena,
			       "{metadata: {name: a}, spec: {queues: [{name: q, "
			       "namespaceSelector: {matchExpressions: [%s]}}]}}",
			       list_of(&arena, "operator: Exists, key: ", 21)),
		  "spec.queues[0].namespaceSelector.matchExpressions: has 21 elements" },
	};
	struct gpu_pool pool = read_pool(
		arena_printf(&arena, "{metadata: {name: a}, spec: {queues: [%s]}}", most), &arena);

	(void)state;
	assert_int_equal(pool.queue_count, GPU_POOL_QUEUES_MAX);
	assert_int_equal(pool.problems.count, 0);
	codec_check_bad(bad, sizeof(bad) / sizeof(bad[0]), decode_text);
}

/* A pool that cannot be decoded still is there, with its status. */
static void test_unreadable(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done)
	struct cJSON *tree = codec_tree("{metadata: {name: a, uid: u, generation: 4}, spec: 1, "
					"status: {reservedFor: 'r/demo: g*2'}}");
	AUTO(json_done) struct cJSON *nameless = codec_tree("{metadata: {}}");
	struct gpu_pool pool;

	(void)state;
	assert_int_equal(gpu_pool_decode_unreadable(tree, "spec: is wrong", &arena, &pool), 0);
	assert_string_equal(pool.name, "a");
	assert_string_equal(pool.uid, "u");
	assert_int_equal(pool.generation, 4);
	assert_int_equal(pool.problems.count, 1);
	assert_string_equal(pool.problems.at[0], "spec: is wrong");
	assert_string_equal(pool.status->reserved_for, "r/demo: g*2");
	assert_int_equal(gpu_pool_decode_unreadable(nameless, "", &arena, &pool), -1);
}

/* ---- status ---- */

static const char *status_at(const struct gpu_pool *pool, struct arena *arena)
{
	return gpu_pool_status_text(pool->status, arena);
}

static void test_status(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct gpu_pool pool = read_pool(whole, &arena);
	const struct gpu_pool_status *status = pool.status;
	const char *text = status_at(&pool, &arena);
	struct gpu_pool again;

	(void)state;
	assert_int_equal(status->observed_generation, 2);
	assert_true(status->gpus == GPUS(64.5) && status->held == GPUS(52) &&
		    status->waiting == GPUS(8));
	assert_string_equal(status->held_text, "52 of 64.5");
	assert_int_equal(status->queue_count, 2);
	assert_true(status->queues[0].borrowed == GPUS(12) && status->queues[0].share == 938);
	assert_true(status->queues[0].below_guarantee_since != TIME_NONE);
	assert_true(status->queues[1].below_guarantee_since == TIME_NONE);
	assert_int_equal(status->waiting_unit_count, 1);
	assert_string_equal(status->waiting_units[0].groups, "gpu-group*8");
	assert_true(status->waiting_units[0].since == status->updated - 1000);
	assert_string_equal(status->conditions.at[0].type, "Ready");
	/* Written and read again it is the same, byte by byte. */
	again = read_pool(arena_printf(&arena, "{\"metadata\": {\"name\": \"a\"}, \"status\": %s}",
				       text),
			  &arena);
	assert_true(field_equal(gpu_pool_status_fields, status, again.status));
	assert_string_equal(status_at(&again, &arena), text);
	assert_non_null(strstr(text, "\"gpus\": \"52 of 64.5\", \"queues\": \"research 28/16, "
				     "(others) 0/0\""));
	assert_null(strstr(text, "\"belowGuaranteeSince\": null"));
}

static void test_status_of_another_version(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct gpu_pool pool = read_pool(
		"{metadata: {name: a}, spec: {}, status: {gpus: [], waiting: [1], queues: {}, "
		"reservedFor: b, observedGeneration: 5}}",
		&arena);

	(void)state;
	assert_int_equal(pool.problems.count, 0);
	assert_true(pool.status->gpus == 0 && pool.status->queue_count == 0);
	assert_string_equal(pool.status->reserved_for, "b");
	assert_int_equal(pool.status->observed_generation, 5);
}

/* Many queues make no long column; what is not there is null, so that a merge patch removes it. */
static void test_status_text(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct gpu_pool_queue_status queues[6];
	struct gpu_pool_status status = gpu_pool_status_initial;

	(void)state;
	for (size_t i = 0; i < 6; i++)
		queues[i] = (struct gpu_pool_queue_status){
			.name = arena_printf(&arena, "q%zu", i),
			.held = GPUS(1),
			.below_guarantee_since = TIME_NONE,
		};
	assert_string_equal(
		gpu_pool_status_text(&status, &arena),
		"{\"observedGeneration\": 0, \"summary\": {\"gpus\": \"0 of 0\", \"queues\": "
		"\"\"}, \"gpus\": {\"total\": \"0\", \"held\": \"0\", \"waiting\": \"0\"}, "
		"\"queues\": [], \"waiting\": [], \"reservedFor\": \"\", \"conditions\": [], "
		"\"lastUpdateTime\": null}");
	status.queues = queues;
	status.queue_count = 6;
	assert_non_null(strstr(gpu_pool_status_text(&status, &arena),
			       "\"queues\": \"q0 1/0, q1 1/0, q2 1/0, q3 1/0, ...\""));
}

/* ---- namespaces ---- */

static void test_namespace(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done)
	struct cJSON *tree = codec_tree("{metadata: {name: r, resourceVersion: '5', labels: {team: "
					"x}, annotations: {a: 1}}, spec: {finalizers: 7}}");
	AUTO(json_done) struct cJSON *nameless = codec_tree("{metadata: {labels: {team: x}}}");
	struct namespace namespace;
	struct err err;

	(void)state;
	assert_int_equal(namespace_decode(tree, "", &arena, &namespace, &err), 0);
	assert_string_equal(namespace.name, "r");
	assert_string_equal(namespace.resource_version, "5");
	assert_string_equal(labels_value(&namespace.labels, "team"), "x");
	assert_int_equal(namespace_decode(nameless, "", &arena, &namespace, &err), -1);
	assert_string_equal(err.text, "metadata.name: is missing, must be a string");
}

/* ---- any change ---- */

static const char *pool_text(const struct gpu_pool *pool, struct arena *arena)
{
	return field_text(gpu_pool_fields, pool, arena);
}

/* A pool without problems is the same when written and read again, and when copied. */
static void check_mutant(const struct cJSON *tree, size_t *good)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT, second = ARENA_INIT;
	struct err err = { .kind = ERR_NONE };
	struct gpu_pool pool, again;
	const struct gpu_pool *copy;

	if (gpu_pool_decode(tree, "", &arena, &pool, &err)) {
		assert_true(err.kind != ERR_NONE && err.text[0] != '\0');
		return;
	}
	assert_true(pool.problems.count <= JSON_PROBLEMS_MAX);
	assert_true(pool.queue_count <= GPU_POOL_QUEUES_MAX && pool.name && pool.uid);
	for (size_t i = 0; i < pool.queue_count; i++)
		assert_true(pool.queues[i].weight >= 1 && pool.queues[i].guaranteed >= 0);
	copy = FIELD_COPY(gpu_pool_fields, &pool, &second);
	assert_true(field_equal(gpu_pool_fields, &pool, copy));
	again = read_pool(pool_text(&pool, &arena), &arena);
	if (pool.problems.count > 0)
		return;
	*good += 1;
	assert_string_equal(pool_text(&again, &arena), pool_text(copy, &second));
	if (pool.status)
		(void)read_pool(arena_printf(&arena,
					     "{\"metadata\": {\"name\": \"a\"}, \"status\": %s}",
					     gpu_pool_status_text(pool.status, &arena)),
				&arena);
}

static void test_the_owner_of_a_workload(void **state)
{
	static const char *const texts[] = {
		"metadata: {namespace: a, ownerReferences: [{kind: Job, name: x, uid: u0, controller: true}, "
		"{kind: RayCluster, name: y, uid: u1}, {kind: RayCluster, name: z, uid: u2, controller: true}]}\n"
		"status: {conditions: [{type: Admitted, status: 'True'}, {type: QuotaReserved, status: 'True'}]}",
		"metadata: {namespace: a, ownerReferences: [{kind: RayCluster, name: z, uid: u2}]}\n"
		"status: {conditions: [{type: QuotaReserved, status: 'False'}]}",
		"metadata: {namespace: a}",
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(texts); i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		AUTO(json_done) struct cJSON *json = codec_tree(texts[i]);
		struct kueue_owner owner;
		struct err err;

		assert_int_equal(kueue_owner_decode(json, "", &arena, &owner, &err), 0);
		assert_string_equal(owner.namespace_, "a");
		assert_string_equal(owner.uid, i == 0 ? "u2" : "");
		assert_string_equal(owner.cluster, i == 0 ? "z" : "");
		assert_int_equal(owner.has_quota, i == 0);
	}
}

#define MUTANTS 5000

static void test_mutants(void **state)
{
	static const struct cJSON *nodes[1000];
	struct mutate_pool donors = { .at = nodes };
	AUTO(json_done) struct cJSON *tree = codec_tree(whole);
	uint64_t random = 28;
	size_t good = 0;

	(void)state;
	mutate_collect(&donors, tree);
	mutate_sort(&donors);
	for (size_t i = 0; i < MUTANTS; i++) {
		AUTO(json_done) struct cJSON *mutant = cJSON_Duplicate(tree, true);

		for (size_t n = 0; n <= i % 4; n++)
			mutate_once(mutant, &donors, &random);
		check_mutant(mutant, &good);
	}
	assert_true(good > MUTANTS / 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_members),
		cmocka_unit_test(test_what_is_not_given),
		cmocka_unit_test(test_reservations),
		cmocka_unit_test(test_problems),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_the_owner_of_a_workload),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_status_of_another_version),
		cmocka_unit_test(test_status_text),
		cmocka_unit_test(test_namespace),
		cmocka_unit_test(test_mutants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
