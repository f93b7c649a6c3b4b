#include "core/report/summary.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/int64.h"
#include "base/memory.h"
#include "base/text.h"
#include "core/capacity/capacity.h"
#include "core/decide/demand.h"
#include "core/decide/gate.h"
#include "core/model/reason.h"

#define UNSERVED_SEEN_MAX 1000
#define PLACEMENT_GROUP_ID_DIGITS 36

#define REPLICAS_UNLIMITED INT32_MAX /* the CRD's default of maxReplicas */

#define GPUS_UNKNOWN                                                                               \
	{                                                                                          \
		.starting = SUMMARY_UNLIMITED, .wanted = SUMMARY_UNLIMITED,                        \
		.maximum = SUMMARY_UNLIMITED                                                       \
	}

const struct summary_group summary_group_none = {
	.hosts = 1,
	.worker_gpus = SUMMARY_UNLIMITED,
	.gpus = GPUS_UNKNOWN,
	.idle_since = TIME_NONE,
	.reason = "",
	.message = "",
	.unserved_reason = "",
	.waiting_reason = "",
	.waiting_message = "",
};

const struct summary summary_none = {
	.decided_at = TIME_NONE,
	.last_scale_time = TIME_NONE,
	.gpus = GPUS_UNKNOWN,
	.reason = "",
	.message = "",
};

static void raise_by(int64_t *sum, int64_t amount)
{
	*sum = int64_saturated((__int128)*sum + amount);
}

static int64_t times(int64_t count, int64_t hosts, int64_t amount)
{
	return int64_saturated((__int128)int64_saturated((__int128)count * hosts) * amount);
}

static void add_gpus(struct summary_gpus *sum, const struct summary_gpus *gpus)
{
	raise_by(&sum->running, gpus->running);
	raise_by(&sum->in_use, gpus->in_use);
	raise_by(&sum->unused, gpus->unused);
	raise_by(&sum->idle, gpus->idle);
	raise_by(&sum->starting, gpus->starting);
	raise_by(&sum->wanted, gpus->wanted);
	raise_by(&sum->maximum, gpus->maximum);
}

/* --- workers --- */

static void add_node(struct summary_gpus *gpus, const struct ray_node *node, bool idle)
{
	int64_t total = resources_amount(&node->total, "GPU", 0);
	/* A resource that is used up has no key (T8). */
	int64_t free = resources_amount(&node->available, "GPU", 0);

	raise_by(&gpus->running, total);
	raise_by(&gpus->in_use, free < total ? total - free : 0);
	raise_by(&gpus->unused, free < total ? free : total);
	if (idle)
		raise_by(&gpus->idle, total);
}

static bool is_coming(const struct plan_worker *worker)
{
	return !worker->node && worker->reason != REASON_BEING_DELETED &&
	       (worker->state == WORKER_PENDING || worker->state == WORKER_STARTING);
}

static void add_worker(const struct snapshot *snapshot, const struct plan_worker *worker,
		       struct summary_group *group)
{
	group->pods[worker->state]++;
	if (is_coming(worker)) {
		raise_by(&group->gpus.starting, group->worker_gpus);
		if (group->waiting_reason[0] == '\0') {
			group->waiting_reason = reason_word(worker->reason);
			group->waiting_message = worker->message;
		}
	}
	if (!worker->node)
		return;
	group->registered++;
	add_node(&group->gpus, worker->node, worker->state == WORKER_IDLE);
	if (worker->state != WORKER_IDLE)
		return;
	time_ms since = snapshot->ray_state_time - worker->node->idle_duration_ms;
	if (group->idle_since == TIME_NONE || since < group->idle_since)
		group->idle_since = since;
}

/* Demand that names this group. Of the many shapes of a busy cluster the first are enough. */
static void count_waiting(const struct plan *plan, struct summary_group *group)
{
	for (size_t i = 0; i < plan->unserved.count && i < UNSERVED_SEEN_MAX; i++) {
		const struct plan_demand *demand = &plan->unserved.at[i];

		if (strcmp(demand->group, group->name) != 0)
			continue;
		if (group->waiting == 0)
			group->unserved_reason = reason_word(demand->reason);
		raise_by(&group->waiting, demand->count);
	}
}

