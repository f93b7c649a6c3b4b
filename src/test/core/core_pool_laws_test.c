/* Laws of the caller of core/share, feature/pools/core, on random worlds (test/support/pool_world.h). The laws
 * count again from the model, and read of an allocation what its users read and the verdicts of core/share.
 * POOL_LAWS_STEPS (15,000; 100,000 in `make test-all`), POOL_LAWS_WORLDS (25; 100) and POOL_LAWS_SEED choose
 * them. `make mutants` sees each law fail on errors in the source. */
#include "test/support/pool_world.h"

#define STEPS 100 /* in one world */
#define CHANGES_MAX 20000
#define REST_MAX_MS (48 * 3600 * SECOND)

static uint64_t first_seed = 1, steps = 15000, worlds = 25;

/* ---- sums of the model ---- */

struct queue_sums {
	int64_t held, leaving, granted, coming, waiting, asked, lasting;
	bool claims; /* a unit waits that fits its guarantee */
	bool full;   /* a unit that waits long is at the maximum, or above it without any grant */
};

static struct sums {
	int64_t held, granted, coming, released;
	struct queue_sums queues[TEAMS + 1]; /* the last one: namespaces in no queue */
} sums[POOLS];

static const struct pool_table *table_of(size_t p)
{
	return &world.last->tables->at[p];
}

/* By the labels alone. */
static size_t queue_of(size_t p, size_t cluster)
{
	const char *team = world.space_labels[world.clusters[cluster].space].value;
	size_t q = 0;

	while (q < TEAMS && strcmp(world.team_labels[p][q].value, team) != 0)
		q++;
	return q;
}

static int64_t guaranteed(size_t p, size_t q)
{
	const struct gpu_pool_queue *queue = &world.queues[p][q];

	if (q == TEAMS)
		return 0;
	return queue->has_maximum && queue->maximum < queue->guaranteed ? queue->maximum :
									  queue->guaranteed;
}

static int64_t maximum(size_t p, size_t q)
{
	return q < TEAMS && world.queues[p][q].has_maximum ? world.queues[p][q].maximum :
							     RESOURCE_AMOUNT_MAX;
}

static int64_t priority(size_t p, size_t q)
{
	return q < TEAMS ? world.queues[p][q].priority : 0;
}

static int64_t usage(size_t p, size_t q)
{
	const struct queue_sums *own = &sums[p].queues[q];

	return own->held - own->leaving + own->granted + own->coming;
}

static int64_t staying(size_t p, size_t q)
{
	return sums[p].queues[q].held - sums[p].queues[q].leaving;
}

/* Of its guarantee, what others never have. */
static int64_t unlent(size_t p, size_t q)
{
	const struct gpu_pool_queue *queue = &world.queues[p][q];
	int64_t lendable = q < TEAMS && queue->has_lendable ? queue->lendable : guaranteed(p, q);

	return guaranteed(p, q) > lendable ? guaranteed(p, q) - lendable : 0;
}

static bool is_drained(size_t cluster, const char *pod)
{
	const struct pool_drains *drains = world.clusters[cluster].drains;

	return drains && VEC_FIND(&drains->list, pod, pod);
}

/* Work on the replica is older than the pool reserves for; of a slice the last change counts. */
static bool is_lasting(const struct model_pod *of)
{
	bool busy = false;

	for (size_t i = 0; i < PODS; i++) {
		const struct model_pod *pod = &world.pods[i];

		if (pod->state == ABSENT || pod->replica != of->replica)
			continue;
		if (world.now - pod->since < 600 * SECOND || is_drained(pod->cluster, pod->name))
			return false;
		busy |= pod->state == POD_BUSY;
	}
	return busy;
}

