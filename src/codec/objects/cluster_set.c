#include "codec/objects/cluster_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/memory.h"
#include "codec/objects/autoscaler_json.h"
#include "codec/objects/namespace_json.h"
#include "codec/objects/node_pools_json.h"
#include "codec/objects/pod_starts_json.h"
#include "codec/objects/price_table_json.h"
#include "codec/objects/ray_cluster_json.h"
#include "codec/objects/snapshot_json.h"
#include "codec/objects/spec_edit.h"
#include "codec/schema/one_document.h"
#include "codec/text/json_edit.h"
#include "codec/text/json_write.h"
#include "codec/text/number.h"
#include "codec/text/yaml.h"
#include "feature_codec.h"

#define NAMES_BYTES_MAX 400 /* of the groups in an error */

static const struct json_limits limits = {
	.bytes = CLUSTER_SET_FILE_BYTES_MAX,
	.depth = 100,
	.elements = 20000000,
	.unique_names = true,
};

/* Documents beside the objects, each with one list that paths begin with. */
enum document { DOCUMENT_POOLS = 0, DOCUMENT_PRICES, DOCUMENTS };

static const struct document_kind {
	const char *kind, *list, *flag;
	int (*decode)(const struct json_at *root, void *ret);
} document_kinds[DOCUMENTS] = {
	{ "NodePools", "pools", "--node-pools", node_pools_decode },
	{ "PriceTable", "prices", "--price-table", price_table_decode },
};

/* The objects of the files. */
static const struct kept_kind {
	const char *kind;
	const char *path; /* of a change of its spec: PATH[NAME].MEMBER; NULL: there is none */
	const struct field *fields;
} kinds[] = { { "RayCluster", NULL, NULL },
	      { AUTOSCALER_KIND, NULL, NULL },
	      { "Namespace", NULL, NULL },
#define X(kind, path, fields) { kind, path, fields },
	      FEATURE_KEPT_KINDS(X)
#undef X
};

enum { CLUSTERS, AUTOSCALERS, NAMESPACES, KINDS = sizeof(kinds) / sizeof(kinds[0]) };

struct cluster_set {
	struct arena arena;
	VEC(struct cJSON *) objects[KINDS];
	struct cJSON *settings;             /* an object */
	struct cJSON *documents[DOCUMENTS]; /* NULL: not given */
	struct pod_starts_reading starts;
};

/* Our own JSON text as a tree. */
static struct cJSON *tree_of(const char *text)
{
	struct cJSON *tree = NULL;
	struct err err;

	CHECK(json_parse(text, strlen(text), &limits, &tree, &err) == 0);
	return tree;
}

struct cluster_set *cluster_set_new(void)
{
	struct cluster_set *set = memory_alloc(sizeof(*set));

	set->settings = tree_of("{}");
	set->starts.process_ms = -1;
	return set;
}

void cluster_set_free(struct cluster_set *set)
{
	if (!set)
		return;
	for (size_t k = 0; k < KINDS; k++)
		for (size_t i = 0; i < set->objects[k].count; i++)
			json_free(set->objects[k].at[i]);
	json_free(set->settings);
	for (size_t i = 0; i < DOCUMENTS; i++)
		json_free(set->documents[i]);
	arena_done(&set->arena);
	memory_free(set);
}

struct cluster_set *cluster_set_copy(const struct cluster_set *set)
{
	struct cluster_set *copy = memory_alloc(sizeof(*copy));

	for (size_t k = 0; k < KINDS; k++)
		for (size_t i = 0; i < set->objects[k].count; i++)
			VEC_PUSH(&copy->arena, &copy->objects[k], json_copy(set->objects[k].at[i]));
	copy->settings = json_copy(set->settings);
	for (size_t i = 0; i < DOCUMENTS; i++)
		copy->documents[i] = set->documents[i] ? json_copy(set->documents[i]) : NULL;
	return copy;
}

/* ---- files ---- */

