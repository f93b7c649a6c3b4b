/* Sequences of rounds of core/share: grants start workers, work ends, workers that are released
 * leave. A round is 10 s: workers start and leave within one, GPUs are saved for a unit after 12.
 * SHARE_ROUNDS_COUNT (1,000 of each kind) and SHARE_ROUNDS_SEED choose the sequences. */
#include "test/support/support.h"

#include "test/support/share_scene.h"

#define ROUND (10 * SECOND)
#define JOBS_MAX 64
#define WORKERS_MAX 512
#define FOREVER INT64_MAX

enum job_state { JOB_NONE = 0, JOB_WAITS, JOB_PLACED };

/* Work that needs one worker of its amount. */
struct job {
	enum job_state state;
	size_t cluster;
	int64_t amount;
	int64_t since; /* round in which it began to wait */
	int64_t takes; /* rounds */
	int64_t ends;  /* round */
	bool again;    /* the same work arrives again when it has ended */
	bool requested;
};

struct worker {
	struct share_worker given;
	size_t job; /* SHARE_NONE: it has none */
	bool exists;
	int64_t leaves; /* round, of SHARE_LEAVING */
};

/* Kept from round to round; each round makes the scene from it. */
struct world {
	struct scene fixed; /* queues, clusters and limits */
	struct job jobs[JOBS_MAX];
	size_t job_count;
	struct worker workers[WORKERS_MAX];
	int64_t round;
	bool stubborn; /* workers stay idle, and demand needs them */
	bool unneeded; /* planted: nothing says so */
	bool single;   /* workers end with their work; else Ray places the next one on them */
	bool changed;  /* in the last round */
};

static uint64_t state;
static uint64_t first_seed = 1;
static size_t count = 1000;
static struct world world;
static struct scene scene;
static size_t job_of_unit[JOBS_MAX], index_of_worker[WORKERS_MAX];

static size_t below(size_t limit)
{
	return support_random_below(&state, limit);
}

static bool often(size_t percent)
{
	return below(100) < percent;
}

static void start_world(uint64_t seed, int64_t gpus)
{
	state = seed * UINT64_C(0x9E3779B97F4A7C15) | 1;
	support_random(&state);
	world = (struct world){ .round = 1000 };
	scene_start(&world.fixed, gpus);
}

static void end_world(void)
{
	scene_done(&world.fixed);
}

static size_t add_job(size_t cluster, int64_t gpus, int64_t takes)
{
	world.jobs[world.job_count] = (struct job){
		.state = JOB_WAITS,
		.cluster = cluster,
		.amount = gpus * GPU,
		.since = world.round,
		.takes = takes,
	};
	return world.job_count++;
}

static size_t add_worker(size_t cluster, int64_t amount, enum share_state in, size_t job)
{
	size_t i = 0;

	while (world.workers[i].exists)
		i++;
	assert_true(i + 1 < WORKERS_MAX);
	world.workers[i] = (struct worker){
		.exists = true,
		.job = job,
		.given = { .cluster = cluster,
			   .amount = amount,
			   .state = in,
			   .since_ms = world.round * ROUND },
	};
	return i;
}

/* ---- a round ---- */

static void set_state(struct worker *worker, enum share_state to)
{
	worker->given.state = to;
	worker->given.since_ms = world.round * ROUND;
	world.changed = true;
}

static void end_job(struct worker *worker)
{
	struct job *job = &world.jobs[worker->job];

	job->state = job->again ? JOB_WAITS : JOB_NONE;
	job->since = world.round;
	worker->job = SHARE_NONE;
	worker->leaves = world.round + 1;
	set_state(worker, world.single ? SHARE_LEAVING : SHARE_IDLE);
}

static void pass_time(struct worker *worker)
{
	int64_t ms = world.round * ROUND - worker->given.since_ms;

	if (worker->given.state == SHARE_LEAVING && world.round >= worker->leaves) {
		worker->exists = false;
		world.changed = true;
	} else if (worker->given.state == SHARE_STARTING && ms >= ROUND) {
		set_state(worker, world.stubborn ? SHARE_IDLE : SHARE_BUSY);
		worker->given.needed = world.stubborn && !world.unneeded;
		worker->given.requested = world.jobs[worker->job].requested;
		world.jobs[worker->job].ends = world.jobs[worker->job].takes == FOREVER ?
						       FOREVER :
						       world.round + world.jobs[worker->job].takes;
	} else if (worker->given.state == SHARE_BUSY && worker->job != SHARE_NONE &&
		   world.jobs[worker->job].ends <= world.round) {
		end_job(worker);
	}
}

