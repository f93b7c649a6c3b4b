#include "ctl/watch/capacity_watch.h"

#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "core/nodes/node_sample.h"
#include "ctl/report/feature.h"
#include "ctl/shared/options.h"
#include "ctl/watch/inventory_watch.h"
#include "net/log.h"
#include "net/loop.h"
#include "net/work.h"

/* Kubernetes supports clusters of up to 5,000 Nodes and 150,000 Pods. */
#define NODES_MAX 5000
#define PODS_MAX 50000 /* that use accelerators, and sums */
#define WITHIN_MS 60000
#define EVERY_MS 60000
#define DENIED_MS 300000
#define FORGET_MS 300000 /* without a request from a pass */
/* An outdated inventory is replaced so long after the last list, and REST times its duration. */
#define RESTED_MS 500
#define REST 19

struct others {
	VEC(struct pod) list;
};

/* The Nodes of an inventory for the passes of one RayCluster. */
struct choice {
	const struct node *nodes;
	size_t node_count;
	const struct pod *pods;
	size_t pod_count;
	size_t bytes; /* of both arrays */
};

/* An inventory that is no longer used. */
struct old {
	struct inventory_watch *inventory_watch;
	struct arena arena;
};

struct capacity_watch {
	const struct control *control;
	void (*listed)(void *context); /* there is another inventory; NULL: not called */
	void *listed_context;
	struct loop_timer *timer;        /* drops the inventory */
	struct inventory_watch *looking; /* listing in progress */
	int64_t asked_ms, next_ms;
	int64_t began_ms, rested_ms; /* the last list; when an outdated one is replaced */
	bool outdated;
	struct loop_timer *again; /* replaces it */
	/* The last inventory. */
	struct inventory_watch *inventory_watch;
	struct inventory_list list; /* of it, completed by features */
	uint64_t version;           /* of the list */
	bool incomplete;            /* their part is still to come */
	struct arena arena;
	struct node_capacities capacities; /* of the list, when `counted` */
	bool counted;
	struct map choices; /* "namespace/name" to struct choice, in the arena */
	struct log_repeat trouble;
};

static void old_free(void *memory)
{
	struct old *old = memory;

	inventory_watch_free(old->inventory_watch);
	arena_done(&old->arena);
	memory_free(old);
}

/* Decisions in progress may still read it. */
static void forget(struct capacity_watch *capacity_watch)
{
	struct old *old = memory_alloc(sizeof(*old));

	old->inventory_watch = steal(&capacity_watch->inventory_watch);
	old->arena = capacity_watch->arena;
	capacity_watch->arena = ARENA_INIT;
	map_done(&capacity_watch->choices);
	capacity_watch->choices = MAP_INIT;
	work_retire(capacity_watch->control->loop, old_free, old);
}

static void on_timer(void *context)
{
	struct capacity_watch *capacity_watch = context;
	int64_t idle = loop_monotonic_ms(capacity_watch->control->loop) - capacity_watch->asked_ms;

	if (idle >= FORGET_MS)
		forget(capacity_watch);
	else
		loop_timer_start(capacity_watch->timer, FORGET_MS - idle);
}

/* ---- listing ---- */

static void count_capacities(struct capacity_watch *capacity_watch)
{
	const struct inventory_list *list = &capacity_watch->list;

	node_capacities_init(&capacity_watch->capacities, list->nodes, list->node_count,
			     capacity_watch->control->options->device_table,
			     &capacity_watch->arena);
	for (size_t i = 0; i < list->pod_count; i++)
		node_capacities_count(&capacity_watch->capacities, &list->pods[i], 1);
	node_capacities_settle(&capacity_watch->capacities);
	capacity_watch->counted = true;
}

static void complete(struct capacity_watch *capacity_watch)
{
	capacity_watch->list = *inventory_watch_list(capacity_watch->inventory_watch);
	capacity_watch->list.version = ++capacity_watch->version;
	capacity_watch->incomplete = !features_complete(
		capacity_watch->control->features, &capacity_watch->list, &capacity_watch->arena);
	map_done(&capacity_watch->choices);
	capacity_watch->choices = MAP_INIT;
	capacity_watch->counted = false;
}

