#include <string.h>

#include "base/budget.h"
#include "base/check.h"
#include "base/memory.h"
#include "core/decide.h"
#include "core/report/ray_lines.h"
#include "ctl/pass/pass_intern.h"
#include "ctl/shared/device_view.h"
#include "ctl/shared/options.h"
#include "net/loop.h"
#include "net/work.h"

/* Why a cluster's decisions are small, quick or slow, instead of all alike: runs in turn, as ratios to this
 * (2 cores beside other work; 200 clusters at rest, and 100 beside 4 tenants of each kind of costly reply).
 *   small ones on threads as well: CPU at rest 1.17, 1.21, 1.09, 1.08, CPU beside the tenants 1.7
 *   no slow ones either: p99 from demand to patch beside the tenants 20.2 s instead of 1.0 s */
#define OVERTAKEN_MAX 3
/* A packing has its budget from its first launch on: before it places again what the last decisions have
 * launched for, up to this many budgets in all. */
#define STOP_FACTOR 3
/* And with the linear steps before and after it up to this many. */
#define CUT_END_FACTOR 6
/* Of all that the decision reads: a cluster of 10 workers has about 60 KiB. Times its worker groups: 1 KiB of
 * it and one group take about 1 us. */
#define SMALL_BYTES ((size_t)160 << 10)
#define SMALL_GROUP_BYTES ((size_t)512 << 10)
#define QUICK_GROUP_BYTES ((size_t)20 << 20)

/* The packing ends when half as much memory as is in use is not left for the steps after it. Also over when
 * the pass was freed, so that its job releases the thread. */
static enum cpu_spent cpu_spent(void *context)
{
	const struct pass *pass = context;
	struct pass_work *work = pass->work;
	int64_t now_us = loop_cpu_us();

	if ((work->job && work_is_cancelled(work->job)) || now_us > work->cpu_end_us)
		return CPU_OVER;
	if (!work->budget.placing || pass->drain_accepted)
		return CPU_LEFT;
	if (!work->placing_us)
		work->placing_us = now_us;
	if (!work->launching_us && !work->budget.fruitless)
		work->launching_us = now_us;
	if (now_us - work->placing_us > STOP_FACTOR * work->budget.ms * 1000)
		return CPU_STOP;
	work->budget.low_memory = !budget_fits(pass->memory, budget_used(pass->memory) / 2);
	return work->budget.low_memory || (work->launching_us &&
					   now_us - work->launching_us > work->budget.ms * 1000) ?
		       CPU_CUT :
		       CPU_LEFT;
}

/* Within the limits of the decision as well. */
static void decision_made(void *context, const struct plan *plan)
{
	struct pass *pass = context;
	struct pass_work *work = pass->work;

	work->summary = summary_of(&work->snapshot, plan, &work->arena);
	work->memory = memory_state_copy(&plan->memory, &work->arena);
	work->scaled = (struct act_scaled_list){ .groups = { .at = NULL } };
	act_scaled(plan, &work->arena, &work->scaled);
	work->scaled.lines = ray_lines(&work->snapshot, plan, &work->arena);
}

/* The patch of a drain that Ray accepted has no limit: the decision that drained was within its own, and
 * without the patch the operator would replace the drained worker. NULL: no limit. */
static struct budget *memory_of_decision(const struct pass *pass)
{
	return pass->drain_accepted ? NULL : pass->memory;
}

/* A decision that takes too much is made again as a slower one. */
static bool may_use_more(const struct pass *pass)
{
	return pass->work->budget.ms < pass->config.control->options->decision_cpu_budget_ms;
}

/* On a thread of the pool (job NULL: on the loop): reads only the observation and writes only into the
 * decision's arena. */
static void decision_run(void *context, const struct work_job *job)
{
	struct pass *pass = context;
	struct pass_work *work = pass->work;
	int64_t begun_us = loop_precise_us(), begun_cpu_us = loop_cpu_us();

	work->job = job;
	work->cpu_end_us =
		begun_cpu_us + (may_use_more(pass) ? 1 : CUT_END_FACTOR) * work->budget.ms * 1000;
	if (pass->drain_accepted) /* as its memory: see memory_of_decision */
		work->cpu_end_us = INT64_MAX;
	check_key_set(pass->key);
	observe(&work->observation, &work->arena, &work->snapshot);
	work->plan = decide(&work->snapshot, &work->arena);
	check_key_set("");
	work->took_us = loop_precise_us() - begun_us;
	work->cpu_us = loop_cpu_us() - begun_cpu_us;
}