static void begin_group(const struct worker_group *spec, const struct plan_group *planned,
			bool known, struct summary_group *group)
{
	*group = (struct summary_group){
		.name = planned->name,
		.replicas = planned->replicas,
		.target_replicas = planned->target_replicas,
		.min_replicas = spec->min_replicas,
		.max_replicas = spec->max_replicas,
		.hosts = spec->num_of_hosts > 0 ? spec->num_of_hosts : 1,
		.missing = planned->missing,
		.worker_gpus = planned->worker_gpus,
		.backoff = planned->backoff,
		.idle_since = TIME_NONE,
		.reason = reason_word(planned->reason),
		.message = planned->message,
		.unserved_reason = "",
		.waiting_reason = "",
		.waiting_message = "",
	};
	group->gpus.known = known;
	group->gpus.starting = times(group->missing, 1, group->worker_gpus);
	group->gpus.wanted = times(group->target_replicas, group->hosts, group->worker_gpus);
	group->gpus.maximum = times(group->max_replicas, group->hosts, group->worker_gpus);
	if (group->worker_gpus > 0 && group->max_replicas >= REPLICAS_UNLIMITED)
		group->gpus.maximum = SUMMARY_UNLIMITED;
}

void summary_add_pods(struct summary *summary, struct summary_group *group)
{
	group->pod_count = 0;
	for (size_t i = 0; i < SUMMARY_STATE_COUNT; i++) {
		group->pod_count += group->pods[i];
		raise_by(&summary->pods[i], group->pods[i]);
	}
	group->pending =
		group->missing + group->pods[WORKER_PENDING] + group->pods[WORKER_STARTING];
	raise_by(&summary->pod_count, group->pod_count);
	raise_by(&summary->missing, group->missing);
}

int64_t summary_ready(const struct summary_group *group)
{
	int64_t workers = group->pods[WORKER_RUNNING] + group->pods[WORKER_IDLE];

	return group->hosts > 0 ? workers / group->hosts : workers;
}

static void end_group(struct summary *summary, struct summary_group *group)
{
	summary_add_pods(summary, group);
	summary->registered += group->registered;
	add_gpus(&summary->gpus, &group->gpus);
}

/* The plan lists workers by group, in its order; those of removed groups are last. */
static void sum_groups(const struct snapshot *snapshot, const struct plan *plan,
		       struct arena *arena, struct summary *summary)
{
	struct summary_group *groups = arena_array(arena, plan->groups.count, sizeof(*groups));
	struct summary_group removed = { .waiting_reason = "", .idle_since = TIME_NONE };
	size_t at = 0;

	for (size_t g = 0; g < plan->groups.count; g++) {
		begin_group(&snapshot->cluster.groups[g], &plan->groups.at[g],
			    summary->ray_reachable, &groups[g]);
		for (; at < plan->workers.count &&
		       strcmp(plan->workers.at[at].group, groups[g].name) == 0;
		     at++)
			add_worker(snapshot, &plan->workers.at[at], &groups[g]);
		count_waiting(plan, &groups[g]);
		end_group(summary, &groups[g]);
	}
	for (; at < plan->workers.count; at++)
		add_worker(snapshot, &plan->workers.at[at], &removed);
	end_group(summary, &removed);
	summary->groups = groups;
	summary->group_count = plan->groups.count;
}

/* The head exists whatever is decided, so it is part of wanted and maximum. */
static void sum_head(const struct plan *plan, struct summary *summary)
{
	struct summary_gpus *gpus = &summary->head_gpus;

	if (plan->head_node)
		add_node(gpus, plan->head_node, false);
	summary->head_joined = plan->head_node != NULL;
	gpus->wanted = gpus->maximum = plan->head_node ? gpus->running : plan->head_gpus;
	add_gpus(&summary->gpus, gpus);
}

static void apply_ceilings(const struct snapshot *snapshot, struct summary *summary)
{
	int64_t *maximum = &summary->gpus.maximum;
	int64_t own = snapshot->settings.max_gpus_per_cluster * RESOURCE_UNIT;

	if (own > 0 && own < *maximum)
		*maximum = own;
	if (snapshot->autoscaler && snapshot->autoscaler->has_max_gpus &&
	    snapshot->autoscaler->max_gpus < *maximum)
		*maximum = snapshot->autoscaler->max_gpus;
}

