#include "feature/requests/core/requests.h"

#include <string.h>

#include "base/int64.h"
#include "core/decide/demand.h"
#include "core/decide/mark.h"
#include "core/decide/replica.h"
#include "core/decide/worker.h"
#include "core/model/reason.h"
#include "core/report/summary.h"

struct rule {
	bool report;
	int64_t unused_ms; /* 0: none */
	int64_t ahead;     /* accelerators, 1/10000; -1: no limit */
};

static struct rule rule_of(const struct snapshot *snapshot)
{
	const struct settings *settings = &snapshot->settings;
	const struct requests_spec *spec = snapshot->autoscaler ? snapshot->autoscaler->requests :
								  NULL;
	int64_t seconds = settings->requests_unused_after_seconds;
	int64_t ahead = settings->requests_ahead_of_use;

	if (spec && spec->has_unused_after)
		seconds = int64_min(spec->unused_after_seconds, REQUESTS_SECONDS_MAX);
	if (spec && spec->has_ahead_of_use)
		ahead = int64_min(spec->ahead_of_use, REQUESTS_AHEAD_MAX);
	return (struct rule){
		.report = spec && spec->has_report ? spec->report : settings->report_cluster_config,
		.unused_ms = seconds * MS_PER_SECOND,
		.ahead = ahead < 0 ? -1 : ahead * RESOURCE_UNIT,
	};
}

static struct plan_requests *requests_of(const struct offer *offer)
{
	return feature_slot_need(offer->slots, &requests_decisions);
}

/* ---- amounts of accelerators ---- */

static int64_t of_resources(const struct offer *offer, const struct resources *resources)
{
	int64_t sum = 0;

	VEC_EACH(const struct resource, item, resources)
		if (name_set_contains(&requests_of(offer)->accelerators, item->name))
			sum = resource_sum(sum, item->amount);
	return sum;
}

/* *unit: the name of the accelerators so far, NULL: none. */
static int64_t of_request(const struct offer *offer, const struct ray_request *request,
			  const char **unit)
{
	int64_t sum = 0;

	ARRAY_EACH(const struct bundle_entry, entry, request->bundle, request->bundle_count) {
		if (entry->amount <= 0 ||
		    !name_set_contains(&requests_of(offer)->accelerators, entry->name))
			continue;
		sum = resource_sum(sum, entry->amount);
		*unit = !*unit || strcmp(*unit, entry->name) == 0 ? entry->name : "accelerators";
	}
	return sum;
}

/* Constraints do not add up: the largest one. */
static int64_t asked_by_sdk(const struct offer *offer, const char **unit)
{
	const struct facts *facts = offer->facts;
	int64_t most = 0;

	for (size_t i = 0; i < facts->constraint_count; i++) {
		int64_t sum = 0;

		if (!demand_is_of_sdk(&facts->constraints[i]))
			continue;
		VEC_EACH(const struct demand, demand, &facts->constraints[i].at)
			if (!demand->reason)
				sum = resource_sum(
					sum,
					resource_product(of_request(offer, demand->request, unit),
							 demand->count));
		most = int64_max(most, sum);
	}
	return most;
}

static int64_t used_on(const struct offer *offer, const struct ray_node *node)
{
	return node && ray_node_is_alive(node) ?
		       int64_max(of_resources(offer, &node->total) -
					 of_resources(offer, &node->available),
				 0) :
		       0;
}

static int64_t used_by_work(const struct offer *offer)
{
	const struct facts *facts = offer->facts;
	int64_t sum = used_on(offer, facts->head_node);

	ARRAY_EACH(const struct worker, worker, facts->workers, facts->worker_count)
		sum = resource_sum(sum, used_on(offer, worker->node));
	return sum;
}

static int64_t waited_for(const struct offer *offer)
{
	const struct schedule_problem *problem = &offer->problem;
	const char *unit = NULL;
	int64_t sum = 0;

	for (size_t i = 0; i < problem->demand_count; i++)
		sum = resource_sum(
			sum, resource_product(of_request(offer, problem->demands[i].request, &unit),
					      problem->demands[i].count));
	for (size_t i = 0; i < problem->gang_count; i++) {
		size_t count;
		const struct ray_request *bundles =
			demand_gang_bundles(&problem->gangs[i], 0, &count);

		for (size_t b = 0; b < count; b++)
			sum = resource_sum(sum, of_request(offer, &bundles[b], &unit));
	}
	return sum;
}

/* Of nodes that exist or start, and on which a request of the SDK counts. */
static int64_t existing(const struct offer *offer)
{
	int64_t sum = 0;

	ARRAY_EACH(const struct schedule_node, node, offer->problem.nodes,
		   offer->problem.node_count)
		if (!node->unused && !node->released)
			sum = resource_sum(sum, of_resources(offer, &node->total));
	return sum;
}

