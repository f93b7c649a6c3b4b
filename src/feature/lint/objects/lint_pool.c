/* The rules of a GPUPool, alone and among the others of the same files. Pure. */
#include <string.h>

#include "codec/objects/gpu_pool_object.h"
#include "codec/objects/namespace_json.h"
#include "feature/lint/core/lint.h"
#include "feature/lint/core/lint_rule.h"
#include "feature/lint/objects/lint_check.h"

/* Of a list in a message. */
#define NAMES_MAX 5
#define QUEUES_MAX 1000 /* compared with each other */
#define ALONE "the pool has one queue, for all namespaces; add queues, or remove it"

static void add_problems(const struct gpu_pool *pool, struct arena *arena,
			 struct lint_findings *findings)
{
	for (size_t i = 0; i < pool->problems.count; i++) {
		const char *text = pool->problems.at[i], *end = strstr(text, ": ");

		lint_add(arena, findings, LINT_RULE_FIELD_INVALID,
			 arena_strndup(arena, text, end ? (size_t)(end - text) : 0),
			 lint_shown_path(text), "");
	}
}

static void check_guarantees(const struct gpu_pool *pool, struct arena *arena,
			     struct lint_findings *findings)
{
	int64_t sum = 0;

	for (size_t i = 0; i < pool->queue_count; i++)
		sum = resource_sum(sum, pool->queues[i].guaranteed);
	if (pool->has_gpus && pool->gpus == 0 && pool->problems.count == 0)
		lint_add(
			arena, findings, LINT_RULE_POOL_GUARANTEES, "spec.gpus",
			"the pool has 0 GPUs, so it grants none; raise gpus, or remove it to count "
			"the GPUs of Nodes",
			"");
	else if (pool->has_gpus && sum > pool->gpus)
		lint_add(arena, findings, LINT_RULE_POOL_GUARANTEES, "spec.queues",
			 arena_printf(
				 arena,
				 "the queues are guaranteed %s GPUs and the pool has %s, so each "
				 "guarantee counts in proportion; raise gpus or lower guarantees",
				 resource_amount_text(arena, sum),
				 resource_amount_text(arena, pool->gpus)),
			 "");
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
		       struct lint_findings *findings)
{
	for (size_t i = 1; i < pool->queue_count && i < QUEUES_MAX; i++)
		for (size_t before = 0; before < i; before++) {
			if (selects_all(&pool->queues[i]) ||
			    !selects_same(&pool->queues[before], &pool->queues[i]))
				continue;
			lint_add(
				arena, findings, LINT_RULE_QUEUE_UNREACHABLE,
				arena_printf(arena, "spec.queues[%zu].namespaceSelector", i),
				arena_printf(
					arena,
					"queue %.63s selects the namespaces of queue %.63s, which is "
					"before it, so none belongs to it; select others, or remove "
					"it",
					pool->queues[i].name, pool->queues[before].name),
				"");
			break;
		}
}

static void check_order(const struct gpu_pool *pool, struct arena *arena,
			struct lint_findings *findings)
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
	lint_add(arena, findings, LINT_RULE_QUEUE_UNREACHABLE,
		 arena_printf(arena, "spec.queues[%zu].namespaceSelector", all),
		 arena_printf(arena,
			      "queue %.63s selects all namespaces, so none belongs to the queues "
			      "below it: %s; move it to the end",
			      pool->queues[all].name, behind),
		 "");
}

/* ---- settings that others make void ---- */

static void add_void(const char *path, const char *why, struct arena *arena,
		     struct lint_findings *findings)
{
	lint_add(arena, findings, LINT_RULE_SETTING_WITHOUT_EFFECT, path,
		 arena_printf(arena, "%s has no effect: %s", lint_shown_path(path), why), "");
}

static void check_void_queue(const struct gpu_pool *pool, size_t i, bool any_guarantee,
			     struct arena *arena, struct lint_findings *findings)
{
	const struct gpu_pool_queue *queue = &pool->queues[i];
	const char *path = arena_printf(arena, "spec.queues[%zu]", i);
	bool alone = pool->queue_count == 1 && selects_all(queue);

	if (queue->has_maximum && pool->has_gpus && queue->maximum > pool->gpus)
		add_void(lint_path_member(arena, path, "maximum"),
			 arena_printf(arena, "the pool has %s GPUs; lower or remove it",
				      resource_amount_text(arena, pool->gpus)),
			 arena, findings);
	if (queue->has_busy && queue->busy_after_seconds != GPU_POOL_NEVER && !any_guarantee)
		add_void(lint_path_member(arena, path, "busy"),
			 "busy workers end only for a guarantee, and no queue has one; add "
			 "guaranteed to a queue",
			 arena, findings);
	if (!alone)
		return;
	if (queue->weight != 1)
		add_void(lint_path_member(arena, path, "weight"), ALONE, arena, findings);
	if (queue->priority != 0)
		add_void(lint_path_member(arena, path, "priority"), ALONE, arena, findings);
}

