#include <string.h>

#include "base/budget.h"
#include "base/check.h"
#include "base/memory.h"
#include "core/decide.h"
#include "ctl/pass/pass_intern.h"
#include "ctl/shared/options.h"
#include "net/loop.h"
#include "net/work.h"

#define OVERTAKEN_MAX 3
#define QUICK_PAIRS ((size_t)20000) /* entries of the reply times worker groups, at about 1 us */

/* Also true when the pass was freed, so that its job releases the thread. */
static bool is_exceeded(void *context)
{
	const struct pass *pass = context;
	struct pass_work *work = pass->work;

	work->budget.out_of_memory = !pass->drain_accepted && budget_is_over(pass->memory);
	return work->budget.out_of_memory || work_is_cancelled(work->job) ||
	       work_cpu_us() > work->cpu_end_us;
}

/* On a thread of the pool: reads only the snapshot and writes only into the decision's arena. */
static void decision_run(void *context, const struct work_job *job)
{
	struct pass *pass = context;
	struct pass_work *work = pass->work;
	int64_t begun_us = loop_precise_us(), begun_cpu_us = work_cpu_us();

	work->job = job;
	/* The patch of a drain that Ray accepted has no CPU limit: the decision that drained was
	 * within its budget. */
	work->cpu_end_us = pass->drain_accepted ? INT64_MAX : begun_cpu_us + work->budget.ms * 1000;
	check_key_set(pass->key);
	work->plan = decide(&work->snapshot, &work->arena);
	work->summary = summary_of(&work->snapshot, work->plan, &work->arena);
	work->memory_json = act_memory_text(work->plan, &work->arena);
	act_scaled(work->plan, &work->arena, &work->scaled);
	check_key_set("");
	work->took_us = loop_precise_us() - begun_us;
	work->cpu_us = work_cpu_us() - begun_cpu_us;
}

/* Estimates the cost of the first decision: entries of Pods and of Ray's state times worker
 * groups. */
static enum pass_cost estimate(const struct snapshot *snapshot)
{
	const struct ray_state *state = snapshot->ray_state;
	size_t entries = snapshot->pod_count;

	if (state)
		entries += state->node_count + state->request_count + state->gang_count;
	return entries > QUICK_PAIRS / (snapshot->cluster.group_count + 1) ? PASS_SLOW : PASS_QUICK;
}

/* True when a quick decision exhausted its CPU time, not its memory, and a slow one may use
 * more. */
static bool is_slower_than_thought(const struct pass *pass)
{
	const struct pass_work *work = pass->work;

	return work->budget.exhausted && !work->budget.out_of_memory && !work->slow &&
	       pass->config.control->options->decision_cpu_budget_ms > pass->config.quick_ms;
}

void pass_measure(const struct pass *pass, const char *phase, int64_t us)
{
	if (pass->config.meter.phase)
		pass->config.meter.phase(pass->config.meter.context, phase, (double)us / 1e6);
}

static void decision_done(void *context)
{
	struct pass *pass = context;

	pass->job = NULL;
	if (is_slower_than_thought(pass)) {
		pass->cost = PASS_SLOW;
		arena_done(&pass->work->arena);
		pass_decide(pass);
		return;
	}
	/* Half of the limit: a cluster near it does not change between quick and slow all the
	 * time. */
	if (pass->ray_state && pass->work->cpu_us <= pass->config.quick_ms * 1000 / 2)
		pass->cost = PASS_QUICK;
	pass->decided = true;
	pass->undecided = pass->work->budget.exhausted;
	pass_measure(pass, "deciding", pass->work->took_us);
	pass_decided(pass);
}

void pass_release(struct pass *pass)
{
	for (struct pass_work *work = pass->work; work; work = work->previous)
		arena_done(&work->arena);
	arena_done(&pass->ray_arena);
	arena_done(&pass->arena);
	budget_free(pass->memory);
	memory_free(pass);
}

static void decision_drop(void *context)
{
	pass_release(context);
}

/* Takes a new view and snapshot for each decision, because objects may have changed since the
 * last one of this pass. The cost is that of the cluster's last decisions, or an estimate for the
 * first one. A quick job has the CPU time quick_ms, a slow one the whole budget; decision_done
 * restarts a quick job that exceeded its time as a slow one. */
void pass_decide(struct pass *pass)
{
	static const struct work_functions functions = { .run = decision_run,
							 .done = decision_done,
							 .drop = decision_drop };
	struct pass_work *work = ARENA_NEW(&pass->arena, struct pass_work);
	struct loop *loop = pass->config.control->loop;
	int64_t budget_ms = pass->config.control->options->decision_cpu_budget_ms;

	work->view.stale = "";
	pass->callbacks.view(pass->callbacks.context, &pass->arena, &work->view);
	if (!work->view.cluster) {
		pass_finish(pass, NULL, NULL, NULL);
		return;
	}
	pass_observe(pass, &work->view, &work->snapshot);
	if (pass->cost == PASS_COST_UNKNOWN && work->snapshot.ray_state)
		pass->cost = estimate(&work->snapshot);
	work->slow = pass->cost == PASS_SLOW;
	work->arena.budget = pass->memory;
	work->budget = (struct cpu_budget){
		.exceeded = is_exceeded,
		.context = pass,
		.memory = pass->memory,
		.ms = budget_ms,
	};
	if (!work->slow && budget_ms > pass->config.quick_ms)
		work->budget.ms = pass->config.quick_ms;
	work->snapshot.cpu_budget = &work->budget;
	work->previous = pass->work;
	pass->work = work;
	pass->step = PASS_DECIDING;
	if (work->slow)
		pass->job = work_start_slow(loop, &functions, pass, pass->read_ms);
	else
		pass->job = work_start(loop, &functions, pass);
}

bool pass_decide_is_overtaken(struct pass *pass)
{
	struct gpu_quota_objects objects = pass_objects(pass, &pass->work->view);
	const struct ray_cluster *now = pass->callbacks.current(pass->callbacks.context);

	if (!now || (now->generation <= objects.cluster->generation &&
		     !now->unreadable == !objects.cluster->unreadable &&
		     !strcmp(now->uid, objects.cluster->uid)))
		return !now;
	return ++pass->overtaken <= OVERTAKEN_MAX;
}