/* Of a RayJob, RayCronJob or RayService: a RayCluster with its name. */
static struct cJSON *cluster_within(const struct json_at *root, const struct json_at *spec)
{
	AUTO(buf_done) struct buf text;
	struct json_at metadata = json_member(root, "metadata");
	struct json_writer writer;

	buf_init(&text, CLUSTER_SET_FILE_BYTES_MAX * 2);
	json_write_init(&writer, &text, JSON_STYLE_LINE);
	json_write_object(&writer, NULL);
	JSON_WRITE_TEXTS(&writer, { "apiVersion", RAY_API_VERSION }, { "kind", "RayCluster" });
	if (json_type(&metadata) == JSON_OBJECT)
		json_write_tree(&writer, "metadata", &metadata);
	json_write_tree(&writer, "spec", spec);
	json_write_object_end(&writer);
	return tree_of(buf_string(&text));
}

/* The API server makes a name from generateName. */
static void need_name(struct cluster_set *set, struct cJSON *tree)
{
	struct json_reader reader = { .arena = &set->arena };
	struct json_at root = json_root(tree, "", &reader);
	struct json_at metadata = json_member(&root, "metadata");
	const char *start = object_text_or_none(&metadata, "generateName");
	struct json_steps steps;
	struct err err;

	if (*start == '\0' || *object_text_or_none(&metadata, "name") != '\0')
		return;
	if (json_steps_parse("metadata.name", &set->arena, &steps, &err) == 0)
		(void)json_edit_set(tree, &steps,
				    arena_printf(&set->arena, "%.200s%zu", start,
						 set->objects[CLUSTERS].count + 1),
				    &err);
}

static void add_cluster(struct cluster_set *set, struct cJSON *tree)
{
	need_name(set, tree);
	VEC_PUSH(&set->arena, &set->objects[CLUSTERS], tree);
}

/* Recordings of several RayClusters have the same GPUPools and Namespaces. */
static bool has_equal(const struct cluster_set *set, size_t k, const struct cJSON *tree)
{
	for (size_t i = 0; i < set->objects[k].count; i++)
		if (json_equal(set->objects[k].at[i], tree))
			return true;
	return false;
}

static int add_object(struct cluster_set *set, const struct json_at *at, struct err *err)
{
	static const struct {
		const char *kind, *template, *member;
	} parents[] = {
		{ "RayJob", NULL, "rayClusterSpec" },
		{ "RayService", NULL, "rayClusterConfig" },
		{ "RayCronJob", "jobTemplate", "rayClusterSpec" },
	};
	struct json_at kind = json_member(at, "kind"), spec = json_member(at, "spec");
	const char *text = json_type(&kind) == JSON_STRING ? json_text_value(&kind) : "";

	for (size_t k = 0; k < KINDS; k++)
		if (set->objects[k].count >= CLUSTER_SET_MAX)
			return err_set(err, ERR_LIMIT, "more than %d objects", CLUSTER_SET_MAX);
	for (size_t i = 0; i < DOCUMENTS; i++)
		if (strcmp(text, document_kinds[i].kind) == 0)
			return err_set(err, ERR_INPUT, "a %s is not read here; give %s", text,
				       document_kinds[i].flag);
	if (strcmp(text, POD_STARTS_KIND) == 0)
		return pod_starts_read(at, &set->starts);
	if (strcmp(text, kinds[CLUSTERS].kind) == 0)
		add_cluster(set, json_copy(at->json));
	for (size_t k = CLUSTERS + 1; k < KINDS; k++)
		if (strcmp(text, kinds[k].kind) == 0 && !has_equal(set, k, at->json))
			VEC_PUSH(&set->arena, &set->objects[k], json_copy(at->json));
	for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++) {
		struct json_at of = parents[i].template ? json_member(&spec, parents[i].template) :
							  spec;
		struct json_at inner = json_member(&of, parents[i].member);

		if (strcmp(text, parents[i].kind) == 0 && json_type(&inner) == JSON_OBJECT)
			add_cluster(set, cluster_within(at, &inner));
	}
	return 0;
}