static void replace_soon(struct capacity_watch *capacity_watch)
{
	int64_t now = loop_monotonic_ms(capacity_watch->control->loop);
	int64_t after = capacity_watch->rested_ms - now;

	if (capacity_watch->inventory_watch && !capacity_watch->looking)
		loop_timer_start(capacity_watch->again, after > 0 ? after : 0);
}

static void looked(void *context, const struct err *err)
{
	struct capacity_watch *capacity_watch = context;
	struct inventory_watch *inventory_watch = capacity_watch->looking;
	int64_t now = loop_monotonic_ms(capacity_watch->control->loop);
	bool again = err && err->kind != ERR_DENIED && err->kind != ERR_LIMIT;

	capacity_watch->looking = NULL;
	capacity_watch->next_ms = now + (!err || again ? EVERY_MS : DENIED_MS);
	capacity_watch->rested_ms = now + RESTED_MS + REST * (now - capacity_watch->began_ms);
	forget(capacity_watch);
	if (err) {
		log_repeat_error(&capacity_watch->trouble, "the free capacity of Nodes is unknown",
				 "nodes", err->text);
		inventory_watch_free(inventory_watch);
		return;
	}
	log_repeat_end(&capacity_watch->trouble, "the free capacity of Nodes is unknown", "nodes");
	capacity_watch->inventory_watch = inventory_watch;
	complete(capacity_watch);
	loop_timer_start(capacity_watch->timer, FORGET_MS);
	if (capacity_watch->outdated)
		replace_soon(capacity_watch);
	if (capacity_watch->listed)
		capacity_watch->listed(capacity_watch->listed_context);
}

static void look(struct capacity_watch *capacity_watch)
{
	const struct control *control = capacity_watch->control;
	const struct inventory_watch_limits limits = { NODES_MAX, PODS_MAX, WITHIN_MS,
						       *control->options->namespace_ == '\0' ?
							       control->pods :
							       NULL };
	int64_t now = loop_monotonic_ms(control->loop);

	capacity_watch->asked_ms = now;
	if (capacity_watch->inventory_watch && capacity_watch->incomplete)
		complete(capacity_watch);
	if (capacity_watch->looking || now < capacity_watch->next_ms)
		return;
	capacity_watch->began_ms = now;
	capacity_watch->outdated = false;
	capacity_watch->looking = inventory_watch_new(control->kube, control->options->device_table,
						      &limits, looked, capacity_watch);
}

static void look_again(void *context)
{
	struct capacity_watch *capacity_watch = context;

	capacity_watch->next_ms = INT64_MIN;
	look(capacity_watch);
}

/* ---- the part for a pass ---- */

static int compare_node_name(const char *name, const struct pod *pod)
{
	return strcmp(name, pod->spec.node_name);
}

/* The Pods on the Node; `pods` is sorted by Node. */
static const struct pod *pods_on(const struct capacity_watch *capacity_watch, const char *node,
				 size_t *ret_count)
{
	const struct inventory_list *list = &capacity_watch->list;
	const struct pod *pods = list->pods;
	size_t low = 0, high = list->pod_count, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_node_name(node, &pods[middle]) > 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < list->pod_count && compare_node_name(node, &pods[end]) == 0; end++)
		;
	*ret_count = end - low;
	return low < end ? &pods[low] : pods; /* no offset to NULL */
}

/* Names are left out: a reader of one RayCluster's snapshot may have no right to see other Pods. */
static void add_others(struct capacity_watch *capacity_watch, const struct observation *view,
		       const char *node, struct others *others)
{
	size_t count;
	const struct pod *pods = pods_on(capacity_watch, node, &count);

	for (size_t i = 0; i < count; i++) {
		const char *cluster = labels_value(&pods[i].labels, LABEL_CLUSTER);
		struct pod *other;

		if (cluster && !strcmp(cluster, view->cluster->name) &&
		    !strcmp(pods[i].namespace_, view->cluster->namespace_))
			continue;
		other = VEC_ADD(&capacity_watch->arena, &others->list);
		*other = pods[i];
		other->namespace_ = "";
		other->name = "others";
		other->labels = (struct labels){ .count = 0 };
	}
}

static struct choice *choose(struct capacity_watch *capacity_watch, const struct observation *view)
{
	struct choice *choice = ARENA_NEW(&capacity_watch->arena, struct choice);
	size_t before;
	const struct node_capacity **capacities = NULL;
	struct others others = { .list = { .at = NULL } };
	struct node *nodes;

