/* Laws of core/share on random states and sequences. The checker shares no code with it: it
 * computes each sum again from input and output. Each law is also seen to fail on a planted error.
 * SHARE_LAWS_COUNT (20,000; 100,000 take some minutes) and SHARE_LAWS_SEED choose the states. */
#include "test/support/support.h"

#include "test/support/share_nodes.h"

#define QUEUES_MAX 5
#define CLUSTERS_MAX 8

static uint64_t state;
static uint64_t first_seed = 1;
static size_t count = 20000;
static struct scene scene;
static struct share_nodes nodes;

static size_t below(size_t limit)
{
	return support_random_below(&state, limit);
}

static bool often(size_t percent)
{
	return below(100) < percent;
}

/* ---- random states ---- */

static const char *const NAMES[CLUSTERS_MAX] = { "a", "b", "c", "d", "e", "f", "g", "h" };

static void make_queues(int64_t gpus)
{
	size_t queues = 1 + below(QUEUES_MAX);

	for (size_t i = 0; i < queues; i++) {
		int64_t most = gpus / (int64_t)queues * (often(5) ? 3 : 1);
		struct share_queue *queue = scene_queue(
			&scene, NAMES[i], often(30) ? 0 : (int64_t)below((size_t)most + 1));

		if (often(30))
			queue->lendable = (int64_t)below((size_t)queue->guaranteed + 1);
		if (often(30))
			queue->maximum = queue->guaranteed + (int64_t)below(8) * GPU;
		queue->weight = 1 + (int64_t)below(4);
		queue->priority = often(80) ? 0 : (int64_t)below(3);
		queue->drain_after_ms = often(80) ? SHARE_NEVER : 600 * SECOND;
	}
}

static void make_workers(int64_t gpus)
{
	int64_t left = (int64_t)below((size_t)gpus + 1) * GPU;

	while (left > 0) {
		struct share_worker worker = {
			.cluster = below(scene.clusters.count),
			.amount = often(80) ? GPU :
				  often(50) ? 2 * GPU :
					      1428,
			.state = (enum share_state)below(4),
			.needed = often(40),
			.since_ms = SCENE_NOW - (int64_t)below(20) * SECOND,
		};

		worker.requested = often(50);

		VEC_PUSH(&scene.arena, &scene.workers, worker);
		left -= worker.amount;
	}
}

static void make_units(void)
{
	for (size_t left = below(16); left > 0; left--) {
		struct share_unit unit = {
			.cluster = below(scene.clusters.count),
			.amount = often(60) ? GPU :
				  often(80) ? (int64_t)(1 + below(12)) * GPU :
					      1428,
			.since_ms = SCENE_NOW - (int64_t)below(200) * SECOND,
			.priority = often(90) ? 0 : 1,
			.passed_over = often(3),
		};

		unit.requested = often(30);
		unit.unreserved = unit.requested || often(50);

		VEC_PUSH(&scene.arena, &scene.units, unit);
	}
}

/* In an empty pool: a gang that has waited, of a queue that lends nothing, and that needs more than its guarantee. */
static void make_reserved_gang(void)
{
	size_t cluster = below(scene.clusters.count);
	struct share_queue *queue = &scene.queues.at[scene.clusters.at[cluster].queue];

	scene.workers.count = 0;
	scene.pool.reserve_after_ms = 100 * SECOND;
	queue->lendable = 0;
	VEC_PUSH(&scene.arena, &scene.units,
		 ((struct share_unit){ .cluster = cluster,
				       .amount = queue->guaranteed + (int64_t)(1 + below(3)) * GPU,
				       .since_ms = SCENE_NOW - 100 * SECOND }));
}

static void make_scene(uint64_t seed)
{
	int64_t gpus;

	state = seed * UINT64_C(0x9E3779B97F4A7C15) | 1;
	support_random(&state);
	gpus = 4 + (int64_t)below(40);
	scene_start(&scene, gpus);
	make_queues(gpus);
	for (size_t i = 0, clusters = 1 + below(CLUSTERS_MAX); i < clusters; i++)
		VEC_PUSH(&scene.arena, &scene.clusters,
			 ((struct share_cluster){ NAMES[i], below(scene.queues.count) }));
	if (often(50))
		scene.pool.reserve_after_ms = SHARE_NEVER;
	scene.pool.reserve_at_most_ms = often(50) ? 0 : (590 + (int64_t)below(20)) * SECOND;
	scene.pool.reserved_since_ms = SCENE_NOW - (int64_t)below(20) * SECOND;
	make_workers(gpus);
	make_units();
	if (often(5))
		make_reserved_gang();
	if (often(5))
		scene.pool.capacity -= (int64_t)below((size_t)gpus) * GPU;
}

/* ---- sums from input and output ---- */

struct sums {
	int64_t guaranteed, unlent; /* of the guarantee in proportion */
	int64_t held;               /* all workers */
	int64_t staying;            /* that neither leave nor end now */
	int64_t idle;               /* that stay although they might end */
	int64_t granted, coming;    /* units */
	int64_t largest, smallest;  /* unit that was granted or is coming */
	int64_t largest_worker;
	int64_t replaced;   /* of workers that end for work of the queue itself */
	bool lost, drained; /* workers, in this call */
};

