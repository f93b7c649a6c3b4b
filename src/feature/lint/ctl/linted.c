#include "feature/lint/ctl/linted.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "feature/lint/core/lint.h"

struct linted {
	struct arena arena; /* the digest */
	char *uid;          /* NULL: nothing is kept */
	int64_t generation;
	uint64_t annotations; /* they have no generation */
	struct lint_digest digest;
	size_t runs;
};

struct linted *linted_new(void)
{
	return memory_alloc(sizeof(struct linted));
}

void linted_free(struct linted *linted)
{
	if (!linted)
		return;
	arena_done(&linted->arena);
	memory_free(linted->uid);
	memory_free(linted);
}

/* Drops the findings and keeps the digest. */
static void keep(struct linted *linted, const struct lint_digest *made)
{
	arena_done(&linted->arena);
	/* One block of the right size: the first one of an arena is larger than most digests. */
	arena_reserve(&linted->arena, strlen(made->declared) + strlen(made->message) + 2);
	linted->digest = *made;
	linted->digest.declared = arena_strdup(&linted->arena, made->declared);
	linted->digest.message = arena_strdup(&linted->arena, made->message);
}

static uint64_t hash_of(const struct labels *annotations)
{
	uint64_t hash = HASH_START;

	for (size_t i = 0; i < annotations->count; i++)
		hash = hash_add(hash_add(hash, annotations->at[i].key), annotations->at[i].value);
	return hash;
}

const struct lint_digest *linted_of(struct linted *linted, const struct ray_cluster *cluster,
				    const struct settings *settings,
				    const struct device_table *devices)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const struct lint_context context = { .devices = devices, .settings = settings };
	uint64_t annotations = hash_of(&cluster->annotations);
	struct lint_digest digest;

	if (linted->uid && !strcmp(linted->uid, cluster->uid) &&
	    linted->generation == cluster->generation && linted->annotations == annotations)
		return &linted->digest;
	lint_digest_make(cluster, &context, &scratch, &digest);
	keep(linted, &digest);
	memory_free(linted->uid);
	linted->uid = memory_strdup(cluster->uid);
	linted->generation = cluster->generation;
	linted->annotations = annotations;
	linted->runs++;
	return &linted->digest;
}

size_t linted_runs(const struct linted *linted)
{
	return linted->runs;
}
