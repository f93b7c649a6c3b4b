/* The rules of a GPUPool, alone and among the others of the same files, and of worker groups that draw from them. Pure. */
#include <string.h>

#include "base/sort.h"
#include "codec/objects/namespace_json.h"
#include "codec/objects/object_kinds.h"
#include "feature/pools/codec/gpu_pool_json.h"
#include "feature/pools/core/pool_match.h"
#include "feature/pools/model/pool_rule.h"

/* Of a list in a message. */
#define NAMES_MAX 5
#define QUEUES_MAX 1000 /* compared with each other */
#define ALONE "the pool has one queue, for all namespaces; add queues, or remove it"

static const char *shown(const char *path)
{
	return strncmp(path, "spec.", 5) == 0 ? path + 5 : path;
}

static void add_problems(const struct gpu_pool *pool, struct arena *arena,
			 struct object_problems *problems)
{
	for (size_t i = 0; i < pool->problems.count; i++) {
		const char *text = pool->problems.at[i], *end = strstr(text, ": ");

		object_problem_add(arena, problems, RULE_FIELD_INVALID,
				   arena_strndup(arena, text, end ? (size_t)(end - text) : 0), "%s",
				   shown(text));
	}
}

static void check_guarantees(const struct gpu_pool *pool, struct arena *arena,
			     struct object_problems *problems)
{
	int64_t sum = 0;

	for (size_t i = 0; i < pool->queue_count; i++)
		sum = resource_sum(sum, pool->queues[i].guaranteed);
	if (pool->has_gpus && pool->gpus == 0 && pool->problems.count == 0)
		object_problem_add(
			arena, problems, POOL_RULE_GUARANTEES, "spec.gpus",
			"the pool has 0 GPUs, so it grants none; raise gpus, or remove it to count "
			"the GPUs of Nodes");
	else if (pool->has_gpus && sum > pool->gpus)
		object_problem_add(
			arena, problems, POOL_RULE_GUARANTEES, "spec.queues",
			"the queues are guaranteed %s GPUs and the pool has %s, so each guarantee counts "
			"in proportion; raise gpus or lower guarantees",
			resource_amount_text(arena, sum), resource_amount_text(arena, pool->gpus));
}

static bool selects_all(const struct gpu_pool_queue *queue)
{
	return queue->namespaces.match_labels.count == 0 && queue->namespaces.expression_count == 0;
}

static bool selects_same(const struct gpu_pool_queue *a, const struct gpu_pool_queue *b)
{
	const struct labels *labels = &a->namespaces.match_labels;

	if (a->namespaces.expression_count > 0 || b->namespaces.expression_count > 0 ||
	    labels->count != b->namespaces.match_labels.count)
		return false;
	VEC_EACH(const struct label, label, labels) {
		const char *value = labels_value(&b->namespaces.match_labels, label->key);

		if (!value || strcmp(value, label->value) != 0)
			return false;
	}
	return true;
}

static void check_same(const struct gpu_pool *pool, struct arena *arena,
		       struct object_problems *problems)
{
	for (size_t i = 1; i < pool->queue_count && i < QUEUES_MAX; i++)
		for (size_t before = 0; before < i; before++) {
			if (selects_all(&pool->queues[i]) ||
			    !selects_same(&pool->queues[before], &pool->queues[i]))
				continue;
			object_problem_add(
				arena, problems, POOL_RULE_UNREACHABLE,
				arena_printf(arena, "spec.queues[%zu].namespaceSelector", i),
				"queue %.63s selects the namespaces of queue %.63s, which is "
				"before it, so none belongs to it; select others, or remove "
				"it",
				pool->queues[i].name, pool->queues[before].name);
			break;
		}
}

static void check_order(const struct gpu_pool *pool, struct arena *arena,
			struct object_problems *problems)
{
	const char *behind = "";
	size_t all = 0;