/* Estimates the cost of a decision from the memory of all that it reads, and the worker groups. */
static enum pass_cost estimate(const struct pass *pass, const struct pass_work *work)
{
	size_t bytes = pass_observe_bytes(pass, work);
	size_t groups = work->observation.cluster->group_count + 1;

	if (pass->config.small_ms != 0 && bytes <= SMALL_BYTES &&
	    bytes <= SMALL_GROUP_BYTES / groups)
		return PASS_SMALL;
	return bytes > QUICK_GROUP_BYTES / groups ? PASS_SLOW : PASS_QUICK;
}

/* CPU time of one that took no more than that before. */
static int64_t cpu_limit_ms(const struct pass *pass, enum pass_cost cost)
{
	int64_t ms = pass->config.control->options->decision_cpu_budget_ms;
	int64_t own_ms = cost == PASS_SMALL ? pass->config.small_ms : pass->config.quick_ms;

	return cost == PASS_SLOW || own_ms > ms ? ms : own_ms;
}

/* The budget as it has grown; as configured: it has not, or the one place of long jobs is taken, for which
 * no decoded reply waits in memory. */
static int64_t grown_ms(const struct pass *pass)
{
	int64_t ms = pass->config.control->options->decision_cpu_budget_ms;
	int64_t grown = ms * pass->config.cpu_factor;

	grown = grown > PASS_GROWN_MS ? PASS_GROWN_MS : grown;
	return grown > ms && work_long_is_free(pass->config.control->loop) ? grown : ms;
}

/* True when a decision that is not slow exhausted its CPU time, not its memory, and a slow one may
 * use more. */
static bool is_slower_than_thought(const struct pass *pass)
{
	const struct pass_work *work = pass->work;

	return work->budget.exhausted && work->budget.err.kind == ERR_NONE && may_use_more(pass);
}

/* From a decision that was made. Half of the limits: a cluster near one does not change between
 * both sides of it all the time. */
static enum pass_cost measured_cost(const struct pass *pass)
{
	int64_t cpu_us = pass->work->cpu_us;

	if (!pass->ray_state)
		return pass->cost;
	if (cpu_us > pass->config.quick_ms * 1000 / 2)
		return pass->work->cost == PASS_SLOW ? PASS_SLOW : PASS_QUICK;
	return cpu_us < pass->config.small_ms * 1000 / 2 ? PASS_SMALL : PASS_QUICK;
}

void pass_measure(const struct pass *pass, const char *phase, int64_t us)
{
	if (pass->config.meter.phase)
		pass->config.meter.phase(pass->config.meter.context, phase, (double)us / 1e6);
}

/* The decision was whole, because its budget had grown: it keeps that, and is as seldom as one in vain. */
static bool is_long_without_change(const struct pass *pass)
{
	int64_t ms = pass->config.control->options->decision_cpu_budget_ms;

	return !pass->drain_accepted && pass->work->plan->patch.count == 0 &&
	       pass->work->cpu_us > STOP_FACTOR * ms * 1000;
}

/* Of the last decision: its plan may be acted upon as if it had taken no time. */
static int64_t spared_ms(const struct pass *pass)
{
	const struct pass_work *work = pass->work;
	int64_t took_ms = loop_boot_ms() - work->begun_ms;

	if (work->cost != PASS_SLOW || !act_launches_only(work->plan))
		return 0;
	return took_ms < PASS_SPARED_MS ? took_ms : PASS_SPARED_MS;
}

/* It got no memory because of others, and the attempt took next to no time: it is made again with the next
 * reading, not after a while as one that took too much. */
static bool is_refused(const struct pass_work *work)
{
	return work->budget.exhausted && work->budget.err.kind == ERR_MEMORY &&
	       work->cpu_us < PASS_SMALL_MS * 1000;
}

static void decision_done(void *context)
{
	struct pass *pass = context;
	bool launches;

	pass->job = NULL;
	if (is_slower_than_thought(pass)) {
		pass->cost = pass->work->cost == PASS_SMALL ? PASS_QUICK : PASS_SLOW;
		arena_done(&pass->work->arena);
		pass_decide(pass);
		return;
	}
	pass->cost = measured_cost(pass);
	pass->decided = true;
	launches = pass->work->plan->patch.count > 0;
	pass->undecided = pass->work->budget.exhausted || (pass->work->budget.cut && !launches);
	pass->rests = (pass->undecided && !is_refused(pass->work)) || is_long_without_change(pass);
	if (!pass->rests || pass->undecided)
		pass->cpu_factor = cpu_budget_next_factor(&pass->work->budget, launches);
	pass->spared_ms = spared_ms(pass);
	pass_measure(pass, "deciding", pass->work->took_us);
	pass->on_decided(pass);
}

