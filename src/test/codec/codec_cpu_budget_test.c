/* core/model/cpu_budget: a decision that takes too much launches a part of what it would launch without
 * a limit, or changes nothing, wherever it is stopped. */
#include "core/model/cpu_budget.h"

#include <string.h>

#include "base/buf.h"
#include "base/memory.h"
#include "codec/objects/plan_json.h"
#include "codec/objects/snapshot_json.h"
#include "codec/text/json.h"
#include "core/decide.h"
#include "test/support/support.h"

#define TEXT_BYTES_MAX ((size_t)16 << 20)
#define GROUPS 20
#define SHAPES 300
#define GANGS 40
#define UNITS 2000 /* of work between two questions */

struct watch {
	int64_t asked, allowed; /* questions */
	enum cpu_spent then;
};

static enum cpu_spent spent(void *context)
{
	struct watch *watch = context;

	return ++watch->asked > watch->allowed ? watch->then : CPU_LEFT;
}

static void add_group(struct buf *buf, int i)
{
	(void)buf_printf(buf,
			 "%s{\"groupName\": \"g%d\", \"replicas\": 1, \"minReplicas\": 0,"
			 " \"maxReplicas\": 50, \"rayStartParams\": {}, \"template\": {\"spec\":"
			 " {\"containers\": [{\"name\": \"w\", \"resources\": {\"limits\":"
			 " {\"cpu\": \"%d\", \"nvidia.com/gpu\": \"%d\"}}}]}}}",
			 i > 0 ? ", " : "", i, 8 + i, 1 + i % 8);
}

/* A cluster with a packing of some thousand steps. */
static void write_snapshot(struct buf *buf, const char *packing)
{
	(void)buf_printf(
		buf,
		"{\"apiVersion\": \"rayscaler.dev/v1alpha1\", \"kind\": \"Snapshot\","
		" \"now\": \"2026-01-01T00:00:00Z\", \"settings\": {\"packing\": \"%s\"},"
		" \"memory\": {\"templates\": []}, \"rayCluster\": {\"metadata\":"
		" {\"name\": \"demo\", \"namespace\": \"a\"}, \"spec\":"
		" {\"enableInTreeAutoscaling\": true, \"headGroupSpec\": {\"rayStartParams\":"
		" {}, \"template\": {\"spec\": {\"containers\": [{\"name\": \"h\"}]}}},"
		" \"workerGroupSpecs\": [",
		packing);
	for (int i = 0; i < GROUPS; i++)
		add_group(buf, i);
	(void)buf_printf(buf, "]}}, \"pods\": [], \"rayState\": {\"nodeStates\": [{\"nodeId\":"
			      " \"AAAA\", \"status\": \"RUNNING\", \"rayNodeTypeName\":"
			      " \"headgroup\", \"totalResources\": {\"CPU\": 1,"
			      " \"node:__internal_head__\": 1}}], \"pendingResourceRequests\": [");
	for (int i = 0; i < SHAPES; i++)
		(void)buf_printf(buf,
				 "%s{\"count\": 3, \"request\": {\"resourcesBundle\": {\"CPU\": "
				 "%d.%d}}}",
				 i > 0 ? ", " : "", 1 + i / 10, i % 10);
	(void)buf_printf(buf, "], \"pendingGangResourceRequests\": [");
	for (int i = 0; i < GANGS; i++)
		(void)buf_printf(buf,
				 "%s{\"requests\": [{\"resourcesBundle\": {\"GPU\": 1, \"CPU\":"
				 " %d}}, {\"resourcesBundle\": {\"GPU\": 2}}]}",
				 i > 0 ? ", " : "", 1 + i % 7);
	(void)buf_printf(buf, "]}}");
}

