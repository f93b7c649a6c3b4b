#include "feature/repair/core/repair.h"

#include <string.h>

#include "base/int64.h"
#include "base/sort.h"
#include "base/text.h"
#include "core/capacity/gpu_count.h"
#include "core/decide/mark.h"
#include "core/model/reason.h"
#include "core/nodes/node_match.h"

const char *repair_state_name(enum repair_state state)
{
	static const char *const names[] = {
#define X(name, word, note) word,
		REPAIR_STATE_TABLE(X)
#undef X
	};

	return names[state];
}

/* ---- settings ---- */

/* spec.repair, completed by the flags. */
static struct repair_spec rule_of(const struct snapshot *snapshot)
{
	const struct settings *settings = &snapshot->settings;
	struct repair_spec rule = { .deletes = false };

	if (snapshot->autoscaler && snapshot->autoscaler->repair)
		rule = *snapshot->autoscaler->repair;
	if (!rule.has_deadline_seconds)
		rule.deadline_seconds = settings->repair_deadline_seconds;
	rule.deadline_seconds =
		int64_max(1, int64_min(rule.deadline_seconds, REPAIR_DEADLINE_SECONDS_MAX));
	if (!rule.has_deletes)
		rule.deletes = settings->repair_deletes;
	if (!rule.has_max_unavailable)
		rule.max_unavailable = settings->repair_max_unavailable;
	if (!rule.has_max_unavailable_percent)
		rule.max_unavailable_percent = settings->repair_max_unavailable_percent;
	return rule;
}

/* ---- the Nodes ---- */

/* The weight of a sign, the least first. */
enum rank { RANK_REPORTED = 0, RANK_LASTS, RANK_OF_PODS, RANK_OF_NODE };

struct sign {
	struct repair_signal of;
	enum rank rank;
};

struct sick {
	struct repair_node of;
	const struct node *node; /* NULL: no cordon and no taint of it is known */
	VEC(struct sign) signs;
	VEC(const struct pod *) pods; /* the head, and workers that are not being deleted */
	bool repelled;                /* it takes none of these workers again */
};

static struct sick *add_sign(const struct facts *facts, struct map *sick, const char *name,
			     const struct repair_signal *signal)
{
	struct sick *own = map_get(sick, name);

	if (!own) {
		own = ARENA_NEW(facts->arena, struct sick);
		own->of.node = name;
		own->repelled = true;
		map_set(sick, name, own);
	}
	VEC_PUSH(facts->arena, &own->signs, ((struct sign){ .of = *signal }));
	return own;
}

static struct map find_sick(const struct facts *facts)
{
	const struct snapshot *snapshot = facts->snapshot;
	const struct settings *settings = &snapshot->settings;
	const struct device_signs *signs = feature_slot_get(facts->slots, &device_signs_slot);
	struct map sick = MAP_IN(facts->arena);
	struct repair_signal signal;

	ARRAY_EACH(const struct drain_request, request, snapshot->drain_requests,
		   snapshot->drain_request_count)
		if (repair_signal_of_request(request, snapshot->cluster.namespace_, facts->arena,
					     &signal))
			(void)add_sign(facts, &sick, request->node, &signal);
	ARRAY_EACH(const struct device_sign, sign, signs ? signs->list.at : NULL,
		   signs ? signs->list.count : 0) {
		signal = repair_signal_of_device(settings, sign, facts->arena);
		(void)add_sign(facts, &sick, sign->pod->spec.node_name, &signal);
	}
	ARRAY_EACH(const struct node, node, snapshot->nodes, snapshot->node_count) {
		struct sick *own = repair_signal_of(settings, node, facts->arena, &signal) ?
					   add_sign(facts, &sick, node->name, &signal) :
					   map_get(&sick, node->name);

		if (own)
			own->node = node;
	}
	return sick;
}

/* Pods with work that Ray drains: after a restart the memory of the Nodes that have begun is lost. */
static struct name_set draining_pods(const struct facts *facts)
{
	const struct ray_state *ray = facts->snapshot->ray_state;
	VEC(const char *) names = { .at = NULL };