static void check_void(const struct gpu_pool *pool, struct arena *arena,
		       struct lint_findings *findings)
{
	bool any_guarantee = false;

	for (size_t i = 0; i < pool->queue_count; i++)
		any_guarantee = any_guarantee || pool->queues[i].guaranteed > 0;
	if (pool->busy_after_seconds != GPU_POOL_NEVER && !any_guarantee)
		add_void("spec.reclaim.busy",
			 "busy workers end only for a guarantee, and no queue has one; add "
			 "guaranteed to a queue",
			 arena, findings);
	for (size_t i = 0; i < pool->queue_count; i++)
		check_void_queue(pool, i, any_guarantee, arena, findings);
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
			 size_t count, struct arena *arena, struct lint_findings *findings)
{
	const struct gpu_pool *hides = NULL, *shares = NULL;

	for (size_t i = 0; i < count && strcmp(all[i]->name, pool->name) < 0; i++) {
		if (!hides && has_all(&all[i]->groups, &pool->groups))
			hides = all[i];
		if (!shares && may_overlap(&all[i]->groups, &pool->groups))
			shares = all[i];
	}
	if (hides)
		lint_add(arena, findings, LINT_RULE_POOL_OVERLAP, "spec.groups",
			 arena_printf(arena,
				      "no group draws from this pool: pool %.253s matches each of "
				      "them and is before it by name; rename one, or set groups",
				      hides->name),
			 "")
			->severity = LINT_WARNING;
	else if (shares)
		lint_add(arena, findings, LINT_RULE_POOL_OVERLAP, "spec.groups",
			 arena_printf(arena,
				      "a group that matches pool %.253s too draws from that one, "
				      "which is before this pool by name",
				      shares->name),
			 "");
}

void lint_pool(const struct gpu_pool *pool, const struct gpu_pool *const *all, size_t count,
	       struct arena *arena, struct lint_findings *findings)
{
	add_problems(pool, arena, findings);
	if (pool->problems.count == 0) {
		check_guarantees(pool, arena, findings);
		check_order(pool, arena, findings);
		check_same(pool, arena, findings);
		check_void(pool, arena, findings);
	}
	check_others(pool, all, count, arena, findings);
}

/* ---- worker groups ---- */

bool lint_pool_counts(const struct pod_spec *spec, const struct device_table *devices)
{
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
static bool labels_of(const struct lint_pool_sums *sums, const struct gpu_pool *pool,
		      const char *namespace_, struct arena *arena, struct labels *ret_labels)
{
	for (size_t i = 0; i < sums->namespace_count; i++)
		if (strcmp(sums->namespaces[i].name, namespace_) == 0) {
			*ret_labels =
				namespace_labels_of(&sums->namespaces[i].labels, namespace_, arena);
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

static void check_minimum(struct lint_pool_sums *sums, size_t index,
			  const struct lint_pool_subject *group, struct arena *arena,
			  struct lint_findings *findings)
{
	const struct gpu_pool *pool = sums->pools[index];
	const struct gpu_pool_queue *queue;
	struct labels labels;
	int64_t before, *taken;
	size_t q;

	if (group->min_gpus <= 0 || *group->namespace_ == '\0' ||
	    !labels_of(sums, pool, group->namespace_, arena, &labels))
		return;
	q = pool_match_queue(pool, &labels);
	if (q == pool->queue_count)
		return;
	queue = &pool->queues[q];
	if (!sums->taken)
		sums->taken = arena_array(arena, sums->count, sizeof(*sums->taken));
	if (!sums->taken[index])
		sums->taken[index] = arena_array(arena, pool->queue_count, sizeof(**sums->taken));
	taken = &sums->taken[index][q];
	before = *taken;
	*taken = resource_sum(before, group->min_gpus);
	if (!queue->has_maximum || before > queue->maximum || *taken <= queue->maximum)
		return;
	lint_add(arena, findings, LINT_RULE_POOL_MINIMUM,
		 lint_path_member(arena, group->path, "minReplicas"),
		 arena_printf(
			 arena,
			 "minReplicas of queue %.63s of pool %.253s take %s GPUs up to this group, "
			 "above its maximum %s; KubeRay creates them whatever the pool grants: "
			 "lower minReplicas, or raise maximum",
			 queue->name, pool->name, resource_amount_text(arena, *taken),
			 resource_amount_text(arena, queue->maximum)),
		 "");
}

void lint_pool_group(struct lint_pool_sums *sums, const struct lint_pool_subject *group,
		     struct arena *arena, struct lint_findings *findings)
{
	size_t pool = pool_match_spec(sums->pools, sums->count, group->spec, NULL, arena);

	if (pool != POOL_NONE)
		check_minimum(sums, pool, group, arena, findings);
	else
		lint_add(arena, findings, LINT_RULE_GROUP_WITHOUT_POOL, group->path,
			 arena_printf(arena,
				      "group %.100s has GPUs, and no pool in these files matches "
				      "it: no pool limits it or guarantees it GPUs",
				      group->title),
			 "");
}