static struct sums sums[QUEUES_MAX];
static int64_t total_held, total_staying, total_granted, total_coming;
static bool any_lost;

static size_t queue_of_unit(size_t unit)
{
	return scene.clusters.at[scene.units.at[unit].cluster].queue;
}

static size_t queue_of_worker(size_t worker)
{
	return scene.clusters.at[scene.workers.at[worker].cluster].queue;
}

static bool is_idle_enough(const struct share_worker *worker)
{
	return worker->state == SHARE_IDLE &&
	       worker->since_ms + scene.pool.idle_after_ms <= scene.pool.now_ms;
}

static void sum_workers(const struct share_result *result)
{
	for (size_t i = 0; i < scene.workers.count; i++) {
		const struct share_worker *worker = &scene.workers.at[i];
		struct sums *sum = &sums[queue_of_worker(i)];

		sum->held += worker->amount;
		if (worker->amount > sum->largest_worker)
			sum->largest_worker = worker->amount;
		if (result->workers[i].action != SHARE_STAY) {
			size_t unit = result->workers[i].unit;
			bool replaced = unit != SHARE_NONE && !scene.units.at[unit].requested &&
					queue_of_unit(unit) == queue_of_worker(i);

			any_lost = true;
			sum->lost |= !replaced;
			sum->replaced += replaced ? worker->amount : 0;
			sum->drained |= result->workers[i].action == SHARE_DRAIN;
		} else if (worker->state != SHARE_LEAVING) {
			sum->staying += worker->amount;
			if (is_idle_enough(worker))
				sum->idle += worker->amount;
		}
	}
}

static void sum_units(const struct share_result *result)
{
	for (size_t i = 0; i < scene.units.count; i++) {
		int64_t amount = scene.units.at[i].amount;
		struct sums *sum = &sums[queue_of_unit(i)];

		if (result->units[i] == SHARE_GRANTED)
			sum->granted += amount;
		else if (result->units[i] == SHARE_COMING)
			sum->coming += amount;
		else
			continue;
		if (amount > sum->largest)
			sum->largest = amount;
		if (sum->smallest == 0 || amount < sum->smallest)
			sum->smallest = amount;
	}
}

static void make_sums(const struct share_result *result)
{
	int64_t guaranteed = 0;

	memset(sums, 0, sizeof(sums));
	total_held = total_staying = total_granted = total_coming = 0;
	any_lost = false;
	sum_workers(result);
	sum_units(result);
	for (size_t i = 0; i < scene.queues.count; i++) {
		total_held += sums[i].held;
		total_staying += sums[i].staying;
		total_granted += sums[i].granted;
		total_coming += sums[i].coming;
		guaranteed += scene.queues.at[i].guaranteed;
	}
	for (size_t i = 0; i < scene.queues.count; i++) {
		sums[i].guaranteed = scene.queues.at[i].guaranteed;
		if (guaranteed > scene.pool.capacity)
			sums[i].guaranteed = sums[i].guaranteed * scene.pool.capacity / guaranteed;
		if (sums[i].guaranteed > scene.queues.at[i].lendable)
			sums[i].unlent = sums[i].guaranteed - scene.queues.at[i].lendable;
	}
}

static int64_t usage(size_t queue)
{
	return sums[queue].staying + sums[queue].granted + sums[queue].coming;
}

static int64_t borrowed(size_t queue)
{
	return usage(queue) > sums[queue].guaranteed ? usage(queue) - sums[queue].guaranteed : 0;
}

static bool waits(const struct share_result *result, size_t unit)
{
	return result->units[unit] == SHARE_WAITS && !scene.units.at[unit].passed_over;
}

/* Work of its queue waits. */
static bool is_behind_work(const struct share_result *result, size_t unit)
{
	for (size_t i = 0; i < scene.units.count; i++)
		if (queue_of_unit(i) == queue_of_unit(unit) && !scene.units.at[i].requested &&
		    (waits(result, i) || result->units[i] == SHARE_AT_MAXIMUM))
			return true;
	return false;
}

/* It waits although it would stay within the guarantee. */
static bool claims(const struct share_result *result, size_t unit)
{
	size_t queue = queue_of_unit(unit);

	return waits(result, unit) &&
	       !(scene.units.at[unit].requested && is_behind_work(result, unit)) &&
	       usage(queue) + scene.units.at[unit].amount <= sums[queue].guaranteed;
}

static bool is_before(size_t a, size_t b)
{
	const struct share_unit *x = &scene.units.at[a], *y = &scene.units.at[b];
	int order = strcmp(scene.clusters.at[x->cluster].name, scene.clusters.at[y->cluster].name);

	if (x->priority != y->priority)
		return x->priority > y->priority;
	if (x->requested != y->requested)
		return y->requested;
	if (x->since_ms != y->since_ms)
		return x->since_ms < y->since_ms;
	return order != 0 ? order < 0 : a < b;
}