static int add_document(void *context, const struct cJSON *tree, struct err *err)
{
	struct cluster_set *set = context;
	struct json_reader reader = { .arena = &set->arena, .err = err };
	struct json_at root = json_root(tree, "", &reader), items = json_member(&root, "items");

	if (json_type(&items) != JSON_ARRAY)
		return add_object(set, &root, err);
	for (struct json_at e = json_first(&items); e.json; json_next(&e))
		if (add_object(set, &e, err))
			return -1;
	return 0;
}

int cluster_set_add(struct cluster_set *set, const char *text, size_t size, struct err *err)
{
	return yaml_each(text, size, &limits, add_document, set, err);
}

/* ---- documents beside the objects ---- */

struct document_reading {
	const struct document_kind *kind;
	struct cJSON *tree; /* a copy */
};

/* Decodes it only to check it. */
static int keep_document(const struct json_at *root, void *context)
{
	union {
		struct node_pools pools;
		struct price_table prices;
	} checked;
	struct document_reading *reading = context;

	memset(&checked, 0, sizeof(checked));
	if (reading->kind->decode(root, &checked))
		return -1;
	reading->tree = json_copy(root->json);
	return 0;
}

static int add_file(struct cluster_set *set, enum document document, const char *text, size_t size,
		    struct err *err)
{
	struct document_reading reading = { .kind = &document_kinds[document] };

	if (one_document_read(text, size, &set->arena, keep_document, &reading, err)) {
		json_free(reading.tree);
		return -1;
	}
	json_free(set->documents[document]);
	set->documents[document] = reading.tree;
	return 0;
}

int cluster_set_add_pools(struct cluster_set *set, const char *text, size_t size, struct err *err)
{
	return add_file(set, DOCUMENT_POOLS, text, size, err);
}

int cluster_set_add_prices(struct cluster_set *set, const char *text, size_t size, struct err *err)
{
	return add_file(set, DOCUMENT_PRICES, text, size, err);
}

static int decode_document(const struct cluster_set *set, enum document document,
			   struct arena *arena, void *ret, struct err *err)
{
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root = json_root(set->documents[document], "", &reader);

	return set->documents[document] ? document_kinds[document].decode(&root, ret) : 0;
}

int cluster_set_decode_pools(const struct cluster_set *set, struct arena *arena,
			     struct node_pools *ret_pools, struct err *err)
{
	struct node_pools pools = { .at = NULL };

	if (decode_document(set, DOCUMENT_POOLS, arena, &pools, err))
		return -1;
	*ret_pools = pools;
	return 0;
}

int cluster_set_decode_prices(const struct cluster_set *set, struct arena *arena,
			      const struct price_table **ret_table, struct err *err)
{
	struct price_table *table = NULL;

	if (set->documents[DOCUMENT_PRICES])
		table = ARENA_NEW(arena, struct price_table);
	if (decode_document(set, DOCUMENT_PRICES, arena, table, err))
		return -1;
	*ret_table = table;
	return 0;
}

/* ---- changes ---- */

struct name {
	const char *namespace_, *name;
};

static struct name name_of(const struct cJSON *tree, struct arena *arena)
{
	struct json_reader reader = { .arena = arena };
	struct json_at root = json_root(tree, "", &reader);
	struct json_at metadata = json_member(&root, "metadata");

	return (struct name){ object_text_or_none(&metadata, "namespace"),
			      object_text_or_none(&metadata, "name") };
}

static bool same_name(struct name a, struct name b)
{
	return strcmp(a.name, b.name) == 0 && strcmp(a.namespace_, b.namespace_) == 0;
}

static struct cJSON *find_autoscaler(const struct cluster_set *set, struct name name,
				     struct arena *arena)
{
	for (size_t i = 0; i < set->objects[AUTOSCALERS].count; i++)
		if (same_name(name_of(set->objects[AUTOSCALERS].at[i], arena), name))
			return set->objects[AUTOSCALERS].at[i];
	return NULL;
}