static void sum_pods(void)
{
	for (size_t i = 0; i < PODS; i++) {
		const struct model_pod *pod = &world.pods[i];
		size_t p = pool_of_group(pod->group), q;
		bool lasts;

		if (pod->state == ABSENT || p >= world.pool_count)
			continue;
		q = queue_of(p, pod->cluster);
		lasts = is_lasting(pod);
		sums[p].held += GPUS(1);
		sums[p].queues[q].held += GPUS(1);
		sums[p].queues[q].lasting += lasts ? GPUS(1) : 0;
		if (pod->state == POD_LEAVING || is_drained(pod->cluster, pod->name))
			sums[p].queues[q].leaving += GPUS(1);
	}
	for (size_t c = 0; c < CLUSTERS; c++)
		for (size_t g = 0; g < GROUPS; g++) {
			size_t p = pool_of_group(g);
			int64_t gpus = GPUS(world.clusters[c].requested[g] * hosts_of_group(g));

			if (p >= world.pool_count)
				continue;
			sums[p].held += gpus;
			sums[p].queues[queue_of(p, c)].held += gpus;
		}
}

static size_t cluster_of(const struct pool_member *member)
{
	return (size_t)(member->key[2] - '0');
}

static size_t queue_of_unit(size_t p, size_t unit)
{
	const struct pool_table *table = table_of(p);

	return queue_of(p, cluster_of(table->members.at[table->units.at[unit].cluster]));
}

static bool waits(size_t p, size_t unit)
{
	enum share_verdict verdict = table_of(p)->result.units[unit];

	return verdict == SHARE_WAITS || verdict == SHARE_AT_MAXIMUM;
}

static void sum_units(size_t p)
{
	const struct pool_table *table = table_of(p);

	for (size_t u = 0; u < table->units.count; u++) {
		struct queue_sums *own = &sums[p].queues[queue_of_unit(p, u)];
		int64_t amount = table->units.at[u].amount;

		switch (table->result.units[u]) {
		case SHARE_GRANTED:
			own->granted += amount;
			sums[p].granted += amount;
			break;
		case SHARE_COMING:
			own->coming += amount;
			sums[p].coming += amount;
			break;
		case SHARE_WAITS:
		case SHARE_AT_MAXIMUM:
			own->waiting += amount;
			break;
		case SHARE_PASSED_OVER:
		case SHARE_IMPOSSIBLE:
			continue;
		}
		own->asked += amount;
	}
}

static void note_waiting(size_t p)
{
	const struct pool_table *table = table_of(p);

	for (size_t u = 0; u < table->units.count; u++) {
		size_t q = queue_of_unit(p, u);
		struct queue_sums *own = &sums[p].queues[q];
		int64_t amount = table->units.at[u].amount;

		if (waits(p, u) && usage(p, q) + amount <= guaranteed(p, q))
			own->claims = true;
		own->full |= table->result.units[u] == SHARE_AT_MAXIMUM;
	}
	for (size_t w = 0; w < table->workers.count; w++)
		sums[p].released += table->result.workers[w].action != SHARE_STAY;
}

static void make_sums(void)
{
	memset(sums, 0, sizeof(sums));
	sum_pods();
	for (size_t p = 0; p < world.pool_count; p++) {
		sum_units(p);
		note_waiting(p);
	}
}

/* ---- laws of amounts ---- */

static const char *check_amounts(void)
{
	for (size_t p = 0; p < world.pool_count; p++) {
		if (sums[p].granted > 0 && sums[p].held + sums[p].granted > world.capacities[p])
			return "1: more is granted than the pool has";
		for (size_t q = 0; q <= TEAMS; q++)
			if (sums[p].queues[q].granted > 0 &&
			    sums[p].queues[q].held + sums[p].queues[q].granted > maximum(p, q))
				return "1: a queue is granted more than its maximum";
	}
	return NULL;
}

static const char *check_figures(void)
{
	for (size_t p = 0; p < world.pool_count; p++) {
		struct gpu_pool_status status;

		pool_status_make(world.last, p, NULL, world_arena(), &status);
		if (status.held != sums[p].held)
			return "2: the status has another sum than the Pods";
		for (size_t q = 0; q <= TEAMS; q++)
			if (status.queues[q].held != sums[p].queues[q].held)
				return "2: a queue holds what another one has";
	}
	return NULL;
}

