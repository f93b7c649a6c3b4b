#include "core/nodes/node_capacity.h"

#include <string.h>

#include "base/check.h"
#include "base/sort.h"
#include "core/nodes/gpu_part.h"
#include "core/nodes/pod_request.h"

static int compare_capacities(const void *a, const void *b)
{
	return strcmp(((const struct node_capacity *)a)->node->name,
		      ((const struct node_capacity *)b)->node->name);
}

static int compare_amounts(const void *a, const void *b)
{
	return strcmp(((const struct node_amount *)a)->resource,
		      ((const struct node_amount *)b)->resource);
}

struct node_amount *node_capacity_amount(const struct node_capacity *capacity, const char *resource)
{
	const struct node_amount key = { .resource = resource };

	return SORT_FIND(&key, capacity->at, capacity->count, compare_amounts);
}

static int64_t amount_of(const struct quantities *quantities, const char *name)
{
	const struct quantity *found = quantities_find(quantities, name);

	return found ? found->amount : 0;
}

/* Makes equal devices: a Node has only their number and the sum (aliyun.com/gpu-count and
 * gpu-mem). */
static void make_devices(const struct node_capacities *capacities, const struct node *node,
			 struct node_amount *amount)
{
	if (!amount->row || amount->row->share != DEVICE_MEMORY ||
	    amount->row->count_resource[0] == '\0')
		return;
	int64_t count = amount_of(&node->capacity, amount->row->count_resource) / RESOURCE_UNIT;
	if (count < 1 || count > NODE_DEVICES_MAX)
		return;
	amount->devices = arena_array(capacities->arena, (size_t)count, sizeof(*amount->devices));
	amount->device_count = (size_t)count;
	for (size_t i = 0; i < amount->device_count; i++)
		amount->devices[i].total =
			amount->allocatable / RESOURCE_UNIT / count * RESOURCE_UNIT;
}

static void make_room(const struct node_capacities *capacities, const struct node *node,
		      struct node_capacity *capacity)
{
	size_t most = node->capacity.count + node->allocatable.count;
	int64_t parts[GPU_PART_AMOUNTS];
	struct node_amount *amounts =
		arena_array(capacities->arena, most + GPU_PART_AMOUNTS, sizeof(*amounts));
	size_t count = 0;

	for (size_t i = 0; i < node->allocatable.count; i++)
		amounts[i] = (struct node_amount){
			.resource = node->allocatable.at[i].name,
			.allocatable = node->allocatable.at[i].amount,
			.has_allocatable = true,
		};
	for (size_t i = 0; i < node->capacity.count; i++)
		amounts[node->allocatable.count + i] = (struct node_amount){
			.resource = node->capacity.at[i].name,
			.capacity = node->capacity.at[i].amount,
		};
	gpu_part_totals(node, parts);
	for (size_t i = 0; i < GPU_PART_AMOUNTS; i++)
		if (parts[i] > 0)
			amounts[most++] = (struct node_amount){
				.resource = gpu_part_names[i],
				.capacity = parts[i],
				.allocatable = parts[i],
				.has_allocatable = true,
			};
	/* Of a name the allocatable amount is first. */
	sort_stable(amounts, most, sizeof(*amounts), compare_amounts);
	for (size_t i = 0; i < most; i++) {
		if (count > 0 && compare_amounts(&amounts[count - 1], &amounts[i]) == 0)
			amounts[count - 1].capacity = amounts[i].capacity;
		else
			amounts[count++] = amounts[i];
	}
	for (size_t i = 0; i < count; i++) {
		amounts[i].row = device_find(capacities->devices, amounts[i].resource);
		make_devices(capacities, node, &amounts[i]);
	}
	*capacity = (struct node_capacity){ node, amounts, count };
	CHECK(count > 0 && count <= most);
}

void node_capacities_init(struct node_capacities *capacities, const struct node *nodes,
			  size_t count, const struct device_table *devices, struct arena *arena)
{
	*capacities = (struct node_capacities){ .devices = devices, .arena = arena };
	capacities->at = arena_array(arena, count, sizeof(*capacities->at));
	for (size_t i = 0; i < count; i++)
		if (nodes[i].allocatable.count > 0)
			make_room(capacities, &nodes[i], &capacities->at[capacities->count++]);
	sort_stable(capacities->at, capacities->count, sizeof(*capacities->at), compare_capacities);
	CHECK(capacities->count <= count);
}

static struct node_capacity *find_capacity(const struct node_capacities *capacities,
					   const char *name)
{
	struct node wanted = { .name = name };
	struct node_capacity key = { .node = &wanted };

	return SORT_FIND(&key, capacities->at, capacities->count, compare_capacities);
}

static void add_to_devices(const struct node_capacities *capacities, struct node_amount *amount,
			   const struct pod *pod, int64_t wanted)
{
	int64_t left = wanted;

	for (size_t i = 0; i < pod->device_use_count && left > 0; i++) {
		const struct device_use *use = &pod->device_uses[i];
		int64_t part = use->amount == 0 || use->amount > left ? left : use->amount;
		struct node_device *device;

		if (use->device < 0 || (size_t)use->device >= amount->device_count)
			continue;
		device = &amount->devices[use->device];
		device->used = resource_sum(device->used, part);
		left -= part;
	}
	if (left == 0)
		return;
	CHECK(left > 0 && left <= wanted);
	amount->unplaced = resource_sum(amount->unplaced, left);
	VEC_PUSH(capacities->arena, &amount->waiting, left);
}