	ARRAY_EACH(const struct ray_node, node, ray ? ray->nodes : NULL, ray->node_count)
		if (node->status == RAY_NODE_DRAINING && !ray_node_is_unused(node))
			VEC_PUSH(facts->arena, &names, node->instance_id);
	return name_set_of_strings(facts->arena, &(struct strings){ names.at, names.count });
}

static bool is_repelled(const struct pod *pod, const struct node *node)
{
	return node_match_taint(&pod->spec, node) || node_match_is_cordoned(&pod->spec, node);
}

/* Notes the Pods on the Nodes; returns the number of all Nodes that have workers. */
static int64_t add_pods(const struct facts *facts, const struct map *sick)
{
	const struct snapshot *snapshot = facts->snapshot;
	const struct name_set draining = draining_pods(facts);
	struct map used = MAP_IN(facts->arena);

	for (size_t i = 0; i < snapshot->pod_count; i++) {
		const struct pod *pod = snapshot->pods[i];
		struct sick *own = map_get(sick, pod->spec.node_name);
		bool is_worker = pod_is_worker(pod) && pod->spec.node_name[0] != '\0' &&
				 !pod->deleting;

		if (is_worker)
			map_set(&used, pod->spec.node_name, pod);
		if (!own)
			continue;
		own->of.begun |= name_set_contains(&draining, pod->name);
		if (is_worker || pod == facts->head_pod)
			VEC_PUSH(facts->arena, &own->pods, pod);
		if (is_worker)
			own->repelled &= own->node && is_repelled(pod, own->node);
	}
	return (int64_t)used.count;
}

/* ---- the sign that counts ---- */

static time_ms since(const struct facts *facts, const struct sick *own,
		     const struct repair_signal *signal)
{
	return signal->acts && signal->since == TIME_NONE ?
		       mark_since(facts, MARK_REPAIR, own->of.node) :
		       signal->since;
}

/* The Node takes none of the workers that the sign is about. */
static bool repels(const struct sick *own, const struct repair_signal *signal)
{
	if (!signal->pods)
		return own->repelled;
	VEC_EACH(const struct pod *const, pod, &own->pods)
		if (pod_is_worker(*pod) &&
		    text_is_among((*pod)->name, signal->pods->at, signal->pods->count) &&
		    !(own->node && is_repelled(*pod, own->node)))
			return false;
	return true;
}

/* The replacement of a worker with a tainted device gets another device. */
static bool acts(const struct sick *own, const struct repair_signal *signal)
{
	return signal->acts && (repels(own, signal) || signal->source == REPAIR_BY_DEVICE);
}

static enum rank rank_of(const struct facts *facts, const struct sick *own,
			 const struct repair_signal *signal)
{
	int64_t after_ms = signal->after_ms;

	if (!acts(own, signal))
		return RANK_REPORTED;
	if (after_ms > 0 && mark_find(facts, MARK_REPAIR_ENDED, own->of.node))
		after_ms = int64_max(after_ms, REPAIR_RETURNED_MS);
	if (!due_passed(facts->due, since(facts, own, signal), after_ms))
		return RANK_LASTS;
	return signal->pods ? RANK_OF_PODS : RANK_OF_NODE;
}

static bool is_before(const struct sign *a, const struct sign *b)
{
	if (a->rank != b->rank)
		return a->rank > b->rank;
	if (a->of.source != b->of.source)
		return a->of.source < b->of.source;
	return a->of.since < b->of.since;
}

