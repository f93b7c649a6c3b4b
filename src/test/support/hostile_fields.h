/* Every field that the decoders of Kubernetes objects ask for, and values of it that a hostile
 * tenant may write.
 *
 * The fields are not listed anywhere: a complete sample of each kind
 * (src/test/data/objects/KIND.yaml, KIND.other.yaml, KIND.old.yaml) is decoded, and the members
 * that the decoder looks up in its tree are recorded. A field that a decoder asks for and no sample
 * has fails hostile_missing, so that a new field needs one line of a sample.
 *
 * The header defines cJSON_GetObjectItemCaseSensitive in place of the library's: codec/text/json
 * finds a member with it. So only one source file of a program may include it. Header only. */
#ifndef TEST_SUPPORT_HOSTILE_FIELDS_H
#define TEST_SUPPORT_HOSTILE_FIELDS_H

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/map.h"
#include "base/memory.h"
#include "codec/objects/foreign_object.h"
#include "codec/objects/lease_json.h"
#include "codec/objects/secret_json.h"
#include "codec/text/json.h"
#include "codec/text/yaml.h"
#include "feature/device_claims/codec/device_object_json.h"
#include "feature/pools/codec/gpu_pool_json.h"
#include "feature_kube.h"
#include "kube/kube_informer.h"
#include "kube/kube_store.h"

#define HOSTILE_DIRECTORY "src/test/data/objects"
#define HOSTILE_LONG_BYTES ((size_t)1 << 20)
#define HOSTILE_DEPTH 500
#define HOSTILE_FIELDS_MAX 400
#define HOSTILE_FILE_MAX ((size_t)1 << 20)

/* ---- values ---- */

enum hostile_mutation {
	HOSTILE_NUL = 0,
	HOSTILE_SURROGATE,
	HOSTILE_LONG,
	HOSTILE_DEEP,
	HOSTILE_TYPE,
	HOSTILE_HUGE,
	HOSTILE_OVERFLOW,
	HOSTILE_NEGATIVE,
	HOSTILE_DUPLICATE,
	HOSTILE_MUTATIONS,
};

static const char *const hostile_mutation_names[] = {
	"NUL",         "lone surrogate", "1 MiB string", "500 levels",    "wrong type",
	"huge number", "1e999",          "negative",     "duplicate key",
};

enum hostile_result {
	HOSTILE_NONE = 0, /* not tried */
	HOSTILE_READ,
	HOSTILE_NOTED,
	HOSTILE_UNREADABLE,
	HOSTILE_NAMELESS,
	HOSTILE_REFUSED, /* by an API server */
	HOSTILE_RESULTS,
};

static const char *const hostile_result_names[] = { "-",          "read",     "noted",
						    "unreadable", "nameless", "refused" };

/* ---- kinds ---- */

/* For members that exclude each other. */
static const char *const hostile_samples[] = { "", ".other", ".old", ".more" };
#define HOSTILE_SAMPLES (sizeof(hostile_samples) / sizeof(hostile_samples[0]))

struct hostile_field {
	const char *path; /* "spec.containers[].name" */
	struct cJSON *tree, *node;
	bool named; /* a member of an object, not an element of an array */
	enum hostile_result results[HOSTILE_MUTATIONS];
};

struct hostile_kind {
	const struct kube_type *type;
	struct cJSON *trees[HOSTILE_SAMPLES]; /* the complete one first; NULL: none */
	struct hostile_field fields[HOSTILE_FIELDS_MAX];
	size_t count;
};

static int hostile_decode_lease(const struct cJSON *json, const char *path, struct arena *arena,
				void *ret_object, struct err *err)
{
	return lease_decode(json, path, arena, ret_object, err);
}

static int hostile_decode_secret(const struct cJSON *json, const char *path, struct arena *arena,
				 void *ret_object, struct err *err)
{
	size_t size;

	return secret_decode(json, path, "auth_token", arena, ret_object, &size, err);
}

/* Not watched, but read with the same functions (kube/kube_lease, ctl/pass/ray_access). */
static const struct kube_type hostile_type_lease = {
	.kind = "Lease",
	.object_size = sizeof(struct lease),
	.decode = hostile_decode_lease,
};
static const struct kube_type hostile_type_secret = {
	.kind = "Secret",
	.object_size = sizeof(char *),
	.decode = hostile_decode_secret,
};

