#include "feature/device_claims/core/device_nodes.h"

#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/sort.h"
#include "core/model/resources.h"

/* ---- the devices of a Node ---- */

/* No taint keeps new Pods away from it. */
static bool is_usable(const struct free_device *one)
{
	ARRAY_EACH(const struct taint, taint, one->taints, one->taint_count) {
		if (strcmp(taint->effect, "NoSchedule") == 0 ||
		    strcmp(taint->effect, "NoExecute") == 0)
			return false;
	}
	return true;
}

/* ---- classes with a name of an extended resource ---- */

/* A class that is not judged has no devices here: a Node gets none that it may not have. */
static bool is_of(const struct device_free *free, size_t class, size_t device)
{
	const struct device_matches *matches = free->class_matches[class];

	return *free->objects->classes[class].extended_resource != '\0' && matches &&
	       matches->set.bits && !matches->problem && device_matches_has(matches, device);
}

static bool has_extended(const struct device_free *free)
{
	for (size_t i = 0; i < free->objects->class_count; i++)
		if (*free->objects->classes[i].extended_resource != '\0')
			return true;
	return false;
}

/* ---- Nodes ---- */

static struct quantities with_amount(const struct quantities *amounts, const char *name,
				     int64_t count, struct arena *arena)
{
	struct quantity *all = arena_array(arena, amounts->count + 1, sizeof(*all));
	size_t kept = 0;

	for (size_t i = 0; i < amounts->count; i++)
		if (strcmp(amounts->at[i].name, name) != 0)
			all[kept++] = amounts->at[i];
	all[kept++] = (struct quantity){ .name = arena_strdup(arena, name),
					 .text = resource_amount_text(arena, count * RESOURCE_UNIT),
					 .valid = true,
					 .amount = count * RESOURCE_UNIT };
	return (struct quantities){ all, kept };
}

static bool has_amount(const struct quantities *amounts, const char *name)
{
	const struct quantity *found = quantities_find(amounts, name);

	return found && found->amount > 0;
}

/* Its devices are these. True: the Node got some of the class. */
static bool fill_node(const struct device_free *free, size_t first, size_t count, size_t class,
		      struct node *node, struct arena *arena)
{
	const char *resource = free->objects->classes[class].extended_resource;
	int64_t total = 0, usable = 0;

	if (node->allocatable.count == 0 || has_amount(&node->allocatable, resource))
		return false;
	for (size_t i = first; i < first + count; i++) {
		if (!is_of(free, class, i))
			continue;
		total++;
		usable += is_usable(&free->devices[i]);
	}
	if (total == 0)
		return false;
	node->capacity = with_amount(&node->capacity, resource, total, arena);
	node->allocatable = with_amount(&node->allocatable, resource, usable, arena);
	return true;
}

const struct node *device_nodes_fill(const struct device_free *free, const struct node *nodes,
				     size_t count, struct arena *arena)
{
	struct node *made;
	bool changed = false;

	if (!has_extended(free) || free->device_count == 0)
		return nodes;
	made = ARENA_COPY(arena, nodes, count);
	for (size_t i = 0; i < count; i++) {
		size_t first, devices = device_free_of_node(free, made[i].name, &first);

		if (devices == 0)
			continue;
		for (size_t class = 0; class < free->objects->class_count; class ++)
			changed |= fill_node(free, first, devices, class, &made[i], arena);
	}
	return changed ? made : nodes;
}

/* The table has no name for a device that a driver alone knows, so labels of the vendors count. */
bool device_nodes_lacks(const struct node *node, const struct device_table *devices)
{
	static const char *const prefixes[] = { "nvidia.com/gpu.", "amd.com/gpu.",
						"gpu.intel.com/" };
	bool expected = false;

	if (node->allocatable.count == 0)
		return false;
	for (size_t i = 0; i < node->labels.count; i++)
		for (size_t p = 0; p < sizeof(prefixes) / sizeof(prefixes[0]); p++)
			expected |= strncmp(node->labels.at[i].key, prefixes[p],
					    strlen(prefixes[p])) == 0;
	if (!expected)
		return false;
	for (size_t i = 0; i < node->allocatable.count; i++)
		if (node->allocatable.at[i].amount > 0 &&
		    device_find(devices, node->allocatable.at[i].name))
			return false;
	return true;
}

/* ---- Pods ---- */

struct holding {
	struct quantities amounts;
};

static void hold(struct map *holdings, const char *key, const char *resource, struct arena *arena)
{
	struct holding *found = map_get(holdings, key);
	const struct quantity *before;

	if (!found) {
		found = ARENA_NEW(arena, struct holding);
		map_set(holdings, key, found);
	}
	before = quantities_find(&found->amounts, resource);
	found->amounts = with_amount(&found->amounts, resource,
				     before ? before->amount / RESOURCE_UNIT + 1 : 1, arena);
}

