#include "core/nodes/node_fit.h"

#include <string.h>

#include "base/memory.h"
#include "core/nodes/node_labels.h"
#include "core/nodes/node_match.h"
#include "core/nodes/pod_request.h"

#define OBSTACLES_SHOWN 4

/* Distance of a Node from fitting the Pod, to report the closest one: a Node with the right devices
 * and the wrong label is closer than one without devices. */
enum cost {
	COST_BUSY = 1,
	COST_PASSING = 2,
	COST_ABSENT = 4,
	COST_TAINT = 16,
	COST_LABEL = 32,
	COST_SIZE = 48,
	COST_NO_DEVICE = 256,
};

struct judgement {
	struct arena *arena;
	enum node_fit_level level;
	int cost;
	size_t obstacles;
	bool passing; /* the Node is not ready for Pods, which may pass */
	const char *why;
};

void node_demand_init(struct node_demand *demand, const struct pod_spec *spec, bool template_only,
		      const struct device_table *devices, struct arena *arena)
{
	*demand = (struct node_demand){ .spec = spec,
					.request = pod_request_with_parts(spec, arena),
					.template_only = template_only };
	demand->rows = arena_array(arena, demand->request.count, sizeof(*demand->rows));
	for (size_t i = 0; i < demand->request.count; i++)
		demand->rows[i] = device_find(devices, demand->request.at[i].name);
}

static void judge(struct judgement *judgement, enum node_fit_level level, enum cost cost,
		  const char *why)
{
	if (level < judgement->level)
		judgement->level = level;
	judgement->cost += (int)cost;
	if (++judgement->obstacles <= OBSTACLES_SHOWN)
		judgement->why = arena_printf(judgement->arena, "%s%s%s", judgement->why,
					      judgement->why[0] != '\0' ? "; " : "", why);
}

static const char *name_text(struct arena *arena, const char *resource)
{
	return resource_name_text(arena, resource);
}

/* ---- devices that are not there ---- */

static bool has_device_label(const struct node *node)
{
	for (size_t i = 0; i < node->labels.count; i++)
		if (node_labels_is_device(node->labels.at[i].key))
			return true;
	return false;
}

/* The group selects Nodes by label, so a matching Node is intended for its Pods. */
static bool names_nodes(const struct pod_spec *spec)
{
	return spec->node_selector.count > 0 || spec->required_node_term_count > 0;
}

/* Other devices of the vendor: "nvidia.com/mig-1g.5gb". */
static const char *other_devices(const struct node_capacity *capacity, const char *resource,
				 struct arena *arena)
{
	size_t vendor = strcspn(resource, "/");
	const char *text = "";

	VEC_EACH(const struct node_amount, amount, capacity) {
		if (!amount->row || amount->row->share == DEVICE_QUALIFIER ||
		    amount->allocatable == 0 || strncmp(amount->resource, resource, vendor) != 0)
			continue;
		text = arena_printf(arena, "%s%s%s %s", text, text[0] != '\0' ? ", " : "",
				    pod_request_text(arena, amount->resource, amount->allocatable),
				    name_text(arena, amount->resource));
	}
	return text;
}

/* A device, of which the Node has none. */
static void judge_absent(const struct node_demand *demand, const struct node_capacity *capacity,
			 const struct resource *wanted, const struct node_amount *amount,
			 struct judgement *judgement)
{
	const char *others = other_devices(capacity, wanted->name, judgement->arena);
	const char *name = name_text(judgement->arena, wanted->name);
	const char *why;

	if (!amount && others[0] == '\0' && !has_device_label(capacity->node) &&
	    !names_nodes(demand->spec)) {
		judge(judgement, NODE_FIT_NEVER, COST_NO_DEVICE,
		      arena_printf(judgement->arena, "it has no %s", name));
		return;
	}
	if (judgement->passing)
		return; /* its devices may appear when it is ready */
	if (others[0] != '\0')
		why = arena_printf(judgement->arena, "it has no %s, but %s", name, others);
	else if (amount && amount->capacity > 0)
		why = arena_printf(judgement->arena,
				   "0 of its %s %s are allocatable: its device plugin calls them "
				   "unhealthy",
				   resource_amount_text(judgement->arena, amount->capacity), name);
	else
		why = arena_printf(judgement->arena,
				   "it offers %s%s: its device plugin is not up, or its devices "
				   "are cut otherwise",
				   amount ? "0 " : "no ", name);
	judge(judgement, NODE_FIT_ABSENT, COST_ABSENT, why);
}

