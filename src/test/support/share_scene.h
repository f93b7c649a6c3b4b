/* Pools for the tests and the bench of core/share: built call by call, shared, and read back. */
#ifndef TEST_SUPPORT_SHARE_SCENE_H
#define TEST_SUPPORT_SHARE_SCENE_H

#include <stdio.h>
#include <stdlib.h>

#include "core/share/share.h"

#define GPU RESOURCE_UNIT
#define SECOND INT64_C(1000)
#define SCENE_NOW (INT64_C(100000) * SECOND)
#define SCENE_IDLE_AFTER (5 * SECOND)
#define SCENE_RESERVE_AFTER (120 * SECOND)

struct scene {
	struct arena arena;
	VEC(struct share_queue) queues;
	VEC(struct share_cluster) clusters;
	VEC(struct share_unit) units;
	VEC(struct share_worker) workers;
	struct share_pool pool;
	const struct share_result *result;
};

__attribute__((unused)) static void scene_start(struct scene *scene, int64_t gpus)
{
	*scene = (struct scene){ .arena = ARENA_INIT };
	scene->pool = (struct share_pool){ .capacity = gpus * GPU,
					   .now_ms = SCENE_NOW,
					   .idle_after_ms = SCENE_IDLE_AFTER,
					   .reserve_after_ms = SCENE_RESERVE_AFTER };
}

/* A queue with all of its guarantee lendable, weight 1; its members may be changed. */
__attribute__((unused)) static struct share_queue *scene_queue(struct scene *scene,
							       const char *name, int64_t guaranteed)
{
	struct share_queue *queue = VEC_ADD(&scene->arena, &scene->queues);

	*queue = (struct share_queue){ .name = name,
				       .guaranteed = guaranteed * GPU,
				       .lendable = guaranteed * GPU,
				       .maximum = RESOURCE_AMOUNT_MAX,
				       .weight = 1,
				       .drain_after_ms = SHARE_NEVER };
	return queue;
}

/* A cluster of the last queue. */
__attribute__((unused)) static size_t scene_cluster(struct scene *scene, const char *name)
{
	VEC_PUSH(&scene->arena, &scene->clusters,
		 ((struct share_cluster){ name, scene->queues.count - 1 }));
	return scene->clusters.count - 1;
}

/* A unit of the last cluster. */
__attribute__((unused)) static size_t scene_ask(struct scene *scene, int64_t gpus,
						int64_t waited_seconds)
{
	VEC_PUSH(&scene->arena, &scene->units,
		 ((struct share_unit){ .cluster = scene->clusters.count - 1,
				       .amount = gpus * GPU,
				       .since_ms = SCENE_NOW - waited_seconds * SECOND }));
	return scene->units.count - 1;
}

/* Workers of one GPU of the last cluster, in this state for a minute; the first one's index. */
__attribute__((unused)) static size_t scene_hold(struct scene *scene, enum share_state state,
						 size_t count)
{
	size_t first = scene->workers.count;

	for (size_t i = 0; i < count; i++)
		VEC_PUSH(&scene->arena, &scene->workers,
			 ((struct share_worker){ .cluster = scene->clusters.count - 1,
						 .amount = GPU,
						 .state = state,
						 .since_ms = SCENE_NOW - 60 * SECOND }));
	return first;
}

__attribute__((unused)) static void scene_finish(struct scene *scene)
{
	struct share_pool *pool = &scene->pool;

	pool->queues = scene->queues.at;
	pool->queue_count = scene->queues.count;
	pool->clusters = scene->clusters.at;
	pool->cluster_count = scene->clusters.count;
	pool->units = scene->units.at;
	pool->unit_count = scene->units.count;
	pool->workers = scene->workers.at;
	pool->worker_count = scene->workers.count;
}

__attribute__((unused)) static void scene_share(struct scene *scene)
{
	scene_finish(scene);
	scene->result = share(&scene->pool, 1, &scene->arena);
}

/* GPUs of the units of a queue with this verdict. */
__attribute__((unused)) static int64_t scene_gpus(const struct scene *scene, const char *queue,
						  enum share_verdict verdict)
{
	int64_t sum = 0;

	for (size_t i = 0; i < scene->units.count; i++) {
		size_t index = scene->clusters.at[scene->units.at[i].cluster].queue;

		if (scene->result->units[i] == verdict &&
		    !strcmp(scene->queues.at[index].name, queue))
			sum += scene->units.at[i].amount;
	}
	return sum / GPU;
}

/* How many workers end. */
__attribute__((unused)) static size_t scene_ends(const struct scene *scene,
						 enum share_action action)
{
	size_t count = 0;

	for (size_t i = 0; i < scene->workers.count; i++)
		count += scene->result->workers[i].action == action;
	return count;
}

__attribute__((unused)) static void scene_done(struct scene *scene)
{
	arena_done(&scene->arena);
}

#endif
