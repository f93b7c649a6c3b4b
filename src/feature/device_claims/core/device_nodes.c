#include "feature/device_claims/core/device_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "core/model/resources.h"

/* ---- the devices of a Node ---- */

/* No taint keeps new Pods away from it. */
static bool is_usable(const struct free_device *one)
{
	ARRAY_EACH(const struct taint, taint, one->device->taints, one->device->taint_count) {
		if (strcmp(taint->effect, "NoSchedule") == 0 ||
		    strcmp(taint->effect, "NoExecute") == 0)
			return false;
	}
	return true;
}

/* ---- classes with a name of an extended resource ---- */

struct extended {
	const char *resource;
	struct device_selection selection;
};

/* Each device is judged once for each class: where there are more, the rest has no class. */
#define JUDGED_MAX 300000

struct extended_list {
	VEC(struct extended) at;
	size_t judged;
};

static struct extended_list extended_of(const struct device_free *free, struct arena *arena)
{
	struct extended_list list = { .judged = 0 };

	ARRAY_EACH(const struct device_class, class, free->objects->classes,
		   free->objects->class_count) {
		const struct device_ask ask = { .device_class = class->name, .count = 1 };
		struct extended one = { .resource = class->extended_resource };

		if (*class->extended_resource == '\0')
			continue;
		device_free_select(free, &ask, arena, &one.selection);
		VEC_PUSH(arena, &list.at, one);
	}
	return list;
}

/* A class that is not judged has no devices here: a Node gets none that it may not have. */
static bool is_of(struct extended_list *list, const struct extended *extended,
		  const struct free_device *one)
{
	return list->judged++ < JUDGED_MAX && !extended->selection.no_class &&
	       device_free_matches(&extended->selection, one) == CEL_YES;
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

/* True: the Node got some. */
static bool fill_node(const struct device_free *free, struct extended_list *list,
		      const struct extended *extended, struct node *node, struct arena *arena)
{
	size_t count;
	struct free_device *const *devices = device_free_of_node(free, node->name, &count);
	int64_t total = 0, usable = 0;

	if (node->allocatable.count == 0 || has_amount(&node->allocatable, extended->resource))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!is_of(list, extended, devices[i]))
			continue;
		total++;
		usable += is_usable(devices[i]);
	}
	if (total == 0 || list->judged > JUDGED_MAX)
		return false;
	node->capacity = with_amount(&node->capacity, extended->resource, total, arena);
	node->allocatable = with_amount(&node->allocatable, extended->resource, usable, arena);
	return true;
}

const struct node *device_nodes_fill(const struct device_free *free, const struct node *nodes,
				     size_t count, struct arena *arena)
{
	struct extended_list list = extended_of(free, arena);
	struct node *made;
	bool changed = false;

	if (list.at.count == 0 || free->device_count == 0)
		return nodes;
	made = ARENA_COPY(arena, nodes, count);
	for (size_t i = 0; i < count; i++)
		VEC_EACH(const struct extended, extended, &list.at)
			changed |= fill_node(free, &list, extended, &made[i], arena);
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

/* A claim that Pods share counts for the first. */
static void add_claim(const struct device_free *free, struct extended_list *list,
		      const struct resource_claim *claim, struct map *holdings, struct arena *arena)
{
	const char *key;

	if (!claim->allocated || claim->pods.count == 0)
		return;
	key = arena_printf(arena, "%s/%s", claim->namespace_, claim->pods.at[0]);
	ARRAY_EACH(const struct claim_result, result, claim->results, claim->result_count) {
		const struct free_device *one =
			device_free_find(free, result->driver, result->pool, result->device);

		if (one && !result->admin_access)
			for (size_t i = 0; i < list->at.count; i++) {
				if (!is_of(list, &list->at.at[i], one))
					continue;
				hold(holdings, key, list->at.at[i].resource, arena);
				break;
			}
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
	struct extended_list list = extended_of(free, arena);
	AUTO(map_done) struct map holdings = MAP_INIT;
	struct pod *made;

	if (list.at.count > 0)
		for (size_t i = 0; i < free->objects->claim_count; i++)
			add_claim(free, &list, &free->objects->claims[i], &holdings, arena);
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

#define STOCKS_JUDGED_MAX ((size_t)10 * 1000 * 1000) /* devices, for all rows together */

struct stock_key {
	const char *driver, *type, *profile, *product;
};

static int compare_keys(const void *left, const void *right)
{
	const struct stock_key *a = left, *b = right;
	int order = strcmp(a->driver, b->driver);

	order = order != 0 ? order : strcmp(a->type, b->type);
	order = order != 0 ? order : strcmp(a->profile, b->profile);
	return order != 0 ? order : strcmp(a->product, b->product);
}

/* It does not end a literal of CEL. */
static bool is_plain(const char *text)
{
	return text[strcspn(text, "'\\\n\r")] == '\0';
}

/* " && device.attributes['gpu.nvidia.com'].type == 'gpu'". Text that would end the literal selects
 * all. */
static const char *and_equal(struct arena *arena, const char *before, const char *driver,
			     const char *name, const char *value)
{
	if (*value == '\0' || !is_plain(value) || !is_plain(driver))
		return before;
	return arena_printf(arena, "%s && device.attributes['%s'].%s == '%s'", before, driver, name,
			    value);
}

static void count_stock(const struct device_free *free, const struct stock_key *key,
			struct arena *arena, struct device_stock *ret)
{
	const char *text = arena_printf(arena, "device.driver == '%s'",
					is_plain(key->driver) ? key->driver : "");
	struct device_ask ask = { .device_class = "", .count = 1 };

	text = and_equal(arena, text, key->driver, "type", key->type);
	text = and_equal(arena, text, key->driver, "profile", key->profile);
	text = and_equal(arena, text, key->driver, "productName", key->product);
	ask.selectors = (struct strings){ &text, 1 };
	*ret = (struct device_stock){ .driver = key->driver,
				      .type = *key->profile == '\0' ?
						      key->type :
						      arena_printf(arena, "%s %s", key->type,
								   key->profile),
				      .product = key->product };
	device_free_count(free, &ask, arena, &ret->count);
}

const struct device_stock *device_nodes_stocks(const struct device_free *free, struct arena *arena,
					       size_t *ret_count)
{
	struct stock_key *keys = arena_array(arena, free->device_count, sizeof(*keys));
	struct device_objects without_classes = *free->objects;
	struct device_free all = *free;
	struct device_stock *stocks;
	size_t count = 0;

	for (size_t i = 0; i < free->device_count; i++)
		keys[i] = (struct stock_key){
			free->devices[i].slice->driver,
			device_free_attribute(&free->devices[i], "type"),
			device_free_attribute(&free->devices[i], "profile"),
			device_free_attribute(&free->devices[i], "productName"),
		};
	if (free->device_count > 0)
		qsort(keys, free->device_count, sizeof(*keys), compare_keys);
	for (size_t i = 0; i < free->device_count && count < DEVICE_STOCKS_MAX &&
			   count * free->device_count < STOCKS_JUDGED_MAX;
	     i++)
		if (count == 0 || compare_keys(&keys[count - 1], &keys[i]) != 0)
			keys[count++] = keys[i];
	/* An ask of no known class is for all devices. */
	without_classes.class_count = 0;
	without_classes.classes_known = false;
	all.objects = &without_classes;
	stocks = arena_array(arena, count, sizeof(*stocks));
	for (size_t i = 0; i < count; i++)
		count_stock(&all, &keys[i], arena, &stocks[i]);
	*ret_count = count;
	return stocks;
}
