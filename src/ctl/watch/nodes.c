#include "ctl/watch/nodes.h"

#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "codec/objects/node_json.h"
#include "core/nodes/disruption_taint.h"
#include "ctl/report/feature.h"
#include "ctl/shared/options.h"
#include "ctl/watch/optional_watch.h"

/* A disrupted Node. */
struct ending {
	struct arena arena;
	struct node node; /* name and one taint */
};

/* The labels of a Node that features read. */
struct labelled {
	struct arena arena;
	struct labels labels;
};

struct nodes {
	struct optional_watch watch; /* first: it is their context */
	const struct features *features;
	struct map ending;   /* name to struct ending */
	struct map labelled; /* name to struct labelled; empty when no feature reads a label */
};

static void forget(struct nodes *nodes, const char *name)
{
	struct ending *ending = map_remove(&nodes->ending, name);

	if (!ending)
		return;
	arena_done(&ending->arena);
	memory_free(ending);
}

static struct node node_of(const char *name, const struct taint *taint, struct arena *arena)
{
	struct node node = {
		.name = name, .resource_version = "", .taints = taint, .taint_count = 1
	};

	field_own(node_fields, &node, arena);
	return node;
}

static void keep(struct nodes *nodes, const struct node *node, const struct taint *taint)
{
	struct ending *ending;

	if (map_get(&nodes->ending, node->name) || nodes->ending.count >= NODES_MAX)
		return;
	ending = memory_alloc(sizeof(*ending));
	ending->node = node_of(node->name, taint, &ending->arena);
	map_set(&nodes->ending, node->name, ending);
}

static void forget_labels(struct nodes *nodes, const char *name)
{
	struct labelled *labelled = map_remove(&nodes->labelled, name);

	if (!labelled)
		return;
	arena_done(&labelled->arena);
	memory_free(labelled);
}

static void copy_labels(const struct features *features, const struct labels *from,
			struct labelled *labelled)
{
	static const struct field fields[] = {
		FIELD_LABELS(struct labelled, labels, "labels"),
		FIELD_END,
	};
	VEC(struct label) kept = { .at = NULL };

	for (size_t i = 0; i < from->count; i++)
		if (features_read_node_label(features, from->at[i].key))
			VEC_PUSH(&labelled->arena, &kept, from->at[i]);
	labelled->labels = (struct labels){ kept.at, kept.count };
	field_own(fields, labelled, &labelled->arena);
}

static void keep_labels(struct nodes *nodes, const struct node *node)
{
	struct labelled *labelled = map_get(&nodes->labelled, node->name);

	if (!labelled && nodes->labelled.count >= NODES_MAX)
		return;
	if (!labelled) {
		labelled = memory_alloc(sizeof(*labelled));
		map_set(&nodes->labelled, node->name, labelled);
	}
	arena_done(&labelled->arena);
	copy_labels(nodes->features, &node->labels, labelled);
}

static void node_changed(void *context, enum kube_change change, const char *key, const void *old,
			 const void *new_object)
{
	struct nodes *nodes = context;
	const struct node *node = new_object;
	const struct taint *taint = node ? disruption_taint(node) : NULL;

	(void)change;
	(void)old;
	if (taint)
		keep(nodes, node, taint);
	else
		forget(nodes, key);
	if (!node)
		forget_labels(nodes, key);
	else if (features_read_node_label(nodes->features, NULL))
		keep_labels(nodes, node);
}

struct nodes *nodes_new(const struct control *control)
{
	struct nodes *nodes;

	if (options_sidecar(control->options))
		return NULL;
	nodes = memory_alloc(sizeof(*nodes));
	nodes->features = control->features;
	nodes->watch.level = LOG_INFO;
	nodes->watch.without = "Nodes cannot be read: the end of a Node is seen only from "
			       "conditions of its Pods";
	nodes->watch.again = "Nodes can be read now";
	optional_watch_start(&nodes->watch, control->kube,
			     (struct kube_informer_options){
				     .type = &kube_type_node,
				     .passing = true,
				     .callbacks = { .on_change = node_changed },
			     });
	return nodes;
}

void nodes_free(struct nodes *nodes)
{
	if (!nodes)
		return;
	optional_watch_done(&nodes->watch);
	while (nodes->ending.count > 0)
		forget(nodes, nodes->ending.entries[0].key);
	map_done(&nodes->ending);
	while (nodes->labelled.count > 0)
		forget_labels(nodes, nodes->labelled.entries[0].key);
	map_done(&nodes->labelled);
	memory_free(nodes);
}

bool nodes_known(const struct nodes *nodes)
{
	return nodes && kube_informer_fresh(nodes->watch.informer, NULL);
}

const struct labels *nodes_labels(const struct nodes *nodes, const char *name)
{
	const struct labelled *labelled = nodes ? map_get(&nodes->labelled, name) : NULL;

	return labelled ? &labelled->labels : NULL;
}

void nodes_of_pods(const struct nodes *nodes, const struct pod *const *pods, size_t pod_count,
		   struct arena *arena, const struct node **ret_nodes, size_t *ret_count)
{
	VEC(struct node) found = { .at = NULL };

	for (size_t i = 0; nodes && nodes->ending.count > 0 && i < pod_count; i++) {
		const struct ending *ending = map_get(&nodes->ending, pods[i]->spec.node_name);

		if (ending && !VEC_FIND(&found, name, ending->node.name))
			/* The entry may be freed before the decision has been made. */
			VEC_PUSH(arena, &found,
				 node_of(ending->node.name, ending->node.taints, arena));
	}
	*ret_nodes = found.at;
	*ret_count = found.count;
}
