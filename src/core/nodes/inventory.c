#include "core/nodes/inventory.h"

#include <string.h>

#include "base/check.h"
#include "base/sort.h"
#include "core/nodes/gpu_part.h"
#include "core/nodes/node_match.h"
#include "core/nodes/pod_request.h"

/* The other resources that limit how many measuring Pods fit beside the devices. */
static const char *const companions[] = { "cpu", "memory", POD_REQUEST_PODS };

struct maker {
	struct arena *arena;
	struct inventory *inventory;
	struct node_capacities *capacities;
	const struct device_table *devices;
	/* The smallest_request of each total. */
	const struct pod **smallest_requests;
	VEC(struct quantity) parts; /* gpu_part_is, that a Pod asks for: names alone */
};

/* Parts by annotation only where Pods ask for them: each Node with GPUs has some. */
static bool is_shown(const struct maker *m, const struct node_amount *amount)
{
	return amount->row && amount->row->share != DEVICE_QUALIFIER &&
	       (!gpu_part_is(amount->resource) || VEC_FIND(&m->parts, name, amount->resource));
}

/* ---- Nodes ---- */

static bool is_shared(const struct node *node)
{
	const char *value = labels_value(&node->labels, "gpushare");

	return value && strcmp(value, "true") == 0;
}

static void find_parts(struct maker *m, const struct pod *pod)
{
	struct resources request = pod_request_with_parts(&pod->spec, m->arena);

	for (size_t i = 0; i < request.count; i++)
		if (gpu_part_is(request.at[i].name) &&
		    !VEC_FIND(&m->parts, name, request.at[i].name))
			VEC_PUSH(m->arena, &m->parts,
				 ((struct quantity){ .name = request.at[i].name }));
}

static void make_node(const struct maker *m, const struct node_capacity *capacity,
		      struct inventory_node *ret)
{
	*ret = (struct inventory_node){ .capacity = capacity,
					.ready = node_match_is_ready(capacity->node),
					.shared = is_shared(capacity->node) };
	ret->at = arena_array(m->arena, capacity->count, sizeof(*ret->at));
	for (size_t i = 0; i < capacity->count; i++)
		if (is_shown(m, &capacity->at[i]))
			ret->at[ret->count++] =
				(struct inventory_resource){ .amount = &capacity->at[i],
							     .stranded_why = "" };
}

static void make_nodes(const struct maker *m)
{
	struct inventory *inventory = m->inventory;

	inventory->nodes = arena_array(m->arena, m->capacities->count, sizeof(*inventory->nodes));
	for (size_t i = 0; i < m->capacities->count; i++) {
		struct inventory_node *node = &inventory->nodes[inventory->node_count];

		make_node(m, &m->capacities->at[i], node);
		if (node->count > 0)
			inventory->node_count++;
		else
			inventory->other_nodes++;
	}
}

static int compare_capacity(const void *key, const void *node)
{
	const struct node_capacity *a = key, *b = ((const struct inventory_node *)node)->capacity;

	return (a > b) - (a < b);
}

static struct inventory_node *find_node(const struct inventory *inventory,
					const struct node_capacity *capacity)
{
	return SORT_FIND(capacity, inventory->nodes, inventory->node_count, compare_capacity);
}

/* ---- users ---- */

static struct inventory_user user_of(const struct pod *pod, int64_t amount, size_t device)
{
	const char *cluster = labels_value(&pod->labels, LABEL_CLUSTER);
	const char *group = labels_value(&pod->labels, LABEL_GROUP);

	return (struct inventory_user){ .pod = pod,
					.cluster = cluster ? cluster : "",
					.group = group ? group : "",
					.amount = amount,
					.device = device };
}

/* Adds the Pod as node_capacity counts it: device by device, and the rest on no known device. */
static void add_user(const struct maker *m, struct inventory_resource *resource,
		     const struct pod *pod, int64_t wanted)
{
	int64_t left = wanted;

	for (size_t i = 0; i < pod->device_use_count && left > 0; i++) {
		const struct device_use *use = &pod->device_uses[i];
		int64_t part = use->amount == 0 || use->amount > left ? left : use->amount;

		if (use->device < 0 || (size_t)use->device >= resource->amount->device_count)
			continue;
		VEC_PUSH(m->arena, &resource->users, user_of(pod, part, (size_t)use->device));
		left -= part;
	}
	if (left > 0)
		VEC_PUSH(m->arena, &resource->users, user_of(pod, left, INVENTORY_NO_DEVICE));
}