/* A replica fits one GPU, so free GPUs on Nodes are places. */
static int64_t places_in(size_t p)
{
	int64_t free = 0;

	for (size_t n = 0; n < world.node_count; n++)
		if (world.node_pools[n] == p && !world.nodes[n].unschedulable)
			free += GPUS(world.node_gpus[n] - gpus_on(n));
	return free;
}

static const char *check_places(void)
{
	for (size_t p = 0; world.nodes_known && p < world.pool_count; p++)
		if (sums[p].granted > places_in(p))
			return "3: a grant without a Node";
	return NULL;
}

/* ---- laws of units ---- */

static size_t taken(size_t p, const struct pool_run *run)
{
	const struct pool_table *table = table_of(p);
	size_t count = 0;

	for (size_t u = run->first; u < run->first + run->count; u++)
		count += table->result.units[u] >= SHARE_COMING || table->result.reserved == u;
	return count;
}

static const struct pool_run *run_of(size_t p, const struct pool_waiting *ask)
{
	VEC_EACH(const struct pool_run, run, &table_of(p)->runs)
		if (run->ask == ask)
			return run;
	return NULL;
}

/* The grants are whole units, and a unit of two pools takes its part of both or of none. */
static const char *check_whole(void)
{
	for (size_t c = 0; c < CLUSTERS; c++) {
		const struct pool_share *own = &world.last->shares[c];
		int64_t grants[GROUPS] = { 0 };

		VEC_EACH(const struct pool_waiting, ask, &world.asks[c]->list) {
			int64_t count = own->granted[ask - world.asks[c]->list.at];
			const struct pool_run *a = run_of(0, ask);
			const struct pool_run *b = world.pool_count > 1 ? run_of(1, ask) : NULL;

			for (size_t i = 0; i < ask->part_count && count > 0; i++)
				grants[ask->parts[i].group] += count * ask->parts[i].replicas;
			if (a && b && taken(0, a) != taken(1, b))
				return "4: a unit of two pools has a part of one";
		}
		if (memcmp(grants, own->grants, sizeof(grants)) != 0)
			return "4: a grant of a part of a unit";
	}
	return NULL;
}

/* A grant that was withdrawn has no time; one that is not used for a minute ends, and none before. */
static const char *check_unused(void)
{
	for (size_t c = 0; c < CLUSTERS; c++) {
		const struct pool_share *own = &world.last->shares[c];
		const struct pool_asks *after = pool_asks_granted(world.last, c, world_arena());
		bool any = false;

		for (size_t e = 0; e < after->list.count; e++) {
			any |= own->granted[e] > 0;
			if (own->granted[e] <= 0 && after->list.at[e].granted_since != TIME_NONE)
				return "5: a time of a grant without a grant";
			if (after->list.at[e].granted_since != TIME_NONE &&
			    world.now - after->list.at[e].granted_since >= POOL_ASK_UNUSED_MS)
				return "5: a grant that is not used stays";
		}
		if (any && pool_asks_rest(world.asks[c], world.now))
			return "5: a grant for a cluster that has not used one";
		if (any && world.clusters[c].silent_since > 0 &&
		    world.now - world.clusters[c].silent_since >= POOL_ASK_CONFIRM_MS)
			return "5: a grant of what Ray does not confirm";
		if (any && !world.clusters[c].scaled)
			return "5: a grant for a cluster that is not scaled";
	}
	return NULL;
}

/* In its queue a unit that waits long, above the maximum whatever is granted, is passed by none, except a request
 * by work, and while others have their time after a reservation. */