static const struct field created_metadata_fields[] = {
	FIELD_TEXT(struct name, name, "name", .flags = FIELD_ALWAYS),
	FIELD_TEXT(struct name, namespace_, "namespace", .flags = FIELD_ALWAYS),
	FIELD_END,
};
static const struct field created_spec_fields[] = { FIELD_END };

static const struct field created_fields[] = {
	FIELD_OBJECT(created_metadata_fields, "metadata"),
	FIELD_OBJECT(created_spec_fields, "spec", .flags = FIELD_ALWAYS),
	FIELD_END,
};

/* Adds the objects of the RayClusters that have none. */
static void add_autoscalers(struct cluster_set *set)
{
	for (size_t i = 0; i < set->objects[CLUSTERS].count; i++) {
		struct name name = name_of(set->objects[CLUSTERS].at[i], &set->arena);

		if (!find_autoscaler(set, name, &set->arena))
			VEC_PUSH(&set->arena, &set->objects[AUTOSCALERS],
				 tree_of(field_text(created_fields, &name, &set->arena)));
	}
}

/* True when a RayCluster has a worker group of this name; else adds the names that there are. */
static bool has_group(const struct cluster_set *set, const char *name, struct buf *names)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct json_reader reader = { .arena = &scratch };

	for (size_t i = 0; i < set->objects[CLUSTERS].count; i++) {
		struct json_at root = json_root(set->objects[CLUSTERS].at[i], "", &reader);
		struct json_at spec = json_member(&root, "spec");
		struct json_at groups = json_member(&spec, "workerGroupSpecs");

		if (json_type(&groups) != JSON_ARRAY)
			continue;
		for (struct json_at e = json_first(&groups); e.json; json_next(&e)) {
			const char *own = object_text_or_none(&e, "groupName");

			if (strcmp(own, name) == 0)
				return true;
			buf_printf(names, "%s%.63s", names->size > 0 ? ", " : "", own);
		}
	}
	return false;
}

/* groups[NAME] and warmWorkers[NAME] name a group of a RayCluster, and are made where they are
 * missing, if not by an index. */
static int name_groups(const struct cluster_set *set, struct json_steps *steps, struct err *err)
{
	for (size_t i = 1; i < steps->count; i++) {
		const char *list = steps->at[i - 1].name, *name = steps->at[i].name;
		AUTO(buf_done) struct buf names;
		bool groups = strcmp(list, "groups") == 0;
		int64_t index;

		buf_init(&names, NAMES_BYTES_MAX);
		if (!steps->at[i].bracket || (!groups && strcmp(list, "warmWorkers") != 0) ||
		    number_parse_integer(name, &index) == 0)
			continue;
		if (!has_group(set, name, &names))
			return err_set(err, ERR_INPUT,
				       "no RayCluster has a worker group \"%.80s\"; they have %s",
				       name, buf_string(&names));
		steps->at[i].key = groups ? "name" : "group";
	}
	return 0;
}

static int change_clusters(struct cluster_set *set, const struct json_steps *steps,
			   const char *path, const char *value, struct err *err)
{
	if (spec_edit_check(ray_cluster_fields, steps, path, &set->arena, err))
		return -1;
	return spec_edit_set(set->objects[CLUSTERS].at, set->objects[CLUSTERS].count, steps, value,
			     err) ?
		       err_prefix(err, "%.80s", path) :
		       0;
}

static int change_autoscalers(struct cluster_set *set, struct json_steps *steps, const char *path,
			      const char *value, struct err *err)
{
	if (spec_edit_check(autoscaler_fields, steps, path, &set->arena, err))
		return -1;
	if (name_groups(set, steps, err))
		return err_prefix(err, "%.80s", path);
	add_autoscalers(set);
	return spec_edit_set(set->objects[AUTOSCALERS].at, set->objects[AUTOSCALERS].count, steps,
			     value, err) ?
		       err_prefix(err, "%.80s", path) :
		       0;
}