/* A unit before it has waited long and does not fit below the maximum of the queue: nothing passes
 * it. */
static bool is_behind_maximum(const struct share_result *result, size_t unit)
{
	for (size_t i = 0; i < scene.units.count; i++)
		if (queue_of_unit(i) == queue_of_unit(unit) && is_before(i, unit) &&
		    result->units[i] == SHARE_AT_MAXIMUM && scene.pool.reserve_after_ms >= 0 &&
		    scene.units.at[i].since_ms + scene.pool.reserve_after_ms <= scene.pool.now_ms)
			return true;
	return false;
}

/* Of its queue: what waits behind it may only use what it leaves of the guarantee. */
static bool is_first_claim(const struct share_result *result, size_t unit)
{
	size_t first = result->reserved;

	if (!claims(result, unit) || is_behind_maximum(result, unit))
		return false;
	if (first != SHARE_NONE && queue_of_unit(first) == queue_of_unit(unit))
		return unit == first;
	for (size_t i = 0; i < scene.units.count; i++)
		if (i != unit && queue_of_unit(i) == queue_of_unit(unit) && claims(result, i) &&
		    is_before(i, unit))
			return false;
	return true;
}

static bool any_claims(const struct share_result *result)
{
	for (size_t i = 0; i < scene.units.count; i++)
		if (claims(result, i))
			return true;
	return false;
}

static int64_t unlent_of_others(size_t queue)
{
	int64_t sum = 0;

	for (size_t i = 0; i < scene.queues.count; i++)
		if (i != queue && sums[i].unlent > usage(i))
			sum += sums[i].unlent - usage(i);
	return sum;
}

/* Without GPUs that a queue still holds by workers that end for its own work. */
static int64_t unheld_of_others(size_t queue)
{
	int64_t sum = 0;

	for (size_t i = 0; i < scene.queues.count; i++)
		if (i != queue && sums[i].unlent > usage(i) + sums[i].replaced)
			sum += sums[i].unlent - usage(i) - sums[i].replaced;
	return sum;
}

/* ---- the laws of one call ---- */

static const char *check_safety(const struct share_result *result)
{
	(void)result;
	if (total_granted > 0 && total_held + total_granted > scene.pool.capacity)
		return "1: the grants exceed the pool";
	if (total_granted + total_coming > 0 &&
	    total_staying + total_granted + total_coming > scene.pool.capacity)
		return "1: grants and what is coming exceed the pool";
	for (size_t i = 0; i < scene.queues.count; i++)
		if ((sums[i].granted > 0 &&
		     sums[i].held + sums[i].granted > scene.queues.at[i].maximum) ||
		    (sums[i].coming > 0 && usage(i) > scene.queues.at[i].maximum))
			return "1: a queue exceeds its maximum";
	return NULL;
}

/* Beyond its guarantee only for the reservation, of work that began since, with a short deadline. */
static bool may_drain_for(const struct share_result *result, size_t worker)
{
	const struct share_queue *queue = &scene.queues.at[queue_of_worker(worker)];
	size_t unit = result->workers[worker].unit, owner = queue_of_unit(unit);
	int64_t at_most = scene.pool.reserve_at_most_ms;

	if (usage(owner) <= sums[owner].guaranteed)
		return true;
	if (unit != result->reserved)
		return scene.units.at[unit].amount <= sums[owner].guaranteed;
	return scene.workers.at[worker].since_ms > scene.pool.reserved_since_ms &&
	       (at_most == 0 || queue->drain_after_ms < at_most);
}

static const char *check_ends(const struct share_result *result)
{
	for (size_t i = 0; i < scene.workers.count; i++) {
		const struct share_order *order = &result->workers[i];
		const struct share_queue *queue = &scene.queues.at[queue_of_worker(i)];

		if (order->action == SHARE_RELEASE && !is_idle_enough(&scene.workers.at[i]))
			return "2: a worker that is not idle is released";
		if (order->action == SHARE_DRAIN &&
		    (scene.workers.at[i].state != SHARE_BUSY || queue->drain_after_ms < 0 ||
		     order->deadline_ms != scene.pool.now_ms + queue->drain_after_ms))
			return "2: a worker is drained without the right or the time";
		if (order->action == SHARE_DRAIN && !may_drain_for(result, i))
			return "2: a worker is drained for a borrower";
		if (order->action != SHARE_STAY && order->unit != SHARE_NONE &&
		    result->units[order->unit] != SHARE_COMING)
			return "2: a worker ends for a unit that is not coming";
	}
	for (size_t i = 0; i < scene.queues.count; i++)
		if (sums[i].lost &&
		    sums[i].staying + sums[i].granted + sums[i].replaced < sums[i].guaranteed)
			return "2: a queue is left with less than its guarantee";
	return NULL;
}

