#include "core/decide.h"

#include "base/check.h"
#include "core/decide/backoff.h"
#include "core/decide/capacity_check.h"
#include "core/decide/choice.h"
#include "core/decide/conflict.h"
#include "core/decide/demand.h"
#include "core/decide/disruption_replace.h"
#include "core/decide/feature.h"
#include "core/decide/gang_hold.h"
#include "core/decide/gate.h"
#include "core/decide/idle_clock.h"
#include "core/decide/invariants.h"
#include "core/decide/launch.h"
#include "core/decide/limits.h"
#include "core/decide/mark.h"
#include "core/decide/packing_run.h"
#include "core/decide/packing_state.h"
#include "core/decide/patch.h"
#include "core/decide/pool.h"
#include "core/decide/progress.h"
#include "core/decide/ray_session.h"
#include "core/decide/raylet.h"
#include "core/decide/relay.h"
#include "core/decide/release.h"
#include "core/decide/target.h"
#include "core/decide/template_seen.h"
#include "core/decide/terminate.h"
#include "core/decide/worker.h"
#include "core/model/reason.h"
#include "core/report/explain.h"
#include "core/report/explain_worker.h"
#include "core/report/placement.h"
#include "core/report/served.h"
#include "core/report/verdict.h"
#include "feature_core.h"

#define REQUEUE_ACTIVE_SECONDS 1
#define REQUEUE_GATED_SECONDS 5

/* The features that take part in decisions, in the order of their hooks. */
static const struct decision_feature *const features[] = { FEATURE_DECISIONS NULL };

#define EACH_FEATURE(hook, ...)                                                                    \
	do {                                                                                       \
		for (size_t f_ = 0; features[f_]; f_++)                                            \
			if (features[f_]->hook)                                                    \
				features[f_]->hook(__VA_ARGS__);                                   \
	} while (0)

/* Without a gate, or with the work of the cluster read, its demand counts. */
static const struct facts *facts_make(const struct snapshot *snapshot, const struct gate *gate,
				      struct arena *arena)
{
	const struct idle_clock clock = idle_clock_read(snapshot, arena);
	struct facts *facts = facts_new(clock.snapshot, gate, arena);

	mark_index(facts);
	idle_clock_remember(&clock, facts);
	ray_session_update(facts);
	facts_judge_terminations(facts);
	limits_make_groups(facts);
	facts_note_problems(facts);
	EACH_FEATURE(find, facts);
	worker_join(facts);
	release_mark(facts);
	EACH_FEATURE(apply, facts);
	if (!gate->reason || snapshot->cluster_work)
		demand_collect(facts);
	EACH_FEATURE(judge, facts);
	invariants_of_facts(facts);
	return facts;
}

static const struct health *health_make(const struct facts *facts)
{
	struct health *health = ARENA_PUT(
		facts->arena, (struct health){
				      .facts = facts,
				      .snapshot = facts->snapshot,
				      .arena = facts->arena,
				      .workers = arena_array(facts->arena, facts->worker_count,
							     sizeof(*health->workers)),
				      .groups = arena_array(facts->arena, facts->group_count,
							    sizeof(*health->groups)),
				      .capacity_check = capacity_check_new(facts),
			      });

	raylet_update(health);
	progress_assess(health);
	EACH_FEATURE(assess, health);
	conflict_update(health);
	backoff_update(health);
	invariants_of_health(health);
	return health;
}

static const struct offer *offer_make(const struct health *health)
{
	const struct facts *facts = health->facts;
	struct offer *offer = ARENA_PUT(
		facts->arena, (struct offer){
				      .facts = facts,
				      .health = health,
				      .snapshot = facts->snapshot,
				      .arena = facts->arena,
				      .workers = arena_array(facts->arena, facts->worker_count,
							     sizeof(*offer->workers)),
				      .groups = arena_array(facts->arena, facts->group_count,
							    sizeof(*offer->groups)),
			      });

	terminate_classify(offer);
	launch_recall(offer);
	template_seen_update(offer);
	packing_state(offer);
	EACH_FEATURE(offer, offer);
	invariants_of_offer(offer);
	return offer;
}