/* Of a sign of some Pods with those of its equals; NULL: all there. */
static const struct name_set *pods_of(const struct facts *facts, const struct sick *own,
				      const struct sign *first)
{
	VEC(const char *) names = { .at = NULL };
	struct name_set *pods;

	if (!first->of.pods)
		return NULL;
	VEC_EACH(const struct sign, sign, &own->signs) {
		if (sign->rank != first->rank || !sign->of.pods)
			continue;
		for (size_t i = 0; i < sign->of.pods->count; i++)
			VEC_PUSH(facts->arena, &names, sign->of.pods->at[i]);
	}
	pods = ARENA_NEW(facts->arena, struct name_set);
	*pods = name_set_of_strings(facts->arena, &(struct strings){ names.at, names.count });
	return pods;
}

/* False: none of its Pods is there. */
static bool judge(const struct facts *facts, struct sick *own)
{
	const struct memory_mark *mark = mark_find(facts, MARK_REPAIR, own->of.node);
	bool dry_run = facts->snapshot->settings.repair_dry_run, has_head = false;
	const struct sign *first = own->signs.at; /* there is one */
	struct repair_node *node = &own->of;

	VEC_EACH(struct sign, sign, &own->signs) {
		sign->rank = rank_of(facts, own, &sign->of);
		if (is_before(sign, first))
			first = sign;
	}
	node->pods = pods_of(facts, own, first);
	VEC_EACH(const struct pod *const, pod, &own->pods) {
		if (node->pods && !name_set_contains(node->pods, (*pod)->name))
			continue;
		if (*pod == facts->head_pod) {
			has_head = true;
			continue;
		}
		node->workers++;
		repair_limits_add(node, facts->snapshot->pools, *pod, facts->arena);
	}
	node->begun |= mark && mark->count > 0;
	node->since = since(facts, own, &first->of);
	if (first->rank != RANK_REPORTED && node->workers > 0)
		node->state = first->rank == RANK_LASTS && !node->begun ? REPAIR_STATE_LASTS :
			      dry_run                                   ? REPAIR_STATE_DRY_RUN :
									  REPAIR_STATE_WAITS;
	node->why = repair_signal_text(&first->of, facts->arena);
	if (has_head)
		node->why = arena_printf(facts->arena, "%s; the head there stays", node->why);
	if (first->of.acts && first->rank == RANK_REPORTED && node->workers > 0)
		node->why = arena_printf(facts->arena, "%s; it still takes %s", node->why,
					 own->node && own->node->unschedulable ?
						 "its Pods, which tolerate the cordon" :
						 "Pods, so cordon it");
	return node->workers > 0 || has_head;
}

static int compare_nodes(const void *left, const void *right)
{
	return strcmp(((const struct repair_node *)left)->node,
		      ((const struct repair_node *)right)->node);
}

static int compare_node_name(const void *name, const void *node)
{
	return strcmp(name, ((const struct repair_node *)node)->node);
}

static void add_nodes(const struct facts *facts, const struct repair_spec *rule,
		      const struct map *sick, struct plan_repair *repair)
{
	for (size_t i = 0; i < sick->count; i++) {
		struct sick *own = sick->entries[i].value;

		own->of.drain_ms = rule->deadline_seconds * MS_PER_SECOND;
		if (judge(facts, own))
			VEC_PUSH(facts->arena, &repair->nodes, own->of);
	}
	sort_stable(repair->nodes.at, repair->nodes.count, sizeof(*repair->nodes.at),
		    compare_nodes);
}

/* ---- which of them begin ---- */

/* Those that the limits allow. One that has begun continues without a grant: after a restart its replacement would be
 * idle, and end, until the fleet grants it again. */
static void choose(const struct facts *facts, struct plan_repair *repair, int64_t limit)
{
	VEC(struct repair_node *) candidates = { .at = NULL };
	const struct name_set granted =
		name_set_of_strings(facts->arena, &facts->snapshot->repair_grants);
	struct map counts = MAP_IN(facts->arena);

	VEC_EACH(struct repair_node, node, &repair->nodes)
		if (node->state == REPAIR_STATE_WAITS)
			VEC_PUSH(facts->arena, &candidates, node);
	repair_choose(candidates.at, candidates.count, limit, &counts);
	for (size_t i = 0; i < candidates.count; i++) {
		struct repair_node *node = candidates.at[i];

		node->asks = node->granted && !node->begun &&
			     facts->snapshot->repair_grants_known &&
			     !name_set_contains(&granted, node->node);
		if (node->granted && !node->asks)
			node->state = REPAIR_STATE_BEGUN;
	}
}