static void sum_kept(const struct plan *plan, struct arena *arena, struct summary *summary)
{
	VEC(struct summary_kept) kept = { .at = NULL };

	VEC_EACH(const struct plan_worker, worker, &plan->workers) {
		const char *reason = reason_word(worker->reason);
		size_t at = 0;

		if (worker->state != WORKER_IDLE || !reason_has(worker->reason, TRAIT_KEEPS))
			continue;
		while (at < kept.count && kept.at[at].reason != reason)
			at++;
		if (at == kept.count)
			VEC_PUSH(arena, &kept, ((struct summary_kept){ reason, 0 }));
		kept.at[at].count++;
	}
	summary->kept = kept.at;
	summary->kept_count = kept.count;
}

static bool may_terminate(const struct snapshot *snapshot, const struct plan *plan)
{
	if (snapshot->view_problem && snapshot->view_problem[0] != '\0')
		return false;
	for (size_t i = 0; i < plan->workers.count; i++)
		if (plan->workers.at[i].reason == REASON_TERMINATION_FORBIDDEN)
			return false;
	return true;
}

/* --- demand --- */

struct demand_sum {
	struct arena *arena;
	const struct strings *accelerators;
	VEC(struct resource) entries;
	struct summary *summary;
};

static void add_pending(struct demand_sum *sum, const struct ray_request *request, int64_t count)
{
	if (count <= 0)
		return;
	raise_by(&sum->summary->pending_bundles, count);
	ARRAY_EACH(const struct bundle_entry, entry, request->bundle, request->bundle_count) {
		if (entry->amount > 0)
			VEC_PUSH(
				sum->arena, &sum->entries,
				((struct resource){ entry->name, times(count, 1, entry->amount) }));
	}
}

static int compare_names(const void *left, const void *right)
{
	const struct resource *a = left, *b = right;

	return strcmp(a->name, b->name);
}

static size_t join_equal(struct resource *entries, size_t count)
{
	size_t kept = 0;

	if (count > 0)
		qsort(entries, count, sizeof(*entries), compare_names);
	for (size_t i = 0; i < count; i++) {
		if (kept > 0 && strcmp(entries[kept - 1].name, entries[i].name) == 0)
			raise_by(&entries[kept - 1].amount, entries[i].amount);
		else
			entries[kept++] = entries[i];
	}
	return kept;
}

/* 0: GPU, 1: other accelerators, 2: the rest. */
static int rank_of(const struct demand_sum *sum, const char *name)
{
	if (strcmp(name, "GPU") == 0)
		return 0;
	return text_is_among(name, sum->accelerators->at, sum->accelerators->count) ? 1 : 2;
}

static void order_pending(struct demand_sum *sum)
{
	size_t count = join_equal(sum->entries.at, sum->entries.count), at = 0;
	struct resource *ordered = arena_array(sum->arena, count, sizeof(*ordered));

	for (int rank = 0; rank <= 2; rank++)
		for (size_t i = 0; i < count; i++)
			if (rank_of(sum, sum->entries.at[i].name) == rank)
				ordered[at++] = sum->entries.at[i];
	sum->summary->pending = ordered;
	sum->summary->pending_count = count;
	if (count > 0 && rank_of(sum, ordered[0].name) == 0)
		sum->summary->pending_gpus = ordered[0].amount;
}

static void sum_pending(const struct snapshot *snapshot, struct arena *arena,
			struct summary *summary)
{
	struct strings accelerators =
		capacity_accelerators(&snapshot->settings, snapshot->device_table, arena);
	struct demand_sum sum = { .arena = arena,
				  .accelerators = &accelerators,
				  .summary = summary };
	const struct ray_state *state = snapshot->ray_state;

	if (!summary->ray_reachable || !state)
		return;
	for (size_t i = 0; i < state->request_count; i++)
		add_pending(&sum, &state->requests[i].request, state->requests[i].count);
	for (size_t i = 0; i < state->gang_count; i++) {
		size_t count;
		const struct ray_request *bundles =
			demand_gang_bundles(&state->gangs[i], 0, &count);

		for (size_t b = 0; b < count; b++)
			add_pending(&sum, &bundles[b], 1);
	}
	order_pending(&sum);
}

/* --- requests ahead of demand --- */

struct request_list {
	VEC(struct summary_request) at;
};

