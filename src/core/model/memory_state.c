#include "core/model/memory_state.h"

#include <string.h>

#include "base/check.h"

const struct mark_rule mark_rules[MARK_KIND_COUNT] = {
	[MARK_RAYLET_GONE] = { "rayletGone", MARK_KEPT_WITHOUT_RAY },
	[MARK_NOT_REGISTERED] = { "unjoined", MARK_KEPT_WITHOUT_RAY },
	[MARK_START_GRACE] = { "settling", MARK_KEPT_WITHOUT_RAY },
	[MARK_STARVED_DEMAND] = { "stuckDemand", MARK_KEPT_WITHOUT_RAY },
	[MARK_REPLICA_CONFLICT] = { "replicaFights", MARK_KEPT_NEVER },
	[MARK_REPLICA_RAISE] = { "replicaRaises", MARK_KEPT_NEVER },
	[MARK_LOWERED] = { "lowered", MARK_KEPT_NEVER },
	[MARK_DISRUPTED] = { "leaving", MARK_KEPT_WITHOUT_TERMINATION },
	[MARK_RAY_SESSION] = { "raySessions", MARK_KEPT_WITHOUT_RAY },
	[MARK_CLUSTER_IDLE] = { "clusterIdle", MARK_KEPT_NEVER },
	[MARK_DELETE_DENIED] = { "deleteDenied", MARK_KEPT_NEVER },
};

const struct memory_mark *memory_next_mark(const struct memory_state *memory, enum mark_kind kind,
					   const struct memory_mark *mark)
{
	size_t i = mark ? (size_t)(mark - memory->marks.at) + 1 : 0;

	CHECK(kind < MARK_KIND_COUNT);
	CHECK(i <= memory->marks.count);

	for (; i < memory->marks.count; i++)
		if (memory->marks.at[i].kind == kind)
			return &memory->marks.at[i];
	return NULL;
}

static const char *copy_text(const char *text, struct arena *arena)
{
	return text ? arena_strdup(arena, text) : NULL;
}

static void copy_backoff(struct memory_backoff *backoff, struct arena *arena)
{
	backoff->group = copy_text(backoff->group, arena);
	backoff->cause = copy_text(backoff->cause, arena);
	backoff->message = copy_text(backoff->message, arena);
}

static void copy_launch(struct memory_launch *launch, struct arena *arena)
{
	launch->group = copy_text(launch->group, arena);
}

static void copy_mark(struct memory_mark *mark, struct arena *arena)
{
	mark->key = copy_text(mark->key, arena);
	mark->who = copy_text(mark->who, arena);
}

static void copy_template(struct memory_template *template, struct arena *arena)
{
	struct resource *resources =
		arena_array(arena, template->resources.count, sizeof(*resources));
	struct label *labels = arena_array(arena, template->labels.count, sizeof(*labels));

	template->group = copy_text(template->group, arena);
	template->fingerprint = copy_text(template->fingerprint, arena);
	template->pod = copy_text(template->pod, arena);
	for (size_t i = 0; i < template->resources.count; i++)
		resources[i] = (struct resource){ copy_text(template->resources.at[i].name, arena),
						  template->resources.at[i].amount };
	for (size_t i = 0; i < template->labels.count; i++)
		labels[i] = (struct label){ copy_text(template->labels.at[i].key, arena),
					    copy_text(template->labels.at[i].value, arena) };
	template->resources.at = resources;
	template->labels.at = labels;
}

#define COPY_LIST(arena, from, to, copy)                                                           \
	do {                                                                                       \
		VEC_RESERVE((arena), (to), (from)->count);                                         \
		for (size_t i_ = 0; i_ < (from)->count; i_++) {                                    \
			VEC_PUSH((arena), (to), (from)->at[i_]);                                   \
			copy(&(to)->at[i_], (arena));                                              \
		}                                                                                  \
	} while (0)

const struct memory_state *memory_state_copy(const struct memory_state *memory, struct arena *arena)
{
	struct memory_state *copy = ARENA_NEW(arena, struct memory_state);

	COPY_LIST(arena, &memory->templates, &copy->templates, copy_template);
	COPY_LIST(arena, &memory->backoffs, &copy->backoffs, copy_backoff);
	COPY_LIST(arena, &memory->launches, &copy->launches, copy_launch);
	COPY_LIST(arena, &memory->marks, &copy->marks, copy_mark);
	return copy;
}

const struct memory_state *memory_state_keep(const struct memory_state *memory, struct arena *arena)
{
	struct arena measured = ARENA_INIT;
	size_t bytes;

	(void)memory_state_copy(memory, &measured);
	bytes = measured.used_bytes;
	arena_done(&measured);
	arena_done(arena);
	if (bytes > MEMORY_KEPT_BYTES_MAX)
		return NULL;
	arena_reserve(arena, bytes);
	memory = memory_state_copy(memory, arena);
	CHECK(arena->used_bytes == bytes);
	return memory;
}

static bool same_text(const char *a, const char *b)
{
	return !a || !b ? a == b : strcmp(a, b) == 0;
}

static bool same_backoff(const struct memory_backoff *a, const struct memory_backoff *b)
{
	return same_text(a->group, b->group) && a->until == b->until && a->seconds == b->seconds &&
	       same_text(a->cause, b->cause) && same_text(a->message, b->message);
}

static bool same_launch(const struct memory_launch *a, const struct memory_launch *b)
{
	return same_text(a->group, b->group) && a->replicas == b->replicas &&
	       a->base_replicas == b->base_replicas && a->not_registered == b->not_registered &&
	       a->unneeded == b->unneeded && a->unneeded_since == b->unneeded_since &&
	       a->round == b->round;
}

static bool same_mark(const struct memory_mark *a, const struct memory_mark *b)
{
	return a->kind == b->kind && same_text(a->key, b->key) && a->since == b->since &&
	       a->count == b->count && same_text(a->who, b->who);
}

static bool same_labels(const struct labels *a, const struct labels *b)
{
	bool same = a->count == b->count;

	for (size_t i = 0; same && i < a->count; i++)
		same = same_text(a->at[i].key, b->at[i].key) &&
		       same_text(a->at[i].value, b->at[i].value);
	return same;
}

static bool same_template(const struct memory_template *a, const struct memory_template *b)
{
	return same_text(a->group, b->group) && same_text(a->fingerprint, b->fingerprint) &&
	       a->since == b->since && same_text(a->pod, b->pod) &&
	       resources_equal(&a->resources, &b->resources) && same_labels(&a->labels, &b->labels);
}

#define IS_SAME_LIST(a, b, same)                                                                   \
	({                                                                                         \
		bool same_ = (a)->count == (b)->count;                                             \
		for (size_t i_ = 0; same_ && i_ < (a)->count; i_++)                                \
			same_ = same(&(a)->at[i_], &(b)->at[i_]);                                  \
		same_;                                                                             \
	})

bool memory_state_equal(const struct memory_state *a, const struct memory_state *b)
{
	static const struct memory_state none = { .marks.count = 0 };

	a = a ? a : &none;
	b = b ? b : &none;
	return IS_SAME_LIST(&a->templates, &b->templates, same_template) &&
	       IS_SAME_LIST(&a->backoffs, &b->backoffs, same_backoff) &&
	       IS_SAME_LIST(&a->launches, &b->launches, same_launch) &&
	       IS_SAME_LIST(&a->marks, &b->marks, same_mark);
}
