#include "ctl/watch/nodes.h"

#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "codec/objects/node_json.h"
#include "core/nodes/disruption_taint.h"
#include "ctl/report/feature.h"
#include "ctl/shared/options.h"
#include "ctl/watch/optional_watch.h"

/* The kept part of a Node: its name, the taints of its disruption, the labels that features read, and
 * where one reads a sign of it all taints, cordon and conditions with a sign. */
struct kept {
	const char *name;
	struct arena arena;
	const struct node *node;
	bool is_read;  /* by decisions: it is disrupted, or has a sign */
	uint64_t look; /* the last one that has found it */
};

struct nodes {
	struct optional_watch watch; /* first: it is their context */
	const struct features *features;
	struct loop *loop;
	struct map kept; /* name to struct kept */
	size_t read;     /* of kept: those that decisions read */
	uint64_t look;   /* counts calls of nodes_of_pods */
	uint64_t changes;
};

static void kept_done(void *value)
{
	arena_done(&((struct kept *)value)->arena);
}

static struct labels labels_read(const struct nodes *nodes, const struct labels *all,
				 struct arena *arena)
{
	VEC(struct label) read = { .at = NULL };

	for (size_t i = 0; i < all->count; i++)
		if (features_read_node_label(nodes->features, all->at[i].key))
			VEC_PUSH(arena, &read, all->at[i]);
	return (struct labels){ read.at, read.count };
}

/* The termination handlers of AWS and Google set no timeAdded. Then it is when the watch reported the
 * taint first, in whole seconds as that; unknown for taints of the first list, which may be old. */
static time_ms taint_added(const struct nodes *nodes, const struct kept *kept,
			   const struct taint *taint)
{
	if (taint->added != TIME_NONE)
		return taint->added;
	if (kept)
		for (size_t i = 0; i < kept->node->taint_count; i++)
			if (strcmp(kept->node->taints[i].key, taint->key) == 0 &&
			    strcmp(kept->node->taints[i].value, taint->value) == 0)
				return kept->node->taints[i].added;
	return nodes_known(nodes) ? loop_wall(nodes->loop) / MS_PER_SECOND * MS_PER_SECOND :
				    TIME_NONE;
}

/* kept: its former version, NULL: none. */
static void note_read(struct nodes *nodes, const struct kept *kept, bool is)
{
	bool was = kept && kept->is_read;

	nodes->read += is;
	nodes->read -= was;
	nodes->changes += was || is;
}

static void keep_conditions(const struct nodes *nodes, const struct node *node, struct arena *arena,
			    struct node *reduced)
{
	VEC(struct condition) conditions = { .at = NULL };

	for (size_t i = 0; i < node->condition_count; i++)
		if (features_read_node_sign(nodes->features, node, &node->conditions[i]))
			VEC_PUSH(arena, &conditions, node->conditions[i]);
	reduced->conditions = conditions.at;
	reduced->condition_count = conditions.count;
	reduced->unschedulable = node->unschedulable;
}

static void keep(struct nodes *nodes, const struct node *node)
{
	bool has_sign = features_read_node_sign(nodes->features, node, NULL), is_read;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct kept *kept = map_get(&nodes->kept, node->name);
	VEC(struct taint) taints = { .at = NULL };
	struct node reduced = { .name = node->name,
				.resource_version = "",
				.labels = labels_read(nodes, &node->labels, &scratch) };

	for (size_t i = 0; i < node->taint_count; i++)
		if (has_sign || disruption_taint_is_final(&node->taints[i])) {
			struct taint *taint = VEC_ADD(&scratch, &taints);

			*taint = node->taints[i];
			taint->added = taint_added(nodes, kept, taint);
		}
	reduced.taints = taints.at;
	reduced.taint_count = taints.count;
	if (has_sign)
		keep_conditions(nodes, node, &scratch, &reduced);
	is_read = has_sign || reduced.taint_count > 0;

	if (!kept && nodes->kept.count >= NODES_MAX)
		return;
	note_read(nodes, kept, is_read);
	kept = map_make(&nodes->kept, node->name, sizeof(*kept));
	kept->is_read = is_read;
	kept->node = field_keep(node_fields, &reduced, sizeof(reduced), SIZE_MAX, &kept->arena);
}

static void node_changed(void *context, enum kube_change change, const char *key,
			 const void *old UNUSED, const void *new_object)
{
	struct nodes *nodes = context;
	const struct node *node = new_object;
	const struct kept *kept;

	features_node_changed(nodes->features, key, node, change == KUBE_ADDED);
	if (node && (disruption_taint(node) || features_read_node_label(nodes->features, NULL) ||
		     features_read_node_sign(nodes->features, node, NULL)))
		keep(nodes, node);
	else if ((kept = map_get(&nodes->kept, key))) {
		note_read(nodes, kept, false);
		map_drop(&nodes->kept, key, kept_done);
	}
}

struct nodes *nodes_new(const struct control *control)
{
	struct nodes *nodes;

	if (options_sidecar(control->options))
		return NULL;
	nodes = memory_alloc(sizeof(*nodes));
	nodes->features = control->features;
	nodes->loop = control->loop;
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
	map_drop_all(&nodes->kept, kept_done);
	memory_free(nodes);
}

bool nodes_known(const struct nodes *nodes)
{
	return nodes && kube_informer_fresh(nodes->watch.informer);
}

bool nodes_refused(const struct nodes *nodes)
{
	return !nodes || nodes->watch.refused != ERR_NONE;
}

const struct labels *nodes_labels(const struct nodes *nodes, const char *name)
{
	const struct kept *kept = nodes ? map_get(&nodes->kept, name) : NULL;

	return kept && features_read_node_label(nodes->features, NULL) ? &kept->node->labels : NULL;
}

uint64_t nodes_changes(const struct nodes *nodes)
{
	return 1 + (nodes ? nodes->changes : 0);
}

void nodes_of_pods(struct nodes *nodes, const struct pod *const *pods, size_t pod_count,
		   struct arena *arena, const struct node **ret_nodes, size_t *ret_count)
{
	VEC(struct node) found = { .at = NULL };

	if (nodes && nodes->read > 0) {
		nodes->look++;
		for (size_t i = 0; i < pod_count; i++) {
			struct kept *kept = map_get(&nodes->kept, pods[i]->spec.node_name);
			struct node *node;

			if (!kept || !kept->is_read || kept->look == nodes->look)
				continue;
			kept->look = nodes->look;
			/* A copy: the Node may be freed before the decision has been made. */
			node = VEC_ADD(arena, &found);
			*node = *kept->node;
			node->labels = (struct labels){ .count = 0 };
			field_own(node_fields, node, arena);
		}
	}
	*ret_nodes = found.at;
	*ret_count = found.count;
}