/* As Ray does: waiting work of the cluster on its idle worker. */
static void place_on_idle(struct worker *worker)
{
	for (size_t i = 0; i < world.job_count; i++) {
		struct job *job = &world.jobs[i];

		if (job->state != JOB_WAITS || job->cluster != worker->given.cluster ||
		    job->amount != worker->given.amount)
			continue;
		job->state = JOB_PLACED;
		job->ends = job->takes == FOREVER ? FOREVER : world.round + job->takes;
		worker->job = i;
		set_state(worker, SHARE_BUSY);
		return;
	}
}

static void make_scene(void)
{
	scene_start(&scene, 0);
	scene.pool = world.fixed.pool;
	scene.pool.now_ms = world.round * ROUND;
	scene.queues.at = world.fixed.queues.at;
	scene.queues.count = world.fixed.queues.count;
	scene.clusters.at = world.fixed.clusters.at;
	scene.clusters.count = world.fixed.clusters.count;
	for (size_t i = 0; i < world.job_count; i++)
		if (world.jobs[i].state == JOB_WAITS) {
			job_of_unit[scene.units.count] = i;
			VEC_PUSH(&scene.arena, &scene.units,
				 ((struct share_unit){ .cluster = world.jobs[i].cluster,
						       .amount = world.jobs[i].amount,
						       .requested = world.jobs[i].requested,
						       .unreserved = world.jobs[i].requested,
						       .since_ms = world.jobs[i].since * ROUND }));
		}
	for (size_t i = 0; i < WORKERS_MAX; i++)
		if (world.workers[i].exists) {
			index_of_worker[scene.workers.count] = i;
			VEC_PUSH(&scene.arena, &scene.workers, world.workers[i].given);
		}
}

static void apply_ends(void)
{
	for (size_t i = 0; i < scene.workers.count; i++) {
		const struct share_order *order = &scene.result->workers[i];
		struct worker *worker = &world.workers[index_of_worker[i]];

		if (order->action == SHARE_STAY)
			continue;
		worker->leaves = order->action == SHARE_DRAIN ? order->deadline_ms / ROUND :
								world.round + 1;
		set_state(worker, SHARE_LEAVING);
		if (worker->job != SHARE_NONE) {
			world.jobs[worker->job].state = JOB_WAITS;
			worker->job = SHARE_NONE;
		}
	}
}

static int64_t held(void)
{
	int64_t sum = 0;

	for (size_t i = 0; i < WORKERS_MAX; i++)
		if (world.workers[i].exists)
			sum += world.workers[i].given.amount;
	return sum;
}

static void apply_grants(void)
{
	bool any = false;

	for (size_t i = 0; i < scene.units.count; i++)
		if (scene.result->units[i] == SHARE_GRANTED) {
			struct job *job = &world.jobs[job_of_unit[i]];

			job->state = JOB_PLACED;
			job->ends = FOREVER;
			add_worker(job->cluster, job->amount, SHARE_STARTING, job_of_unit[i]);
			world.changed = any = true;
		}
	/* Law 1 at each moment, with patches in flight. */
	assert_true(!any || held() <= scene.pool.capacity);
}

static void run_round(void)
{
	world.round++;
	world.changed = false;
	for (size_t i = 0; i < WORKERS_MAX; i++)
		if (world.workers[i].exists)
			pass_time(&world.workers[i]);
	for (size_t i = 0; i < WORKERS_MAX && !world.stubborn; i++)
		if (world.workers[i].exists && world.workers[i].given.state == SHARE_IDLE)
			place_on_idle(&world.workers[i]);
	make_scene();
	scene_share(&scene);
	apply_ends();
	apply_grants();
	scene_done(&scene);
}