static void begin(struct facts *facts, bool deletes, const struct plan_repair *repair)
{
	VEC_EACH(const struct repair_node, node, &repair->nodes) {
		bool begun = node->state == REPAIR_STATE_BEGUN;

		if (node->state != REPAIR_STATE_REPORTED)
			VEC_PUSH(facts->arena, &facts->memory.marks,
				 ((struct memory_mark){ MARK_REPAIR, node->node, node->since, begun,
							NULL }));
		if (begun)
			VEC_PUSH(facts->arena, &facts->planned_ends,
				 ((struct planned_end){
					 .node = node->node,
					 .pods = node->pods,
					 .why = arena_printf(facts->arena,
							     "Node %s is to be repaired (%s)",
							     node->node, node->why),
					 .drain_ms = node->drain_ms,
					 .stops = deletes,
				 }));
	}
}

/* Notes signs that have ended since the last decision, and those of REPAIR_ENDED_MS. */
static void note_ended(struct facts *facts, const struct map *sick)
{
	for (size_t i = 0; i < facts->old_mark_count; i++) {
		const struct memory_mark *mark = facts->old_marks[i];

		if (mark->kind == MARK_REPAIR && mark->count > 0 && !map_get(sick, mark->key))
			VEC_PUSH(facts->arena, &facts->memory.marks,
				 ((struct memory_mark){ MARK_REPAIR_ENDED, mark->key,
							facts->snapshot->now, 0, NULL }));
		else if (mark->kind == MARK_REPAIR_ENDED &&
			 !due_passed(facts->due, mark->since, REPAIR_ENDED_MS))
			VEC_PUSH(facts->arena, &facts->memory.marks, *mark);
	}
}

/* NULL: none. */
static struct plan_repair *repair_of(const struct facts *facts)
{
	return feature_slot_get(facts->slots, &repair_decisions);
}

static void find(struct facts *facts)
{
	const struct repair_spec rule = rule_of(facts->snapshot);
	const struct map sick = find_sick(facts);
	struct plan_repair *repair;
	int64_t used;

	note_ended(facts, &sick);
	if (sick.count == 0)
		return;
	used = add_pods(facts, &sick);
	repair = ARENA_NEW(facts->arena, struct plan_repair);
	add_nodes(facts, &rule, &sick, repair);
	if (repair->nodes.count == 0)
		return;
	choose(facts, repair,
	       pool_repair_limit(rule.max_unavailable, rule.max_unavailable_percent, used));
	begin(facts, rule.deletes, repair);
	feature_slot_set(&facts->slots, facts->arena, &repair_decisions, repair);
}

static void assess(struct health *health)
{
	const char **failing = node_failures_assess(health);

	if (failing)
		feature_slot_set(&health->slots, health->arena, &repair_decisions, failing);
}

/* ---- the plan ---- */

static const char *const notes[] = {
#define X(name, word, note) note,
	REPAIR_STATE_TABLE(X)
#undef X
};

static void count_worker(const struct facts *facts, const struct plan_worker *worker,
			 struct repair_node *node)
{
	enum repair_use use = worker->node && !ray_node_is_unused(worker->node) ? REPAIR_BUSY :
										  REPAIR_IDLE;

	node->used[use]++;
	node->gpus[use] = resource_sum(
		node->gpus[use], gpu_count_of_pod(worker->object, &facts->snapshot->settings,
						  facts->snapshot->device_table, facts->arena));
}