static const char *check_maximum(void)
{
	for (size_t p = 0; p < world.pool_count; p++) {
		const struct pool_table *table = table_of(p);

		for (size_t u = 0; u < table->units.count; u++) {
			const struct share_unit *unit = &table->units.at[u];
			size_t q = queue_of_unit(p, u);

			if (table->result.units[u] != SHARE_AT_MAXIMUM || sums[p].released > 0 ||
			    table->result.granted != SHARE_NONE ||
			    table->pool->reserve_after_seconds == GPU_POOL_NEVER ||
			    world.last->pasts[p].reserve_again > world.now ||
			    world.now - unit->since_ms < 120 * SECOND ||
			    staying(p, q) + unit->amount <= maximum(p, q))
				continue;
			for (size_t v = 0; v < table->units.count; v++)
				if (queue_of_unit(p, v) == q && v != table->result.reserved &&
				    table->units.at[v].requested >= unit->requested &&
				    table->result.units[v] >= SHARE_COMING &&
				    table->units.at[v].since_ms > unit->since_ms)
					return "6: a unit at the maximum is passed";
		}
	}
	return NULL;
}

/* ---- laws of free GPUs ---- */

/* Of equal priorities the reservation may be kept from this queue: shares decide. */
static bool is_reserved_from(size_t p, size_t q)
{
	size_t reserved = table_of(p)->result.reserved;

	return reserved != SHARE_NONE && waits(p, reserved) &&
	       priority(p, q) <= priority(p, queue_of_unit(p, reserved));
}

/* Of the queue, from another one. Nothing of it takes GPUs beside its reservation. */
static int64_t kept_by(size_t p, size_t q, size_t from)
{
	const struct pool_table *table = table_of(p);
	size_t reserved = table->result.reserved;
	bool saved = is_reserved_from(p, from) && queue_of_unit(p, reserved) == q;
	int64_t left = sums[p].queues[q].waiting > 0 && !saved ? guaranteed(p, q) : unlent(p, q);
	int64_t beside = saved ? table->units.at[reserved].amount : 0;

	left -= usage(p, q);
	return left > beside ? left : beside;
}

/* The free GPUs that a unit of this queue may have, at least. */
static int64_t room_of(size_t p, size_t q)
{
	int64_t room = world.capacities[p] - sums[p].held - sums[p].granted - sums[p].coming;

	if (world.nodes_known && places_in(p) - sums[p].granted - sums[p].coming < room)
		room = places_in(p) - sums[p].granted - sums[p].coming;
	for (size_t other = 0; other <= TEAMS; other++)
		room -= other == q ? 0 : kept_by(p, other, q);
	return room;
}

/* Replicas without a Node, which take places first. */
static bool places_wait(size_t p)
{
	for (size_t c = 0; c < CLUSTERS; c++)
		for (size_t g = 0; g < GROUPS; g++)
			if (pool_of_group(g) == p && world.clusters[c].requested[g] > 0)
				return true;
	for (size_t i = 0; i < PODS; i++)
		if (world.pods[i].state != ABSENT && pool_of_group(world.pods[i].group) == p &&
		    world.pods[i].pod.spec.node_name[0] == '\0')
			return true;
	return false;
}

static const char *check_waste(void)
{
	for (size_t p = 0; p < world.pool_count; p++) {
		const struct pool_table *table = table_of(p);
		size_t reserved = table->result.reserved;

		if (sums[p].released > 0 || (world.nodes_known && places_wait(p)))
			continue;
		for (size_t u = 0; u < table->units.count; u++) {
			size_t q = queue_of_unit(p, u);
			const struct queue_sums *own = &sums[p].queues[q];

			if (table->result.units[u] == SHARE_WAITS && !own->claims && !own->full &&
			    (reserved == SHARE_NONE || queue_of_unit(p, reserved) != q) &&
			    own->held + own->granted + own->coming + table->units.at[u].amount <=
				    maximum(p, q) &&
			    table->units.at[u].amount <= room_of(p, q))
				return "7: a unit waits that the free part would hold";
		}
	}
	return NULL;
}

/* GPUs that are not free for the reservation in time. */
static int64_t kept_beside(size_t p, size_t reserved)
{
	int64_t beside = 0;

	for (size_t q = 0; q <= TEAMS; q++) {
		int64_t demand = staying(p, q) + sums[p].queues[q].asked;
		int64_t keeps = demand > unlent(p, q) ? demand : unlent(p, q);

		keeps = keeps < guaranteed(p, q) ? keeps : guaranteed(p, q);
		if (q == queue_of_unit(p, reserved) || sums[p].queues[q].lasting > keeps)
			keeps = sums[p].queues[q].lasting;
		beside += keeps;
	}
	return beside;
}

