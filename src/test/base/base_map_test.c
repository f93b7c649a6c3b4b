#include "base/map.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "test/support/support.h"

static int values[4000];

static void test_empty_map(void **state)
{
	struct map map = MAP_INIT;

	(void)state;
	assert_null(map_get(&map, "a"));
	assert_null(map_remove(&map, "a"));
	map_done(&map);
	map_done(&map);
}

static void test_set_get_replace_remove(void **state)
{
	AUTO(map_done) struct map map = MAP_INIT;
	char key[] = "default/demo";

	(void)state;
	map_set(&map, key, &values[0]);
	key[0] = 'X'; /* the map has its own copy */
	assert_ptr_equal(map_get(&map, "default/demo"), &values[0]);
	assert_null(map_get(&map, "Xefault/demo"));
	map_set(&map, "default/demo", &values[1]);
	assert_int_equal(map.count, 1);
	assert_ptr_equal(map_get(&map, "default/demo"), &values[1]);
	map_set(&map, "", &values[2]);
	assert_ptr_equal(map_get(&map, ""), &values[2]);
	assert_ptr_equal(map_remove(&map, "default/demo"), &values[1]);
	assert_null(map_get(&map, "default/demo"));
	assert_int_equal(map.count, 1);
	EXPECT_CHECK(map_set(&map, "k", NULL));
}

static void test_iteration_follows_insertion(void **state)
{
	static const char *const keys[] = { "pear", "apple", "fig", "kiwi", "plum" };
	AUTO(map_done) struct map map = MAP_INIT;

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(keys); i++)
		map_set(&map, keys[i], &values[i]);
	map_set(&map, "apple", &values[9]);
	for (size_t i = 0; i < SUPPORT_COUNT(keys); i++)
		assert_string_equal(map.entries[i].key, keys[i]);
	map_remove(&map, "apple"); /* the last one moves into the gap */
	assert_string_equal(map.entries[0].key, "pear");
	assert_string_equal(map.entries[1].key, "plum");
	assert_string_equal(map.entries[3].key, "kiwi");
	assert_int_equal(map.count, 4);
}

static void test_key_of_an_entry_may_be_removed_by_itself(void **state)
{
	AUTO(map_done) struct map map = MAP_INIT;

	(void)state;
	map_set(&map, "a", &values[0]);
	map_set(&map, "b", &values[1]);
	assert_ptr_equal(map_remove(&map, map.entries[0].key), &values[0]);
	assert_ptr_equal(map_remove(&map, map.entries[0].key), &values[1]);
	assert_int_equal(map.count, 0);
}

/* Random work against a plain array; few keys at first, so that removals meet collisions. */
static void check_against_model(size_t key_count, uint64_t random)
{
	AUTO(map_done) struct map map = MAP_INIT;
	int *model = memory_array(key_count, sizeof(*model)); /* index into values, 0 absent */
	size_t count = 0;

	for (int step = 0; step < 30000; step++) {
		size_t key = support_random_below(&random, key_count);
		int value = 1 + (int)support_random_below(&random, SUPPORT_COUNT(values) - 1);
		void *wanted = model[key] != 0 ? &values[model[key]] : NULL;
		char text[32];

		snprintf(text, sizeof(text), "ns-%zu/name-%zu", key % 7, key);
		switch (support_random_below(&random, 3)) {
		case 0:
			map_set(&map, text, &values[value]);
			count += model[key] == 0 ? 1 : 0;
			model[key] = value;
			break;
		case 1:
			assert_ptr_equal(map_remove(&map, text), wanted);
			count -= model[key] != 0 ? 1 : 0;
			model[key] = 0;
			break;
		default:
			assert_ptr_equal(map_get(&map, text), wanted);
		}
		assert_int_equal(map.count, count);
	}
	for (size_t i = 0; i < map.count; i++)
		assert_ptr_equal(map_get(&map, map.entries[i].key), map.entries[i].value);
	memory_free(model);
}

static void test_matches_a_model(void **state)
{
	static const size_t sizes[] = { 3, 8, 30, 300, 3000 };

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(sizes); i++)
		for (uint64_t seed = 1; seed <= 3; seed++)
			check_against_model(sizes[i], seed);
}

static size_t done_count;

static void count_done(void *value)
{
	done_count += strcmp(*(const char *const *)value, "default/demo") == 0;
}

static void test_owned_values_know_their_key(void **state)
{
	struct owned {
		const char *key;
		int number;
	} * owned;
	struct map map = MAP_INIT;

	(void)state;
	done_count = 0;
	owned = map_make(&map, "default/demo", sizeof(*owned));
	assert_string_equal(owned->key, "default/demo");
	owned->number = 7;
	for (int i = 0; i < 100; i++) {
		char text[32];

		snprintf(text, sizeof(text), "default/%d", i);
		(void)map_make(&map, text, sizeof(*owned));
	}
	assert_ptr_equal(map_make(&map, "default/demo", sizeof(*owned)), owned);
	assert_int_equal(owned->number, 7);
	map_drop(&map, "absent", count_done);
	map_drop(&map, "default/7", NULL);
	assert_null(map_get(&map, "default/7"));
	map_drop(&map, owned->key, count_done);
	assert_int_equal(done_count, 1);
	(void)map_make(&map, "default/demo", sizeof(*owned));
	assert_int_equal(map.count, 100);
	map_drop_all(&map, count_done);
	assert_int_equal(done_count, 2);
	assert_int_equal(map.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty_map),
		cmocka_unit_test(test_set_get_replace_remove),
		cmocka_unit_test(test_iteration_follows_insertion),
		cmocka_unit_test(test_key_of_an_entry_may_be_removed_by_itself),
		cmocka_unit_test(test_matches_a_model),
		cmocka_unit_test(test_owned_values_know_their_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