/* Behind the reasons of workers whose Node has a sign and that stay there. */
static void note_workers(const struct facts *facts, struct plan_repair *repair, struct plan *plan)
{
	VEC_EACH(struct plan_worker, worker, &plan->workers) {
		struct repair_node *node = SORT_FIND(worker->object->spec.node_name,
						     repair->nodes.at, repair->nodes.count,
						     compare_node_name);
		const char *note;

		if (!node || worker->object->deleting ||
		    (node->pods && !name_set_contains(node->pods, worker->object->name)))
			continue;
		count_worker(facts, worker, node);
		if (worker->reason == REASON_LEAVING ||
		    (node->state == REPAIR_STATE_BEGUN && !pod_is_protected(worker->object)))
			continue;
		note = arena_printf(facts->arena, "its Node %s: %s%s", node->node, node->why,
				    notes[node->state]);
		worker->message = worker->message[0] != '\0' ? arena_printf(facts->arena, "%s; %s",
									    worker->message, note) :
							       note;
	}
}

/* The first Node of the most urgent state with its workers, and how many there are else. */
static const char *nodes_text(const struct facts *facts, const struct plan_repair *repair,
			      const size_t *counts)
{
	const size_t begun = counts[REPAIR_STATE_BEGUN], waits = counts[REPAIR_STATE_WAITS];
	const size_t others = repair->nodes.count - begun - waits;
	const struct repair_node *first = repair->nodes.at; /* there is one */
	const char *text;

	VEC_EACH(const struct repair_node, node, &repair->nodes)
		if (node->state > first->state)
			first = node;
	text = arena_printf(facts->arena, "Node %s with %lld worker%s: %s%s", first->node,
			    (long long)first->workers, first->workers == 1 ? "" : "s", first->why,
			    first->state == REPAIR_STATE_DRY_RUN ? notes[first->state] : "");
	if (waits > 0)
		text = arena_printf(facts->arena, "%s; %zu %sNode%s wait%s, repair.maxUnavailable",
				    text, waits, begun > 0 ? "more " : "", waits == 1 ? "" : "s",
				    waits == 1 ? "s" : "");
	if (begun + waits > 0 && others > 0)
		text = arena_printf(facts->arena, "%s; %zu with a sign that does not act", text,
				    others);
	return text;
}

/* "group gpu-group: 2 of 3 workers ..." behind the text. */
static const char *add_failing(const struct choice *choice, const char *text)
{
	const char *const *failing = feature_slot_get(choice->health->slots, &repair_decisions);

	ARRAY_EACH(const struct group, group, choice->facts->groups, choice->facts->group_count)
		if (failing && failing[group->index])
			text = arena_printf(choice->arena, "%s%sgroup %s: %s", text,
					    text[0] == '\0' ? "" : "; ", group->spec->name,
					    failing[group->index]);
	return text;
}

static void write(const struct choice *choice, struct plan *plan)
{
	struct plan_repair *repair = repair_of(choice->facts);
	size_t counts[REPAIR_STATE_COUNT] = { 0 };
	struct plan_condition *condition;
	const char *text = "";

	plan->repair = repair;
	if (repair) {
		VEC_EACH(const struct repair_node, node, &repair->nodes)
			counts[node->state]++;
		note_workers(choice->facts, repair, plan);
		text = nodes_text(choice->facts, repair, counts);
	}
	text = add_failing(choice, text);
	if (text[0] == '\0')
		return;
	condition = plan_add_condition(choice->arena, plan, CONDITION_NODES_TO_REPAIR, true,
				       counts[REPAIR_STATE_WAITS] > 0 ? REASON_REPAIR_WAITS :
				       counts[REPAIR_STATE_BEGUN] > 0 ? REASON_REPAIR_BEGUN :
									REASON_REPAIR_REPORTED,
				       text);
	condition->notice = counts[REPAIR_STATE_WAITS] == 0;
	condition->event = DECISION_EVENT_NODES_TO_REPAIR;
}

static void write_gated(const struct facts *facts, struct plan *plan)
{
	plan->repair = repair_of(facts);
}

const struct decision_feature repair_decisions = {
	.find = find,
	.assess = assess,
	.write = write,
	.write_gated = write_gated,
};
