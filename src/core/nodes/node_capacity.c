#include "core/nodes/node_capacity.h"

#include <string.h>

#include "base/check.h"
#include "base/memory.h"
#include "base/sort.h"
#include "core/model/claimed.h"
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
static void make_devices(const struct node *node, struct node_amount *amount, struct arena *arena)
{
	if (!amount->row || amount->row->share != DEVICE_MEMORY ||
	    amount->row->count_resource[0] == '\0')
		return;
	int64_t count = amount_of(&node->capacity, amount->row->count_resource) / RESOURCE_UNIT;
	if (count < 1 || count > NODE_DEVICES_MAX)
		return;
	amount->devices = arena_array(arena, (size_t)count, sizeof(*amount->devices));
	amount->device_count = (size_t)count;
	for (size_t i = 0; i < amount->device_count; i++)
		amount->devices[i].total =
			amount->allocatable / RESOURCE_UNIT / count * RESOURCE_UNIT;
}

/* The amounts, without rows and devices. */
static void read_node(struct node_capacity *capacity, const struct node *node, struct arena *arena)
{
	size_t most = node->capacity.count + node->allocatable.count;
	int64_t parts[GPU_PART_AMOUNTS];

	*capacity = (struct node_capacity){ .node = node };
	if (node->allocatable.count == 0)
		return;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct node_amount *amounts =
		arena_array(&scratch, most + GPU_PART_AMOUNTS, sizeof(*amounts));
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
	*capacity = (struct node_capacity){ node, ARENA_COPY(arena, amounts, count), count };
	CHECK(count <= most);
}

/* like: of another Node, or NULL; most Nodes have the same resources. */
static void find_rows(struct node_capacity *capacity, const struct node_capacity *like,
		      const struct device_table *devices, struct arena *arena)
{
	for (size_t i = 0; i < capacity->count; i++) {
		struct node_amount *amount = &capacity->at[i];
		bool same = like && i < like->count &&
			    strcmp(like->at[i].resource, amount->resource) == 0;

		amount->row = same ? like->at[i].row : device_find(devices, amount->resource);
		make_devices(capacity->node, amount, arena);
	}
}

void node_capacity_init(struct node_capacity *capacity, const struct node *node,
			const struct device_table *devices, struct arena *arena)
{
	read_node(capacity, node, arena);
	find_rows(capacity, NULL, devices, arena);
}

/* guess: the column of the same place of another Node; most Nodes have the same resources. */
static size_t column_of(struct node_capacities *capacities, const char *resource, size_t guess)
{
	size_t c = 0;

	if (guess < capacities->columns.count &&
	    strcmp(capacities->columns.at[guess], resource) == 0)
		return guess;
	while (c < capacities->columns.count && strcmp(capacities->columns.at[c], resource) != 0)
		c++;
	if (c == capacities->columns.count)
		VEC_PUSH(capacities->arena, &capacities->columns, resource);
	return c;
}

static void number_columns(struct node_capacities *capacities)
{
	for (size_t n = 0; n < capacities->count; n++) {
		const struct node_capacity *own = &capacities->at[n];

		for (size_t i = 0; i < own->count; i++)
			own->at[i].column =
				column_of(capacities, own->at[i].resource,
					  n > 0 && i < own[-1].count ? own[-1].at[i].column : i);
	}
}

void node_capacities_init(struct node_capacities *capacities, const struct node *nodes,
			  size_t count, const struct device_table *devices, struct arena *arena)
{
	*capacities = (struct node_capacities){ .devices = devices,
						.arena = arena,
						.by_name = MAP_IN(arena) };
	capacities->at = arena_array(arena, count, sizeof(*capacities->at));
	for (size_t i = 0; i < count; i++) {
		struct node_capacity *own = &capacities->at[capacities->count];

		if (nodes[i].allocatable.count == 0)
			continue;
		read_node(own, &nodes[i], arena);
		find_rows(own, capacities->count > 0 ? own - 1 : NULL, devices, arena);
		capacities->count++;
	}
	sort_stable(capacities->at, capacities->count, sizeof(*capacities->at), compare_capacities);
	CHECK(capacities->count <= count);
	for (size_t i = 0; i < capacities->count; i++)
		map_set(&capacities->by_name, capacities->at[i].node->name, &capacities->at[i]);
	number_columns(capacities);
}

struct node_capacity *node_capacities_find(const struct node_capacities *capacities,
					   const char *name)
{
	return map_get(&capacities->by_name, name);
}

/* ---- a Pod comes or leaves ---- */

static int64_t changed(__int128 *sum, __int128 by)
{
	*sum += by;
	return *sum < 0 ? 0 : *sum > RESOURCE_AMOUNT_MAX ? RESOURCE_AMOUNT_MAX : (int64_t)*sum;
}

/* A Pod whose device is unknown. */
static void change_waiting(struct node_amount *amount, int64_t wanted, int sign,
			   struct arena *arena)
{
	size_t i = 0;

	if (sign > 0) {
		VEC_PUSH(arena, &amount->waiting, wanted);
		return;
	}
	while (i < amount->waiting.count && amount->waiting.at[i] != wanted)
		i++;
	if (i < amount->waiting.count)
		amount->waiting.at[i] = amount->waiting.at[--amount->waiting.count];
}

