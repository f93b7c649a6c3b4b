#include "test/support/golden_case.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/memory.h"
#include "codec/objects/snapshot_json.h"
#include "codec/text/json.h"
#include "codec/text/yaml.h"
#include "test/support/golden_template.h"
#include "test/support/golden_yaml.h"

#define TEXT_BYTES_MAX ((size_t)64 << 20)
/* Bases of bases. */
#define DEPTH_MAX 8

static struct cJSON *member(const struct cJSON *object, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* Removes the members that are null, but not those of objects in arrays. */
static void strip(struct cJSON *tree)
{
	struct cJSON *next;

	for (struct cJSON *item = cJSON_IsObject(tree) ? tree->child : NULL; item; item = next) {
		next = item->next;
		if (cJSON_IsNull(item))
			cJSON_Delete(cJSON_DetachItemViaPointer(tree, item));
		else
			strip(item);
	}
}

/* ---- the snapshot of a document ---- */

/* Members of a document that are no members of a snapshot. */
static const char *const helpers[] = { "templates", "groups", "workers", "demand" };

/* Lists whose elements are made by a template. */
static const struct {
	const char *name, *template, *object, *target;
} lists[] = {
	{ "demand", "demand", "rayState", "pendingResourceRequests" },
	{ "events", "event", NULL, "events" },
	{ "nodes", "node", NULL, "nodes" },
};

static struct cJSON *list_in(struct cJSON *object, const char *name)
{
	struct cJSON *list = member(object, name);

	if (!list)
		cJSON_AddItemToObject(object, name, list = cJSON_CreateArray());
	return list;
}

/* A worker is a Pod, a node of Ray, or both. Without rayState there are no nodes of Ray. */
static int add_worker(struct cJSON *snapshot, struct cJSON *worker, const char *name,
		      struct err *err)
{
	struct cJSON *pod = cJSON_DetachItemFromObjectCaseSensitive(worker, "pod");
	struct cJSON *node = cJSON_DetachItemFromObjectCaseSensitive(worker, "node");
	struct cJSON *state = member(snapshot, "rayState");

	if (pod)
		cJSON_AddItemToArray(list_in(snapshot, "pods"), pod);
	if (node && state)
		cJSON_AddItemToArray(list_in(state, "nodeStates"), node);
	else
		cJSON_Delete(node);
	if (worker->child)
		return err_set(err, ERR_INPUT,
			       "workers.%s has a member that is no parameter of its template",
			       name);
	return 0;
}

static int add_groups(const struct cJSON *document, struct cJSON *snapshot, struct err *err)
{
	const struct cJSON *groups = member(document, "groups"), *item;
	struct cJSON *spec = member(member(snapshot, "rayCluster"), "spec"), *made;
	size_t number = 0;

	if (!cJSON_IsObject(groups))
		return 0;
	if (!spec)
		return err_set(err, ERR_INPUT, "groups: rayCluster.spec is required");
	cJSON_AddItemToObject(spec, "workerGroupSpecs", cJSON_CreateArray());
	cJSON_ArrayForEach(item, groups)
	{
		number++;
		if (cJSON_IsNull(item))
			continue;
		if (golden_make(member(document, "templates"), "group", item, number, &made, err))
			return -1;
		cJSON_AddItemToArray(member(spec, "workerGroupSpecs"), made);
	}
	return 0;
}

static int add_workers(const struct cJSON *document, struct cJSON *snapshot, struct err *err)
{
	const struct cJSON *item;
	struct cJSON *made;
	size_t number = 0;
	int failed;

	cJSON_ArrayForEach(item, member(document, "workers"))
	{
		number++;
		if (cJSON_IsNull(item))
			continue;
		if (golden_make(member(document, "templates"), "worker", item, number, &made, err))
			return -1;
		failed = add_worker(snapshot, made, item->string, err);
		cJSON_Delete(made);
		if (failed)
			return -1;
	}
	return 0;
}

static int add_lists(const struct cJSON *document, struct cJSON *snapshot, struct err *err)
{
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct cJSON *object = lists[i].object ? member(snapshot, lists[i].object) :
							 snapshot;
		const struct cJSON *list = member(document, lists[i].name), *item;
		struct cJSON *array, *made;

		/* Without templates the list is that of the snapshot. */
		if (!cJSON_IsArray(list) || !member(document, "templates"))
			continue;
		if (!object)
			return err_set(err, ERR_INPUT, "%s: rayState is required", lists[i].name);
		cJSON_DeleteItemFromObjectCaseSensitive(object, lists[i].target);
		array = list_in(object, lists[i].target);
		cJSON_ArrayForEach(item, list)
		{
			if (golden_make(member(document, "templates"), lists[i].template, item, 0,
					&made, err))
				return -1;
			cJSON_AddItemToArray(array, made);
		}
	}
	return 0;
}