static const struct kube_type *const hostile_types[] = {
	&kube_type_ray_cluster, &kube_type_pod,       &kube_type_autoscaler,
	&kube_type_node,        &kube_type_event,     &hostile_type_lease,
	&hostile_type_secret,   &kube_type_namespace, FEATURE_KUBE_TYPES
};
#define HOSTILE_KINDS (sizeof(hostile_types) / sizeof(hostile_types[0]))

static struct hostile_kind hostile_kinds[HOSTILE_KINDS];
static struct arena hostile_arena = { .head = NULL }; /* of paths */

/* ---- the members that a decoder looks up ---- */

static struct {
	struct cJSON *tree; /* of the sample that is decoded; NULL: nothing is recorded */
	struct map *asked;  /* paths */
} hostile_recorder;

static bool hostile_is_plain(const char *name)
{
	return *name && name[strcspn(name, "./\"[]")] == '\0';
}

static const char *hostile_path(const char *parent, const char *name)
{
	if (!name)
		return arena_printf(&hostile_arena, "%s[]", parent);
	if (!hostile_is_plain(name))
		return arena_printf(&hostile_arena, "%s[\"%s\"]", parent, name);
	return arena_printf(&hostile_arena, "%s%s%s", parent, *parent ? "." : "", name);
}

/* The path of a value of the tree at `path`; NULL: it is not in there. */
static const char *hostile_find(const struct cJSON *tree, const char *path,
				const struct cJSON *wanted)
{
	const struct cJSON *child;

	if (tree == wanted)
		return path;
	cJSON_ArrayForEach(child, tree)
	{
		const char *found = hostile_find(child, hostile_path(path, child->string), wanted);

		if (found)
			return found;
	}
	return NULL;
}

static void hostile_record(const struct cJSON *object, const char *name)
{
	const char *path = hostile_recorder.tree ? hostile_find(hostile_recorder.tree, "", object) :
						   NULL;

	if (path)
		map_set(hostile_recorder.asked, hostile_path(path, name), &hostile_recorder);
}

cJSON *cJSON_GetObjectItemCaseSensitive(const cJSON *object, const char *name)
{
	cJSON *child;

	hostile_record(object, name);
	cJSON_ArrayForEach(child, object)
	{
		if (child->string && strcmp(child->string, name) == 0)
			return child;
	}
	return NULL;
}

/* ---- samples ---- */

static struct cJSON *hostile_sample(const char *kind, const char *more)
{
	static const struct json_limits limits = {
		.bytes = HOSTILE_FILE_MAX, .depth = 100, .elements = 10000, .unique_names = true
	};
	struct cJSON *tree = NULL;
	char path[200];
	char *text;
	FILE *file;
	struct err err;

	(void)snprintf(path, sizeof(path), "%s/%s%s.yaml", HOSTILE_DIRECTORY, kind, more);
	file = fopen(path, "re");
	if (!file)
		return NULL;
	text = memory_alloc(HOSTILE_FILE_MAX);
	if (yaml_parse(text, fread(text, 1, HOSTILE_FILE_MAX, file), &limits, &tree, &err)) {
		fprintf(stderr, "%s: %s\n", path, err.text);
		abort();
	}
	fclose(file);
	memory_free(text);
	return tree;
}

static void hostile_decode_sample(const struct kube_type *type, struct cJSON *tree,
				  struct map *asked)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct err err = { .kind = ERR_NONE };

	hostile_recorder.tree = tree;
	hostile_recorder.asked = asked;
	if (type->decode(tree, "", &arena, arena_alloc(&arena, type->object_size), &err) < 0) {
		fprintf(stderr, "%s/%s.yaml: %s\n", HOSTILE_DIRECTORY, type->kind, err.text);
		abort();
	}
	hostile_recorder.tree = NULL;
}

static bool hostile_asks_below(const struct map *asked, const struct cJSON *object,
			       const char *path)
{
	const struct cJSON *child;

	cJSON_ArrayForEach(child, object)
	{
		if (child->string && map_get(asked, hostile_path(path, child->string)))
			return true;
	}
	return false;
}

static void hostile_add(struct hostile_kind *kind, struct cJSON *tree, struct cJSON *node,
			const char *path)
{
	for (size_t i = 0; i < kind->count; i++) {
		if (strcmp(kind->fields[i].path, path) == 0)
			return;
	}
	CHECK(kind->count < HOSTILE_FIELDS_MAX);
	kind->fields[kind->count++] = (struct hostile_field){
		.path = path, .tree = tree, .node = node, .named = node->string != NULL
	};
}

