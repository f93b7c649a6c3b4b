#include "ctl/pass/patched.h"

#include <string.h>

#include "base/memory.h"
#include "core/model/kubernetes.h"
#include "net/work.h"

static void release(void *memory)
{
	arena_done(memory);
	memory_free(memory);
}

void patched_done(struct patched *patched)
{
	struct arena *arena;

	if (!patched->object)
		return;
	arena = memory_alloc(sizeof(*arena));
	*arena = patched->arena;
	patched->arena = ARENA_INIT;
	patched->object = NULL;
	work_retire(patched->loop, release, arena);
}

void patched_keep(struct patched *patched, struct ray_cluster *object, struct arena *arena)
{
	patched_done(patched);
	if (!object)
		return;
	patched->object = object;
	patched->arena = *arena;
	*arena = ARENA_INIT;
}

const struct ray_cluster *patched_current(struct patched *patched, const struct ray_cluster *cached)
{
	if (!patched->object)
		return cached;
	if (cached && !strcmp(cached->uid, patched->object->uid) &&
	    cached->generation < patched->object->generation)
		return patched->object;
	patched_done(patched);
	return cached;
}
