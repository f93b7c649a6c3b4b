#include "ctl/watch/room.h"

#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "core/nodes/node_sample.h"
#include "ctl/shared/options.h"
#include "ctl/watch/stock.h"
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

struct others {
	VEC(struct pod) list;
};

/* The Nodes of an inventory for the passes of one RayCluster. */
struct choice {
	const struct node *nodes;
	size_t node_count;
	const struct pod *pods;
	size_t pod_count;
};

/* An inventory that is no longer used. */
struct old {
	struct stock *stock;
	struct arena arena;
};

struct room {
	const struct control *control;
	struct loop_timer *timer; /* drops the inventory */
	struct stock *looking;    /* listing in progress */
	int64_t asked_ms, next_ms;
	/* The last inventory; stock NULL: none. */
	struct stock *stock;
	struct arena arena;
	struct node_rooms rooms;
	struct map choices; /* "namespace/name" to struct choice, in the arena */
	struct log_repeat trouble;
};

static void old_free(void *memory)
{
	struct old *old = memory;

	stock_free(old->stock);
	arena_done(&old->arena);
	memory_free(old);
}

/* Decisions in progress may still read it. */
static void forget(struct room *room)
{
	struct old *old = memory_alloc(sizeof(*old));

	old->stock = steal(&room->stock);
	old->arena = room->arena;
	room->arena = ARENA_INIT;
	map_done(&room->choices);
	room->choices = MAP_INIT;
	work_retire(room->control->loop, old_free, old);
}

static void on_timer(void *context)
{
	struct room *room = context;
	int64_t idle = loop_monotonic_ms(room->control->loop) - room->asked_ms;

	if (idle >= FORGET_MS)
		forget(room);
	else
		loop_timer_start(room->timer, FORGET_MS - idle);
}

/* ---- listing ---- */

static void count_rooms(struct room *room)
{
	size_t node_count, pod_count;
	const struct node *nodes = stock_nodes(room->stock, &node_count);
	const struct pod *pods = stock_pods(room->stock, &pod_count);

	node_rooms_init(&room->rooms, nodes, node_count, room->control->options->device_table,
			&room->arena);
	for (size_t i = 0; i < pod_count; i++)
		node_rooms_add(&room->rooms, &pods[i]);
	node_rooms_finish(&room->rooms);
}

static void looked(void *context, const struct err *err)
{
	struct room *room = context;
	struct stock *stock = room->looking;
	bool again = err && err->kind != ERR_DENIED && err->kind != ERR_LIMIT;

	room->looking = NULL;
	room->next_ms =
		loop_monotonic_ms(room->control->loop) + (!err || again ? EVERY_MS : DENIED_MS);
	forget(room);
	if (err) {
		log_repeat_error(&room->trouble, "what Nodes have free is not known", "nodes",
				 err->text);
		stock_free(stock);
		return;
	}
	log_repeat_end(&room->trouble, "what Nodes have free is not known", "nodes");
	room->stock = stock;
	count_rooms(room);
	loop_timer_start(room->timer, FORGET_MS);
}

static void look(struct room *room)
{
	const struct stock_limits limits = { NODES_MAX, PODS_MAX, WITHIN_MS };
	int64_t now = loop_monotonic_ms(room->control->loop);

	room->asked_ms = now;
	if (room->looking || now < room->next_ms)
		return;
	room->looking = stock_new(room->control->kube, room->control->options->device_table,
				  &limits, looked, room);
}

/* ---- the part for a pass ---- */

static int compare_node_name(const char *name, const struct pod *pod)
{
	return strcmp(name, pod->spec.node_name);
}

/* The Pods on the Node; `pods` is sorted by Node. */
static const struct pod *pods_on(const struct room *room, const char *node, size_t *ret_count)
{
	size_t count, low = 0, high, end;
	const struct pod *pods = stock_pods(room->stock, &count);

	high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_node_name(node, &pods[middle]) > 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < count && compare_node_name(node, &pods[end]) == 0; end++)
		;
	*ret_count = end - low;
	return low < end ? &pods[low] : pods; /* no offset to NULL */
}

