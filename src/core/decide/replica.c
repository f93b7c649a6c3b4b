#include "core/decide/replica.h"

#include "base/sort.h"

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

static int compare_replicas(const void *left, const void *right)
{
	size_t a = ((const struct replica *)left)->members[0];
	size_t b = ((const struct replica *)right)->members[0];
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
static void add_member(const struct offer *offer, struct replica *replica,
		       const struct worker *worker)
{
	const struct worker_offer *own = &offer->workers[worker->index];
	bool broken = is_broken(offer, worker);

	replica->deletable = replica->deletable && own->removal == REMOVAL_DELETE;
	replica->removable = replica->removable && own->removal != REMOVAL_FORBIDDEN;
	replica->never_started = replica->never_started && worker->never_started;
	replica->cancellable =
		replica->cancellable &&
		(worker->never_started || offer->health->workers[worker->index].unregistered);
	replica->not_registered = replica->not_registered && !worker->registered &&
				  !worker->raylet_gone;
	replica->broken = replica->broken || broken;
	replica->drained = replica->drained || (broken && worker->state == WORKER_DRAINING);
	replica->disrupted = replica->disrupted || worker->disrupted;
	replica->starved = replica->starved || offer->health->workers[worker->index].starved;
}

static void describe(const struct offer *offer, struct replica *replica)
{
	replica->deletable = replica->removable = true;
	replica->never_started = replica->cancellable = replica->not_registered = true;
	for (size_t i = 0; i < replica->count; i++)
		add_member(offer, replica, &offer->facts->workers[replica->members[i]]);
}

void replica_list(struct offer *offer, const struct group *group)
{
	struct member *members = arena_array(offer->arena, group->worker_count, sizeof(*members));
	size_t *indices = arena_array(offer->arena, group->worker_count, sizeof(*indices));
	struct replica *replicas =
		arena_array(offer->arena, group->worker_count, sizeof(*replicas));
	size_t count = 0, used = 0;
	for (size_t i = 0; i < group->worker_count; i++) {
		size_t index = group->first_worker + i;
		const struct worker *worker = &offer->facts->workers[index];
		if (worker->pod && !worker->deleting)
			members[used++] = (struct member){ worker->replica, index };
	}
	sort_stable(members, used, sizeof(*members), compare_members);
	for (size_t i = 0; i < used; i++) {
		bool alone = members[i].replica == FACTS_NO_INDEX;
		indices[i] = members[i].worker;
		if (i == 0 || alone || members[i].replica != members[i - 1].replica)
			replicas[count++].members = &indices[i];
		replicas[count - 1].count++;
	}
	for (size_t i = 0; i < count; i++)
		describe(offer, &replicas[i]);
	sort_stable(replicas, count, sizeof(*replicas), compare_replicas);
	offer->groups[group->index].replicas = replicas;
	offer->groups[group->index].replica_count = count;
}

bool replica_is_needed(const struct packing *packing, const struct replica *replica)
{
	for (size_t i = 0; i < replica->count; i++)
		if (worker_is_needed(&packing->workers[replica->members[i]]))
			return true;
	return false;
}