/* The members that were looked up; of a list, and of an object that is read as a map, all. */
static void hostile_collect(struct hostile_kind *kind, const struct map *asked, struct map *present,
			    struct cJSON *tree, struct cJSON *object, const char *path)
{
	bool all = *path && !hostile_asks_below(asked, object, path);
	struct cJSON *child;

	cJSON_ArrayForEach(child, object)
	{
		const char *below = hostile_path(path, child->string);

		map_set(present, below, kind);
		if (!all && !map_get(asked, below))
			continue;
		hostile_add(kind, tree, child, below);
		hostile_collect(kind, asked, present, tree, child, below);
	}
}

/* Only in the file form of a Pod: marks a Pod that could not be read. */
#define HOSTILE_NOT_SENT "unreadable"

/* NULL, or a field that the decoder asks for and no sample has. */
static const char *hostile_load(struct hostile_kind *kind, const struct kube_type *type)
{
	struct map asked = MAP_INIT, present = MAP_INIT;
	const char *missing = NULL;

	*kind = (struct hostile_kind){ .type = type };
	for (size_t i = 0; i < HOSTILE_SAMPLES; i++)
		kind->trees[i] = hostile_sample(type->kind, hostile_samples[i]);
	CHECK(kind->trees[0]);
	for (size_t i = 0; i < HOSTILE_SAMPLES && kind->trees[i]; i++)
		hostile_decode_sample(type, kind->trees[i], &asked);
	for (size_t i = 0; i < HOSTILE_SAMPLES && kind->trees[i]; i++)
		hostile_collect(kind, &asked, &present, kind->trees[i], kind->trees[i], "");
	for (size_t i = 0; i < asked.count && !missing; i++) {
		const char *path = asked.entries[i].key;

		if (!map_get(&present, path) && strcmp(path, HOSTILE_NOT_SENT) != 0)
			missing = arena_strdup(&hostile_arena, path);
	}
	map_done(&asked);
	map_done(&present);
	return missing;
}

/* All kinds. NULL, or the field that a sample does not have. */
static const char *hostile_load_all(void)
{
	for (size_t i = 0; i < HOSTILE_KINDS; i++) {
		const char *missing = hostile_load(&hostile_kinds[i], hostile_types[i]);

		if (missing)
			return arena_printf(&hostile_arena,
					    "the decoder of %s asks for %s: add it to %s/%s.yaml",
					    hostile_types[i]->kind, missing, HOSTILE_DIRECTORY,
					    hostile_types[i]->kind);
	}
	return NULL;
}

static void hostile_free_all(void)
{
	for (size_t i = 0; i < HOSTILE_KINDS; i++) {
		for (size_t t = 0; t < HOSTILE_SAMPLES; t++)
			cJSON_Delete(hostile_kinds[i].trees[t]);
	}
	arena_done(&hostile_arena);
}

/* ---- texts ---- */

static void hostile_add_wrong_type(const struct cJSON *node, struct buf *buf)
{
	if (cJSON_IsString(node))
		(void)buf_add_string(buf, "7");
	else if (cJSON_IsArray(node))
		(void)buf_add_string(buf, "{\"a\":1}");
	else if (cJSON_IsObject(node))
		(void)buf_add_string(buf, "[1]");
	else
		(void)buf_add_string(buf, "\"x\"");
}

/* In quotes where the field is a string, so that it gets as far as a quantity or an index. */
static void hostile_add_number(const struct cJSON *node, const char *number, struct buf *buf)
{
	const char *quote = cJSON_IsString(node) ? "\"" : "";

	(void)buf_printf(buf, "%s%s%s", quote, number, quote);
}

static void hostile_add_other(const struct cJSON *node, struct buf *buf)
{
	if (cJSON_IsString(node))
		(void)buf_add_string(buf, "\"other\"");
	else if (cJSON_IsNumber(node))
		(void)buf_add_string(buf, "3");
	else if (cJSON_IsBool(node))
		(void)buf_add_string(buf, cJSON_IsTrue(node) ? "false" : "true");
	else
		(void)buf_add_string(buf, cJSON_IsArray(node) ? "[]" : "{}");
}

static void hostile_add_duplicate(struct cJSON *node, struct buf *buf)
{
	char *text = cJSON_PrintUnformatted(node);

	CHECK(text);
	(void)buf_printf(buf, "%s,\"%s\":", text, node->string);
	hostile_add_other(node, buf);
	free(text);
}

static void hostile_add_repeated(const char *text, size_t times, struct buf *buf)
{
	for (size_t i = 0; i < times; i++)
		(void)buf_add_string(buf, text);
}