/* In a queue only work takes what demand needs, and only what a request needs. */
static const char *check_requests(const struct share_result *result)
{
	for (size_t i = 0; i < scene.workers.count; i++) {
		const struct share_worker *worker = &scene.workers.at[i];
		const struct share_order *order = &result->workers[i];

		if (order->action == SHARE_RELEASE && order->unit != SHARE_NONE && worker->needed &&
		    queue_of_unit(order->unit) == queue_of_worker(i) &&
		    (!worker->requested || scene.units.at[order->unit].requested))
			return "7: a queue takes from itself what demand needs";
	}
	for (size_t i = 0; i < scene.units.count; i++)
		for (size_t j = 0; j < scene.units.count && !any_lost; j++)
			if (waits(result, i) && !scene.units.at[i].requested &&
			    scene.units.at[j].requested && result->units[j] >= SHARE_COMING &&
			    queue_of_unit(i) == queue_of_unit(j) &&
			    scene.units.at[i].priority >= scene.units.at[j].priority &&
			    scene.units.at[i].amount <= scene.units.at[j].amount)
				return "7: a request is given what work of its queue waits for";
	return NULL;
}

/* A unit within the guarantee waits only while others lack the idle GPUs: what may end of a queue
 * is what it borrows and holds idle, less than one worker. */
static const char *check_guarantee(const struct share_result *result)
{
	for (size_t i = 0; i < scene.units.count; i++) {
		size_t queue = queue_of_unit(i);
		int64_t room = scene.pool.capacity - total_staying - total_granted - total_coming -
			       unlent_of_others(queue);

		if (any_lost || !is_first_claim(result, i))
			continue;
		for (size_t j = 0; j < scene.queues.count; j++) {
			int64_t most = sums[j].staying + sums[j].granted - sums[j].guaranteed;

			most = most < sums[j].idle ? most : sums[j].idle;
			if (most > sums[j].largest_worker)
				room += most - sums[j].largest_worker;
		}
		if (scene.units.at[i].amount <= room)
			return "3: a guarantee waits for GPUs that are free or idle";
	}
	return NULL;
}

/* The first unit within its guarantee that waits, of each queue. */
static int64_t first_claims(const struct share_result *result)
{
	int64_t sum = 0;

	for (size_t i = 0; i < scene.units.count; i++)
		if (is_first_claim(result, i))
			sum += scene.units.at[i].amount;
	return sum;
}

/* A queue that was given anything left the parts of others that are not lent. One that borrows also left
 * the GPUs of guarantees that wait: of those that are free as well, unless it waits itself. */
static const char *check_kept(const struct share_result *result)
{
	int64_t free = scene.pool.capacity - total_held - total_granted;
	int64_t soon = scene.pool.capacity - total_staying - total_granted - total_coming;
	bool given = false, kept = false, granted = false, kept_now = false;

	for (size_t i = 0; i < scene.queues.count; i++) {
		if (sums[i].granted + sums[i].coming == 0)
			continue;
		given = true;
		kept |= soon >= unlent_of_others(i);
		granted |= sums[i].granted > 0;
		kept_now |= sums[i].granted > 0 && free >= unheld_of_others(i);
		if (usage(i) <= sums[i].guaranteed)
			continue;
		if (soon < first_claims(result) ||
		    (sums[i].coming == 0 && free < first_claims(result)))
			return "3: GPUs are lent for which a guarantee waits";
	}
	return (given && !kept) || (granted && !kept_now) ?
		       "3: a part of a guarantee that is not lent is given away" :
		       NULL;
}

/* That others may not use while it waits. Of its queue nothing else is kept: the unit will use it. */
static int64_t reserved_from(const struct share_result *result, size_t queue)
{
	size_t unit = result->reserved, owner;
	int64_t beside;

	if (unit == SHARE_NONE || result->units[unit] == SHARE_COMING)
		return 0;
	owner = queue_of_unit(unit);
	beside = sums[owner].unlent > usage(owner) ? sums[owner].unlent - usage(owner) : 0;
	if (queue == owner || scene.queues.at[queue].priority > scene.queues.at[owner].priority ||
	    scene.units.at[unit].amount < beside)
		return 0;
	return scene.units.at[unit].amount - beside;
}

/* Only while nothing is kept for claims; those have laws of their own. */
static const char *check_waste(const struct share_result *result)
{
	size_t first = result->reserved;

	if (any_lost || any_claims(result))
		return NULL;
	for (size_t i = 0; i < scene.units.count; i++) {
		size_t queue = queue_of_unit(i);
		int64_t soon = scene.pool.capacity - total_staying - total_granted - total_coming -
			       unlent_of_others(queue) - reserved_from(result, queue);

		if (waits(result, i) && scene.units.at[i].amount <= soon &&
		    !is_behind_maximum(result, i) &&
		    (first == SHARE_NONE || queue_of_unit(first) != queue) &&
		    usage(queue) + scene.units.at[i].amount <= scene.queues.at[queue].maximum)
			return "4: a unit waits that fits";
	}
	return NULL;
}