static int expand(const struct cJSON *document, bool has_base, struct cJSON **ret_snapshot,
		  struct err *err)
{
	struct cJSON *snapshot = cJSON_Duplicate(document, true);

	*ret_snapshot = snapshot;
	for (size_t i = 0; i < sizeof(helpers) / sizeof(helpers[0]); i++)
		cJSON_DeleteItemFromObjectCaseSensitive(snapshot, helpers[i]);
	if (has_base)
		strip(snapshot);
	if (add_groups(document, snapshot, err) || add_workers(document, snapshot, err))
		return -1;
	return add_lists(document, snapshot, err);
}

/* ---- files ---- */

int golden_text(const char *path, char **ret_text, struct err *err)
{
	AUTO(buf_done) struct buf buf = { .data = NULL };
	char bytes[65536];
	size_t size;
	FILE *file = fopen(path, "re");

	if (!file)
		return err_set(err, ERR_INPUT,
			       "%s cannot be opened; run from the top of the source tree", path);
	buf_init(&buf, TEXT_BYTES_MAX);
	while ((size = fread(bytes, 1, sizeof(bytes), file)) > 0)
		(void)buf_add(&buf, bytes, size);
	fclose(file);
	if (buf.overflowed)
		return err_set(err, ERR_INPUT, "%s is too large", path);
	*ret_text = buf_steal(&buf);
	return 0;
}

/* Only these members, and the first one is a text. */
static int check_members(const struct cJSON *tree, const char *names, const char *first,
			 struct err *err)
{
	const struct cJSON *item, *text = member(tree, first);
	char mark[64];

	if (!cJSON_IsString(text) || text->valuestring[0] == '\0')
		return err_set(err, ERR_INPUT, "%s is required: a sentence that says what is shown",
			       first);
	cJSON_ArrayForEach(item, tree)
	{
		(void)snprintf(mark, sizeof(mark), " %s ", item->string);
		if (!strstr(names, mark))
			return err_set(err, ERR_INPUT, "%s is not a member of a golden case",
				       item->string);
	}
	if (!cJSON_IsObject(member(tree, "changes")))
		return err_set(err, ERR_INPUT, "changes: must be an object");
	return 0;
}

/* The changes of the tree merged into its base; without a base they are the document. */
static int document_of(const struct cJSON *tree, int depth, struct cJSON **ret_document,
		       struct err *err)
{
	const struct cJSON *base = member(tree, "base"), *changes = member(tree, "changes");
	AUTO(memory_free_string) char *text = NULL;
	AUTO(json_done) struct cJSON *parent = NULL;
	struct cJSON *document;
	char path[256];

	if (!base) {
		*ret_document = cJSON_Duplicate(changes, true);
		return 0;
	}
	if (!cJSON_IsString(base) || depth > DEPTH_MAX)
		return err_set(err, ERR_INPUT, "base: must be the name of a base");
	(void)snprintf(path, sizeof(path), GOLDEN_DIRECTORY "/base/%s.yaml", base->valuestring);
	if (golden_text(path, &text, err) ||
	    yaml_parse(text, strlen(text), &snapshot_limits, &parent, err) ||
	    check_members(parent, " about base changes ", "about", err) ||
	    document_of(parent, depth + 1, &document, err))
		return -1;
	*ret_document = golden_merge(document, changes, true);
	return 0;
}

