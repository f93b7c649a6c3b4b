#include "core/nodes/node_match.h"

#include "test/support/support.h"

static const struct label node_labels[] = { { "count", "8" }, { "model", "A100" } };
static const struct taint node_taints[] = { { "soft", "", "PreferNoSchedule", TIME_NONE },
					    { "nvidia.com/gpu", "present", "NoSchedule",
					      TIME_NONE } };

static const struct node node_a = {
	.name = "node-a", .labels = { node_labels, 2 }, .taints = node_taints, .taint_count = 2
};

static bool selects(const char *key, const char *operation, const char *value, bool is_field)
{
	const char *values[] = { value };
	struct node_expression expression = { .key = key,
					      .operation = operation,
					      .values = { values, value ? 1 : 0 },
					      .is_field = is_field };
	struct node_term term = { &expression, 1 };
	struct pod_spec spec = { .required_node_terms = &term, .required_node_term_count = 1 };

	return node_match_selects(&spec, &node_a);
}

static void test_expressions(void **state)
{
	(void)state;
	assert_true(selects("model", "In", "A100", false));
	assert_false(selects("model", "In", "H100", false));
	assert_false(selects("absent", "In", "", false));
	assert_false(selects("model", "NotIn", "A100", false));
	assert_true(selects("absent", "NotIn", "A100", false));
	assert_true(selects("model", "Exists", NULL, false));
	assert_false(selects("absent", "Exists", NULL, false));
	assert_true(selects("absent", "DoesNotExist", NULL, false));
	assert_false(selects("model", "DoesNotExist", NULL, false));
	assert_true(selects("count", "Gt", "7", false));
	assert_false(selects("count", "Gt", "8", false));
	assert_true(selects("count", "Lt", "9", false));
	assert_false(selects("count", "Lt", "-9", false));
	assert_false(selects("model", "Gt", "1", false));
	assert_false(selects("count", "Gt", "x", false));
	assert_true(selects("count", "Gt", "+7", false));
	assert_false(selects("count", "Gt", "7x", false));
	assert_false(selects("count", "Lt", "99999999999999999999", false));
	assert_false(selects("count", "Gt", NULL, false));
	assert_true(selects("model", "NotIn", "H100", false));
	assert_false(selects("count", "Is", "8", false));
	assert_true(selects("metadata.name", "In", "node-a", true));
	assert_false(selects("metadata.name", "In", "node-b", true));
	assert_false(selects("model", "In", "A100", true));
}

/* Terms are alternatives; one without expressions matches nothing; the selector holds beside. */
static void test_terms(void **state)
{
	const char *values[] = { "H100", "A100" };
	struct node_expression wrong = { .key = "model", .operation = "DoesNotExist" };
	struct node_expression right = { .key = "model",
					 .operation = "In",
					 .values = { values, 2 } };
	struct node_term terms[] = { { &wrong, 1 }, { NULL, 0 }, { &right, 1 } };
	struct label selector = { "count", "8" };
	struct pod_spec spec = { .required_node_terms = terms, .required_node_term_count = 2 };

	(void)state;
	assert_false(node_match_selects(&spec, &node_a));
	spec.required_node_term_count = 3;
	assert_true(node_match_selects(&spec, &node_a));
	spec.node_selector = (struct labels){ &selector, 1 };
	assert_true(node_match_selects(&spec, &node_a));
	selector.value = "4";
	assert_false(node_match_selects(&spec, &node_a));
}

static bool tolerates(const char *key, const char *operation, const char *value, const char *effect)
{
	struct toleration one = { key, operation, value, effect };
	struct pod_spec spec = { .tolerations = &one, .toleration_count = 1 };

	return !node_match_taint(&spec, &node_a);
}

static void test_taints(void **state)
{
	struct pod_spec none = { .toleration_count = 0 };

	(void)state;
	assert_ptr_equal(node_match_taint(&none, &node_a), &node_taints[1]);
	assert_true(tolerates("nvidia.com/gpu", "Exists", "", "NoSchedule"));
	assert_true(tolerates("nvidia.com/gpu", "Exists", "", ""));
	assert_true(tolerates("nvidia.com/gpu", "Equal", "present", "NoSchedule"));
	assert_true(tolerates("nvidia.com/gpu", "", "present", ""));
	assert_true(tolerates("", "Exists", "", ""));
	assert_false(tolerates("", "", "", ""));
	assert_false(tolerates("nvidia.com/gpu", "Equal", "true", ""));
	assert_false(tolerates("nvidia.com/gpu", "Exists", "", "NoExecute"));
	assert_false(tolerates("amd.com/gpu", "Exists", "", ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expressions),
		cmocka_unit_test(test_terms),
		cmocka_unit_test(test_taints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
