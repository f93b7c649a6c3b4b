/* CPU time of share() for 1,000 clusters in 50 queues with 10,000 workers and 10,000 waiting units,
 * for a tenth of them in 50 queues and in 5, and the exponents by which the time grows; best of
 * several runs. An argument selects one of
 *   free       nothing is held: the pool is given away
 *   busy       all is held by busy workers, also where queues may be drained
 *   idle       all is held by idle workers that demand does not need: many are released
 *   exchanged  by idle ones that demand needs: shares are made equal
 *   forged     as idle, and each queue also asks for gangs as large as the pool */
#include <math.h>

#include "test/support/bench_usage.h"
#include "test/support/share_scene.h"
#include "test/support/support.h"

#define RUNS 15
#define AIM_MS 10

struct kind {
	const char *name;
	enum share_state state;
	bool held, needed, drains, forged;
};

static const struct kind KINDS[] = {
	{ .name = "free" },
	{ "busy", SHARE_BUSY, .held = true, .drains = true },
	{ "idle", SHARE_IDLE, .held = true },
	{ "exchanged", SHARE_IDLE, .held = true, .needed = true },
	{ "forged", SHARE_IDLE, .held = true, .forged = true },
};

static uint64_t state;

static void add_clusters(struct scene *scene, size_t queues, size_t clusters)
{
	for (size_t i = 0; i < queues; i++) {
		struct share_queue *queue = scene_queue(scene,
							arena_printf(&scene->arena, "queue-%zu", i),
							(int64_t)(clusters * 5 / queues));

		queue->weight = 1 + (int64_t)support_random_below(&state, 4);
		queue->priority = i % 10 == 0;
	}
	for (size_t i = 0; i < clusters; i++) {
		scene_cluster(scene, arena_printf(&scene->arena, "team/cluster-%zu", i));
		scene->clusters.at[i].queue = support_random_below(&state, queues);
	}
}

static void make(struct scene *scene, const struct kind *kind, size_t part, size_t queues)
{
	size_t clusters = 1000 / part, units = 10000 / part;

	state = 1;
	scene_start(scene, (int64_t)units);
	add_clusters(scene, queues, clusters);
	for (size_t i = 0; i < units; i++) {
		int64_t gpus = kind->forged && i % 2 ? (int64_t)units : i % 20 ? 1 : 8;
		size_t unit = scene_ask(scene, gpus, (int64_t)support_random_below(&state, 200));

		scene->units.at[unit].cluster = support_random_below(&state, clusters);
	}
	for (size_t i = 0; i < units && kind->held; i++) {
		size_t worker = scene_hold(scene, kind->state, 1);

		/* Half of the clusters hold most of it. */
		scene->workers.at[worker].cluster =
			support_random_below(&state, i % 10 ? clusters / 2 : clusters);
		scene->workers.at[worker].needed = kind->needed;
		scene->workers.at[worker].since_ms -=
			(int64_t)support_random_below(&state, 3600 * SECOND);
	}
	ARRAY_EACH(struct share_queue, queue, scene->queues.at, scene->queues.count)
		queue->drain_after_ms = kind->drains ? 600 * SECOND : SHARE_NEVER;
	scene_finish(scene);
}

static double best_ms(const struct kind *kind, size_t part, size_t queues, size_t counts[3])
{
	struct arena arena = ARENA_INIT;
	struct scene scene;
	double best = INFINITY;

	make(&scene, kind, part, queues);
	for (int run = 0; run < RUNS; run++) {
		double start = bench_usage_ms(), took;

		arena_reset(&arena);
		scene.result = share(&scene.pool, 1, &arena);
		took = bench_usage_ms() - start;
		best = took < best ? took : best;
	}
	counts[0] = counts[1] = 0;
	for (size_t i = 0; i < scene.units.count; i++) {
		counts[0] += scene.result->units[i] == SHARE_GRANTED;
		counts[1] += scene.result->units[i] == SHARE_COMING;
	}
	counts[2] = scene.workers.count - scene_ends(&scene, SHARE_STAY);
	scene_done(&scene);
	arena_done(&arena);
	return best;
}

int main(int argc, char **argv)
{
	bool failed = false;

	for (size_t i = 0; i < SUPPORT_COUNT(KINDS); i++) {
		size_t counts[3];
		double same, fewer, large;

		if (argc > 1 && strcmp(argv[1], KINDS[i].name) != 0)
			continue;
		same = best_ms(&KINDS[i], 10, 50, counts);
		fewer = best_ms(&KINDS[i], 10, 5, counts);
		large = best_ms(&KINDS[i], 1, 50, counts);
		printf("%-9s %6.2f ms; a tenth %5.2f ms, n^%.2f; in 5 queues %5.2f ms, n^%.2f; "
		       "%zu granted, %zu coming, %zu end\n",
		       KINDS[i].name, large, same, log10(large / same), fewer, log10(large / fewer),
		       counts[0], counts[1], counts[2]);
		failed |= large > AIM_MS;
	}
	return failed;
}