static const struct packing *packing_make(const struct offer *offer)
{
	const struct facts *facts = offer->facts;
	struct packing *packing = ARENA_PUT(
		facts->arena, (struct packing){
				      .facts = facts,
				      .health = offer->health,
				      .offer = offer,
				      .snapshot = facts->snapshot,
				      .arena = facts->arena,
				      .workers = arena_array(facts->arena, facts->worker_count,
							     sizeof(*packing->workers)),
				      .groups = arena_array(facts->arena, facts->group_count,
							    sizeof(*packing->groups)),
			      });

	packing_run(packing);
	gang_hold(packing);
	disruption_replace(packing);
	if (!packing->result->cut) /* what they add is beside all demand */
		EACH_FEATURE(keep, packing);
	packing_note_workers(packing);
	invariants_of_packing(packing);
	return packing;
}

/* most: by group, replicas that the pools let it launch beyond minReplicas; NULL: not limited. */
static const struct choice *choice_make(const struct packing *packing, const int64_t *most)
{
	const struct facts *facts = packing->facts;
	struct choice *choice = ARENA_PUT(
		facts->arena, (struct choice){
				      .facts = facts,
				      .health = packing->health,
				      .offer = packing->offer,
				      .packing = packing,
				      .snapshot = facts->snapshot,
				      .arena = facts->arena,
				      .workers = arena_array(facts->arena, facts->worker_count,
							     sizeof(*choice->workers)),
				      .groups = arena_array(facts->arena, facts->group_count,
							    sizeof(*choice->groups)),
			      });

	for (size_t g = 0; g < facts->group_count; g++)
		choice->groups[g] = (struct group_choice){
			.group = &facts->groups[g],
			.health = &packing->health->groups[g],
			.offer = &packing->offer->groups[g],
			.packing = &packing->groups[g],
		};
	terminate_choose(choice);
	relay_choose(choice);
	launch_cancel(choice);
	for (size_t g = 0; g < facts->group_count; g++)
		target_launches(&choice->groups[g]);
	limits_throttle(choice, most);
	for (size_t g = 0; g < facts->group_count; g++)
		target_finish(&choice->groups[g]);
	launch_remember(choice);
	conflict_remember(choice);
	invariants_of_choice(choice);
	return choice;
}

/* With pools: first without their limits, for what the RayCluster asks of them. */
static const struct choice *choose(const struct offer *offer, struct pool_ask_list *ret_asks)
{
	const struct packing *packing = packing_make(offer);
	const struct choice *choice = choice_make(packing, NULL);

	if (!offer->snapshot->pools)
		return choice;
	*ret_asks = pool_ask(choice);
	if (pool_is_granted(choice, ret_asks) && !packing->gang_ends)
		return choice;
	if (packing->result->cut)
		return choice_make(packing, pool_most(choice, ret_asks));
	return choice_make(packing_make(pool_offer(choice)), pool_grants(choice));
}

static struct plan *plan_new(const struct facts *facts)
{
	struct plan *plan = ARENA_PUT(
		facts->arena, (struct plan){
				      .cluster_namespace = facts->snapshot->cluster.namespace_,
				      .cluster_name = facts->snapshot->cluster.name,
				      .head_node = facts->head_node,
				      .head_gpus = facts->head_capacity.gpu_amount,
				      .next_change = PLAN_NEVER_CHANGES,
			      });

	return plan;
}

/* A plan that acts, and a memory that is read in another way, change the next decision; one that was cut has more
 * to do. */
static void note_next_change(const struct facts *facts, bool cut, struct plan *plan)
{
	bool acts = cut || plan->patch.count > 0 || plan->resizes.count > 0 ||
		    !memory_state_reads_equal(&plan->memory, facts->snapshot->memory, facts->arena);

	VEC_EACH(const struct plan_group, group, &plan->groups)
		acts |= group->terminate.count > 0;
	plan->next_age_change = acts ? facts->snapshot->now : facts->due->next;
	if (plan->next_age_change < plan->next_change)
		plan->next_change = plan->next_age_change;
}

