/* core/capacity/price: which row of a price table gives the price of a group's workers. */
#include "core/capacity/price.h"

#include <string.h>

#include "base/memory.h"
#include "test/support/support.h"

#define LABELS(...)                                                                                \
	{                                                                                          \
		(const struct label[]){ __VA_ARGS__ },                                             \
			sizeof((const struct label[]){ __VA_ARGS__ }) / sizeof(struct label)       \
	}

/* The price is the number of the row, so that a test names the row. */
static const struct price_row rows[] = {
	{ .group_labels = LABELS({ "team", "vision" }), .gpu_model = "", .micros_per_gpu_hour = 1 },
	{ .gpu_model = "A100", .market = PRICE_SPOT, .micros_per_gpu_hour = 2 },
	{ .gpu_model = "A100", .market = PRICE_RESERVED, .micros_per_gpu_hour = 3 },
	{ .gpu_model = "A100", .market = PRICE_ON_DEMAND, .micros_per_gpu_hour = 4 },
	{ .node_labels = LABELS({ "pool", "p" }, { "zone", "a" }),
	  .gpu_model = "",
	  .micros_per_gpu_hour = 5 },
	{ .gpu_model = "", .market = PRICE_SPOT, .micros_per_gpu_hour = 6 },
};
static const struct price_table table = { "EUR", rows, sizeof(rows) / sizeof(rows[0]) };
static const struct ray_cluster cluster = { .ray_version = "" };

static int64_t price_of(const struct worker_group *group, const struct labels *node)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct price_row *row = price_find(&table, &cluster, group, node, &arena);

	return row ? row->micros_per_gpu_hour : 0;
}

static int64_t price_by_selector(const char *key, const char *value)
{
	const struct worker_group group = {
		.template.spec.node_selector =
			LABELS({ "cloud.google.com/gke-accelerator", "nvidia-tesla-a100" },
			       { key, value }),
	};

	return price_of(&group, NULL);
}

static void test_markets_of_the_clouds(void **state)
{
	static const struct {
		const char *key, *value;
		int64_t price;
	} cases[] = {
		{ "cloud.google.com/gke-spot", "true", 2 },
		{ "cloud.google.com/gke-spot", "false", 4 },
		{ "cloud.google.com/gke-preemptible", "true", 2 },
		{ "cloud.google.com/gke-provisioning", "spot", 2 },
		{ "cloud.google.com/gke-provisioning", "standard", 4 },
		{ "eks.amazonaws.com/capacityType", "SPOT", 2 },
		{ "eks.amazonaws.com/capacityType", "ON_DEMAND", 4 },
		{ "eks.amazonaws.com/capacityType", "CAPACITY_BLOCK", 3 },
		{ "karpenter.sh/capacity-type", "spot", 2 },
		{ "karpenter.sh/capacity-type", "reserved", 3 },
		{ "kubernetes.azure.com/scalesetpriority", "spot", 2 },
		{ "kubernetes.azure.com/scalesetpriority", "regular", 4 },
		{ "zone", "b", 4 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(price_by_selector(cases[i].key, cases[i].value), cases[i].price);
}

static void test_the_first_row_that_matches_counts(void **state)
{
	const struct worker_group vision = {
		.template.labels = LABELS({ "team", "vision" }),
		.labels = LABELS({ "ray.io/accelerator-type", "A100" }),
	};
	const struct worker_group by_label = {
		.labels = LABELS({ "ray.io/accelerator-type", "A100" },
				 { "ray.io/market-type", "spot" }),
	};
	const struct worker_group none = { .name = "none" };

	(void)state;
	assert_int_equal(price_of(&vision, NULL), 1);
	assert_int_equal(price_of(&by_label, NULL), 2);
	assert_int_equal(price_of(&none, NULL), 0);
	assert_int_equal(price_of(NULL, NULL), 0); /* the head */
}

/* The labels of the Node count, not those that the template asks for. */
static void test_a_known_node(void **state)
{
	const struct labels spot = LABELS({ "karpenter.sh/capacity-type", "spot" },
					  { "nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB" });
	const struct labels pool = LABELS({ "pool", "p" }, { "zone", "a" });
	const struct labels other = LABELS({ "pool", "p" });
	const struct worker_group group = { .template.spec.node_selector =
						    LABELS({ "zone", "a" }) };

	(void)state;
	assert_int_equal(price_of(&group, &spot), 2);
	assert_int_equal(price_of(&group, &pool), 5);
	assert_int_equal(price_of(&group, &other), 0);
	assert_int_equal(price_of(NULL, &pool), 5);
}

static void test_labels_that_prices_read(void **state)
{
	(void)state;
	assert_true(price_reads_label(&table, "pool"));
	assert_true(price_reads_label(&table, "zone"));
	assert_true(price_reads_label(&table, "karpenter.sh/capacity-type"));
	assert_true(price_reads_label(&table, "nvidia.com/gpu.product"));
	assert_false(price_reads_label(&table, "team")); /* a label of the group */
	assert_false(price_reads_label(&table, "kubernetes.io/hostname"));
}

/* Only an affinity that allows one value in all of its terms names a label. */
static void test_required_affinity(void **state)
{
	static const char *const p[] = { "p", "q" }, *const a[] = { "a" };
	const struct node_expression both[] = { { "pool", "In", { p, 1 }, false },
						{ "zone", "In", { a, 1 }, false } };
	const struct node_expression two[] = { { "pool", "In", { p, 2 }, false },
					       { "zone", "In", { a, 1 }, false } };
	const struct node_term good[] = { { both, 2 }, { both, 2 } };
	const struct node_term mixed[] = { { both, 2 }, { two, 2 } };
	struct worker_group group = { .template.spec = { .required_node_terms = good,
							 .required_node_term_count = 2 } };

	(void)state;
	assert_int_equal(price_of(&group, NULL), 5);
	group.template.spec.required_node_terms = mixed;
	assert_int_equal(price_of(&group, NULL), 0);
}

static void test_the_price_of_a_worker(void **state)
{
	const struct price_row row = { .micros_per_gpu_hour = 1500000 };

	(void)state;
	assert_int_equal(price_per_hour(&row, 80000), 12000000);
	assert_int_equal(price_per_hour(&row, 2500), 375000);
	assert_int_equal(price_per_hour(&row, INT64_MAX), INT64_MAX);
	assert_int_equal(price_per_hour(NULL, 80000), 0);
	assert_string_equal(price_market_name(PRICE_SPOT), "spot");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_markets_of_the_clouds),
		cmocka_unit_test(test_the_first_row_that_matches_counts),
		cmocka_unit_test(test_a_known_node),
		cmocka_unit_test(test_labels_that_prices_read),
		cmocka_unit_test(test_required_affinity),
		cmocka_unit_test(test_the_price_of_a_worker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