/* Units that wait although a unit of at least their size was given to another queue. */
static bool was_passed_by(const struct share_result *result, size_t unit, size_t other)
{
	size_t queue = queue_of_unit(unit);
	int64_t amount = scene.units.at[unit].amount;

	return queue != other && waits(result, unit) && amount <= sums[other].smallest &&
	       usage(queue) + amount <= scene.queues.at[queue].maximum && sums[other].unlent == 0 &&
	       borrowed(other) > 0;
}

/* Without the largest unit that it was given, the other queue has no larger share; and it has at
 * least the priority, unless all it was given is within its guarantee. */
static const char *check_shares(const struct share_result *result)
{
	if (any_lost || any_claims(result) || scene.pool.reserve_after_ms >= 0)
		return NULL;
	for (size_t i = 0; i < scene.units.count; i++) {
		const struct share_queue *queue = &scene.queues.at[queue_of_unit(i)];

		for (size_t j = 0; j < scene.queues.count; j++) {
			const struct share_queue *other = &scene.queues.at[j];

			if (!was_passed_by(result, i, j))
				continue;
			if (other->priority < queue->priority &&
			    borrowed(j) >= sums[j].granted + sums[j].coming)
				return "4: a lower priority is given what a higher one waits for";
			if (other->priority == queue->priority &&
			    (borrowed(j) - sums[j].largest) * queue->weight >
				    borrowed(queue_of_unit(i)) * other->weight)
				return "4: shares differ by more than a unit";
		}
	}
	return NULL;
}

/* The reservation is for a unit that waits, one with the longest time, and its queue gets
 * nothing. */
static const char *check_reservation(const struct share_result *result)
{
	size_t unit = result->reserved;

	if (unit == SHARE_NONE || result->units[unit] == SHARE_COMING)
		return NULL;
	if (!waits(result, unit) ||
	    scene.units.at[unit].since_ms + scene.pool.reserve_after_ms > scene.pool.now_ms)
		return "5: a reservation for a unit that has not waited";
	if (sums[queue_of_unit(unit)].granted + sums[queue_of_unit(unit)].coming > 0)
		return "5: a gang is passed by its own queue";
	return NULL;
}

static const char *check(const struct share_result *result)
{
	static const char *(*const LAWS[])(const struct share_result *) = {
		check_safety, check_ends,   check_guarantee,   check_kept,
		check_waste,  check_shares, check_reservation, check_requests,
	};

	make_sums(result);
	for (size_t i = 0; i < SUPPORT_COUNT(LAWS); i++) {
		const char *broken = LAWS[i](result);

		if (broken)
			return broken;
	}
	return NULL;
}

static void print_scene(const struct share_result *result)
{
	printf("capacity %lld, reserved %zu\n", (long long)scene.pool.capacity, result->reserved);
	for (size_t i = 0; i < scene.queues.count; i++) {
		const struct share_queue *queue = &scene.queues.at[i];

		printf("queue %s guaranteed %lld unlent %lld maximum %lld weight %lld "
		       "priority %lld: held %lld staying %lld granted %lld coming %lld\n",
		       queue->name, (long long)sums[i].guaranteed, (long long)sums[i].unlent,
		       (long long)queue->maximum, (long long)queue->weight,
		       (long long)queue->priority, (long long)sums[i].held,
		       (long long)sums[i].staying, (long long)sums[i].granted,
		       (long long)sums[i].coming);
	}
	for (size_t i = 0; i < scene.units.count; i++)
		printf("unit %zu queue %zu amount %lld since %lld priority %d: %d\n", i,
		       queue_of_unit(i), (long long)scene.units.at[i].amount,
		       (long long)scene.units.at[i].since_ms, scene.units.at[i].priority,
		       (int)result->units[i]);
	for (size_t i = 0; i < scene.workers.count; i++)
		printf("worker %zu queue %zu amount %lld state %d needed %d: %d\n", i,
		       queue_of_worker(i), (long long)scene.workers.at[i].amount,
		       (int)scene.workers.at[i].state, scene.workers.at[i].needed,
		       (int)result->workers[i].action);
}

static void laws_hold_on_random_states(void **unused)
{
	(void)unused;
	for (uint64_t seed = first_seed; seed < first_seed + count; seed++) {
		const char *broken;

		make_scene(seed);
		scene_share(&scene);
		broken = check(scene.result);
		if (broken)
			print_scene(scene.result);
		scene_done(&scene);
		if (broken)
			fail_msg("seed %llu: law %s", (unsigned long long)seed, broken);
	}
}

/* ---- planted errors ---- */

/* Changes the result; false where it cannot. */
typedef bool plant(struct share_result *result);

static bool change_one(struct share_result *result, enum share_verdict from, enum share_verdict to)
{
	for (size_t i = 0; i < scene.units.count; i++)
		if (result->units[i] == from) {
			result->units[i] = to;
			return true;
		}
	return false;
}

static bool grant_one_more(struct share_result *result)
{
	return change_one(result, SHARE_WAITS, SHARE_GRANTED);
}

static bool ignore_the_maximum(struct share_result *result)
{
	return change_one(result, SHARE_AT_MAXIMUM, SHARE_GRANTED);
}