/* For a gang or a slice that waits long, beside what others are guaranteed and what does not end in time. */
static const char *check_reservation(void)
{
	for (size_t p = 0; p < world.pool_count; p++) {
		const struct pool_table *table = table_of(p);
		size_t reserved = table->result.reserved;

		if (reserved == SHARE_NONE || table->result.units[reserved] == SHARE_COMING)
			continue;
		if (table->units.at[reserved].amount >
		    world.capacities[p] - kept_beside(p, reserved))
			return "8: a reservation for what cannot become free";
		if (world.now - table->units.at[reserved].since_ms < 120 * SECOND)
			return "8: a reservation for what has not waited";
		if (!table->asks.at[reserved]->gang &&
		    table->asks.at[reserved]->parts[0].group != 1)
			return "8: a reservation for a single replica";
		if (table->asks.at[reserved]->requested)
			return "8: a reservation for a request";
		if (world.now - world.last->pasts[p].reserved_since >=
		    (world.last->input->pasts[p].coming ? 1200 : 600) * SECOND)
			return "8: a reservation without an end";
	}
	return NULL;
}

/* GPU time that reservations have left unused since the begin, less the most that is paid for it. */
static struct debt {
	time_ms at;
	int64_t owed, saved;
	size_t queue; /* that has the reservation; SHARE_NONE */
	time_ms granted[TEAMS + 1];
} debts[POOLS];

static void settle(size_t p)
{
	struct debt *debt = &debts[p];
	int64_t ms = debt->at > 0 ? world.now - debt->at : 0;
	int64_t pays = world.capacities[p] + sums[p].held; /* of a slice all hosts are busy */

	debt->owed += ms * debt->saved - ms * pays / POOL_DEBT_PART;
	debt->owed = debt->owed > 0 ? debt->owed : 0;
	debt->at = world.now;
}

static void note_saved(size_t p)
{
	const struct pool_table *table = table_of(p);
	size_t reserved = table->result.reserved, granted = table->result.granted;
	int64_t free = world.capacities[p] - sums[p].held - sums[p].granted - sums[p].coming;

	debts[p].queue = SHARE_NONE;
	debts[p].saved = 0;
	if (granted != SHARE_NONE)
		debts[p].granted[queue_of_unit(p, granted)] = world.now;
	if (reserved == SHARE_NONE)
		return;
	debts[p].queue = queue_of_unit(p, reserved);
	free += table->result.units[reserved] == SHARE_COMING ? table->units.at[reserved].amount :
								0;
	free = free < table->units.at[reserved].amount ? free : table->units.at[reserved].amount;
	debts[p].saved = free > 0 ? free : 0;
}

/* The GPU time that reservations leave unused, of all queues together, is paid before the next one begins. */
static const char *check_debts(void)
{
	for (size_t p = 0; p < world.pool_count; p++) {
		size_t reserved = table_of(p)->result.reserved;
		size_t before = debts[p].queue, queue;

		settle(p);
		note_saved(p);
		if (reserved == SHARE_NONE)
			continue;
		queue = queue_of_unit(p, reserved);
		if (queue != before && debts[p].owed > GPUS(1) * SECOND &&
		    world.now - debts[p].granted[queue] >= POOL_DEBT_LAUNCH_MS)
			return "10: a reservation before the last ones are paid";
	}
	return NULL;
}

/* ---- laws of workers that end ---- */

static bool is_idle(const struct model_pod *of)
{
	for (size_t i = 0; i < PODS; i++)
		if (world.pods[i].state != ABSENT && world.pods[i].replica == of->replica &&
		    (world.pods[i].state != POD_IDLE ||
		     world.now - world.pods[i].since < 5 * SECOND))
			return false;
	return true;
}