static void hold_device(const struct device_free *free, size_t device, const char *key,
			struct map *holdings, struct arena *arena)
{
	for (size_t i = 0; i < free->objects->class_count; i++) {
		if (!is_of(free, i, device))
			continue;
		hold(holdings, key, free->objects->classes[i].extended_resource, arena);
		return;
	}
}

/* A claim that Pods share counts for the first. */
static void add_claim(const struct device_free *free, const struct resource_claim *claim,
		      struct map *holdings, struct arena *arena)
{
	const char *key;

	if (!claim->allocated || claim->pods.count == 0)
		return;
	key = arena_printf(arena, "%s/%s", claim->namespace_, claim->pods.at[0]);
	ARRAY_EACH(const struct claim_result, result, claim->results, claim->result_count) {
		const struct free_device *one =
			device_free_find(free, result->driver, result->pool, result->device);

		if (one && !result->admin_access)
			hold_device(free, (size_t)(one - free->devices), key, holdings, arena);
	}
}

static bool names(const struct pod_spec *spec, const char *resource)
{
	for (size_t c = 0; c < spec->container_count; c++)
		if (has_amount(&spec->containers[c].limits, resource) ||
		    has_amount(&spec->containers[c].requests, resource))
			return true;
	return false;
}

static void fill_pod(struct pod *pod, const struct quantities *more, struct arena *arena)
{
	size_t count = pod->spec.container_count;
	struct quantity *requests = arena_array(arena, more->count, sizeof(*requests));
	size_t added = 0;

	for (size_t i = 0; i < more->count; i++)
		if (!names(&pod->spec, more->at[i].name))
			requests[added++] = more->at[i];
	if (added == 0)
		return;
	pod->spec.containers =
		ARENA_JOIN(arena, pod->spec.containers, count,
			   (&(const struct container){
				   .name = "", .image = "", .requests = { requests, added } }),
			   1);
	pod->spec.container_count = count + 1;
}

const struct pod *device_nodes_fill_pods(const struct device_free *free, const struct pod *pods,
					 size_t count, struct arena *arena)
{
	struct map holdings = MAP_IN(arena);
	struct pod *made;

	if (has_extended(free))
		for (size_t i = 0; i < free->objects->claim_count; i++)
			add_claim(free, &free->objects->claims[i], &holdings, arena);
	if (holdings.count == 0)
		return pods;
	made = ARENA_COPY(arena, pods, count);
	for (size_t i = 0; i < count; i++) {
		const struct holding *found = map_get(
			&holdings, arena_printf(arena, "%s/%s", pods[i].namespace_, pods[i].name));

		if (found)
			fill_pod(&made[i], &found->amounts, arena);
	}
	return made;
}

/* ---- equal devices ---- */

struct stock_key {
	const char *driver, *type, *profile, *product;
	const struct free_device *one;
};

static int compare_keys(const void *left, const void *right)
{
	const struct stock_key *a = left, *b = right;
	int order = strcmp(a->driver, b->driver);

	order = order != 0 ? order : strcmp(a->type, b->type);
	order = order != 0 ? order : strcmp(a->profile, b->profile);
	return order != 0 ? order : strcmp(a->product, b->product);
}

static struct device_stock stock_of(const struct stock_key *key, struct arena *arena)
{
	return (struct device_stock){ .driver = key->driver,
				      .type = *key->profile == '\0' ?
						      key->type :
						      arena_printf(arena, "%s %s", key->type,
								   key->profile),
				      .product = key->product };
}

const struct device_stock *device_nodes_stocks(const struct device_free *free, struct arena *arena,
					       size_t *ret_count)
{
	static const struct device_ask any = { .name = "", .device_class = "", .count = 1 };
	struct stock_key *keys = arena_array(arena, free->device_count, sizeof(*keys));
	VEC(struct device_stock) stocks = { .at = NULL };

	for (size_t i = 0; i < free->device_count; i++) {
		const struct free_device *one = &free->devices[i];

		keys[i] = (struct stock_key){ one->slice->driver,
					      device_free_attribute(one, "type"),
					      device_free_attribute(one, "profile"),
					      device_free_attribute(one, "productName"), one };
	}
	sort_stable(keys, free->device_count, sizeof(*keys), compare_keys);
	for (size_t i = 0; i < free->device_count; i++) {
		if (i == 0 || compare_keys(&keys[i - 1], &keys[i]) != 0) {
			if (stocks.count == DEVICE_STOCKS_MAX)
				break;
			VEC_PUSH(arena, &stocks, stock_of(&keys[i], arena));
		}
		device_count_add(&stocks.at[stocks.count - 1].count, &any, keys[i].one);
	}
	*ret_count = stocks.count;
	return stocks.at;
}