	while (all < pool->queue_count && !selects_all(&pool->queues[all]))
		all++;
	if (all + 1 >= pool->queue_count)
		return;
	for (size_t i = all + 1; i < pool->queue_count && i <= all + NAMES_MAX; i++)
		behind = arena_printf(arena, "%s%s%.63s", behind, i > all + 1 ? ", " : "",
				      pool->queues[i].name);
	object_problem_add(arena, problems, POOL_RULE_UNREACHABLE,
			   arena_printf(arena, "spec.queues[%zu].namespaceSelector", all),
			   "queue %.63s selects all namespaces, so none belongs to the queues "
			   "below it: %s; move it to the end",
			   pool->queues[all].name, behind);
}

/* ---- settings that others make void ---- */

static void add_void(const char *path, const char *why, struct arena *arena,
		     struct object_problems *problems)
{
	object_problem_add(arena, problems, RULE_WITHOUT_EFFECT, path, "%s has no effect: %s",
			   shown(path), why);
}

static void check_void_queue(const struct gpu_pool *pool, size_t i, bool any_guarantee,
			     struct arena *arena, struct object_problems *problems)
{
	const struct gpu_pool_queue *queue = &pool->queues[i];
	const char *path = arena_printf(arena, "spec.queues[%zu]", i);
	bool alone = pool->queue_count == 1 && selects_all(queue);

	if (queue->has_maximum && pool->has_gpus && queue->maximum > pool->gpus)
		add_void(arena_printf(arena, "%s.maximum", path),
			 arena_printf(arena, "the pool has %s GPUs; lower or remove it",
				      resource_amount_text(arena, pool->gpus)),
			 arena, problems);
	if (queue->has_busy && queue->busy_after_seconds != GPU_POOL_NEVER && !any_guarantee)
		add_void(arena_printf(arena, "%s.busy", path),
			 "busy workers end only for a guarantee, and no queue has one; add "
			 "guaranteed to a queue",
			 arena, problems);
	if (!alone)
		return;
	if (queue->weight != 1)
		add_void(arena_printf(arena, "%s.weight", path), ALONE, arena, problems);
	if (queue->priority != 0)
		add_void(arena_printf(arena, "%s.priority", path), ALONE, arena, problems);
}

static void check_void(const struct gpu_pool *pool, struct arena *arena,
		       struct object_problems *problems)
{
	bool any_guarantee = false;

	for (size_t i = 0; i < pool->queue_count; i++)
		any_guarantee = any_guarantee || pool->queues[i].guaranteed > 0;
	if (pool->busy_after_seconds != GPU_POOL_NEVER && !any_guarantee)
		add_void("spec.reclaim.busy",
			 "busy workers end only for a guarantee, and no queue has one; add "
			 "guaranteed to a queue",
			 arena, problems);
	for (size_t i = 0; i < pool->queue_count; i++)
		check_void_queue(pool, i, any_guarantee, arena, problems);
}

/* ---- among other pools ---- */

static bool is_given_as(const char *a, const char *b)
{
	return *a == '\0' || strcmp(a, b) == 0;
}

/* Each group of `special` is one of `general`. */
static bool has_all(const struct gpu_pool_groups *general, const struct gpu_pool_groups *special)
{
	VEC_EACH(const struct label, label, &general->node_selector) {
		const char *value = labels_value(&special->node_selector, label->key);

		if (!value || strcmp(value, label->value) != 0)
			return false;
	}
	return is_given_as(general->accelerator_type, special->accelerator_type) &&
	       is_given_as(general->resource_name, special->resource_name);
}

static bool may_share(const char *a, const char *b)
{
	return *a == '\0' || *b == '\0' || strcmp(a, b) == 0;
}

/* One group may be of both. */
static bool may_overlap(const struct gpu_pool_groups *a, const struct gpu_pool_groups *b)
{
	VEC_EACH(const struct label, label, &a->node_selector) {
		const char *value = labels_value(&b->node_selector, label->key);

		if (value && strcmp(value, label->value) != 0)
			return false;
	}
	return may_share(a->accelerator_type, b->accelerator_type) &&
	       may_share(a->resource_name, b->resource_name);
}