static const char *check_releases_of(size_t cluster)
{
	const struct pool_terms *terms = pool_terms_make(world.last, cluster, false, world_arena());

	for (size_t r = 0; terms && r < terms->release_count; r++) {
		const struct pool_release *release = &terms->releases[r];
		const struct model_pod *pod = find_pod(cluster, release->pod);

		if (!pod)
			return "9: a Pod is released that does not exist";
		if (is_drained(cluster, release->pod))
			continue;
		if (release->deadline == TIME_NONE && !is_idle(pod))
			return "9: a worker that is not idle is released";
		if (release->deadline != TIME_NONE &&
		    (world.pools[pool_of_group(pod->group)].busy_after_seconds == GPU_POOL_NEVER ||
		     release->deadline != world.now + BUSY_AFTER * SECOND))
			return "9: a busy worker without its notice";
	}
	return NULL;
}

static bool wins(size_t p, size_t cluster)
{
	const struct pool_table *table = table_of(p);

	for (size_t u = 0; u < table->units.count; u++)
		if (table->units.at[u].cluster == cluster && table->result.units[u] >= SHARE_COMING)
			return true;
	return false;
}

/* Without Nodes: an idle worker that demand needs ends for a unit while an equal one that nothing needs
 * stays, which might end for the same unit. */
static const char *check_needed(void)
{
	for (size_t p = 0; p < world.pool_count && !world.nodes_known; p++) {
		const struct pool_table *table = table_of(p);

		for (size_t w = 0; w < table->workers.count; w++) {
			const struct share_worker *one = &table->workers.at[w];
			const struct share_order *order = &table->result.workers[w];

			if (order->action != SHARE_RELEASE || !one->needed ||
			    order->unit == SHARE_NONE)
				continue;
			for (size_t v = 0; v < table->workers.count; v++) {
				const struct share_worker *other = &table->workers.at[v];

				if (table->result.workers[v].action == SHARE_STAY &&
				    other->state == SHARE_IDLE && !other->needed &&
				    other->amount == one->amount &&
				    table->clusters.at[other->cluster].queue ==
					    table->clusters.at[one->cluster].queue &&
				    world.now - other->since_ms >= 5 * SECOND &&
				    other->cluster != table->units.at[order->unit].cluster &&
				    !wins(p, other->cluster))
					return "9: a needed worker ends before one that is not";
			}
		}
	}
	return NULL;
}

static const char *check_ends(void)
{
	for (size_t c = 0; c < CLUSTERS; c++) {
		const char *broken = check_releases_of(c);

		if (broken)
			return broken;
	}
	return check_needed();
}

static const char *check(void)
{
	static const char *(*const LAWS[])(void) = {
		check_amounts, check_figures, check_places,      check_whole, check_unused,
		check_maximum, check_waste,   check_reservation, check_debts, check_ends,
	};

	make_sums();
	for (size_t i = 0; i < SUPPORT_COUNT(LAWS); i++) {
		const char *broken = LAWS[i]();

		if (broken)
			return broken;
	}
	return NULL;
}

/* ---- random steps ---- */

/* Those of the last allocation that are granted. */
static void use_grants(size_t cluster, bool all)
{
	const struct pool_asks *asks = world.asks[cluster];

	for (size_t e = 0; e < asks->list.count; e++)
		for (int64_t n = world.last->shares[cluster].granted[e]; n > 0; n--) {
			launch(cluster, &asks->list.at[e], world_arena());
			if (!all)
				return;
		}
}

static void end_released(size_t cluster)
{
	const struct pool_terms *terms = pool_terms_make(world.last, cluster, false, world_arena());

	for (size_t r = 0; terms && r < terms->release_count; r++) {
		const struct pool_release *release = &terms->releases[r];
		const struct model_pod *pod = find_pod(cluster, release->pod);

		if (pod && pod->state != POD_LEAVING &&
		    (release->deadline == TIME_NONE ? is_idle(pod) :
						      release->deadline <= world.now))
			leave_replica(pod);
	}
}

static void change_pod(struct model_pod *pod)
{
	if (pod->state == POD_LEAVING)
		pod->state = ABSENT;
	else if (pod->state == POD_IDLE && often(20))
		leave_replica(pod);
	else if (pod->state != ABSENT)
		set_state(pod, often(60) ? POD_IDLE : POD_BUSY);
}

