#include "feature/protect_busy_pods/core/protect.h"

#include <string.h>

#include "base/check.h"
#include "core/model/identity.h"
#include "core/model/reason.h"

#define PROTECTED_TEXT                                                                             \
	"the head and the workers in use carry annotations, so Karpenter and Cluster Autoscaler "  \
	"do not evict them"
#define PROTECTING_TEXT "the head and the workers in use get their annotations"

const char *protect_action_name(enum protect_action action)
{
	static const char *const names[] = {
		[PROTECT_KEEP] = "Keep",
		[PROTECT_SET] = "Set",
		[PROTECT_END] = "End",
		[PROTECT_REMOVE] = "Remove",
	};

	return names[action];
}

/* ---- settings ---- */

struct rule {
	bool on;
	int64_t at_most_ms; /* 0: no limit */
};

/* With these gates it is not known any more which Pods are in use. */
static bool gives_up(const struct gate *gate)
{
	return gate->reason &&
	       (gate->reason == REASON_AUTOSCALING_DISABLED || gate->reason == REASON_UNMANAGED);
}

static struct rule rule_of(const struct facts *facts)
{
	const struct snapshot *snapshot = facts->snapshot;
	const struct autoscaler_object *object = snapshot->autoscaler;
	struct rule rule = { snapshot->settings.protect_busy_pods,
			     snapshot->settings.protect_at_most_seconds };

	if (object && object->has_protect_busy_pods)
		rule.on = object->protect_busy_pods;
	if (object && object->has_protect_at_most_seconds)
		rule.at_most_ms = object->protect_at_most_seconds;
	if (rule.at_most_ms > PROTECT_AT_MOST_SECONDS_MAX)
		rule.at_most_ms = PROTECT_AT_MOST_SECONDS_MAX;
	rule.at_most_ms *= MS_PER_SECOND;
	rule.on = rule.on && !gives_up(&facts->gate);
	return rule;
}

/* ---- use ---- */

enum use { USE_NONE = 0, USE_UNKNOWN /* nothing is changed */, USE_BUSY };

static enum use most(enum use a, enum use b)
{
	return a > b ? a : b;
}

static bool has_resources_in_use(const struct ray_node *node)
{
	VEC_EACH(const struct resource, total, &node->total)
		if (resources_amount(&node->available, total->name, 0) < total->amount)
			return true;
	return false;
}

static enum use use_of_idle(const struct facts *facts, const struct ray_node *node)
{
	time_ms since = facts->snapshot->now - node->idle_duration_ms;

	return due_passed(facts->due, since, PROTECT_IDLE_MS) ? USE_NONE : USE_UNKNOWN;
}

static enum use use_of_node(const struct facts *facts, const struct ray_node *node)
{
	switch (node->status) {
	case RAY_NODE_RUNNING:
		return USE_BUSY;
	case RAY_NODE_IDLE:
		return use_of_idle(facts, node);
	case RAY_NODE_DRAINING:
		return has_resources_in_use(node) ? USE_UNKNOWN : USE_NONE;
	case RAY_NODE_DEAD:
		return USE_NONE;
	case RAY_NODE_UNSPECIFIED:
		break;
	}
	return USE_UNKNOWN;
}

static enum use use_of_worker(const struct facts *facts, const struct worker *worker)
{
	enum use use;

	if (!facts->ray_reachable || facts->gate.reason)
		return USE_UNKNOWN;
	if (!worker->registered)
		return USE_NONE;
	use = use_of_node(facts, worker->node);
	return worker->disrupted && use == USE_BUSY ? USE_UNKNOWN : use;
}

static enum use use_of_head(const struct facts *facts, enum use of_workers)
{
	if (!facts->ray_reachable || facts->gate.reason || facts->head_problem || !facts->head_node)
		return USE_UNKNOWN;
	if (facts->demands.at.count > 0 || facts->gang_count > 0)
		return USE_BUSY;
	return most(of_workers, use_of_node(facts, facts->head_node));
}

/* Without one of its hosts a multi-host replica is lost. */
static void spread_over_replicas(const struct facts *facts, enum use *uses)
{
	enum use *replicas = arena_array(facts->arena, facts->worker_count + 1, sizeof(*replicas));

	for (size_t i = 0; i < facts->worker_count; i++)
		if (facts->workers[i].replica != FACTS_NO_INDEX)
			replicas[facts->workers[i].replica] =
				most(replicas[facts->workers[i].replica], uses[i]);
	for (size_t i = 0; i < facts->worker_count; i++)
		if (facts->workers[i].replica != FACTS_NO_INDEX)
			uses[i] = replicas[facts->workers[i].replica];
}

