/* Small random changes of JSON documents that keep their shape mostly right: a member is removed,
 * is doubled, gets another value, or one that a member of the same name has elsewhere in the
 * documents. For tests that a reader and the code behind it accept or refuse any input. Header
 * only. */
#ifndef TEST_SUPPORT_JSON_MUTATE_H
#define TEST_SUPPORT_JSON_MUTATE_H

#include <cjson/cJSON.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "test/support/codec_support.h"

#define MUTATE_NODES_MAX 400000
#define MUTATE_FILES_MAX 2000
/* A document that takes milliseconds to process is too large for many changes. */
#define MUTATE_BYTES_MAX 60000

/* Every value of the documents, sorted by its name ("" in arrays). Borrowed. */
struct mutate_pool {
	const struct cJSON **at;
	size_t count;
};

static inline const char *mutate_name(const struct cJSON *item)
{
	return item->string ? item->string : "";
}

static inline int mutate_compare(const void *left, const void *right)
{
	return strcmp(mutate_name(*(const struct cJSON *const *)left),
		      mutate_name(*(const struct cJSON *const *)right));
}

static inline void mutate_collect(struct mutate_pool *pool, const struct cJSON *tree)
{
	const struct cJSON *item;

	cJSON_ArrayForEach(item, tree)
	{
		assert_true(pool->count < MUTATE_NODES_MAX);
		pool->at[pool->count++] = item;
		mutate_collect(pool, item);
	}
}

/* Once all documents are collected. */
static inline void mutate_sort(struct mutate_pool *pool)
{
	qsort(pool->at, pool->count, sizeof(*pool->at), mutate_compare);
}

/* A value of the same name, of any document. */
static inline const struct cJSON *mutate_donor(const struct mutate_pool *pool,
					       const struct cJSON *item, uint64_t *random)
{
	size_t low = 0, high = pool->count, end = pool->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(mutate_name(pool->at[middle]), mutate_name(item)) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (high = low; high < end;) {
		size_t middle = high + (end - high) / 2;

		if (strcmp(mutate_name(pool->at[middle]), mutate_name(item)) <= 0)
			high = middle + 1;
		else
			end = middle;
	}
	return low < end ? pool->at[low + support_random_below(random, end - low)] : item;
}

static inline size_t mutate_count(const struct cJSON *tree)
{
	const struct cJSON *item;
	size_t count = 0;

	cJSON_ArrayForEach(item, tree) count += 1 + mutate_count(item);
	return count;
}

/* The value of that number in the tree, and its parent. */
static inline struct cJSON *mutate_find(struct cJSON *tree, size_t *left, struct cJSON **ret_parent)
{
	struct cJSON *item;

	cJSON_ArrayForEach(item, tree)
	{
		struct cJSON *inner;

		if ((*left)-- == 0) {
			*ret_parent = tree;
			return item;
		}
		inner = mutate_find(item, left, ret_parent);
		if (inner)
			return inner;
	}
	return NULL;
}

static inline struct cJSON *mutate_odd_value(const struct cJSON *item, uint64_t *random)
{
	static const double numbers[] = { 0, -1, 1, 2, 3, 10, 100, 0.5, 2147483647, 9e15, -1e9 };
	static const char *const texts[] = { "",   "0",    "1",    "-1",  "x",
					     "2y", "True", "a/b ", "1Gi", "99999999999999999999" };

	if (cJSON_IsNumber(item))
		return cJSON_CreateNumber(
			numbers[support_random_below(random, SUPPORT_COUNT(numbers))]);
	if (cJSON_IsString(item))
		return cJSON_CreateString(
			texts[support_random_below(random, SUPPORT_COUNT(texts))]);
	if (cJSON_IsBool(item))
		return cJSON_CreateBool(!cJSON_IsTrue(item));
	return cJSON_IsArray(item) ? cJSON_CreateArray() : cJSON_CreateObject();
}

/* ---- documents ---- */