/* ---- unused workers ---- */

static bool is_unused_worker(const struct offer *offer, const struct worker *worker,
			     int64_t unused_ms)
{
	return offer->workers[worker->index].removal == REMOVAL_DRAIN &&
	       of_resources(offer, &worker->node->total) > 0 &&
	       worker_idle_passed(offer->facts, worker, unused_ms);
}

static bool is_unused(const struct offer *offer, const struct replica *replica, int64_t unused_ms)
{
	if (replica->broken || replica->disrupted)
		return false;
	for (size_t i = 0; i < replica->count; i++)
		if (!is_unused_worker(offer, &offer->facts->workers[replica->members[i]],
				      unused_ms))
			return false;
	return true;
}

static const char *note_text(const struct offer *offer)
{
	const struct plan_requests *requests = requests_of(offer);

	return arena_printf(offer->arena, "request_resources asks for %s %s, %s %s used",
			    resource_amount_text(offer->arena, requests->asked), requests->unit,
			    resource_amount_text(offer->arena, requests->used),
			    requests->used == RESOURCE_UNIT ? "is" : "are");
}

static const char *unused_text(const struct offer *offer, const struct worker *worker)
{
	return arena_printf(offer->arena, "nothing used it for %lld s; %s",
			    (long long)(worker->node->idle_duration_ms / MS_PER_SECOND),
			    note_text(offer));
}

static bool mark_unused(struct offer *offer, int64_t unused_ms)
{
	bool any = false;

	for (size_t g = 0; g < offer->facts->group_count; g++)
		ARRAY_EACH(const struct replica, replica, offer->groups[g].replicas,
			   offer->groups[g].replica_count) {
			if (!is_unused(offer, replica, unused_ms))
				continue;
			any = true;
			for (size_t m = 0; m < replica->count; m++) {
				struct worker_offer *own = &offer->workers[replica->members[m]];

				own->end_reason = REASON_REQUEST_UNUSED;
				own->end_message = unused_text(
					offer, &offer->facts->workers[replica->members[m]]);
			}
		}
	return any;
}

static void pass_over_unused(struct offer *offer)
{
	struct schedule_node *nodes =
		ARENA_COPY(offer->arena, offer->problem.nodes, offer->problem.node_count);

	for (size_t i = 0; i < offer->problem.node_count; i++)
		nodes[i].unused = !nodes[i].head && offer->workers[nodes[i].worker].end_reason ==
							    REASON_REQUEST_UNUSED;
	offer->problem.nodes = nodes;
}

/* Undoes it. */
static void keep_unused(struct offer *offer, const struct schedule_node *nodes)
{
	offer->problem.nodes = nodes;
	for (size_t i = 0; i < offer->facts->worker_count; i++)
		if (offer->workers[i].end_reason == REASON_REQUEST_UNUSED)
			offer->workers[i].end_reason = REASON_NONE;
}

/* ---- memory ---- */

static const struct requests_kept none = { .since = TIME_NONE, .unused_since = TIME_NONE };

/* Of the last decision; without memory, of the status. */
static struct requests_kept kept_before(const struct facts *facts)
{
	const struct autoscaler_object *object = facts->snapshot->autoscaler;
	const struct memory_mark *asked = mark_find(facts, MARK_REQUEST_ASKED, CLUSTER_MARK_KEY);
	const struct memory_mark *unused = mark_find(facts, MARK_REQUEST_UNUSED, CLUSTER_MARK_KEY);

	if (!facts->snapshot->memory && object && object->status && object->status->parts.requests)
		return *object->status->parts.requests;
	return (struct requests_kept){
		.asked = asked ? asked->count : 0,
		.since = asked ? asked->since : TIME_NONE,
		.unused_since = unused ? unused->since : TIME_NONE,
	};
}

/* A time in the future is of another clock. */
static time_ms since_or_now(const struct facts *facts, time_ms since)
{
	return since != TIME_NONE && due_reached(facts->due, since) ? since : facts->snapshot->now;
}

static void remember(struct offer *offer, const struct requests_kept *kept)
{
	VEC_PUSH(offer->arena, &offer->memory.marks,
		 ((struct memory_mark){ MARK_REQUEST_ASKED, CLUSTER_MARK_KEY, kept->since,
					kept->asked, NULL }));
	if (kept->unused_since != TIME_NONE)
		VEC_PUSH(offer->arena, &offer->memory.marks,
			 ((struct memory_mark){ MARK_REQUEST_UNUSED, CLUSTER_MARK_KEY,
						kept->unused_since, 0, NULL }));
}

