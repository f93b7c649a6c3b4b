#include "core/decide/patch.h"

static struct patch_op *add_op(const struct facts *facts, struct plan *plan,
			       const struct group *group, const char *op, const char *member)
{
	struct patch_op *item = VEC_ADD(facts->arena, &plan->patch);

	*item = (struct patch_op){
		.op = op,
		.path = arena_printf(facts->arena, "/spec/workerGroupSpecs/%zu%s", group->index,
				     member),
		.string = "",
	};
	return item;
}

static void test_name(const struct facts *facts, struct plan *plan, const struct group *group)
{
	struct patch_op *op = add_op(facts, plan, group, "test", "/groupName");
	op->kind = PATCH_VALUE_STRING;
	op->string = group->spec->name;
}

static void integer_op(const struct facts *facts, struct plan *plan, const struct group *group,
		       const char *op_name, const char *member, int64_t value)
{
	struct patch_op *op = add_op(facts, plan, group, op_name, member);
	op->kind = PATCH_VALUE_INTEGER;
	op->integer = value;
}

static void strings_op(const struct facts *facts, struct plan *plan, const struct group *group,
		       const char *op_name, const char *member, struct strings value)
{
	struct patch_op *op = add_op(facts, plan, group, op_name, member);
	op->kind = PATCH_VALUE_STRINGS;
	op->strings = value;
}

static void patch_replicas(const struct choice *choice, struct plan *plan,
			   const struct group *group)
{
	const struct group_choice *own = &choice->groups[group->index];
	if (own->patch_replicas == group->spec->replicas)
		return;
	test_name(choice->facts, plan, group);
	if (group->spec->has_replicas)
		integer_op(choice->facts, plan, group, "test", "/replicas", group->spec->replicas);
	integer_op(choice->facts, plan, group, "add", "/replicas", own->patch_replicas);
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
	test_name(choice->facts, plan, group);
	if (group->spec->has_workers_to_delete) {
		strings_op(choice->facts, plan, group, "test", "/scaleStrategy/workersToDelete",
			   group->spec->workers_to_delete);
	} else if (!group->spec->has_scale_strategy) {
		add_op(choice->facts, plan, group, "add", "/scaleStrategy")->kind =
			PATCH_VALUE_EMPTY_OBJECT;
	}
	strings_op(choice->facts, plan, group, "add", "/scaleStrategy/workersToDelete", list);
}

void patch_make(const struct choice *choice, struct plan *plan)
{
	for (size_t g = 0; g < choice->facts->group_count; g++) {
		patch_replicas(choice, plan, &choice->facts->groups[g]);
		patch_workers_to_delete(choice, plan, &choice->facts->groups[g]);
	}
}