static void add_parts(struct node_capacity *capacity, const struct pod *pod,
		      const struct resources *request)
{
	int64_t used[GPU_PART_AMOUNTS];

	gpu_part_used(capacity->node, pod, request, used);
	for (size_t i = 0; i < GPU_PART_AMOUNTS; i++) {
		struct node_amount *amount =
			used[i] > 0 ? node_capacity_amount(capacity, gpu_part_names[i]) : NULL;

		if (amount)
			amount->used = resource_sum(amount->used, used[i]);
	}
}

struct node_capacity *node_capacities_add(struct node_capacities *capacities, const struct pod *pod)
{
	if (!pod_request_holds(pod))
		return NULL;
	struct node_capacity *capacity = find_capacity(capacities, pod->spec.node_name);
	if (!capacity)
		return NULL;
	struct resources request = pod_request_with_parts(&pod->spec, capacities->arena);
	for (size_t i = 0; i < request.count; i++) {
		struct node_amount *amount = node_capacity_amount(capacity, request.at[i].name);

		if (!amount || request.at[i].amount == 0)
			continue;
		amount->used = resource_sum(amount->used, request.at[i].amount);
		if (amount->device_count > 0)
			add_to_devices(capacities, amount, pod, request.at[i].amount);
	}
	add_parts(capacity, pod, &request);
	return capacity;
}

int64_t node_device_free(const struct node_device *device)
{
	int64_t taken = resource_sum(device->used, device->forecast);

	return taken < device->total ? device->total - taken : 0;
}

static int compare_descending(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return left < right ? 1 : left > right ? -1 : 0;
}

/* Places an amount as the gpushare extender does: on the device with the smallest sufficient free
 * amount. An amount that fits no device fills the emptiest one. */
static struct node_device *device_for(const struct node_amount *amount, int64_t wanted)
{
	struct node_device *best = NULL, *most = &amount->devices[0];

	ARRAY_EACH(struct node_device, device, amount->devices, amount->device_count) {
		int64_t left = node_device_free(device);

		if (left >= wanted && (!best || left < node_device_free(best)))
			best = device;
		if (left > node_device_free(most))
			most = device;
	}
	CHECK(!best || node_device_free(best) >= wanted);
	return best ? best : most;
}

static void place(struct node_amount *amount, int64_t wanted)
{
	struct node_device *device = device_for(amount, wanted);

	device->forecast = resource_sum(device->forecast, wanted);
}

void node_uses_add(struct node_uses *uses, struct arena *arena, int64_t *at, int64_t value)
{
	VEC_PUSH(arena, &uses->list, ((struct node_use){ at, *at }));
	*at = resource_sum(*at, value);
}

void node_uses_undo(struct node_uses *uses)
{
	for (size_t i = uses->list.count; i > 0; i--)
		*uses->list.at[i - 1].at = uses->list.at[i - 1].before;
	uses->list.count = 0;
}

void node_capacity_take(struct node_capacity *capacity, const struct resources *request,
			struct arena *arena, struct node_uses *ret_uses)
{
	for (size_t i = 0; i < request->count; i++) {
		struct node_amount *amount = node_capacity_amount(capacity, request->at[i].name);
		int64_t wanted = request->at[i].amount;

		if (!amount || wanted == 0)
			continue;
		node_uses_add(ret_uses, arena, &amount->used, wanted);
		if (amount->device_count > 0)
			node_uses_add(ret_uses, arena, &device_for(amount, wanted)->forecast,
				      wanted);
	}
}

static void check_amount(const struct node_amount *amount)
{
	CHECK(amount->used >= 0 && amount->used <= RESOURCE_AMOUNT_MAX);
	CHECK(amount->unplaced >= 0 && amount->unplaced <= amount->used);
	CHECK(amount->waiting.count == 0);
	CHECK(amount->device_count <= NODE_DEVICES_MAX);
	CHECK(node_amount_largest(amount) <= node_amount_free(amount));
	ARRAY_EACH(const struct node_device, device, amount->devices, amount->device_count) {
		CHECK(device->used >= 0 && device->forecast >= 0);
		CHECK(node_device_free(device) <= device->total);
	}
}

void node_capacities_finish(struct node_capacities *capacities)
{
	for (size_t r = 0; r < capacities->count; r++) {
		VEC_EACH(struct node_amount, amount, &capacities->at[r]) {
			/* The largest first, so that the order of the Pods does not matter. */
			sort_stable(amount->waiting.at, amount->waiting.count, sizeof(int64_t),
				    compare_descending);
			for (size_t w = 0; w < amount->waiting.count; w++)
				place(amount, amount->waiting.at[w]);
			amount->waiting.count = 0;
			check_amount(amount);
		}
	}
}

int64_t node_amount_free(const struct node_amount *amount)
{
	return amount->used < amount->allocatable ? amount->allocatable - amount->used : 0;
}

int64_t node_amount_largest(const struct node_amount *amount)
{
	int64_t largest = 0, sum = node_amount_free(amount);

	if (amount->device_count == 0)
		return sum;
	for (size_t i = 0; i < amount->device_count; i++)
		if (node_device_free(&amount->devices[i]) > largest)
			largest = node_device_free(&amount->devices[i]);
	return largest < sum ? largest : sum;
}

int64_t node_amount_largest_empty(const struct node_amount *amount)
{
	return amount->device_count > 0 ? amount->devices[0].total : amount->allocatable;
}

bool node_capacity_ready(const struct node_capacity *capacity)
{
	const struct condition *ready = condition_find(capacity->node->conditions,
						       capacity->node->condition_count, "Ready");

	return !ready || strcmp(ready->status, "True") == 0;
}