/* ---- one Pod ---- */

static bool is_ours(const struct facts *facts, const struct pod *pod)
{
	return !pod->deleting && !pod->unreadable && strcmp(pod->phase, "Failed") != 0 &&
	       strcmp(pod->phase, "Succeeded") != 0 &&
	       identity_is_owned(&facts->snapshot->cluster, pod);
}

/* false: all keys are there already, set by someone else. */
static bool begin(const struct facts *facts, const struct pod *pod, struct protected_pod *item)
{
	item->action = PROTECT_SET;
	item->record.since = facts->snapshot->now; /* later it is another one */
	due_now(facts->due);
	for (size_t i = 0; i < PROTECT_ANNOTATION_COUNT; i++)
		item->record.keys[i] =
			labels_value(&pod->annotations, protect_key((enum protect_annotation)i)) ==
			NULL;
	return !protect_record_ended(&item->record);
}

/* Removes the keys of the record that have the value which this program wrote. */
static void end(const struct pod *pod, enum protect_action action, struct protected_pod *item)
{
	item->action = action;
	for (size_t i = 0; i < PROTECT_ANNOTATION_COUNT; i++) {
		enum protect_annotation annotation = (enum protect_annotation)i;
		const char *value = labels_value(&pod->annotations, protect_key(annotation));

		item->removes[i] = item->record.keys[i] && value &&
				   strcmp(value, protect_value(annotation)) == 0;
		item->record.keys[i] = false;
	}
}

bool protect_take_back(const struct pod *pod, struct protected_pod *ret_item)
{
	*ret_item = (struct protected_pod){ .name = pod->name, .object = pod, .until = TIME_NONE };
	if (!protect_record_of(pod, &ret_item->record))
		return false;
	end(pod, PROTECT_REMOVE, ret_item);
	return true;
}

static void continue_or_end(const struct facts *facts, const struct rule *rule, enum use use,
			    const struct pod *pod, struct protected_pod *item)
{
	time_ms since = item->record.since;
	bool ended = protect_record_ended(&item->record);

	if (!rule->on || (use == USE_NONE && due_passed(facts->due, since, PROTECT_LEAST_MS)))
		end(pod, PROTECT_REMOVE, item);
	else if (!ended && rule->at_most_ms > 0 && due_passed(facts->due, since, rule->at_most_ms))
		end(pod, PROTECT_END, item);
	item->ended = item->action == PROTECT_END || (item->action == PROTECT_KEEP && ended);
}

/* NULL: the Pod has no record, and gets none. */
static const struct protected_pod *add_pod(const struct facts *facts, const struct rule *rule,
					   enum use use, const struct pod *pod,
					   struct plan_protection *protection)
{
	struct protected_pod item = { .name = pod->name, .object = pod, .until = TIME_NONE };
	struct protected_pod *added;

	if (!is_ours(facts, pod))
		return NULL;
	if (protect_record_of(pod, &item.record))
		continue_or_end(facts, rule, use, pod, &item);
	else if (!rule->on || use != USE_BUSY || !begin(facts, pod, &item))
		return NULL;
	item.since = item.record.since;
	if (rule->at_most_ms > 0 && !item.ended && item.action != PROTECT_REMOVE)
		item.until = item.since + rule->at_most_ms;
	added = VEC_ADD(facts->arena, &protection->pods);
	*added = item;
	return added;
}

/* ---- the plan ---- */

/* For `explain`, behind the reason of the worker. */
static void note_worker(const struct facts *facts, const struct protected_pod *item,
			struct plan_worker *worker)
{
	const char *since = time_text(facts->arena, item->since);
	const char *text = "";

	if (item->action == PROTECT_REMOVE)
		return;
	if (item->action == PROTECT_SET)
		text = "gets its protection from eviction";
	else if (item->ended)
		text = arena_printf(facts->arena,
				    "not protected from eviction any more: in use since %s, longer "
				    "than protectAtMostSeconds",
				    since);
	else
		text = arena_printf(facts->arena, "protected from eviction since %s", since);
	worker->message = worker->message[0] != '\0' ?
				  arena_printf(facts->arena, "%s; %s", worker->message, text) :
				  text;
}

static void add_workers(const struct facts *facts, const struct rule *rule, const enum use *uses,
			struct plan_protection *protection, struct plan *plan)
{
	size_t row = 0;