/* Marks the workers that are unused, and notes whether the requests start no accelerators. True: some are. */
static bool judge_use(struct offer *offer, int64_t unused_ms)
{
	const struct facts *facts = offer->facts;
	struct requests_kept *kept = &requests_of(offer)->kept;
	const struct requests_kept before = kept_before(facts);
	const struct schedule_node *nodes = offer->problem.nodes;
	bool any;

	kept->asked = before.asked;
	kept->since = since_or_now(facts, before.since);
	if (requests_of(offer)->asked > before.asked) {
		kept->asked = requests_of(offer)->asked;
		kept->since = facts->snapshot->now;
	}
	any = due_passed(facts->due, kept->since, unused_ms) && mark_unused(offer, unused_ms);
	if (any)
		pass_over_unused(offer);
	if (kept->since != facts->snapshot->now && (any || before.unused_since != TIME_NONE) &&
	    existing(offer) < requests_of(offer)->asked)
		kept->unused_since = since_or_now(facts, before.unused_since);
	/* Remembered first: when Ray has accepted a drain the worker is not idle any more, and the same pass would start
	 * another one in its place. */
	if (kept->unused_since != TIME_NONE && before.unused_since == TIME_NONE) {
		keep_unused(offer, nodes);
		any = false;
	}
	remember(offer, kept);
	return any;
}

/* ---- the problem of the packing ---- */

static void limit(struct offer *offer, const struct rule *rule, bool cut)
{
	const struct plan_requests *requests = requests_of(offer);
	int64_t within = requests->used + requests->waited + rule->ahead - existing(offer);

	offer->problem.use_budget = cut ? 0 : rule->ahead < 0 ? INT64_MAX : int64_max(within, 0);
	offer->use_reason = cut ? REASON_REQUEST_GIVEN_UP : REASON_REQUEST_BEYOND_USE;
	offer->use_message =
		cut ? arena_printf(offer->arena,
				   "%s; the rest was unused, and starts when work waits for it",
				   note_text(offer)) :
		      arena_printf(offer->arena, "%s and %s waited for; requests.aheadOfUse is %s",
				   note_text(offer),
				   resource_amount_text(offer->arena, requests->waited),
				   resource_amount_text(offer->arena, int64_max(rule->ahead, 0)));
}

/* Only requests of the SDK stay within use. */
static void state_problem(struct offer *offer)
{
	struct schedule_problem *problem = &offer->problem;
	struct schedule_constraint *constraints =
		ARENA_COPY(offer->arena, problem->constraints, problem->constraint_count);
	struct schedule_type *types = ARENA_COPY(offer->arena, problem->types, problem->type_count);

	for (size_t i = 0; i < problem->constraint_count; i++)
		constraints[i].within_use = demand_is_of_sdk(&offer->facts->constraints[i]);
	for (size_t i = 0; i < problem->type_count; i++)
		types[i].accelerator_amount = of_resources(offer, &types[i].resources);
	problem->constraints = constraints;
	problem->types = types;
}

static void cut(struct offer *offer, const struct rule *rule)
{
	bool any = rule->unused_ms > 0 && judge_use(offer, rule->unused_ms);
	bool starts_none = requests_of(offer)->kept.unused_since != TIME_NONE;

	if (!any && !starts_none && rule->ahead < 0)
		return;
	limit(offer, rule, starts_none);
	state_problem(offer);
}

/* ---- the feature ---- */

static void offer_requests(struct offer *offer)
{
	const struct rule rule = rule_of(offer->snapshot);
	struct plan_requests *requests = ARENA_NEW(offer->arena, struct plan_requests);

	feature_slot_set(&offer->slots, offer->arena, &requests_decisions, requests);
	requests->shape_why = "it is turned off";
	requests->kept = none;
	if (rule.report)
		requests->shape = cluster_shape_make(offer, &requests->shape_why);
	if (!offer->facts->ray_reachable) {
		requests->kept = rule.unused_ms > 0 ? kept_before(offer->facts) : none;
		return;
	}
	requests->accelerators = name_set_of_strings(offer->arena, &offer->facts->accelerators);
	requests->asked = asked_by_sdk(offer, &requests->unit);
	if (requests->asked == 0)
		return;
	requests->used = used_by_work(offer);
	requests->waited = waited_for(offer);
	cut(offer, &rule);
}

static void write(const struct choice *choice, struct plan *plan)
{
	struct plan_requests *requests = requests_of(choice->offer);

	plan->requests = requests;
	if (requests->asked == 0)
		return;
	plan->requests_note = note_text(choice->offer);
	requests->held = 0;
	VEC_EACH(const struct plan_worker, worker, &plan->workers)
		if (worker->requested && worker->node)
			requests->held = resource_sum(
				requests->held, of_resources(choice->offer, &worker->node->total));
}

const struct decision_feature requests_decisions = {
	.offer = offer_requests,
	.write = write,
};
