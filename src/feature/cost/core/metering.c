#include "feature/cost/core/metering.h"

#include <string.h>

#include "base/memory.h"
#include "core/capacity/price.h"

#define MS_PER_DAY (24 * MS_PER_HOUR)
#define MS_PER_HOUR INT64_C(3600000)
/* 1/10000 GPU times ms, and that times millionths of the currency per hour. */
#define GPU_SECOND (RESOURCE_UNIT * MS_PER_SECOND)
#define GPU_HOUR (RESOURCE_UNIT * MS_PER_HOUR)

const char *metering_state_name(enum metering_state state)
{
	static const char *const names[] = { "used", "idle", "requested", "starting",
					     "terminating" };

	return (size_t)state < METERING_STATE_COUNT ? names[state] : "";
}

/* ---- groups ---- */

void metering_done(struct metering *metering)
{
	for (size_t i = 0; i < metering->group_count; i++)
		memory_free(metering->groups[i].name);
	memory_free(metering->groups);
	*metering = (struct metering){ .started = false };
}

static struct metering_group *find_group(struct metering *metering, const char *name)
{
	return ARRAY_FIND(metering->groups, metering->group_count, name, name);
}

static struct metering_group *need_group(struct metering *metering, const char *name)
{
	struct metering_group *group = find_group(metering, name);

	if (group)
		return group;
	if (metering->group_count >= METERING_GROUPS_MAX && strcmp(name, METERING_OTHER) != 0)
		return need_group(metering, METERING_OTHER);
	metering->groups = memory_resize(metering->groups, metering->group_count + 1,
					 sizeof(*metering->groups));
	group = &metering->groups[metering->group_count++];
	*group = (struct metering_group){ .name = memory_strdup(name) };
	return group;
}

/* ---- sums ---- */

static void add(struct metering_sum *sum, __int128 amount, int64_t unit)
{
	__int128 all = amount + sum->rest;
	__int128 whole = sum->whole + all / unit;

	sum->whole = whole > INT64_MAX ? INT64_MAX : (int64_t)whole;
	sum->rest = (int64_t)(all % unit);
}

static void raise_to(struct metering_sum *sum, int64_t whole)
{
	if (whole > sum->whole)
		*sum = (struct metering_sum){ .whole = whole };
}

static int64_t within(int64_t value, int64_t maximum)
{
	return value < 0 ? 0 : value < maximum ? value : maximum;
}

/* The part of a time until now that is after midnight. */
static int64_t today_ms(const struct metering *metering, int64_t ms)
{
	return within(metering->until % MS_PER_DAY, ms);
}

/* GPUs in one state for a time. */
static void add_time(struct metering *metering, struct metering_group *group,
		     enum metering_state state, int64_t gpus, int64_t ms)
{
	add(&group->seconds[state], (__int128)gpus * ms, GPU_SECOND);
	add(&metering->today_seconds, (__int128)gpus * today_ms(metering, ms), GPU_SECOND);
}

/* requested: the part of the rate in METERING_REQUESTED. */
static void add_cost(struct metering *metering, struct metering_group *group, __int128 rate,
		     __int128 requested, int64_t ms)
{
	add(&group->cost, rate * ms, GPU_HOUR);
	add(&group->requested_cost, requested * ms, GPU_HOUR);
	add(&metering->today_cost, rate * today_ms(metering, ms), GPU_HOUR);
}

/* ---- stored sums ---- */

static void read_stored(struct metering *metering, const struct autoscaler_metering *stored)
{
	bool same_money = metering->currency && strcmp(metering->currency, stored->currency) == 0;

	for (size_t i = 0; i < stored->group_count && i <= METERING_GROUPS_MAX; i++) {
		const struct autoscaler_metering_group *from = &stored->groups[i];
		struct metering_group *group = need_group(metering, from->name);

		for (size_t s = 0; s < METERING_STATE_COUNT; s++) {
			raise_to(&group->seconds[s], from->gpu_seconds[s]);
			if (from->gpu_seconds[s] > group->stored_seconds[s])
				group->stored_seconds[s] = from->gpu_seconds[s];
		}
		if (!same_money)
			continue;
		raise_to(&group->cost, from->cost_micros);
		raise_to(&group->requested_cost, from->requested_micros);
		if (from->cost_micros > group->stored_cost)
			group->stored_cost = from->cost_micros;
	}
	if (stored->since != TIME_NONE && stored->since < metering->since)
		metering->since = stored->since;
	if (stored->until == TIME_NONE ||
	    stored->until / MS_PER_DAY != metering->until / MS_PER_DAY)
		return;
	raise_to(&metering->today_seconds, stored->today_gpu_seconds);
	if (same_money)
		raise_to(&metering->today_cost, stored->today_cost_micros);
}