/* PATH[NAME].MEMBER: of the spec of an object of the kind. */
static int change_kept(struct cluster_set *set, size_t k, const struct json_steps *steps,
		       const char *path, const char *value, struct err *err)
{
	struct json_steps rest = { .count = 0 };
	struct cJSON *found = NULL;
	const char *names = "";

	if (steps->count < 3 || !steps->at[1].bracket || steps->at[2].bracket)
		return err_set(err, ERR_INPUT, "%.80s: write a path like %s[NAME].MEMBER", path,
			       kinds[k].path);
	for (size_t i = 0; i < set->objects[k].count; i++) {
		const char *name = name_of(set->objects[k].at[i], &set->arena).name;

		names = arena_printf(&set->arena, "%s%s%.63s", names, i > 0 ? ", " : "", name);
		if (strcmp(name, steps->at[1].name) == 0)
			found = set->objects[k].at[i];
	}
	if (!found)
		return err_set(err, ERR_NOT_FOUND,
			       "%.80s: the files have no %s %.63s; give one of %s", path,
			       kinds[k].kind, steps->at[1].name,
			       *names != '\0' ? names : "them with -f");
	for (size_t i = 2; i < steps->count; i++)
		rest.at[rest.count++] = steps->at[i];
	if (spec_edit_check(kinds[k].fields, &rest, path, &set->arena, err))
		return -1;
	return spec_edit_set(&found, 1, &rest, value, err) ? err_prefix(err, "%.80s", path) : 0;
}

static int change_document(struct cluster_set *set, size_t i, const struct json_steps *steps,
			   const char *path, const char *value, struct err *err)
{
	if (!set->documents[i])
		return err_set(err, ERR_NOT_FOUND, "%.80s: there is no document with %s; give %s",
			       path, document_kinds[i].list, document_kinds[i].flag);
	return json_edit_set(set->documents[i], steps, value, err) ?
		       err_prefix(err, "%.80s", path) :
		       0;
}

int cluster_set_change(struct cluster_set *set, const char *path, const char *value,
		       struct err *err)
{
	struct json_steps steps;
	const char *first;

	if (strncmp(path, "spec.", 5) == 0)
		path += 5;
	if (json_steps_parse(path, &set->arena, &steps, err))
		return -1;
	first = steps.at[0].name;
	for (size_t i = 0; i < DOCUMENTS; i++)
		if (strcmp(first, document_kinds[i].list) == 0)
			return change_document(set, i, &steps, path, value, err);
	for (size_t k = 0; k < KINDS; k++)
		if (kinds[k].path && strcmp(first, kinds[k].path) == 0)
			return change_kept(set, k, &steps, path, value, err);
	if (spec_edit_row(autoscaler_fields, first))
		return change_autoscalers(set, &steps, path, value, err);
	if (spec_edit_row(ray_cluster_fields, first))
		return change_clusters(set, &steps, path, value, err);
	if (steps.count == 1 && settings_row_find(first))
		return json_edit_set(set->settings, &steps, value, err);
	return spec_edit_refuse(ray_cluster_fields, autoscaler_fields, path, first, &set->arena,
				err);
}

/* ---- structs ---- */

struct pod_starts_list cluster_set_starts(const struct cluster_set *set)
{
	return (struct pod_starts_list){ set->starts.list.at, set->starts.list.count };
}

int64_t cluster_set_process_ms(const struct cluster_set *set)
{
	return set->starts.process_ms;
}

/* Without such a Namespace in the files it has no other labels. */
static int find_labels(const struct cluster_set *set, const char *name, struct arena *arena,
		       struct labels *ret_labels, struct err *err)
{
	*ret_labels = namespace_labels_of(&(struct labels){ .count = 0 }, name, arena);
	for (size_t i = 0; i < set->objects[NAMESPACES].count; i++) {
		struct namespace found;

		if (namespace_decode(set->objects[NAMESPACES].at[i], "", arena, &found, err))
			return err_prefix(err, "Namespace");
		if (strcmp(found.name, name) == 0)
			*ret_labels = namespace_labels_of(&found.labels, name, arena);
	}
	return 0;
}