/* Names are left out: a reader of one RayCluster's snapshot may have no right to see other Pods. */
static void add_others(struct room *room, const struct pass_view *view, const char *node,
		       struct others *others)
{
	size_t count;
	const struct pod *pods = pods_on(room, node, &count);

	for (size_t i = 0; i < count; i++) {
		const char *cluster = labels_value(&pods[i].labels, LABEL_CLUSTER);
		struct pod *other;

		if (cluster && !strcmp(cluster, view->cluster->name) &&
		    !strcmp(pods[i].namespace_, view->cluster->namespace_))
			continue;
		other = VEC_ADD(&room->arena, &others->list);
		*other = pods[i];
		other->namespace_ = "";
		other->name = "others";
		other->labels = (struct labels){ .count = 0 };
	}
}

static struct choice *choose(struct room *room, const struct pass_view *view)
{
	struct choice *choice = ARENA_NEW(&room->arena, struct choice);
	const struct node_room **rooms = NULL;
	struct others others = { .list = { .at = NULL } };
	struct node *nodes;

	choice->node_count = node_sample(&room->rooms, view->cluster, view->pods, view->pod_count,
					 &room->arena, &rooms);
	nodes = arena_array(&room->arena, choice->node_count, sizeof(*nodes));
	for (size_t i = 0; i < choice->node_count; i++) {
		nodes[i] = *rooms[i]->node;
		add_others(room, view, nodes[i].name, &others);
	}
	choice->nodes = nodes;
	choice->pods = others.list.at;
	choice->pod_count = others.list.count;
	return choice;
}

static bool is_in(const struct pass_view *view, const char *node)
{
	for (size_t i = 0; i < view->node_count; i++)
		if (strcmp(view->nodes[i].name, node) == 0)
			return true;
	return false;
}

static void add_nodes(struct arena *arena, const struct choice *choice, struct pass_view *view)
{
	struct node *nodes =
		arena_array(arena, view->node_count + choice->node_count, sizeof(*nodes));
	size_t count = view->node_count;

	for (size_t i = 0; i < view->node_count; i++)
		nodes[i] = view->nodes[i];
	for (size_t i = 0; i < choice->node_count; i++)
		if (!is_in(view, choice->nodes[i].name))
			nodes[count++] = choice->nodes[i];
	view->nodes = nodes;
	view->node_count = count;
}

void room_view(struct room *room, struct arena *arena, struct pass_view *view)
{
	bool waits = false;
	struct choice *choice;
	const char *key;

	for (size_t i = 0; room && i < view->pod_count && !waits; i++)
		waits = node_sample_unschedulable(view->pods[i]);
	if (!waits || !view->cluster || !view->nodes_known)
		return;
	look(room);
	if (!room->stock)
		return;
	key = arena_printf(arena, "%s/%s", view->cluster->namespace_, view->cluster->name);
	choice = map_get(&room->choices, key);
	if (!choice) {
		choice = choose(room, view);
		map_set(&room->choices, key, choice);
	}
	add_nodes(arena, choice, view);
	view->other_pods_known = *stock_pods_problem(room->stock) == '\0';
	view->other_pods = choice->pods;
	view->other_pod_count = choice->pod_count;
}

struct room *room_new(const struct control *control)
{
	struct room *room;

	if (options_sidecar(control->options))
		return NULL;
	room = memory_alloc(sizeof(*room));
	room->control = control;
	room->timer = loop_timer_new(control->loop, on_timer, room);
	room->next_ms = INT64_MIN;
	return room;
}

void room_free(struct room *room)
{
	if (!room)
		return;
	stock_free(room->looking);
	forget(room);
	map_done(&room->choices);
	loop_timer_free(room->timer);
	log_repeat_done(&room->trouble);
	memory_free(room);
}