static void change_cluster(size_t c)
{
	struct model_cluster *own = &world.clusters[c];

	if (often(70))
		own->scaled = !own->scaled;
	else
		own->silent_since = own->silent_since > 0 ? 0 : world.now;
}

static void change_demand(size_t c)
{
	struct model_cluster *own = &world.clusters[c];

	if (own->ask_count > 0 && often(20))
		drop_ask(own, below(own->ask_count));
	else
		add_demand(own);
}

static void let_time_pass(void)
{
	world.now += often(80) ? 100 + (time_ms)below(20 * SECOND) : (time_ms)below(300 * SECOND);
}

static void step(void)
{
	size_t c = below(CLUSTERS);

	let_time_pass();
	switch (below(8)) {
	case 0:
		change_demand(c);
		break;
	case 1:
	case 2:
		use_grants(c, often(70));
		break;
	case 3:
		create_requested(c);
		break;
	case 4:
	case 5:
		for (size_t n = 0; n < 8; n++)
			change_pod(&world.pods[below(PODS)]);
		break;
	case 6:
		end_released(c);
		break;
	default:
		if (often(25))
			change_cluster(c);
		else if (world.node_count > 0 && often(20))
			world.nodes[below(world.node_count)].unschedulable = often(50);
		break;
	}
	world_allocate();
}

static void print_pool(size_t p)
{
	const struct pool_table *table = table_of(p);

	print_message("pool %zu: %lld of %lld held, %lld granted, unit %zd reserved\n", p,
		      (long long)(sums[p].held / RESOURCE_UNIT),
		      (long long)(world.capacities[p] / RESOURCE_UNIT),
		      (long long)(sums[p].granted / RESOURCE_UNIT),
		      (ssize_t)table->result.reserved);
	for (size_t q = 0; q <= TEAMS; q++)
		print_message(
			"  queue %zu: guaranteed %lld, priority %lld, held %lld, leaving %lld\n", q,
			(long long)(guaranteed(p, q) / RESOURCE_UNIT), (long long)priority(p, q),
			(long long)(sums[p].queues[q].held / RESOURCE_UNIT),
			(long long)(sums[p].queues[q].leaving / RESOURCE_UNIT));
	for (size_t u = 0; u < table->units.count; u++)
		print_message("  unit %zu of queue %zu: %lld GPUs for %lld s%s, verdict %d\n", u,
			      queue_of_unit(p, u),
			      (long long)(table->units.at[u].amount / RESOURCE_UNIT),
			      (long long)((world.now - table->units.at[u].since_ms) / SECOND),
			      table->units.at[u].requested ? ", requested" : "",
			      table->result.units[u]);
}

static void laws_hold_in_random_worlds(void **unused)
{
	(void)unused;
	for (uint64_t seed = first_seed; seed < first_seed + steps / STEPS; seed++) {
		world_begin(seed, 1 + seed % POOLS);
		for (size_t p = 0; p < POOLS; p++)
			debts[p] = (struct debt){ .queue = SHARE_NONE };
		world_allocate();
		for (int i = 0; i < STEPS; i++) {
			const char *broken;

			world_take_over();
			step();
			broken = check();
			for (size_t p = 0; broken && p < world.pool_count; p++)
				print_pool(p);
			if (broken)
				fail_msg("seed %llu, step %d: law %s", (unsigned long long)seed, i,
					 broken);
		}
		world_end();
	}
}

/* ---- worlds that come to rest ---- */