static void load(const char *packing, struct arena *arena, struct snapshot *ret_snapshot)
{
	AUTO(buf_done) struct buf text;
	AUTO(json_done) struct cJSON *tree = NULL;
	struct err err = { .kind = ERR_NONE };

	buf_init(&text, TEXT_BYTES_MAX);
	write_snapshot(&text, packing);
	if (json_parse(buf_string(&text), text.size, &snapshot_limits, &tree, &err) ||
	    snapshot_decode(tree, "", arena, ret_snapshot, &err))
		fail_msg("%s", err.text);
}

static char *plan_text(const struct plan *plan)
{
	struct buf text;
	struct err err;

	buf_init(&text, TEXT_BYTES_MAX);
	assert_int_equal(plan_write(plan, true, &text, &err), 0);
	return buf_steal(&text);
}

static void expect_undecided(const struct snapshot *snapshot, const struct plan *plan)
{
	const struct plan_condition *active = &plan->conditions.at[0];

	assert_int_equal(plan->patch.count, 0);
	assert_int_equal(plan->groups.count, snapshot->cluster.group_count);
	for (size_t i = 0; i < plan->groups.count; i++) {
		assert_int_equal(plan->groups.at[i].target_replicas, 1);
		assert_int_equal(plan->groups.at[i].terminate.count, 0);
		assert_int_equal(plan->groups.at[i].to_launch, 0);
	}
	assert_ptr_equal(plan->memory.templates.at, snapshot->memory->templates.at);
	assert_string_equal(active->type, "ScalingActive");
	assert_string_equal(active->status, "False");
	assert_int_equal(active->reason, REASON_DECISION_TOO_EXPENSIVE);
	assert_non_null(strstr(active->message, "with 300 pending requests, 40 placement "
						"groups, 20 worker groups and 0 Pods the decision "
						"took more than 250 ms of CPU time"));
}

/* Stopped at its first, second, fourth, ... question, it changes nothing; with as many as it needs
 * it is the plan without a budget. LeakSanitizer reports memory that a stopped packing leaks. */
static void stop_everywhere(const char *packing)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct watch watch = { .allowed = INT64_MAX, .then = CPU_OVER };
	struct cpu_budget budget = { .spent = spent, .context = &watch, .ms = 250, .units = UNITS };
	struct snapshot snapshot;
	int64_t needed;
	char *without, *with;

	load(packing, &arena, &snapshot);
	without = plan_text(decide(&snapshot, &arena));
	snapshot.cpu_budget = &budget;
	with = plan_text(decide(&snapshot, &arena));
	assert_string_equal(with, without);
	assert_false(budget.exhausted);
	memory_free(with);
	memory_free(without);
	needed = watch.asked;
	assert_true(needed > 30);
	for (int64_t allowed = 0; allowed < needed; allowed += 1 + allowed / 4) {
		AUTO(arena_done) struct arena scratch = ARENA_INIT;

		watch = (struct watch){ .allowed = allowed, .then = CPU_OVER };
		budget = (struct cpu_budget){
			.spent = spent, .context = &watch, .ms = 250, .units = UNITS
		};
		expect_undecided(&snapshot, decide(&snapshot, &scratch));
		assert_true(budget.exhausted);
		assert_int_equal(watch.asked, allowed + 1);
	}
}

/* Expects a subset of the launches, no termination, and that the rest is reported. */
static bool expect_part(const struct plan *plan, const struct plan *whole, int64_t *ret_launches)
{
	const struct plan_condition *active = &plan->conditions.at[0];
	bool cut = active->reason == REASON_DECISION_CUT_SHORT;

	assert_string_equal(active->type, "ScalingActive");
	assert_string_equal(active->status, "True");
	assert_int_equal(plan->groups.count, whole->groups.count);
	*ret_launches = 0;
	for (size_t i = 0; i < plan->groups.count; i++) {
		const struct plan_group *group = &plan->groups.at[i];

		assert_true(group->to_launch <= whole->groups.at[i].to_launch);
		assert_true(group->target_replicas <= whole->groups.at[i].target_replicas);
		assert_int_equal(group->terminate.count, 0);
		*ret_launches += group->to_launch;
	}
	if (cut) {
		assert_non_null(strstr(active->message, "its 250 ms of CPU time with "));
		assert_true(plan->unserved.count >= whole->unserved.count);
		assert_int_equal(plan->next_change, plan->next_age_change);
	}
	return cut;
}