	if (!capacity_watch->counted)
		count_capacities(capacity_watch);
	before = capacity_watch->arena.used_bytes;
	choice->node_count = node_sample(&capacity_watch->capacities, view->cluster,
					 view->snapshot.pods, view->snapshot.pod_count,
					 &capacity_watch->arena, &capacities);
	nodes = arena_array(&capacity_watch->arena, choice->node_count, sizeof(*nodes));
	for (size_t i = 0; i < choice->node_count; i++) {
		nodes[i] = *capacities[i]->node;
		add_others(capacity_watch, view, nodes[i].name, &others);
	}
	choice->nodes = nodes;
	choice->pods = others.list.at;
	choice->pod_count = others.list.count;
	choice->bytes = capacity_watch->arena.used_bytes - before;
	return choice;
}

static void add_nodes(struct arena *arena, const struct choice *choice, struct observation *view)
{
	struct node *nodes =
		arena_array(arena, view->snapshot.node_count + choice->node_count, sizeof(*nodes));
	size_t count = view->snapshot.node_count;

	for (size_t i = 0; i < view->snapshot.node_count; i++)
		nodes[i] = view->snapshot.nodes[i];
	for (size_t i = 0; i < choice->node_count; i++)
		if (!ARRAY_FIND(view->snapshot.nodes, view->snapshot.node_count, name,
				choice->nodes[i].name))
			nodes[count++] = choice->nodes[i];
	view->snapshot.nodes = nodes;
	view->snapshot.node_count = count;
}

void capacity_watch_view(struct capacity_watch *capacity_watch, struct arena *arena,
			 struct observation *view)
{
	struct choice *choice;
	const char *key;

	if (!capacity_watch || !view->cluster || !view->snapshot.nodes_known ||
	    !node_sample_wanted(view->cluster, view->snapshot.pods, view->snapshot.pod_count))
		return;
	look(capacity_watch);
	if (!capacity_watch->inventory_watch)
		return;
	key = arena_printf(arena, "%s/%s", view->cluster->namespace_, view->cluster->name);
	choice = map_get(&capacity_watch->choices, key);
	if (!choice) {
		choice = choose(capacity_watch, view);
		map_set(&capacity_watch->choices, key, choice);
	}
	add_nodes(arena, choice, view);
	view->bytes += choice->bytes;
	view->snapshot.other_pods_known = *capacity_watch->list.pods_problem == '\0';
	view->snapshot.other_pods = choice->pods;
	view->snapshot.other_pod_count = choice->pod_count;
}

struct capacity_watch *capacity_watch_new(const struct control *control)
{
	struct capacity_watch *capacity_watch;

	if (options_sidecar(control->options))
		return NULL;
	capacity_watch = memory_alloc(sizeof(*capacity_watch));
	capacity_watch->control = control;
	capacity_watch->timer = loop_timer_new(control->loop, on_timer, capacity_watch);
	capacity_watch->again = loop_timer_new(control->loop, look_again, capacity_watch);
	capacity_watch->next_ms = INT64_MIN;
	return capacity_watch;
}

void capacity_watch_free(struct capacity_watch *capacity_watch)
{
	if (!capacity_watch)
		return;
	inventory_watch_free(capacity_watch->looking);
	forget(capacity_watch);
	map_done(&capacity_watch->choices);
	loop_timer_free(capacity_watch->timer);
	loop_timer_free(capacity_watch->again);
	log_repeat_done(&capacity_watch->trouble);
	memory_free(capacity_watch);
}

void capacity_watch_listen(struct capacity_watch *capacity_watch, void (*listed)(void *context),
			   void *context)
{
	if (!capacity_watch)
		return;
	capacity_watch->listed = listed;
	capacity_watch->listed_context = context;
}

const struct inventory_list *capacity_watch_inventory(struct capacity_watch *capacity_watch)
{
	if (!capacity_watch)
		return NULL;
	look(capacity_watch);
	return capacity_watch->inventory_watch ? &capacity_watch->list : NULL;
}

void capacity_watch_outdated(struct capacity_watch *capacity_watch)
{
	if (!capacity_watch)
		return;
	capacity_watch->outdated = true;
	replace_soon(capacity_watch);
}