/* Those of health, and in place of them those that the packing has begun. */
static void collect_backoffs(const struct choice *choice, struct memory_state *memory)
{
	const struct memory_state *begun = &choice->packing->memory;

	VEC_EACH(const struct memory_backoff, backoff, &choice->health->memory.backoffs)
		if (!VEC_FIND(&begun->backoffs, group, backoff->group))
			VEC_PUSH(choice->arena, &memory->backoffs, *backoff);
	VEC_EACH(const struct memory_backoff, backoff, &begun->backoffs)
		VEC_PUSH(choice->arena, &memory->backoffs, *backoff);
}

/* The one place that writes the new memory: what each value collected, and the old marks of the kinds
 * that could not be judged. */
static struct memory_state new_memory(const struct choice *choice)
{
	const struct memory_state *const parts[] = { &choice->facts->memory,
						     &choice->health->memory,
						     &choice->offer->memory,
						     &choice->packing->memory, &choice->memory };
	struct memory_state memory = {
		.templates = choice->offer->memory.templates,
		.launches = choice->memory.launches,
	};

	collect_backoffs(choice, &memory);
	for (size_t p = 0; p < sizeof(parts) / sizeof(parts[0]); p++)
		for (size_t i = 0; i < parts[p]->marks.count; i++)
			VEC_PUSH(choice->arena, &memory.marks, parts[p]->marks.at[i]);
	mark_keep_unjudged(choice->facts, choice->packing->result->cut, &memory);
	return memory;
}

static struct plan *write_plan(const struct choice *choice, const struct pool_ask_list *asks)
{
	struct plan *plan = plan_new(choice->facts);

	plan->asks = *asks;
	plan->memory = new_memory(choice);
	served_report(choice, plan);
	explain_groups(choice, plan);
	terminate_write(choice, plan);
	explain_worker_write(choice, plan);
	patch_make(choice, plan);
	placement_write(choice, plan);
	verdict_write(choice, plan);
	EACH_FEATURE(write, choice, plan);
	verdict_end(choice, plan);
	plan->requeue_after_seconds = REQUEUE_ACTIVE_SECONDS;
	note_next_change(choice->facts, choice->packing->result->cut, plan);
	invariants_of_plan(choice, plan);
	return plan;
}

/* A pass that changes nothing keeps the groups' replicas, and the memory as it was. */
static struct plan *write_gated(const struct facts *facts)
{
	const struct gate *gate = &facts->gate;
	struct plan *plan = plan_new(facts);

	plan->memory = facts->snapshot->memory ? *facts->snapshot->memory : facts->memory;
	ARRAY_EACH(const struct group, group, facts->groups, facts->group_count)
		VEC_PUSH(facts->arena, &plan->groups,
			 ((struct plan_group){
				 .name = group->spec->name,
				 .replicas = group->spec->replicas,
				 .patch_replicas = group->spec->replicas,
				 .target_replicas = group->spec->replicas,
				 .worker_gpus = group->template_capacity.gpu_amount,
				 .missing = group->missing,
				 .min_replicas = group->min_replicas,
				 .message = "",
			 }));
	explain_worker_write_gated(facts, gate->reason, gate->message, plan);
	verdict_write_gated(facts, gate->reason, gate->message, plan);
	invariants_of_gated_plan(facts, plan);
	EACH_FEATURE(write_gated, facts, plan);
	invariants_of_patch(plan);
	plan->requeue_after_seconds = REQUEUE_GATED_SECONDS;
	note_next_change(facts, false, plan);
	return plan;
}

static struct plan *make(const struct snapshot *snapshot, struct arena *arena)
{
	struct gate gate = gate_check(snapshot, arena);
	const struct facts *facts = facts_make(snapshot, &gate, arena);
	struct pool_ask_list asks = { .at = NULL };
	const struct choice *choice;

	if (gate.reason)
		return write_gated(facts);
	choice = choose(offer_make(health_make(facts)), &asks);
	return write_plan(choice, &asks);
}

/* ---- within the limits ---- */

/* A decision in progress, for a run that may be left. */
struct decision {
	const struct snapshot *snapshot;
	struct arena *arena;
	struct plan *plan;
};