static void check_others(const struct gpu_pool *pool, const struct gpu_pool *const *all,
			 size_t count, struct arena *arena, struct object_problems *problems)
{
	const struct gpu_pool *hides = NULL, *shares = NULL;

	for (size_t i = 0; i < count && strcmp(all[i]->name, pool->name) < 0; i++) {
		if (!hides && has_all(&all[i]->groups, &pool->groups))
			hides = all[i];
		if (!shares && may_overlap(&all[i]->groups, &pool->groups))
			shares = all[i];
	}
	if (hides)
		object_problem_add(arena, problems, POOL_RULE_OVERLAP, "spec.groups",
				   "no group draws from this pool: pool %.253s matches each of "
				   "them and is before it by name; rename one, or set groups",
				   hides->name)
			->warning = true;
	else if (shares)
		object_problem_add(arena, problems, POOL_RULE_OVERLAP, "spec.groups",
				   "a group that matches pool %.253s too draws from that one, "
				   "which is before this pool by name",
				   shares->name);
}

/* ---- the files ---- */

/* Others are not compared with each other. */
#define POOLS_MAX 1000

struct state {
	VEC(const struct gpu_pool *) pools; /* by name, once they are sorted */
	VEC(struct namespace) namespaces;
	bool sorted;
	int64_t **taken; /* by pool and queue, 1/10000: of minReplicas so far */
};

static bool add(void *own, const struct cJSON *object, const char *kind,
		const char *api_version UNUSED, struct arena *arena,
		struct object_problems *problems UNUSED)
{
	struct state *state = own;
	struct namespace namespace;
	struct gpu_pool pool;
	struct err err;

	if (strcmp(kind, "Namespace") == 0 &&
	    namespace_decode(object, "", arena, &namespace, &err) == 0)
		VEC_PUSH(arena, &state->namespaces, namespace);
	if (strcmp(kind, GPU_POOL_KIND) != 0)
		return false;
	if (state->pools.count < POOLS_MAX && gpu_pool_decode(object, "", arena, &pool, &err) == 0)
		VEC_PUSH(arena, &state->pools, FIELD_COPY(gpu_pool_fields, &pool, arena));
	return true;
}

static int compare_pools(const void *a, const void *b)
{
	const struct gpu_pool *const *left = a, *const *right = b;

	return strcmp((*left)->name, (*right)->name);
}

static void sort(struct state *state)
{
	if (!state->sorted && state->pools.count > 0)
		sort_stable(state->pools.at, state->pools.count, sizeof(*state->pools.at),
			    compare_pools);
	state->sorted = true;
}

static int check(void *own, const struct cJSON *object, struct arena *arena,
		 struct object_problems *problems, struct err *err)
{
	struct state *state = own;
	struct gpu_pool pool;

	sort(state);
	if (gpu_pool_decode(object, "", arena, &pool, err))
		return -1;
	add_problems(&pool, arena, problems);
	if (pool.problems.count == 0) {
		check_guarantees(&pool, arena, problems);
		check_order(&pool, arena, problems);
		check_same(&pool, arena, problems);
		check_void(&pool, arena, problems);
	}
	check_others(&pool, state->pools.at, state->pools.count, arena, problems);
	return 0;
}

/* ---- worker groups ---- */

static bool has_gpus(const struct worker_group *group, const struct device_table *devices)
{
	const struct pod_spec *spec = &group->template.spec;
	const struct quantities *limits = spec->container_count > 0 ? &spec->containers[0].limits :
								      NULL;

	if (!limits)
		return false;
	for (size_t i = 0; i < limits->count; i++) {
		const struct device_row *row = device_find(devices, limits->at[i].name);

		if (row && limits->at[i].amount > 0 && strcmp(row->ray_resource, "GPU") == 0)
			return true;
	}
	return false;
}

