#include "core/capacity/device_model.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"

struct held_list {
	VEC(struct device_held) at;
};

static void add(struct held_list *list, const struct quantities *quantities,
		const struct device_table *table, bool declared, struct arena *arena)
{
	for (size_t i = 0; i < quantities->count && list->at.count < DEVICE_HELD_MAX; i++) {
		const struct quantity *quantity = &quantities->at[i];
		const struct device_row *row = device_find(table, quantity->name);

		if (!row || !quantity->valid || quantity->amount <= 0 ||
		    VEC_FIND(&list->at, resource, quantity->name))
			continue;
		VEC_PUSH(arena, &list->at,
			 ((struct device_held){ quantity->name, row, quantity->amount,
						declared ?
							device_ray_resource(quantity->name) :
							device_found_resource(quantity->name) }));
	}
}

static int by_name(const void *left, const void *right)
{
	const struct device_held *a = left, *b = right;

	return strcmp(a->resource, b->resource);
}

/* Devices rank before qualifiers; among devices, those that Ray counts rank first. */
static int rank(const struct device_held *held)
{
	if (held->row->share == DEVICE_QUALIFIER)
		return 0;
	return !held->ray_resource ? 1 : 2;
}

static const struct device_held *find_main(const struct held_list *list)
{
	const struct device_held *found = NULL;

	for (size_t i = 0; i < list->at.count; i++)
		if (rank(&list->at.at[i]) > (found ? rank(found) : 0))
			found = &list->at.at[i];
	return found;
}

void device_model_make(const struct container *container, const struct device_table *table,
		       bool declared, struct arena *arena, struct device_model *ret_model)
{
	struct held_list list = { .at = { .at = NULL } };

	*ret_model = (struct device_model){ .resource = "" };
	if (!container)
		return;
	add(&list, &container->limits, table, declared, arena);
	add(&list, &container->requests, table, false, arena);
	if (list.at.count == 0)
		return;
	qsort(list.at.at, list.at.count, sizeof(*list.at.at), by_name);
	ret_model->held = list.at.at;
	ret_model->held_count = list.at.count;
	CHECK(ret_model->held_count <= DEVICE_HELD_MAX);
	for (size_t i = 1; i < ret_model->held_count; i++)
		CHECK(by_name(&ret_model->held[i - 1], &ret_model->held[i]) < 0);
	const struct device_held *main = find_main(&list);
	if (!main)
		return;
	ret_model->resource = main->resource;
	ret_model->row = main->row;
	ret_model->kind = main->row->kind;
	ret_model->share = main->row->share;
	ret_model->devices = device_count(main->row, main->amount);
	CHECK(ret_model->devices > 0);
	CHECK(ret_model->share != DEVICE_QUALIFIER);
}