/* Cut at each question, it launches a part of the whole, and more the later it is cut; nothing only where
 * it is stopped. */
static void test_cut_short(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct snapshot snapshot;
	const struct plan *whole;
	int64_t all, last = 0, launches = 0, cuts = 0, steps = 0;

	(void)state;
	load("ray", &arena, &snapshot);
	whole = decide(&snapshot, &arena);
	assert_false(expect_part(whole, whole, &all));
	for (int64_t allowed = 0; allowed == 0 || launches < all; allowed++) {
		AUTO(arena_done) struct arena scratch = ARENA_INIT;
		struct watch watch = { .allowed = allowed, .then = CPU_CUT };
		struct cpu_budget budget = {
			.spent = spent, .context = &watch, .ms = 250, .units = UNITS
		};

		snapshot.cpu_budget = &budget;
		expect_part(decide(&snapshot, &scratch), whole, &launches);
		assert_true(launches > 0);
		watch = (struct watch){ .allowed = allowed, .then = CPU_STOP };
		budget = (struct cpu_budget){
			.spent = spent, .context = &watch, .ms = 250, .units = UNITS
		};
		cuts += expect_part(decide(&snapshot, &scratch), whole, &launches);
		assert_false(budget.exhausted);
		assert_true(launches >= last);
		steps += launches > last;
		last = launches;
	}
	assert_true(cuts > 30 && steps > 10);
}

/* A search that is cut ends with Ray's own launches. */
static void test_search_cut_short(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct watch watch = { .allowed = INT64_MAX };
	struct cpu_budget budget = { .spent = spent, .context = &watch, .ms = 250, .units = UNITS };
	struct snapshot snapshot;
	const struct plan *ray;
	int64_t launches;

	(void)state;
	load("ray", &arena, &snapshot);
	snapshot.cpu_budget = &budget;
	ray = decide(&snapshot, &arena);
	load("fewest-gpus", &arena, &snapshot);
	watch = (struct watch){ .allowed = watch.asked, .then = CPU_CUT };
	budget =
		(struct cpu_budget){ .spent = spent, .context = &watch, .ms = 250, .units = UNITS };
	snapshot.cpu_budget = &budget;
	assert_true(expect_part(decide(&snapshot, &arena), ray, &launches));
	assert_true(launches > 0);
}

static void test_packing_as_ray(void **state)
{
	(void)state;
	stop_everywhere("ray");
}

static void test_packing_for_fewest_gpus(void **state)
{
	(void)state;
	stop_everywhere("fewest-gpus");
}

/* More CPU time does not help against a lack of memory. */
static void test_next_factor(void **state)
{
	struct cpu_budget whole = { .factor = 4 };
	struct cpu_budget exhausted = { .factor = 4, .exhausted = true };
	struct cpu_budget cut = { .factor = 4, .cut = true };
	struct cpu_budget refused = exhausted, low = cut;

	(void)state;
	refused.err.kind = ERR_MEMORY;
	low.low_memory = true;
	assert_int_equal(cpu_budget_next_factor(&whole, false), 1);
	assert_int_equal(cpu_budget_next_factor(&exhausted, false), 8);
	assert_int_equal(cpu_budget_next_factor(&cut, false), 8);
	assert_int_equal(cpu_budget_next_factor(&cut, true), 4);
	assert_int_equal(cpu_budget_next_factor(&refused, false), 4);
	assert_int_equal(cpu_budget_next_factor(&low, false), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packing_as_ray),
		cmocka_unit_test(test_packing_for_fewest_gpus),
		cmocka_unit_test(test_cut_short),
		cmocka_unit_test(test_search_cut_short),
		cmocka_unit_test(test_next_factor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