static void add_users(const struct maker *m, struct inventory_node *node, const struct pod *pod)
{
	struct resources request = pod_request_with_parts(&pod->spec, m->arena);

	for (size_t i = 0; i < node->count; i++) {
		int64_t wanted = resources_amount(&request, node->at[i].amount->resource, 0);

		if (wanted > 0)
			add_user(m, &node->at[i], pod, wanted);
	}
}

static int compare_users(const void *a, const void *b)
{
	const struct inventory_user *left = a, *right = b;
	int order = strcmp(left->pod->namespace_, right->pod->namespace_);

	if (order == 0)
		order = strcmp(left->pod->name, right->pod->name);
	return order != 0 ? order : (left->device > right->device) - (left->device < right->device);
}

/* ---- totals ---- */

static struct inventory_total *find_total(const struct inventory *inventory, const char *resource)
{
	return ARRAY_FIND(inventory->totals, inventory->total_count, resource, resource);
}

static int compare_totals(const void *a, const void *b)
{
	return strcmp(((const struct inventory_total *)a)->resource,
		      ((const struct inventory_total *)b)->resource);
}

/* Whether the Pod has no Node and may still be scheduled. */
static bool waits(const struct pod *pod)
{
	return pod->spec.node_name[0] == '\0' && !pod->deleting &&
	       (pod->phase[0] == '\0' || strcmp(pod->phase, "Pending") == 0);
}

struct totals {
	VEC(struct inventory_total) list;
};

static struct inventory_total *add_total(const struct maker *m, struct totals *totals,
					 const char *resource, const struct device_row *row)
{
	struct inventory_total *known = VEC_FIND(&totals->list, resource, resource);

	if (known)
		return known;
	VEC_PUSH(m->arena, &totals->list,
		 ((struct inventory_total){
			 .resource = resource, .row = row, .smallest_request_pod = "" }));
	return &totals->list.at[totals->list.count - 1];
}

static void add_waiting(const struct maker *m, struct totals *totals, const struct pod *pod)
{
	struct resources request = pod_request_with_parts(&pod->spec, m->arena);

	for (size_t i = 0; i < request.count; i++) {
		const struct device_row *row = device_find(m->devices, request.at[i].name);

		if (!row || row->share == DEVICE_QUALIFIER || request.at[i].amount == 0)
			continue;
		struct inventory_total *total = add_total(m, totals, request.at[i].name, row);
		total->waiting_pods++;
		total->waiting = resource_sum(total->waiting, request.at[i].amount);
	}
}

static void make_totals(const struct maker *m, const struct pod *pods, size_t pod_count)
{
	struct inventory *inventory = m->inventory;
	struct totals totals = { .list = { .at = NULL } };

	for (size_t n = 0; n < inventory->node_count; n++) {
		for (size_t i = 0; i < inventory->nodes[n].count; i++) {
			const struct node_amount *amount = inventory->nodes[n].at[i].amount;
			struct inventory_total *total =
				add_total(m, &totals, amount->resource, amount->row);

			total->allocatable = resource_sum(total->allocatable, amount->allocatable);
			total->used = resource_sum(total->used, amount->used);
			total->nodes++;
		}
	}
	for (size_t i = 0; i < pod_count; i++)
		if (waits(&pods[i]))
			add_waiting(m, &totals, &pods[i]);
	sort_stable(totals.list.at, totals.list.count, sizeof(struct inventory_total),
		    compare_totals);
	inventory->totals = totals.list.at;
	inventory->total_count = totals.list.count;
}

/* ---- stranded devices ---- */

/* Selects the Pod that measures free devices: a waiting one before a running one, then the smaller
 * one (devices that even it cannot use are useless to all), then by name, so that the order of the
 * Pods does not matter. */
