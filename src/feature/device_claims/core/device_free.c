#include "feature/device_claims/core/device_free.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"

/* A counter of a CounterSet. */
struct device_counter {
	const struct resource_slice *slice; /* names the pool */
	const char *set, *name;
	int64_t left;
};

struct collected {
	VEC(struct free_device) devices;
	VEC(struct device_counter) counters;
};

/* ---- order ---- */

static int compare_pools(const struct resource_slice *a, const struct resource_slice *b)
{
	int order = strcmp(a->driver, b->driver);

	return order ? order : strcmp(a->pool, b->pool);
}

/* The newest generation of a pool is first. */
static int compare_slices(const void *left, const void *right)
{
	const struct resource_slice *a = *(const struct resource_slice *const *)left;
	const struct resource_slice *b = *(const struct resource_slice *const *)right;
	int order = compare_pools(a, b);

	if (order)
		return order;
	return (a->generation < b->generation) - (a->generation > b->generation);
}

static int compare_names(const struct free_device *a, const struct free_device *b)
{
	int order = compare_pools(a->slice, b->slice);

	return order ? order : strcmp(a->device->name, b->device->name);
}

static int compare_devices(const void *left, const void *right)
{
	const struct free_device *a = left, *b = right;
	int order = strcmp(a->node, b->node);

	return order ? order : compare_names(a, b);
}

static int compare_named(const void *left, const void *right)
{
	return compare_names(*(const struct free_device *const *)left,
			     *(const struct free_device *const *)right);
}

static int compare_name(const void *wanted, const void *one)
{
	return compare_names(wanted, *(const struct free_device *const *)one);
}

static int compare_node(const void *name, const void *one)
{
	return strcmp(name, ((const struct free_device *)one)->node);
}

static int compare_counters(const void *left, const void *right)
{
	const struct device_counter *a = left, *b = right;
	int order = compare_pools(a->slice, b->slice);

	order = order ? order : strcmp(a->set, b->set);
	return order ? order : strcmp(a->name, b->name);
}

/* ---- DeviceTaintRules ---- */

/* By driver, pool and device; "" is any. */
static int compare_rules(const void *left, const void *right)
{
	const struct device_taint_rule *a = *(const struct device_taint_rule *const *)left;
	const struct device_taint_rule *b = *(const struct device_taint_rule *const *)right;
	int order = strcmp(a->driver, b->driver);

	order = order ? order : strcmp(a->pool, b->pool);
	return order ? order : strcmp(a->device, b->device);
}

static int compare_rule(const void *wanted, const void *rule)
{
	return compare_rules(&wanted, rule);
}

struct rules {
	const struct device_taint_rule **at; /* sorted, those that select */
	size_t count;
};

static struct rules rules_of(const struct device_objects *objects, struct arena *scratch)
{
	struct rules rules = { .at = arena_array(scratch, objects->taint_rule_count,
						 sizeof(*rules.at)) };

	ARRAY_EACH(const struct device_taint_rule, rule, objects->taint_rules,
		   objects->taint_rule_count)
		if (rule->selects && *rule->device_class == '\0' && rule->selectors.count == 0)
			rules.at[rules.count++] = rule;
	sort_stable(rules.at, rules.count, sizeof(*rules.at), compare_rules);
	return rules;
}

/* Each part of the selector names the device's or any: eight keys, whatever the number of rules. */
static void add_rules(const struct rules *rules, struct free_device *one, struct arena *arena)
{
	struct taint found[DEVICE_RULES_MAX];
	size_t count = 0;

	for (unsigned key = 0; key < 8 && rules->count > 0; key++) {
		const struct device_taint_rule wanted = {
			.driver = key & 4 ? one->slice->driver : "",
			.pool = key & 2 ? one->slice->pool : "",
			.device = key & 1 ? one->device->name : "",
		};
		const struct device_taint_rule **rule =
			SORT_FIND(&wanted, rules->at, rules->count, compare_rule);

		for (; rule && rule < rules->at + rules->count && count < DEVICE_RULES_MAX &&
		       compare_rule(&wanted, rule) == 0;
		     rule++)
			found[count++] = (*rule)->taint;
	}
	one->taints = count == 0 ? one->device->taints :
				   ARENA_JOIN(arena, one->device->taints, one->device->taint_count,
					      found, count);
	one->taint_count = one->device->taint_count + count;
}