/* NULL: nothing is stored of this RayCluster. */
static const struct autoscaler_metering *stored_of(const struct snapshot *snapshot)
{
	const struct summary *status = snapshot->autoscaler ? snapshot->autoscaler->status : NULL;
	const struct autoscaler_metering *stored = status ? status->parts.metering : NULL;

	return stored && strcmp(stored->cluster_uid, snapshot->cluster.uid) == 0 ? stored : NULL;
}

/* ---- GPUs now ---- */

struct counting {
	struct metering *metering;
	const struct snapshot *snapshot;
	time_ms gap_since; /* of the first decision of a process; TIME_NONE: no gap */
	const struct metering_prices *prices;
	const struct worker_group *spec; /* of the group; NULL: the head */
	int64_t template_price;          /* of its workers whose Node is unknown */
	bool removed;                    /* the group has no template */
	const struct labels *last_node; /* of the group's last worker, with its price; NULL: none */
	int64_t last_price;
};

/* ---- prices ---- */

static bool are_equal(const struct labels *a, const struct labels *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->at[i].key, b->at[i].key) != 0 ||
		    strcmp(a->at[i].value, b->at[i].value) != 0)
			return false;
	return true;
}

/* `node` NULL: not known. */
static int64_t find_price(const struct counting *counting, const struct labels *node)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const struct price_row *row = price_find(counting->prices->table,
						 &counting->snapshot->cluster, counting->spec, node,
						 &scratch);

	return row ? row->micros_per_gpu_hour : 0;
}

/* Neighbours of a group mostly have Nodes with the same labels. */
static int64_t price_of(struct counting *counting, const struct pod *pod)
{
	const struct metering_prices *prices = counting->prices;
	const struct labels *node = NULL;

	if (prices->table && prices->node_labels && !counting->removed)
		node = prices->node_labels(prices->nodes, pod->spec.node_name);
	if (!node)
		return counting->template_price;
	if (!counting->last_node || !are_equal(counting->last_node, node))
		counting->last_price = find_price(counting, node);
	counting->last_node = node;
	return counting->last_price;
}

/* Workers of a group follow; spec NULL: the head. */
static void begin_group(struct counting *counting, const struct worker_group *spec)
{
	counting->spec = spec;
	counting->last_node = NULL;
	counting->template_price = counting->prices->table ? find_price(counting, NULL) : 0;
}

/* ---- counts ---- */

static void count_gpus(struct counting *counting, struct metering_group *group,
		       enum metering_state state, int64_t gpus, const struct pod *pod)
{
	int64_t free = METERING_GPUS_MAX - group->gpus[state];
	time_ms since = counting->gap_since;
	__int128 rate, requested;

	gpus = within(gpus, free);
	group->gpus[state] += gpus;
	group->micros_per_gpu_hour = price_of(counting, pod);
	rate = (__int128)gpus * group->micros_per_gpu_hour;
	requested = state == METERING_REQUESTED ? rate : 0;
	group->cost_rate += rate;
	group->requested_rate += requested;
	if (since == TIME_NONE)
		return;
	if (pod->created != TIME_NONE && pod->created > since)
		since = pod->created;
	int64_t missed_ms = within(counting->snapshot->now - since, METERING_GAP_MAX_MS);
	add_time(counting->metering, group, state, gpus, missed_ms);
	add_cost(counting->metering, group, rate, requested, missed_ms);
}