static void hostile_add_value(struct cJSON *node, enum hostile_mutation mutation, struct buf *buf)
{
	switch (mutation) {
	case HOSTILE_NUL:
		(void)buf_add_string(buf, "\"a\\u0000b\"");
		break;
	case HOSTILE_SURROGATE:
		(void)buf_add_string(buf, "\"a\\ud800b\"");
		break;
	case HOSTILE_LONG:
		(void)buf_add_char(buf, '"');
		hostile_add_repeated("xxxxxxxxxxxxxxxx", HOSTILE_LONG_BYTES / 16, buf);
		(void)buf_add_char(buf, '"');
		break;
	case HOSTILE_DEEP:
		hostile_add_repeated("{\"a\":", HOSTILE_DEPTH, buf);
		(void)buf_add_char(buf, '1');
		hostile_add_repeated("}", HOSTILE_DEPTH, buf);
		break;
	case HOSTILE_TYPE:
		hostile_add_wrong_type(node, buf);
		break;
	case HOSTILE_HUGE:
		hostile_add_number(node, "99999999999999999999", buf);
		break;
	case HOSTILE_OVERFLOW:
		hostile_add_number(node, "1e999", buf);
		break;
	case HOSTILE_NEGATIVE:
		hostile_add_number(node, "-1", buf);
		break;
	case HOSTILE_DUPLICATE:
		hostile_add_duplicate(node, buf);
		break;
	case HOSTILE_MUTATIONS:
		break;
	}
}

/* An element of an array has no name that could be there twice. */
static bool hostile_applies(const struct hostile_field *field, enum hostile_mutation mutation)
{
	return mutation != HOSTILE_DUPLICATE || field->named;
}

/* The JSON of `shown`, the field's tree or a part of it, with this value of the field. The caller frees it. */
static char *hostile_text(const struct hostile_field *field, enum hostile_mutation mutation,
			  struct cJSON *shown)
{
	struct cJSON *node = field->node, saved = *node;
	AUTO(buf_done) struct buf value;
	char *text;

	buf_init(&value, 2 * HOSTILE_LONG_BYTES);
	hostile_add_value(node, mutation, &value);
	node->type = cJSON_Raw;
	node->valuestring = (char *)(uintptr_t)buf_string(&value);
	node->child = NULL;
	text = cJSON_PrintUnformatted(shown);
	*node = saved;
	CHECK(text);
	return text;
}

/* ---- the result for a text ---- */

/* The number of problems of the decoded object. */
static size_t hostile_problems(const struct kube_type *type, const void *object)
{
	if (type == &kube_type_ray_cluster)
		return ((const struct ray_cluster *)object)->problems.count;
	if (type == &kube_type_pod)
		return ((const struct pod *)object)->problems.count;
	if (type == &kube_type_node)
		return ((const struct node *)object)->problems.count;
	if (type == &kube_type_autoscaler)
		return ((const struct autoscaler_object *)object)->problems.count;
	if (type == &kube_type_gpu_pool)
		return ((const struct gpu_pool *)object)->problems.count;
	if (type == &kube_type_resource_slice)
		return ((const struct resource_slice *)object)->problems.count;
	return 0;
}

/* It is kept with its names. */
static bool hostile_is_unreadable(const struct kube_type *type, const void *object)
{
	if (type == &kube_type_claim_template)
		return ((const struct claim_template *)object)->unreadable != NULL;
	return type == &kube_type_resource_claim &&
	       ((const struct resource_claim *)object)->unreadable != NULL;
}

static enum hostile_result hostile_result_of(const struct kube_type *type, enum kube_change change,
					     const void *object)
{
	if (change == KUBE_BAD || hostile_is_unreadable(type, object))
		return HOSTILE_UNREADABLE;
	return hostile_problems(type, object) > 0 ? HOSTILE_NOTED : HOSTILE_READ;
}

/* Of an object that is read by itself. */
static enum hostile_result hostile_read_alone(const struct kube_type *type, const char *text,
					      struct arena *arena)
{
	AUTO(json_done) struct cJSON *json = NULL;
	void *object = arena_alloc(arena, type->object_size);
	struct err err;

	foreign_object_parse(text, strlen(text), false, &json, &err);
	if (err.kind != ERR_NONE || type->decode(json, "", arena, object, &err) < 0)
		return HOSTILE_UNREADABLE;
	return hostile_result_of(type, KUBE_ADDED, object);
}

#endif