/* ---- slices ---- */

static void collect_slice(const struct resource_slice *slice, struct collected *collected,
			  struct arena *scratch)
{
	ARRAY_EACH(const struct device, device, slice->devices, slice->device_count)
		VEC_PUSH(scratch, &collected->devices,
			 ((struct free_device){ .slice = slice,
						.device = device,
						.node = *slice->node_name ? slice->node_name :
									    device->node_name }));
	ARRAY_EACH(const struct device_counters, set, slice->shared, slice->shared_count) {
		ARRAY_EACH(const struct quantity, one, set->counters.at, set->counters.count)
			VEC_PUSH(scratch, &collected->counters,
				 ((struct device_counter){ slice, set->set, one->name,
							   one->amount }));
	}
}

static void collect(const struct resource_slice *const *slices, size_t count,
		    struct collected *collected, struct arena *scratch)
{
	for (size_t first = 0, end; first < count; first = end) {
		size_t newest = first;

		end = first;
		for (; end < count && compare_pools(slices[first], slices[end]) == 0; end++)
			newest += slices[end]->generation == slices[first]->generation;
		for (size_t i = first; i < newest; i++) {
			if ((int64_t)(newest - first) == slices[first]->slice_count)
				collect_slice(slices[i], collected, scratch);
		}
	}
}

static struct device_free *make_devices(const struct device_objects *objects,
					const struct collected *collected,
					const struct rules *rules, struct arena *arena)
{
	size_t count = collected->devices.count;
	struct device_free *free =
		ARENA_PUT(arena, (struct device_free){
					 .objects = objects,
					 .devices = ARENA_COPY(arena, collected->devices.at, count),
					 .device_count = count,
					 .by_name = arena_array(arena, count + 1,
								sizeof(struct free_device *)) });

	if (count > 0)
		qsort(free->devices, count, sizeof(*free->devices), compare_devices);
	for (size_t i = 0; i < count; i++) {
		struct free_device *one = &free->devices[i];
		const struct quantities *capacity = &one->device->capacity;

		free->by_name[i] = one;
		add_rules(rules, one, arena);
		free->tainted |= one->taint_count > 0;
		if (!one->device->allow_multiple)
			continue;
		one->left = arena_array(arena, capacity->count + 1, sizeof(*one->left));
		for (size_t c = 0; c < capacity->count; c++)
			one->left[c] = capacity->at[c].amount;
	}
	sort_stable(free->by_name, count, sizeof(struct free_device *), compare_named);
	return free;
}

/* ---- devices of claims ---- */

const struct free_device *device_free_find(const struct device_free *free, const char *driver,
					   const char *pool, const char *name)
{
	const struct resource_slice slice = { .driver = driver, .pool = pool };
	const struct device device = { .name = name };
	const struct free_device wanted = { .slice = &slice, .device = &device };
	struct free_device *const *found =
		SORT_FIND(&wanted, free->by_name, free->device_count, compare_name);

	return found ? *found : NULL;
}

/* More than there is leaves nothing. */
static void subtract(int64_t *left, int64_t amount)
{
	*left = *left > amount ? *left - amount : 0;
}

/* The use of its pool's counters by the device: takes it, or tells whether there is less. A counter
 * that the pool does not have limits nothing, as in the scheduler. */