static void finish(struct decision *decision, struct plan *plan)
{
	struct cpu_budget *budget = decision->snapshot->cpu_budget;

	if (budget && budget->made)
		budget->made(budget->context, plan);
	decision->plan = plan;
}

static void run_whole(void *context)
{
	struct decision *decision = context;

	finish(decision, make(decision->snapshot, decision->arena));
}

/* Which limit it exceeded, and what to do. */
static const char *limit_text(const struct cpu_budget *budget, struct arena *arena)
{
	if (budget->err.kind == ERR_NONE)
		return arena_printf(arena,
				    "took more than %lld ms of CPU time; ask for fewer different "
				    "bundles, or raise --decision-cpu-budget-ms",
				    (long long)budget->ms);
	return arena_printf(arena, budget->err.kind == ERR_LIMIT ? "needs %s" : "got no memory: %s",
			    budget->err.text);
}

/* The plan without packing: the groups keep their replicas, and the memory is kept.
 * read: the snapshot, or the part of it that is read. */
static struct plan *make_undecided(const struct decision *decision, const struct snapshot *read)
{
	const struct snapshot *snapshot = decision->snapshot;
	const struct ray_state *state = snapshot->ray_state;
	struct gate gate = { REASON_DECISION_TOO_EXPENSIVE, "" };
	struct plan *plan;

	gate.message = arena_printf(
		decision->arena,
		"undecided, nothing is changed: with %zu pending requests, %zu placement groups, %zu "
		"worker groups and %zu Pods the decision %s",
		state ? state->request_count : 0, state ? state->gang_count : 0,
		snapshot->cluster.group_count, snapshot->pod_count,
		limit_text(snapshot->cpu_budget, decision->arena));
	plan = write_gated(facts_make(read, &gate, decision->arena));
	plan->next_change = plan->next_age_change = snapshot->now;
	if (snapshot->memory)
		plan->memory = *snapshot->memory;
	return plan;
}

static void run_undecided(void *context)
{
	struct decision *decision = context;

	finish(decision, make_undecided(decision, decision->snapshot));
}

/* From the RayCluster alone, whose size is limited, without its replicas, for each of which there is a worker:
 * some KiB for each group, which no budget refuses. */
static void decide_on_cluster(struct decision *decision)
{
	const struct ray_cluster *cluster = &decision->snapshot->cluster;
	struct worker_group *groups =
		ARENA_COPY(decision->arena, cluster->groups, cluster->group_count);
	struct snapshot *read =
		ARENA_PUT(decision->arena, (struct snapshot){
						   .now = decision->snapshot->now,
						   .cluster = *cluster,
						   .settings = decision->snapshot->settings,
						   .device_table = device_table_builtin(),
					   });
	struct plan *plan;

	read->cluster.groups = groups;
	for (size_t g = 0; g < cluster->group_count; g++)
		groups[g].replicas = groups[g].min_replicas = 0;
	plan = make_undecided(decision, read);
	for (size_t g = 0; g < cluster->group_count; g++) {
		struct plan_group *planned = &plan->groups.at[g];

		planned->replicas = planned->patch_replicas = planned->target_replicas =
			cluster->groups[g].replicas;
		planned->min_replicas = cluster->groups[g].min_replicas;
	}
	finish(decision, plan);
}

const struct facts *decide_facts(const struct snapshot *snapshot, struct arena *arena)
{
	return facts_make(snapshot, &(const struct gate){ REASON_NONE, "" }, arena);
}

struct plan *decide(const struct snapshot *snapshot, struct arena *arena)
{
	struct decision decision = { .snapshot = snapshot, .arena = arena };
	struct cpu_budget *budget = snapshot->cpu_budget;

	check_snapshot_set(snapshot);
	if (!budget)
		run_whole(&decision);
	else if (!cpu_budget_run(budget, arena, run_whole, &decision) &&
		 !cpu_budget_run_undecided(budget, arena, run_undecided, &decision))
		decide_on_cluster(&decision);
	check_snapshot_set(NULL);
	return decision.plan;
}