	for (size_t i = 0; i < facts->worker_count; i++) {
		const struct worker *worker = &facts->workers[i];
		const struct protected_pod *item;

		if (!worker->pod)
			continue;
		CHECK(row < plan->workers.count && plan->workers.at[row].object == worker->pod);
		item = add_pod(facts, rule, uses[i], worker->pod, protection);
		if (item)
			note_worker(facts, item, &plan->workers.at[row]);
		row++;
	}
}

/* The invariants of the header. */
static void check(const struct plan_protection *protection, const struct rule *rule)
{
	VEC_EACH(const struct protected_pod, item, &protection->pods) {
		struct protect_record old;
		bool had = protect_record_of(item->object, &old);

		CHECK(had == (item->action != PROTECT_SET));
		CHECK(rule->on || item->action == PROTECT_REMOVE);
		for (size_t k = 0; k < PROTECT_ANNOTATION_COUNT; k++) {
			const char *value = labels_value(&item->object->annotations,
							 protect_key((enum protect_annotation)k));

			CHECK(item->action != PROTECT_SET || !item->record.keys[k] || !value);
			CHECK(!item->removes[k] || (old.keys[k] && value));
		}
	}
}

static const struct plan_protection *make(const struct facts *facts, const struct rule *rule,
					  struct plan *plan)
{
	struct plan_protection *protection = ARENA_NEW(facts->arena, struct plan_protection);
	enum use *uses = arena_array(facts->arena, facts->worker_count + 1, sizeof(*uses));
	enum use of_workers = USE_NONE;

	for (size_t i = 0; i < facts->worker_count; i++)
		if (facts->workers[i].pod)
			uses[i] = use_of_worker(facts, &facts->workers[i]);
	spread_over_replicas(facts, uses);
	for (size_t i = 0; i < facts->worker_count; i++)
		of_workers = most(of_workers, uses[i]);
	if (facts->head_pod)
		add_pod(facts, rule, use_of_head(facts, of_workers), facts->head_pod, protection);
	add_workers(facts, rule, uses, protection, plan);
	check(protection, rule);
	return protection;
}

static bool has_records(const struct facts *facts)
{
	struct protect_record record;

	for (size_t i = 0; i < facts->snapshot->pod_count; i++)
		if (protect_record_of(facts->snapshot->pods[i], &record))
			return true;
	return false;
}

/* Without the setting, and without traces of it, nothing is done and nothing is written. */
static struct rule write_protection(const struct facts *facts, struct plan *plan)
{
	struct rule rule = rule_of(facts);

	if (rule.on || has_records(facts))
		plan->protection = make(facts, &rule, plan);
	return rule;
}

static void write_gated(const struct facts *facts, struct plan *plan)
{
	(void)write_protection(facts, plan);
}

static void write_condition(const struct facts *facts, struct plan *plan)
{
	const struct protected_pod *first_ended = NULL;
	size_t carried = 0, set = 0, ended = 0;

	VEC_EACH(const struct protected_pod, item, &plan->protection->pods) {
		carried += item->action == PROTECT_KEEP && !item->ended;
		set += item->action == PROTECT_SET;
		ended += item->ended;
		if (item->ended && !first_ended)
			first_ended = item;
	}
	if (first_ended)
		plan_add_condition(
			facts->arena, plan, CONDITION_PODS_PROTECTED, carried > 0,
			REASON_PROTECTION_ENDED,
			arena_printf(facts->arena,
				     "Pod %s%s in use for longer than protectAtMostSeconds, and "
				     "not protected until idle; raise it, or set 0, if no job "
				     "is stuck",
				     first_ended->name,
				     ended == 1 ? " is" :
						  arena_printf(facts->arena, " and %zu more are",
							       ended - 1)));
	else
		plan_add_condition(facts->arena, plan, CONDITION_PODS_PROTECTED, carried > 0,
				   carried + set > 0 ? REASON_PODS_PROTECTED : REASON_NO_POD_IN_USE,
				   carried > 0 ? PROTECTED_TEXT :
				   set > 0     ? PROTECTING_TEXT :
						 "no Pod is in use");
	plan->conditions.at[plan->conditions.count - 1].notice = true;
}

static void write(const struct choice *choice, struct plan *plan)
{
	if (write_protection(choice->facts, plan).on)
		write_condition(choice->facts, plan);
}

const struct decision_feature protect_busy_pods_decisions = {
	.write = write,
	.write_gated = write_gated,
};
