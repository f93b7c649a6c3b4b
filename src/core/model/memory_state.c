#include "core/model/memory_state.h"

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
	size_t i = mark != NULL ? (size_t)(mark - memory->marks.at) + 1 : 0;

	CHECK(kind < MARK_KIND_COUNT);
	CHECK(i <= memory->marks.count);

	for (; i < memory->marks.count; i++)
		if (memory->marks.at[i].kind == kind)
			return &memory->marks.at[i];
	return NULL;
}

static const char *copy_text(const char *text, struct arena *arena)
{
	return text != NULL ? arena_strdup(arena, text) : NULL;
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