static bool occupies(const struct pod *pod)
{
	return pod && *pod->spec.node_name != '\0' && strcmp(pod->phase, "Succeeded") != 0 &&
	       strcmp(pod->phase, "Failed") != 0;
}

/* unused: the state of GPUs that are not used. */
static void count_node(struct counting *counting, struct metering_group *group,
		       enum metering_state unused, const struct ray_node *node,
		       const struct pod *pod)
{
	int64_t total = resources_amount(&node->total, "GPU", 0);
	int64_t free = within(resources_amount(&node->available, "GPU", 0), total);

	count_gpus(counting, group, METERING_USED, total - free, pod);
	count_gpus(counting, group, unused, free, pod);
}

/* `template_gpus`: of a worker that Ray does not know. While Ray is not reached, a worker that runs
 * counts as used. */
static void count_worker(struct counting *counting, struct metering_group *group,
			 const struct plan_worker *worker, int64_t template_gpus)
{
	const struct ray_node *node = worker->node;

	if (worker->object->deleting || worker->state == WORKER_DRAINING ||
	    worker->state == WORKER_GONE)
		count_gpus(counting, group, METERING_TERMINATING,
			   node ? resources_amount(&node->total, "GPU", 0) : template_gpus,
			   worker->object);
	else if (node)
		count_node(counting, group, worker->requested ? METERING_REQUESTED : METERING_IDLE,
			   node, worker->object);
	else
		count_gpus(counting, group,
			   worker->state == WORKER_RUNNING ? METERING_USED : METERING_STARTING,
			   template_gpus, worker->object);
}

/* A group that has GPUs now, or had some; NULL: another one. */
static struct metering_group *group_of(struct metering *metering, const char *name, bool has_gpus)
{
	return has_gpus ? need_group(metering, name) : find_group(metering, name);
}

static bool has_gpus(const struct plan_worker *worker)
{
	return worker->node && resources_amount(&worker->node->total, "GPU", 0) > 0;
}

/* `template_gpus`: see count_worker. */
static void count_pod(struct counting *counting, const struct plan_worker *worker,
		      int64_t template_gpus)
{
	struct metering_group *group =
		group_of(counting->metering, worker->group, template_gpus > 0 || has_gpus(worker));

	if (counting->removed)
		counting->template_price = group ? group->micros_per_gpu_hour : 0;
	if (group && occupies(worker->object))
		count_worker(counting, group, worker, template_gpus);
}

/* The workers of one group are together in the plan; those of removed groups are last. */
static void count_workers(struct counting *counting, const struct plan *plan)
{
	const struct ray_cluster *cluster = &counting->snapshot->cluster;
	size_t at = 0;

	for (size_t g = 0; g < plan->groups.count; g++) {
		const struct plan_group *planned = &plan->groups.at[g];

		(void)group_of(counting->metering, planned->name, planned->worker_gpus > 0);
		begin_group(counting, &cluster->groups[g]);
		for (; at < plan->workers.count &&
		       strcmp(plan->workers.at[at].group, planned->name) == 0;
		     at++)
			count_pod(counting, &plan->workers.at[at], planned->worker_gpus);
	}
	counting->removed = true;
	for (; at < plan->workers.count; at++)
		count_pod(counting, &plan->workers.at[at], 0);
	counting->removed = false;
}

static const struct pod *head_pod(const struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->pod_count; i++)
		if (pod_is_head(snapshot->pods[i]) && occupies(snapshot->pods[i]))
			return snapshot->pods[i];
	return NULL;
}

static void count_head(struct counting *counting, const struct plan *plan,
		       const struct summary *summary)
{
	bool gpus = summary->head_gpus.wanted > 0;
	struct metering_group *group = group_of(counting->metering, HEAD_GROUP_NAME, gpus);
	const struct pod *pod = gpus ? head_pod(counting->snapshot) : NULL;

	if (!group || !pod)
		return;
	begin_group(counting, NULL);
	if (plan->head_node)
		count_node(counting, group, METERING_IDLE, plan->head_node, pod);
	else
		count_gpus(counting, group, METERING_USED, summary->head_gpus.wanted, pod);
}