static bool is_better_smallest_request(const struct inventory_total *total, const struct pod *old,
				       const struct pod *pod, int64_t amount)
{
	if (!old || waits(pod) != total->smallest_request_waits)
		return !old || waits(pod);
	if (amount != total->smallest_request)
		return amount < total->smallest_request;
	int order = strcmp(pod->namespace_, old->namespace_);
	return (order != 0 ? order : strcmp(pod->name, old->name)) < 0;
}

static void measure(const struct maker *m, const struct pod *pod)
{
	struct resources request = pod_request_with_parts(&pod->spec, m->arena);

	for (size_t i = 0; i < request.count; i++) {
		struct inventory_total *total = find_total(m->inventory, request.at[i].name);

		if (!total || request.at[i].amount == 0)
			continue;
		const struct pod **smallest_request =
			&m->smallest_requests[total - m->inventory->totals];
		if (!is_better_smallest_request(total, *smallest_request, pod,
						request.at[i].amount))
			continue;
		*smallest_request = pod;
		total->smallest_request = request.at[i].amount;
		total->smallest_request_waits = waits(pod);
		total->smallest_request_pod =
			arena_printf(m->arena, "%s/%s", pod->namespace_, pod->name);
	}
}

/* The number of Pods of this size that still fit the devices, device by device. */
static int64_t places_of(const struct node_amount *amount, int64_t size)
{
	int64_t places = 0;

	if (amount->device_count == 0)
		return node_amount_free(amount) / size;
	for (size_t i = 0; i < amount->device_count; i++)
		places += node_device_free(&amount->devices[i]) / size;
	return places;
}

/* Limits `places` by CPU, memory and the number of Pods; *ret_scarce: the resource that limits it,
 * NULL: the devices. */
static int64_t places_beside(const struct maker *m, const struct node_capacity *capacity,
			     const struct pod *smallest_request, int64_t parts, int64_t places,
			     const char **ret_scarce)
{
	struct resources request = pod_request_with_parts(&smallest_request->spec, m->arena);

	for (size_t i = 0; i < sizeof(companions) / sizeof(companions[0]); i++) {
		const struct node_amount *amount = node_capacity_amount(capacity, companions[i]);
		int64_t size = resources_amount(&request, companions[i], 0) / parts;

		if (!amount || size == 0 || node_amount_free(amount) / size >= places)
			continue;
		places = node_amount_free(amount) / size;
		*ret_scarce = companions[i];
	}
	return places;
}

static const char *stranded_why(const struct maker *m, const struct inventory_total *total,
				const struct node_capacity *capacity,
				const struct node_amount *amount, const char *scarce)
{
	const char *name = total->smallest_request_pod;
	const char *size = resource_amount_text(m->arena, total->smallest_request);
	const struct node_amount *rest;

	if (scarce) {
		rest = node_capacity_amount(capacity, scarce);
		return arena_printf(m->arena, "only %s %s are free for a Pod as %s",
				    pod_request_text(m->arena, scarce, node_amount_free(rest)),
				    scarce, name);
	}
	if (amount->device_count > 0)
		return arena_printf(m->arena,
				    "at most %s in one piece, a Pod as %s needs %s on one device",
				    resource_amount_text(m->arena, node_amount_largest(amount)),
				    name, size);
	return arena_printf(m->arena, "a Pod as %s needs %s on one Node", name, size);
}

/* Free partitions of another profile than the one that Pods wait for: a MIG instance cannot change
 * its profile. */
static const struct inventory_total *waiting_for_other_profile(const struct maker *m,
							       const struct inventory_total *total)
{
	size_t vendor = strcspn(total->resource, "/");

	if (total->row->share != DEVICE_SLICE || total->waiting_pods > 0)
		return NULL;
	ARRAY_EACH(const struct inventory_total, other, m->inventory->totals,
		   m->inventory->total_count) {
		if (other != total && other->row->share == DEVICE_SLICE &&
		    other->waiting_pods > 0 && other->allocatable - other->used < other->waiting &&
		    strncmp(other->resource, total->resource, vendor + 1) == 0)
			return other;
	}
	return NULL;
}