/* Everything that can happen now happens; false: nothing does. */
static bool act(void)
{
	bool acts = false;

	for (size_t i = 0; i < PODS; i++)
		if (world.pods[i].state == POD_LEAVING) {
			world.pods[i].state = ABSENT;
			acts = true;
		}
	for (size_t c = 0; c < CLUSTERS; c++) {
		acts |= world.last->shares[c].gives;
		use_grants(c, true);
		create_requested(c);
		end_released(c);
	}
	for (size_t i = 0; i < PODS; i++) {
		struct model_pod *pod = &world.pods[i];

		if (pod->state == POD_STARTING && pod->pod.spec.node_name[0] == '\0' &&
		    world.nodes_known)
			continue;
		if (pod->state == POD_STARTING) {
			set_state(pod, POD_BUSY);
			pod->ends = world.now + (time_ms)(1 + below(600)) * SECOND;
			acts = true;
		} else if (pod->state == POD_BUSY && pod->ends <= world.now) {
			set_state(pod, POD_IDLE);
			pod->needed = false;
			acts = true;
		} else if (pod->state == POD_IDLE && world.now - pod->since >= 60 * SECOND) {
			leave_replica(pod);
			acts = true;
		}
	}
	return acts;
}

/* The next change by time alone; INT64_MAX: none. */
static time_ms next_change(void)
{
	time_ms next = world.last->next;

	for (size_t i = 0; i < PODS; i++) {
		const struct model_pod *pod = &world.pods[i];
		time_ms change = pod->state == POD_BUSY    ? pod->ends :
				 pod->state == POD_IDLE    ? pod->since + 60 * SECOND :
				 pod->state == POD_LEAVING ? world.now :
							     INT64_MAX;

		next = change < next ? change : next;
	}
	return next;
}

static void run_until_rest(void)
{
	time_ms arrivals = START + 900 * SECOND, end = START + REST_MAX_MS;

	for (size_t left = CHANGES_MAX; left > 0 && world.now < end; left--) {
		time_ms next = world.now + 1;

		if (world.now < arrivals && often(50))
			add_demand(&world.clusters[below(CLUSTERS)]);
		if (!act()) {
			next = next_change();
			if (world.now < arrivals)
				next = next < world.now + 20 * SECOND ? next :
									world.now + 20 * SECOND;
			if (next == INT64_MAX)
				return;
		}
		world.now = next > world.now ? next : world.now + 1;
		world_allocate();
		world_take_over();
	}
}

/* A unit of two pools of which one could never hold its part. */
static bool is_impossible(size_t cluster, const struct pool_waiting *ask)
{
	for (size_t p = 0; p < world.pool_count; p++) {
		const struct pool_run *run = run_of(p, ask);
		size_t q = queue_of(p, cluster);
		int64_t amount = run ? table_of(p)->units.at[run->first].amount : 0, kept = 0;

		for (size_t other = 0; other <= TEAMS; other++)
			kept += other == q ? 0 : unlent(p, other);
		if (amount > maximum(p, q) || amount > world.capacities[p] - kept)
			return true;
	}
	return false;
}

static void at_rest_no_unit_waits(void **unused)
{
	size_t locked = 0;

	(void)unused;
	for (uint64_t seed = first_seed; seed < first_seed + worlds; seed++) {
		size_t waiting = 0;

		world_begin(seed, POOLS);
		world_allocate();
		world_take_over();
		run_until_rest();
		for (size_t c = 0; c < CLUSTERS; c++)
			VEC_EACH(const struct pool_waiting, ask, &world.asks[c]->list)
				waiting += !is_impossible(c, ask);
		if (waiting > 0)
			print_message("seed %llu: %zu units wait after %lld s\n",
				      (unsigned long long)seed, waiting,
				      (long long)((world.now - START) / SECOND));
		locked += waiting > 0;
		world_end();
	}
	assert_int_equal(locked, 0);
}

static void read_number(const char *name, uint64_t *number)
{
	const char *text = getenv(name);

	if (text)
		*number = strtoull(text, NULL, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(laws_hold_in_random_worlds),
		cmocka_unit_test(at_rest_no_unit_waits),
	};
	const char *all = getenv("TEST_ALL");

	if (all && *all) {
		steps = 100000;
		worlds = 100;
	}
	read_number("POOL_LAWS_SEED", &first_seed);
	read_number("POOL_LAWS_STEPS", &steps);
	read_number("POOL_LAWS_WORLDS", &worlds);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
