/* Short ways to write a scheduling problem in C: for the tests and the bench of schedule().
 * Everything lives in the arena. */
#ifndef TEST_SUPPORT_SCHEDULE_SUPPORT_H
#define TEST_SUPPORT_SCHEDULE_SUPPORT_H

#include <stdarg.h>
#include <string.h>

#include "base/arena.h"
#include "core/schedule/schedule.h"

#define UNITS(n) ((int64_t)((n)*10000))

/* resources_of(arena, "CPU", UNITS(4), "GPU", UNITS(1), NULL); names in any order. */
static inline struct resources resources_of(struct arena *arena, ...)
{
	VEC(struct resource) items = { .at = NULL };
	va_list arguments;
	const char *name;

	va_start(arguments, arena);
	while ((name = va_arg(arguments, const char *))) {
		struct resource *item = VEC_ADD(arena, &items);

		item->name = name;
		item->amount = va_arg(arguments, int64_t);
	}
	va_end(arguments);
	return resources_sort(items.at, items.count);
}

static inline struct ray_request *request_of(struct arena *arena, struct resources resources)
{
	struct ray_request *request = ARENA_NEW(arena, struct ray_request);
	struct bundle_entry *entries = arena_array(arena, resources.count + 1, sizeof(*entries));

	for (size_t i = 0; i < resources.count; i++)
		entries[i] = (struct bundle_entry){
			.name = resources.at[i].name,
			.received = (double)resources.at[i].amount / 10000,
			.amount = resources.at[i].amount,
		};
	request->bundle = entries;
	request->bundle_count = resources.count;
	return request;
}

/* A gang of `count` equal bundles; strategy: 0 none, 'P' STRICT_PACK, 'S' STRICT_SPREAD. */
static inline struct ray_gang gang_of(struct arena *arena, const struct ray_request *bundle,
				      size_t count, char strategy, const char *id)
{
	struct ray_request *requests = arena_array(arena, count + 1, sizeof(*requests));
	struct placement_constraint *placement = ARENA_NEW(arena, struct placement_constraint);

	placement->has_affinity = strategy == 'P';
	placement->has_anti_affinity = strategy == 'S';
	placement->affinity = placement->anti_affinity = (struct label){ id, "" };
	for (size_t i = 0; i < count; i++) {
		requests[i] = *bundle;
		requests[i].placements = placement;
		requests[i].placement_count = strategy ? 1 : 0;
	}
	return (struct ray_gang){ .requests = requests, .request_count = count, .details = id };
}

static inline struct schedule_type type_of(const char *name, struct resources resources,
					   int64_t min, int64_t max)
{
	return (struct schedule_type){
		.name = name,
		.resources = resources,
		.min_nodes = min,
		.max_nodes = max,
		.hosts = 1,
		.recoverable_availability = 1,
		.failure_recency = 1,
		.gpu_amount = resources_amount(&resources, "GPU", 0),
		.cost = resources_amount(&resources, "GPU", 0),
	};
}

/* A running node of the type with this much available. */
static inline struct schedule_node running_of(const struct schedule_type *types, size_t type,
					      size_t worker, struct resources available)
{
	return (struct schedule_node){
		.type = type,
		.worker = worker,
		.head = type == 0,
		.running = true,
		.registered = true,
		.may_terminate = type != 0,
		.total = types[type].resources,
		.available = available,
		.labels = types[type].labels,
		.idle_timeout_ms = 60000,
		.replica = SCHEDULE_NO_INDEX,
	};
}

static inline struct schedule_node starting_of(const struct schedule_type *types, size_t type,
					       size_t worker)
{
	struct schedule_node node = running_of(types, type, worker, types[type].resources);

	node.running = node.registered = false;
	return node;
}

#endif