static bool use_counters(const struct collected *collected, const struct free_device *one,
			 bool take)
{
	bool less = false;

	ARRAY_EACH(const struct device_counters, set, one->device->consumes,
		   one->device->consumes_count) {
		ARRAY_EACH(const struct quantity, amount, set->counters.at, set->counters.count) {
			const struct device_counter key = { one->slice, set->set, amount->name, 0 };
			struct device_counter *counter = SORT_FIND(&key, collected->counters.at,
								   collected->counters.count,
								   compare_counters);

			if (counter && take)
				subtract(&counter->left, amount->amount);
			less = less || (counter && amount->amount > counter->left);
		}
	}
	return less;
}

static void claim_device(const struct device_free *free, const struct collected *collected,
			 const struct claim_result *result)
{
	const struct free_device *found =
		device_free_find(free, result->driver, result->pool, result->device);
	struct free_device *one;

	if (!found || result->admin_access)
		return;
	one = &free->devices[found - free->devices];
	if (!one->left) {
		if (!one->claimed)
			(void)use_counters(collected, one, true);
		one->claimed = true;
		return;
	}
	for (size_t i = 0; i < one->device->capacity.count; i++) {
		const struct quantity *used = device_free_amount(&result->consumed, result->driver,
								 one->device->capacity.at[i].name);

		if (used)
			subtract(&one->left[i], used->amount);
	}
}

struct device_free *device_free_make(const struct device_objects *objects, struct arena *arena)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct collected collected = { .devices = { .at = NULL } };
	const struct resource_slice **slices =
		arena_array(&scratch, objects->slice_count + 1, sizeof(*slices));
	struct device_free *free;
	struct rules rules;

	for (size_t i = 0; i < objects->slice_count; i++)
		slices[i] = &objects->slices[i];
	qsort(slices, objects->slice_count, sizeof(*slices), compare_slices);
	collect(slices, objects->slice_count, &collected, &scratch);
	if (collected.counters.count > 0)
		qsort(collected.counters.at, collected.counters.count,
		      sizeof(*collected.counters.at), compare_counters);
	rules = rules_of(objects, &scratch);
	free = make_devices(objects, &collected, &rules, arena);
	ARRAY_EACH(const struct resource_claim, claim, objects->claims, objects->claim_count) {
		size_t count = claim->allocated ? claim->result_count : 0;

		for (size_t i = 0; i < count; i++)
			claim_device(free, &collected, &claim->results[i]);
	}
	for (size_t i = 0; i < free->device_count; i++)
		free->devices[i].blocked = !free->devices[i].claimed &&
					   use_counters(&collected, &free->devices[i], false);
	return free;
}

/* ---- one device ---- */

size_t device_free_of_node(const struct device_free *free, const char *node, size_t *ret_first)
{
	const struct free_device *first =
		SORT_FIND(node, free->devices, free->device_count, compare_node);
	size_t count = 0;

	*ret_first = first ? (size_t)(first - free->devices) : 0;
	while (first && *ret_first + count < free->device_count &&
	       strcmp(first[count].node, node) == 0)
		count++;
	return count;
}

/* Of the full name "gpu.nvidia.com/type" the part after its domain; NULL: it is not the driver's. */
static const char *name_of(const char *full, const char *driver)
{
	size_t size = strlen(driver);

	return strncmp(full, driver, size) == 0 && full[size] == '/' ? full + size + 1 : NULL;
}

const char *device_free_attribute(const struct free_device *one, const char *name)
{
	ARRAY_EACH(const struct device_attribute, attribute, one->device->attributes,
		   one->device->attribute_count) {
		const char *own = name_of(attribute->name, one->slice->driver);

		if (own && attribute->kind == ATTRIBUTE_STRING && strcmp(own, name) == 0)
			return attribute->text;
	}
	return "";
}

const struct quantity *device_free_amount(const struct quantities *amounts, const char *driver,
					  const char *capacity)
{
	const struct quantity *found = quantities_find(amounts, capacity);
	const char *own = name_of(capacity, driver);

	return found || !own ? found : quantities_find(amounts, own);
}