static bool end_one(struct share_result *result, enum share_state in, enum share_action action)
{
	for (size_t i = 0; i < scene.workers.count; i++)
		if (scene.workers.at[i].state == in && result->workers[i].action == SHARE_STAY) {
			result->workers[i].action = action;
			return true;
		}
	return false;
}

static bool release_a_busy_one(struct share_result *result)
{
	return end_one(result, SHARE_BUSY, SHARE_RELEASE);
}

static bool drain_without_notice(struct share_result *result)
{
	return end_one(result, SHARE_BUSY, SHARE_DRAIN);
}

static bool release_all_idle_ones(struct share_result *result)
{
	bool any = false;

	while (end_one(result, SHARE_IDLE, SHARE_RELEASE))
		any = true;
	return any;
}

static bool forget_a_release(struct share_result *result)
{
	bool any = false;

	for (size_t i = 0; i < scene.workers.count; i++) {
		any |= result->workers[i].action != SHARE_STAY;
		result->workers[i].action = SHARE_STAY;
	}
	return any;
}

static bool release_for_nothing(struct share_result *result)
{
	return change_one(result, SHARE_COMING, SHARE_WAITS);
}

/* With all that ends for units that wait, so that their guarantee is checked. */
static bool grant_and_release_nothing(struct share_result *result)
{
	bool any = forget_a_release(result);

	for (size_t i = 0; i < scene.units.count; i++)
		if (result->units[i] >= SHARE_COMING) {
			result->units[i] = SHARE_WAITS;
			any = true;
		}
	return any;
}

static bool give_it_to_another(struct share_result *result)
{
	for (size_t i = 0; i < scene.units.count; i++)
		for (size_t j = 0; j < scene.units.count; j++)
			if (result->units[i] == SHARE_GRANTED && result->units[j] == SHARE_WAITS &&
			    scene.units.at[i].amount == scene.units.at[j].amount &&
			    queue_of_unit(i) != queue_of_unit(j)) {
				result->units[i] = SHARE_WAITS;
				result->units[j] = SHARE_GRANTED;
				return true;
			}
	return false;
}

static bool give_it_to_a_request(struct share_result *result)
{
	for (size_t i = 0; i < scene.units.count; i++)
		for (size_t j = 0; j < scene.units.count; j++)
			if (result->units[i] == SHARE_GRANTED && result->units[j] == SHARE_WAITS &&
			    scene.units.at[i].amount == scene.units.at[j].amount &&
			    scene.units.at[j].requested > scene.units.at[i].requested &&
			    scene.units.at[i].priority == scene.units.at[j].priority &&
			    queue_of_unit(i) == queue_of_unit(j)) {
				result->units[i] = SHARE_WAITS;
				result->units[j] = SHARE_GRANTED;
				return true;
			}
	return false;
}

static bool release_for_a_request(struct share_result *result)
{
	for (size_t i = 0; i < scene.workers.count; i++)
		for (size_t j = 0; j < scene.units.count; j++)
			if (scene.workers.at[i].needed && is_idle_enough(&scene.workers.at[i]) &&
			    result->units[j] == SHARE_COMING && scene.units.at[j].requested &&
			    queue_of_unit(j) == queue_of_worker(i)) {
				result->workers[i].action = SHARE_RELEASE;
				result->workers[i].unit = j;
				return true;
			}
	return false;
}

static bool reserve_for_the_first(struct share_result *result)
{
	result->reserved = 0;
	return scene.units.count > 0;
}

static const struct planted {
	plant *plant;
	const char *law; /* that is broken */
} PLANTED[] = {
	{ grant_one_more, "1: the grants exceed the pool" },
	{ forget_a_release, "1: grants and what is coming exceed the pool" },
	{ ignore_the_maximum, "1: a queue exceeds its maximum" },
	{ release_a_busy_one, "2: a worker that is not idle is released" },
	{ drain_without_notice, "2: a worker is drained without the right or the time" },
	{ release_for_nothing, "2: a worker ends for a unit that is not coming" },
	{ release_all_idle_ones, "2: a queue is left with less than its guarantee" },
	{ grant_and_release_nothing, "3: a guarantee waits for GPUs that are free or idle" },
	{ grant_and_release_nothing, "4: a unit waits that fits" },
	{ give_it_to_another, "4: a lower priority is given what a higher one waits for" },
	{ give_it_to_another, "4: shares differ by more than a unit" },
	{ give_it_to_a_request, "7: a request is given what work of its queue waits for" },
	{ release_for_a_request, "7: a queue takes from itself what demand needs" },
	{ reserve_for_the_first, "5: a reservation for a unit that has not waited" },
	{ reserve_for_the_first, "5: a gang is passed by its own queue" },
};

static bool is_noticed(const struct planted *planted, uint64_t seed)
{
	struct share_result result;
	const char *broken = NULL;

	make_scene(seed);
	scene_share(&scene);
	result = *scene.result;
	if (planted->plant(&result))
		broken = check(&result);
	scene_done(&scene);
	return broken && !strcmp(broken, planted->law);
}