/* Computes the stranded amount of a resource on one Node: all of it when Pods wait for another
 * profile, else the free amount that remains after as many measuring Pods as fit. Without waiting
 * Pods, whole devices are measured one by one. */
static void judge(const struct maker *m, const struct inventory_node *node,
		  struct inventory_resource *resource)
{
	const struct node_amount *amount = resource->amount;
	struct inventory_total *total = find_total(m->inventory, amount->resource);
	int64_t left = node_amount_free(amount), places;
	const char *scarce = NULL;

	CHECK(total); /* make_totals has one for each resource of a Node */
	if (left == 0)
		return;
	const struct inventory_total *other = waiting_for_other_profile(m, total);
	const struct pod *smallest_request = m->smallest_requests[total - m->inventory->totals];
	if (other) {
		resource->stranded = left;
		resource->stranded_why =
			arena_printf(m->arena, "Pods wait for %s, and partitions are fixed",
				     resource_name_text(m->arena, other->resource));
	} else if (smallest_request) {
		/* Without waiting Pods, a single free device counts as usable. */
		int64_t parts = total->smallest_request_waits || amount->device_count > 0 ||
						total->smallest_request < RESOURCE_UNIT ?
					1 :
					total->smallest_request / RESOURCE_UNIT;

		places = places_of(amount, total->smallest_request / parts);
		places = places_beside(m, node->capacity, smallest_request, parts, places, &scarce);
		/* With overcommitted devices, more can fit by device than is free in sum. */
		resource->stranded = left - places * (total->smallest_request / parts);
		if (resource->stranded < 0)
			resource->stranded = 0;
		if (resource->stranded > 0)
			resource->stranded_why =
				stranded_why(m, total, node->capacity, amount, scarce);
	}
	CHECK(resource->stranded <= left);
	CHECK((resource->stranded > 0) == (resource->stranded_why[0] != '\0'));
	total->stranded = resource_sum(total->stranded, resource->stranded);
}

static void check_inventory(const struct inventory *inventory)
{
	CHECK(inventory->node_count + inventory->other_nodes == inventory->capacities->count);
	for (size_t i = 0; i < inventory->total_count; i++) {
		const struct inventory_total *total = &inventory->totals[i];

		CHECK(i == 0 || strcmp(total[-1].resource, total->resource) < 0);
		CHECK(total->nodes > 0 || total->waiting_pods > 0);
		CHECK((total->waiting_pods > 0) == (total->waiting > 0));
		CHECK((total->smallest_request > 0) == (total->smallest_request_pod[0] != '\0'));
		CHECK(total->stranded <= total->allocatable);
	}
}

void inventory_make(struct inventory *ret, const struct node *nodes, size_t node_count,
		    const struct pod *pods, size_t pod_count, const struct device_table *devices,
		    struct arena *arena)
{
	struct maker m = { .arena = arena, .inventory = ret, .devices = devices };

	m.capacities = ARENA_NEW(arena, struct node_capacities);
	node_capacities_init(m.capacities, nodes, node_count, devices, arena);
	*ret = (struct inventory){ .capacities = m.capacities };
	for (size_t i = 0; i < pod_count; i++)
		find_parts(&m, &pods[i]);
	make_nodes(&m);
	for (size_t i = 0; i < pod_count; i++) {
		const struct node_capacity *capacity =
			node_capacities_count(m.capacities, &pods[i], 1);
		struct inventory_node *node = capacity ? find_node(ret, capacity) : NULL;

		if (node)
			add_users(&m, node, &pods[i]);
	}
	node_capacities_settle(m.capacities);
	make_totals(&m, pods, pod_count);
	m.smallest_requests = arena_array(arena, ret->total_count, sizeof(*m.smallest_requests));
	for (size_t i = 0; i < pod_count; i++)
		if (pod_request_holds(&pods[i]) || waits(&pods[i]))
			measure(&m, &pods[i]);
	for (size_t n = 0; n < ret->node_count; n++) {
		VEC_EACH(struct inventory_resource, resource, &ret->nodes[n]) {
			sort_stable(resource->users.at, resource->users.count,
				    sizeof(struct inventory_user), compare_users);
			judge(&m, &ret->nodes[n], resource);
		}
	}
	check_inventory(ret);
}