static void add_requested(struct arena *arena, struct request_list *list,
			  const struct ray_constraint *constraint, enum demand_source source,
			  const char *schedule)
{
	if (!constraint)
		return;
	for (size_t i = 0; i < constraint->count; i++)
		VEC_PUSH(arena, &list->at,
			 ((struct summary_request){ source, schedule,
						    &constraint->requests[i].request,
						    constraint->requests[i].count }));
}

/* Bundles requested ahead of demand: by request_resources, its annotation and the schedules that are
 * active. Those of Ray only while it is reachable. */
static void sum_requested(const struct snapshot *snapshot, const struct plan *plan,
			  struct arena *arena, struct summary *summary)
{
	const struct ray_state *state = summary->ray_reachable ? snapshot->ray_state : NULL;
	struct request_list requested = { .at = { .at = NULL } };

	if (state)
		for (size_t i = 0; i < state->constraint_count; i++)
			add_requested(arena, &requested, &state->constraints[i], SOURCE_RAY, "");
	add_requested(arena, &requested, ray_cluster_requested(&snapshot->cluster),
		      SOURCE_ANNOTATION, "");
	for (size_t i = 0; i < plan->schedule_count; i++)
		if (plan->schedules[i].active)
			add_requested(arena, &requested, snapshot->autoscaler->schedules[i].bundles,
				      SOURCE_SCHEDULE, plan->schedules[i].name);
	summary->requested = requested.at.at;
	summary->requested_count = requested.at.count;
}

/* --- unserved demand --- */

static int64_t gpus_of(const struct plan_demand *demand)
{
	const struct ray_request *bundles = demand->request;
	size_t count = 1;
	int64_t sum = 0;

	if (demand->kind == DEMAND_GANG)
		bundles = demand_gang_bundles(demand->gang, 0, &count);
	for (size_t i = 0; i < count; i++)
		raise_by(&sum, ray_request_gpus(&bundles[i]));
	return times(demand->count, 1, sum);
}

struct unserved_list {
	VEC(struct summary_unserved) at;
};

/* There are about a dozen reasons, so the list is short. */
static void add_unserved(struct arena *arena, struct unserved_list *list,
			 const struct plan_demand *demand, bool infeasible)
{
	struct summary_unserved *item = NULL;

	VEC_EACH(struct summary_unserved, each, &list->at)
		if (each->infeasible == infeasible && each->reason == reason_word(demand->reason))
			item = each;
	if (!item) {
		item = VEC_ADD(arena, &list->at);
		item->reason = reason_word(demand->reason);
		item->message = demand->message;
		item->infeasible = infeasible;
	}
	raise_by(&item->count, demand->count);
	raise_by(&item->gpus, gpus_of(demand));
}

static void sum_unserved(const struct plan *plan, struct arena *arena, struct summary *summary)
{
	struct unserved_list list = { .at = { .at = NULL } };

	for (size_t i = 0; i < plan->infeasible.count; i++) {
		add_unserved(arena, &list, &plan->infeasible.at[i], true);
		raise_by(&summary->infeasible_total, plan->infeasible.at[i].count);
	}
	for (size_t i = 0; i < plan->unserved.count; i++) {
		add_unserved(arena, &list, &plan->unserved.at[i], false);
		raise_by(&summary->unserved_total, plan->unserved.at[i].count);
	}
	summary->unserved = list.at.at;
	summary->unserved_count = list.at.count;
}

/* --- logical resources --- */

struct sums {
	VEC(struct summary_resource) list;
};

/* A node's own marker resource, or the share that a placement group takes from a node: there are as
 * many as nodes and placement groups, and Kubernetes does not know them. */
static bool is_internal(const char *name)
{
	size_t size = strlen(name);

	if (strncmp(name, "node:", 5) == 0)
		return true;
	return strstr(name, "_group_") && size > PLACEMENT_GROUP_ID_DIGITS &&
	       strspn(name + size - PLACEMENT_GROUP_ID_DIGITS, "0123456789abcdef") ==
		       PLACEMENT_GROUP_ID_DIGITS;
}

static struct summary_resource *sum_of(struct sums *sums, const char *name, struct arena *arena)
{
	struct summary_resource *known = VEC_FIND(&sums->list, name, name);