static void planted_errors_are_noticed(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < SUPPORT_COUNT(PLANTED); i++) {
		uint64_t seed = 1;

		while (seed < 20000 && !is_noticed(&PLANTED[i], seed))
			seed++;
		if (seed == 20000)
			fail_msg("not noticed: %s", PLANTED[i].law);
	}
}

/* ---- 6: asking for more than one uses ---- */

#define EXTRA_MAX 6

/* GPUs that a queue is given of the first `units` units. */
static int64_t given_of(size_t queue, size_t units)
{
	int64_t sum = 0;

	for (size_t i = 0; i < units; i++)
		if (scene.result->units[i] >= SHARE_COMING && queue_of_unit(i) == queue)
			sum += scene.units.at[i].amount;
	return sum;
}

/* An empty pool, so that nothing of a guarantee is lent. */
static void make_empty_pool(uint64_t seed, bool divisible)
{
	make_scene(seed);
	scene.workers.count = 0;
	scene.pool.reserve_after_ms = SHARE_NEVER;
	VEC_EACH(struct share_unit, unit, &scene.units)
		if (divisible)
			unit->amount = GPU;
}

/* How much more the queue of the first unit is given of its true units if it adds forged ones
 * (planted: raises its weight instead); -1: the guarantee of another queue has less. */
static int64_t gain_of_forging(uint64_t seed, bool divisible, bool planted)
{
	int64_t before[QUEUES_MAX], gain = 0;
	size_t units, forger;

	make_empty_pool(seed, divisible);
	units = scene.units.count;
	if (units == 0)
		return 0;
	scene_share(&scene);
	forger = queue_of_unit(0);
	make_sums(scene.result);
	for (size_t i = 0; i < scene.queues.count; i++)
		before[i] = given_of(i, units);
	if (planted)
		scene.queues.at[forger].weight *= 10;
	for (size_t i = 1 + below(EXTRA_MAX); i > 0 && !planted; i--)
		VEC_PUSH(&scene.arena, &scene.units,
			 ((struct share_unit){ .cluster = scene.units.at[0].cluster,
					       .amount = divisible || often(50) ?
								 GPU :
								 (int64_t)(1 + below(12)) * GPU,
					       .since_ms = SCENE_NOW }));
	scene_share(&scene);
	for (size_t i = 0; i < scene.queues.count; i++) {
		int64_t whole = sums[i].guaranteed / GPU * GPU; /* in units of one GPU */

		if (i != forger && divisible && given_of(i, units) < before[i] &&
		    given_of(i, units) < whole)
			return -1;
	}
	gain = given_of(forger, units) - before[forger];
	return gain > 0 ? gain : 0;
}

static void forged_demand_gains_nothing(void **unused)
{
	bool noticed = false;

	(void)unused;
	for (uint64_t seed = first_seed; seed < first_seed + count; seed++) {
		int64_t gain = gain_of_forging(seed, true, false);

		scene_done(&scene);
		if (gain != 0)
			fail_msg("seed %llu: forged demand gains %lld", (unsigned long long)seed,
				 (long long)gain);
		gain = gain_of_forging(seed, true, true);
		scene_done(&scene);
		noticed |= gain > 0;
	}
	assert_true(noticed);
}

static int64_t largest_unit(void)
{
	int64_t largest = 0;

	VEC_EACH(const struct share_unit, unit, &scene.units)
		if (unit->amount > largest)
			largest = unit->amount;
	return largest;
}

static void with_gangs_it_gains_less_than_a_unit(void **unused)
{
	(void)unused;
	for (uint64_t seed = first_seed; seed < first_seed + count; seed++) {
		int64_t gain = gain_of_forging(seed, false, false), largest = largest_unit();

		scene_done(&scene);
		if (gain > 0 && gain >= largest)
			fail_msg("seed %llu: forged demand gains %lld", (unsigned long long)seed,
				 (long long)gain);
	}
}

/* ---- 8 and 10: the same state, the same result; one queue without contention ---- */

static void reverse_clusters(void)
{
	size_t clusters = scene.clusters.count, queues = scene.queues.count;

	for (size_t i = 0; i < clusters / 2; i++) {
		struct share_cluster moved = scene.clusters.at[i];

		scene.clusters.at[i] = scene.clusters.at[clusters - 1 - i];
		scene.clusters.at[clusters - 1 - i] = moved;
	}
	for (size_t i = 0; i < queues / 2; i++) {
		struct share_queue moved = scene.queues.at[i];

		scene.queues.at[i] = scene.queues.at[queues - 1 - i];
		scene.queues.at[queues - 1 - i] = moved;
	}
	VEC_EACH(struct share_cluster, cluster, &scene.clusters)
		cluster->queue = queues - 1 - cluster->queue;
	VEC_EACH(struct share_unit, unit, &scene.units)
		unit->cluster = clusters - 1 - unit->cluster;
	VEC_EACH(struct share_worker, worker, &scene.workers)
		worker->cluster = clusters - 1 - worker->cluster;
}