struct cluster_set_trees cluster_set_trees(const struct cluster_set *set, const char *kind)
{
	for (size_t k = 0; k < KINDS; k++)
		if (strcmp(kinds[k].kind, kind) == 0)
			return (struct cluster_set_trees){ set->objects[k].at,
							   set->objects[k].count };
	CHECK(false); /* a feature asks for its own kinds */
}

static const char *whole_name(const struct ray_cluster *cluster, struct arena *arena)
{
	return arena_printf(arena, "%s/%s", cluster->namespace_, cluster->name);
}

static int decode_cluster(const struct cluster_set *set, size_t i, struct arena *arena,
			  struct cluster_setup *setups, struct err *err)
{
	struct cluster_setup *setup = &setups[i];
	struct ray_cluster *cluster = &setup->cluster;
	struct cJSON *tree;

	if (ray_cluster_decode(set->objects[CLUSTERS].at[i], "", arena, cluster, err))
		return err_prefix(err, "RayCluster");
	if (cluster->problems.count > 0)
		return err_set(err, ERR_INPUT, "RayCluster %s: %s", cluster->name,
			       cluster->problems.at[0]);
	setup->name = cluster->name;
	for (size_t k = 0; k < i; k++) {
		if (strcmp(setups[k].cluster.name, cluster->name) != 0)
			continue;
		if (strcmp(setups[k].cluster.namespace_, cluster->namespace_) == 0)
			return err_set(err, ERR_INPUT,
				       "RayCluster %s is there twice; rename or remove one",
				       cluster->name);
		setup->name = whole_name(cluster, arena);
		setups[k].name = whole_name(&setups[k].cluster, arena);
	}
	tree = find_autoscaler(set, (struct name){ cluster->namespace_, cluster->name }, arena);
	setup->has_autoscaler = tree != NULL;
	if (find_labels(set, cluster->namespace_, arena, &setup->namespace_labels, err))
		return -1;
	if (!tree)
		return 0;
	if (autoscaler_decode(tree, "", arena, &setup->autoscaler, err))
		return err_prefix(err, AUTOSCALER_KIND);
	if (setup->autoscaler.problems.count > 0)
		return err_set(err, ERR_INPUT, AUTOSCALER_KIND " %s: %s", cluster->name,
			       setup->autoscaler.problems.at[0]);
	return 0;
}

static int check_autoscalers(const struct cluster_set *set, struct arena *arena, struct err *err)
{
	for (size_t i = 0; i < set->objects[AUTOSCALERS].count; i++) {
		struct name name = name_of(set->objects[AUTOSCALERS].at[i], arena);
		bool found = false;

		for (size_t k = 0; k < set->objects[CLUSTERS].count; k++)
			found = found ||
				same_name(name_of(set->objects[CLUSTERS].at[k], arena), name);
		if (!found)
			return err_set(err, ERR_INPUT,
				       "RayClusterAutoscaler %s: the files have no RayCluster of "
				       "this name and namespace",
				       name.name);
	}
	return 0;
}

int cluster_set_decode(const struct cluster_set *set, struct arena *arena,
		       const struct cluster_setup **ret_setups, size_t *ret_count,
		       struct settings *ret_settings, struct err *err)
{
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at settings = json_root(set->settings, "", &reader);
	struct cluster_setup *setups =
		arena_array(arena, set->objects[CLUSTERS].count, sizeof(*setups));

	if (set->objects[CLUSTERS].count == 0)
		return err_set(err, ERR_INPUT,
			       "there is no RayCluster in the files; give one with -f");
	settings_init(ret_settings);
	if (settings_json_decode(&settings, ret_settings))
		return -1;
	for (size_t i = 0; i < set->objects[CLUSTERS].count; i++)
		if (decode_cluster(set, i, arena, setups, err))
			return -1;
	if (check_autoscalers(set, arena, err))
		return -1;
	*ret_setups = setups;
	*ret_count = set->objects[CLUSTERS].count;
	return 0;
}