/* Rounds until nothing changes for longer than GPUs are saved for a unit; -1: more than `limit`. */
static int64_t settle(int64_t limit)
{
	int64_t last = world.round, start = world.round;

	while (world.round - last < 15) {
		run_round();
		if (world.changed)
			last = world.round;
		if (world.round - start > limit)
			return -1;
	}
	return last - start;
}

/* ---- random worlds ---- */

static const char *const NAMES[] = { "a", "b", "c", "d", "e", "f", "g", "h" };

static void make_queues(int64_t gpus)
{
	size_t queues = 1 + below(4);

	for (size_t i = 0; i < queues; i++) {
		struct share_queue *queue =
			scene_queue(&world.fixed, NAMES[i],
				    often(40) ? 0 : (int64_t)below((size_t)gpus / queues + 1));

		queue->weight = 1 + (int64_t)below(3);
		queue->priority = often(70) ? 0 : (int64_t)below(3);
		if (often(20))
			queue->lendable = queue->guaranteed / 2;
		if (often(20))
			queue->maximum = queue->guaranteed + (int64_t)below(6) * GPU;
		scene_cluster(&world.fixed, NAMES[2 * i]);
		scene_cluster(&world.fixed, NAMES[2 * i + 1]);
	}
}

static void make_work(int64_t gpus, bool single)
{
	int64_t left = gpus;

	for (size_t i = 10 + below(30); i > 0; i--) {
		size_t cluster = below(world.fixed.clusters.count);
		int64_t amount = single || often(70) ? 1 : 1 + (int64_t)below(6);
		size_t job = add_job(cluster, amount, FOREVER);

		world.jobs[job].since -= (int64_t)below(20);
		world.jobs[job].requested = world.stubborn && often(40);
		if (often(50) || amount > left)
			continue;
		left -= amount;
		world.jobs[job].state = JOB_PLACED;
		world.jobs[job].ends = FOREVER;
		add_worker(cluster, amount * GPU, world.stubborn ? SHARE_STARTING : SHARE_BUSY,
			   job);
	}
	for (; left > 0 && !world.stubborn && often(80); left--)
		add_worker(below(world.fixed.clusters.count), GPU, SHARE_IDLE, SHARE_NONE);
}

static void make_world(uint64_t seed, bool stubborn, bool unneeded)
{
	int64_t gpus;

	start_world(seed, 0);
	world.stubborn = stubborn;
	world.unneeded = unneeded;
	gpus = 4 + (int64_t)below(20);
	world.fixed.pool.capacity = gpus * GPU;
	make_queues(gpus);
	make_work(gpus, seed % 2 == 0);
}

/* ---- 7: convergence ---- */

static void constant_asks_reach_a_fixed_point(void **unused)
{
	(void)unused;
	for (uint64_t seed = first_seed; seed < first_seed + count; seed++) {
		int64_t rounds;

		make_world(seed, false, false);
		rounds = settle(4 * (JOBS_MAX + 24));
		end_world();
		if (rounds < 0)
			fail_msg("seed %llu: no fixed point", (unsigned long long)seed);
	}
}

/* Workers that demand needs and that stay idle: all might be exchanged, again and again. */
static size_t count_loops(bool unneeded)
{
	size_t loops = 0;

	for (uint64_t seed = first_seed; seed < first_seed + count; seed++) {
		make_world(seed, true, unneeded);
		if (settle(4 * (JOBS_MAX + 24)) < 0)
			loops++;
		end_world();
	}
	return loops;
}

static void idle_workers_are_not_exchanged_for_ever(void **unused)
{
	(void)unused;
	assert_int_equal(count_loops(false), 0);
	/* Planted: shares may cross. */
	assert_true(count_loops(true) > 0);
}

/* ---- 9 and 5: no starvation ---- */

/* Rounds until all gangs have run once, beside streams of small work without an end, each of which
 * could use the whole pool, with at most their priority. */