/* ---- amounts ---- */

static void judge_short(const struct resource *wanted, const struct node_amount *amount,
			struct judgement *judgement)
{
	struct arena *arena = judgement->arena;
	const char *name = name_text(arena, wanted->name);
	const char *needed = pod_request_text(arena, wanted->name, wanted->amount);
	int64_t empty = node_amount_largest_empty(amount);

	if (wanted->amount > empty) {
		judge(judgement, NODE_FIT_NEVER, COST_SIZE,
		      arena_printf(arena, "it has %s %s%s, %s are needed",
				   pod_request_text(arena, wanted->name, empty), name,
				   amount->device_count > 0 ? " on each device" : "", needed));
		return;
	}
	if (amount->device_count > 0)
		judge(judgement, NODE_FIT_LATER, COST_BUSY,
		      arena_printf(arena,
				   "%s of %s %s are free, at most %s on one of its %zu devices, "
				   "%s are needed",
				   resource_amount_text(arena, node_amount_free(amount)),
				   resource_amount_text(arena, amount->allocatable), name,
				   resource_amount_text(arena, node_amount_largest(amount)),
				   amount->device_count, needed));
	else
		judge(judgement, NODE_FIT_LATER, COST_BUSY,
		      arena_printf(arena, "%s of %s %s are free, %s are needed",
				   pod_request_text(arena, wanted->name, node_amount_free(amount)),
				   pod_request_text(arena, wanted->name, amount->allocatable), name,
				   needed));
}

static void judge_amounts(const struct node_demand *demand, const struct node_capacity *capacity,
			  struct judgement *judgement)
{
	for (size_t i = 0; i < demand->request.count; i++) {
		const struct resource *wanted = &demand->request.at[i];
		const struct node_amount *amount = node_capacity_amount(capacity, wanted->name);
		const struct device_row *row = demand->rows[i];

		if (node_capacity_fits(capacity, wanted, row))
			continue;
		if (row && (!amount || amount->allocatable == 0))
			judge_absent(demand, capacity, wanted, amount, judgement);
		else if (!amount)
			judge(judgement, NODE_FIT_NEVER, COST_NO_DEVICE,
			      arena_printf(judgement->arena, "it has no %s",
					   name_text(judgement->arena, wanted->name)));
		else
			judge_short(wanted, amount, judgement);
	}
}

/* ---- the Node ---- */