	if (known)
		return known;
	if (sums->list.count >= SUMMARY_RESOURCES_MAX || is_internal(name))
		return NULL;
	VEC_PUSH(arena, &sums->list,
		 ((struct summary_resource){ .name = arena_strdup(arena, name) }));
	return &sums->list.at[sums->list.count - 1];
}

static void add_living_nodes(const struct ray_state *state, struct sums *sums, struct arena *arena)
{
	for (size_t i = 0; i < state->node_count; i++) {
		const struct resources *total = &state->nodes[i].total;

		if (!ray_node_is_alive(&state->nodes[i]))
			continue;
		for (size_t r = 0; r < total->count; r++) {
			struct summary_resource *sum = sum_of(sums, total->at[r].name, arena);

			if (sum)
				raise_by(&sum->cluster, total->at[r].amount);
		}
	}
}

static void add_pending_nodes(const struct snapshot *snapshot, const struct summary *summary,
			      struct sums *sums, struct arena *arena)
{
	for (size_t g = 0; g < summary->group_count; g++) {
		AUTO(arena_done) struct arena scratch = ARENA_INIT;
		struct capacity capacity = { 0 };

		if (summary->groups[g].pending == 0)
			continue;
		capacity_of_group(&snapshot->cluster, g, &snapshot->settings,
				  snapshot->device_table, &scratch, &capacity);
		VEC_EACH(const struct resource, one, &capacity.resources) {
			struct summary_resource *sum = sum_of(sums, one->name, arena);

			if (sum)
				raise_by(&sum->pending,
					 times(summary->groups[g].pending, 1, one->amount));
		}
	}
}

static int compare_resources(const void *a, const void *b)
{
	return strcmp(((const struct summary_resource *)a)->name,
		      ((const struct summary_resource *)b)->name);
}

static void sum_resources(const struct snapshot *snapshot, struct arena *arena,
			  struct summary *summary)
{
	struct sums sums = { .list = { .at = NULL } };

	if (summary->ray_reachable)
		add_living_nodes(snapshot->ray_state, &sums, arena);
	add_pending_nodes(snapshot, summary, &sums, arena);
	if (sums.list.count > 1)
		qsort(sums.list.at, sums.list.count, sizeof(*sums.list.at), compare_resources);
	for (size_t i = 1; i < sums.list.count; i++)
		CHECK(compare_resources(&sums.list.at[i - 1], &sums.list.at[i]) < 0);
	summary->resources = sums.list.at;
	summary->resource_count = sums.list.count;
}

/* --- conditions --- */

static void sum_conditions(const struct plan *plan, struct arena *arena, struct summary *summary)
{
	VEC(struct summary_condition) all = { .at = NULL };

	VEC_EACH(const struct plan_condition, condition, &plan->conditions)
		VEC_PUSH(arena, &all,
			 ((struct summary_condition){ .type = condition->type,
						      .status = condition->status,
						      .reason = reason_word(condition->reason),
						      .message = condition->message }));
	summary->conditions = all.at;
	summary->condition_count = all.count;
}

/* --- the one word --- */

const struct summary_condition *summary_condition(const struct summary *summary, const char *type)
{
	return summary ? ARRAY_FIND(summary->conditions, summary->condition_count, type, type) :
			 NULL;
}

static bool take(struct summary *summary, const char *reason, const char *message)
{
	if (reason[0] == '\0')
		return false;
	summary->reason = reason;
	summary->message = message;
	return true;
}

static bool take_condition(struct summary *summary, const char *type, const char *status)
{
	const struct summary_condition *condition = summary_condition(summary, type);

	return condition && strcmp(condition->status, status) == 0 &&
	       take(summary, condition->reason, condition->message);
}

static bool take_from_groups(struct summary *summary)
{
	for (size_t g = 0; g < summary->group_count; g++)
		if (summary->groups[g].backoff &&
		    take(summary, reason_word(summary->groups[g].backoff->cause),
			 summary->groups[g].backoff->message))
			return true;
	if (summary->unserved_count > 0 &&
	    take(summary, summary->unserved[0].reason, summary->unserved[0].message))
		return true;
	for (size_t g = 0; g < summary->group_count; g++)
		if (take(summary, summary->groups[g].reason, summary->groups[g].message))
			return true;
	for (size_t g = 0; g < summary->group_count; g++)
		if (take(summary, summary->groups[g].waiting_reason,
			 summary->groups[g].waiting_message))
			return true;
	return false;
}

