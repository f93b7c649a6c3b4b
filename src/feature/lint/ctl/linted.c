#include "feature/lint/ctl/linted.h"

#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/memory.h"
#include "core/model/field.h"
#include "ctl/shared/control.h"
#include "ctl/shared/options.h"
#include "feature/lint/core/lint.h"

struct linted {
	struct arena arena; /* of the condition */
	char *uid;          /* NULL: nothing is kept */
	int64_t generation;
	uint64_t annotations; /* they have no generation */
	const struct extra_condition *condition;
};

/* The texts that are made for a cluster. */
static const struct field condition_fields[] = {
	FIELD_TEXT(struct extra_condition, reported, "reported"),
	FIELD_TEXT(struct extra_condition, message, "message"),
	FIELD_END,
};

struct lint {
	const struct control *control;
	struct map clusters; /* "namespace/name" to struct linted */
	size_t runs;
};

static void *begin(const struct control *control)
{
	struct lint *lint = memory_alloc(sizeof(*lint));

	lint->control = control;
	return lint;
}

static void linted_free(struct linted *linted)
{
	if (!linted)
		return;
	arena_done(&linted->arena);
	memory_free(linted->uid);
	memory_free(linted);
}

static void end(void *self)
{
	struct lint *lint = self;

	for (size_t i = 0; i < lint->clusters.count; i++)
		linted_free(lint->clusters.entries[i].value);
	map_done(&lint->clusters);
	memory_free(lint);
}

static void forget(void *self, const char *namespace_, const char *name)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct lint *lint = self;

	linted_free(map_remove(&lint->clusters, arena_printf(&scratch, "%s/%s", namespace_, name)));
}

static struct linted *linted_of(struct lint *lint, const struct ray_cluster *cluster)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const char *key = arena_printf(&scratch, "%s/%s", cluster->namespace_, cluster->name);
	struct linted *linted = map_get(&lint->clusters, key);

	if (!linted) {
		linted = memory_alloc(sizeof(*linted));
		map_set(&lint->clusters, key, linted);
	}
	return linted;
}

static uint64_t hash_of(const struct labels *annotations)
{
	uint64_t hash = HASH_START;

	for (size_t i = 0; i < annotations->count; i++)
		hash = hash_add(hash_add(hash, annotations->at[i].key), annotations->at[i].value);
	return hash;
}

/* Drops the findings and keeps the condition. */
static void run_rules(const struct lint *lint, struct linted *linted,
		      const struct ray_cluster *cluster)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const struct lint_context context = { .devices = lint->control->options->device_table,
					      .settings = &lint->control->options->settings };
	struct extra_condition condition;

	lint_condition_make(cluster, &context, &scratch, &condition);
	linted->condition = field_keep(condition_fields, &condition, sizeof(condition), SIZE_MAX,
				       &linted->arena);
}

static bool condition(void *self, const struct ray_cluster *cluster, struct arena *arena,
		      struct extra_condition *ret_condition)
{
	struct lint *lint = self;
	struct linted *linted = linted_of(lint, cluster);
	uint64_t annotations = hash_of(&cluster->annotations);

	if (!linted->uid || strcmp(linted->uid, cluster->uid) != 0 ||
	    linted->generation != cluster->generation || linted->annotations != annotations) {
		run_rules(lint, linted, cluster);
		memory_set_string(&linted->uid, cluster->uid);
		linted->generation = cluster->generation;
		linted->annotations = annotations;
		lint->runs++;
	}
	*ret_condition = *FIELD_COPY(condition_fields, linted->condition, arena);
	return ret_condition->message[0] != '\0';
}

size_t linted_runs(const void *self)
{
	return ((const struct lint *)self)->runs;
}

const struct feature lint_feature = {
	.begin = begin, .end = end, .forget = forget, .condition = condition
};
