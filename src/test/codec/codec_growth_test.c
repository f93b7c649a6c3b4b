/* The example of `make bench-growth` (src/test/data/growth.yaml) and its multiplication. */
#include <string.h>

#include "base/memory.h"
#include "codec/objects/snapshot_json.h"
#include "core/decide.h"
#include "test/support/golden_case.h"
#include "test/support/growth_template.h"
#include "test/support/support.h"

struct growth {
	struct arena arena;
	struct growth_template template;
	struct snapshot snapshot; /* of `choose` */
	struct err err;
};

static int set_up(void **state)
{
	struct growth *growth = memory_alloc(sizeof(*growth));
	AUTO(memory_free_string) char *text = NULL;

	*growth = (struct growth){ .arena = ARENA_INIT };
	*state = growth;
	if (golden_text(GROWTH_FILE, &text, &growth->err) ||
	    growth_read(text, strlen(text), &growth->arena, &growth->template, &growth->err))
		fail_msg("%s", growth->err.text);
	return 0;
}

static int tear_down(void **state)
{
	struct growth *growth = *state;

	arena_done(&growth->arena);
	memory_free(growth);
	return 0;
}

static size_t list_of(const struct growth *growth, const char *path)
{
	for (size_t i = 0; i < growth->template.lists.count; i++)
		if (strcmp(growth->template.lists.at[i].path, path) == 0)
			return i;
	fail_msg("no list %s", path);
	return 0;
}

/* The snapshot with one list (`second` NULL) or two. Returns the values within them. */
static size_t choose(struct growth *growth, enum growth_texts texts, size_t count,
		     const char *first, const char *second)
{
	struct growth_choice choice = { .lists = { list_of(growth, first),
						   second ? list_of(growth, second) : 0 },
					.list_count = second ? 2 : 1,
					.texts = texts,
					.count = count };
	AUTO(buf_done) struct buf text = BUF_INIT(SNAPSHOT_BYTES_MAX);
	size_t values;

	growth_write(&growth->template, &choice, &text, &values);
	if (snapshot_read(buf_string(&text), text.size, &growth->arena, &growth->snapshot,
			  &growth->err))
		fail_msg("%s", growth->err.text);
	return values;
}

/* ---- the example ---- */

static void test_an_example_of_each_list_is_required(void **state)
{
	struct growth *growth = *state;
	AUTO(memory_free_string) char *text = NULL;
	char *kueue, *price;

	assert_int_equal(golden_text(GROWTH_FILE, &text, &growth->err), 0);
	kueue = strstr(text, "podSets: [{");
	price = strstr(text, "nodeLabels: {");
	assert_non_null(kueue);
	assert_non_null(price);
	memcpy(kueue, "xxxSets", 7);
	memcpy(price, "xxxxLabels", 10);
	assert_int_equal(growth_read(text, strlen(text), &growth->arena, &growth->template,
				     &growth->err),
			 -1);
	assert_string_equal(growth->err.text,
			    "no example element of priceTable.prices[].nodeLabels{}, "
			    "kueue.podSets[]: add one to " GROWTH_FILE);
}

static void test_a_decision_has_work_in_the_example(void **state)
{
	struct growth *growth = *state;
	const struct plan *plan;
	bool launches = false, terminates = false;

	(void)choose(growth, GROWTH_EQUAL, 1, "pods[]", NULL);
	plan = decide(&growth->snapshot, &growth->arena);
	VEC_EACH(const struct plan_group, group, &plan->groups) {
		launches = launches || group->to_launch > 0;
		terminates = terminates || group->terminate.count > 0;
	}
	assert_true(launches);
	assert_true(terminates);
	assert_int_equal(plan->infeasible.count, 0);
}

/* ---- multiplication ---- */

static void test_only_elements_with_an_identity_are_repeated(void **state)
{
	struct growth *growth = *state;
	size_t heads = 0;

	(void)choose(growth, GROWTH_EQUAL, 40, "pods[]", NULL);
	assert_int_equal(growth->snapshot.pod_count, 40);
	for (size_t i = 0; i < growth->snapshot.pod_count; i++)
		heads += strcmp(growth->snapshot.pods[i]->name, "demo-head") == 0;
	assert_int_equal(heads, 1);
	assert_string_equal(growth->snapshot.pods[6]->name, "w-1");
}

/* The label of the first selector of the request at `index`. */
static const char *slot_of(const struct growth *growth, size_t index)
{
	const struct ray_request *request = &growth->snapshot.ray_state->requests[index].request;

	return request->selectors[0].constraints[0].values.at[0];
}

#define REQUESTS "rayState.pendingResourceRequests[]"
#define KINDS_OF_REQUEST 4

static void test_texts_differ_as_chosen(void **state)
{
	struct growth *growth = *state;

	(void)choose(growth, GROWTH_EQUAL, 40, REQUESTS, NULL);
	assert_string_equal(slot_of(growth, 2 * KINDS_OF_REQUEST), "slot-0");
	/* Nodes have that label as well, and are not multiplied. */
	(void)choose(growth, GROWTH_MATCHING, 40, REQUESTS, NULL);
	assert_string_equal(slot_of(growth, 2 * KINDS_OF_REQUEST), "slot-0");
	(void)choose(growth, GROWTH_DISTINCT, 40, REQUESTS, NULL);
	assert_string_equal(slot_of(growth, 2 * KINDS_OF_REQUEST), "slot-2");
	/* Request 2 names the label of node 2. */
	(void)choose(growth, GROWTH_MATCHING, 40, REQUESTS, "rayState.nodeStates[]");
	assert_string_equal(slot_of(growth, 2 * KINDS_OF_REQUEST), "slot-2");
	assert_string_equal(labels_value(&growth->snapshot.ray_state->nodes[7].labels, "slot-2"),
			    "slot-2");
}

static void test_a_list_within_a_list(void **state)
{
	struct growth *growth = *state;
	const char *labels = "rayState.pendingResourceRequests[].request.resourcesBundle{}";
	size_t small = choose(growth, GROWTH_EQUAL, 400, REQUESTS, labels);

	assert_int_equal(growth->snapshot.ray_state->request_count, 40);
	assert_int_equal(growth->snapshot.ray_state->requests[7].request.bundle_count, 40);
	assert_in_range(choose(growth, GROWTH_EQUAL, 1600, REQUESTS, labels), 3 * small, 5 * small);
}

static void test_a_list_in_an_annotation(void **state)
{
	struct growth *growth = *state;

	(void)choose(growth, GROWTH_DISTINCT, 30, "rayCluster.metadata.annotations{}[]", NULL);
	assert_non_null(ray_cluster_requested(&growth->snapshot.cluster));
	assert_int_equal(ray_cluster_requested(&growth->snapshot.cluster)->count, 30);
}

static void test_a_product_that_differs_in_nothing_is_repeated(void **state)
{
	struct growth *growth = *state;
	struct growth_choice choice = { .lists = { list_of(growth, REQUESTS) },
					.list_count = 1,
					.texts = GROWTH_DISTINCT,
					.count = 40 };

	assert_false(growth_is_repeated(&growth->template, &choice));
	choice.lists[0] = list_of(growth, "rayCluster.spec.autoscalerOptions.args[]");
	assert_true(growth_is_repeated(&growth->template, &choice));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_an_example_of_each_list_is_required),
		TEST(test_a_decision_has_work_in_the_example),
		TEST(test_only_elements_with_an_identity_are_repeated),
		TEST(test_texts_differ_as_chosen),
		TEST(test_a_list_within_a_list),
		TEST(test_a_list_in_an_annotation),
		TEST(test_a_product_that_differs_in_nothing_is_repeated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