/* `more` is merged into the changes of the case first. */
static int read_changed(const char *text, size_t size, const struct cJSON *more,
			struct cJSON **ret_case, struct err *err)
{
	AUTO(json_done) struct cJSON *tree = NULL;
	AUTO(json_done) struct cJSON *document = NULL;
	AUTO(json_done) struct cJSON *snapshot = NULL;

	if (yaml_parse(text, size, &snapshot_limits, &tree, err) ||
	    check_members(tree, " rule base changes want plan ", "rule", err) ||
	    document_of(tree, 0, &document, err))
		return -1;
	if (more)
		document = golden_merge(document, more, true);
	if (expand(document, member(tree, "base") != NULL, &snapshot, err))
		return -1;
	cJSON_AddItemToObject(tree, "snapshot", steal(&snapshot));
	*ret_case = steal(&tree);
	return 0;
}

int golden_parse(const char *text, size_t size, struct cJSON **ret_case, struct err *err)
{
	return read_changed(text, size, NULL, ret_case, err);
}

static int read_file(const char *path, const struct cJSON *more, struct cJSON **ret_case,
		     struct err *err)
{
	AUTO(memory_free_string) char *text = NULL;
	struct err inner = { .kind = ERR_NONE };

	if (golden_text(path, &text, err))
		return -1;
	if (read_changed(text, strlen(text), more, ret_case, &inner) == 0)
		return 0;
	return err_set(err, ERR_INPUT, "%s: %s", path, inner.text);
}

int golden_read(const char *path, struct cJSON **ret_case, struct err *err)
{
	return read_file(path, NULL, ret_case, err);
}

int golden_snapshot_changed(const char *path, const char *more, struct arena *arena,
			    struct snapshot *ret_snapshot, struct err *err)
{
	AUTO(json_done) struct cJSON *tree = NULL;
	AUTO(json_done) struct cJSON *changes = NULL;

	if (more && yaml_parse(more, strlen(more), &snapshot_limits, &changes, err))
		return -1;
	if (read_file(path, changes, &tree, err))
		return -1;
	return snapshot_decode(member(tree, "snapshot"), "", arena, ret_snapshot, err);
}

int golden_snapshot(const char *path, struct arena *arena, struct snapshot *ret_snapshot,
		    struct err *err)
{
	return golden_snapshot_changed(path, NULL, arena, ret_snapshot, err);
}

int golden_yaml(const char *path, char **ret_text, struct err *err)
{
	AUTO(json_done) struct cJSON *tree = NULL;
	AUTO(buf_done) struct buf buf = { .data = NULL };
	const struct cJSON *item;

	if (golden_read(path, &tree, err))
		return -1;
	buf_init(&buf, TEXT_BYTES_MAX);
	cJSON_ArrayForEach(item, member(tree, "snapshot"))
		golden_yaml_write(&buf, item->string, item);
	*ret_text = buf_steal(&buf);
	return 0;
}

/* ---- all cases ---- */

const char *golden_directory(void)
{
	const char *name = getenv("GOLDEN_DIR");

	return name ? name : GOLDEN_DIRECTORY;
}

static int is_case(const struct dirent *entry)
{
	size_t size = strlen(entry->d_name);

	return size > 5 && strcmp(entry->d_name + size - 5, ".yaml") == 0;
}

int golden_names_read(const char *directory, struct golden_names *ret_names, struct err *err)
{
	struct dirent **entries;
	int count = scandir(directory, &entries, is_case, alphasort);

	if (count < 1)
		return err_set(err, ERR_INPUT, "%s: no golden cases", directory);
	ret_names->at = memory_array((size_t)count, sizeof(*ret_names->at));
	ret_names->count = (size_t)count;
	for (size_t i = 0; i < ret_names->count; i++) {
		ret_names->at[i] = memory_strdup(entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return 0;
}

void golden_names_free(struct golden_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		memory_free(names->at[i]);
	memory_free(names->at);
	*names = (struct golden_names){ .at = NULL };
}