/* pod NULL: it has no annotations. */
static void change_devices(struct node_amount *amount, const struct pod *pod, int64_t wanted,
			   int sign, struct arena *arena)
{
	size_t uses = pod ? pod->device_use_count : 0;
	int64_t left = wanted;

	for (size_t i = 0; i < uses && left > 0; i++) {
		const struct device_use *use = &pod->device_uses[i];
		int64_t part = use->amount == 0 || use->amount > left ? left : use->amount;
		struct node_device *device;

		if (use->device < 0 || (size_t)use->device >= amount->device_count)
			continue;
		device = &amount->devices[use->device];
		device->used = changed(&device->sum, (__int128)sign * part);
		left -= part;
	}
	CHECK(left >= 0 && left <= wanted);
	if (left > 0)
		change_waiting(amount, left, sign, arena);
}

/* Both are sorted by name: *at begins at 0. */
static struct node_amount *next_amount(struct node_capacity *capacity, const char *resource,
				       size_t *at)
{
	for (; *at < capacity->count; (*at)++) {
		int order = strcmp(capacity->at[*at].resource, resource);

		if (order >= 0)
			return order == 0 ? &capacity->at[*at] : NULL;
	}
	return NULL;
}

static void change_amounts(struct node_capacity *capacity, const struct resources *request,
			   const struct pod *pod, int sign, struct arena *arena)
{
	size_t at = 0;

	for (size_t i = 0; i < request->count; i++) {
		struct node_amount *amount = next_amount(capacity, request->at[i].name, &at);
		int64_t wanted = request->at[i].amount;

		if (!amount || wanted == 0)
			continue;
		amount->used = changed(&amount->sum, (__int128)sign * wanted);
		if (amount->device_count > 0)
			change_devices(amount, pod, wanted, sign, arena);
	}
}

static void change_parts(struct node_capacity *capacity, const struct pod *pod,
			 const struct resources *request, int sign)
{
	int64_t used[GPU_PART_AMOUNTS];
	size_t at = 0;

	gpu_part_used(capacity->node, pod, request, used);
	for (size_t i = 0; i < GPU_PART_AMOUNTS; i++) {
		struct node_amount *amount =
			used[i] > 0 ? next_amount(capacity, gpu_part_names[i], &at) : NULL;

		if (amount)
			amount->used = changed(&amount->sum, (__int128)sign * used[i]);
	}
}

struct node_capacity *node_capacities_count(struct node_capacities *capacities,
					    const struct pod *pod, int sign)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct node_capacity *capacity;
	struct resources request;

	if (!pod_request_holds(pod))
		return NULL;
	capacity = node_capacities_find(capacities, pod->spec.node_name);
	if (!capacity)
		return NULL;
	request = pod_request_with_parts(&pod->spec, &scratch);
	change_amounts(capacity, &request, pod, sign, capacities->arena);
	change_parts(capacity, pod, &request, sign);
	return capacity;
}

/* ---- the forecast ---- */

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

static void check_amount(const struct node_amount *amount)
{
	CHECK(amount->unplaced >= 0 && amount->unplaced <= amount->used);
	CHECK(amount->device_count <= NODE_DEVICES_MAX);
	CHECK(node_amount_largest(amount) <= node_amount_free(amount));
	ARRAY_EACH(const struct node_device, device, amount->devices, amount->device_count) {
		CHECK(device->used >= 0 && device->forecast >= 0);
		CHECK(node_device_free(device) <= device->total);
	}
}

static void settle_devices(struct node_amount *amount)
{
	ARRAY_EACH(struct node_device, device, amount->devices, amount->device_count)
		device->forecast = 0;
	amount->unplaced = 0;
	/* The largest first, so that the order of the Pods does not matter. */
	sort_stable(amount->waiting.at, amount->waiting.count, sizeof(int64_t), compare_descending);
	for (size_t w = 0; w < amount->waiting.count; w++) {
		place(amount, amount->waiting.at[w]);
		amount->unplaced = resource_sum(amount->unplaced, amount->waiting.at[w]);
	}
	check_amount(amount);
}

static void settle(struct node_capacity *capacity)
{
	VEC_EACH(struct node_amount, amount, capacity)
		if (amount->device_count > 0)
			settle_devices(amount);
}

void node_capacities_settle(struct node_capacities *capacities)
{
	for (size_t i = 0; i < capacities->count; i++)
		settle(&capacities->at[i]);
}

void node_capacity_change(struct node_capacity *capacity, const struct resources *request, int sign,
			  struct arena *arena)
{
	change_amounts(capacity, request, NULL, sign, arena);
	settle(capacity);
}

/* ---- free ---- */

bool node_amount_is_optional(const char *resource, const struct device_row *row)
{
	return strcmp(resource, POD_REQUEST_PODS) == 0 || (row && row->share == DEVICE_QUALIFIER) ||
	       strncmp(resource, DEVICE_CLASS_RESOURCE_PREFIX,
		       strlen(DEVICE_CLASS_RESOURCE_PREFIX)) == 0;
}

bool node_amount_limits(const struct node_amount *amount)
{
	return amount->allocatable > 0 || !amount->row || amount->row->share != DEVICE_QUALIFIER;
}

bool node_capacity_fits(const struct node_capacity *capacity, const struct resource *wanted,
			const struct device_row *row)
{
	const struct node_amount *amount = node_capacity_amount(capacity, wanted->name);

	if (wanted->amount == 0)
		return true;
	return amount && node_amount_limits(amount) ?
		       wanted->amount <= node_amount_largest(amount) :
		       node_amount_is_optional(wanted->name, row);
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