/* A new leader reads the same objects, in another order. */
static bool is_same_after_restart(uint64_t seed, bool planted)
{
	const struct share_result *before;
	bool same;

	make_scene(seed);
	scene_share(&scene);
	before = scene.result;
	reverse_clusters();
	VEC_EACH(struct share_unit, unit, &scene.units)
		if (planted)
			unit->since_ms = SCENE_NOW;
	scene_share(&scene);
	same = before->reserved == scene.result->reserved;
	for (size_t i = 0; i < scene.units.count; i++)
		same &= before->units[i] == scene.result->units[i];
	for (size_t i = 0; i < scene.workers.count; i++)
		same &= before->workers[i].action == scene.result->workers[i].action;
	scene_done(&scene);
	return same;
}

static void a_restart_changes_nothing(void **unused)
{
	bool noticed = false;

	(void)unused;
	for (uint64_t seed = first_seed; seed < first_seed + count; seed++) {
		if (!is_same_after_restart(seed, false))
			fail_msg("seed %llu: another order of the input", (unsigned long long)seed);
		noticed |= !is_same_after_restart(seed, true);
	}
	assert_true(noticed);
}

static bool has_contention(void)
{
	int64_t sum = 0;

	VEC_EACH(const struct share_worker, worker, &scene.workers)
		sum += worker->amount;
	VEC_EACH(const struct share_unit, unit, &scene.units)
		sum += unit->amount;
	return sum > scene.pool.capacity || sum > scene.queues.at[0].maximum;
}

static void without_contention_all_is_granted(void **unused)
{
	size_t seen = 0;

	(void)unused;
	for (uint64_t seed = first_seed; seed < first_seed + count; seed++) {
		make_scene(seed);
		if (scene.queues.count == 1 && !has_contention()) {
			seen++;
			scene_share(&scene);
			for (size_t i = 0; i < scene.units.count; i++)
				assert_true(scene.result->units[i] == SHARE_GRANTED ||
					    scene.units.at[i].passed_over);
			assert_int_equal(scene_ends(&scene, SHARE_STAY), scene.workers.count);
		}
		scene_done(&scene);
	}
	assert_true(seen > 0);
}

/* ---- places ---- */

static int64_t sum_of(const int64_t *room)
{
	int64_t sum = 0;

	for (size_t i = 0; i < nodes.count; i++)
		sum += room[i];
	return sum;
}

/* Workers on random Nodes with room, the others on none: they do not exist. */
static void put_on_nodes(void)
{
	size_t kept = 0;
	int64_t gpus = 1 + (int64_t)below(8);

	share_nodes_start(&nodes, &scene, 1 + below(NODES_MAX), gpus);
	scene.pool.capacity = (int64_t)nodes.count * gpus * GPU;
	for (size_t i = 0; i < scene.workers.count; i++) {
		size_t node = below(nodes.count);

		if (nodes.soon[node] < scene.workers.at[i].amount ||
		    nodes.now[node] < scene.workers.at[i].amount)
			continue;
		scene.workers.at[kept] = scene.workers.at[i];
		share_nodes_put(&nodes, kept++, node);
	}
	scene.workers.count = kept;
	for (size_t i = 0; i < scene.units.count; i++)
		nodes.pods[i] = scene.units.at[i].amount % GPU ? 1 : 1 + (int64_t)below(2);
}

/* Units that are granted or coming have their places, and no other. */
static void places_are_taken_once(void **unused)
{
	(void)unused;
	for (uint64_t seed = first_seed; seed < first_seed + count; seed++) {
		int64_t ended = 0, now, soon;
		const char *broken;

		make_scene(seed);
		put_on_nodes();
		now = sum_of(nodes.now);
		soon = sum_of(nodes.soon);
		scene_share(&scene);
		make_sums(scene.result);
		for (size_t i = 0; i < scene.workers.count; i++)
			if (scene.result->workers[i].action != SHARE_STAY)
				ended += scene.workers.at[i].amount;
		broken = check_safety(scene.result);
		broken = broken ? broken : check_ends(scene.result);
		if (sum_of(nodes.soon) != soon + ended - total_granted - total_coming ||
		    sum_of(nodes.now) > now - total_granted)
			broken = "1: places";
		if (broken)
			print_scene(scene.result);
		scene_done(&scene);
		if (broken)
			fail_msg("seed %llu: law %s", (unsigned long long)seed, broken);
	}
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
		cmocka_unit_test(laws_hold_on_random_states),
		cmocka_unit_test(planted_errors_are_noticed),
		cmocka_unit_test(forged_demand_gains_nothing),
		cmocka_unit_test(with_gangs_it_gains_less_than_a_unit),
		cmocka_unit_test(a_restart_changes_nothing),
		cmocka_unit_test(without_contention_all_is_granted),
		cmocka_unit_test(places_are_taken_once),
	};
	uint64_t number = count;

	read_number("SHARE_LAWS_SEED", &first_seed);
	read_number("SHARE_LAWS_COUNT", &number);
	count = (size_t)number;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