struct pass *pass_hold(struct pass *pass)
{
	if (pass)
		pass->holders++;
	return pass;
}

void pass_drop(struct pass *pass)
{
	if (!pass || --pass->holders > 0)
		return;
	if (pass->pods) {
		arena_done(&pass->pods->arena);
		buf_done(&pass->pods->page);
	}
	device_view_drop(pass->devices);
	for (struct pass_work *work = pass->work; work; work = work->previous)
		arena_done(&work->arena);
	for (size_t i = 0; i < PASS_WORK_LISTS; i++)
		arena_done(&pass->work_arenas[i]);
	arena_done(&pass->ray_arena);
	arena_done(&pass->kv_arena);
	arena_done(&pass->answer.arena);
	memory_free(pass->answer.text);
	arena_done(&pass->arena);
	budget_free(pass->memory);
	memory_free(pass);
}

static void decision_drop(void *context)
{
	pass_drop(context);
}

/* The first decision of the pass, or the second one, with what the first one's asks were granted, if
 * that took a quarter of a small one at most. */
static bool may_use_loop(const struct pass *pass)
{
	const struct pass_work *first = pass->work;

	return !first || (pass->granted && !first->previous && first->cost == PASS_SMALL &&
			  first->cpu_us < pass->config.small_ms * 1000 / 4);
}

/* Takes a new view for each decision, because objects may have changed since the
 * last one of this pass. The cost is that of the cluster's last decisions, or an estimate for the
 * first one; decision_done restarts one that exceeded its CPU time as the next larger. A small
 * decision is made on the loop, because two switches of threads cost as much, unless this pass has
 * held up the loop or the cluster has grown. */
void pass_decide(struct pass *pass)
{
	static const struct work_functions functions = { .run = decision_run,
							 .done = decision_done,
							 .drop = decision_drop };
	struct pass_work *work = ARENA_NEW(&pass->arena, struct pass_work);
	struct loop *loop = pass->config.control->loop;
	bool is_long;

	work->begun_ms = loop_boot_ms();
	work->view.snapshot.view_problem = "";
	pass->callbacks.view(pass->callbacks.context, &pass->arena, &work->view);
	if (!work->view.cluster) {
		pass->deleted = true;
		pass->on_decided(pass);
		return;
	}
	pass_observe(pass, work);
	if (pass->cost == PASS_COST_UNKNOWN && pass->ray_state)
		pass->cost = estimate(pass, work);
	work->cost = pass->cost;
	if (work->cost == PASS_SMALL && (!may_use_loop(pass) || estimate(pass, work) != PASS_SMALL))
		work->cost = PASS_QUICK;
	is_long = grown_ms(pass) > pass->config.control->options->decision_cpu_budget_ms;
	if (is_long)
		work->cost = PASS_SLOW;
	work->arena.budget = memory_of_decision(pass);
	work->budget = (struct cpu_budget){
		.spent = cpu_spent,
		.made = decision_made,
		.context = pass,
		.memory = work->arena.budget,
		.ms = is_long ? grown_ms(pass) : cpu_limit_ms(pass, work->cost),
		.factor = pass->config.cpu_factor,
	};
	work->previous = pass->work;
	pass->work = work;
	pass->step = PASS_DECIDING;
	if (is_long) {
		pass->job = work_start_long(loop, &functions, pass);
	} else if (work->cost == PASS_SLOW) {
		pass->job = work_start_slow(loop, &functions, pass, pass->read_ms);
	} else if (work->cost != PASS_SMALL) {
		pass->job = work_start(loop, &functions, pass);
	} else {
		decision_run(pass, NULL);
		decision_done(pass);
	}
}

bool pass_decide_is_overtaken(struct pass *pass)
{
	struct gpu_share_objects objects = pass_objects(pass, &pass->work->view);
	const struct ray_cluster *now = pass->callbacks.current(pass->callbacks.context);

	if (!now || (now->generation <= objects.cluster->generation &&
		     !now->unreadable == !objects.cluster->unreadable &&
		     !strcmp(now->uid, objects.cluster->uid)))
		return !now;
	return ++pass->overtaken <= OVERTAKEN_MAX;
}