/* Out of memory, just started, cordoned: taints that pass. Those of an end do not. */
static bool passes(const struct taint *taint)
{
	static const char *const prefixes[] = { "node.kubernetes.io/",
						"node.cloudprovider.kubernetes.io/uninitialized" };

	if (strcmp(taint->key, "node.kubernetes.io/out-of-service") == 0)
		return false;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(taint->key, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static void judge_node(const struct node_demand *demand, const struct node *node,
		       struct judgement *judgement)
{
	struct arena *arena = judgement->arena;
	const struct taint *taint = node_fit_taint(demand, node);
	const char *why = node_fit_labels_why(demand->spec, node, arena);

	if (why[0] != '\0')
		judge(judgement, NODE_FIT_NEVER, COST_LABEL, why);
	if (node_match_is_cordoned(demand->spec, node) && (!taint || passes(taint)))
		judge(judgement, NODE_FIT_LATER, COST_PASSING, "it is cordoned");
	else if (taint)
		judge(judgement, passes(taint) ? NODE_FIT_LATER : NODE_FIT_NEVER,
		      passes(taint) ? COST_PASSING : COST_TAINT,
		      arena_printf(arena, "taint %s%s%s:%s is not tolerated",
				   name_text(arena, taint->key), taint->value[0] != '\0' ? "=" : "",
				   name_text(arena, taint->value), taint->effect));
}

bool node_fit_accepts(const struct node_demand *demand, const struct node *node)
{
	return !node_match_is_cordoned(demand->spec, node) && node_match_is_ready(node) &&
	       node_match_selects(demand->spec, node) && !node_fit_taint(demand, node);
}

bool node_fit_has_room(const struct node_demand *demand, const struct node_capacity *capacity)
{
	for (size_t i = 0; i < demand->request.count; i++)
		if (!node_capacity_fits(capacity, &demand->request.at[i], demand->rows[i]))
			return false;
	return true;
}

void node_fit_check(const struct node_demand *demand, const struct node_capacity *capacity,
		    struct arena *arena, struct node_fit *ret_fit)
{
	struct judgement judgement = { .arena = arena, .level = NODE_FIT_NOW, .why = "" };
	bool ready = node_match_is_ready(capacity->node);

	judge_node(demand, capacity->node, &judgement);
	judgement.passing = judgement.level == NODE_FIT_LATER || !ready;
	if (!ready && judgement.cost == 0)
		judge(&judgement, NODE_FIT_LATER, COST_PASSING, "it is not Ready");
	judge_amounts(demand, capacity, &judgement);
	*ret_fit = (struct node_fit){ judgement.level, capacity, judgement.why, judgement.cost };
}

void node_fit_best(const struct node_demand *demand, const struct node_capacities *capacities,
		   struct arena *arena, struct node_fit *ret_fit)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT; /* for messages that are discarded */
	struct node_fit best = { .why = "" };

	for (size_t i = 0; i < capacities->count; i++) {
		struct node_fit fit;

		node_fit_check(demand, &capacities->at[i], &scratch, &fit);
		if (fit.level > best.level || (fit.level == best.level && fit.cost < best.cost))
			best = fit;
		arena_reset(&scratch);
	}
	best.why = "";
	if (best.capacity)
		node_fit_check(demand, best.capacity, arena, &best);
	*ret_fit = best;
}

/* ---- in words ---- */

/* The Node's amount of the resource; NULL when the Node does not match the Pod, or lacks it. */
static const struct node_amount *open_amount(const struct node_demand *demand,
					     const struct node_capacity *capacity,
					     const char *resource)
{
	if (!node_match_selects(demand->spec, capacity->node) ||
	    node_fit_taint(demand, capacity->node))
		return NULL;
	return node_capacity_amount(capacity, resource);
}

/* "; 6 nvidia.com/gpu are free on 2 Nodes that match, at most 3 on one": free devices that
 * fragmentation makes unusable. */
static const char *fragments_text(const struct node_demand *demand,
				  const struct node_capacities *capacities, struct arena *arena)
{
	for (size_t d = 0; d < demand->request.count; d++) {
		const struct resource *wanted = &demand->request.at[d];
		int64_t sum = 0, largest = 0;
		size_t nodes = 0;

		if (!demand->rows[d] || demand->rows[d]->share == DEVICE_QUALIFIER ||
		    wanted->amount == 0)
			continue;
		for (size_t i = 0; i < capacities->count; i++) {
			const struct node_amount *amount =
				open_amount(demand, &capacities->at[i], wanted->name);
			int64_t left = amount ? node_amount_free(amount) : 0;

			nodes += left > 0;
			sum = resource_sum(sum, left);
			if (left > 0 && node_amount_largest(amount) > largest)
				largest = node_amount_largest(amount);
		}
		if (nodes > 1 && sum >= wanted->amount && largest < wanted->amount)
			return arena_printf(arena,
					    "; fragmented: %s %s are free on %zu Nodes that match, "
					    "at most %s in one piece",
					    resource_amount_text(arena, sum),
					    name_text(arena, wanted->name), nodes,
					    resource_amount_text(arena, largest));
	}
	return "";
}

const char *node_fit_text(const struct node_demand *demand,
			  const struct node_capacities *capacities, const struct node_fit *best,
			  struct arena *arena)
{
	const char *node = best->capacity ? name_text(arena, best->capacity->node->name) : "";

	switch (best->level) {
	case NODE_FIT_NEVER:
		return arena_printf(arena,
				    "no Node of the cluster could ever hold it (a node autoscaler "
				    "would have to add one), the closest is Node %s: %s",
				    node, best->why);
	case NODE_FIT_ABSENT:
		return arena_printf(arena,
				    "Node %s is Ready and matches, but %s (a node autoscaler may "
				    "consider it unready)",
				    node, best->why);
	case NODE_FIT_LATER:
		return arena_printf(arena,
				    "waits for free capacity or for a new Node (node autoscaler), "
				    "the closest is Node %s: %s%s",
				    node, best->why, fragments_text(demand, capacities, arena));
	case NODE_FIT_NOW:
		if (capacities->partial)
			return arena_printf(
				arena,
				"Node %s could hold it when empty; the use by Pods of others "
				"there is unknown",
				node);
		return arena_printf(arena, "Node %s has free capacity for it now", node);
	case NODE_FIT_NONE:
		break;
	}
	return "";
}
