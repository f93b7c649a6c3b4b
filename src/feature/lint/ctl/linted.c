#include "feature/lint/ctl/linted.h"

#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "codec/objects/device_claim_object.h"
#include "core/model/field.h"
#include "ctl/shared/cluster_map.h"
#include "ctl/shared/control.h"
#include "ctl/shared/device_view.h"
#include "ctl/shared/options.h"
#include "feature/lint/core/lint.h"

struct linted {
	struct cluster_entry of;
	struct arena arena; /* of the condition */
	char *uid;          /* NULL: nothing is kept */
	int64_t generation;
	uint64_t annotations; /* they have no generation */
	uint64_t claims;      /* the number of the view of its claims; 0: it has none */
	const struct extra_condition *condition;
};

/* The texts that are made for a cluster. */
static const struct field kept_fields[] = {
	FIELD_TEXT(struct extra_condition, reported, "reported"),
	FIELD_TEXT(struct extra_condition, message, "message"),
	FIELD_END,
};

struct lint {
	struct feature_state of; /* clusters: struct linted */
	size_t runs;
};

static void linted_done(void *one)
{
	struct linted *linted = one;

	arena_done(&linted->arena);
	memory_free(linted->uid);
}

static uint64_t hash_of(const struct labels *annotations)
{
	uint64_t hash = HASH_START;

	for (size_t i = 0; i < annotations->count; i++)
		hash = hash_add(hash_add(hash, annotations->at[i].key), annotations->at[i].value);
	return hash;
}

static uint64_t claims_number(const struct lint *lint, const struct ray_cluster *cluster)
{
	return device_claims_are_used(cluster) ? device_view_number(lint->of.control) : 0;
}

/* Drops the findings and keeps the condition. */
static void run_rules(const struct lint *lint, struct linted *linted,
		      const struct ray_cluster *cluster)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const struct lint_context context = { .devices = device_view_table(lint->of.control),
					      .settings = &lint->of.control->options->settings };
	struct extra_condition condition;

	lint_condition_make(cluster, &context, &scratch, &condition);
	linted->condition =
		field_keep(kept_fields, &condition, sizeof(condition), SIZE_MAX, &linted->arena);
}

static bool condition(void *self, const struct ray_cluster *cluster, struct arena *arena,
		      struct extra_condition *ret_condition)
{
	struct lint *lint = self;
	struct linted *linted =
		cluster_map_make(&lint->of.clusters, cluster->namespace_, cluster->name);
	uint64_t annotations = hash_of(&cluster->annotations);
	uint64_t claims = claims_number(lint, cluster);

	if (!linted->uid || strcmp(linted->uid, cluster->uid) != 0 ||
	    linted->generation != cluster->generation || linted->annotations != annotations ||
	    linted->claims != claims) {
		run_rules(lint, linted, cluster);
		memory_set_string(&linted->uid, cluster->uid);
		linted->generation = cluster->generation;
		linted->annotations = annotations;
		linted->claims = claims;
		lint->runs++;
	}
	*ret_condition = *FIELD_COPY(kept_fields, linted->condition, arena);
	return ret_condition->message[0] != '\0';
}

size_t linted_runs(const void *self)
{
	return ((const struct lint *)self)->runs;
}

const struct feature lint_feature = {
	.state_size = sizeof(struct lint),
	.cluster_size = sizeof(struct linted),
	.cluster_done = linted_done,
	.condition = condition,
};
