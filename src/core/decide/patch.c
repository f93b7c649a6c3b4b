#include "core/decide/patch.h"

void patch_add(struct plan *plan, struct arena *arena, struct patch_op op)
{
	op.string = op.string ? op.string : "";
	VEC_PUSH(arena, &plan->patch, op);
}

/* The path is that of the member below the worker group: "/replicas". */
static void add_of_group(struct plan *plan, struct arena *arena, const struct group *group,
			 struct patch_op op)
{
	op.path = arena_printf(arena, "/spec/workerGroupSpecs/%zu%s", group->index, op.path);
	patch_add(plan, arena, op);
}

void patch_test_name(struct plan *plan, struct arena *arena, const struct group *group)
{
	add_of_group(plan, arena, group,
		     (struct patch_op){ .op = "test",
					.path = "/groupName",
					.kind = PATCH_VALUE_STRING,
					.string = group->spec->name });
}

void patch_replicas(struct plan *plan, struct arena *arena, const struct group *group,
		    const char *op, int64_t replicas)
{
	add_of_group(plan, arena, group,
		     (struct patch_op){ .op = op,
					.path = "/replicas",
					.kind = PATCH_VALUE_INTEGER,
					.integer = replicas });
}

static void patch_own_replicas(const struct choice *choice, struct plan *plan,
			       const struct group *group)
{
	const struct group_choice *own = &choice->groups[group->index];
	if (own->patch_replicas == group->spec->replicas)
		return;
	patch_test_name(plan, choice->arena, group);
	if (group->spec->has_replicas)
		patch_replicas(plan, choice->arena, group, "test", group->spec->replicas);
	patch_replicas(plan, choice->arena, group, "add", own->patch_replicas);
}

static bool has_pod(const struct facts *facts, const char *name)
{
	return name_set_contains(&facts->pod_names, name);
}

int64_t patch_finished_names(const struct facts *facts, const struct group *group)
{
	int64_t count = 0;
	if (group->frozen)
		return 0;
	for (size_t i = 0; i < group->spec->workers_to_delete.count; i++)
		if (!has_pod(facts, group->spec->workers_to_delete.at[i]))
			count++;
	return count;
}

/* The names that still have a Pod, then the new ones. */
static struct strings new_list(const struct choice *choice, const struct group *group,
			       size_t *ret_added)
{
	const struct strings *old = &group->spec->workers_to_delete;
	const char **names =
		arena_array(choice->arena, old->count + group->worker_count, sizeof(*names));
	size_t count = 0, kept;
	for (size_t i = 0; i < old->count; i++)
		if (has_pod(choice->facts, old->at[i]))
			names[count++] = old->at[i];
	kept = count;
	for (size_t i = 0; i < group->worker_count; i++) {
		const struct worker *worker = &choice->facts->workers[group->first_worker + i];
		const struct worker_choice *own = &choice->workers[worker->index];
		if (own->action == TERMINATE_DELETE || own->action == TERMINATE_STOP)
			names[count++] = worker->pod_name;
	}
	*ret_added = count - kept;
	return (struct strings){ names, count };
}

static void patch_workers_to_delete(const struct choice *choice, struct plan *plan,
				    const struct group *group)
{
	size_t added;
	struct strings list = new_list(choice, group, &added);
	if (group->frozen || (added == 0 && list.count == group->spec->workers_to_delete.count))
		return;
	patch_test_name(plan, choice->arena, group);
	if (group->spec->has_workers_to_delete)
		add_of_group(plan, choice->arena, group,
			     (struct patch_op){ .op = "test",
						.path = "/scaleStrategy/workersToDelete",
						.kind = PATCH_VALUE_STRINGS,
						.strings = group->spec->workers_to_delete });
	else if (!group->spec->has_scale_strategy)
		add_of_group(plan, choice->arena, group,
			     (struct patch_op){ .op = "add",
						.path = "/scaleStrategy",
						.kind = PATCH_VALUE_EMPTY_OBJECT });
	add_of_group(plan, choice->arena, group,
		     (struct patch_op){ .op = "add",
					.path = "/scaleStrategy/workersToDelete",
					.kind = PATCH_VALUE_STRINGS,
					.strings = list });
}

void patch_make(const struct choice *choice, struct plan *plan)
{
	for (size_t g = 0; g < choice->facts->group_count; g++) {
		patch_own_replicas(choice, plan, &choice->facts->groups[g]);
		patch_workers_to_delete(choice, plan, &choice->facts->groups[g]);
	}
}
