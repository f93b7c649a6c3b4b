#include "core/decide/unit.h"

#include <stdlib.h>

struct member {
	size_t replica, worker;
};

static int compare_members(const void *left, const void *right)
{
	const struct member *a = left;
	const struct member *b = right;
	if (a->replica != b->replica)
		return a->replica < b->replica ? -1 : 1;
	return (a->worker > b->worker) - (a->worker < b->worker);
}

static int compare_units(const void *left, const void *right)
{
	size_t a = ((const struct unit *)left)->members[0];
	size_t b = ((const struct unit *)right)->members[0];
	return (a > b) - (a < b);
}

static bool is_broken(const struct offer *offer, const struct worker *worker)
{
	if (offer->workers[worker->index].removal != REMOVAL_DELETE)
		return false;
	return worker->state == WORKER_DRAINING || worker->raylet_gone ||
	       worker_is_expired(&offer->health->workers[worker->index]);
}

/* Adds one member: clears the flags that need all members, and sets those that need one. */
static void add_member(const struct offer *offer, struct unit *unit, const struct worker *worker)
{
	bool broken = is_broken(offer, worker);

	unit->deletable = unit->deletable &&
			  offer->workers[worker->index].removal == REMOVAL_DELETE;
	unit->removable = unit->removable &&
			  offer->workers[worker->index].removal != REMOVAL_FORBIDDEN;
	unit->never_started = unit->never_started && worker->never_started;
	unit->cancellable =
		unit->cancellable &&
		(worker->never_started || offer->health->workers[worker->index].unregistered);
	unit->unjoined = unit->unjoined && !worker->joined && !worker->raylet_gone;
	unit->broken = unit->broken || broken;
	unit->drained = unit->drained || (broken && worker->state == WORKER_DRAINING);
	unit->leaving = unit->leaving || worker->leaving;
	unit->stuck = unit->stuck || offer->health->workers[worker->index].stuck;
}

static void describe(const struct offer *offer, struct unit *unit)
{
	unit->deletable = unit->removable = true;
	unit->never_started = unit->cancellable = unit->unjoined = true;
	for (size_t i = 0; i < unit->count; i++)
		add_member(offer, unit, &offer->facts->workers[unit->members[i]]);
}

struct unit *unit_list(const struct offer *offer, const struct group *group, size_t *ret_count)
{
	struct member *members = arena_array(offer->arena, group->worker_count, sizeof(*members));
	size_t *indices = arena_array(offer->arena, group->worker_count, sizeof(*indices));
	struct unit *units = arena_array(offer->arena, group->worker_count, sizeof(*units));
	size_t count = 0, used = 0;
	for (size_t i = 0; i < group->worker_count; i++) {
		size_t index = group->first_worker + i;
		const struct worker *worker = &offer->facts->workers[index];
		if (worker->pod != NULL && !worker->deleting)
			members[used++] = (struct member){ worker->replica, index };
	}
	qsort(members, used, sizeof(*members), compare_members);
	for (size_t i = 0; i < used; i++) {
		bool alone = members[i].replica == FACTS_NO_INDEX;
		indices[i] = members[i].worker;
		if (i == 0 || alone || members[i].replica != members[i - 1].replica)
			units[count++].members = &indices[i];
		units[count - 1].count++;
	}
	for (size_t i = 0; i < count; i++)
		describe(offer, &units[i]);
	qsort(units, count, sizeof(*units), compare_units);
	*ret_count = count;
	return units;
}

bool unit_is_needed(const struct packing *packing, const struct unit *unit)
{
	for (size_t i = 0; i < unit->count; i++) {
		const struct worker_packing *worker = &packing->workers[unit->members[i]];

		if (worker->needed_by_demand || worker->needed_by_request ||
		    worker->needed_by_leaving)
			return true;
	}
	return false;
}