static int64_t run_gangs(uint64_t seed, int64_t reserve_after_ms)
{
	size_t gangs = 1 + (size_t)(seed % 3), waiting;
	int64_t start;

	start_world(seed, 8);
	world.single = true;
	world.fixed.pool.reserve_after_ms = reserve_after_ms;
	for (size_t i = 0; i < gangs; i++) {
		scene_queue(&world.fixed, NAMES[i], 0)->weight = 1 + (int64_t)below(3);
		scene_cluster(&world.fixed, NAMES[i]);
		add_job(i, 5 + (int64_t)below(4), 3 + (int64_t)below(5));
	}
	for (size_t i = gangs; i < gangs + 2; i++) {
		struct share_queue *queue = scene_queue(&world.fixed, NAMES[i], 0);

		queue->weight = 1 + (int64_t)below(3);
		queue->priority = -(int64_t)below(2);
		scene_cluster(&world.fixed, NAMES[i]);
		for (size_t j = 0; j < 8; j++)
			world.jobs[add_job(i, 1, 1 + (int64_t)below(8))].again = true;
	}
	/* Small work of the first gang's own queue too. */
	if (often(50))
		world.jobs[add_job(0, 1, 2)].again = true;
	start = world.round;
	do {
		run_round();
		waiting = 0;
		for (size_t i = 0; i < gangs; i++)
			waiting += world.jobs[i].state != JOB_NONE;
	} while (waiting > 0 && world.round - start < 300);
	end_world();
	return waiting > 0 ? -1 : world.round - start;
}

static void each_gang_runs_after_finite_work_of_the_others(void **unused)
{
	size_t starved = 0;

	(void)unused;
	for (uint64_t seed = first_seed; seed < first_seed + count / 4; seed++) {
		if (run_gangs(seed, SCENE_RESERVE_AFTER) < 0)
			fail_msg("seed %llu: a gang starves", (unsigned long long)seed);
		/* Planted: nothing is saved for them. */
		starved += run_gangs(seed, SHARE_NEVER) < 0;
	}
	assert_true(starved > 0);
}

/* ---- 3: guarantees come back ---- */

/* GPUs of a's guarantee of 8 that it does not hold, after some rounds; b had borrowed the whole
 * pool. */
static int64_t missing_after(enum share_state of_b, int64_t drain_after_ms, size_t rounds,
			     int64_t unit)
{
	int64_t missing = 8 * GPU;

	start_world(1, 16);
	scene_queue(&world.fixed, "a", 8);
	scene_cluster(&world.fixed, "a");
	scene_queue(&world.fixed, "b", 8)->drain_after_ms = drain_after_ms;
	scene_cluster(&world.fixed, "b");
	for (size_t i = 0; i < 16; i++)
		add_worker(1, GPU, of_b, SHARE_NONE);
	for (int64_t gpus = 0; gpus < 12; gpus += unit)
		add_job(0, unit, FOREVER);
	/* b would borrow all of it again; its idle workers are of no use for units of 9. */
	for (size_t i = 0; i < 20; i++)
		add_job(1, of_b == SHARE_BUSY && i % 2 ? 1 : 9, FOREVER);
	for (size_t i = 0; i < rounds; i++)
		run_round();
	for (size_t i = 0; i < WORKERS_MAX; i++)
		if (world.workers[i].exists && world.workers[i].given.cluster == 0)
			missing -= world.workers[i].given.amount;
	end_world();
	return missing;
}

static void a_guarantee_comes_back_in_time(void **unused)
{
	int64_t notice = 600 * SECOND;

	(void)unused;
	for (int64_t unit = 1; unit <= 8; unit++) {
		int64_t rest = (unit - 1) * GPU;

		assert_true(missing_after(SHARE_BUSY, notice, (size_t)(notice / ROUND) + 3, unit) <=
			    rest);
		assert_true(missing_after(SHARE_IDLE, SHARE_NEVER, 4, unit) <= rest);
		/* Planted: without the right to drain. */
		assert_true(missing_after(SHARE_BUSY, SHARE_NEVER, 100, unit) > rest);
	}
	/* Not before the notice has passed. */
	assert_true(missing_after(SHARE_BUSY, notice, 50, 1) == 8 * GPU);
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
		cmocka_unit_test(constant_asks_reach_a_fixed_point),
		cmocka_unit_test(idle_workers_are_not_exchanged_for_ever),
		cmocka_unit_test(each_gang_runs_after_finite_work_of_the_others),
		cmocka_unit_test(a_guarantee_comes_back_in_time),
	};
	uint64_t number = count;

	read_number("SHARE_ROUNDS_SEED", &first_seed);
	read_number("SHARE_ROUNDS_COUNT", &number);
	count = (size_t)number;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