struct mutate_files {
	struct cJSON *at[MUTATE_FILES_MAX];
	char *names[MUTATE_FILES_MAX]; /* sorted */
	int count;
	struct mutate_pool pool; /* of all of them */
};

static inline struct cJSON *mutate_read_file(const char *path)
{
	AUTO(buf_done) struct buf text;
	char bytes[65536];
	size_t size;
	FILE *file = fopen(path, "re");

	if (!file)
		fail_msg("%s cannot be opened; run from the top of the source tree", path);
	buf_init(&text, (size_t)64 << 20);
	while ((size = fread(bytes, 1, sizeof(bytes), file)) > 0)
		assert_int_equal(buf_add(&text, bytes, size), 0);
	fclose(file);
	return text.size <= MUTATE_BYTES_MAX ? codec_tree(buf_string(&text)) : NULL;
}

static inline int mutate_is_yaml(const struct dirent *entry)
{
	size_t size = strlen(entry->d_name);

	return size > 5 && strcmp(entry->d_name + size - 5, ".yaml") == 0;
}

/* The YAML files of a directory; `read` gives the tree of one, NULL leaves it out. */
static inline void mutate_read(struct mutate_files *files, const char *directory,
			       struct cJSON *(*read)(const char *path))
{
	struct dirent **entries;
	int count = scandir(directory, &entries, mutate_is_yaml, alphasort);

	assert_in_range(count, 1, MUTATE_FILES_MAX);
	files->pool.at = calloc(MUTATE_NODES_MAX, sizeof(*files->pool.at));
	for (int i = 0; i < count; i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct cJSON *tree =
			read(arena_printf(&arena, "%s/%s", directory, entries[i]->d_name));

		if (tree) {
			files->names[files->count] = strdup(entries[i]->d_name);
			files->at[files->count++] = tree;
			mutate_collect(&files->pool, tree);
		}
		free(entries[i]);
	}
	free(entries);
	mutate_sort(&files->pool);
}

static inline void mutate_free(struct mutate_files *files)
{
	for (int i = 0; i < files->count; i++) {
		cJSON_Delete(files->at[i]);
		free(files->names[i]);
	}
	free(files->pool.at);
}

/* How many mutants of each file, and the first seed: MUTANTS and MUTANTS_SEED of the environment. */
static inline uint64_t mutate_number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

/* ---- changes ---- */

/* One change. The tree must not be empty. */
static inline void mutate_once(struct cJSON *tree, const struct mutate_pool *pool, uint64_t *random)
{
	size_t number = support_random_below(random, mutate_count(tree));
	struct cJSON *parent = NULL, *item = mutate_find(tree, &number, &parent);
	struct cJSON *value;

	switch (support_random_below(random, 8)) {
	case 0:
	case 1:
		cJSON_Delete(cJSON_DetachItemViaPointer(parent, item));
		return;
	case 2:
		if (cJSON_IsArray(parent)) {
			cJSON_AddItemToArray(parent, cJSON_Duplicate(item, true));
			return;
		}
		value = mutate_odd_value(item, random);
		break;
	case 3:
		value = mutate_odd_value(item, random);
		break;
	default:
		value = cJSON_Duplicate(mutate_donor(pool, item, random), true);
		break;
	}
	if (item->string) {
		char *name = strdup(item->string);

		cJSON_ReplaceItemInObjectCaseSensitive(parent, name, value);
		free(name);
	} else {
		cJSON_ReplaceItemViaPointer(parent, item, value);
	}
}

/* A copy with up to `most` changes. The caller deletes it. */
static inline struct cJSON *mutate_copy(const struct mutate_files *files, const struct cJSON *tree,
					size_t most, uint64_t *random)
{
	struct cJSON *copy = cJSON_Duplicate(tree, true);
	size_t changes = 1 + support_random_below(random, most);

	for (size_t i = 0; i < changes && copy->child; i++)
		mutate_once(copy, &files->pool, random);
	return copy;
}

#endif
