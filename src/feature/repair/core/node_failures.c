#include "feature/repair/core/repair.h"

#include <string.h>

/* Of the group, in NODE_FAILURES_MS. Workers that crash while the head is away say nothing of their Node. */
static bool counts(const struct health *health, const struct group *group,
		   const struct worker_failure *failure)
{
	const struct pod *head = health->facts->head_pod;
	const struct container_status *head_status = head ? pod_ray_container_status(head) : NULL;

	return strcmp(failure->group, group->spec->name) == 0 &&
	       (!head_status || failure->at > head_status->started_at) &&
	       due_reached(health->facts->due, failure->at) &&
	       !due_passed(health->facts->due, failure->at, NODE_FAILURES_MS);
}

/* ", which has condition SysLogsXIDError: Xid 79", or "". */
static const char *sign_text(const struct health *health, const char *name)
{
	const struct snapshot *snapshot = health->snapshot;
	const struct node *node = ARRAY_FIND(snapshot->nodes, snapshot->node_count, name, name);
	struct repair_signal signal;

	if (!node || !repair_signal_of(&snapshot->settings, node, health->arena, &signal))
		return "";
	return arena_printf(health->arena, ", which %s %s",
			    signal.source == REPAIR_BY_CORDON ? "is" : "has",
			    repair_signal_text(&signal, health->arena));
}

/* On another Node a worker of the group has registered with Ray. */
static bool runs_elsewhere(const struct facts *facts, const struct group *group, const char *node)
{
	ARRAY_EACH(const struct worker, worker, &facts->workers[group->first_worker],
		   group->worker_count)
		if (worker->registered && worker->pod &&
		    strcmp(worker->pod->spec.node_name, node) != 0)
			return true;
	return false;
}

/* The failures of one group. */
struct failures {
	const struct worker_failure *at[WORKER_FAILURES_MAX];
	size_t count;
	const struct worker_failure *last; /* on the Node with the most of them, and their number */
	size_t most;
};

static struct failures failures_of(const struct health *health, const struct group *group)
{
	const struct snapshot *snapshot = health->snapshot;
	struct failures own = { .count = 0 };

	for (size_t i = 0; i < snapshot->worker_failure_count && i < WORKER_FAILURES_MAX; i++)
		if (counts(health, group, &snapshot->worker_failures[i]))
			own.at[own.count++] = &snapshot->worker_failures[i];
	for (size_t i = 0; i < own.count; i++) {
		const struct worker_failure *last = own.at[i];
		size_t count = 0;

		for (size_t j = 0; j < own.count; j++)
			if (strcmp(own.at[j]->node, last->node) == 0) {
				count++;
				if (own.at[j]->at > last->at)
					last = own.at[j];
			}
		if (count > own.most) {
			own.most = count;
			own.last = last;
		}
	}
	return own;
}

/* The words; NULL: they do not fail on one Node. */
static const char *judge(const struct health *health, const struct group *group,
			 struct group_health *own)
{
	const struct failures failures = failures_of(health, group);
	const struct worker_failure *last = failures.last;
	const char *sign, *text;

	if (failures.most < NODE_FAILURES_NAMED || 2 * failures.most <= failures.count)
		return NULL;
	sign = sign_text(health, last->node);
	if (sign[0] == '\0' && !runs_elsewhere(health->facts, group, last->node))
		return NULL;
	text = arena_printf(health->arena,
			    "%zu of %zu workers that failed in 24 h ran on Node %s%s",
			    failures.most, failures.count, last->node, sign);
	if (failures.most < NODE_FAILURES_BACK_OFF)
		return text;
	own->cause = REASON_NODE_FAILS;
	own->cause_message = text;
	if (*last->message)
		own->cause_message = arena_printf(health->arena, "%s; the last one: Pod %s: %s",
						  text, last->pod, last->message);
	own->caused_at = last->at;
	return text;
}

const char **node_failures_assess(struct health *health)
{
	const struct facts *facts = health->facts;
	const char **texts;

	if (health->snapshot->worker_failure_count < NODE_FAILURES_NAMED)
		return NULL;
	texts = arena_array(health->arena, facts->group_count, sizeof(*texts));
	ARRAY_EACH(const struct group, group, facts->groups, facts->group_count)
		texts[group->index] = judge(health, group, &health->groups[group->index]);
	return texts;
}