/* Of the files; false: the queue cannot be known. */
static bool labels_of(const struct state *state, const struct gpu_pool *pool,
		      const char *namespace_, struct arena *arena, struct labels *ret_labels)
{
	for (size_t i = 0; i < state->namespaces.count; i++)
		if (strcmp(state->namespaces.at[i].name, namespace_) == 0) {
			*ret_labels = namespace_labels_of(&state->namespaces.at[i].labels,
							  namespace_, arena);
			return true;
		}
	*ret_labels = namespace_labels_of(&(struct labels){ .count = 0 }, namespace_, arena);
	ARRAY_EACH(const struct gpu_pool_queue, queue, pool->queues, pool->queue_count) {
		if (queue->namespaces.expression_count > 0)
			return false;
		VEC_EACH(const struct label, label, &queue->namespaces.match_labels)
			if (strcmp(label->key, LABEL_NAMESPACE_NAME) != 0)
				return false;
	}
	return true;
}

static void check_minimum(struct state *state, size_t index, const struct object_kept_group *group,
			  struct arena *arena, struct object_problems *problems)
{
	const struct gpu_pool *pool = state->pools.at[index];
	const struct gpu_pool_queue *queue;
	struct labels labels;
	int64_t before, *taken;
	size_t q;

	if (group->min_gpus <= 0 || *group->namespace_ == '\0' ||
	    !labels_of(state, pool, group->namespace_, arena, &labels))
		return;
	q = pool_match_queue(pool, &labels);
	if (q == pool->queue_count)
		return;
	queue = &pool->queues[q];
	if (!state->taken)
		state->taken = arena_array(arena, state->pools.count, sizeof(*state->taken));
	if (!state->taken[index])
		state->taken[index] = arena_array(arena, pool->queue_count, sizeof(**state->taken));
	taken = &state->taken[index][q];
	before = *taken;
	*taken = resource_sum(before, group->min_gpus);
	if (!queue->has_maximum || before > queue->maximum || *taken <= queue->maximum)
		return;
	object_problem_add(
		arena, problems, POOL_RULE_MINIMUM,
		arena_printf(arena, "%s.minReplicas", group->path),
		"minReplicas of queue %.63s of pool %.253s take %s GPUs up to this group, "
		"above its maximum %s; KubeRay creates them whatever the pool grants: "
		"lower minReplicas, or raise maximum",
		queue->name, pool->name, resource_amount_text(arena, *taken),
		resource_amount_text(arena, queue->maximum));
}

static void check_group(void *own, const struct object_kept_group *group, struct arena *arena,
			struct object_problems *problems)
{
	struct state *state = own;
	size_t pool;

	if (state->pools.count == 0)
		return;
	sort(state);
	pool = pool_match_spec(state->pools.at, state->pools.count, group->spec, NULL, arena);
	if (pool != POOL_NONE)
		check_minimum(state, pool, group, arena, problems);
	else
		object_problem_add(arena, problems, POOL_RULE_NONE, group->path,
				   "group %.100s has GPUs, and no pool in these files matches "
				   "it: no pool limits it or guarantees it GPUs",
				   group->name);
}

/* ---- the hooks ---- */

static const struct object_cure cures[] = {
	{ " quota nominalQuota guarantee ", "write guaranteed of the queue" },
	{ " borrowingLimit limit max ", "write maximum of the queue" },
	{ " namespaces namespace ", "write namespaceSelector: {matchLabels: "
				    "{kubernetes.io/metadata.name: NAMESPACE}} into the queue" },
	{ " cohort cohortName ", "remove it: the queues of one GPUPool lend to each other" },
	{ NULL, NULL },
};

const struct object_kinds pool_kinds = { .kind = GPU_POOL_KIND,
					 .fields = gpu_pool_fields,
					 .cures = cures,
					 .state_size = sizeof(struct state),
					 .add = add,
					 .check = check,
					 .keeps = has_gpus,
					 .group_path = "",
					 .group = check_group };
