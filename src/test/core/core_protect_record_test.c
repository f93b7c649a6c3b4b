/* The annotation of a protected Pod: its text, and what is read from any text. */
#include "feature/protect_busy_pods/core/protect_record.h"

#include "base/memory.h"
#include "test/support/support.h"

#define NOW INT64_C(1795168800000) /* 2026-11-20T10:00:00Z */

static bool read_text(const char *text, struct protect_record *ret_record)
{
	struct label label = { ANNOTATION_PROTECTED, text };
	struct pod pod = { .annotations = { &label, 1 } };

	return protect_record_of(&pod, ret_record);
}

static void test_text_reads_back(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;

	(void)state;
	for (unsigned keys = 0; keys < 1U << PROTECT_ANNOTATION_COUNT; keys++) {
		struct protect_record record = { .since = NOW }, read;

		for (size_t i = 0; i < PROTECT_ANNOTATION_COUNT; i++)
			record.keys[i] = keys >> i & 1;
		assert_true(read_text(protect_record_text(&record, &arena), &read));
		assert_int_equal(read.since, NOW);
		assert_memory_equal(read.keys, record.keys, sizeof(read.keys));
		assert_int_equal(protect_record_ended(&read), keys == 0);
	}
}

static void test_texts(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct protect_record record = { .since = NOW, .keys = { true, true } };

	(void)state;
	assert_string_equal(protect_record_text(&record, &arena),
			    "2026-11-20T10:00:00Z karpenter.sh/do-not-disrupt "
			    "cluster-autoscaler.kubernetes.io/safe-to-evict");
	record = (struct protect_record){ .since = NOW };
	assert_string_equal(protect_record_text(&record, &arena), "2026-11-20T10:00:00Z ended");
}

/* A time that cannot be read is long ago: a limit ends the protection, and idleness removes it. */
static void test_odd_texts(void **state)
{
	static const char *const odd[] = { "",
					   " ",
					   "2026-11-20",
					   "2026-11-20T10:00:00",
					   "2026-11-20T10:00:00+00:00",
					   "2026-13-20T10:00:00Z",
					   "2026-11-32T10:00:00Z",
					   "2026-11-20T24:00:00Z",
					   "2026-11-20T10:60:00Z",
					   "2026-11-20T10:00:61Z",
					   "0000-00-00T00:00:00Z",
					   "karpenter.sh/do-not-disrupt" };
	struct protect_record record;
	struct pod bare = pod_empty;

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		assert_true(read_text(odd[i], &record));
		assert_int_equal(record.since, 0);
		assert_true(protect_record_ended(&record));
	}
	assert_true(read_text("x karpenter.sh/do-not-disruptive  karpenter.sh/do-not-disrupt",
			      &record));
	assert_true(record.keys[PROTECT_KARPENTER]);
	assert_true(read_text("x karpenter.sh/do-not-disruptive", &record));
	assert_false(record.keys[PROTECT_KARPENTER]);
	assert_false(protect_record_of(&bare, &record));
}

/* The rule of each node autoscaler for a Pod, as docs/internals/conformance.md has it. */
static void test_values(void **state)
{
	(void)state;
	assert_string_equal(protect_key(PROTECT_KARPENTER), "karpenter.sh/do-not-disrupt");
	assert_string_equal(protect_value(PROTECT_KARPENTER), "true");
	assert_string_equal(protect_key(PROTECT_CLUSTER_AUTOSCALER),
			    "cluster-autoscaler.kubernetes.io/safe-to-evict");
	assert_string_equal(protect_value(PROTECT_CLUSTER_AUTOSCALER), "false");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_reads_back),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_odd_texts),
		cmocka_unit_test(test_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