static void choose_reason(struct summary *summary)
{
	if (take_condition(summary, "ScalingActive", "False") ||
	    take_condition(summary, "InvalidRequest", "True") ||
	    take_condition(summary, "ReplicasReverted", "True") ||
	    take_condition(summary, CONDITION_POD_UNREADABLE, "True") ||
	    take_condition(summary, "TemplateBroken", "True") || take_from_groups(summary) ||
	    take_condition(summary, "ScalingLimited", "True") ||
	    take_condition(summary, "AbleToScale", "True"))
		return;
	CHECK(false); /* a decision has AbleToScale, and its back-offs are among the groups */
}

/* --- invariants: sums agree with the plan, and without Ray nothing is claimed about it --- */

static void check_group(const struct summary_group *group, const struct plan_group *planned)
{
	int64_t pods = 0;

	CHECK(group->name == planned->name && group->backoff == planned->backoff);
	CHECK(group->hosts > 0);
	for (size_t i = 0; i < SUMMARY_STATE_COUNT; i++)
		pods += group->pods[i];
	CHECK(group->pod_count == pods);
	CHECK(group->registered <= group->pod_count);
	CHECK((group->waiting > 0) == (group->unserved_reason[0] != '\0'));
	CHECK(group->waiting_reason && group->waiting_message);
}

static void check_demand(const struct summary *summary)
{
	for (size_t i = 0; i < summary->unserved_count; i++) {
		const struct summary_unserved *item = &summary->unserved[i];

		CHECK(item->reason && item->message);
		CHECK(!item->infeasible || i == 0 || summary->unserved[i - 1].infeasible);
	}
	for (size_t i = 0; i < summary->pending_count; i++)
		CHECK(summary->pending[i].amount > 0);
	CHECK(summary->pending_gpus == 0 || strcmp(summary->pending[0].name, "GPU") == 0);
	for (size_t i = 0; i < summary->requested_count; i++)
		CHECK(summary->requested[i].bundle);
}

static void check_summary(const struct summary *summary, const struct plan *plan)
{
	int64_t pods = 0, kept = 0;

	CHECK(summary->reason[0] != '\0' && summary->message);
	CHECK(summary->group_count == plan->groups.count);
	for (size_t i = 0; i < summary->group_count; i++) {
		check_group(&summary->groups[i], &plan->groups.at[i]);
		pods += summary->groups[i].pod_count;
	}
	CHECK(pods <= summary->pod_count); /* workers of removed groups are in the sum alone */
	CHECK(summary->pod_count == (int64_t)plan->workers.count);
	for (size_t i = 0; i < summary->kept_count; i++)
		kept += summary->kept[i].count;
	CHECK(kept <= summary->pods[WORKER_IDLE]);
	CHECK(summary->resource_count <= SUMMARY_RESOURCES_MAX);
	CHECK(summary->gpus.known == summary->ray_reachable);
	if (!summary->ray_reachable) {
		CHECK(!summary->safe_to_scale_down);
		CHECK(summary->registered == 0);
		CHECK(summary->pending_count == 0 && summary->pending_bundles == 0);
	}
	check_demand(summary);
}

const struct summary *summary_of(const struct snapshot *snapshot, const struct plan *plan,
				 struct arena *arena)
{
	struct summary *summary = ARENA_PUT(
		arena,
		(struct summary){
			.decided_at = snapshot->now,
			.hands_off = gate_check(snapshot, arena).reason != REASON_NONE,
			.ray_reachable = plan->head_node != NULL,
			.gpus = { .known = plan->head_node != NULL },
			.safe_to_scale_down = plan->head_node && may_terminate(snapshot, plan),
			.schedules = plan->schedules,
			.schedule_count = plan->schedule_count,
		});

	sum_conditions(plan, arena, summary);
	sum_groups(snapshot, plan, arena, summary);
	sum_head(plan, summary);
	apply_ceilings(snapshot, summary);
	sum_kept(plan, arena, summary);
	if (!summary->hands_off)
		sum_resources(snapshot, arena, summary);
	sum_pending(snapshot, arena, summary);
	sum_requested(snapshot, plan, arena, summary);
	sum_unserved(plan, arena, summary);
	choose_reason(summary);
	check_summary(summary, plan);
	return summary;
}
