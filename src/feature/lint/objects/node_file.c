#include "feature/lint/objects/node_file.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "codec/objects/node_json.h"
#include "codec/text/json.h"
#include "codec/text/yaml.h"

static const struct json_limits limits = {
	.bytes = NODE_FILE_BYTES_MAX,
	.depth = 100,
	.elements = 4000000, /* about 10,000 Nodes with all fields that a kubelet writes */
	.unique_names = true,
};

struct reading {
	struct arena *arena;
	VEC(struct node) nodes;
	char other[40]; /* the kind of an object that is not a Node; "": none */
};

static bool is_kind(const struct json_at *at, const char *kind)
{
	struct json_at member = json_member(at, "kind");

	return json_type(&member) == JSON_STRING && strcmp(json_text_value(&member), kind) == 0;
}

static void keep_other(struct reading *reading, const struct json_at *at)
{
	struct json_at kind = json_member(at, "kind");

	if (json_type(&kind) == JSON_STRING && !is_kind(at, "List") && !is_kind(at, "NodeList"))
		snprintf(reading->other, sizeof(reading->other), "%s", json_text_value(&kind));
}

static int read_node(struct reading *reading, const struct json_at *at)
{
	return node_decode(at->json, at->parent ? json_path(at) : "", reading->arena,
			   VEC_ADD(reading->arena, &reading->nodes), at->reader->err);
}

static int read_document(void *context, const struct cJSON *tree, struct err *err)
{
	struct reading *reading = context;
	struct json_reader reader = { .arena = reading->arena, .err = err };
	struct json_at root = json_root(tree, "", &reader);
	struct json_at items = json_member(&root, "items");

	if (is_kind(&root, "Node"))
		return read_node(reading, &root);
	keep_other(reading, &root);
	if (json_type(&items) != JSON_ARRAY)
		return 0;
	for (struct json_at e = json_first(&items); e.json; json_next(&e)) {
		/* The API server names the kind of a NodeList's items once. */
		if ((is_kind(&e, "Node") || is_kind(&root, "NodeList")) && read_node(reading, &e))
			return -1;
		if (!is_kind(&e, "Node"))
			keep_other(reading, &e);
	}
	return 0;
}

int node_file_read(const char *text, size_t size, struct arena *arena,
		   const struct node **ret_nodes, size_t *ret_count, struct err *err)
{
	AUTO(json_done) struct cJSON *tree = NULL;
	struct reading reading = { .arena = arena };

	/* JSON is the form of the API server, and parses faster. */
	if (json_parse(text, size, &limits, &tree, NULL) == 0 ?
		    read_document(&reading, tree, err) :
		    yaml_each(text, size, &limits, read_document, &reading, err))
		return -1;
	if (reading.nodes.count == 0 && reading.other[0] != '\0')
		return err_set(err, ERR_INPUT,
			       "there is a %s and no Node; write the file with \"kubectl get nodes "
			       "-o yaml\"",
			       reading.other);
	*ret_nodes = reading.nodes.at;
	*ret_count = reading.nodes.count;
	return 0;
}