/* ---- one decision ---- */

static void add_elapsed(struct metering *metering, int64_t ms)
{
	for (size_t i = 0; i < metering->group_count; i++) {
		struct metering_group *group = &metering->groups[i];

		for (int s = 0; s < METERING_STATE_COUNT; s++)
			add_time(metering, group, (enum metering_state)s, group->gpus[s], ms);
		add_cost(metering, group, group->cost_rate, group->requested_rate, ms);
	}
}

static void begin_day(struct metering *metering, time_ms now)
{
	if (now / MS_PER_DAY != metering->until / MS_PER_DAY)
		metering->today_seconds = metering->today_cost =
			(struct metering_sum){ .whole = 0 };
	metering->until = now;
}

void metering_count(struct metering *metering, const struct snapshot *snapshot,
		    const struct plan *plan, const struct summary *summary,
		    const struct metering_prices *prices, int64_t monotonic_ms)
{
	const struct autoscaler_metering *stored = stored_of(snapshot);
	struct counting counting = {
		.metering = metering, .snapshot = snapshot, .gap_since = TIME_NONE, .prices = prices
	};

	metering->in_memory = snapshot->settings.mode == MODE_SIDECAR;
	metering->currency = prices->table ? prices->table->currency : NULL;
	if (!metering->started) {
		metering->since = snapshot->now;
		counting.gap_since = stored ? stored->until : TIME_NONE;
	}
	begin_day(metering, snapshot->now);
	if (metering->counts)
		add_elapsed(metering, within(monotonic_ms - metering->at_ms, METERING_GAP_MAX_MS));
	if (stored)
		read_stored(metering, stored);
	metering->started = true;
	metering->counts = !summary->hands_off;
	metering->at_ms = monotonic_ms;
	for (size_t i = 0; i < metering->group_count; i++) {
		memset(metering->groups[i].gpus, 0, sizeof(metering->groups[i].gpus));
		metering->groups[i].cost_rate = metering->groups[i].requested_rate = 0;
	}
	if (summary->hands_off)
		return;
	count_workers(&counting, plan);
	count_head(&counting, plan, summary);
}

/* ---- the sums for metrics and status ---- */

int64_t metering_seconds_shown(const struct metering *metering, const struct metering_group *group,
			       enum metering_state state)
{
	return metering->in_memory ? group->seconds[state].whole : group->stored_seconds[state];
}

int64_t metering_cost_shown(const struct metering *metering, const struct metering_group *group)
{
	return metering->in_memory ? group->cost.whole : group->stored_cost;
}

const struct autoscaler_metering *metering_status(const struct metering *metering,
						  const char *cluster_uid, struct arena *arena)
{
	struct autoscaler_metering_group *groups;
	int64_t gpus = 0;
	__int128 rate = 0;

	if (!metering || metering->group_count == 0)
		return NULL;
	groups = arena_array(arena, metering->group_count, sizeof(*groups));
	struct autoscaler_metering *status =
		ARENA_PUT(arena, (struct autoscaler_metering){
					 .cluster_uid = cluster_uid,
					 .since = metering->since,
					 .until = metering->until,
					 .currency = metering->currency ? metering->currency : "",
					 .today_gpu_seconds = metering->today_seconds.whole,
					 .today_cost_micros = metering->today_cost.whole,
					 .groups = groups,
					 .group_count = metering->group_count,
				 });
	for (size_t i = 0; i < metering->group_count; i++) {
		const struct metering_group *from = &metering->groups[i];

		groups[i].name = from->name;
		groups[i].cost_micros = from->cost.whole;
		groups[i].requested_micros = from->requested_cost.whole;
		for (size_t s = 0; s < METERING_STATE_COUNT; s++) {
			groups[i].gpu_seconds[s] = from->seconds[s].whole;
			gpus += from->gpus[s];
		}
		rate += from->cost_rate;
	}
	rate /= RESOURCE_UNIT;
	status->cost_per_hour_micros = rate > INT64_MAX ? INT64_MAX : (int64_t)rate;
	status->gpus = resource_amount_text(arena, gpus);
	return status;
}
